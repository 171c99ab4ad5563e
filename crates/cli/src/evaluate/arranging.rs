//! Owns the functions that put elements together, repeat, move, order, pick and count them. They run at once, on what is
//! in memory, and pay for their results first. It does not know their names (`functions.rs`).

use zerostride::{DType, Tensor, broadcast_shapes};

use super::Fault;
use super::arguments::Bound;
use super::value::Value;

pub(super) fn clone(a: &mut Bound<'_>) -> Result<Tensor, Fault> {
    let x = a.elements("input")?;
    a.make(x.shape(), x.dtype(), || x.clone_elements())
}

pub(super) fn join(
    a: &mut Bound<'_>,
    join: fn(&[&Tensor], isize) -> zerostride::Result<Tensor>,
) -> Result<Tensor, Fault> {
    let tensors = a.list_of_elements("tensors")?;
    let dim = a.integer_or("dim", 0)?;
    let numel = tensors.iter().map(Tensor::numel).fold(0, usize::saturating_add);
    let widest = tensors.iter().map(Tensor::dtype).max_by_key(|dtype| dtype.item_size());
    let tensors: Vec<&Tensor> = tensors.iter().collect();
    a.make(&[numel], widest.unwrap_or(DType::DEFAULT_FLOAT), || join(&tensors, dim))
}

pub(super) fn repeat(
    a: &mut Bound<'_>,
    repeat: fn(&Tensor, &[usize]) -> zerostride::Result<Tensor>,
) -> Result<Tensor, Fault> {
    let (x, times) = (a.elements("input")?, a.counts()?);
    let copies = times.iter().fold(1, |copies: usize, &times| copies.saturating_mul(times));
    a.make(&[x.numel(), copies], x.dtype(), || repeat(&x, &times))
}

/// One count for all, or an integer tensor with one for each.
pub(super) fn repeat_interleave(a: &mut Bound<'_>) -> Result<Tensor, Fault> {
    let (x, repeats, dim) = (a.elements("input")?, a.required("repeats")?, a.optional_integer("dim")?);
    if let Value::Number(_) = repeats.value {
        let times = repeats.count()?;
        return a.make(&[x.numel(), times], x.dtype(), || x.repeat_interleave(times, dim));
    }
    let times = a.computed(repeats)?;
    let most = times.amax(..).and_then(|most| most.to_dtype(DType::I64)?.item::<i64>());
    a.make(&[x.numel(), most.map_or(0, |most| most.max(0) as usize)], x.dtype(), || {
        x.repeat_each(&times, dim)
    })
}

pub(super) fn roll(a: &mut Bound<'_>) -> Result<Tensor, Fault> {
    let (x, shifts) = (a.elements("input")?, a.integers("shifts")?);
    let dims = a.optional("dims").map_or(Ok(Vec::new()), |dims| dims.integers())?;
    a.make(x.shape(), x.dtype(), || x.roll(&shifts, &dims))
}

pub(super) fn triangle(
    a: &mut Bound<'_>,
    triangle: fn(&Tensor, i64) -> zerostride::Result<Tensor>,
) -> Result<Tensor, Fault> {
    let (x, diagonal) = (a.elements("input")?, a.integer_or("diagonal", 0)?);
    a.make(x.shape(), x.dtype(), || triangle(&x, diagonal as i64))
}

/// The values and where they stood.
pub(super) fn sort(a: &mut Bound<'_>) -> Result<Value, Fault> {
    let (x, dim) = (a.elements("input")?, a.integer_or("dim", -1)?);
    let descending = a.flag_or("descending", false)?;
    let (values, places) = a.make(&[2, x.numel()], DType::I64, || x.sort(dim, descending))?;
    Ok(a.several([values, places]))
}

pub(super) fn argsort(a: &mut Bound<'_>) -> Result<Tensor, Fault> {
    let (x, dim) = (a.elements("input")?, a.integer_or("dim", -1)?);
    let descending = a.flag_or("descending", false)?;
    a.make(&[2, x.numel()], DType::I64, || x.argsort(dim, descending))
}

/// The values and where they stood.
pub(super) fn topk(a: &mut Bound<'_>) -> Result<Value, Fault> {
    let (x, k) = (a.elements("input")?, a.required("k")?.count()?);
    let (dim, largest) = (a.integer_or("dim", -1)?, a.flag_or("largest", true)?);
    let (values, places) = a.make(&[2, x.numel()], DType::I64, || x.topk(k, dim, largest))?;
    Ok(a.several([values, places]))
}

pub(super) fn unique(a: &mut Bound<'_>) -> Result<Tensor, Fault> {
    let x = a.elements("input")?;
    a.make(&[4, x.numel()], DType::I64, || Ok(x.unique()?.values))
}

pub(super) fn gather(a: &mut Bound<'_>) -> Result<Tensor, Fault> {
    let (x, dim, index) = (a.elements("input")?, a.integer("dim")?, a.elements("index")?);
    a.make(index.shape(), x.dtype(), || x.gather(dim, &index))
}

pub(super) fn take(a: &mut Bound<'_>) -> Result<Tensor, Fault> {
    let (x, index) = (a.elements("input")?, a.elements("index")?);
    a.make(index.shape(), x.dtype(), || x.take(&index))
}

pub(super) fn take_along_dim(a: &mut Bound<'_>) -> Result<Tensor, Fault> {
    let (x, indices) = (a.elements("input")?, a.elements("indices")?);
    let dim = a.optional_integer("dim")?;
    // The indices broadcast with the other dimensions.
    let others = dim.and_then(|dim| x.narrow(dim, 0, 1).ok());
    let others = others.as_ref().map_or(&[][..], Tensor::shape);
    a.make(&[together(others, indices.shape())], x.dtype(), || x.take_along_dim(&indices, dim))
}

pub(super) fn index_select(a: &mut Bound<'_>) -> Result<Tensor, Fault> {
    let (x, dim, index) = (a.elements("input")?, a.integer("dim")?, a.elements("index")?);
    let slice = x.narrow(dim, 0, 1).map_or(0, |slice| slice.numel());
    a.make(&[slice, index.numel()], x.dtype(), || x.index_select(dim, &index))
}

pub(super) fn masked_select(a: &mut Bound<'_>) -> Result<Tensor, Fault> {
    let (x, mask) = (a.elements("input")?, a.elements("mask")?);
    a.make(&[together(x.shape(), mask.shape())], x.dtype(), || x.masked_select(&mask))
}

/// The elements of two shapes' broadcast; none where there is none, as the engine is going to say.
fn together(a: &[usize], b: &[usize]) -> usize {
    broadcast_shapes(&[a, b]).map_or(0, |shape| shape.numel())
}

pub(super) fn nonzero(a: &mut Bound<'_>) -> Result<Tensor, Fault> {
    let x = a.elements("input")?;
    a.make(&[x.numel(), x.ndim()], DType::I64, || x.nonzero())
}

pub(super) fn count_nonzero(a: &mut Bound<'_>) -> Result<Tensor, Fault> {
    let x = a.elements("input")?;
    let dims = a.optional("dim").map(|dims| dims.integers()).transpose()?;
    a.make(x.shape(), DType::I64, || match &dims {
        Some(dims) => x.count_nonzero(&dims[..]),
        None => x.count_nonzero(..),
    })
}

pub(super) fn searchsorted(a: &mut Bound<'_>) -> Result<Tensor, Fault> {
    let (edges, values) = (a.elements("sorted_sequence")?, a.elements("input")?);
    let right = a.flag_or("right", false)?;
    a.make(values.shape(), DType::I64, || edges.searchsorted(&values, right))
}

pub(super) fn accumulate(
    a: &mut Bound<'_>,
    accumulate: fn(&Tensor, isize) -> zerostride::Result<Tensor>,
) -> Result<Tensor, Fault> {
    let (x, dim) = (a.elements("input")?, a.integer("dim")?);
    // Integers add up as i64.
    a.make(&[x.numel(), x.dtype().item_size().max(8)], DType::U8, || accumulate(&x, dim))
}

pub(super) fn diff(a: &mut Bound<'_>) -> Result<Tensor, Fault> {
    let (x, dim) = (a.elements("input")?, a.integer_or("dim", -1)?);
    let n = a.optional("n").map_or(Ok(1), |n| n.count())?;
    a.make(&[2, x.numel()], x.dtype(), || x.diff(n, dim, None, None))
}
