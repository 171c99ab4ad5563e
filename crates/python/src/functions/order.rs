//! Owns the functions that order, search and count elements.
//! Here are those that take more than the engine's rows. It does not know how elements are ordered.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use smallvec::{SmallVec, smallvec};
use zerostride::{DType, Dims, Tensor};
use zerostride_ops::Signature;

use super::function::{Answer, rows};
use crate::arguments::{Arguments, Value};
use crate::call::Call;
use crate::error::raise;
use crate::threads::compute;

rows! {
    /// The `k` largest or smallest elements along a dimension, the most extreme first, and their indices.
    both "topk" "input, k, dim=-1, largest=True, sorted=True, *, out=None" |a| {
        let (x, k, dim) = (a.tensor("input")?, a.integer("k")?, a.integer_or("dim", -1)?);
        let largest = a.optional("largest").is_none() || a.flag("largest")?;
        let k = usize::try_from(k).map_err(|_| PyRuntimeError::new_err("selected index k out of range"))?;
        let (values, indices) = compute(a.py, [x.numel()], || x.topk(k, dim, largest)).map_err(raise)?;
        named(a.py, "topk", [values, indices])?
    };
    /// The index of every nonzero element, one row each; with `as_tuple` one vector for each dimension.
    both "nonzero" "input, *, as_tuple=False, out=None" |a| {
        let x = a.tensor("input")?;
        if a.flag("as_tuple")? {
            return Ok(vectors(a.py, x)?.into());
        }
        compute(a.py, [x.numel()], || x.nonzero()).map_err(raise)?
    };
    /// The indices at which values would be inserted into sorted ones to keep them sorted.
    function "searchsorted" "sorted_sequence, input, *, out_int32=False, right=False, side=None, sorter=None, out=None" |a| {
        search(a, a.tensor("sorted_sequence")?, a.tensor("input")?)?
    };
    /// The index of the bucket between sorted boundaries that each value falls into.
    function "bucketize" "input, boundaries, *, out_int32=False, right=False, out=None" |a| {
        let (x, boundaries, right) = (a.tensor("input")?, a.tensor("boundaries")?, a.flag("right")?);
        places_of(a, compute(a.py, [x.numel()], || x.bucketize(&boundaries, right)))?
    };
    /// The distinct values, or slices of `dim`, in rising order; on demand the index of each input in them,
    /// and the counts.
    both "unique" "input, sorted=True, return_inverse=False, return_counts=False, dim=None" |a| {
        let (x, dim) = (a.tensor("input")?, a.integer_or_none("dim")?);
        let search = || dim.map_or_else(|| x.unique(), |dim| x.unique_along(dim));
        let found = compute(a.py, [x.numel()], search).map_err(raise)?;
        let (inverse, counts) = (a.flag("return_inverse")?, a.flag("return_counts")?);
        if !inverse && !counts {
            return Ok(found.values.into());
        }
        let parts = [(true, found.values), (inverse, found.inverse), (counts, found.counts)];
        tuple(a.py, parts.into_iter().filter(|(wanted, _)| *wanted).map(|(_, part)| part))?
    };
    /// The distinct values in rising order, the index of the first of each, the index of each input in them,
    /// and the counts.
    function "unique_all" "x" |a| {
        let x = a.tensor("x")?;
        let found = compute(a.py, [x.numel()], || x.unique()).map_err(raise)?;
        named(a.py, "unique_all", [found.values, found.indices, found.inverse, found.counts])?
    };
    /// The `n`-th differences of neighbouring elements along a dimension.
    both "diff" "input, n=1, dim=-1, prepend=None, append=None, *, out=None" |a| {
        let (x, n, dim) = (a.tensor("input")?, a.integer_or("n", 1)?, a.integer_or("dim", -1)?);
        let n = usize::try_from(n)
            .map_err(|_| PyRuntimeError::new_err(format!("order must be non-negative but got {n}")))?;
        let part = |name| a.optional(name).map(|_| a.tensor(name)).transpose();
        let (before, after) = (part("prepend")?, part("append")?);
        compute(a.py, [x.numel()], || x.diff(n, dim, before.as_ref(), after.as_ref())).map_err(raise)?
    };
}

/// The indices of nonzero elements as `where(condition)` gives them: a vector for each dimension.
pub(crate) fn places<'py>(condition: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let call =
        Call { py: condition.py(), positional: smallvec![condition], named: SmallVec::new(), method: false };
    let arguments = Arguments::new("where", ("condition", &Signature::read("condition")), &call)?;
    vectors(condition.py(), arguments.tensor("condition")?)
}

/// The indices of nonzero elements, a vector for each dimension; a 0-d tensor counts as a row of one element.
fn vectors(py: Python<'_>, x: Tensor) -> PyResult<Bound<'_, PyAny>> {
    let x = if x.ndim() == 0 { x.unsqueeze(0).map_err(raise)? } else { x };
    let places = compute(py, [x.numel()], || x.nonzero()).map_err(raise)?;
    tuple(py, places.unbind(1).map_err(raise)?)
}

/// The dimensions of a reduction.
pub(super) fn dims(a: &Arguments<'_, '_>) -> PyResult<Dims> {
    match a.optional("dim") {
        Some(_) => Ok(Dims::from(&a.integers("dim")?[..])),
        None => Ok(Dims::from(..)),
    }
}

fn search(a: &Arguments<'_, '_>, sorted: Tensor, values: Tensor) -> PyResult<Tensor> {
    let side = a.optional("side").map(|side| side.extract::<String>()).transpose()?;
    let right = match side.as_deref() {
        None => a.flag("right")?,
        Some("right") => true,
        Some("left") if a.flag("right")? => {
            return Err(PyRuntimeError::new_err(
                "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True",
            ));
        }
        Some("left") => false,
        Some(other) => {
            return Err(PyRuntimeError::new_err(format!(
                "torch.searchsorted(): side can only be 'left' or 'right' but got {other}"
            )));
        }
    };
    let sorted = match a.optional("sorter") {
        Some(_) => sorted_by(&sorted, &a.tensor("sorter")?)?,
        None => sorted,
    };
    places_of(a, compute(a.py, [values.numel()], || sorted.searchsorted(&values, right)))
}

/// The places that a search has found, in the dtype that is asked for.
fn places_of(a: &Arguments<'_, '_>, found: zerostride::Result<Tensor>) -> PyResult<Tensor> {
    let places = found.map_err(raise)?;
    if a.flag("out_int32")? { places.to_dtype(DType::I32).map_err(raise) } else { Ok(places) }
}

/// The elements in the order given by indices.
fn sorted_by(elements: &Tensor, sorter: &Tensor) -> PyResult<Tensor> {
    if elements.shape() != sorter.shape() {
        return Err(PyRuntimeError::new_err(format!(
            "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor {:?}and got sorter tensor {:?}",
            elements.shape(),
            sorter.shape()
        )));
    }
    elements
        .gather(-1, sorter)
        .map_err(|_| PyRuntimeError::new_err("torch.searchsorted(): sorter index out of range"))
}

/// A single result, or a tuple of several, with named items where PyTorch has them.
pub(super) fn several<'py>(py: Python<'py>, name: &str, mut results: Vec<Tensor>) -> PyResult<Answer<'py>> {
    if results.len() == 1 {
        return Ok(results.remove(0).into());
    }
    let class = py.import("zerostride._results")?.getattr_opt(name)?;
    let all = tuple(py, results)?;
    Ok(class.map_or(Ok(all.clone()), |class| class.call_method1("_make", (all,)))?.into())
}

pub(super) fn tuple<'py, V: Into<Value>>(
    py: Python<'py>,
    values: impl IntoIterator<Item = V>,
) -> PyResult<Bound<'py, PyAny>> {
    let objects = values.into_iter().map(|value| value.into().object(py));
    Ok(PyTuple::new(py, objects.collect::<PyResult<Vec<_>>>()?)?.into_any())
}

/// A tuple with named items, of a class in `zerostride._results`.
pub(super) fn named<'py, V: Into<Value>, const N: usize>(
    py: Python<'py>,
    class: &str,
    values: [V; N],
) -> PyResult<Bound<'py, PyAny>> {
    py.import("zerostride._results")?.getattr(class)?.call_method1("_make", (tuple(py, values)?,))
}
