//! Owns the loops of a small operation: the dimensions of its operands, broadcast. It does not touch
//! elements.

use zerostride_shape::{FEW_DIMS, Layout, Shape, ShapeError, Strides, broadcast_size, result_order};

use super::ready_operand::AsReadyOperand;
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
    /// Which dimensions of the result they are, and whether they lie in another order than those.
    dims: [u8; FEW_DIMS],
    is_turned: bool,
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
            dims: [0; FEW_DIMS],
            is_turned: false,
            strides: [[0; FEW_DIMS]; N],
            dense: [true; N],
        }
    }

    /// Walks along the dimensions of operands, from the right; `None` if they do not broadcast, or the result
    /// has no elements or too many dimensions.
    #[inline(always)]
    pub(super) fn walk(&mut self, values: &[impl AsReadyOperand; N]) -> Option<()> {
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
            *self.dims.get_mut(self.count)? = dim as u8;
            self.push(size, steps)?;
        }
        Some(())
    }

    /// The same elements in the order in which the dimensions of a result lie that has memory of its own: as
    /// those of the operands do.
    #[inline(always)]
    pub(super) fn turn(&mut self) {
        if self.dense.contains(&false) && !self.is_in_order() {
            self.turn_dims();
        }
    }

    /// Whether no dimension belongs inside of one before it.
    #[inline]
    fn is_in_order(&self) -> bool {
        (1..self.count).all(|outer| {
            let is_outside = |inner: usize| {
                let decides = |strides: &[isize; FEW_DIMS]| {
                    let [near, far] = [inner, outer].map(|dim| strides[dim].unsigned_abs());
                    let is_larger = near == far && self.lens[inner] > self.lens[outer];
                    (near != 0 && far != 0 && (near != far || is_larger)).then_some(near >= far)
                };
                self.strides.iter().find_map(decides)
            };
            (0..outer).rev().find_map(is_outside) != Some(true)
        })
    }

    #[cold]
    fn turn_dims(&mut self) {
        let own = *self;
        let outermost_first = |dims: &[usize]| -> Vec<usize> { dims.iter().rev().copied().collect() };
        let lens = outermost_first(&own.lens[..own.count]);
        let strides =
            own.strides.map(|strides| -> Vec<isize> { strides[..own.count].iter().rev().copied().collect() });
        let Some(order) = result_order(&lens, &strides.each_ref().map(|strides| &strides[..])) else {
            return;
        };
        (self.count, self.numel, self.dense, self.is_turned) = (0, 1, [true; N], true);
        for from in order.into_iter().rev().map(|dim| own.count - 1 - dim) {
            self.dims[self.count] = own.dims[from];
            let steps = own.strides.map(|strides| strides[from]);
            self.push(own.lens[from], steps).expect("there are as many dimensions as before");
        }
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

    /// The result's layout, without gaps.
    #[inline(always)]
    pub(super) fn layout(&self) -> Result<Layout, ShapeError> {
        if self.is_turned { self.turned_layout() } else { Layout::contiguous_few(self.sizes, self.ndim) }
    }

    #[cold]
    fn turned_layout(&self) -> Result<Layout, ShapeError> {
        let (mut strides, mut inside) = ([1; FEW_DIMS], 1);
        for (&dim, &len) in self.dims.iter().zip(&self.lens[..self.count]) {
            strides[usize::from(dim)] = inside;
            inside *= len as isize;
        }
        Layout::new(Shape::new(self.sizes())?, Strides::new(&strides[..self.ndim])?, 0)
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
