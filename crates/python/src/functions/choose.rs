//! Owns the functions that select elements by index tensors and masks, and write to them.
//! It does not know how elements are selected.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use zerostride::{Index, Scalar, Tensor, broadcast_tensors};

use super::convert::target;
use super::function::rows;
use crate::arguments::Arguments;
use crate::error::raise;
use crate::operand::Given;
use crate::tensor;
use crate::threads::compute;

rows! {
    /// Writes `src` or a number to the given indices along a dimension; `reduce` adds or multiplies.
    method "scatter_" "input, dim, index, src=None, *, value=None, reduce=None" |a| scatter(a, true)?;
    /// A copy with `src` or a number at the given indices along a dimension, as by `scatter_`.
    both "scatter" "input, dim, index, src=None, *, value=None, reduce=None, out=None" |a| scatter(a, false)?;
    /// Adds each element of `src` at the given index along a dimension.
    method "scatter_add_" "input, dim, index, src" |a| scattered(a, "src", Tensor::scatter_add_, true)?;
    /// A copy to which each element of `src` is added at the given index along a dimension.
    both "scatter_add" "input, dim, index, src, *, out=None" |a| scattered(a, "src", Tensor::scatter_add_, false)?;
    /// Adds slices of `source`, times `alpha`, to the slices of a dimension at the given indices.
    method "index_add_" "input, dim, index, source, *, alpha=1" |a| index_add(a, true)?;
    /// A copy with slices of `source`, times `alpha`, added to the slices of a dimension at the given
    /// indices.
    both "index_add" "input, dim, index, source, *, alpha=1, out=None" |a| index_add(a, false)?;
    /// Writes values to the elements that a tuple of index tensors selects, or adds them.
    method "index_put_" "input, indices, values, accumulate=False" |a| index_put(a, true)?;
    /// A copy with values written to the elements that a tuple of index tensors selects, or added to them.
    both "index_put" "input, indices, values, accumulate=False" |a| index_put(a, false)?;
    /// Overwrites the elements where a mask is true with those of `source`, in order.
    method "masked_scatter_" "input, mask, source" |a| masked_scatter(a, true)?;
    /// A copy in which the elements where a mask is true are those of `source`, in order.
    both "masked_scatter" "input, mask, source" |a| masked_scatter(a, false)?;
}

/// Writes to the tensor itself, which is returned, or to a row-major copy.
fn written<'py>(
    a: &Arguments<'_, 'py>,
    in_place: bool,
    write: impl FnOnce(&Tensor) -> zerostride::Result<()> + Send,
) -> PyResult<Bound<'py, PyAny>> {
    written_to(a, in_place, Tensor::row_major, write)
}

/// Writes to the tensor itself, which is returned, or to a copy that `copied` makes.
fn written_to<'py>(
    a: &Arguments<'_, 'py>,
    in_place: bool,
    copied: fn(&Tensor) -> zerostride::Result<Tensor>,
    write: impl FnOnce(&Tensor) -> zerostride::Result<()> + Send,
) -> PyResult<Bound<'py, PyAny>> {
    if in_place {
        let target = target(a)?;
        let x = &target.get().0;
        compute(a.py, [x.numel()], || write(x)).map_err(raise)?;
        return Ok(target.clone().into_any());
    }
    let x = a.tensor("input")?;
    let copy = compute(a.py, [x.numel()], || {
        let copy = copied(&x)?;
        write(&copy).map(|()| copy)
    });
    tensor::object(a.py, copy.map_err(raise)?)
}

type Scatter = fn(&Tensor, isize, &Tensor, &Tensor) -> zerostride::Result<()>;

fn scatter<'py>(a: &Arguments<'_, 'py>, in_place: bool) -> PyResult<Bound<'py, PyAny>> {
    let source = match (a.optional("src"), a.optional("value")) {
        (Some(_), Some(_)) => return Err(a.misused("`src` and `value` exclude each other")),
        (None, Some(_)) => "value",
        _ => "src",
    };
    let reduce = a.optional("reduce").map(|reduce| reduce.extract::<String>()).transpose()?;
    let write: Scatter = match reduce.as_deref() {
        None => Tensor::scatter_,
        Some("add") => Tensor::scatter_add_,
        Some("multiply") => Tensor::scatter_multiply_,
        Some(_) => return Err(PyRuntimeError::new_err("reduce argument must be either add or multiply.")),
    };
    scattered(a, source, write, in_place)
}

fn scattered<'py>(
    a: &Arguments<'_, 'py>,
    source: &str,
    write: Scatter,
    in_place: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let (dim, index) = (a.integer("dim")?, a.tensor("index")?);
    let source = match Given::new(a.required(source)?)? {
        // A number is written to all of them.
        Some(Given::Number(number)) => Tensor::full(&[], number, a.tensor("input")?.dtype())
            .and_then(|one| one.expand_as(&index))
            .map_err(raise)?,
        _ => a.tensor(source)?,
    };
    written(a, in_place, |x| write(x, dim, &index, &source))
}

fn index_add<'py>(a: &Arguments<'_, 'py>, in_place: bool) -> PyResult<Bound<'py, PyAny>> {
    let (dim, index, source) = (a.integer("dim")?, a.tensor("index")?, a.tensor("source")?);
    let alpha = a.number_or("alpha", Scalar::Int(1))?;
    written(a, in_place, |x| x.index_add_(dim, &index, &source, alpha))
}

fn index_put<'py>(a: &Arguments<'_, 'py>, in_place: bool) -> PyResult<Bound<'py, PyAny>> {
    let items: Vec<Index> = a.tensors("indices")?.into_iter().map(Index::from).collect();
    let (values, accumulate) = (a.tensor("values")?, a.flag("accumulate")?);
    // Of these functions PyTorch's index_put alone keeps the order of the dimensions.
    written_to(a, in_place, Tensor::clone_elements, |x| x.index_put_(&items, &values, accumulate))
}

fn masked_scatter<'py>(a: &Arguments<'_, 'py>, in_place: bool) -> PyResult<Bound<'py, PyAny>> {
    let (x, mask, source) = (a.tensor("input")?, a.tensor("mask")?, a.tensor("source")?);
    if in_place {
        return written(a, true, |x| x.masked_scatter_(&mask, &source));
    }
    // A copy broadcasts with the mask; the target of an in-place method does not.
    let copy = compute(a.py, [x.numel().max(mask.numel())], || {
        let copy = broadcast_tensors(&[&x, &mask])?[0].row_major()?;
        copy.masked_scatter_(&mask, &source).map(|()| copy)
    });
    tensor::object(a.py, copy.map_err(raise)?)
}
