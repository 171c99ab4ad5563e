//! Owns what an array of another library becomes, and the errors of arrays and tensors whose memory cannot be
//! shared. It does not know how arrays are read.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use zerostride::{Device, Tensor};

use crate::error::type_name;

/// An array of another library as a tensor.
pub(crate) enum Import {
    /// On the array's own memory: each sees what is written to the other.
    Shared(Tensor),
    /// On a copy, with the reason why its memory cannot be shared.
    Copied(Tensor, &'static str),
}

impl Import {
    /// The elements as they are now, for reading only.
    pub(crate) fn elements(self) -> Tensor {
        match self {
            Import::Shared(tensor) | Import::Copied(tensor, _) => tensor,
        }
    }

    /// The tensor on the array's own memory, or the reason why there is none.
    pub(crate) fn shared(self) -> Result<Tensor, &'static str> {
        match self {
            Import::Shared(tensor) => Ok(tensor),
            Import::Copied(_, why) => Err(why),
        }
    }
}

/// Refuses elements that the CPU cannot read, in PyTorch's words.
pub(super) fn check_on_cpu(tensor: &Tensor) -> PyResult<()> {
    match tensor.device() {
        Device::Cpu => Ok(()),
        device => Err(PyTypeError::new_err(format!(
            "can't convert {device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host \
             memory first."
        ))),
    }
}

/// The error for an array of a dtype that zerostride does not have: the dtype, and what to write instead.
pub(super) fn unknown(object: &Bound<'_, PyAny>) -> PyErr {
    let Ok(dtype) = object.getattr("dtype") else {
        return PyTypeError::new_err(format!("no dtype has the elements of a {}", type_name(object)));
    };
    let text = |name: &str| dtype.getattr(name).and_then(|text| text.extract::<String>()).ok();
    let is = |name: &str| dtype.getattr(name).is_ok_and(|value| value.is_truthy().unwrap_or(false));
    let instead = match text("kind").as_deref() {
        Some("M" | "m") => "x.view('int64')".to_owned(),
        Some("c") => "x.astype('complex128')".to_owned(),
        Some("V") if text("name").is_some_and(|name| name.starts_with("void") && !is("names")) => {
            "x.view('uint8')".to_owned()
        }
        Some("V") if is("names") => "x['name'] of one field".to_owned(),
        Some("V") if text("name").is_some_and(|name| name.contains("int")) => "x.astype('int8')".to_owned(),
        Some(_) => "x.astype('float64')".to_owned(),
        None if is("is_complex") => "x.to(torch.complex64)".to_owned(),
        None => "x.to(torch.float32)".to_owned(),
    };
    PyTypeError::new_err(format!(
        "no dtype has elements of {dtype}, which are those of a {}: write {instead}",
        type_name(object)
    ))
}
