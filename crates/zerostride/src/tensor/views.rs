//! Owns the views of a tensor: other layouts of the same storage, without copies. The rules are those of
//! `Layout`, in `zerostride-shape`.

use zerostride_shape::unflattened_shape;

use super::{Slice, Tensor};
use crate::{Error, Result};

/// Makes each view of `Layout` a method of the tensor.
macro_rules! views {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),*);)*) => {
        impl Tensor {
            $($(#[$doc])*
            ///
            /// # Errors
            /// PyTorch's, for dimensions and sizes that do not exist or do not fit.
            pub fn $name(&self, $($arg: $type),*) -> Result<Tensor> {
                let layout = self.layout().$name($($arg),*);
                Ok(self.with_layout(layout.map_err(|error| error.with_tensor_type(self.dtype().tensor_type()))?))
            }
            )*
        }
    };
}

views! {
    /// Stretches dimensions of size 1, and adds dimensions in front; -1 keeps a size.
    ///
    /// ```
    /// use zerostride::tensor;
    /// let row = tensor![[1, 2, 3]];
    /// assert_eq!(row.expand(&[4, -1])?.shape(), [4, 3]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    fn expand(sizes: &[isize]);
    /// `expand` to a shape without -1.
    fn broadcast_to(shape: &[usize]);
    /// Adds a dimension of size 1.
    fn unsqueeze(dim: isize);
    /// Drops all dimensions of size 1.
    fn squeeze();
    /// Drops one dimension, if its size is 1.
    fn squeeze_dim(dim: isize);
    /// Drops those of the dimensions whose size is 1.
    fn squeeze_dims(dims: &[isize]);
    /// Reorders the dimensions.
    fn permute(dims: &[isize]);
    /// Swaps two dimensions.
    fn transpose(dim0: isize, dim1: isize);
    /// Swaps the dimensions of a matrix; fewer dimensions stay.
    fn t();
    /// Swaps the last two dimensions: PyTorch's `mT`.
    fn matrix_transpose();
    /// Moves dimensions to other positions.
    fn movedim(source: &[isize], destination: &[isize]);
    /// Gives the same elements other sizes, where that takes no copy; -1 is inferred.
    fn view(sizes: &[isize]);
    /// The part of a dimension that starts at `start`.
    fn narrow(dim: isize, start: isize, length: isize);
    /// One index of a dimension, which goes away.
    fn select(dim: isize, index: isize);
    /// Reverses dimensions; PyTorch copies.
    fn flip(dims: &[isize]);
    /// The diagonal of two dimensions, as the last dimension.
    fn diagonal(offset: isize, dim1: isize, dim2: isize);
    /// All windows of a size along a dimension, as the last dimension.
    fn unfold(dim: isize, size: isize, step: isize);
}

impl Tensor {
    /// The indices of a dimension that a range takes; Python's `start:stop:step`.
    ///
    /// Negative bounds count from the end, bounds beyond it are cut off, and steps may be negative, which
    /// PyTorch refuses ([`Slice`]).
    ///
    /// # Errors
    /// PyTorch's, for a dimension that does not exist and a step of 0.
    ///
    /// ```
    /// use zerostride::{Slice, tensor};
    /// let x = tensor![[1, 2, 3], [4, 5, 6]];
    /// assert_eq!(x.slice(1, 1..)?.to_vec::<i64>()?, [2, 3, 5, 6]);
    /// assert_eq!(x.slice(-1, ..-1)?.to_vec::<i64>()?, [1, 2, 4, 5]);
    /// assert_eq!(x.slice(0, Slice::from(..).step_by(-1))?.to_vec::<i64>()?, [4, 5, 6, 1, 2, 3]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn slice(&self, dim: isize, slice: impl Into<Slice>) -> Result<Tensor> {
        let Slice { start, stop, step } = slice.into();
        Ok(self.with_layout(self.layout().slice(dim, start, stop, step)?))
    }

    /// One dimension as several, as a view; -1 is inferred.
    ///
    /// Shapes: `(mn, p) -> (m, n, p)` for dimension 0 and sizes `[m, n]`.
    ///
    /// # Errors
    /// The dimension does not exist, or its size is not that of all together.
    ///
    /// ```
    /// use zerostride::Tensor;
    /// assert_eq!(Tensor::ones(&[6, 2])?.unflatten(0, &[2, -1])?.shape(), [2, 3, 2]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn unflatten(&self, dim: isize, sizes: &[isize]) -> Result<Tensor> {
        self.view(&signed(&unflattened_shape(self.shape(), dim, sizes)?))
    }

    /// Reverses the second dimension, as a view.
    ///
    /// # Errors
    /// Fewer than two dimensions.
    ///
    /// ```
    /// assert_eq!(zerostride::tensor![[1, 2], [3, 4]].fliplr()?.to_vec::<i64>()?, [2, 1, 4, 3]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn fliplr(&self) -> Result<Tensor> {
        self.flip(&[flipped_dim(self.shape(), 1)?])
    }

    /// Reverses the first dimension, as a view.
    ///
    /// # Errors
    /// There is no dimension.
    ///
    /// ```
    /// assert_eq!(zerostride::tensor![[1, 2], [3, 4]].flipud()?.to_vec::<i64>()?, [3, 4, 1, 2]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn flipud(&self) -> Result<Tensor> {
        self.flip(&[flipped_dim(self.shape(), 0)?])
    }

    /// Drops all dimensions of size 1, or those of the given ones.
    pub(crate) fn squeeze_some(&self, dims: Option<&[isize]>) -> Result<Tensor> {
        dims.map_or_else(|| self.squeeze(), |dims| self.squeeze_dims(dims))
    }

    /// `expand` to the shape of another tensor.
    ///
    /// # Errors
    /// As [`Tensor::expand`].
    pub fn expand_as(&self, other: &Tensor) -> Result<Tensor> {
        self.broadcast_to(other.shape())
    }

    /// `view` with the shape of another tensor.
    ///
    /// # Errors
    /// The numbers of elements differ, or it takes a copy; [`Tensor::reshape_as`] makes one.
    ///
    /// ```
    /// use zerostride::{Tensor, tensor};
    /// let x = Tensor::arange(0, 4, 1)?;
    /// assert_eq!(x.view_as(&tensor![[0, 0], [0, 0]])?.shape(), [2, 2]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn view_as(&self, other: &Tensor) -> Result<Tensor> {
        self.view(&signed(other.shape()))
    }
}

/// The dimension, if the shape has it, for `fliplr` and `flipud`.
pub(crate) fn flipped_dim(shape: &[usize], dim: usize) -> Result<isize> {
    match shape.get(dim) {
        Some(_) => Ok(dim as isize),
        None => Err(Error::runtime(format_args!("Input must be >= {}-d.", dim + 1))),
    }
}

/// A shape as the sizes that `view` and `reshape` take.
pub(crate) fn signed(shape: &[usize]) -> Vec<isize> {
    shape.iter().map(|&size| size as isize).collect()
}

/// Expands all tensors to their common shape, without copies.
///
/// # Errors
/// The shapes do not broadcast.
///
/// ```
/// use zerostride::{broadcast_tensors, tensor};
/// let views = broadcast_tensors(&[&tensor![[1, 2, 3]], &tensor![[4], [5]]])?;
/// assert!(views.iter().all(|view| view.shape() == [2, 3]));
/// # Ok::<(), zerostride::Error>(())
/// ```
pub fn broadcast_tensors(tensors: &[&Tensor]) -> Result<Vec<Tensor>> {
    let shapes: Vec<&[usize]> = tensors.iter().map(|tensor| tensor.shape()).collect();
    let shape = zerostride_shape::broadcast_shape(&shapes)?;
    tensors.iter().map(|tensor| tensor.broadcast_to(&shape)).collect()
}
