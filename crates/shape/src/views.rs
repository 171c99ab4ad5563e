//! Owns the views that stretch, add, drop and permute dimensions. It does not know views that merge or split
//! dimensions (`reshape.rs`) or omit elements (`choose.rs`).

use alloc::vec::Vec;

use crate::dims::Dims;
use crate::error::ShapeError;
use crate::layout::Layout;
use crate::shape::{Size, Stride, check_rank};

/// The index of dimension `dim` of `ndim` ones; negative numbers count from the end.
///
/// As in PyTorch a 0-d tensor accepts 0 and -1, so the result may be a dimension that does not exist.
pub(crate) fn wrap(dim: isize, ndim: usize) -> Result<usize, ShapeError> {
    let ndim = ndim.max(1);
    let wrapped = if dim < 0 { dim.checked_add_unsigned(ndim) } else { Some(dim) };
    match wrapped.and_then(|dim| usize::try_from(dim).ok()) {
        Some(wrapped) if wrapped < ndim => Ok(wrapped),
        _ => Err(ShapeError::DimOutOfRange { dim, ndim }),
    }
}

/// Which dimensions `dims` contains, each at most once.
pub(crate) fn wrap_set(dims: &[isize], ndim: usize) -> Result<Dims<bool>, ShapeError> {
    let mut named = Dims::filled(ndim.max(1), false);
    for &dim in dims {
        let dim = wrap(dim, ndim)?;
        if named[dim] {
            return Err(ShapeError::DuplicateDim { dim });
        }
        named[dim] = true;
    }
    Ok(named)
}

/// The dimensions that a reduction over `dims` combines, in rising order; none for a 0-d tensor.
///
/// # Errors
/// A dimension does not exist (a 0-d tensor accepts 0 and -1), or is given twice.
///
/// ```
/// use zerostride_shape::reduced_dims;
///
/// assert_eq!(reduced_dims(&[-1, 0], 3)?, [0, 2]);
/// assert_eq!(reduced_dims(&[0, -3], 3).unwrap_err().to_string(), "dim 0 appears multiple times in the list of dims");
/// # Ok::<(), zerostride_shape::ShapeError>(())
/// ```
pub fn reduced_dims(dims: &[isize], ndim: usize) -> Result<Vec<usize>, ShapeError> {
    let named = wrap_set(dims, ndim)?;
    Ok((0..ndim).filter(|&dim| named[dim]).collect())
}

impl Layout {
    /// Stretches dimensions of size 1 to `sizes`, and adds dimensions on the left, without copying: the new
    /// strides are 0. A size of -1 keeps the size.
    ///
    /// Shapes: `(1, n) -> (…, m, n)`.
    ///
    /// # Errors
    /// There are fewer sizes than dimensions; a dimension of another size than 1 would change; or -1 is given
    /// for an added dimension.
    ///
    /// Source: PyTorch `aten/src/ATen/ExpandUtils.cpp`, `inferExpandGeometry`.
    ///
    /// ```
    /// use zerostride_shape::{Layout, Shape};
    ///
    /// let row = Layout::contiguous(Shape::new(&[1, 3])?);
    /// let view = row.expand(&[4, -1])?;
    /// assert_eq!(*view.shape(), [4, 3]);
    /// assert_eq!(*view.strides(), [0, 1]);
    /// assert_eq!(
    ///     row.expand(&[4, 5]).unwrap_err().to_string(),
    ///     "The expanded size of the tensor (5) must match the existing size (3) at non-singleton dimension 1.  \
    ///      Target sizes: [4, 5].  Tensor sizes: [1, 3]"
    /// );
    /// # Ok::<(), zerostride_shape::ShapeError>(())
    /// ```
    pub fn expand(&self, sizes: &[Stride]) -> Result<Layout, ShapeError> {
        check_rank(sizes.len())?;
        if sizes.len() < self.ndim() {
            return Err(ShapeError::ExpandTooFew {
                tensor_type: "torch.FloatTensor",
                sizes: self.shape().clone(),
                target_sizes: sizes.to_vec(),
            });
        }
        let added = sizes.len() - self.ndim();
        let mut shape = Dims::filled(sizes.len(), 1);
        let mut strides = Dims::filled(sizes.len(), 0);
        // The stride of a dimension to the left of the previous one in row-major order: an added dimension of
        // size 1 gets it, as in PyTorch.
        let mut outer = 1;
        for dim in (0..sizes.len()).rev() {
            let (existing, stride) = match dim.checked_sub(added) {
                Some(own) => (self.shape()[own], self.strides()[own]),
                None => (1, if self.ndim() == 0 { 0 } else { outer }),
            };
            let target = match Size::try_from(sizes[dim]) {
                Ok(target) => target,
                Err(_) if sizes[dim] == -1 && dim >= added => existing,
                Err(_) if sizes[dim] == -1 => return Err(ShapeError::ExpandNewDim { dim }),
                Err(_) if existing == 1 => {
                    return Err(ShapeError::NegativeSize { size: sizes[dim], sizes: sizes.to_vec() });
                }
                Err(_) => return Err(self.expand_mismatch(sizes, dim, existing)),
            };
            if target != existing && existing != 1 {
                return Err(self.expand_mismatch(sizes, dim, existing));
            }
            shape[dim] = target;
            strides[dim] = if target == existing { stride } else { 0 };
            outer = strides[dim].saturating_mul(target as Stride);
        }
        Layout::assemble(shape, strides, self.offset())
    }

    #[cold]
    fn expand_mismatch(&self, sizes: &[Stride], dim: usize, existing: Size) -> ShapeError {
        ShapeError::ExpandMismatch {
            target: sizes[dim],
            existing,
            dim,
            target_sizes: sizes.to_vec(),
            sizes: self.shape().clone(),
        }
    }

    /// [`Layout::expand`] to a complete shape, without -1.
    ///
    /// Shapes: `(1, n) -> (…, m, n)`.
    ///
    /// # Errors
    /// As [`Layout::expand`].
    ///
    /// Source: PyTorch `torch.broadcast_to`.
    ///
    /// ```
    /// use zerostride_shape::{Layout, Shape};
    ///
    /// let view = Layout::contiguous(Shape::new(&[3, 1])?).broadcast_to(&[2, 3, 4])?;
    /// assert_eq!(*view.strides(), [0, 1, 0]);
    /// # Ok::<(), zerostride_shape::ShapeError>(())
    /// ```
    pub fn broadcast_to(&self, shape: &[Size]) -> Result<Layout, ShapeError> {
        check_rank(shape.len())?;
        let sizes: Result<Vec<Stride>, _> = shape.iter().map(|&size| Stride::try_from(size)).collect();
        match sizes {
            Ok(sizes) => self.expand(&sizes),
            Err(_) => Err(ShapeError::NumelOverflow { sizes: shape.to_vec() }),
        }
    }

    /// Adds a dimension of size 1 at index `dim` of the result.
    ///
    /// Shapes: `(m, n) -> (m, 1, n)` for dimension 1.
    ///
    /// # Errors
    /// `dim` is not a dimension of the result, or there would be more than [`MAX_RANK`](crate::MAX_RANK).
    ///
    /// Source: PyTorch `Tensor.unsqueeze`.
    ///
    /// ```
    /// use zerostride_shape::{Layout, Shape};
    ///
    /// let x = Layout::contiguous(Shape::new(&[2, 3])?);
    /// assert_eq!(*x.unsqueeze(1)?.shape(), [2, 1, 3]);
    /// assert_eq!(*x.unsqueeze(-1)?.shape(), [2, 3, 1]);
    /// # Ok::<(), zerostride_shape::ShapeError>(())
    /// ```
    pub fn unsqueeze(&self, dim: isize) -> Result<Layout, ShapeError> {
        let dim = wrap(dim, self.ndim() + 1)?;
        check_rank(self.ndim() + 1)?;
        let stride = match self.shape().get(dim) {
            Some(&size) => self.strides()[dim].saturating_mul(size as Stride),
            None => 1,
        };
        let (mut shape, mut strides) = (self.shape().dims().clone(), self.strides().dims().clone());
        shape.insert(dim, 1);
        strides.insert(dim, stride);
        Layout::assemble(shape, strides, self.offset())
    }

    /// Drops every dimension of size 1.
    ///
    /// Shapes: `(m, 1, n) -> (m, n)`.
    ///
    /// # Errors
    /// None; the signature is that of all views.
    ///
    /// Source: PyTorch `Tensor.squeeze`.
    pub fn squeeze(&self) -> Result<Layout, ShapeError> {
        self.keep_dims(|dim| self.shape()[dim] != 1)
    }

    /// Drops dimension `dim` if its size is 1.
    ///
    /// Shapes: `(m, 1, n) -> (m, n)` for dimension 1.
    ///
    /// # Errors
    /// There is no such dimension.
    ///
    /// Source: PyTorch `Tensor.squeeze`.
    ///
    /// ```
    /// use zerostride_shape::{Layout, Shape};
    ///
    /// let x = Layout::contiguous(Shape::new(&[1, 2, 1])?);
    /// assert_eq!(*x.squeeze_dim(-1)?.shape(), [1, 2]);
    /// assert_eq!(*x.squeeze_dim(1)?.shape(), [1, 2, 1]);
    /// # Ok::<(), zerostride_shape::ShapeError>(())
    /// ```
    pub fn squeeze_dim(&self, dim: isize) -> Result<Layout, ShapeError> {
        self.squeeze_dims(&[dim])
    }

    /// Drops those of the dimensions `dims` whose size is 1.
    ///
    /// Shapes: `(1, m, 1) -> (m)` for dimensions 0 and 2.
    ///
    /// # Errors
    /// A dimension does not exist, or is given twice.
    ///
    /// Source: PyTorch `Tensor.squeeze`.
    pub fn squeeze_dims(&self, dims: &[isize]) -> Result<Layout, ShapeError> {
        let named = wrap_set(dims, self.ndim())?;
        self.keep_dims(|dim| self.shape()[dim] != 1 || !named[dim])
    }

    fn keep_dims(&self, keep: impl Fn(usize) -> bool) -> Result<Layout, ShapeError> {
        self.gather_dims((0..self.ndim()).filter(|&dim| keep(dim)).collect())
    }

    /// The layout with the dimensions of `self` that `dims` lists, in its order.
    fn gather_dims(&self, dims: Dims<usize>) -> Result<Layout, ShapeError> {
        let shape = dims.iter().map(|&dim| self.shape()[dim]).collect();
        let strides = dims.iter().map(|&dim| self.strides()[dim]).collect();
        Layout::assemble(shape, strides, self.offset())
    }

    /// Moves dimension `dims[i]` to position `i`.
    ///
    /// Shapes: `(m, n, p) -> (p, m, n)` for dimensions 2, 0, 1.
    ///
    /// # Errors
    /// `dims` does not contain every dimension once.
    ///
    /// Source: PyTorch `Tensor.permute`.
    ///
    /// ```
    /// use zerostride_shape::{Layout, Shape};
    ///
    /// let x = Layout::contiguous(Shape::new(&[2, 3, 4])?).permute(&[2, 0, -2])?;
    /// assert_eq!(*x.shape(), [4, 2, 3]);
    /// assert_eq!(*x.strides(), [1, 12, 4]);
    /// # Ok::<(), zerostride_shape::ShapeError>(())
    /// ```
    pub fn permute(&self, dims: &[isize]) -> Result<Layout, ShapeError> {
        if dims.len() != self.ndim() {
            return Err(ShapeError::PermuteLength { ndim: self.ndim(), len: dims.len() });
        }
        let mut order = Dims::default();
        for &dim in dims {
            let dim = wrap(dim, self.ndim())?;
            if order.contains(&dim) {
                return Err(ShapeError::PermuteDuplicate);
            }
            order.push(dim);
        }
        self.gather_dims(order)
    }

    /// Swaps two dimensions.
    ///
    /// Shapes: `(m, n, p) -> (p, n, m)` for dimensions 0 and 2.
    ///
    /// # Errors
    /// There is no such dimension.
    ///
    /// Source: PyTorch `Tensor.transpose`.
    ///
    /// ```
    /// use zerostride_shape::{Layout, Shape};
    ///
    /// let x = Layout::contiguous(Shape::new(&[2, 3, 4])?);
    /// assert_eq!(*x.transpose(0, -1)?.shape(), [4, 3, 2]);
    /// # Ok::<(), zerostride_shape::ShapeError>(())
    /// ```
    pub fn transpose(&self, dim0: isize, dim1: isize) -> Result<Layout, ShapeError> {
        let (dim0, dim1) = (wrap(dim0, self.ndim())?, wrap(dim1, self.ndim())?);
        let mut order: Dims<usize> = (0..self.ndim()).collect();
        // A 0-d tensor accepts dimension 0, but has nothing to swap.
        if dim0 != dim1 {
            order.swap(dim0, dim1);
        }
        self.gather_dims(order)
    }

    /// The transpose of a matrix; a tensor of fewer dimensions stays as it is.
    ///
    /// Shapes: `(m, n) -> (n, m)`.
    ///
    /// # Errors
    /// More than two dimensions.
    ///
    /// Source: PyTorch `Tensor.t`.
    pub fn t(&self) -> Result<Layout, ShapeError> {
        match self.ndim() {
            0 | 1 => Ok(self.clone()),
            2 => self.transpose(0, 1),
            ndim => Err(ShapeError::TransposeRank { ndim }),
        }
    }

    /// Swaps the last two dimensions; a 0-d tensor stays as it is.
    ///
    /// Shapes: `(…, m, n) -> (…, n, m)`.
    ///
    /// # Errors
    /// One dimension.
    ///
    /// Source: PyTorch `Tensor.mT`.
    pub fn matrix_transpose(&self) -> Result<Layout, ShapeError> {
        match self.ndim() {
            0 => Ok(self.clone()),
            1 => Err(ShapeError::MatrixTransposeRank { ndim: 1 }),
            _ => self.transpose(-2, -1),
        }
    }

    /// Moves dimension `source[i]` to position `destination[i]`; the others keep their order.
    ///
    /// Shapes: `(m, n, p) -> (n, p, m)` from 0 to 2.
    ///
    /// # Errors
    /// The lists have different lengths, or a dimension does not exist or is given twice.
    ///
    /// Source: PyTorch `Tensor.movedim`.
    ///
    /// ```
    /// use zerostride_shape::{Layout, Shape};
    ///
    /// let x = Layout::contiguous(Shape::new(&[2, 3, 4])?);
    /// assert_eq!(*x.movedim(&[0, 1], &[2, 0])?.shape(), [3, 4, 2]);
    /// # Ok::<(), zerostride_shape::ShapeError>(())
    /// ```
    pub fn movedim(&self, source: &[isize], destination: &[isize]) -> Result<Layout, ShapeError> {
        if source.len() != destination.len() {
            return Err(ShapeError::MovedimLength {
                source: source.to_vec(),
                destination: destination.to_vec(),
            });
        }
        let wrapped = |dims: &[isize]| -> Result<Vec<usize>, ShapeError> {
            dims.iter().map(|&dim| wrap(dim, self.ndim())).collect()
        };
        let (from, to) = (wrapped(source)?, wrapped(destination)?);
        for (list, dims, wrapped) in [("source", source, &from), ("destination", destination, &to)] {
            if wrapped.iter().enumerate().any(|(at, dim)| wrapped[..at].contains(dim)) {
                return Err(ShapeError::MovedimRepeated { list, dims: dims.to_vec() });
            }
        }
        let mut rest = (0..self.ndim()).filter(|dim| !from.contains(dim));
        let moved = |place| to.iter().position(|&to| to == place).map(|at| from[at]);
        self.gather_dims((0..self.ndim()).filter_map(|place| moved(place).or_else(|| rest.next())).collect())
    }
}
