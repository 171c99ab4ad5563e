//! Owns gathering: an index tensor says for each element of the result its index along a dimension of the
//! source. Each integer is read where its element is copied. It does not know scattering, which walks the
//! same way (`scatter.rs`).

use std::ops::Range;

use bytemuck::{cast_slice, cast_slice_mut};
use smallvec::SmallVec;
use zerostride_ops::DType;
use zerostride_shape::{Shape, broadcast_shape};

use super::offsets::{Places, SHARE_COPIED_ELEMENTS, start, with_item};
use super::{Results, access, named_dim};
use crate::exec::StridedDims;
use crate::interrupt::{STRIDE, Visits};
use crate::threads::parts;
use crate::{Error, Result, Tensor};

/// The elements that integers name along one dimension of a tensor, in the order of the integers.
pub(super) struct Along<'a, F> {
    index: &'a [i64],
    /// The first element's offset in the bytes that the tensor reaches, in elements.
    start: isize,
    /// The other dimensions of the index, with the tensor's strides: a row of it, and steps from row to row.
    row: (usize, isize),
    outer: StridedDims<1>,
    /// From one element along the dimension to the next.
    stride: isize,
    /// The index along the dimension that an integer stands for.
    place: F,
}

impl<'a, F: Fn(i64) -> Result<usize> + Sync> Along<'a, F> {
    /// Along all elements of a contiguous tensor.
    fn all(index: &'a [i64], place: F) -> Self {
        let (row, outer) = ((index.len(), 0), StridedDims::of(&[], &[]));
        Along { index, start: 0, row, outer, stride: 1, place }
    }

    /// Calls `piece` with some integers of a row: the offset of what the first one names if it is 0, the
    /// distance from that of one integer to that of the next, and which of all integers they are.
    #[inline(always)]
    fn pieces(
        &self,
        range: Range<usize>,
        mut piece: impl FnMut(isize, isize, Range<usize>) -> Result<()>,
    ) -> Result<()> {
        let (len, step) = (self.row.0.max(1), self.row.1);
        let (mut at, mut visits) = (range.start, Visits::default());
        for [outer] in self.outer.walk(at / len) {
            let row = at / len * len;
            while at < range.end.min(row + len) {
                let end = range.end.min(row + len).min(at + STRIDE);
                visits.add(end - at);
                piece(self.start + outer + (at - row) as isize * step, step, at..end)?;
                at = end;
            }
            if at == range.end {
                break;
            }
        }
        Ok(())
    }

    /// Copies the elements to contiguous ones.
    ///
    /// # Errors
    /// An integer is out of bounds.
    pub(super) fn load(&self, item: usize, from: &[u8], to: &mut [u8]) -> Result<()> {
        let part = SHARE_COPIED_ELEMENTS.max(self.index.len().div_ceil(256));
        with_item!(item, E => {
            let from: &[E] = cast_slice(from);
            let parts = cast_slice_mut::<u8, E>(to).chunks_mut(part).enumerate();
            parts::for_each(parts, || (), |(), (number, to)| {
                let first = number * part;
                self.pieces(first..first + to.len(), |base, step, piece| {
                    let to = &mut to[piece.start - first..piece.end - first];
                    let mut base = base;
                    for (to, &at) in to.iter_mut().zip(&self.index[piece]) {
                        let place = (self.place)(at)?;
                        *to = from[(base + place as isize * self.stride) as usize];
                        base += step;
                    }
                    Ok(())
                })
            })
        })
    }

    /// Refuses integers that are out of bounds.
    pub(super) fn check(&self) -> Result<()> {
        self.pieces(0..self.index.len(), |_, _, piece| {
            self.index[piece].iter().try_for_each(|&at| (self.place)(at).map(drop))
        })
    }
}

impl<F: Fn(i64) -> Result<usize> + Sync> Places for Along<'_, F> {
    fn combine<E: Copy>(&self, from: &[E], to: &mut [E], combine: impl Fn(&mut E, E)) -> Result<()> {
        self.pieces(0..self.index.len(), |mut base, step, piece| {
            for (&from, &at) in from[piece.clone()].iter().zip(&self.index[piece]) {
                let place = (self.place)(at)?;
                combine(&mut to[(base + place as isize * self.stride) as usize], from);
                base += step;
            }
            Ok(())
        })
    }
}

/// The elements of a tensor that i64 integers of no larger sizes, contiguous elements of a shape, name along
/// a dimension.
pub(super) fn along<'a>(
    tensor: &Tensor,
    dim: usize,
    index: &'a [i64],
    shape: &[usize],
) -> Along<'a, impl Fn(i64) -> Result<usize> + Sync> {
    let (size, stride) = (tensor.shape()[dim], tensor.strides()[dim]);
    let mut strides: SmallVec<[isize; 8]> = SmallVec::from_slice(tensor.strides());
    strides[dim] = 0;
    let mut outer = StridedDims::of(shape, &strides);
    let (len, [step]) = outer.take_inner();
    let place = move |at: i64| match usize::try_from(at) {
        Ok(at) if at < size => Ok(at),
        _ => Err(out_of_bounds(at, dim, size)),
    };
    Along { index, start: start(tensor), row: (len, step), outer, stride, place }
}

#[cold]
fn out_of_bounds(at: i64, dim: usize, size: usize) -> Error {
    Error::runtime(format_args!("index {at} is out of bounds for dimension {dim} with size {size}"))
}

/// The tensor; one without dimensions as a vector of one element.
pub(super) fn lifted(tensor: &Tensor) -> Result<Tensor> {
    if tensor.ndim() == 0 { tensor.unsqueeze(0) } else { Ok(tensor.alias()) }
}

impl Tensor {
    /// For each element of an index tensor, the element at that index along a dimension, as `torch.gather`.
    ///
    /// Shapes: `(…, n, …)` and an index of the same rank, nowhere larger but along `dim`, `->` the index's
    /// shape. `result[i, j] = self[index[i, j], j]` for `dim` 0.
    ///
    /// # Errors
    /// The dimension does not exist, the index is not i32 or i64 or has other sizes, an integer is out of
    /// bounds, or there is no memory.
    ///
    /// ```
    /// use zerostride::tensor;
    /// let x = tensor![[1, 2], [3, 4]];
    /// assert_eq!(x.gather(1, &tensor![[0, 0], [1, 0]])?.to_vec::<i64>()?, [1, 1, 4, 3]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn gather(&self, dim: isize, index: &Tensor) -> Result<Tensor> {
        let shape = Results::gather(self, dim, index)?.shape();
        if shape.numel() == 0 {
            return Tensor::build(self.dtype(), shape, |_| Ok(()));
        }
        let (own, index) = (lifted(self)?, lifted(&index.to_dtype(DType::I64)?)?);
        let dim = named_dim(dim, own.ndim())?.unwrap_or(0);
        let index = index.contiguous()?;
        Tensor::build(self.dtype(), shape, |to| {
            access::read("gather", [&own, &index], |[from, integers]| {
                along(&own, dim, cast_slice(integers), index.shape()).load(own.dtype().item_size(), from, to)
            })
        })
    }

    /// [`Tensor::gather`] with an index that broadcasts with the tensor everywhere but along `dim`, and whose
    /// negative integers count from the end; without `dim`, of the flattened tensor. `torch.take_along_dim`,
    /// NumPy's `take_along_axis`.
    ///
    /// # Errors
    /// Other ranks, an index that does not broadcast or is not i32 or i64, an integer that is out of bounds
    /// (which PyTorch lets wrap around), or no memory.
    ///
    /// ```
    /// use zerostride::{keepdim, tensor};
    /// let x = tensor![[3, 1, 2], [4, 6, 5]];
    /// let smallest = x.take_along_dim(&x.argmin(keepdim(1))?, Some(1))?;
    /// assert_eq!(smallest.to_vec::<i64>()?, [1, 4]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn take_along_dim(&self, index: &Tensor, dim: Option<isize>) -> Result<Tensor> {
        let mut shape = Results::take_along_dim(self, index, dim)?.shape().to_vec();
        let index = index.to_dtype(DType::I64)?;
        let Some(dim) = dim else {
            return self.reshape(&[-1])?.take_along_dim(&index.reshape(&[-1])?, Some(0));
        };
        let Some(dim) = named_dim(dim, self.ndim())? else { return self.gather(0, &index) };
        let (size, count) = (self.shape()[dim], shape[dim]);
        shape[dim] = size;
        let own = self.broadcast_to(&shape)?;
        shape[dim] = count;
        let negative = index.lt(0)?;
        let index = index.add(size as i64)?.where_(&negative, &index)?;
        own.gather(dim as isize, &index.broadcast_to(&shape)?)
    }

    /// The elements that integers name, counted row-major through all dimensions, as `torch.take`; negative
    /// ones count from the end.
    ///
    /// Shapes: `(…), (i) -> (i)`.
    ///
    /// # Errors
    /// The index is not i64, an integer is out of range, or there is no memory.
    ///
    /// ```
    /// use zerostride::tensor;
    /// assert_eq!(tensor![[1, 2], [3, 4]].take(&tensor![0, -1])?.to_vec::<i64>()?, [1, 4]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn take(&self, index: &Tensor) -> Result<Tensor> {
        let shape = Results::take(self, index)?.shape();
        let own = self.contiguous()?;
        let (count, item) = (own.numel(), own.dtype().item_size());
        let index = index.contiguous()?;
        let place = |at: i64| {
            let wrapped = if at < 0 { at.saturating_add_unsigned(count as u64) } else { at };
            match usize::try_from(wrapped) {
                Ok(place) if place < count => Ok(place),
                _ => Err(out_of_range(at, count)),
            }
        };
        Tensor::build(own.dtype(), shape, |to| {
            access::read("take", [&own, &index], |[from, integers]| {
                Along::all(cast_slice(integers), place).load(item, from, to)
            })
        })
    }
}

#[cold]
fn out_of_range(at: i64, count: usize) -> Error {
    Error::index(format_args!("out of range: tried to access index {at} on a tensor of {count} elements."))
}

impl Results {
    pub(super) fn gather(tensor: &Tensor, dim: isize, index: &Tensor) -> Result<Results> {
        named_dim(dim, tensor.ndim())?;
        index.check_index_or_empty(|| Error::runtime("gather(): Expected dtype int32/int64 for index"))?;
        let gathered = Results::one(index.shape_value().clone(), tensor.dtype());
        if index.numel() == 0 {
            return Ok(gathered);
        }
        let (own, index) = (lifted(tensor)?, lifted(index)?);
        if own.ndim() != index.ndim() {
            return Err(Error::runtime(
                "Index tensor must have the same number of dimensions as input tensor",
            ));
        }
        let dim = named_dim(dim, own.ndim())?.unwrap_or(0);
        if let Some(larger) =
            (0..own.ndim()).find(|&other| other != dim && index.shape()[other] > own.shape()[other])
        {
            return Err(Error::runtime(format_args!(
                "Size does not match at dimension {larger} expected index {} to be no larger than self {} apart from dimension {dim}",
                index.shape_value(),
                own.shape_value()
            )));
        }
        Ok(gathered)
    }

    pub(super) fn take_along_dim(tensor: &Tensor, index: &Tensor, dim: Option<isize>) -> Result<Results> {
        index.check_index(|| Error::runtime("torch.take_along_dim(): dtype of indices should be Long"))?;
        let Some(dim) = dim else {
            return Ok(Results::one(Shape::new(&[index.numel()])?, tensor.dtype()));
        };
        if tensor.ndim() != index.ndim() {
            return Err(Error::runtime(format_args!(
                "torch.take_along_dim(): input and indices should have the same number of dimensions, but got {} dimensions for input, and {} dimensions for indices",
                tensor.ndim(),
                index.ndim()
            )));
        }
        let Some(dim) = named_dim(dim, tensor.ndim())? else { return Results::gather(tensor, 0, index) };
        let apart = |tensor: &Tensor| {
            let mut sizes = tensor.shape().to_vec();
            sizes[dim] = 1;
            sizes
        };
        let mut shape = broadcast_shape(&[&apart(tensor)[..], &apart(index)[..]])?.to_vec();
        shape[dim] = index.shape()[dim];
        Ok(Results::one(Shape::new(&shape)?, tensor.dtype()))
    }

    pub(super) fn take(tensor: &Tensor, index: &Tensor) -> Result<Results> {
        match index.dtype() {
            DType::I64 => Ok(Results::one(index.shape_value().clone(), tensor.dtype())),
            other => Err(Error::runtime(format_args!(
                "take(): Expected a long tensor for index, but got {}",
                other.scalar_name()
            ))),
        }
    }
}
