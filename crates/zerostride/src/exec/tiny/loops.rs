//! Owns the way through the elements of a small operation: its operands' dimensions side by side. It does not touch elements.

use smallvec::SmallVec;
use zerostride_shape::{Shape, Strides, broadcast_size};

use super::Value;

/// Dimensions beyond which shapes need memory of their own.
const MOST_DIMS: usize = 6;

/// The operands in step with the result.
pub(super) struct Loops<const N: usize> {
    /// The result's sizes, of which there are few: a shape is made only once the result exists.
    sizes: [usize; MOST_DIMS],
    ndim: usize,
    pub(super) numel: usize,
    /// The dimensions of more than one element, innermost first, and how many they are.
    lens: [usize; MOST_DIMS],
    count: usize,
    /// Each operand's strides along those, 0 where it is stretched.
    strides: [[isize; MOST_DIMS]; N],
    /// Whether an operand's elements lie next to each other in the result's order.
    pub(super) dense: [bool; N],
}

impl<const N: usize> Loops<N> {
    /// Those of a single element.
    pub(super) const SINGLE: Loops<N> = Loops {
        sizes: [1; MOST_DIMS],
        ndim: 0,
        numel: 1,
        lens: [1; MOST_DIMS],
        count: 0,
        strides: [[0; MOST_DIMS]; N],
        dense: [true; N],
    };

    /// Walks along the dimensions of operands, from the right; `None` if they do not broadcast, or the result has no
    /// elements or too many dimensions.
    #[inline(always)]
    pub(super) fn walk(&mut self, values: &[impl Value; N]) -> Option<()> {
        let mut dims = [(&[][..], &[][..]); N];
        for (dims, value) in dims.iter_mut().zip(values) {
            if let Some(layout) = value.layout() {
                *dims = (&**layout.shape(), &layout.strides()[..layout.ndim()]);
                self.ndim = self.ndim.max(layout.ndim());
            }
        }
        for from_right in 0..self.ndim {
            let (mut size, mut steps) = (1, [0; N]);
            for (step, (sizes, strides)) in steps.iter_mut().zip(dims) {
                if let Some(dim) = sizes.len().checked_sub(from_right + 1) {
                    size = broadcast_size(size, sizes[dim])?;
                    *step = if sizes[dim] == 1 { 0 } else { strides[dim] };
                }
            }
            *self.sizes.get_mut(self.ndim - 1 - from_right)? = size;
            self.push(size, steps)?;
        }
        Some(())
    }

    /// Adds a dimension outside of the others.
    #[inline(always)]
    fn push(&mut self, size: usize, steps: [isize; N]) -> Option<()> {
        if size != 1 {
            *self.lens.get_mut(self.count)? = size;
            for (operand, step) in steps.into_iter().enumerate() {
                self.strides[operand][self.count] = step;
                self.dense[operand] &= step == self.numel as isize;
            }
            self.count += 1;
            self.numel = self.numel.checked_mul(size).filter(|&numel| numel > 0)?;
        }
        Some(())
    }

    /// The result's sizes.
    #[inline]
    pub(super) fn sizes(&self) -> &[usize] {
        &self.sizes[..self.ndim]
    }

    /// The dimensions of more than one element, and an operand's strides along them, innermost first.
    #[inline]
    pub(super) fn of_operand(&self, operand: usize) -> (&[usize], &[isize]) {
        (&self.lens[..self.count], &self.strides[operand][..self.count])
    }

    /// As few dimensions as lead to the same elements, innermost first: the size of each, and the operands' strides.
    pub(super) fn joined(&self) -> SmallVec<[(usize, [isize; N]); 3]> {
        let mut dims: SmallVec<[(usize, [isize; N]); 3]> = SmallVec::new();
        for dim in 0..self.count {
            let (len, steps) = (self.lens[dim], self.strides.map(|strides| strides[dim]));
            let goes_on = |(inner, strides): &(usize, [isize; N])| {
                strides.map(|stride| stride.checked_mul(*inner as isize)) == steps.map(Some)
            };
            match dims.last_mut().filter(|inner| goes_on(inner)) {
                Some((inner, _)) => *inner *= len,
                None => dims.push((len, steps)),
            }
        }
        dims
    }
}

impl Loops<1> {
    /// The loops of a step.
    pub(super) fn of(shape: &Shape, strides: &Strides) -> Option<Loops<1>> {
        let mut loops = Loops::SINGLE;
        shape.iter().zip(strides).rev().try_for_each(|(&size, &stride)| loops.push(size, [stride]))?;
        Some(loops)
    }
}
