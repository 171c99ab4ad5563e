//! Owns the sharing of memory between Python's libraries and the engine, without copies: arrays become
//! tensors on their memory, tensors are read in place. It does not know operations. Every lender is a Python
//! object; dropping one never waits for the GIL, since PyO3 defers it until a thread has the GIL.

#[allow(unsafe_code)]
mod buffer;
#[allow(unsafe_code)]
mod dlpack;
#[allow(unsafe_code)]
mod exchange;
#[allow(unsafe_code)]
mod numpy;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple, PyType};
use zerostride::{DType, Tensor};

use crate::expr::PyExpr;
use crate::once::Once;
use crate::row::type_name;
use crate::tensor::PyTensor;

pub(crate) use buffer::rebuild;
pub(crate) use dlpack::Borrowed;
pub(crate) use exchange::{is_made_from_torch, is_torch, is_torch_tensor, negates, of_torch};
pub(crate) use numpy::{array as numpy, is_array as is_numpy};

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

/// The array as a tensor, on its memory if possible; `None` if the object is no array.
///
/// # Errors
/// The array's elements are not in memory (`_lazy.py`): loading them is up to the program.
pub(crate) fn array(object: &Bound<'_, PyAny>) -> PyResult<Option<Import>> {
    if let Some(tensor) = numpy::import(object)? {
        return Ok(Some(Import::Shared(tensor)));
    }
    if let Some(tensor) = exchange::import(object)? {
        return Ok(Some(Import::Shared(tensor)));
    }
    let plain = object.is_none()
        || object.is_instance_of::<PyType>()
        || object.is_instance_of::<PyString>()
        || object.is_instance_of::<PyList>()
        || object.is_instance_of::<PyTuple>()
        || object.is_instance_of::<PyDict>()
        || object.is_instance_of::<PyType>()
        || object.is_instance_of::<PyBytes>();
    if plain {
        return Ok(None);
    }
    if let Ok(expr) = object.cast::<PyExpr>()
        && expr.get().0.has_inputs()
    {
        return expr.get().read(object.py()).map(|read| Some(Import::Copied(read, "is in a file")));
    }
    numpy::refuse_mask(object)?;
    if let Some(resolved) = resolved(object)? {
        return from_dlpack(&resolved).map(|found| Some(Import::Copied(found.elements(), UNRESOLVED)));
    }
    let is_of_numpy = is_of_numpy(object);
    // The buffer of a single date consists of raw bytes.
    let is_date = is_of_numpy && ["datetime64", "timedelta64"].contains(&&*type_name(object));
    if !is_date && let Some(found) = buffer::import(object, None)? {
        return Ok(Some(found));
    }
    if is_of_numpy {
        // NumPy arrays of ml_dtypes.bfloat16 have no buffer format: their bits are read as integers.
        let name = object.getattr("dtype").and_then(|dtype| dtype.getattr("name")?.extract::<String>());
        if name.is_ok_and(|name| name == "bfloat16") {
            return buffer::import(&object.call_method1("view", ("uint16",))?, Some(DType::BF16));
        }
        // NumPy functions, among others, have the attributes of arrays but no elements.
        return if object.hasattr("dtype")? { Err(unknown(object)) } else { Ok(None) };
    }
    if object.hasattr("__dlpack__")? {
        return from_dlpack(object).map(Some);
    }
    let names_memory = object.hasattr("__array_interface__")? || object.hasattr("__array_struct__")?;
    if names_memory || object.hasattr("__array__")? {
        static CHECK: Once<Py<PyAny>> = Once::new();
        CHECK.import(object.py(), "zerostride._lazy", "check_in_memory")?.call1((object,))?;
        let found = array(&numpy::as_array(object.py())?.call1((object,))?)?;
        return Ok(match found {
            Some(Import::Shared(copy)) if !names_memory => {
                Some(Import::Copied(copy, "shows its elements by __array__, which may copy them"))
            }
            found => found,
        });
    }
    Ok(None)
}

/// A tensor as one of torch's, on the same memory.
pub(crate) fn torch(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    static FROM_DLPACK: Once<Py<PyAny>> = Once::new();
    match exchange::to_torch(py, &tensor)? {
        Some(torch) => Ok(torch),
        None => FROM_DLPACK.import(py, "torch.utils.dlpack", "from_dlpack")?.call1((PyTensor(tensor),)),
    }
}

/// For explicit conversions: the object itself, or a NumPy array of its elements, which are loaded if they
/// are not in memory.
pub(crate) fn loaded<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    static LOADED: Once<Py<PyAny>> = Once::new();
    if is_numpy(object)? || object.cast::<PyTensor>().is_ok() || !object.hasattr("__array__")? {
        return Ok(object.clone());
    }
    LOADED.import(object.py(), "zerostride._lazy", "loaded")?.call1((object,))
}

const UNRESOLVED: &str = "is a view that negates or conjugates its elements when they are read";

/// The tensor on the memory of an array with `__dlpack__`.
pub(crate) fn from_dlpack(object: &Bound<'_, PyAny>) -> PyResult<Import> {
    let found = match resolved(object)? {
        Some(resolved) => dlpack::import(&resolved).map(|copy| Import::Copied(copy, UNRESOLVED)),
        None => dlpack::import(object).map(Import::Shared),
    };
    found.map_err(|error| match instead(object) {
        Some(instead) => {
            let message = format!("{}: write {instead}", error.value(object.py()));
            PyErr::from_type(error.get_type(object.py()), message)
        }
        None => error,
    })
}

/// What to write instead, for a torch array that DLPack does not support.
fn instead(object: &Bound<'_, PyAny>) -> Option<&'static str> {
    let is = |name: &str| object.getattr(name).is_ok_and(|value| value.is_truthy().unwrap_or(false));
    let layout = object.getattr("layout").map(|layout| layout.to_string());
    if is("is_meta") {
        Some("a tensor on the CPU, as one on 'meta' has no elements")
    } else if is("is_nested") {
        Some("x.to_padded_tensor(0.0)")
    } else if is("is_quantized") {
        Some("x.dequantize()")
    } else if layout.is_ok_and(|layout| layout.starts_with("torch.sparse")) {
        Some("x.to_dense()")
    } else {
        None
    }
}

/// A copy, for torch's lazy negative or conjugate views, which DLPack does not report; `None` for others.
fn resolved<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let mut resolved = None;
    for (asks, resolve) in [("is_conj", "resolve_conj"), ("is_neg", "resolve_neg")] {
        let seen = resolved.as_ref().unwrap_or(object);
        if seen.hasattr(asks)? && seen.call_method0(asks)?.is_truthy()? {
            resolved = Some(seen.call_method0(resolve)?);
        }
    }
    Ok(resolved)
}

/// Whether the object is of one of NumPy's own classes.
fn is_of_numpy(object: &Bound<'_, PyAny>) -> bool {
    let module = object.get_type().getattr("__module__").and_then(|module| module.extract::<String>());
    module.is_ok_and(|module| module == "numpy")
}

/// The error for an array of a dtype that zerostride does not have: the dtype, and what to write instead.
fn unknown(object: &Bound<'_, PyAny>) -> PyErr {
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
