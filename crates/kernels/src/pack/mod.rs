//! Owns copies between places in memory that are laid out differently: an operand into a tile, a tile into a result.
//! It knows bytes and distances, not dtypes or tensors. `lines.rs` copies two dimensions in the way that fits them: loops
//! of constant distances (`fixed.rs`), or blocks of those whose neighbours on one side are far apart on the other
//! (`transpose.rs`).

mod fixed;
mod lines;
mod transpose;

use smallvec::SmallVec;

use crate::isa::Isa;
use lines::Lines;

/// Bytes that are repeated at a time, where they have been written before in pieces: they stay in the nearest cache.
const NEAR: usize = 8 << 10;

/// Elements at even distances on both sides of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackDim {
    /// How many elements.
    pub len: usize,
    /// Bytes from one to the next where they are read.
    pub from: isize,
    /// Bytes from one to the next where they are written.
    pub to: isize,
}

impl PackDim {
    const ONE: PackDim = PackDim { len: 1, from: 0, to: 0 };
}

/// A copy of elements from one layout to another that has been prepared for any addresses.
#[derive(Clone, Debug)]
pub struct Pack {
    isa: Isa,
    /// What is copied at once; nothing where there are no elements.
    lines: Option<Lines>,
    /// The dimensions that lead from one such copy to the next, outermost first.
    outer: SmallVec<[PackDim; 4]>,
    /// Bytes that are written, and those that they are repeated to then.
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

    /// The same of elements that are far away: short rows of them, which the processor does not foresee, are asked for before their
    /// turn.
    ///
    /// # Panics
    /// As [`new`](Pack::new).
    pub fn far(item: usize, dims: &[PackDim]) -> Pack {
        Pack::on(Isa::active(), item, dims, true)
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
            // The same elements again and again: what has been written is read.
            again = Some((width, width * first.len));
            outer.remove(0);
        }
        // The two dimensions that are cheapest to copy together.
        let (mut best, mut pair) =
            (Lines::new::<T>(PackDim::ONE, outer.last().copied().unwrap_or(PackDim::ONE), &outer, far), None);
        for (rows, columns) in
            (0..outer.len()).flat_map(|rows| (0..outer.len()).map(move |columns| (rows, columns)))
        {
            if rows != columns {
                let lines = Lines::new::<T>(outer[rows], outer[columns], &outer, far);
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
    /// Every element that the dimensions lead to from `from` is readable and initialised, every one that they lead to
    /// from `to` is writable and nobody else's; none of the former overlaps one of the latter. The elements of a side lie
    /// in one allocation.
    pub unsafe fn run(&self, from: *const u8, to: *mut u8) {
        let Some(Lines { rows, columns, way, .. }) = &self.lines else { return };
        let mut index: SmallVec<[usize; 4]> = SmallVec::from_elem(0, self.outer.len());
        let (mut source, mut target) = (from, to);
        'copies: loop {
            // SAFETY: an index of the outer dimensions leads to the two addresses; the lines are all of the other two
            // dimensions, and were made for their distances and for an instruction set that the processor has.
            unsafe { way(self.isa, rows, columns, source, target) };
            // To the next index, the last dimension first.
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
            // SAFETY: the elements fill `all` bytes at `to` without gaps, which are the caller's to write and of which the
            // first `done`, at least `again`, are written.
            unsafe { to.copy_to_nonoverlapping(to.add(done), len) };
            done += len;
            if done == 2 * again && done <= NEAR {
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
    // SAFETY: as the caller says.
    unsafe { Pack::new(item, dims).run(from, to) }
}

/// A copy of elements into a slice, in order and without gaps, that has been prepared for any slices.
#[derive(Clone, Debug)]
pub struct PackDense {
    pack: Pack,
    /// Bytes that elements reach before the beginning of the first one, and from there on.
    before: usize,
    after: usize,
    /// Bytes of all elements.
    width: usize,
}

impl PackDense {
    /// A copy of elements of `item` bytes (1, 2, 4, 8 or 16). Dimensions are outermost first: how many elements, and the bytes
    /// from one to the next.
    ///
    /// # Panics
    /// If `item` is no size of an element, or no memory has room for the elements.
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

    /// Copies all elements, the first of which begins at that byte.
    ///
    /// # Panics
    /// If the slice is not as long as the elements, or one of them lies outside of `from`.
    pub fn run(&self, from: &[u8], first: usize, to: &mut [u8]) {
        assert_eq!(self.width, to.len(), "the slice is as long as the elements");
        if self.width > 0 {
            let is_inside = self.before <= first && first < from.len() && self.after <= from.len() - first;
            assert!(is_inside, "the elements are in the slice");
            // SAFETY: no element lies more than `before` bytes before the first, or ends more than `after` bytes behind its
            // start, and the slice reaches as far; they fill the `width` bytes of the other slice, which nobody else has.
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

/// The widest elements that so many neighbours on both sides can be taken for, and what is left of the dimensions.
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

/// The same dimensions without those of one step, and with those that step evenly into each other as one.
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

/// The bytes that dimensions write, if they leave no gaps.
fn dense(dims: &[PackDim], item: usize) -> Option<usize> {
    dims.iter().rev().try_fold(item, |width, dim| (dim.to == width as isize).then_some(width * dim.len))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Copies element by element.
    fn naive(item: usize, dims: &[PackDim], from: &[u8], first: isize, to: &mut [u8], start: isize) {
        let Some((dim, inner)) = dims.split_first() else {
            let (from, to) = (&from[first as usize..][..item], &mut to[start as usize..][..item]);
            return to.copy_from_slice(from);
        };
        for at in 0..dim.len as isize {
            naive(item, inner, from, first + at * dim.from, to, start + at * dim.to);
        }
    }

    /// Dense rows of `lens` on the writing side, read in the given order of dimensions, innermost first, with a gap
    /// after each row.
    fn dims(item: usize, lens: &[usize], order: &[usize], kinds: &[isize]) -> Vec<PackDim> {
        let mut dims: Vec<PackDim> = lens.iter().map(|&len| PackDim { len, from: 0, to: 0 }).collect();
        let mut step = item as isize;
        for dim in dims.iter_mut().rev() {
            dim.to = step;
            step *= dim.len as isize;
        }
        let mut step = item as isize;
        for (&at, &kind) in order.iter().zip(kinds) {
            dims[at].from = kind * step;
            step += step * kind.abs() * dims[at].len as isize;
        }
        dims
    }

    /// Copies to and fro, on every instruction set, with guard bytes about what is written.
    fn check(item: usize, dims: &[PackDim]) {
        const GUARD: usize = 64;
        let reach = |dim: &PackDim| (dim.len as isize - 1).max(0) * dim.from;
        let low: isize = dims.iter().map(|dim| reach(dim).min(0)).sum();
        let high: isize = dims.iter().map(|dim| reach(dim).max(0)).sum();
        let memory: Vec<u8> = (0..(high - low) as usize + item).map(|at| (at * 31 % 251) as u8).collect();
        let len = dims.iter().map(|dim| dim.len).product::<usize>() * item;
        let mut expected = vec![0xee; len + 2 * GUARD];
        naive(item, dims, &memory, -low, &mut expected, GUARD as isize);
        let back: Vec<PackDim> =
            dims.iter().map(|dim| PackDim { from: dim.to, to: dim.from, ..*dim }).collect();
        let mut returned = vec![0xee; memory.len() + 2 * GUARD];
        naive(item, &back, &expected, GUARD as isize, &mut returned, GUARD as isize - low);
        // What has one place for several elements cannot be written back in any order.
        let apart = dims.iter().all(|dim| dim.from != 0);
        for isa in Isa::ALL.into_iter().filter(|isa| isa.is_supported()) {
            let (mut found, mut scattered) = (vec![0xee; expected.len()], vec![0xee; returned.len()]);
            // SAFETY: the dimensions reach from `low` to `high` about the first element in `memory`, and fill `len`
            // bytes; the processor has the instruction set.
            unsafe {
                let first = memory.as_ptr().offset(-low);
                Pack::on(isa, item, dims, apart).run(first, found.as_mut_ptr().add(GUARD));
                if apart {
                    let place = scattered.as_mut_ptr().add(GUARD).offset(-low);
                    Pack::on(isa, item, &back, false).run(found.as_ptr().add(GUARD), place);
                }
            }
            assert_eq!(found, expected, "{dims:?} of {item} bytes on {isa}");
            assert!(!apart || scattered == returned, "{back:?} of {item} bytes on {isa}");
        }
    }

    #[test]
    fn slices_are_packed_from_any_first_element() {
        let from: Vec<u8> = (0..60).collect();
        let packed = |dims: &[(usize, isize)], first| {
            let mut to = vec![0; 2 * dims.iter().map(|(len, _)| len).product::<usize>()];
            pack_dense(2, dims, &from, first, &mut to);
            to
        };
        assert_eq!(packed(&[], 58), [58, 59]);
        assert_eq!(packed(&[(0, 2), (7, 1000)], 58), []);
        assert_eq!(packed(&[(2, 20), (3, -4)], 38), [38, 39, 34, 35, 30, 31, 58, 59, 54, 55, 50, 51]);
        for (dims, first) in
            [(&[(2, 20), (3, -4)][..], 40), (&[(3, -4)], 7), (&[], 59), (&[], 60), (&[], usize::MAX)]
        {
            assert!(std::panic::catch_unwind(|| packed(dims, first)).is_err(), "{dims:?} from {first}");
        }
    }

    #[test]
    fn every_layout_is_copied_as_element_by_element() {
        let orders: [[usize; 3]; 6] = [[2, 1, 0], [2, 0, 1], [1, 2, 0], [1, 0, 2], [0, 1, 2], [0, 2, 1]];
        let sizes =
            [[1, 1, 1], [2, 3, 5], [1, 17, 33], [3, 40, 7], [2, 16, 64], [5, 1, 50], [3, 0, 2], [37, 2, 9]];
        let kinds =
            [[1, 1, 1], [0, 1, 1], [1, 0, 1], [2, 1, 0], [-1, 1, -1], [0, 0, 0], [3, 1, 1], [-2, 4, 1]];
        for item in [1, 2, 4, 8, 16] {
            for lens in sizes {
                for (order, kinds) in orders.iter().flat_map(|order| kinds.map(|kinds| (order, kinds))) {
                    check(item, &dims(item, &lens, order, &kinds));
                }
            }
        }
    }

    #[test]
    fn a_row_is_repeated_whatever_its_length() {
        for len in [100, 4095, 4096, 9001] {
            let all = PackDim { len: 7, from: 0, to: len as isize };
            check(1, &[all, PackDim { len, from: 1, to: 1 }]);
        }
    }

    #[test]
    fn distances_that_have_a_loop_are_copied_as_all_others() {
        for item in [1, 2, 4, 8, 16] {
            let of = |len: usize, from: usize, to: usize| PackDim {
                len,
                from: (from * item) as isize,
                to: (to * item) as isize,
            };
            for small in 1..=9 {
                for len in [1, 7, 64, 100, 333] {
                    // Every so manyth element, each element so many times, so many lines in turn, so many apart.
                    check(item, &[of(3, small * len, len), of(len, small, 1)]);
                    check(item, &[of(len, 1, small), of(small, 0, 1)]);
                    check(item, &[of(len, 1, small), of(small, len + 3, 1)]);
                    check(item, &[of(small, 1, len), of(len, small, 1)]);
                    // Rows with gaps, and both sides far apart.
                    check(item, &[of(len, small + 2, small), of(small, 1, 1)]);
                    check(item, &[of(small, 1, 1), of(len, small, small)]);
                }
            }
        }
    }

    #[test]
    fn blocks_of_all_sizes_cross_over() {
        for item in [1, 2, 4, 8, 16] {
            let sizes = [
                (1, 70),
                (4, 9),
                (8, 8),
                (11, 26),
                (15, 16),
                (16, 16),
                (17, 33),
                (63, 20),
                (64, 64),
                (65, 67),
                (130, 31),
                (67, 512),
            ];
            // Next to each other on one side, or some elements apart.
            for ((rows, columns), near) in
                sizes.iter().flat_map(|&size| [1isize, -1, 2, 3, 5].map(|near| (size, near)))
            {
                let step = item as isize;
                let (tall, wide) = ((rows as isize + 3) * near.abs(), columns as isize);
                let dims = [
                    PackDim { len: rows, from: near * step, to: wide * step },
                    PackDim { len: columns, from: tall * step, to: step },
                ];
                check(item, &dims);
            }
        }
    }
}
