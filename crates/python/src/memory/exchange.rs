//! Owns DLPack's exchange of arrays in C: functions that a library's class shows, by which arrays come and go
//! without a Python object for each step. It does not know what a DLPack array holds (`dlpack.rs`).
//!
//! Source: <https://dmlc.github.io/dlpack/latest/c_api.html>, `DLPackExchangeAPI` of version 1.3.

use std::ffi::{CStr, c_int, c_void};
use std::ptr::NonNull;

use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyString, PyType};
use zerostride::Tensor;

use super::dlpack::{self, Version, Versioned};
use crate::once::{Once, name};

const NAME: &CStr = c"dlpack_exchange_api";

type FromObject = unsafe extern "C" fn(*mut ffi::PyObject, *mut *mut Versioned) -> c_int;
type ToObject = unsafe extern "C" fn(*mut Versioned, *mut *mut ffi::PyObject) -> c_int;

/// `DLPackExchangeAPI`, as far as it is read here.
#[repr(C)]
struct Exchange {
    version: Version,
    previous: *const c_void,
    allocate: *const c_void,
    from_object: Option<FromObject>,
    to_object: Option<ToObject>,
}

/// A class and the functions that it shows, which stay as long as the process.
struct Known {
    class: Py<PyType>,
    from_object: FromObject,
    to_object: ToObject,
}

impl Known {
    /// `None` where the class shows no functions.
    fn new(class: Bound<'_, PyType>) -> PyResult<Option<Known>> {
        let py = class.py();
        let Some(shown) = class.getattr_opt(name!(py, "__dlpack_c_exchange_api__"))? else { return Ok(None) };
        let Ok(capsule) = shown.cast_into::<PyCapsule>() else { return Ok(None) };
        let Ok(pointer) = capsule.pointer_checked(Some(NAME)) else { return Ok(None) };
        // SAFETY: a capsule of this name has the struct, which stays as long as the process.
        let exchange = unsafe { pointer.cast::<Exchange>().as_ref() };
        Ok(match (exchange.version.major, exchange.from_object, exchange.to_object) {
            (1, Some(from_object), Some(to_object)) => {
                Some(Known { class: class.unbind(), from_object, to_object })
            }
            _ => None,
        })
    }
}

/// The functions of `torch.Tensor`, once torch is imported.
fn of_torch<'a>(py: Python<'a>) -> PyResult<Option<&'a Known>> {
    static TORCH: Once<Option<Known>> = Once::new();
    if let Some(known) = TORCH.get(py) {
        return Ok(known.as_ref());
    }
    let modules = py.import("sys")?.getattr("modules")?;
    let Ok(class) = modules.get_item("torch").and_then(|torch| torch.getattr("Tensor")) else {
        return Ok(None); // Not imported, or being imported.
    };
    let class = class.cast_into::<PyType>()?;
    Ok(TORCH.get_or_make(py, || Known::new(class))?.as_ref())
}

/// Whether an object is a tensor of torch's own: a class made from that may have no elements, or others.
fn is_of(object: &Bound<'_, PyAny>, known: &Known) -> PyResult<bool> {
    let (py, class) = (object.py(), object.get_type());
    if class.is(&known.class) {
        return Ok(true);
    }
    let module = class.getattr(name!(py, "__module__"))?;
    Ok(module.cast::<PyString>().is_ok_and(|module| module == "torch.nn.parameter")
        && class.is_subclass(known.class.bind(py))?)
}

/// The tensor on the memory of one of torch's; `None` for other objects, and for tensors that show elements
/// which their memory does not have, or of which the gradient is wanted.
pub(super) fn import(object: &Bound<'_, PyAny>) -> PyResult<Option<Tensor>> {
    let py = object.py();
    let Some(known) = of_torch(py)? else { return Ok(None) };
    if !is_of(object, known)? || wants_gradient(object)? {
        return Ok(None);
    }
    let is = |name: &Bound<'_, PyString>| object.call_method0(name)?.is_truthy();
    if is(name!(py, "is_neg"))? || is(name!(py, "is_conj"))? {
        return Ok(None);
    }
    let mut managed = std::ptr::null_mut();
    // SAFETY: the object is of the class that shows the function, and Python's lock is held.
    if unsafe { (known.from_object)(object.as_ptr(), &raw mut managed) } != 0 {
        drop(PyErr::take(py)); // What is wrong is said where it is tried by Python's protocol.
        return Ok(None);
    }
    let managed =
        NonNull::new(managed).ok_or_else(|| PyBufferError::new_err("torch gave no DLPack array"))?;
    // SAFETY: the function has given the array to its caller.
    unsafe { dlpack::adopt(managed, object) }.map(Some)
}

/// Whether a tensor of torch's is a variable of a computation that torch records.
fn wants_gradient(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    static RECORDS: Once<Py<PyAny>> = Once::new();
    let py = object.py();
    if !object.getattr(name!(py, "requires_grad"))?.is_truthy()? {
        return Ok(false);
    }
    RECORDS.import(py, "torch", "is_grad_enabled")?.call0()?.is_truthy()
}

/// A tensor as one of torch's, on the same memory; `None` where torch shows no functions.
pub(super) fn to_torch<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(known) = of_torch(py)? else { return Ok(None) };
    let mut object = std::ptr::null_mut();
    // SAFETY: the function takes the array over, and Python's lock is held.
    unsafe {
        if (known.to_object)(dlpack::shown(tensor).as_ptr(), &raw mut object) != 0 {
            return Err(PyErr::fetch(py));
        }
        Bound::from_owned_ptr_or_err(py, object).map(Some)
    }
}
