//! Owns copies between places in memory that are laid out differently: an operand into a tile, a tile into a result.
//! It knows bytes and distances, not dtypes or tensors. `lines.rs` copies two dimensions, `transpose.rs` the blocks of
//! those whose neighbours on one side are far apart on the other.

mod lines;
mod transpose;

use lines::Lines;

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

/// The most dimensions of one [`pack`].
pub const PACK_DIMS: usize = 12;

/// Copies elements of `item` bytes (1, 2, 4, 8 or 16) from one layout to another, row by row.
///
/// Dimensions are outermost first. No address needs an alignment.
///
/// # Safety
/// Every element that the dimensions lead to from `from` is readable and initialised, every one that they lead to from
/// `to` is writable and nobody else's; none of the former overlaps one of the latter.
///
/// # Panics
/// If there are more than [`PACK_DIMS`] dimensions, or `item` is no size of an element.
pub unsafe fn pack(item: usize, dims: &[PackDim], from: *const u8, to: *mut u8) {
    let (mut merged, mut count) = ([PackDim::ONE; PACK_DIMS], 0);
    for &dim in dims.iter().filter(|dim| dim.len != 1) {
        if dim.len == 0 {
            return;
        }
        let steps_evenly = |outer: &PackDim| {
            outer.from == dim.len as isize * dim.from && outer.to == dim.len as isize * dim.to
        };
        match merged[..count].last_mut() {
            Some(outer) if steps_evenly(outer) => *outer = PackDim { len: outer.len * dim.len, ..dim },
            _ => {
                merged[count] = dim;
                count += 1;
            }
        }
    }
    let dims = &mut merged[..count];
    // SAFETY: the merged dimensions lead to the same elements, which the caller vouches for.
    unsafe {
        match item {
            1 => block::<1>(dims, from, to),
            2 => block::<2>(dims, from, to),
            4 => block::<4>(dims, from, to),
            8 => block::<8>(dims, from, to),
            16 => block::<16>(dims, from, to),
            other => panic!("no element has {other} bytes"),
        }
    }
}

/// # Safety
/// As [`pack`], for elements of `N` bytes.
unsafe fn block<const N: usize>(dims: &mut [PackDim], from: *const u8, to: *mut u8) {
    let item = N as isize;
    if let [first, inner @ ..] = dims
        && first.from == 0
        && !inner.is_empty()
        && let Some(width) = dense(inner, N)
        && first.to == width as isize
    {
        // SAFETY: the first step of a dimension is among its steps.
        unsafe { block::<N>(inner, from, to) };
        // The same elements again and again: what has been written is read, doubling each time.
        let (mut done, all) = (width, width * first.len);
        while done < all {
            let len = done.min(all - done);
            // SAFETY: the elements of a step of `first` lie without gaps at `to`, so that all steps fill `all` bytes,
            // which are the caller's to write and of which the first `done` are written.
            unsafe { to.copy_to_nonoverlapping(to.add(done), len) };
            done += len;
        }
        return;
    }
    let Some((&mut columns, outer)) = dims.split_last_mut() else {
        // SAFETY: without dimensions there is one element, which the caller vouches for.
        unsafe { to.cast::<[u8; N]>().write_unaligned(from.cast::<[u8; N]>().read_unaligned()) };
        return;
    };
    // What is next to the columns: the dimension that is dense where the columns are not, or the longest one.
    let far =
        |dim: &PackDim| (columns.from != item && dim.from == item) || (columns.to != item && dim.to == item);
    let next = outer.iter().position(far).or_else(|| (0..outer.len()).max_by_key(|&at| outer[at].len));
    let rows = next.map_or(PackDim::ONE, |next| std::mem::replace(&mut outer[next], PackDim::ONE));
    let lines = Lines::<N>::new(rows, columns);
    let mut index = [0; PACK_DIMS];
    let (mut from, mut to) = (from, to);
    loop {
        // SAFETY: `from` and `to` are led to by an index of the outer dimensions; the lines are all of the other two.
        unsafe { lines.copy(from, to) };
        // To the next index, the last dimension first.
        let mut dims = outer.iter().zip(&mut index).rev();
        loop {
            let Some((dim, index)) = dims.next() else { return };
            *index += 1;
            (from, to) = (from.wrapping_offset(dim.from), to.wrapping_offset(dim.to));
            if *index < dim.len {
                break;
            }
            let back = *index as isize;
            *index = 0;
            (from, to) = (from.wrapping_offset(-back * dim.from), to.wrapping_offset(-back * dim.to));
        }
    }
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

    #[test]
    fn every_layout_is_copied_as_element_by_element() {
        let orders: [[usize; 3]; 6] = [[2, 1, 0], [2, 0, 1], [1, 2, 0], [1, 0, 2], [0, 1, 2], [0, 2, 1]];
        let sizes =
            [[1, 1, 1], [2, 3, 5], [1, 17, 33], [3, 40, 7], [2, 16, 64], [5, 1, 50], [3, 0, 2], [37, 2, 9]];
        for item in [1, 2, 4, 8, 16] {
            for lens in sizes {
                for (order, kinds) in orders.iter().flat_map(|order| {
                    [[1, 1, 1], [0, 1, 1], [1, 0, 1], [2, 1, 0], [-1, 1, -1], [0, 0, 0]]
                        .map(|kinds| (order, kinds))
                }) {
                    let dims = dims(item, &lens, order, &kinds);
                    let reach = |dim: &PackDim| (dim.len as isize - 1).max(0) * dim.from;
                    let low: isize = dims.iter().map(|dim| reach(dim).min(0)).sum();
                    let high: isize = dims.iter().map(|dim| reach(dim).max(0)).sum();
                    let memory: Vec<u8> =
                        (0..(high - low) as usize + item).map(|at| (at * 31 % 251) as u8).collect();
                    let mut expected = vec![0; lens.iter().product::<usize>() * item];
                    naive(item, &dims, &memory, -low, &mut expected, 0);
                    let mut found = vec![0; expected.len()];
                    // SAFETY: `memory` spans what the dimensions reach from `-low`, `found` their dense product.
                    unsafe { pack(item, &dims, memory.as_ptr().add(-low as usize), found.as_mut_ptr()) };
                    assert_eq!(found, expected, "{dims:?}");
                    // And back, where each element is read once.
                    if dims.iter().all(|dim| dim.from != 0 || dim.len <= 1) {
                        let back: Vec<PackDim> =
                            dims.iter().map(|dim| PackDim { from: dim.to, to: dim.from, ..*dim }).collect();
                        let (mut expected, mut scattered) = (vec![0; memory.len()], vec![0; memory.len()]);
                        naive(item, &back, &found, 0, &mut expected, -low);
                        // SAFETY: as before, the other way round.
                        unsafe {
                            pack(item, &back, found.as_ptr(), scattered.as_mut_ptr().add(-low as usize))
                        };
                        assert_eq!(scattered, expected, "{back:?}");
                    }
                }
            }
        }
    }
}
