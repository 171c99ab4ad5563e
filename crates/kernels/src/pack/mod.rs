//! Owns copies between memory layouts: an operand into a tile, a tile into a result. It knows bytes and
//! strides, not dtypes or tensors. `plane.rs` copies two dimensions by the cheapest loop: with constant
//! distances (`fixed.rs`), row by row (`row.rs`), or transposed in blocks (`transpose.rs`).

mod dim;
mod fixed;
mod plane;
mod row;
mod transpose;

use smallvec::SmallVec;

use crate::isa::Isa;
pub use dim::PackDim;
use plane::Plane;
pub use row::{copy_row, copy_slice};

/// Bytes of the pattern that is copied over and over where a broadcast dimension repeats it: it stays in L1.
const REPEAT_BYTES: usize = 8 << 10;

/// A copy of elements from one layout to another, prepared for any addresses.
#[derive(Clone, Debug)]
pub struct Pack {
    isa: Isa,
    /// The two innermost dimensions; `None` if there are no elements.
    lines: Option<Plane>,
    /// The other dimensions, outermost first.
    outer: SmallVec<[PackDim; 4]>,
    /// Bytes that are copied, and bytes that repetitions of them fill.
    again: Option<(usize, usize)>,
}

impl Pack {
    /// A copy of elements of `item` bytes (1, 2, 4, 8 or 16). Dimensions are outermost first.
    ///
    /// # Panics
    /// If `item` is no size of an element.
    pub fn new(item: usize, dims: &[PackDim]) -> Pack {
        Pack::on(Isa::active(), item, dims, false)
    }

    /// The same of elements that are not in cache: short rows, which the hardware does not prefetch, are
    /// prefetched.
    ///
    /// # Panics
    /// As [`new`](Pack::new).
    pub fn far(item: usize, dims: &[PackDim]) -> Pack {
        Pack::on(Isa::active(), item, dims, true)
    }

    /// As [`new`](Pack::new) or [`far`](Pack::far), with code of an instruction set.
    ///
    /// # Panics
    /// As [`new`](Pack::new), or if the processor lacks the instruction set.
    pub fn new_on(isa: Isa, item: usize, dims: &[PackDim], far: bool) -> Pack {
        assert!(isa.is_supported(), "the processor has no {isa}");
        Pack::on(isa, item, dims, far)
    }

    fn on(isa: Isa, item: usize, dims: &[PackDim], far: bool) -> Pack {
        let (item, dims) = widened(item, dims);
        match item {
            1 => Pack::of::<u8>(isa, &dims, far),
            2 => Pack::of::<u16>(isa, &dims, far),
            4 => Pack::of::<u32>(isa, &dims, far),
            8 => Pack::of::<u64>(isa, &dims, far),
            16 => Pack::of::<u128>(isa, &dims, far),
            other => panic!("no element has {other} bytes"),
        }
    }

    /// As [`new`](Pack::new), for elements of the size of `T`.
    fn of<T: Copy + 'static>(isa: Isa, dims: &[PackDim], far: bool) -> Pack {
        let mut outer = merged(dims);
        let mut again = None;
        if let [first, inner @ ..] = &outer[..]
            && first.from == 0
            && !inner.is_empty()
            && let Some(width) = dense(inner, size_of::<T>())
            && first.to == width as isize
        {
            // A broadcast outermost dimension: the result is read and repeated.
            again = Some((width, width * first.len));
            outer.remove(0);
        }
        // The two dimensions that are cheapest to copy together.
        let (mut best, mut pair) =
            (Plane::new::<T>(PackDim::ONE, outer.last().copied().unwrap_or(PackDim::ONE), &outer, far), None);
        for (rows, columns) in
            (0..outer.len()).flat_map(|rows| (0..outer.len()).map(move |columns| (rows, columns)))
        {
            if rows != columns {
                let lines = Plane::new::<T>(outer[rows], outer[columns], &outer, far);
                if pair.is_none() || lines.cost < best.cost {
                    (best, pair) = (lines, Some((rows, columns)));
                }
            }
        }
        match pair {
            Some((rows, columns)) => {
                outer.remove(rows.max(columns));
                outer.remove(rows.min(columns));
            }
            None => outer.clear(),
        }
        let lines = Some(best).filter(|_| dims.iter().all(|dim| dim.len > 0));
        Pack { isa, lines, outer, again }
    }

    /// Copies all elements. No address needs an alignment.
    ///
    /// # Safety
    /// Every element that the dimensions lead to from `from` is readable and initialised. Every one that they
    /// lead to from `to` is writable, and nothing else uses it. No element of one side overlaps one of the
    /// other. The elements of a side lie in one allocation.
    pub unsafe fn run(&self, from: *const u8, to: *mut u8) {
        let Some(Plane { rows, columns, way, .. }) = &self.lines else { return };
        let mut index: SmallVec<[usize; 4]> = SmallVec::from_elem(0, self.outer.len());
        let (mut source, mut target) = (from, to);
        'copies: loop {
            // SAFETY: an index of the outer dimensions leads to the two addresses. The plane has the other
            // two dimensions, and was made for their distances and for an instruction set that the processor
            // has.
            unsafe { way(self.isa, rows, columns, source, target) };
            // The next index, last dimension first.
            for (dim, index) in self.outer.iter().zip(&mut index).rev() {
                *index += 1;
                (source, target) = (source.wrapping_offset(dim.from), target.wrapping_offset(dim.to));
                if *index < dim.len {
                    continue 'copies;
                }
                let back = -(*index as isize);
                *index = 0;
                (source, target) =
                    (source.wrapping_offset(back * dim.from), target.wrapping_offset(back * dim.to));
            }
            break;
        }
        let Some((mut again, all)) = self.again else { return };
        let mut done = again;
        while done < all {
            let len = again.min(all - done);
            // SAFETY: the elements fill `all` bytes at `to` without gaps. The caller may write them, and the
            // first `done`, at least `again`, are written.
            unsafe { copy_row(to, to.add(done), len) };
            done += len;
            if done == 2 * again && done <= REPEAT_BYTES {
                again = done;
            }
        }
    }
}

/// Copies elements of `item` bytes (1, 2, 4, 8 or 16) from one layout to another, once.
///
/// # Safety
/// As [`Pack::run`].
///
/// # Panics
/// If `item` is no size of an element.
pub unsafe fn pack(item: usize, dims: &[PackDim], from: *const u8, to: *mut u8) {
    let gapless = |width: isize, dim: &PackDim| match *dim {
        PackDim { len: 1, .. } => Some(width),
        PackDim { len, from, to } => ([from, to] == [width; 2]).then_some(width * len as isize),
    };
    // A row is copied faster than a copy is prepared.
    if let Some(width) = dims.iter().rev().try_fold(item as isize, gapless) {
        // SAFETY: elements fill so many bytes on both sides, which the caller vouches for.
        return unsafe { copy_row(from, to, width as usize) };
    }
    // SAFETY: as the caller says.
    unsafe { Pack::new(item, dims).run(from, to) }
}

/// A copy of elements into a contiguous slice, prepared for any slices.
#[derive(Clone, Debug)]
pub struct PackDense {
    pack: Pack,
    /// Bytes that elements reach before the first one, and from its first byte on.
    before: usize,
    after: usize,
    /// Bytes of all elements.
    width: usize,
}

impl PackDense {
    /// A copy of elements of `item` bytes (1, 2, 4, 8 or 16). Dimensions are outermost first, each a size and
    /// a stride in bytes.
    ///
    /// # Panics
    /// If `item` is no size of an element, or the elements would exceed the address space.
    pub fn new(item: usize, dims: &[(usize, isize)]) -> PackDense {
        let (mut before, mut after, mut width) = (0usize, item, item);
        let mut all: SmallVec<[PackDim; 6]> = SmallVec::new();
        for &(len, step) in dims.iter().rev() {
            all.push(PackDim { len, from: step, to: width as isize });
            width = width.checked_mul(len).expect("the elements are in memory");
            let reach = step.unsigned_abs().checked_mul(len.saturating_sub(1));
            let side = if step < 0 { &mut before } else { &mut after };
            *side = reach.and_then(|reach| reach.checked_add(*side)).expect("the elements are in memory");
        }
        all.reverse();
        PackDense { pack: Pack::new(item, &all), before, after, width }
    }

    /// Copies all elements; the first begins at that byte.
    ///
    /// # Panics
    /// If the slice is not as long as the elements, or one of them lies outside of `from`.
    pub fn run(&self, from: &[u8], first: usize, to: &mut [u8]) {
        assert_eq!(self.width, to.len(), "the slice is as long as the elements");
        if self.width > 0 {
            let is_inside = self.before <= first && first < from.len() && self.after <= from.len() - first;
            assert!(is_inside, "the elements are in the slice");
            // SAFETY: no element begins more than `before` bytes before the first, or ends more than `after`
            // bytes behind its start, and the slice reaches as far. They fill the `width` bytes of the other
            // slice, which is borrowed mutably.
            unsafe { self.pack.run(from.as_ptr().add(first), to.as_mut_ptr()) }
        }
    }
}

/// Copies elements into a slice as [`PackDense`] does, once.
///
/// # Panics
/// As [`PackDense::new`] and [`PackDense::run`].
pub fn pack_dense(item: usize, dims: &[(usize, isize)], from: &[u8], first: usize, to: &mut [u8]) {
    PackDense::new(item, dims).run(from, first, to);
}

/// Takes contiguous neighbours for wider elements, up to 16 bytes; the item size and the remaining
/// dimensions.
fn widened(item: usize, dims: &[PackDim]) -> (usize, SmallVec<[PackDim; 6]>) {
    let (mut item, mut dims) = (item, SmallVec::from_slice(dims));
    while item < size_of::<u128>() {
        let size = item as isize;
        let is_even =
            |dim: &&mut PackDim| [dim.from, dim.to] == [size; 2] && dim.len > 0 && dim.len.is_multiple_of(2);
        let Some(dim) = dims.iter_mut().find(is_even) else { break };
        *dim = PackDim { len: dim.len / 2, from: 2 * size, to: 2 * size };
        item *= 2;
    }
    (item, dims)
}

/// The coalesced dimensions: without those of size 1, and with those that step evenly into each other as one.
fn merged(dims: &[PackDim]) -> SmallVec<[PackDim; 4]> {
    let mut merged: SmallVec<[PackDim; 4]> = SmallVec::new();
    for &dim in dims.iter().filter(|dim| dim.len != 1) {
        let (from, to) = (dim.len as isize * dim.from, dim.len as isize * dim.to);
        match merged.last_mut() {
            Some(outer) if (outer.from, outer.to) == (from, to) => {
                *outer = PackDim { len: outer.len * dim.len, ..dim }
            }
            _ => merged.push(dim),
        }
    }
    merged
}

/// The bytes that dimensions write if they leave no gaps.
fn dense(dims: &[PackDim], item: usize) -> Option<usize> {
    dims.iter().rev().try_fold(item, |width, dim| (dim.to == width as isize).then_some(width * dim.len))
}
