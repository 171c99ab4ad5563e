//! Owns indexing: `x[1, ::2, None, mask]` as a view, and as a copy or an assignment where index tensors take
//! part. It does not know which elements an index tensor picks (`picks.rs`).
//!
//! Source: NumPy's advanced indexing with PyTorch's choices (`aten/src/ATen/TensorIndexing.h`): an integer is
//! a view and no index tensor, and a bool adds a dimension.

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use zerostride_ops::{Category, DType};
use zerostride_shape::{InternalOverlap, Shape};

use super::offsets::compress;
use super::picks::{Pick, Picked, Shapes};
use super::scatter::Combination;
use super::{Results, access};
use crate::expr::View;
use crate::{Error, Expr, Operand, Result, Slice, Tensor};

/// One item of an index.
///
/// Made with `into()` from an integer, a range, a bool or a tensor.
///
/// ```
/// use zerostride::{tensor, Index};
/// let x = tensor![[1, 2, 3], [4, 5, 6]];
/// let column = x.index(&[(..).into(), (-1).into()])?;              // x[:, -1], a view
/// assert_eq!(column.to_vec::<i64>()?, [3, 6]);
/// let rows = x.index(&[(&tensor![1, 0, 1]).into()])?;              // x[[1, 0, 1]], a copy
/// assert_eq!(rows.shape(), [3, 3]);
/// let large = x.index(&[x.gt(3)?.into()])?;                        // x[x > 3]
/// assert_eq!(large.to_vec::<i64>()?, [4, 5, 6]);
/// assert_eq!(x.index(&[Index::Ellipsis, Index::NewDim])?.shape(), [2, 3, 1]);
/// # Ok::<(), zerostride::Error>(())
/// ```
#[derive(Clone, Debug)]
pub enum Index {
    /// One index of a dimension, which is removed; negative ones count from the end.
    At(isize),
    /// Python's `start:stop:step` of a dimension; steps may be negative.
    Slice {
        /// The first index.
        start: Option<isize>,
        /// The index before which to stop.
        stop: Option<isize>,
        /// The difference of one index to the next.
        step: isize,
    },
    /// All dimensions that no other item indexes.
    Ellipsis,
    /// A new dimension of size 1: Python's `None`.
    NewDim,
    /// Integers that pick along one dimension, or a mask over as many dimensions as it has.
    Tensor(Tensor),
}

impl From<bool> for Index {
    /// A new dimension, of size 1 for `true` and 0 for `false`.
    fn from(flag: bool) -> Index {
        let mask = Tensor::full(&[], flag, DType::Bool);
        Index::Tensor(mask.expect("one byte is always there"))
    }
}

impl From<&Tensor> for Index {
    fn from(tensor: &Tensor) -> Index {
        Index::Tensor(tensor.alias())
    }
}

impl From<Tensor> for Index {
    fn from(tensor: Tensor) -> Index {
        Index::Tensor(tensor)
    }
}

impl From<Slice> for Index {
    fn from(Slice { start, stop, step }: Slice) -> Index {
        Index::Slice { start, stop, step }
    }
}

impl From<RangeFull> for Index {
    fn from(all: RangeFull) -> Index {
        Slice::from(all).into()
    }
}

macro_rules! index_from {
    ($($int:ty: $($range:ident)*;)*) => {
        $(impl From<$int> for Index {
            fn from(at: $int) -> Index {
                Index::At(at as isize)
            }
        }

        $(impl From<$range<$int>> for Index {
            fn from(range: $range<$int>) -> Index {
                Slice::from(range).into()
            }
        })*)*
    };
}

index_from! {
    i32: Range RangeInclusive RangeFrom RangeTo RangeToInclusive;
    isize: Range RangeInclusive RangeFrom RangeTo RangeToInclusive;
    usize: Range RangeInclusive RangeFrom RangeTo RangeToInclusive;
}

/// Whether a tensor of this dtype is a mask; u8 is PyTorch's older spelling of bool.
fn is_mask(dtype: DType) -> bool {
    matches!(dtype, DType::Bool | DType::U8)
}

/// An integer without dimensions, which indexes like a bare one.
fn is_place(tensor: &Tensor) -> bool {
    tensor.ndim() == 0 && tensor.dtype().category() == Category::Int && !is_mask(tensor.dtype())
}

impl Index {
    /// How many dimensions of the tensor the item indexes; an ellipsis takes those that are left.
    fn taken(&self) -> usize {
        match self {
            Index::At(_) | Index::Slice { .. } => 1,
            Index::Ellipsis | Index::NewDim => 0,
            Index::Tensor(tensor) if is_mask(tensor.dtype()) => tensor.ndim(),
            Index::Tensor(_) => 1,
        }
    }
}

/// What an index takes views of.
trait Viewed: Sized {
    /// Another handle on the same.
    fn same(&self) -> Self;
    fn sizes(&self) -> Result<&[usize]>;
    fn seen(&self, view: View) -> Result<Self>;
}

impl Viewed for Tensor {
    fn same(&self) -> Tensor {
        self.alias()
    }

    fn sizes(&self) -> Result<&[usize]> {
        Ok(self.shape())
    }

    fn seen(&self, view: View) -> Result<Tensor> {
        Ok(Tensor::new(self.storage().clone(), view.apply(self.layout())?, self.dtype()))
    }
}

impl Viewed for Expr {
    fn same(&self) -> Expr {
        self.clone()
    }

    fn sizes(&self) -> Result<&[usize]> {
        self.shape()
    }

    fn seen(&self, view: View) -> Result<Expr> {
        let seen = self.view(view);
        seen.shape()?;
        Ok(seen)
    }
}

/// The part of an index that is a view, and the index tensors, each with the first dimension of that view
/// that it indexes.
fn resolve<V: Viewed>(of: &V, items: &[Index]) -> Result<(V, Vec<(usize, Tensor)>)> {
    let ndim = of.sizes()?.len();
    let taken: usize = items.iter().map(Index::taken).sum();
    if taken > ndim {
        return Err(Error::index(format_args!("too many indices for tensor of dimension {ndim}")));
    }
    let (mut view, mut dim, mut selected) = (of.same(), 0, 0);
    let (mut tensors, mut skipped) = (Vec::new(), false);
    for item in items {
        match item {
            Index::At(at) => {
                view = select(&view, dim, *at, dim + selected)?;
                selected += 1;
            }
            Index::Tensor(at) if is_place(at) => {
                let at = at.to_dtype(DType::I64)?.item::<i64>()?;
                view = select(&view, dim, at as isize, dim + selected)?;
                selected += 1;
            }
            Index::Slice { start, stop, step } => {
                // A bare `:` leaves the dimension as it is.
                if (*start, *stop, *step) != (None, None, 1) {
                    let (start, stop, step) = (*start, *stop, *step);
                    view = view.seen(View::Slice { dim: dim as isize, start, stop, step })?;
                }
                dim += 1;
            }
            Index::NewDim => {
                view = view.seen(View::Unsqueeze(dim as isize))?;
                dim += 1;
            }
            Index::Ellipsis if skipped => {
                return Err(Error::index("an index can only have a single ellipsis ('...')"));
            }
            Index::Ellipsis => {
                dim += ndim - taken;
                skipped = true;
            }
            Index::Tensor(mask) if is_mask(mask.dtype()) && mask.ndim() == 0 => {
                view = view.seen(View::Unsqueeze(dim as isize))?;
                tensors.push((dim, mask.unsqueeze(0)?));
                dim += 1;
            }
            Index::Tensor(index) => {
                tensors.push((dim, index.alias()));
                dim += item.taken();
            }
        }
    }
    Ok((view, tensors))
}

/// One index of a dimension; `named` is the dimension in PyTorch's words.
fn select<V: Viewed>(view: &V, dim: usize, at: isize, named: usize) -> Result<V> {
    let size = view.sizes()?[dim];
    let inside = if at < 0 { at.unsigned_abs() <= size } else { at.unsigned_abs() < size };
    if !inside {
        return Err(Error::index(format_args!(
            "index {at} is out of bounds for dimension {named} with size {size}"
        )));
    }
    view.seen(View::Select { dim: dim as isize, index: at })
}

/// The part of an index that is a view of a tensor, and what is picked from that view.
fn picked(tensor: &Tensor, items: &[Index]) -> Result<(Tensor, Vec<Pick>)> {
    let (view, tensors) = resolve(tensor, items)?;
    let picks = tensors.into_iter().map(|(dim, index)| pick(&view, dim, index)).collect::<Result<_>>()?;
    Ok((view, picks))
}

fn pick(view: &Tensor, dim: usize, index: Tensor) -> Result<Pick> {
    match index.dtype() {
        dtype if is_mask(dtype) => {
            if let Some(at) = (0..index.ndim()).find(|&at| index.shape()[at] != view.shape()[dim + at]) {
                return Err(Error::index(format_args!(
                    "The shape of the mask {} at index {at} does not match the shape of the indexed tensor {} at index {}",
                    index.shape_value(),
                    view.shape_value(),
                    dim + at
                )));
            }
            Pick::mask(dim, index)
        }
        DType::I32 | DType::I64 => Ok(Pick::Integers { dim, index }),
        _ => Err(Error::index("tensors used as indices must be long, int, byte or bool tensors")),
    }
}

impl Results {
    /// What [`Tensor::index`] gives: as large as a mask's elements say, where one takes part.
    ///
    /// # Errors
    /// As [`Tensor::index`], but for integers out of bounds.
    ///
    /// ```
    /// use zerostride::{Results, tensor};
    /// let picked = Results::index(&tensor![[1, 2], [3, 4]], &[tensor![0, 1, 0].into()])?;
    /// assert_eq!(picked.known().unwrap().next().unwrap().0, [3, 2]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn index(tensor: &Tensor, items: &[Index]) -> Result<Results> {
        let (view, picks) = picked(tensor, items)?;
        if picks.is_empty() {
            return Ok(Results::like(&view));
        }
        let shape = Shapes::new(view.layout(), &picks)?.whole;
        let by_elements = picks.iter().any(|pick| matches!(pick, Pick::Mask { .. }));
        Ok(match by_elements {
            true => Results::at_most(shape.numel(), view.dtype().item_size()),
            false => Results::one(shape, view.dtype()),
        })
    }
}

impl Tensor {
    /// The elements that an index picks, as `x[...]` in Python: a view where no index tensor takes part, else
    /// a copy.
    ///
    /// Shapes: `(n, m)` with integers `(k)` for the first dimension `-> (k, m)`; with a mask
    /// `(n, m) -> (count of true)`. Index tensors broadcast with each other. Their common dimensions replace
    /// the indexed ones if these are neighbours, otherwise they come first.
    ///
    /// # Errors
    /// More items than dimensions, integers out of bounds, a mask of other sizes, index tensors that do not
    /// broadcast, or no memory.
    ///
    /// Source: PyTorch `aten/src/ATen/TensorIndexing.h` and `native/TensorAdvancedIndexing.cpp`.
    ///
    /// ```
    /// use zerostride::{tensor, Index};
    /// let x = tensor![[0, 1, 2], [3, 4, 5], [6, 7, 8]];
    /// let corners = x.index(&[tensor![[0], [2]].into(), tensor![0, 2].into()])?;    // x[[[0], [2]], [0, 2]]
    /// assert_eq!(corners.to_string(), "tensor([[0, 2],\n        [6, 8]])");
    /// let error = x.index(&[tensor![0, 3].into()]).unwrap_err();
    /// assert_eq!(error.to_string(), "index 3 is out of bounds for dimension 0 with size 3");
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn index(&self, items: &[Index]) -> Result<Tensor> {
        let (view, picks) = picked(self, items)?;
        if picks.is_empty() { Ok(view) } else { view.pick(&picks) }
    }

    /// A copy of the picked elements.
    pub(super) fn pick(&self, picks: &[Pick]) -> Result<Tensor> {
        if let [Pick::Mask { dims, mask, count }] = picks
            && dims.len() == self.ndim()
        {
            return Tensor::build(self.dtype(), Shape::new(&[*count])?, |to| {
                access::read("indexing", [self, mask], |[from, bools]| {
                    compress(self, from, bools, to);
                    Ok(())
                })
            });
        }
        let Picked { shape, offsets } = Picked::new(self, picks)?;
        let item = self.dtype().item_size();
        Tensor::build(self.dtype(), shape, |to| match offsets {
            Some(offsets) => access::read("indexing", [self], |[from]| offsets.load(item, from, to)),
            None => Ok(()),
        })
    }

    /// Writes to the elements that an index picks, as `x[...] = value` in Python; the value broadcasts. Where
    /// the same element is picked several times, the last one stays.
    ///
    /// # Errors
    /// As [`Tensor::index`]; a value that does not broadcast or, next to index tensors, a tensor of another
    /// dtype; a tensor whose elements share memory.
    ///
    /// ```
    /// use zerostride::{tensor, Index};
    /// let x = tensor![[1, 2, 3], [4, 5, 6]];
    /// x.assign_(&[x.gt(4)?.into()], 0)?;                               // x[x > 4] = 0
    /// x.assign_(&[(..).into(), tensor![0, 2].into()], tensor![7, 9])?; // x[:, [0, 2]] = [7, 9]
    /// assert_eq!(x.to_vec::<i64>()?, [7, 2, 9, 7, 0, 9]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn assign_<'a>(&self, items: &[Index], value: impl Into<Operand<'a>>) -> Result<()> {
        let (view, picks) = picked(self, items)?;
        let value = Operand::expr(value);
        // A bare number is converted with PyTorch's check, and rounded once; f16 and bf16 views take any real
        // number.
        let value = match value.number() {
            Some(number) if picks.is_empty() && self.dtype().is_half() => {
                Expr::from(number.held_by(DType::F64)?).to_dtype(self.dtype())
            }
            Some(number) => Tensor::full(&[], number, self.dtype())?.into(),
            None => value,
        };
        // PyTorch drops leading dimensions of size 1.
        let extra = value.shape()?.len().saturating_sub(view.ndim());
        let ones = value.shape()?.iter().take_while(|size| **size == 1).count();
        let dropped = if picks.is_empty() { extra.min(ones) } else { ones };
        let value = (0..dropped).fold(value, |value, _| value.select(0, 0));
        match &picks[..] {
            [] => view.copy_(value.broadcast_to(view.shape())),
            picks => view.put(picks, value, false),
        }
    }

    /// Writes values to the elements that index tensors pick, or adds them, as `torch.Tensor.index_put_`.
    ///
    /// With `accumulate` an element that is picked several times takes part in as many additions, in
    /// row-major order.
    ///
    /// # Errors
    /// As [`Tensor::assign_`].
    ///
    /// ```
    /// use zerostride::tensor;
    /// let counts = tensor![0, 0, 0];
    /// counts.index_put_(&[tensor![2, 0, 2].into()], 1, true)?;
    /// assert_eq!(counts.to_vec::<i64>()?, [1, 0, 2]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn index_put_<'a>(
        &self,
        items: &[Index],
        values: impl Into<Operand<'a>>,
        accumulate: bool,
    ) -> Result<()> {
        let (view, picks) = picked(self, items)?;
        let values = Operand::expr(values);
        match (picks.is_empty(), accumulate) {
            (true, false) => view.copy_(values.broadcast_to(view.shape())),
            (true, true) => view.add_(values.broadcast_to(view.shape())),
            (false, _) => view.put(&picks, values, accumulate),
        }
    }

    /// Writes values to the picked elements, or adds them.
    pub(super) fn put(&self, picks: &[Pick], values: Expr, accumulate: bool) -> Result<()> {
        if self.layout().has_internal_overlap() != InternalOverlap::No {
            return Err(Error::WriteToExpanded);
        }
        let value_shape = &values.meta()?.shape;
        if let ([Pick::Mask { dims, mask, .. }], 1, false) = (picks, value_shape.numel(), accumulate)
            && mask.dtype() == DType::Bool
        {
            return self.fill_masked(dims.end, mask, &values);
        }
        let Picked { shape, offsets } = Picked::new(self, picks)?;
        if values.broadcast_to(&shape).shape().is_err() {
            return Err(Error::runtime(format_args!(
                "shape mismatch: value tensor of shape {value_shape} cannot be broadcast to indexing result of shape {shape}",
            )));
        }
        let values = converted(self, values)?;
        let stretched = values.broadcast_to(&shape)?;
        let Some(offsets) = offsets else { return Ok(()) };
        // One element is written to all offsets. Others are copied first, because they may share the target's
        // memory.
        let one = values.numel() == 1 && !accumulate;
        let source = if one { values.row_major()? } else { stretched.row_major()? };
        let dtype = self.dtype();
        access::write("writing to an index", self, [&source], |to, [from]| {
            if accumulate {
                Combination::Sum.run(dtype, &offsets, from, to)
            } else {
                offsets.store(dtype.item_size(), from, to)
            }
        })
    }

    /// Writes one element wherever a mask is true that ends before a dimension. For a mask alone, PyTorch
    /// takes an element of another dtype for a number.
    fn fill_masked(&self, end: usize, mask: &Tensor, value: &Expr) -> Result<()> {
        let value = value.reshape(&[]);
        let value = match value.dtype()? == self.dtype() {
            true => value,
            false => value.eval()?.scalar_at(&[])?.into(),
        };
        let mask = (end..self.ndim()).try_fold(mask.alias(), |mask, _| mask.unsqueeze(-1))?;
        self.masked_fill_(mask.ne(0)?, &value)
    }
}

impl Expr {
    /// The elements that an index picks; see [`Tensor::index`].
    ///
    /// # Errors
    /// As [`Tensor::index`], and for index tensors: what they pick must be in memory.
    ///
    /// ```
    /// use zerostride::{tensor, Expr};
    /// let column = (Expr::from(&tensor![[1, 2], [3, 4]]) * 10).index(&[(..).into(), 1.into()])?;
    /// assert_eq!(column.eval()?.to_vec::<i64>()?, [20, 40]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn index(&self, items: &[Index]) -> Result<Expr> {
        let (view, tensors) = resolve(self, items)?;
        if tensors.is_empty() {
            return Ok(view);
        }
        Err(Error::index(
            "an index tensor picks elements, which an expression does not have yet: eval() it first",
        ))
    }
}

/// A value of the target's dtype: numbers are converted, tensors must have it.
fn converted(target: &Tensor, value: Expr) -> Result<Tensor> {
    let dtype = target.dtype();
    match value.number() {
        Some(number) => Tensor::full(&[], number, dtype),
        None if value.dtype()? != dtype => Err(Error::runtime(format_args!(
            "Index put requires the source and destination dtypes match, got {} for the destination and {} for the source.",
            dtype.scalar_name(),
            value.dtype()?.scalar_name()
        ))),
        None => value.eval(),
    }
}
