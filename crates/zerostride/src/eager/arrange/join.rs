//! Owns the functions that join tensors into a new one. Each part is converted and written straight into the
//! result.

use std::borrow::Borrow;

use zerostride_ops::{Typed, result_type};
use zerostride_shape::Shape;

use super::{Results, named_dim};
use crate::{Error, Expr, Result, Tensor};

/// Joins tensors along an existing dimension, as `torch.cat`; dtypes are promoted.
///
/// # Errors
/// No tensors, other dimensions that differ, a dimension that does not exist, or no memory.
///
/// ```
/// use zerostride::{cat, tensor};
/// let joined = cat(&[&tensor![[1, 2]], &tensor![[3, 4], [5, 6]]], 0)?;
/// assert_eq!(joined.shape(), [3, 2]);
/// let rows = vec![tensor![[1, 2]]; 3];
/// assert_eq!(cat(&rows, 0)?.shape(), [3, 2]);
/// # Ok::<(), zerostride::Error>(())
/// ```
pub fn cat<T: Borrow<Tensor>>(tensors: &[T], dim: isize) -> Result<Tensor> {
    JoinedParts::cat(&borrowed(tensors), dim)?.joined()
}

/// Joins tensors of one shape along a new dimension, as `torch.stack`.
///
/// # Errors
/// No tensors, shapes that differ, a dimension that does not exist, or no memory.
///
/// ```
/// use zerostride::{stack, tensor};
/// assert_eq!(stack(&[&tensor![1, 2], &tensor![3, 4]], 1)?.to_vec::<i64>()?, [1, 3, 2, 4]);
/// # Ok::<(), zerostride::Error>(())
/// ```
pub fn stack<T: Borrow<Tensor>>(tensors: &[T], dim: isize) -> Result<Tensor> {
    JoinedParts::stack(&borrowed(tensors), dim)?.joined()
}

/// Joins tensors side by side: vectors along their only dimension, others along the second, as
/// `torch.hstack`.
///
/// # Errors
/// As [`cat`].
///
/// ```
/// use zerostride::{hstack, tensor};
/// assert_eq!(hstack(&[&tensor![[1], [2]], &tensor![[3], [4]]])?.to_vec::<i64>()?, [1, 3, 2, 4]);
/// # Ok::<(), zerostride::Error>(())
/// ```
pub fn hstack<T: Borrow<Tensor>>(tensors: &[T]) -> Result<Tensor> {
    JoinedParts::hstack(&borrowed(tensors))?.joined()
}

/// Joins tensors one below the other, vectors as rows, as `torch.vstack`.
///
/// # Errors
/// As [`cat`].
///
/// ```
/// use zerostride::{tensor, vstack};
/// assert_eq!(vstack(&[&tensor![1, 2], &tensor![3, 4]])?.shape(), [2, 2]);
/// # Ok::<(), zerostride::Error>(())
/// ```
pub fn vstack<T: Borrow<Tensor>>(tensors: &[T]) -> Result<Tensor> {
    JoinedParts::vstack(&borrowed(tensors))?.joined()
}

/// Joins tensors along the third dimension, matrices one after the other, as `torch.dstack`.
///
/// # Errors
/// As [`cat`].
///
/// ```
/// use zerostride::{dstack, tensor};
/// assert_eq!(dstack(&[&tensor![1, 2], &tensor![3, 4]])?.shape(), [1, 2, 2]);
/// # Ok::<(), zerostride::Error>(())
/// ```
pub fn dstack<T: Borrow<Tensor>>(tensors: &[T]) -> Result<Tensor> {
    JoinedParts::dstack(&borrowed(tensors))?.joined()
}

/// A list of tensors, or of references to tensors.
fn borrowed<T: Borrow<Tensor>>(tensors: &[T]) -> Vec<&Tensor> {
    tensors.iter().map(Borrow::borrow).collect()
}

/// Tensors to be joined along a dimension: views of the arguments.
pub(super) struct JoinedParts {
    tensors: Vec<Tensor>,
    dim: isize,
}

/// Whether a tensor takes part: PyTorch skips empty vectors, whatever the others' rank.
fn counts(tensor: &&Tensor) -> bool {
    tensor.shape() != [0]
}

impl JoinedParts {
    pub(super) fn cat(tensors: &[&Tensor], dim: isize) -> Result<JoinedParts> {
        Ok(JoinedParts { tensors: tensors.iter().map(|tensor| tensor.alias()).collect(), dim })
    }

    pub(super) fn stack(tensors: &[&Tensor], dim: isize) -> Result<JoinedParts> {
        let Some(first) = tensors.first() else {
            return Err(Error::runtime("stack expects a non-empty TensorList"));
        };
        let expanded: Vec<Tensor> =
            tensors.iter().map(|tensor| tensor.unsqueeze(dim)).collect::<Result<_>>()?;
        if let Some(position) = tensors.iter().position(|tensor| tensor.shape() != first.shape()) {
            return Err(Error::runtime(format_args!(
                "stack expects each tensor to be equal size, but got {} at entry 0 and {} at entry {position}",
                first.shape_value(),
                tensors[position].shape_value()
            )));
        }
        let ndim = expanded[0].ndim() as isize;
        Ok(JoinedParts { tensors: expanded, dim: if dim < 0 { dim + ndim } else { dim } })
    }

    pub(super) fn hstack(tensors: &[&Tensor]) -> Result<JoinedParts> {
        JoinedParts::lifted("hstack", tensors, |tensor| at_least(tensor, 1), |ndim| isize::from(ndim > 1))
    }

    pub(super) fn vstack(tensors: &[&Tensor]) -> Result<JoinedParts> {
        JoinedParts::lifted("vstack", tensors, |tensor| at_least(tensor, 2), |_| 0)
    }

    pub(super) fn dstack(tensors: &[&Tensor]) -> Result<JoinedParts> {
        let lift = |tensor: &Tensor| match tensor.ndim() {
            0..=2 => at_least(tensor, 2)?.unsqueeze(-1),
            _ => Ok(tensor.alias()),
        };
        JoinedParts::lifted("dstack", tensors, lift, |_| 2)
    }

    /// Tensors with as many dimensions as `lift` gives them, and the dimension that `dim` chooses for the
    /// rank of the first.
    fn lifted(
        name: &str,
        tensors: &[&Tensor],
        lift: impl Fn(&Tensor) -> Result<Tensor>,
        dim: impl FnOnce(usize) -> isize,
    ) -> Result<JoinedParts> {
        let tensors: Vec<Tensor> = tensors.iter().map(|tensor| lift(tensor)).collect::<Result<_>>()?;
        match tensors.first().map(|first| dim(first.ndim())) {
            Some(dim) => Ok(JoinedParts { tensors, dim }),
            None => Err(Error::runtime(format_args!("{name} expects a non-empty TensorList"))),
        }
    }

    pub(super) fn results(&self) -> Result<Results> {
        let JoinedParts { tensors, dim } = self;
        if tensors.is_empty() {
            return Err(Error::Argument {
                class: zerostride_shape::ErrorClass::Value,
                message: "torch.cat(): expected a non-empty list of Tensors".to_owned(),
            });
        }
        if let Some(position) = tensors.iter().position(|tensor| tensor.ndim() == 0) {
            return Err(Error::runtime(format_args!(
                "zero-dimensional tensor (at position {position}) cannot be concatenated"
            )));
        }
        let typed: Vec<Typed> = tensors.iter().map(|tensor| tensor.typed()).collect();
        let dtype = result_type(&typed)?;
        let Some(first) = tensors.iter().find(counts) else {
            return Ok(Results::one(tensors[0].shape_value().clone(), dtype));
        };
        let ndim = first.ndim();
        let dim = named_dim(*dim, ndim)?.unwrap_or(0);
        let mut sizes = first.shape().to_vec();
        sizes[dim] = 0;
        for (position, tensor) in tensors.iter().enumerate().filter(|(_, tensor)| counts(tensor)) {
            if tensor.ndim() != ndim {
                return Err(Error::runtime(format_args!(
                    "Tensors must have same number of dimensions: got {ndim} and {}",
                    tensor.ndim()
                )));
            }
            if let Some(other) =
                (0..ndim).find(|&other| other != dim && tensor.shape()[other] != first.shape()[other])
            {
                return Err(Error::runtime(format_args!(
                    "Sizes of tensors must match except in dimension {dim}. Expected size {} but got size {} for tensor number {position} in the list.",
                    first.shape()[other],
                    tensor.shape()[other]
                )));
            }
            sizes[dim] = sizes[dim].saturating_add(tensor.shape()[dim]);
        }
        Ok(Results::one(Shape::new(&sizes)?, dtype))
    }

    pub(super) fn joined(&self) -> Result<Tensor> {
        let (results, tensors) = (self.results()?, self.tensors.iter().filter(counts));
        let Some(first) = tensors.clone().next() else {
            return self.tensors[0].beside(results.dtype(), results.shape());
        };
        let dim = named_dim(self.dim, first.ndim())?.unwrap_or(0);
        let out = first.beside(results.dtype(), results.shape())?;
        let mut start = 0;
        for tensor in tensors {
            let length = tensor.shape()[dim];
            out.narrow(dim as isize, start as isize, length as isize)?.copy_(tensor)?;
            start += length;
        }
        Ok(out)
    }
}

impl Results {
    pub(super) fn repeat(tensor: &Tensor, counts: &[usize]) -> Result<Results> {
        let Some(added) = counts.len().checked_sub(tensor.ndim()) else {
            return Err(Error::runtime(
                "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor",
            ));
        };
        let own = std::iter::repeat_n(1, added).chain(tensor.shape().iter().copied());
        let sizes: Vec<usize> =
            counts.iter().zip(own).map(|(&count, size)| count.saturating_mul(size)).collect();
        Ok(Results::one(Shape::new(&sizes)?, tensor.dtype()))
    }

    pub(super) fn tile(tensor: &Tensor, counts: &[usize]) -> Result<Results> {
        Results::repeat(tensor, &tiled(tensor, counts))
    }
}

/// `counts` with one for each dimension of a tensor at least.
fn tiled(tensor: &Tensor, counts: &[usize]) -> Vec<usize> {
    let missing = tensor.ndim().saturating_sub(counts.len());
    std::iter::repeat_n(1, missing).chain(counts.iter().copied()).collect()
}

/// The tensor with at least `ndim` dimensions, new ones in front.
fn at_least(tensor: &Tensor, ndim: usize) -> Result<Tensor> {
    (tensor.ndim()..ndim).try_fold(tensor.alias(), |tensor, _| tensor.unsqueeze(0))
}

impl Tensor {
    /// The tensor repeated along each dimension, as `torch.Tensor.repeat`: a copy, unlike `expand`.
    ///
    /// # Errors
    /// Fewer counts than dimensions, a result that is too large, or no memory.
    ///
    /// ```
    /// use zerostride::tensor;
    /// assert_eq!(tensor![1, 2].repeat(&[2, 2])?.to_vec::<i64>()?, [1, 2, 1, 2, 1, 2, 1, 2]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn repeat(&self, counts: &[usize]) -> Result<Tensor> {
        let results = Results::repeat(self, counts)?;
        let own = std::iter::repeat_n(1, counts.len() - self.ndim()).chain(self.shape().iter().copied());
        let out = self.beside(self.dtype(), results.shape())?;
        if out.numel() == 0 {
            return Ok(out);
        }
        // Two dimensions for each: copies outside, elements inside. Those of size 1 are left out, so that
        // there are never more than the limit.
        let pairs = counts.iter().zip(own).flat_map(|(&count, size)| [(1, count), (size, size)]);
        let (view, sizes): (Vec<usize>, Vec<usize>) = pairs.filter(|(_, size)| *size != 1).unzip();
        let signed = |sizes: &[usize]| sizes.iter().map(|&size| size as isize).collect::<Vec<_>>();
        let elements = Expr::current(self).reshape(&signed(&view)).broadcast_to(&sizes);
        out.view(&signed(&sizes))?.copy_(elements)?;
        Ok(out)
    }

    /// `repeat`, with counts of 1 added in front as needed: `torch.tile`.
    ///
    /// # Errors
    /// As [`Tensor::repeat`].
    pub fn tile(&self, counts: &[usize]) -> Result<Tensor> {
        self.repeat(&tiled(self, counts))
    }
}
