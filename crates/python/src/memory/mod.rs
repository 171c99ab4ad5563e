//! Owns the way of memory between Python's libraries and the engine, without copies: arrays become tensors on their own
//! memory, tensors are read where they lie. Every lender is a Python object: letting one go never waits for Python's
//! lock, since PyO3 puts it off until somebody has that.

#[allow(unsafe_code)]
mod buffer;
#[allow(unsafe_code)]
mod dlpack;
#[allow(unsafe_code)]
mod numpy;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};
use zerostride::{DType, Tensor};

use crate::expr::PyExpr;

pub(crate) use buffer::rebuild;
pub(crate) use dlpack::import as from_dlpack;
pub(crate) use numpy::{array as numpy, is_array as is_numpy};

/// The array that an object is, as a tensor on its memory; `None` if it is none.
pub(crate) fn array(object: &Bound<'_, PyAny>) -> PyResult<Option<Tensor>> {
    if let Some(tensor) = numpy::import(object)? {
        return Ok(Some(tensor));
    }
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
        return buffer::import(&numpy::as_array(object.py())?.call1((object,))?);
    }
    Ok(None)
}

fn is_bfloat16(object: &Bound<'_, PyAny>) -> bool {
    let is_numpy = |name: Bound<'_, PyAny>| name.extract::<String>().is_ok_and(|name| name == "numpy");
    let numpy = object.get_type().getattr("__module__").is_ok_and(is_numpy);
    let name = || object.getattr("dtype")?.getattr("name")?.extract::<String>();
    numpy && name().is_ok_and(|name| name == "bfloat16")
}
