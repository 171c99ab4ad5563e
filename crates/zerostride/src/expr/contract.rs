//! Owns the products that are written in terms of matrix products and sums: the outer product, the inner
//! product along a dimension, and contractions over any dimensions of two tensors. It does not know how
//! products run.

use smallvec::SmallVec;
use zerostride_ops::{Category, DType};
use zerostride_shape::{ErrorClass, Shape, reduced_dims};

use super::dims::keepdim;
use super::{DimList, Expr};
use crate::{Error, Result};

impl Expr {
    /// All products of an element of one vector and one of another, as `torch.outer`.
    ///
    /// Shapes: `(n), (m) -> (n, m)`.
    ///
    /// ```
    /// let products = zerostride::tensor![1, 2].outer(&zerostride::tensor![3, 4])?;
    /// assert_eq!(products.to_vec::<i64>()?, [3, 4, 6, 8]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn outer(&self, other: impl Into<Expr>) -> Expr {
        let other = other.into();
        let attempt = || {
            for (name, vector) in [("self", self), ("vec2", &other)] {
                let ndim = vector.shape()?.len();
                if ndim != 1 {
                    return Err(Error::runtime(format_args!(
                        "outer: Expected 1-D argument {name}, but got {ndim}-D"
                    )));
                }
            }
            Ok(self.unsqueeze(1).mul(other.unsqueeze(0)))
        };
        attempt().unwrap_or_else(|error| self.failed("outer", error))
    }

    /// The sum of products along a dimension, the first factor conjugated, as `torch.linalg.vecdot`; the
    /// other dimensions broadcast. Integers, which PyTorch refuses, keep their dtype.
    ///
    /// Shapes: `(…, n), (…, n) -> (…)` for `dim` -1.
    ///
    /// ```
    /// use zerostride::tensor;
    /// let x = tensor![[1.0, 2.0], [3.0, 4.0]];
    /// assert_eq!(x.vecdot(&tensor![10.0, 1.0], -1)?.to_vec::<f32>()?, [12.0, 34.0]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn vecdot(&self, other: impl Into<Expr>, dim: isize) -> Expr {
        let other = other.into();
        let attempt = || {
            let (own, theirs) = (self.dtype()?, other.dtype()?);
            if own != theirs {
                return Err(Error::runtime(format_args!(
                    "linalg.vecdot: Expected x and y to have the same dtype, but found x of type {} and y of type {} instead",
                    own.scalar_name(),
                    theirs.scalar_name()
                )));
            }
            match own.category() {
                Category::Bool => Err(Error::Argument {
                    class: ErrorClass::NotImplemented,
                    message: format!(
                        "linalg.vecdot: Expected a floating point or complex tensor as input. Got {}",
                        own.scalar_name()
                    ),
                }),
                Category::Complex => Ok(self.conj_physical().mul(other).sum(dim)),
                _ => Ok(self.mul(other).sum(dim).to_dtype(own)),
            }
        };
        attempt().unwrap_or_else(|error| self.failed("vecdot", error))
    }

    /// The sums of products over the last dimension of both, as `torch.inner`; a number is multiplied by
    /// everything.
    ///
    /// Shapes: `(n, k), (m, k) -> (n, m)`.
    ///
    /// ```
    /// let x = zerostride::tensor![[1, 2], [3, 4]];
    /// assert_eq!(x.inner(&zerostride::tensor![10, 1])?.to_vec::<i64>()?, [12, 34]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn inner(&self, other: impl Into<Expr>) -> Expr {
        let other = other.into();
        let attempt = || {
            let (own, theirs) = (self.shape()?, other.shape()?);
            match (own.last(), theirs.last()) {
                (Some(a), Some(b)) if a != b => Err(Error::runtime(format_args!(
                    "inner() the last dimension must match on both input tensors but got shapes {} and {}",
                    Shape::new(own)?,
                    Shape::new(theirs)?
                ))),
                (Some(_), Some(_)) => Ok(self.tensordot(&other, &[-1], &[-1])),
                _ => Ok(self * &other),
            }
        };
        attempt().unwrap_or_else(|error| self.failed("inner", error))
    }

    /// The sum of the diagonal of a matrix, as `torch.trace`.
    ///
    /// Shapes: `(n, m) -> ()`.
    ///
    /// ```
    /// assert_eq!(zerostride::tensor![[1, 2], [3, 4]].trace()?.item::<i64>()?, 5);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn trace(&self) -> Expr {
        let attempt = || match (self.shape()?.len(), self.dtype()?) {
            (2, DType::Bool) => Err(Error::not_implemented("trace", DType::Bool)),
            (2, _) => Ok(self.diagonal(0, 0, 1).sum(..)),
            (ndim, _) => {
                Err(Error::runtime(format_args!("trace: expected a matrix, but got tensor with dim {ndim}")))
            }
        };
        attempt().unwrap_or_else(|error| self.failed("trace", error))
    }

    /// The sum of products over pairs of dimensions, one of each factor, as `torch.tensordot`; a dimension of
    /// size 1 is stretched.
    ///
    /// Shapes: `(n, k), (k, m) -> (n, m)` for `[1], [0]`: the remaining dimensions of the first factor, then
    /// those of the second.
    ///
    /// ```
    /// use zerostride::Tensor;
    /// let (a, b) = (Tensor::ones(&[2, 3, 4])?, Tensor::ones(&[4, 3, 5])?);
    /// assert_eq!(a.tensordot(&b, &[1, 2], &[1, 0])?.shape(), [2, 5]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn tensordot(&self, other: impl Into<Expr>, own: &[isize], theirs: &[isize]) -> Expr {
        contract(self, &other.into(), own, theirs).unwrap_or_else(|error| self.failed("tensordot", error))
    }
}

/// The pairs of dimensions that are summed over.
pub(crate) enum ContractedDims {
    /// The last so many of the first factor, and as many of the first of the second.
    Last(isize),
    /// One of each list.
    Named(Vec<isize>, Vec<isize>),
}

impl Expr {
    /// [`Expr::tensordot`] over dimensions that are named or counted.
    pub(crate) fn tensordot_over(&self, other: impl Into<Expr>, dims: &ContractedDims) -> Expr {
        let other = other.into();
        let pairs = || match *dims {
            ContractedDims::Named(ref own, ref theirs) => Ok((own.clone(), theirs.clone())),
            ContractedDims::Last(count) => {
                let (own, theirs) = (self.shape()?.len() as isize, other.shape()?.len() as isize);
                if count < 0 {
                    let message = format_args!("tensordot expects dims >= 0, but got dims={count}");
                    return Err(Error::runtime(message));
                }
                if count > own.min(theirs) {
                    return Err(Error::runtime(format_args!(
                        "tensordot expects dims < ndim_a or ndim_b, but got dims={count}"
                    )));
                }
                Ok(((own - count..own).collect(), (0..count).collect()))
            }
        };
        match pairs() {
            Ok((own, theirs)) => self.tensordot(other, &own, &theirs),
            Err(error) => self.failed("tensordot", error),
        }
    }
}

/// The given dimensions as indices, in the given order.
fn named(dims: &[isize], ndim: usize) -> Result<SmallVec<[usize; 4]>> {
    let named = |&dim: &isize| {
        let none = || {
            let message = format!("Dimension specified as {dim} but tensor has no dimensions");
            Error::Argument { class: ErrorClass::Index, message }
        };
        reduced_dims(&[dim], ndim)?.first().copied().ok_or_else(none)
    };
    dims.iter().map(named).collect()
}

fn contract(a: &Expr, b: &Expr, own: &[isize], theirs: &[isize]) -> Result<Expr> {
    if own.len() != theirs.len() {
        return Err(Error::runtime("both dimension lists should have same length"));
    }
    if a.dtype()? != b.dtype()? {
        return Err(Error::runtime("both inputs should have same dtype"));
    }
    let (mut a, mut b) = (a.clone(), b.clone());
    let (own, theirs) = (named(own, a.shape()?.len())?, named(theirs, b.shape()?.len())?);
    for (&dim_a, &dim_b) in own.iter().zip(&theirs) {
        let (size_a, size_b) = (a.shape()?[dim_a], b.shape()?[dim_b]);
        // Where one factor is stretched, it is multiplied by the sum of the other.
        if size_a == 1 && size_b != 1 {
            b = b.sum(keepdim(dim_b as isize)).to_dtype(b.dtype()?);
        } else if size_b == 1 && size_a != 1 {
            a = a.sum(keepdim(dim_a as isize)).to_dtype(a.dtype()?);
        } else if size_a != size_b {
            return Err(Error::runtime(format_args!(
                "contracted dimensions need to match, but first has size {size_a} in dim {dim_a} and second has size {size_b} in dim {dim_b}"
            )));
        }
    }
    // Refuses a dimension that is given twice.
    for (dims, factor) in [(&own, &a), (&theirs, &b)] {
        let dims: DimList = dims.iter().map(|&dim| dim as isize).collect();
        reduced_dims(&dims, factor.shape()?.len())?;
    }
    let left = |factor: &Expr, dims: &[usize]| -> Result<SmallVec<[usize; 8]>> {
        Ok((0..factor.shape()?.len()).filter(|dim| !dims.contains(dim)).collect())
    };
    let (rows, columns) = (left(&a, &own)?, left(&b, &theirs)?);
    let sizes = |factor: &Expr, dims: &[usize]| -> Result<SmallVec<[usize; 8]>> {
        dims.iter().map(|&dim| factor.shape().map(|shape| shape[dim])).collect()
    };
    let (outer_a, outer_b) = (sizes(&a, &rows)?, sizes(&b, &columns)?);
    let (n, k, m) = (numel(&outer_a)?, numel(&sizes(&a, &own)?)?, numel(&outer_b)?);
    let order = |first: &[usize], second: &[usize]| -> DimList {
        first.iter().chain(second).map(|&dim| dim as isize).collect()
    };
    let matrix_a = a.permute(&order(&rows, &own)).reshape(&[n, k]);
    let matrix_b = b.permute(&order(&theirs, &columns)).reshape(&[k, m]);
    let shape: DimList = outer_a.iter().chain(&outer_b).map(|&size| size as isize).collect();
    // A sum begins with 0, so it would turn a single product of -0.0 into 0.0.
    let is_sum = k != 1 || a.dtype()?.category() == Category::Bool;
    let product = if is_sum { matrix_a.matmul(matrix_b) } else { matrix_a.mul(matrix_b) };
    Ok(product.reshape(&shape))
}

pub(super) fn numel(sizes: &[usize]) -> Result<isize> {
    Ok(Shape::new(sizes)?.numel() as isize)
}
