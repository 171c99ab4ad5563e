//! Owns the targets that results are written to, which are passed as `out`. It does not know what is
//! computed.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use zerostride::Tensor;

use crate::error::{TraceError, type_name};
use crate::tensor::PyTensor;
use crate::{memory, tensor};

/// The error for a traced function that writes to a tensor.
pub(crate) fn untraceable_target(name: &str, out: &Bound<'_, PyAny>) -> PyErr {
    TraceError::new_err(format!(
        "{name}() with out={} writes to an array, which a traced function cannot do: return the result",
        type_name(out)
    ))
}

/// The tensor of an object that is passed as `out`; the object sees what is written to it.
pub(crate) fn target(out: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    if let Ok(tensor) = out.cast::<PyTensor>() {
        return Ok(tensor.get().0.alias());
    }
    let name = type_name(out);
    let Some(found) = memory::array(out)? else {
        return Err(PyTypeError::new_err(format!("out must be a tensor or an array, not {name}")));
    };
    found.shared().map_err(|why| {
        PyValueError::new_err(format!(
            "out cannot be written in place: the {name} {why}; compute without out, and copy the result into it"
        ))
    })
}

/// The tensor of the object that `evaluate` gets as `out`; an error comes before anything is computed.
#[pyfunction]
pub(crate) fn _target<'py>(out: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    tensor::object(out.py(), target(out)?)
}
