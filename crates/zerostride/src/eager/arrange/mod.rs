//! Owns functions that move elements: indexing, gathering and scattering, joining and splitting, sorting,
//! searching, cumulative sums and order statistics. They are eager: they cannot be fused, and some results
//! have a shape that depends on values.
//!
//! A function is written in terms of views and expressions where that is possible; the loops here are the
//! rest.

mod access;
mod call;
mod entries;
mod gather;
mod index;
mod join;
mod offsets;
mod picks;
mod quantile;
mod repeat;
mod results;
mod scan;
mod scatter;
mod search;
mod select;
mod sort;
mod split;
mod unique;

use zerostride_ops::DType;
use zerostride_shape::{Shape, reduced_dims};

use crate::memory::Fresh;
use crate::{Error, Result, Tensor};

pub use call::{Moved, Outcome, call_function};
pub use index::Index;
pub use join::{cat, dstack, hstack, stack, vstack};
pub use quantile::Interpolation;
pub use repeat::meshgrid;
pub use results::Results;
pub use unique::Unique;

/// The dimension that `dim` names; `None` for 0 and -1 of a tensor without dimensions, which PyTorch allows.
fn named_dim(dim: isize, ndim: usize) -> Result<Option<usize>> {
    Ok(reduced_dims(&[dim], ndim)?.first().copied())
}

/// An empty list with room for `len` items; `shape` is that of the tensor it is for.
///
/// # Errors
/// There is no memory.
fn list<T>(len: usize, shape: &Shape) -> Result<Vec<T>> {
    let mut list = Vec::new();
    match list.try_reserve_exact(len) {
        Ok(()) => Ok(list),
        Err(_) => Err(Error::OutOfMemory { bytes: len.saturating_mul(size_of::<T>()), shape: shape.clone() }),
    }
}

/// Scratch memory for `len` values of arbitrary bits.
///
/// # Errors
/// There is no memory.
fn scratch<T>(len: usize, shape: &Shape) -> Result<Fresh> {
    let bytes = len.saturating_mul(size_of::<T>());
    Fresh::arbitrary(bytes).ok_or_else(|| Error::OutOfMemory { bytes, shape: shape.clone() })
}

impl Tensor {
    /// An index tensor as i64, for an operation that takes it as i32 or i64.
    ///
    /// # Errors
    /// The tensor is of another dtype: what `refusal` says.
    fn as_index(&self, refusal: impl FnOnce() -> Error) -> Result<Tensor> {
        self.check_index(refusal)?;
        self.to_dtype(DType::I64)
    }

    /// The same for an operation that takes an index without elements of any dtype, as in PyTorch.
    ///
    /// # Errors
    /// As [`Tensor::as_index`].
    fn as_index_or_empty(&self, refusal: impl FnOnce() -> Error) -> Result<Tensor> {
        self.check_index_or_empty(refusal)?;
        self.to_dtype(DType::I64)
    }

    fn check_index(&self, refusal: impl FnOnce() -> Error) -> Result<()> {
        match self.dtype() {
            DType::I32 | DType::I64 => Ok(()),
            _ => Err(refusal()),
        }
    }

    fn check_index_or_empty(&self, refusal: impl FnOnce() -> Error) -> Result<()> {
        if self.numel() == 0 { Ok(()) } else { self.check_index(refusal) }
    }
}
