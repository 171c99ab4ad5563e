//! Owns the way of memory between Python's libraries and the engine, without copies: arrays become tensors on their own
//! memory, tensors are read where they lie. Every lender is a Python object: letting one go never waits for Python's
//! lock, since PyO3 puts it off until somebody has that.

#[allow(unsafe_code)]
mod buffer;
#[allow(unsafe_code)]
mod dlpack;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};
use zerostride::{DType, Tensor};

use crate::expr::PyExpr;
use crate::tensor::PyTensor;

pub(crate) use buffer::rebuild;
pub(crate) use dlpack::import as from_dlpack;

/// The array that an object is, as a tensor on its memory; `None` if it is none.
pub(crate) fn array(object: &Bound<'_, PyAny>) -> PyResult<Option<Tensor>> {
    let plain = object.is_none()
        || object.is_instance_of::<PyString>()
        || object.is_instance_of::<PyList>()
        || object.is_instance_of::<PyTuple>()
        || object.is_instance_of::<PyDict>()
        || object.is_instance_of::<PyBytes>();
    if plain {
        return Ok(None);
    }
    if let Ok(expr) = object.cast::<PyExpr>()
        && expr.get().0.has_inputs()
    {
        return expr.get().read(object.py()).map(Some);
    }
    if let Some(tensor) = buffer::import(object)? {
        return Ok(Some(tensor));
    }
    if is_bfloat16(object) {
        // NumPy's arrays of ml_dtypes.bfloat16 have no buffer format: their bits are read as those of integers.
        let bits = object.call_method1("view", ("uint16",))?;
        return buffer::import_as(&bits, DType::BF16);
    }
    if object.hasattr("__dlpack__")? {
        return from_dlpack(object).map(Some);
    }
    if object.hasattr("__array__")? || object.hasattr("__array_interface__")? {
        return buffer::import(&as_array(object.py())?.call1((object,))?);
    }
    Ok(None)
}

fn is_bfloat16(object: &Bound<'_, PyAny>) -> bool {
    let is_numpy = |name: Bound<'_, PyAny>| name.extract::<String>().is_ok_and(|name| name == "numpy");
    let numpy = object.get_type().getattr("__module__").is_ok_and(is_numpy);
    let name = || object.getattr("dtype")?.getattr("name")?.extract::<String>();
    numpy && name().is_ok_and(|name| name == "bfloat16")
}

/// `numpy.asarray`.
fn as_array(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static ASARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    ASARRAY.import(py, "numpy", "asarray")
}

/// A NumPy array on the memory of a tensor.
pub(crate) fn numpy<'py>(tensor: &Bound<'py, PyTensor>) -> PyResult<Bound<'py, PyAny>> {
    if tensor.get().0.dtype() == DType::BF16 {
        return Err(PyTypeError::new_err(
            "NumPy has no bfloat16: convert the tensor first, as in t.float().numpy()",
        ));
    }
    let view = pyo3::types::PyMemoryView::from(tensor)?;
    as_array(tensor.py())?.call1((view,))
}
