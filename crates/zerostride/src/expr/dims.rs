//! Owns `Dims`, the argument that reductions take. It does not know what is reduced.

use smallvec::SmallVec;
use zerostride_shape::reduced_dims;

use crate::Result;

/// The dimensions of a reduction, and whether they stay with size 1.
///
/// Made from one dimension (`-1`), an array, a slice or a vector (`[0, 2]`), or `..` for all; [`keepdim`]
/// wraps any of them.
///
/// ```
/// use zerostride::{keepdim, tensor};
/// let x = tensor![[1, 2], [3, 4]];
/// assert_eq!(x.sum(-1)?.shape(), [2]);
/// assert_eq!(x.sum([0, 1])?.to_vec::<i64>()?, [10]);
/// assert_eq!(x.sum(x.ndim() - 1)?.shape(), [2]);
/// assert_eq!(x.sum(keepdim(0))?.shape(), [1, 2]);
/// assert_eq!(x.sum(..)?.ndim(), 0);
/// # Ok::<(), zerostride::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dims {
    /// `None` means all of them, as an empty list does.
    dims: Option<SmallVec<[isize; 4]>>,
    pub(crate) keepdim: bool,
}

/// Keeps the reduced dimensions, with size 1.
pub fn keepdim(dims: impl Into<Dims>) -> Dims {
    Dims { keepdim: true, ..dims.into() }
}

impl Dims {
    /// Whether these are all dimensions.
    pub(crate) fn is_all(&self) -> bool {
        self.dims.as_ref().is_none_or(|dims| dims.is_empty())
    }

    /// Whether the list of dimensions is empty, which most reductions take to mean all.
    pub(crate) fn names_none(&self) -> bool {
        self.dims.as_ref().is_some_and(|dims| dims.is_empty())
    }

    /// A dimension as it was given: negative if it was counted from the end.
    pub(crate) fn given(&self, dim: usize, ndim: usize) -> isize {
        let from_end = dim as isize - ndim as isize;
        let was_from_end = self.dims.as_ref().is_some_and(|dims| dims.contains(&from_end));
        if was_from_end { from_end } else { dim as isize }
    }

    /// The dimensions as indices of a tensor with `ndim` dimensions, in rising order.
    pub(crate) fn resolve(&self, ndim: usize) -> Result<SmallVec<[usize; 4]>> {
        if self.is_all() {
            return Ok((0..ndim).collect());
        }
        Ok(reduced_dims(self.dims.as_deref().unwrap_or_default(), ndim)?.into())
    }
}

impl From<std::ops::RangeFull> for Dims {
    fn from(_: std::ops::RangeFull) -> Dims {
        Dims::default()
    }
}

macro_rules! dims_from {
    ($($int:ty)*) => {
        $(impl From<$int> for Dims {
            fn from(dim: $int) -> Dims {
                Dims::from([dim])
            }
        }

        impl<const N: usize> From<[$int; N]> for Dims {
            fn from(dims: [$int; N]) -> Dims {
                Dims::from(&dims[..])
            }
        }

        impl<const N: usize> From<&[$int; N]> for Dims {
            fn from(dims: &[$int; N]) -> Dims {
                Dims::from(&dims[..])
            }
        }

        impl From<Vec<$int>> for Dims {
            fn from(dims: Vec<$int>) -> Dims {
                Dims::from(&dims[..])
            }
        }

        impl From<&[$int]> for Dims {
            fn from(dims: &[$int]) -> Dims {
                // A `usize` beyond `isize::MAX` is no dimension of any tensor; -1 would be one.
                let signed = |&dim: &$int| isize::try_from(dim).unwrap_or(isize::MAX);
                Dims { dims: Some(dims.iter().map(signed).collect()), keepdim: false }
            }
        })*
    };
}

dims_from!(i32 isize usize);
