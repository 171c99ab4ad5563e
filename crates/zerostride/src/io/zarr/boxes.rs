//! Owns arithmetic on boxes of elements: the cells of a regular grid that a box intersects, and the
//! contiguous runs that two boxes share. It does not know where elements are stored.

use std::ops::Range;

use smallvec::SmallVec;

/// A box: a range of indices for each dimension.
pub(super) type IndexBox = SmallVec<[Range<usize>; 4]>;

/// The index of a cell, or of an element, in each dimension.
pub(super) type CellIndex = SmallVec<[usize; 4]>;

/// The cells of a grid that a box intersects, in row-major order, each with the intersection.
pub(super) fn cells(region: &[Range<usize>], cell: &[usize]) -> impl Iterator<Item = (CellIndex, IndexBox)> {
    let numbers = |(range, size): (&Range<usize>, &usize)| {
        let end = if range.is_empty() { range.start / size } else { range.end.div_ceil(*size) };
        range.start / size..end
    };
    let numbers: IndexBox = region.iter().zip(cell).map(numbers).collect();
    indices(numbers).map(move |index| {
        let part = |((range, size), number): ((&Range<usize>, &usize), &usize)| {
            range.start.max(number * size)..range.end.min((number + 1).saturating_mul(*size))
        };
        let part = region.iter().zip(cell).zip(&index).map(part).collect();
        (index, part)
    })
}

/// The runs of elements of `part` that are contiguous in both `one` and `other`, row-major boxes that contain
/// `part`: the offset of a run in each, and its length.
pub(super) fn runs<'a>(
    part: &'a [Range<usize>],
    one: &'a [Range<usize>],
    other: &'a [Range<usize>],
) -> impl Iterator<Item = (usize, usize, usize)> + 'a {
    // From the last dimension that is not whole in both boxes on, `part` is contiguous in both.
    let whole = |dim: usize| part[dim].len() == one[dim].len() && part[dim].len() == other[dim].len();
    let outer = (0..part.len()).rev().find(|&dim| !whole(dim)).unwrap_or(0);
    let length = part[outer.min(part.len())..].iter().map(Range::len).product();
    indices(part[..outer].into()).map(move |mut index| {
        index.extend(part[outer..].iter().map(|range| range.start));
        (offset(&index, one), offset(&index, other), length)
    })
}

/// The row-major offset of an element in a box.
pub(super) fn offset(index: &[usize], region: &[Range<usize>]) -> usize {
    index.iter().zip(region).fold(0, |offset, (index, range)| offset * range.len() + index - range.start)
}

/// All indices of a box, in row-major order. The number of elements does not overflow.
fn indices(region: IndexBox) -> impl Iterator<Item = CellIndex> {
    let count: usize = region.iter().map(Range::len).product();
    (0..count).map(move |number| {
        let mut left = number;
        let mut index: CellIndex = region
            .iter()
            .rev()
            .map(|range| {
                let at = range.start + left % range.len();
                left /= range.len();
                at
            })
            .collect();
        index.reverse();
        index
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_is_in_one_run_of_one_cell() {
        for (sizes, cell) in [
            (&[7, 5][..], &[3, 2][..]),
            (&[4, 3, 2], &[2, 3, 2]),
            (&[6], &[4]),
            (&[], &[]),
            (&[0, 3], &[2, 2]),
        ] {
            for start in 0..=1.min(sizes.first().copied().unwrap_or(0)) {
                let mut region: IndexBox = sizes.iter().map(|&size| 0..size).collect();
                if let Some(first) = region.first_mut() {
                    first.start = start;
                }
                let count: usize = region.iter().map(Range::len).product();
                let mut found = vec![usize::MAX; count];
                for (index, part) in cells(&region, cell) {
                    let own: IndexBox =
                        index.iter().zip(cell).map(|(n, size)| n * size..(n + 1) * size).collect();
                    for (from, to, length) in runs(&part, &own, &region) {
                        for step in 0..length {
                            assert_eq!(found[to + step], usize::MAX);
                            found[to + step] = from + step;
                        }
                    }
                }
                for index in indices(region.clone()) {
                    let own: IndexBox = index
                        .iter()
                        .zip(cell)
                        .map(|(at, size)| at / size * size..(at / size + 1) * size)
                        .collect();
                    assert_eq!(found[offset(&index, &region)], offset(&index, &own));
                }
            }
        }
    }
}
