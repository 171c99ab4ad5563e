//! Owns the views that merge and split dimensions, and the inference of sizes. It does not copy: if only a
//! copy could have the sizes, that is an error, and the caller decides.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::dims::Dims;
use crate::error::ShapeError;
use crate::layout::Layout;
use crate::shape::{Shape, Size, Stride, check_rank, contiguous_strides};
use crate::views::wrap;

/// The shape that `sizes` mean for a tensor of `numel` elements: one of them may be -1, and is inferred.
///
/// # Errors
/// The number of elements differs; -1 is given twice, or any size would fit it; a size is below -1.
///
/// Source: PyTorch `aten/src/ATen/InferSize.h`, `infer_size`.
///
/// ```
/// use zerostride_shape::infer_size;
///
/// assert_eq!(infer_size(&[-1, 4], 12)?, [3, 4]);
/// assert_eq!(infer_size(&[5], 12).unwrap_err().to_string(), "shape '[5]' is invalid for input of size 12");
/// # Ok::<(), zerostride_shape::ShapeError>(())
/// ```
pub fn infer_size(sizes: &[Stride], numel: Size) -> Result<Shape, ShapeError> {
    check_rank(sizes.len())?;
    let mut inferred = None;
    let mut shape = Dims::filled(sizes.len(), 0);
    for (index, &size) in sizes.iter().enumerate() {
        match Size::try_from(size) {
            Ok(size) => shape[index] = size,
            Err(_) if size == -1 && inferred.is_some() => return Err(ShapeError::InferTwice),
            Err(_) if size == -1 => inferred = Some(index),
            Err(_) => return Err(ShapeError::InvalidSize { size, index, sizes: sizes.to_vec() }),
        }
    }
    let invalid = || ShapeError::InvalidNumel { sizes: sizes.to_vec(), numel };
    // A zero makes the product zero, even if the other sizes overflow.
    let given =
        || shape.iter().enumerate().filter(|(index, _)| Some(*index) != inferred).map(|(_, size)| *size);
    let product = if given().any(|size| size == 0) {
        0
    } else {
        given().try_fold(1, Size::checked_mul).ok_or_else(invalid)?
    };
    match inferred {
        Some(_) if product == 0 && numel == 0 => {
            return Err(ShapeError::InferAmbiguous { sizes: sizes.to_vec() });
        }
        Some(index) if product != 0 && numel.is_multiple_of(product) => shape[index] = numel / product,
        None if product == numel => {}
        _ => return Err(invalid()),
    }
    Shape::from_dims(shape)
}

/// The shape with a dimension divided into several; one of their sizes may be -1.
///
/// Shapes: `(mn, p) -> (m, n, p)` for dimension 0 and sizes `[m, n]`.
///
/// # Errors
/// The dimension does not exist, there are no sizes, or they are not those of the dimension.
///
/// Source: PyTorch `Tensor.unflatten`.
///
/// ```
/// use zerostride_shape::unflattened_shape;
///
/// assert_eq!(unflattened_shape(&[6, 2], 0, &[-1, 3])?, [2, 3, 2]);
/// # Ok::<(), zerostride_shape::ShapeError>(())
/// ```
pub fn unflattened_shape(shape: &[Size], dim: isize, sizes: &[Stride]) -> Result<Shape, ShapeError> {
    let at = wrap(dim, shape.len())?;
    if sizes.is_empty() {
        return Err(ShapeError::UnflattenEmpty);
    }
    let size = shape.get(at).copied().unwrap_or(1);
    let parts = infer_size(sizes, size).map_err(|error| match error {
        ShapeError::InvalidNumel { sizes, .. } => ShapeError::UnflattenNumel { sizes, dim, size },
        error => ShapeError::UnflattenSizes(Box::new(error)),
    })?;
    let (left, right) = shape.split_at(at);
    let all = left.iter().chain(&parts[..]).chain(right.iter().skip(1)).copied();
    Shape::from_dims(all.collect())
}

impl Layout {
    /// The same elements in the same order with other sizes; one of them may be -1.
    ///
    /// Shapes: `(m, n) -> sizes`, of the same element count.
    ///
    /// # Errors
    /// As [`infer_size`], and [`ShapeError::ViewIncompatible`] if only a copy could have these sizes.
    ///
    /// Source: PyTorch `Tensor.view`, `aten/src/ATen/TensorUtils.cpp`, `computeStride`.
    ///
    /// ```
    /// use zerostride_shape::{Layout, Shape, ShapeError};
    ///
    /// let x = Layout::contiguous(Shape::new(&[4, 6])?);
    /// assert_eq!(*x.view(&[2, 2, -1])?.strides(), [12, 6, 1]);
    /// assert_eq!(x.t()?.view(&[24]), Err(ShapeError::ViewIncompatible));
    /// # Ok::<(), zerostride_shape::ShapeError>(())
    /// ```
    pub fn view(&self, sizes: &[Stride]) -> Result<Layout, ShapeError> {
        let shape = infer_size(sizes, self.numel())?;
        let strides = self.view_strides(&shape).ok_or(ShapeError::ViewIncompatible)?;
        Layout::assemble(shape.dims().clone(), strides, self.offset())
    }

    /// The strides with which `shape`, of the same number of elements, reads the same elements in the same
    /// order.
    fn view_strides(&self, shape: &Shape) -> Option<Dims<Stride>> {
        if self.numel() == 0 {
            let same = self.shape() == shape;
            return Some(if same {
                self.strides().dims().clone()
            } else {
                contiguous_strides(shape).dims().clone()
            });
        }
        let mut strides = Dims::filled(shape.len(), 1);
        let mut open = shape.len();
        // From the right: each run takes as many of the new dimensions as have its number of elements. Sizes
        // of 1 fit everywhere.
        for (count, step) in self.runs() {
            let mut filled = 1;
            while open > 0 && (filled < count || shape[open - 1] == 1) {
                open -= 1;
                strides[open] = step.saturating_mul(filled as Stride);
                filled *= shape[open];
            }
            if filled != count {
                return None;
            }
        }
        Some(strides)
    }

    /// The runs of dimensions that one stride walks, from the right: the number of elements and the innermost
    /// stride of each.
    ///
    /// A dimension of size 1 belongs to the run to its right whatever its stride is, since the stride is not
    /// used.
    fn runs(&self) -> Vec<(Size, Stride)> {
        let mut runs: Vec<(Size, Stride)> = Vec::new();
        for (&size, &stride) in self.shape().iter().zip(self.strides()).rev() {
            match runs.last_mut() {
                Some((count, step)) if size == 1 || stride as i128 == *count as i128 * *step as i128 => {
                    *count *= size;
                }
                _ => runs.push((size, stride)),
            }
        }
        runs
    }

    /// The shape with dimensions `start` to `end`, both included, merged into one; that of a 0-d tensor
    /// becomes `[1]`.
    ///
    /// Shapes: `(m, n, p) -> (m, np)` for dimensions 1 to 2.
    ///
    /// # Errors
    /// A dimension does not exist, or `start` is after `end`.
    ///
    /// ```
    /// use zerostride_shape::{Layout, Shape};
    ///
    /// let x = Layout::contiguous(Shape::new(&[2, 3, 4])?);
    /// assert_eq!(x.flatten_shape(1, -1)?, [2, 12]);
    /// # Ok::<(), zerostride_shape::ShapeError>(())
    /// ```
    pub fn flatten_shape(&self, start: isize, end: isize) -> Result<Shape, ShapeError> {
        let (start, end) = (wrap(start, self.ndim())?, wrap(end, self.ndim())?);
        if start > end {
            return Err(ShapeError::FlattenOrder);
        }
        if self.ndim() == 0 {
            return Shape::new(&[1]);
        }
        let (left, rest) = self.shape().split_at(start);
        let (merged, right) = rest.split_at(end + 1 - start);
        let merged = merged.iter().product();
        Shape::from_dims(left.iter().copied().chain([merged]).chain(right.iter().copied()).collect())
    }

    /// Merges dimensions `start` to `end`, both included, without copying.
    ///
    /// Shapes: `(m, n, p) -> (m, np)` for dimensions 1 to 2.
    ///
    /// # Errors
    /// As [`Layout::flatten_shape`], and [`ShapeError::ViewIncompatible`] if only a copy could have that
    /// shape.
    ///
    /// Source: PyTorch `Tensor.flatten`, which then copies.
    pub fn flatten(&self, start: isize, end: isize) -> Result<Layout, ShapeError> {
        let shape = self.flatten_shape(start, end)?;
        if shape == *self.shape() {
            return Ok(self.clone());
        }
        let strides = self.view_strides(&shape).ok_or(ShapeError::ViewIncompatible)?;
        Layout::assemble(shape.dims().clone(), strides, self.offset())
    }
}
