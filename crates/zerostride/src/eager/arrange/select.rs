//! Owns the functions that select elements or slices by one index tensor or mask, under PyTorch's names. It
//! does not know their offsets (`picks.rs`).

use std::cmp::Ordering;

use zerostride_ops::{DType, Scalar};
use zerostride_shape::{Shape, broadcast_shape};

use super::gather::lifted;
use super::picks::Pick;
use super::{Results, named_dim};
use crate::{Error, Expr, Operand, Result, Tensor};

/// An integer of an index that is out of bounds for a dimension of `size`; negative ones are.
fn outside(index: &Tensor, size: usize) -> Result<Option<i64>> {
    if index.numel() == 0 {
        return Ok(None);
    }
    let extremes = [index.amin(..)?.item::<i64>()?, index.amax(..)?.item::<i64>()?];
    Ok(extremes.into_iter().find(|&at| at < 0 || at >= size as i64))
}

impl Tensor {
    /// The elements where a mask is true, row-major in one dimension: `torch.masked_select`. Both broadcast.
    ///
    /// # Errors
    /// The mask is not bool, the shapes do not broadcast, or there is no memory.
    ///
    /// ```
    /// use zerostride::tensor;
    /// let x = tensor![[1, 2], [3, 4]];
    /// assert_eq!(x.masked_select(&tensor![true, false])?.to_vec::<i64>()?, [1, 3]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn masked_select(&self, mask: &Tensor) -> Result<Tensor> {
        let shape = together(self, mask)?;
        let picked = |tensor: &Tensor| lifted(&tensor.broadcast_to(&shape)?);
        picked(self)?.pick(&[Pick::mask(0, picked(mask)?)?])
    }

    /// Overwrites the elements where a mask is true with those of a source, in order:
    /// `torch.Tensor.masked_scatter_`. The mask broadcasts.
    ///
    /// # Errors
    /// The mask is not bool or does not broadcast to the tensor, the source has too few elements or another
    /// dtype, or the tensor's elements share memory.
    ///
    /// ```
    /// use zerostride::tensor;
    /// let x = tensor![[1, 2], [3, 4]];
    /// x.masked_scatter_(&x.gt(2)?, &tensor![7, 8, 9])?;
    /// assert_eq!(x.to_vec::<i64>()?, [1, 2, 7, 8]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn masked_scatter_(&self, mask: &Tensor, source: &Tensor) -> Result<()> {
        if source.dtype() != self.dtype() {
            return Err(Error::runtime(format_args!(
                "masked_scatter: expected self and source to have same dtypes but got{} and {}",
                self.dtype().scalar_name(),
                source.dtype().scalar_name()
            )));
        }
        if mask.dtype() != DType::Bool {
            return Err(Error::runtime(format_args!(
                "masked_scatter_ only supports boolean masks, but got mask with dtype {}",
                mask.dtype().scalar_name()
            )));
        }
        let (own, mask) = (lifted(self)?, lifted(&mask.broadcast_to(self.shape())?)?);
        let pick = Pick::mask(0, mask)?;
        let (source, count) = (source.reshape(&[-1])?, pick.count());
        if source.numel() < count {
            return Err(Error::runtime("Number of elements of source < number of ones in mask"));
        }
        own.put(&[pick], Operand::expr(source.narrow(0, 0, count as isize)?), false)
    }

    /// The slices of a dimension that integers name, as `torch.index_select`; no negative ones.
    ///
    /// Shapes: `(…, n, …), (k) -> (…, k, …)`.
    ///
    /// # Errors
    /// The dimension does not exist, the index is no vector of i32 or i64, an integer is out of range, or
    /// there is no memory.
    ///
    /// ```
    /// use zerostride::tensor;
    /// let x = tensor![[1, 2, 3], [4, 5, 6]];
    /// assert_eq!(x.index_select(1, &tensor![2, 0])?.to_vec::<i64>()?, [3, 1, 6, 4]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn index_select(&self, dim: isize, index: &Tensor) -> Result<Tensor> {
        Results::index_select(self, dim, index)?;
        let index = index.to_dtype(DType::I64)?;
        let Some(dim) = named_dim(dim, self.ndim())? else {
            return match index.reshape(&[])?.item::<i64>()? {
                0 => self.row_major(),
                _ => Err(Error::index("index out of range in self")),
            };
        };
        let index = index.reshape(&[-1])?;
        if outside(&index, self.shape()[dim])?.is_some() {
            return Err(Error::index("index out of range in self"));
        }
        self.pick(&[Pick::Integers { dim, index }])
    }

    /// Adds slices of a source, `alpha` times, to the slices of a dimension that integers name:
    /// `torch.Tensor.index_add_`. A slice that is named several times takes part in as many additions.
    ///
    /// # Errors
    /// The dimension does not exist, the source is of another dtype, has other sizes or as many slices as
    /// there are integers, an integer is out of range, the dtype does not hold `alpha`, or the tensor's
    /// elements share memory.
    ///
    /// ```
    /// use zerostride::tensor;
    /// let x = tensor![[0, 0], [0, 0]];
    /// x.index_add_(0, &tensor![1, 1], &tensor![[1, 2], [3, 4]], 1)?;
    /// assert_eq!(x.to_vec::<i64>()?, [0, 0, 4, 6]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn index_add_(
        &self,
        dim: isize,
        index: &Tensor,
        source: &Tensor,
        alpha: impl Into<Scalar>,
    ) -> Result<()> {
        let Some(dim) = named_dim(dim, self.ndim())? else {
            return self.unsqueeze(0)?.index_add_(0, index, &source.reshape(&[-1])?, alpha);
        };
        let index =
            index.as_index(|| Error::runtime("index_add_(): Expected dtype int32/int64 for index"))?;
        if index.ndim() > 1 {
            return Err(Error::index("index_add_(): Index is supposed to be a vector"));
        }
        if self.dtype() != source.dtype() {
            return Err(Error::runtime(format_args!(
                "index_add_(): self ({}) and source ({}) must have the same scalar type",
                self.dtype().scalar_name(),
                source.dtype().scalar_name()
            )));
        }
        let others = |tensor: &Tensor| {
            let sizes = tensor.shape().iter().enumerate();
            sizes.filter(|(own, _)| *own != dim).map(|(_, size)| *size).collect::<Vec<_>>()
        };
        if self.ndim() != source.ndim() || others(self) != others(source) {
            return Err(Error::runtime(format_args!(
                "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = {} source.shape = {}",
                self.shape_value(),
                source.shape_value()
            )));
        }
        let (count, slices) = (index.numel(), source.shape()[dim]);
        if count.cmp(&slices) != Ordering::Equal {
            return Err(Error::runtime(format_args!(
                "index_add_(): Number of indices ({count}) should be equal to source.size(dim): ({slices}), for dim: {dim}"
            )));
        }
        let scaled = match alpha.into() {
            Scalar::Int(1) => Operand::expr(source),
            alpha => {
                let alpha = Expr::from(alpha.held_by(self.dtype())?).to_dtype(self.dtype());
                Operand::expr((source * alpha).eval()?)
            }
        };
        let (index, size) = (index.reshape(&[-1])?, self.shape()[dim]);
        if let Some(at) = outside(&index, size)? {
            // PyTorch has a loop of its own for vectors.
            return Err(match self.ndim() {
                0 | 1 => Error::index("index out of range in self"),
                _ => Error::runtime(format_args!(
                    "index {at} is out of bounds for dimension {dim} with size {size}"
                )),
            });
        }
        self.put(&[Pick::Integers { dim, index }], scaled, true)
    }
}

/// The shape that a tensor and a mask broadcast to.
fn together(tensor: &Tensor, mask: &Tensor) -> Result<Shape> {
    if mask.dtype() != DType::Bool {
        return Err(Error::runtime("masked_select: expected BoolTensor for mask"));
    }
    Ok(broadcast_shape(&[mask.shape(), tensor.shape()])?)
}

impl Results {
    pub(super) fn masked_select(tensor: &Tensor, mask: &Tensor) -> Result<Results> {
        Ok(Results::at_most(together(tensor, mask)?.numel(), tensor.dtype().item_size()))
    }

    pub(super) fn index_select(tensor: &Tensor, dim: isize, index: &Tensor) -> Result<Results> {
        let dim = named_dim(dim, tensor.ndim())?;
        index.check_index(|| Error::runtime("index_select(): Expected dtype int32 or int64 for index"))?;
        if index.ndim() > 1 {
            return Err(Error::index("index_select(): Index is supposed to be a vector"));
        }
        let mut sizes = tensor.shape().to_vec();
        match (dim, index.numel()) {
            (Some(dim), count) => sizes[dim] = count,
            (None, 1) => {}
            (None, count) => {
                return Err(Error::runtime(format_args!(
                    "index_select(): Index to scalar can have only 1 value, got {count} value(s)"
                )));
            }
        }
        Ok(Results::one(Shape::new(&sizes)?, tensor.dtype()))
    }
}
