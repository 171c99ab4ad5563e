//! Owns the way of memory between Python's libraries and the engine, without copies: arrays become tensors on
//! their own memory, tensors are read in place. Every lender is a Python object: releasing one never waits
//! for Python's lock, since PyO3 puts it off until a thread has that.

#[allow(unsafe_code)]
mod buffer;
#[allow(unsafe_code)]
mod dlpack;
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
pub(crate) use numpy::{array as numpy, is_array as is_numpy};

/// An array of another library as a tensor.
pub(crate) enum Import {
    /// On the array's own memory: what is written to the one is seen in the other.
    Shared(Tensor),
    /// On a copy, and what it is about the array that no tensor can be on its memory.
    Copied(Tensor, &'static str),
}

impl Import {
    /// The elements as they are now, for those who only read.
    pub(crate) fn elements(self) -> Tensor {
        match self {
            Import::Shared(tensor) | Import::Copied(tensor, _) => tensor,
        }
    }

    /// The tensor on the array's own memory, or why there is none.
    pub(crate) fn shared(self) -> Result<Tensor, &'static str> {
        match self {
            Import::Shared(tensor) => Ok(tensor),
            Import::Copied(_, why) => Err(why),
        }
    }
}

/// The array that an object is, as a tensor on its memory where that is possible; `None` if it is none.
///
/// # Errors
/// An array whose elements are not in memory (`_lazy.py`): to load it is up to the program.
pub(crate) fn array(object: &Bound<'_, PyAny>) -> PyResult<Option<Import>> {
    if let Some(tensor) = numpy::import(object)? {
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
    // The buffer of a single date is its bytes.
    let is_date = is_of_numpy && ["datetime64", "timedelta64"].contains(&&*type_name(object));
    if !is_date && let Some(found) = buffer::import(object, None)? {
        return Ok(Some(found));
    }
    if is_of_numpy {
        // NumPy's arrays of ml_dtypes.bfloat16 have no buffer format: their bits are read as those of
        // integers.
        let name = object.getattr("dtype").and_then(|dtype| dtype.getattr("name")?.extract::<String>());
        if name.is_ok_and(|name| name == "bfloat16") {
            return buffer::import(&object.call_method1("view", ("uint16",))?, Some(DType::BF16));
        }
        // Functions of NumPy's, among others, have no elements.
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

/// What a program converts on purpose: the object itself, or NumPy's array of its elements, which are loaded
/// if they are not in memory.
pub(crate) fn loaded<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    static LOADED: Once<Py<PyAny>> = Once::new();
    if is_numpy(object)? || object.cast::<PyTensor>().is_ok() || !object.hasattr("__array__")? {
        return Ok(object.clone());
    }
    LOADED.import(object.py(), "zerostride._lazy", "loaded")?.call1((object,))
}

const UNRESOLVED: &str = "is a view that negates or conjugates its elements when they are read";

/// The tensor on the memory of an array that speaks DLPack.
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

/// What to write instead of an array of torch's that DLPack cannot show.
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

/// A copy of one of torch's views that negate or conjugate what they show, of which DLPack does not tell;
/// `None` for others.
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

/// The error for an array whose elements are of no dtype of ours: what they are, and what to write instead.
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
