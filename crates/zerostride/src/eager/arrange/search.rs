//! Owns searches: for the indices of nonzero elements, and of values among sorted ones.

use bytemuck::{cast_slice, cast_slice_mut};
use zerostride_ops::{Category, DType, Element, result_type};
use zerostride_shape::Shape;

use super::picks::Pick;
use super::sort::with_ordered;
use super::{Results, access};
use crate::interrupt::{self, STRIDE};
use crate::threads::parts;
use crate::{Dims, Error, Expr, Result, Tensor};

/// Values that a thread searches for at least.
const SHARE_SEARCHED_ELEMENTS: usize = 1 << 12;

impl Tensor {
    /// The index of every nonzero element, in row-major order: `torch.nonzero`.
    ///
    /// Shapes: rank `d` with `k` such elements `-> (k, d)`.
    ///
    /// # Errors
    /// There is no memory.
    ///
    /// ```
    /// use zerostride::tensor;
    /// assert_eq!(tensor![[0, 5], [7, 0]].nonzero()?.to_vec::<i64>()?, [0, 1, 1, 0]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn nonzero(&self) -> Result<Tensor> {
        let (shape, ndim) = (self.shape_value().clone(), self.ndim());
        let flat = self.ne(0)?.reshape(&[-1])?;
        let offsets = Pick::mask(0, flat.alias())?.offsets(flat.layout(), 0)?;
        Tensor::build(DType::I64, Shape::new(&[offsets.len(), ndim])?, |bytes| {
            let rows = cast_slice_mut::<u8, i64>(bytes).chunks_mut(ndim.max(1));
            for (at, (row, mut offset)) in rows.zip(offsets).enumerate() {
                if at.is_multiple_of(STRIDE) {
                    interrupt::check();
                }
                // The outermost index is what the others leave.
                if let Some((outermost, others)) = row.split_first_mut() {
                    for (index, &size) in others.iter_mut().zip(&shape[1..]).rev() {
                        (*index, offset) =
                            ((offset as usize % size) as i64, (offset as usize / size) as isize);
                    }
                    *outermost = offset as i64;
                }
            }
            Ok(())
        })
    }

    /// How many elements are not zero, over some dimensions: `torch.count_nonzero`.
    ///
    /// # Errors
    /// A dimension does not exist, or there is no memory.
    ///
    /// ```
    /// use zerostride::tensor;
    /// assert_eq!(tensor![[0, 5], [7, 0]].count_nonzero(..)?.item::<i64>()?, 2);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn count_nonzero(&self, dims: impl Into<Dims>) -> Result<Tensor> {
        counted(self, dims).eval()
    }

    /// Where values would be inserted into sorted ones so that these stay sorted, before equal ones or, with
    /// `right`, behind them: `torch.searchsorted`.
    ///
    /// Shapes: sorted `(n)` and values of any shape, or `(…, n)` and `(…, m)`; the result has the values'
    /// shape. NaN belongs at the end.
    ///
    /// # Errors
    /// Shapes that do not go together, bool or complex values, or no memory.
    ///
    /// ```
    /// use zerostride::tensor;
    /// let edges = tensor![10, 20, 20, 30];
    /// assert_eq!(edges.searchsorted(&tensor![20, 35], false)?.to_vec::<i64>()?, [1, 4]);
    /// assert_eq!(edges.searchsorted(&tensor![20, 35], true)?.to_vec::<i64>()?, [3, 4]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn searchsorted(&self, values: &Tensor, right: bool) -> Result<Tensor> {
        let dtype = Results::searched(self, values)?;
        let (n, outer) = (self.shape()[self.ndim() - 1], &self.shape()[..self.ndim() - 1]);
        let rows = self.to_dtype(dtype)?.contiguous()?;
        let wanted = values.to_dtype(dtype)?.contiguous()?;
        // Values of one row of sorted elements.
        let each = if outer.is_empty() { wanted.numel() } else { wanted.shape()[outer.len()] };
        Tensor::build(DType::I64, values.shape_value().clone(), |bytes| {
            let found: &mut [i64] = cast_slice_mut(bytes);
            access::read("searchsorted", [&rows, &wanted], |[rows, wanted]| {
                with_ordered!(dtype, T => {
                    let rows: &[<T as Element>::Stored] = cast_slice(rows);
                    let wanted: &[<T as Element>::Stored] = cast_slice(wanted);
                    let parts: Vec<_> = wanted.chunks(SHARE_SEARCHED_ELEMENTS).zip(found.chunks_mut(SHARE_SEARCHED_ELEMENTS)).enumerate().collect();
                    parts::for_each(parts.into_iter(), || (), |(), (part, (wanted, found))| {
                        for (at, (&value, index)) in wanted.iter().zip(found).enumerate() {
                            let row = (part * SHARE_SEARCHED_ELEMENTS + at) / each.max(1) * n;
                            // NaN comes after every number, and every value after NaN.
                            let before = |other: &<T as Element>::Stored| {
                                other.partial_cmp(&value).is_none_or(|order| order.is_lt() || right && order.is_eq())
                            };
                            *index = rows[row..row + n].partition_point(before) as i64;
                        }
                        Ok(())
                    })
                }, unreachable!("complex numbers are refused"))
            })
        })
    }

    /// In which bucket between sorted boundaries each element lies: [`searchsorted`](Tensor::searchsorted)
    /// the other way round, `torch.bucketize`.
    ///
    /// # Errors
    /// Boundaries that are no vector, bool or complex elements, or no memory.
    ///
    /// ```
    /// use zerostride::tensor;
    /// let ages = tensor![[7, 18], [30, 70]];
    /// assert_eq!(ages.bucketize(&tensor![18, 65], true)?.to_vec::<i64>()?, [0, 1, 1, 2]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn bucketize(&self, boundaries: &Tensor, right: bool) -> Result<Tensor> {
        match boundaries.ndim() {
            1 => boundaries.searchsorted(self, right),
            ndim => Err(Error::runtime(format_args!(
                "boundaries tensor must be 1 dimension, but got dim({ndim})"
            ))),
        }
    }
}

/// The number of elements that are not zero, as an expression.
fn counted(tensor: &Tensor, dims: impl Into<Dims>) -> Expr {
    Expr::current(tensor).ne(0).sum(dims)
}

impl Results {
    pub(super) fn nonzero(tensor: &Tensor) -> Result<Results> {
        Ok(Results::at_most(tensor.numel().saturating_mul(tensor.ndim()), DType::I64.item_size()))
    }

    pub(super) fn count_nonzero(tensor: &Tensor, dims: Dims) -> Result<Results> {
        Results::computed(&counted(tensor, dims))
    }

    pub(super) fn searchsorted(edges: &Tensor, values: &Tensor, _right: bool) -> Result<Results> {
        Results::searched(edges, values)?;
        Ok(Results::one(values.shape_value().clone(), DType::I64))
    }

    /// The dtype in which values are compared with sorted ones.
    fn searched(edges: &Tensor, values: &Tensor) -> Result<DType> {
        let Some((_, outer)) = edges.shape().split_last() else {
            return Err(Error::runtime(
                "torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 dimension",
            ));
        };
        if values.ndim() == 0 && !outer.is_empty() {
            return Err(Error::runtime(format_args!(
                "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we got boundaries tensor dim({}) and input value's dim(0) numel(1)",
                edges.ndim()
            )));
        }
        let leading = values.shape().split_last().map(|(_, leading)| leading);
        if !outer.is_empty() && leading != Some(outer) {
            return Err(Error::runtime(format_args!(
                "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and input value tensor must match, but we got boundaries tensor {} and input value tensor {}",
                edges.shape_value(),
                values.shape_value()
            )));
        }
        let dtype = result_type(&[edges.typed(), values.typed()])?;
        if matches!(dtype.category(), Category::Bool | Category::Complex) {
            return Err(Error::not_implemented("searchsorted_out_cpu", dtype));
        }
        Ok(dtype)
    }
}
