//! Owns the walk along strided dimensions: as few as there can be, for operands in step, in row-major order
//! from any step on. It does not know memory, only offsets in it.

use std::ops::Range;

use smallvec::SmallVec;

/// Dimensions with a stride for each of `N` operands, innermost first; neighbours that all operands walk with
/// one stride are one dimension.
#[derive(Clone, Debug)]
pub(crate) struct StridedDims<const N: usize>(SmallVec<[(usize, [isize; N]); 3]>);

impl<const N: usize> StridedDims<N> {
    /// As few dimensions as lead to the same elements as these, which come innermost first.
    pub(crate) fn joined(dims: impl IntoIterator<Item = (usize, [isize; N])>) -> StridedDims<N> {
        let mut joined: SmallVec<[(usize, [isize; N]); 3]> = SmallVec::new();
        for (size, strides) in dims.into_iter().filter(|(size, _)| *size != 1) {
            let goes_on = |(inner, of_inner): &(usize, [isize; N])| {
                let mut both = of_inner.iter().zip(&strides);
                both.all(|(step, &stride)| step.checked_mul(*inner as isize) == Some(stride))
            };
            match joined.last_mut().filter(|inner| goes_on(inner)) {
                Some((inner, _)) => *inner *= size,
                None => joined.push((size, strides)),
            }
        }
        StridedDims(joined)
    }

    /// The sizes and strides, innermost first.
    pub(crate) fn get(&self) -> &[(usize, [isize; N])] {
        &self.0
    }

    pub(crate) fn numel(&self) -> usize {
        self.0.iter().map(|(size, _)| size).product()
    }

    /// Takes out the innermost dimension: its size and strides.
    pub(crate) fn take_inner(&mut self) -> (usize, [isize; N]) {
        if self.0.is_empty() { (1, [1; N]) } else { self.0.remove(0) }
    }

    /// The offsets of a step from the first one.
    pub(crate) fn offsets(&self, step: usize) -> [isize; N] {
        let (mut offsets, mut rest) = ([0; N], step);
        if step == 0 {
            return offsets;
        }
        for (size, strides) in &self.0 {
            let index = rest % size.max(&1);
            rest /= size.max(&1);
            offsets.iter_mut().zip(strides).for_each(|(offset, stride)| *offset += index as isize * stride);
        }
        offsets
    }

    /// The offsets of all steps from one on.
    pub(crate) fn walk(&self, step: usize) -> Offsets<'_, N> {
        let (mut index, mut rest) = (SmallVec::new(), step);
        for (size, _) in &self.0 {
            index.push(rest % size.max(&1));
            rest /= size.max(&1);
        }
        let left = self.numel().saturating_sub(step);
        Offsets { dims: &self.0, index, offsets: self.offsets(step), left }
    }
}

/// Steps of a loop at even distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StridedRange {
    pub(crate) first: usize,
    pub(crate) step: usize,
    pub(crate) count: usize,
}

impl StridedRange {
    /// All steps of a range.
    pub(crate) fn all(range: Range<usize>) -> StridedRange {
        StridedRange { first: range.start, step: 1, count: range.len() }
    }

    /// The index after the last one's.
    pub(in crate::exec) fn end(&self) -> usize {
        if self.count == 0 { 0 } else { self.first + (self.count - 1) * self.step + 1 }
    }
}

/// Steps that follow each other: some along a dimension, with all of those inside it.
pub(in crate::exec) struct StridedPart {
    pub(in crate::exec) offset: isize,
    pub(in crate::exec) len: usize,
    /// The sizes and strides, innermost first.
    pub(in crate::exec) dims: SmallVec<[(usize, isize); 4]>,
}

impl StridedDims<1> {
    /// The dimensions of a loop, outermost first.
    pub(crate) fn of(sizes: &[usize], strides: &[isize]) -> StridedDims<1> {
        StridedDims::joined(sizes.iter().zip(strides).rev().map(|(&size, &stride)| (size, [stride])))
    }

    /// Some steps in row-major order, in as few parts as there can be.
    pub(in crate::exec) fn parts(&self, range: StridedRange) -> SmallVec<[StridedPart; 4]> {
        let StridedRange { first: mut at, step, count: mut left } = range;
        let mut parts = SmallVec::new();
        while left > 0 {
            let (mut dims, mut inside, mut rest) = (SmallVec::new(), 1, &self.0[..]);
            // Dimensions that are there with all of their steps.
            while let &[(size, [stride]), ref outer @ ..] = rest
                && step == 1
                && !outer.is_empty()
                && at.is_multiple_of(inside * size)
                && left / inside >= size
            {
                dims.push((size, stride));
                (inside, rest) = (inside * size, outer);
            }
            let (size, [stride]) = rest.first().copied().unwrap_or((1, [0]));
            let count = (left / inside).min((size - at / inside % size).div_ceil(step));
            dims.push((count, stride * step as isize));
            let ([offset], len) = (self.offsets(at), count * inside);
            parts.push(StridedPart { offset, len, dims });
            at += len * step;
            left -= len;
        }
        parts
    }

    /// The stride from one step of some to the next, if there is one.
    pub(in crate::exec) fn step(&self, StridedRange { first, step, count }: StridedRange) -> Option<isize> {
        let Some(&(size, [stride])) = self.0.first() else { return Some(0) };
        let is_even = self.0.len() == 1 || first % size.max(1) + step * count.saturating_sub(1) < size;
        is_even.then_some(stride * step as isize)
    }

    /// Whether steps are contiguous.
    pub(in crate::exec) fn is_dense(&self) -> bool {
        matches!(self.0[..], [] | [(_, [1])])
    }

    /// Whether each stride is longer than all steps inside it together, so that no two elements coincide.
    pub(in crate::exec) fn is_nested(&self) -> bool {
        let reach = self.0.iter().try_fold(0i128, |inside, &(size, [stride])| {
            (stride as i128 > inside).then(|| inside + (size as i128 - 1) * stride as i128)
        });
        reach.is_some()
    }
}

/// The offsets of steps, one after the other.
pub(crate) struct Offsets<'a, const N: usize> {
    dims: &'a [(usize, [isize; N])],
    index: SmallVec<[usize; 6]>,
    offsets: [isize; N],
    left: usize,
}

impl<const N: usize> Iterator for Offsets<'_, N> {
    type Item = [isize; N];

    #[inline(always)]
    fn next(&mut self) -> Option<[isize; N]> {
        self.left = self.left.checked_sub(1)?;
        let here = self.offsets;
        for ((size, strides), index) in self.dims.iter().zip(&mut self.index) {
            *index += 1;
            let back = if *index < *size { 0 } else { *size as isize };
            for (offset, stride) in self.offsets.iter_mut().zip(strides) {
                *offset += (1 - back) * stride;
            }
            if back == 0 {
                break;
            }
            *index = 0;
        }
        Some(here)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_begins_anywhere() {
        let dims = StridedDims::joined([(2, [-1, 1]), (1, [7, 7]), (3, [10, 2]), (2, [100, 6])]);
        assert_eq!(dims.get(), [(2, [-1, 1]), (3, [10, 2]), (2, [100, 6])]);
        let all: Vec<[isize; 2]> = (0..2)
            .flat_map(|a| {
                (0..3).flat_map(move |b| (0..2).map(move |c| [100 * a + 10 * b - c, 6 * a + 2 * b + c]))
            })
            .collect();
        for step in 0..=12 {
            assert_eq!(dims.walk(step).collect::<Vec<_>>(), all[step..]);
            assert_eq!(all.get(step).copied().unwrap_or(dims.offsets(step)), dims.offsets(step));
        }
        assert_eq!(StridedDims::joined([(3, [1]), (4, [3])]).get(), [(12, [1])]);
        assert_eq!(StridedDims::joined([(0, [1]), (2, [1])]).walk(0).count(), 0);
        assert_eq!(StridedDims::<1>::joined([]).walk(0).collect::<Vec<_>>(), [[0]]);
    }

    #[test]
    fn parts_walk_in_row_major_order() {
        let steps = StridedDims::of(&[2, 3, 4], &[100, 10, 1]);
        let of_part = |part: StridedPart| {
            let walk = |steps: Vec<isize>, (len, stride): &(usize, isize)| -> Vec<isize> {
                steps.iter().flat_map(|step| (0..*len as isize).map(move |at| step + at * stride)).collect()
            };
            let steps = part.dims.iter().rev().fold(vec![part.offset], walk);
            assert_eq!(steps.len(), part.len);
            steps
        };
        let all: Vec<isize> = (0..2)
            .flat_map(|a| (0..3).flat_map(move |b| (0..4).map(move |c| 100 * a + 10 * b + c)))
            .collect();
        for start in 0..24 {
            for end in start..=24 {
                let parts = steps.parts(StridedRange::all(start..end));
                assert!(parts.len() <= 5);
                assert_eq!(parts.into_iter().flat_map(of_part).collect::<Vec<_>>(), all[start..end]);
            }
        }
        let parts = StridedDims::of(&[], &[]).parts(StridedRange::all(0..1));
        assert_eq!(parts.iter().map(|part| (part.offset, part.len)).collect::<Vec<_>>(), [(0, 1)]);
    }
}
