//! Owns the views that leave elements out, reverse them, or show them more than once.
//! It does not know advanced indexing, which copies.

use crate::dims::Dims;
use crate::error::{ErrorClass, ShapeError};
use crate::layout::Layout;
use crate::shape::{Size, Stride, check_rank};
use crate::views::{wrap, wrap_set};

impl Layout {
    /// The offset of the element `steps` further along a dimension.
    ///
    /// It cannot overflow where there are elements. The offset of an empty layout means nothing, so it may
    /// stay.
    fn offset_after(&self, steps: Size, stride: Stride) -> Stride {
        let moved = Stride::try_from(steps).ok().and_then(|steps| stride.checked_mul(steps));
        let moved = moved.and_then(|moved| self.offset().checked_add(moved));
        moved.filter(|&offset| offset >= 0).unwrap_or(self.offset())
    }

    /// The layout with one dimension replaced.
    fn with_dim(&self, dim: usize, size: Size, stride: Stride, offset: Stride) -> Result<Layout, ShapeError> {
        let (mut shape, mut strides) = (self.shape().dims().clone(), self.strides().dims().clone());
        shape[dim] = size;
        strides[dim] = stride;
        Layout::assemble(shape, strides, offset)
    }

    /// The `length` elements from `start` on along `dim`; a negative start counts from the end.
    ///
    /// Shapes: `(m, n) -> (length, n)` for dimension 0.
    ///
    /// # Errors
    /// The dimension does not exist, or the range is outside it.
    ///
    /// Source: PyTorch `Tensor.narrow`.
    ///
    /// ```
    /// use zerostride_shape::{Layout, Shape};
    ///
    /// let x = Layout::contiguous(Shape::new(&[5])?);
    /// assert_eq!(x.narrow(0, -2, 2)?.span(), Some((3, 4)));
    /// assert_eq!(
    ///     x.narrow(0, 3, 3).unwrap_err().to_string(),
    ///     "start (3) + length (3) exceeds dimension size (5)."
    /// );
    /// # Ok::<(), zerostride_shape::ShapeError>(())
    /// ```
    pub fn narrow(&self, dim: isize, start: Stride, length: Stride) -> Result<Layout, ShapeError> {
        if self.ndim() == 0 {
            return Err(ShapeError::ZeroDim { function: "narrow", class: ErrorClass::Runtime });
        }
        let length = Size::try_from(length).map_err(|_| ShapeError::NarrowLength)?;
        let dim = wrap(dim, self.ndim())?;
        let size = self.shape()[dim];
        let from = if start < 0 { start.checked_add_unsigned(size) } else { Some(start) };
        let from = from.and_then(|from| Size::try_from(from).ok()).filter(|&from| from <= size);
        let from = from.ok_or(ShapeError::NarrowStart { start, size })?;
        if length > size - from {
            return Err(ShapeError::NarrowEnd { start: from, length, size });
        }
        let stride = self.strides()[dim];
        self.with_dim(dim, length, stride, self.offset_after(from, stride))
    }

    /// The elements at `index` along `dim`, which is dropped; a negative index counts from the end.
    ///
    /// Shapes: `(m, n) -> (n)` for dimension 0.
    ///
    /// # Errors
    /// The dimension or the index does not exist.
    ///
    /// Source: PyTorch `Tensor.select`.
    ///
    /// ```
    /// use zerostride_shape::{Layout, Shape};
    ///
    /// let x = Layout::contiguous(Shape::new(&[2, 3])?);
    /// assert_eq!(x.select(0, -1)?.offset(), 3);
    /// assert_eq!(
    ///     x.select(0, 2).unwrap_err().to_string(),
    ///     "select(): index 2 out of range for tensor of size [2, 3] at dimension 0"
    /// );
    /// # Ok::<(), zerostride_shape::ShapeError>(())
    /// ```
    pub fn select(&self, dim: isize, index: Stride) -> Result<Layout, ShapeError> {
        if self.ndim() == 0 {
            return Err(ShapeError::ZeroDim { function: "select", class: ErrorClass::Index });
        }
        let dim = wrap(dim, self.ndim())?;
        let size = self.shape()[dim];
        let at = if index < 0 { index.checked_add_unsigned(size) } else { Some(index) };
        let Some(at) = at.and_then(|at| Size::try_from(at).ok()).filter(|&at| at < size) else {
            return Err(ShapeError::SelectIndex { index, sizes: self.shape().clone(), dim });
        };
        let offset = self.offset_after(at, self.strides()[dim]);
        let (mut shape, mut strides) = (self.shape().dims().clone(), self.strides().dims().clone());
        shape.remove(dim);
        strides.remove(dim);
        Layout::assemble(shape, strides, offset)
    }

    /// Python's slice `start:stop:step` along `dim`.
    ///
    /// Bounds outside the dimension are clamped to it, negative ones count from the end, and a negative step,
    /// which PyTorch refuses, goes backwards.
    ///
    /// Shapes: `(m, n) -> (⌈(stop - start) / step⌉, n)` for dimension 0.
    ///
    /// # Errors
    /// The dimension does not exist, or the step is 0.
    ///
    /// Source: Python's `slice.indices`; PyTorch `aten::slice`.
    ///
    /// ```
    /// use zerostride_shape::{Layout, Shape};
    ///
    /// let x = Layout::contiguous(Shape::new(&[5])?);
    /// assert_eq!(*x.slice(0, Some(1), None, 2)?.shape(), [2]);
    /// let reversed = x.slice(0, None, None, -1)?;
    /// assert_eq!((reversed.offset(), reversed.strides()[0]), (4, -1));
    /// # Ok::<(), zerostride_shape::ShapeError>(())
    /// ```
    pub fn slice(
        &self,
        dim: isize,
        start: Option<Stride>,
        stop: Option<Stride>,
        step: Stride,
    ) -> Result<Layout, ShapeError> {
        if self.ndim() == 0 {
            return Err(ShapeError::ZeroDim { function: "slice", class: ErrorClass::Index });
        }
        let dim = wrap(dim, self.ndim())?;
        if step == 0 {
            return Err(ShapeError::SliceStep);
        }
        let size = self.shape()[dim] as Stride;
        // The range of indices: forwards from 0 to the size, backwards from the last element to the one
        // before the first.
        let (first, last) = if step > 0 { (0, size) } else { (-1, size - 1) };
        let edge = |end: Stride| if end < 0 { (end + size).max(first) } else { end.min(last) };
        let start = start.map_or(if step > 0 { first } else { last }, edge);
        let stop = stop.map_or(if step > 0 { last } else { first }, edge);
        let distance = if step > 0 { stop - start } else { start - stop };
        let length = if distance > 0 { (distance as Size - 1) / step.unsigned_abs() + 1 } else { 0 };
        let stride = self.strides()[dim];
        // Only a stride that no step uses can saturate.
        let offset = self.offset_after(start.max(0) as Size, stride);
        self.with_dim(dim, length, stride.saturating_mul(step), offset)
    }

    /// Reverses the order along `dims`, as a view: the strides turn negative. PyTorch copies.
    ///
    /// Shapes: `(m, n) -> (m, n)`.
    ///
    /// # Errors
    /// A dimension does not exist, or is given twice.
    ///
    /// Source: PyTorch `Tensor.flip`.
    ///
    /// ```
    /// use zerostride_shape::{Layout, Shape};
    ///
    /// let x = Layout::contiguous(Shape::new(&[2, 3])?).flip(&[0])?;
    /// assert_eq!(*x.strides(), [-3, 1]);
    /// assert_eq!(x.offset(), 3);
    /// # Ok::<(), zerostride_shape::ShapeError>(())
    /// ```
    pub fn flip(&self, dims: &[isize]) -> Result<Layout, ShapeError> {
        let named = wrap_set(dims, self.ndim())?;
        let mut layout = self.clone();
        for dim in (0..self.ndim()).filter(|&dim| named[dim]) {
            let stride = self.strides()[dim];
            let offset = layout.offset_after(self.shape()[dim].saturating_sub(1), stride);
            layout = layout.with_dim(dim, self.shape()[dim], stride.saturating_neg(), offset)?;
        }
        Ok(layout)
    }

    /// The elements whose index along `dim2` is `offset` more than along `dim1`. Both dimensions are replaced
    /// by one, which comes last.
    ///
    /// Shapes: `(…, m, n) -> (…, min(m, n))` for offset 0 of the last two.
    ///
    /// # Errors
    /// A dimension does not exist, or both are the same.
    ///
    /// Source: PyTorch `torch.diagonal`.
    ///
    /// ```
    /// use zerostride_shape::{Layout, Shape};
    ///
    /// let x = Layout::contiguous(Shape::new(&[3, 4])?).diagonal(1, 0, 1)?;
    /// assert_eq!((x.offset(), x.strides()[0], x.numel()), (1, 5, 3));
    /// # Ok::<(), zerostride_shape::ShapeError>(())
    /// ```
    pub fn diagonal(&self, offset: Stride, dim1: isize, dim2: isize) -> Result<Layout, ShapeError> {
        let (first, second) = (wrap(dim1, self.ndim())?, wrap(dim2, self.ndim())?);
        if first == second {
            return Err(ShapeError::DiagonalIdentical { dim1, dim2 });
        }
        let (rows, columns) = (self.shape()[first], self.shape()[second]);
        let skipped = offset.unsigned_abs();
        let (along, length) = if offset >= 0 {
            (second, rows.min(columns.saturating_sub(skipped)))
        } else {
            (first, rows.saturating_sub(skipped).min(columns))
        };
        let stride = self.strides()[first].saturating_add(self.strides()[second]);
        let start =
            if length == 0 { self.offset() } else { self.offset_after(skipped, self.strides()[along]) };
        let (mut shape, mut strides) = (self.shape().dims().clone(), self.strides().dims().clone());
        for dim in [first.max(second), first.min(second)] {
            shape.remove(dim);
            strides.remove(dim);
        }
        shape.push(length);
        strides.push(stride);
        Layout::assemble(shape, strides, start)
    }

    /// Every window of `size` elements along `dim`, one at each `step`; a new last dimension holds the
    /// elements of a window.
    ///
    /// Shapes: `(m, n) -> (⌊(m - size) / step⌋ + 1, n, size)` for dimension 0.
    ///
    /// # Errors
    /// The dimension does not exist, or is smaller than a window; the size is negative; the step is not
    /// positive; or there would be more than [`MAX_RANK`](crate::MAX_RANK) dimensions.
    ///
    /// Source: PyTorch `Tensor.unfold`.
    ///
    /// ```
    /// use zerostride_shape::{Layout, Shape};
    ///
    /// let x = Layout::contiguous(Shape::new(&[5])?).unfold(0, 3, 1)?;
    /// assert_eq!(*x.shape(), [3, 3]);
    /// assert_eq!(*x.strides(), [1, 1]);
    /// # Ok::<(), zerostride_shape::ShapeError>(())
    /// ```
    pub fn unfold(&self, dim: isize, size: Stride, step: Stride) -> Result<Layout, ShapeError> {
        let dim = wrap(dim, self.ndim())?;
        let max = self.shape().get(dim).copied().unwrap_or(1);
        let window = Size::try_from(size).map_err(|_| ShapeError::UnfoldNegative { size })?;
        if window > max {
            return Err(ShapeError::UnfoldSize { dim, max, size: window });
        }
        if step <= 0 {
            return Err(ShapeError::UnfoldStep { step });
        }
        check_rank(self.ndim() + 1)?;
        let (mut shape, mut strides): (Dims<Size>, Dims<Stride>) =
            (self.shape().dims().clone(), self.strides().dims().clone());
        let stride = strides.get(dim).copied().unwrap_or(1);
        if self.ndim() > 0 {
            shape[dim] = (max - window) / step.unsigned_abs() + 1;
            strides[dim] = stride.saturating_mul(step);
        }
        shape.push(window);
        strides.push(stride);
        Layout::assemble(shape, strides, self.offset())
    }
}
