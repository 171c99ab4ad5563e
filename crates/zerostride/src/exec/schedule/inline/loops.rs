//! Owns the loops of a small operation: the dimensions of its operands, broadcast. It does not touch
//! elements.

use zerostride_shape::{FEW_DIMS, Layout, Shape, ShapeError, Strides, broadcast_size};

use super::AsValue;
use crate::exec::elements::StridedDims;

/// The operands in step with the result.
#[derive(Clone, Copy)]
pub(super) struct Loops<const N: usize> {
    /// The result's sizes: a layout is made only once the result exists.
    sizes: [usize; FEW_DIMS],
    ndim: usize,
    pub(super) numel: usize,
    /// The dimensions of more than one element, innermost first, and how many they are.
    pub(super) lens: [usize; FEW_DIMS],
    count: usize,
    /// Each operand's strides along those, 0 where it is stretched.
    pub(super) strides: [[isize; FEW_DIMS]; N],
    /// Whether an operand's elements are contiguous in the result's order.
    pub(super) dense: [bool; N],
}

impl<const N: usize> Loops<N> {
    /// Those of a single element.
    #[inline(always)]
    pub(super) fn single() -> Loops<N> {
        Loops {
            sizes: [0; FEW_DIMS],
            ndim: 0,
            numel: 1,
            lens: [0; FEW_DIMS],
            count: 0,
            strides: [[0; FEW_DIMS]; N],
            dense: [true; N],
        }
    }

    /// Walks along the dimensions of operands, from the right; `None` if they do not broadcast, or the result
    /// has no elements or too many dimensions.
    #[inline(always)]
    pub(super) fn walk(&mut self, values: &[impl AsValue; N]) -> Option<()> {
        let mut dims = [(&[][..], &[][..]); N];
        for (dims, value) in dims.iter_mut().zip(values) {
            if let Some(layout) = value.value().layout() {
                *dims = (&**layout.shape(), &**layout.strides());
                self.ndim = self.ndim.max(dims.0.len());
            }
        }
        for dim in (0..self.ndim).rev() {
            let (mut size, mut steps) = (1, [0; N]);
            for (step, (sizes, strides)) in steps.iter_mut().zip(&mut dims) {
                if let (Some((&own, others)), Some((&stride, other_strides))) =
                    (sizes.split_last(), strides.split_last())
                {
                    size = broadcast_size(size, own)?;
                    *step = if own == 1 { 0 } else { stride };
                    (*sizes, *strides) = (others, other_strides);
                }
            }
            *self.sizes.get_mut(dim)? = size;
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

    /// The result's layout, which is contiguous.
    #[inline(always)]
    pub(super) fn layout(&self) -> Result<Layout, ShapeError> {
        Layout::contiguous_few(self.sizes, self.ndim)
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

    /// Whether an operand is one element.
    #[inline]
    pub(super) fn is_one(&self, operand: usize) -> bool {
        self.of_operand(operand).1.iter().all(|&stride| stride == 0)
    }

    /// Whether all operands are stretched along some dimension.
    pub(super) fn repeat(&self) -> bool {
        (0..self.count).any(|dim| self.strides.iter().all(|strides| strides[dim] == 0))
    }

    /// Whether the elements are rows with a constant stride, of which some operand's are not contiguous.
    #[inline]
    pub(super) fn are_rows(&self) -> bool {
        self.count <= 2 && self.dense.contains(&false)
    }

    /// As few dimensions as lead to the same elements.
    pub(super) fn joined(&self) -> StridedDims<N> {
        let dim = |dim: usize| (self.lens[dim], self.strides.map(|strides| strides[dim]));
        StridedDims::joined((0..self.count).map(dim))
    }
}

impl Loops<1> {
    /// The loops of a step.
    pub(super) fn of(shape: &Shape, strides: &Strides) -> Option<Loops<1>> {
        let mut loops = Loops::single();
        shape.iter().zip(strides).rev().try_for_each(|(&size, &stride)| loops.push(size, [stride]))?;
        Some(loops)
    }
}
