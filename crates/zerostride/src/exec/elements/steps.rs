//! Owns the steps of a loop over some dimensions: their offsets, and as few parts as there can be. It does
//! not know memory, only offsets in it (`access.rs`).

use std::ops::Range;

use smallvec::SmallVec;
use zerostride_kernels::PackDim;

/// A group of a loop's dimensions.
#[derive(Clone, Copy)]
pub(in crate::exec) struct Steps<'a> {
    pub(in crate::exec) shape: &'a [usize],
    pub(in crate::exec) strides: &'a [isize],
}

/// Steps that follow each other: some along a dimension, with all of those inside it.
pub(in crate::exec) struct Part {
    pub(in crate::exec) offset: isize,
    pub(in crate::exec) len: usize,
    pub(in crate::exec) dim: usize,
    pub(in crate::exec) count: usize,
    /// Indices of the dimension from one to the next.
    pub(in crate::exec) step: isize,
}

impl Steps<'_> {
    /// Some steps in row-major order, in as few parts as there can be.
    pub(in crate::exec) fn parts(&self, range: StridedRange) -> SmallVec<[Part; 4]> {
        let StridedRange { first: mut at, step, count: mut left } = range;
        let mut parts = SmallVec::new();
        while left > 0 {
            let (mut dim, mut inside) = (self.shape.len().saturating_sub(1), 1);
            // Dimensions that are there with all of their steps.
            while step == 1
                && dim > 0
                && at.is_multiple_of(inside * self.shape[dim])
                && left / inside >= self.shape[dim]
            {
                inside *= self.shape[dim];
                dim -= 1;
            }
            let size = self.shape.get(dim).copied().unwrap_or(1);
            let count = (left / inside).min((size - at / inside % size).div_ceil(step));
            parts.push(Part {
                offset: self.offset(at),
                len: count * inside,
                dim,
                count,
                step: step as isize,
            });
            at += count * inside * step;
            left -= count * inside;
        }
        parts
    }

    /// How the elements of a part, `item` bytes each, are copied to a tile with `to` bytes from one to the
    /// next: dimensions, outermost first.
    pub(in crate::exec) fn push_dims(
        &self,
        part: &Part,
        (item, to): (isize, isize),
        dims: &mut SmallVec<[PackDim; 6]>,
    ) {
        let mut inside = part.len as isize;
        let mut push = |len: usize, stride: isize| {
            inside /= len as isize;
            dims.push(PackDim { len, from: stride * item, to: inside * to });
        };
        for dim in part.dim..self.shape.len() {
            if dim == part.dim {
                push(part.count, part.step * self.strides[dim]);
            } else {
                push(self.shape[dim], self.strides[dim]);
            }
        }
    }

    /// The offset of a step.
    pub(in crate::exec) fn offset(&self, mut step: usize) -> isize {
        let mut offset = 0;
        for (&size, &stride) in self.shape.iter().zip(self.strides).skip(1).rev() {
            offset += (step % size) as isize * stride;
            step /= size;
        }
        offset + step as isize * self.strides.first().copied().unwrap_or(0)
    }

    /// Whether each stride is longer than all steps inside it together, so that no two elements coincide.
    pub(in crate::exec) fn is_nested(&self) -> bool {
        let mut dims = self.shape.iter().zip(self.strides).rev().filter(|&(&size, _)| size > 1);
        let reach = dims.try_fold(0i128, |inside, (&size, &stride)| {
            (stride as i128 > inside).then(|| inside + (size as i128 - 1) * stride as i128)
        });
        reach.is_some()
    }

    /// Whether steps are contiguous.
    pub(in crate::exec) fn is_dense(&self) -> bool {
        self.dense(1).is_some()
    }

    /// The offset of the step after the last one, if each is that far from the one before, in row-major
    /// order.
    pub(in crate::exec) fn dense(&self, step: isize) -> Option<isize> {
        let mut dims = self.shape.iter().zip(self.strides).rev().filter(|&(&size, _)| size != 1);
        dims.try_fold(step, |step, (&size, &stride)| (stride == step).then(|| step * size as isize))
    }

    /// The stride from one step of some to the next, if there is one.
    pub(in crate::exec) fn step(&self, StridedRange { first, step, count }: StridedRange) -> Option<isize> {
        let Some((&stride, outer)) = self.strides.split_last() else { return Some(0) };
        let is_inside = |size: usize| first % size + step * count.saturating_sub(1) < size;
        let is_even =
            outer.is_empty() || is_inside(self.shape[outer.len()].max(1)) || self.dense(stride).is_some();
        is_even.then_some(stride * step as isize)
    }

    pub(in crate::exec) fn numel(&self) -> usize {
        self.shape.iter().product()
    }
}

/// The copy back from a tile.
pub(super) fn back(dims: &[PackDim]) -> SmallVec<[PackDim; 12]> {
    dims.iter().map(|dim| PackDim { from: dim.to, to: dim.from, ..*dim }).collect()
}

/// Rows of a loop at even distances.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StridedRange {
    pub(crate) first: usize,
    pub(crate) step: usize,
    pub(crate) count: usize,
}

impl StridedRange {
    /// All rows of a range.
    pub(crate) fn all(range: Range<usize>) -> StridedRange {
        StridedRange { first: range.start, step: 1, count: range.len() }
    }

    /// The index after the last one's.
    pub(in crate::exec) fn end(&self) -> usize {
        if self.count == 0 { 0 } else { self.first + (self.count - 1) * self.step + 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_walk_in_row_major_order() {
        let all_steps = Steps { shape: &[2, 3, 4], strides: &[100, 10, 1] };
        let steps = |part: Part| {
            let mut dims = SmallVec::new();
            all_steps.push_dims(&part, (1, 1), &mut dims);
            let walk = |steps: Vec<isize>, dim: &PackDim| -> Vec<isize> {
                steps
                    .iter()
                    .flat_map(|step| (0..dim.len as isize).map(move |at| step + at * dim.from))
                    .collect()
            };
            let steps = dims.iter().fold(vec![part.offset], walk);
            assert_eq!(steps.len(), part.len);
            steps
        };
        let all: Vec<isize> = (0..2)
            .flat_map(|a| (0..3).flat_map(move |b| (0..4).map(move |c| 100 * a + 10 * b + c)))
            .collect();
        for start in 0..24 {
            for end in start..=24 {
                let parts = all_steps.parts(StridedRange::all(start..end));
                assert!(parts.len() <= 5);
                assert_eq!(parts.into_iter().flat_map(steps).collect::<Vec<_>>(), all[start..end]);
            }
        }
    }

    #[test]
    fn no_dimensions_have_one_step() {
        let all_steps = Steps { shape: &[], strides: &[] };
        let parts = all_steps.parts(StridedRange::all(0..1));
        assert_eq!(parts.iter().map(|part| (part.offset, part.len)).collect::<Vec<_>>(), [(0, 1)]);
    }
}
