//! Owns the walk along strided dimensions: as few as there can be, for operands in step, in row-major order
//! from any step on. It does not know memory, only offsets in it.

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
}
