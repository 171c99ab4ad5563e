//! Owns the conversion of what is between the brackets of `x[...]` to items of an index. It does not know
//! what an index means.

use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyInt, PyList, PyRange, PySlice, PyTuple};
use zerostride::{Category, DType, Expr, Index, Tensor};

use crate::arguments::Value;
use crate::error::{TraceError, raise, type_name};
use crate::expr::PyExpr;
use crate::naming;
use crate::nested;
use crate::operand::Given;
use crate::sequence;
use crate::threads::compute;

fn item(object: &Bound<'_, PyAny>) -> PyResult<Index> {
    if object.is_none() {
        return Ok(Index::NewDim);
    }
    if object.is_instance_of::<PyEllipsis>() {
        return Ok(Index::Ellipsis);
    }
    if let Ok(slice) = object.cast::<PySlice>() {
        let part = |name: &str| -> PyResult<Option<isize>> {
            let part = slice.getattr(name)?;
            if part.is_none() { Ok(None) } else { bound(&part).map(Some) }
        };
        let (start, stop, step) = (part("start")?, part("stop")?, part("step")?.unwrap_or(1));
        return Ok(Index::Slice { start, stop, step });
    }
    if let Ok(flag) = object.cast::<PyBool>() {
        return Ok(flag.is_true().into());
    }
    match Given::new(object) {
        Ok(Some(Given::Tensor(tensor))) => return Ok(tensor.into()),
        // NumPy's integer arrays are indices, whatever their dtype. A u8 tensor is a mask: PyTorch used u8
        // for masks in the past.
        Ok(Some(Given::Foreign(tensor))) if tensor.dtype().category() == Category::Int => {
            return tensor.to_dtype(DType::I64).map(Index::Tensor).map_err(raise);
        }
        Ok(Some(Given::Foreign(tensor))) => return Ok(tensor.into()),
        Ok(Some(Given::Traced(expr))) if expr.has_inputs() => {
            return PyExpr(expr.clone()).read(object.py()).map(Index::Tensor);
        }
        Ok(Some(Given::Traced(expr))) => return Err(untraceable(object.py(), "an index is", expr)),
        _ => {}
    }
    if let Some(place) = sequence::integer(object)? {
        return Ok(Index::At(place));
    }
    let is_list = object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>();
    if is_list || object.is_instance_of::<PyRange>() {
        // An empty list is one of integers.
        let dtype = (object.len()? == 0).then_some(DType::I64);
        let tensor = nested::tensor(object, dtype)?;
        // As NumPy's integers, whatever their width, those of a list are indices.
        let is_int = tensor.dtype().category() == Category::Int;
        return if is_int { tensor.to_dtype(DType::I64).map_err(raise) } else { Ok(tensor) }
            .map(Index::Tensor);
    }
    Err(PyIndexError::new_err(format!(
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {})",
        type_name(object)
    )))
}

/// A bound of a slice; one beyond 64 bits is clamped.
fn bound(object: &Bound<'_, PyAny>) -> PyResult<isize> {
    match object.extract::<isize>() {
        Ok(bound) => Ok(bound),
        Err(_) if object.hasattr("__index__")? => Ok(if object.lt(0)? { isize::MIN } else { isize::MAX }),
        Err(_) => Err(PyTypeError::new_err("slice indices must be integers or None")),
    }
}

/// The items of an index of a value with `ndim` dimensions.
fn items(key: &Bound<'_, PyAny>, ndim: usize) -> PyResult<Vec<Index>> {
    if let Ok(keys) = key.cast::<PyTuple>() {
        return keys.iter().map(|key| item(&key)).collect();
    }
    match item(key)? {
        Index::At(_) if ndim == 0 => Err(PyIndexError::new_err(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim tensor to a number",
        )),
        Index::Slice { .. } if ndim == 0 => {
            Err(PyIndexError::new_err("slice() cannot be applied to a 0-dim tensor."))
        }
        item => Ok(vec![item]),
    }
}

/// `value[key]`.
pub(crate) fn get(value: Value, key: &Bound<'_, PyAny>) -> PyResult<Value> {
    match value {
        Value::Tensor(tensor) => {
            let items = items(key, tensor.ndim())?;
            compute(key.py(), [picked(&tensor, &items)], || tensor.index(&items))
                .map(Value::Tensor)
                .map_err(raise)
        }
        Value::Traced(expr) => {
            let items = items(key, expr.shape().map_err(raise)?.len())?;
            match (items.iter().any(picks), expr.has_inputs()) {
                (false, _) => expr.index(&items).map(Value::Traced).map_err(raise),
                (true, true) => get(Value::Tensor(PyExpr(expr).read(key.py())?), key),
                (true, false) => Err(untraceable(key.py(), "an index tensor picks", &expr)),
            }
        }
    }
}

/// Whether an item copies elements, as an index tensor and a mask do, and an integer without dimensions does
/// not.
fn picks(item: &Index) -> bool {
    matches!(item, Index::Tensor(tensor) if tensor.ndim() > 0 || tensor.dtype() == DType::Bool)
}

fn untraceable(py: Python<'_>, what: &str, expr: &Expr) -> PyErr {
    TraceError::new_err(format!(
        "{what} elements of {}, which a traced function does not know yet: index outside of the function, or choose with where(condition, a, b)",
        naming::formula(py, expr)
    ))
}

/// The number of elements that are copied: none without an index tensor.
fn picked(tensor: &Tensor, items: &[Index]) -> usize {
    if items.iter().any(picks) { tensor.numel() } else { 0 }
}

/// Refuses an integer that is assigned to integers and has more bits than they, or a sign that they have not.
fn check_fits(value: &Bound<'_, PyAny>, dtype: DType) -> PyResult<()> {
    if !value.is_exact_instance_of::<PyInt>() || dtype.category() != Category::Int {
        return Ok(());
    }
    let too_long = |_| PyValueError::new_err(sequence::TOO_LONG);
    match dtype {
        DType::U64 => value.extract::<u64>().map(drop),
        _ => value.extract::<i64>().map(drop).map_err(too_long),
    }
}

/// `tensor[key] = value`.
pub(crate) fn set(tensor: &Tensor, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let items = items(key, tensor.ndim())?;
    check_fits(value, tensor.dtype())?;
    // Arrays of other libraries, lists, and integers that only u64 can hold are converted to the tensor's
    // dtype.
    let converted = || nested::tensor(value, Some(tensor.dtype())).map(Given::Foreign);
    let given = match Given::new(value) {
        Ok(Some(given)) => given,
        Ok(None) => converted()
            .map_err(|_| PyTypeError::new_err(format!("can't assign a {} to a tensor", type_name(value))))?,
        Err(_) if value.is_instance_of::<PyInt>() => converted()?,
        Err(error) => return Err(error),
    };
    let given = match given {
        Given::Foreign(array) => Given::Foreign(array.to_dtype(tensor.dtype()).map_err(raise)?),
        other => other,
    };
    compute(key.py(), [tensor.numel()], || tensor.assign_(&items, given.operand())).map_err(raise)
}
