//! Owns the functions that join tensors into a new one. Each part is converted and written straight to its place.

use zerostride_ops::{Typed, result_type};
use zerostride_shape::Shape;

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
/// # Ok::<(), zerostride::Error>(())
/// ```
pub fn cat(tensors: &[&Tensor], dim: isize) -> Result<Tensor> {
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
    // PyTorch skips empty vectors, whatever the others' rank.
    let counts = |tensor: &&&Tensor| tensor.shape() != [0];
    let Some(first) = tensors.iter().find(|tensor| counts(tensor)) else {
        return tensors[0].clone_elements();
    };
    let ndim = first.ndim();
    let dim = match zerostride_shape::reduced_dims(&[dim], ndim)?[..] {
        [dim] => dim,
        _ => unreachable!("one dimension was asked for"),
    };
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
    let typed: Vec<Typed> = tensors.iter().map(|tensor| tensor.typed()).collect();
    let out = Tensor::build(result_type(&typed)?, Shape::new(&sizes)?, |_| Ok(()))?;
    let mut start = 0;
    for tensor in tensors.iter().filter(counts) {
        let length = tensor.shape()[dim];
        out.narrow(dim as isize, start as isize, length as isize)?.copy_(*tensor)?;
        start += length;
    }
    Ok(out)
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
pub fn stack(tensors: &[&Tensor], dim: isize) -> Result<Tensor> {
    let Some(first) = tensors.first() else {
        return Err(Error::runtime("stack expects a non-empty TensorList"));
    };
    let expanded: Vec<Tensor> = tensors.iter().map(|tensor| tensor.unsqueeze(dim)).collect::<Result<_>>()?;
    if let Some(position) = tensors.iter().position(|tensor| tensor.shape() != first.shape()) {
        return Err(Error::runtime(format_args!(
            "stack expects each tensor to be equal size, but got {} at entry 0 and {} at entry {position}",
            first.shape_value(),
            tensors[position].shape_value()
        )));
    }
    let ndim = expanded[0].ndim() as isize;
    cat(&expanded.iter().collect::<Vec<_>>(), if dim < 0 { dim + ndim } else { dim })
}

/// Tensors with as many dimensions as `lift` gives them, joined along a dimension.
fn joined(
    name: &str,
    tensors: &[&Tensor],
    lift: impl Fn(&Tensor) -> Result<Tensor>,
    dim: impl FnOnce(usize) -> isize,
) -> Result<Tensor> {
    let lifted: Vec<Tensor> = tensors.iter().map(|tensor| lift(tensor)).collect::<Result<_>>()?;
    match lifted.first() {
        Some(first) => cat(&lifted.iter().collect::<Vec<_>>(), dim(first.ndim())),
        None => Err(Error::runtime(format_args!("{name} expects a non-empty TensorList"))),
    }
}

/// The tensor with at least `ndim` dimensions, new ones in front.
fn at_least(tensor: &Tensor, ndim: usize) -> Result<Tensor> {
    (tensor.ndim()..ndim).try_fold(tensor.clone(), |tensor, _| tensor.unsqueeze(0))
}

/// Joins tensors side by side: vectors along their only dimension, others along the second, as `torch.hstack`.
///
/// # Errors
/// As [`cat`].
///
/// ```
/// use zerostride::{hstack, tensor};
/// assert_eq!(hstack(&[&tensor![[1], [2]], &tensor![[3], [4]]])?.to_vec::<i64>()?, [1, 3, 2, 4]);
/// # Ok::<(), zerostride::Error>(())
/// ```
pub fn hstack(tensors: &[&Tensor]) -> Result<Tensor> {
    joined("hstack", tensors, |tensor| at_least(tensor, 1), |ndim| isize::from(ndim > 1))
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
pub fn vstack(tensors: &[&Tensor]) -> Result<Tensor> {
    joined("vstack", tensors, |tensor| at_least(tensor, 2), |_| 0)
}

/// Joins tensors along the third dimension, matrices behind each other, as `torch.dstack`.
///
/// # Errors
/// As [`cat`].
///
/// ```
/// use zerostride::{dstack, tensor};
/// assert_eq!(dstack(&[&tensor![1, 2], &tensor![3, 4]])?.shape(), [1, 2, 2]);
/// # Ok::<(), zerostride::Error>(())
/// ```
pub fn dstack(tensors: &[&Tensor]) -> Result<Tensor> {
    let lift = |tensor: &Tensor| match tensor.ndim() {
        0..=2 => at_least(tensor, 2)?.unsqueeze(-1),
        _ => Ok(tensor.clone()),
    };
    joined("dstack", tensors, lift, |_| 2)
}

impl Tensor {
    /// The tensor again and again along each dimension, as `torch.Tensor.repeat`: a copy, unlike `expand`.
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
        let Some(added) = counts.len().checked_sub(self.ndim()) else {
            return Err(Error::runtime(
                "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor",
            ));
        };
        let own = std::iter::repeat_n(1, added).chain(self.shape().iter().copied());
        let sizes: Vec<usize> =
            counts.iter().zip(own.clone()).map(|(&count, size)| count.saturating_mul(size)).collect();
        let out = Tensor::build(self.dtype(), Shape::new(&sizes)?, |_| Ok(()))?;
        if out.numel() == 0 {
            return Ok(out);
        }
        // Each dimension twice: the copies outside, the elements inside. Those of size 1 are left out, so that there are
        // never more than the limit.
        let pairs = counts.iter().zip(own).flat_map(|(&count, size)| [(1, count), (size, size)]);
        let (view, places): (Vec<usize>, Vec<usize>) = pairs.filter(|(_, place)| *place != 1).unzip();
        let signed = |sizes: &[usize]| sizes.iter().map(|&size| size as isize).collect::<Vec<_>>();
        let elements = Expr::current(self).reshape(&signed(&view)).broadcast_to(&places);
        out.view(&signed(&places))?.copy_(elements)?;
        Ok(out)
    }

    /// `repeat`, with counts of 1 added in front as needed: `torch.tile`.
    ///
    /// # Errors
    /// As [`Tensor::repeat`].
    pub fn tile(&self, counts: &[usize]) -> Result<Tensor> {
        let missing = self.ndim().saturating_sub(counts.len());
        let counts: Vec<usize> = std::iter::repeat_n(1, missing).chain(counts.iter().copied()).collect();
        self.repeat(&counts)
    }
}
