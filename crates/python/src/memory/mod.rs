//! Owns the sharing of memory between Python's libraries and the engine, without copies: arrays become
//! tensors on their memory, tensors are read in place. It does not know operations. Every lender is a Python
//! object; dropping one never waits for the GIL, since PyO3 defers it until a thread has the GIL.

#[allow(unsafe_code)]
mod buffer;
#[allow(unsafe_code)]
mod cuda;
#[allow(unsafe_code)]
mod dlpack;
#[allow(unsafe_code)]
mod exchange;
mod import;
#[allow(unsafe_code)]
mod numpy;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple, PyType};
use zerostride::{DType, Tensor};

use crate::error::type_name;
use crate::expr::PyExpr;
use crate::once::Once;
use crate::tensor::PyTensor;
use import::unknown;

pub(crate) use buffer::rebuild;
pub(crate) use dlpack::Borrowed;
pub(crate) use exchange::{is_made_from_torch, is_torch, is_torch_tensor, negates, of_torch};
pub(crate) use import::Import;
pub(crate) use numpy::{array as numpy, is_array as is_numpy};

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
        return by_protocol(object).map(Some);
    }
    if let Some(tensor) = cuda::import(object)? {
        return Ok(Some(Import::Shared(tensor)));
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
    // What torch gives by the protocol loses its elements if the tensor gets other memory.
    match exchange::import(object)? {
        Some(tensor) => Ok(Import::Shared(tensor)),
        None => by_protocol(object),
    }
}

/// The same of an array that is none of torch's, or no plain one.
fn by_protocol(object: &Bound<'_, PyAny>) -> PyResult<Import> {
    let in_order = exchange::is_on_default_stream(object)?;
    let found = match resolved(object)? {
        Some(resolved) => dlpack::import(&resolved, in_order).map(|copy| Import::Copied(copy, UNRESOLVED)),
        None => dlpack::import(object, in_order).map(Import::Shared),
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
