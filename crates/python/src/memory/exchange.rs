//! Owns DLPack's exchange of arrays in C: functions that a library's class shows, by which arrays come and go
//! without a Python object for each step; torch's, and those of `Tensor`. It does not know what a DLPack
//! array holds (`dlpack.rs`).
//!
//! Source: <https://dmlc.github.io/dlpack/latest/c_api.html>, `DLPackExchangeAPI` of version 1.3.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use pyo3::exceptions::{PyBufferError, PyNotImplementedError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyString, PyType};
use zerostride::{Device, Tensor};

use super::dlpack::{self, Array, Version, Versioned};
use crate::once::{Once, name};
use crate::team;
use crate::tensor::PyTensor;

const NAME: &CStr = c"dlpack_exchange_api";

/// Gives a new array of the sizes and dtype of a given one, or says what is wrong.
type Allocate = unsafe extern "C" fn(*const Array, *mut *mut Versioned, *mut c_void, SayError) -> c_int;
type SayError = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char);
/// Gives an array that keeps its object alive.
type FromObject = unsafe extern "C" fn(*mut ffi::PyObject, *mut *mut Versioned) -> c_int;
/// Takes an array over.
type ToObject = unsafe extern "C" fn(*mut Versioned, *mut *mut ffi::PyObject) -> c_int;
/// Describes an array that is valid as long as its object is, and not changed.
type Describe = unsafe extern "C" fn(*mut ffi::PyObject, *mut Array) -> c_int;
/// Gives the stream on which a device works.
type Stream = unsafe extern "C" fn(i32, i32, *mut *mut c_void) -> c_int;

/// `DLPackExchangeAPI`.
#[repr(C)]
struct Exchange {
    version: Version,
    previous: *const c_void,
    allocate: Option<Allocate>,
    from_object: Option<FromObject>,
    to_object: Option<ToObject>,
    describe: Option<Describe>,
    stream: Option<Stream>,
}

// SAFETY: it is constant, and its pointer is null.
unsafe impl Sync for Exchange {}

/// A class and the functions that it shows, which stay as long as the process.
struct Known {
    class: Py<PyType>,
    describe: Describe,
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
        Ok(match (exchange.version.major, exchange.describe, exchange.to_object) {
            (1, Some(describe), Some(to_object)) => {
                Some(Known { class: class.unbind(), describe, to_object })
            }
            _ => None,
        })
    }
}

/// The functions of `torch.Tensor`, once torch is imported.
fn torch<'a>(py: Python<'a>) -> PyResult<Option<&'a Known>> {
    static CLASS: Once<Py<PyAny>> = Once::new();
    static TORCH: Once<Option<Known>> = Once::new();
    if let Some(known) = TORCH.get() {
        return Ok(known.as_ref());
    }
    let Some(class) = CLASS.loaded(py, "torch", "Tensor")? else { return Ok(None) };
    let class = class.clone().cast_into::<PyType>()?;
    team::find(py)?;
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
///
/// # Errors
/// The tensor has a tangent of forward-mode differentiation, which would be lost.
pub(super) fn import(object: &Bound<'_, PyAny>) -> PyResult<Option<Tensor>> {
    match torch(object.py())? {
        Some(known) if is_of(object, known)? && !wants_gradient(object)? && !negates(object)? => {
            refuse_tangent(object)?;
            // It has the same elements, and keeps them if the program gives other memory to the tensor, as
            // `module.double()` does.
            elements(&object.call_method0(name!(object.py(), "detach"))?, known)
        }
        _ => Ok(None),
    }
}

/// The same of a tensor whose elements are not negated when they are read, whether or not the gradient is
/// wanted.
pub(crate) fn of_torch(object: &Bound<'_, PyAny>) -> PyResult<Option<Tensor>> {
    match torch(object.py())? {
        Some(known) if is_of(object, known)? => elements(object, known),
        _ => Ok(None),
    }
}

/// Whether a tensor of torch's is a view whose elements are negated when they are read. To ask takes as long
/// as everything else about a tensor, since torch releases Python's lock for it.
pub(crate) fn negates(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    object.call_method0(name!(object.py(), "is_neg"))?.is_truthy()
}

/// The tensor on the memory of one of torch's own class; `None` if it shows other elements.
fn elements(object: &Bound<'_, PyAny>, known: &Known) -> PyResult<Option<Tensor>> {
    let py = object.py();
    let mut array = MaybeUninit::uninit();
    // SAFETY: the object is of the class that shows the function, and Python's lock is held.
    let array = unsafe {
        if (known.describe)(object.as_ptr(), array.as_mut_ptr()) != 0 {
            drop(PyErr::take(py)); // What is wrong is said where it is tried by Python's protocol.
            return Ok(None);
        }
        array.assume_init()
    };
    // Of a device the Python protocol asks that its streams wait for each other.
    if !array.is_on_cpu() {
        return Ok(None);
    }
    if array.is_complex() && object.call_method0(name!(py, "is_conj"))?.is_truthy()? {
        return Ok(None);
    }
    // SAFETY: the array is described, and the object keeps its elements. A program that resizes a tensor's
    // storage while a tensor of this package is on it takes the elements away, as it does from the array that
    // torch's `__dlpack__` gives. Dropping the object waits for no thread.
    unsafe { dlpack::lent(&array, true, object, object.clone().unbind(), false) }.map(Some)
}

/// Whether an object is exactly of the class `torch.Tensor`.
pub(crate) fn is_torch(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(torch(object.py())?.is_some_and(|known| object.get_type().is(&known.class)))
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

/// Refuses a tensor with a tangent of forward-mode differentiation.
fn refuse_tangent(object: &Bound<'_, PyAny>) -> PyResult<()> {
    static MODULE: Once<Py<PyAny>> = Once::new();
    let py = object.py();
    let module =
        MODULE.get_or_make(py, || Ok(py.import("torch.autograd.forward_ad")?.into_any().unbind()))?;
    if module.bind(py).getattr(name!(py, "_current_level"))?.extract::<i64>()? < 0 {
        return Ok(());
    }
    let dual = module.bind(py).call_method1(name!(py, "unpack_dual"), (object,))?;
    if dual.getattr(name!(py, "tangent"))?.is_none() {
        return Ok(());
    }
    Err(PyNotImplementedError::new_err(
        "Trying to use forward AD with a function of zerostride that does not support it: its tangent would be \
         lost; call it in a function of zs.fuse, which carries tangents",
    ))
}

/// Whether an object is a tensor of torch's, of any class.
pub(crate) fn is_torch_tensor(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = object.py();
    torch(py)?.map_or(Ok(false), |known| object.is_instance(known.class.bind(py)))
}

/// Whether an object is a tensor of torch's on a GPU whose work is on the default stream, as ours is. Memory
/// of another stream is up to the program, which tells torch's allocator (`record_stream`).
pub(super) fn is_on_default_stream(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    static STREAM: Once<Py<PyAny>> = Once::new();
    let py = object.py();
    if !is_torch_tensor(object)? || !object.getattr(name!(py, "is_cuda"))?.is_truthy()? {
        return Ok(false);
    }
    let of_device = (object.getattr(name!(py, "device"))?,);
    // A tensor without elements may be of a device that is not there.
    let Ok(stream) = STREAM.import(py, "torch.cuda", "current_stream")?.call1(of_device) else {
        return Ok(false);
    };
    Ok(stream.getattr(name!(py, "cuda_stream"))?.extract::<usize>()? == 0)
}

/// Whether an object is of a class made from torch's, which decides what becomes of its tensors.
pub(crate) fn is_made_from_torch(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    match torch(object.py())? {
        Some(known) => Ok(is_torch_tensor(object)? && !is_of(object, known)?),
        None => Ok(false),
    }
}

/// A tensor as one of torch's, on the same memory; `None` where torch shows no functions.
pub(super) fn to_torch<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Option<Bound<'py, PyAny>>> {
    let known = torch(py)?.filter(|_| tensor.device() == Device::Cpu);
    let Some(known) = known else { return Ok(None) };
    let mut object = std::ptr::null_mut();
    // SAFETY: the function takes the array over, and Python's lock is held.
    unsafe {
        if (known.to_object)(dlpack::shown(tensor).as_ptr(), &raw mut object) != 0 {
            return Err(PyErr::fetch(py));
        }
        Bound::from_owned_ptr_or_err(py, object).map(Some)
    }
}

/// What `zerostride.Tensor` shows.
static OWN: Exchange = Exchange {
    version: Version { major: 1, minor: 3 },
    previous: std::ptr::null(),
    allocate: Some(allocate),
    from_object: Some(from_object),
    to_object: Some(to_object),
    // Sizes are lent as they are stored, so they must have the protocol's 64 bits.
    describe: if usize::BITS == 64 { Some(describe) } else { None },
    stream: Some(stream),
};

#[pymethods]
impl PyTensor {
    /// For other libraries: functions in C that exchange tensors, as a capsule.
    #[classattr]
    fn __dlpack_c_exchange_api__(py: Python<'_>) -> PyResult<Bound<'_, PyCapsule>> {
        // SAFETY: the struct has the layout that the name promises, and is static.
        unsafe { PyCapsule::new_with_pointer(py, NonNull::from(&OWN).cast(), NAME) }
    }
}

/// Runs a function that C has called: the error becomes Python's current one.
fn answered(answer: impl FnOnce(Python<'_>) -> PyResult<()>) -> c_int {
    Python::attach(|py| match answer(py) {
        Ok(()) => 0,
        Err(error) => {
            error.restore(py);
            -1
        }
    })
}

/// # Safety
/// The object is a live `Tensor`.
unsafe fn own<'py>(py: Python<'py>, object: *mut ffi::PyObject) -> PyResult<Bound<'py, PyTensor>> {
    // SAFETY: the caller guarantees a live object.
    let object = unsafe { Bound::from_borrowed_ptr(py, object) };
    object.cast_into().map_err(PyErr::from)
}

/// # Safety
/// As the protocol says: the arguments are valid for the call.
unsafe extern "C" fn allocate(
    like: *const Array,
    out: *mut *mut Versioned,
    context: *mut c_void,
    say: SayError,
) -> c_int {
    Python::attach(|py| {
        // SAFETY: the caller's array is valid for the call.
        let error = match unsafe { dlpack::zeros(&*like) } {
            Ok(tensor) => {
                // SAFETY: the caller's pointer is valid for the call.
                unsafe { out.write(dlpack::shown(&tensor).as_ptr()) };
                return 0;
            }
            Err(error) => error,
        };
        let text = |text: String| CString::new(text).unwrap_or_default();
        let kind = text(
            error.get_type(py).name().map_or_else(|_| "RuntimeError".to_owned(), |name| name.to_string()),
        );
        let message = text(error.value(py).to_string());
        // SAFETY: the function takes two strings, valid for the call.
        unsafe { say(context, kind.as_ptr(), message.as_ptr()) };
        -1
    })
}

/// # Safety
/// As the protocol says: the object is a live `Tensor`, and the pointer valid.
unsafe extern "C" fn from_object(object: *mut ffi::PyObject, out: *mut *mut Versioned) -> c_int {
    answered(|py| {
        // SAFETY: the caller guarantees the object and the pointer.
        unsafe {
            let (tensor, flags) = dlpack::exported(&own(py, object)?.get().0, None)?;
            out.write(dlpack::managed(&tensor, flags).as_ptr());
        }
        Ok(())
    })
}

/// # Safety
/// As the protocol says: the array is given up, and the pointer valid.
unsafe extern "C" fn to_object(managed: *mut Versioned, out: *mut *mut ffi::PyObject) -> c_int {
    answered(|py| {
        let managed = NonNull::new(managed).ok_or_else(|| PyBufferError::new_err("there is no array"))?;
        // SAFETY: the caller gives the array up, and guarantees the pointer.
        unsafe {
            let tensor = dlpack::adopt(managed, py.None().bind(py), false)?;
            out.write(Bound::new(py, PyTensor(tensor))?.into_ptr().cast());
        }
        Ok(())
    })
}

/// # Safety
/// As the protocol says: the object is a live `Tensor`, and the pointer valid. The lists that are written are
/// the object's own, which does not change.
unsafe extern "C" fn describe(object: *mut ffi::PyObject, out: *mut Array) -> c_int {
    answered(|py| {
        // SAFETY: the caller guarantees the object and the pointer.
        unsafe {
            let own = own(py, object)?;
            let tensor = &own.get().0;
            let (shape, strides) = (tensor.shape().as_ptr(), tensor.strides().as_ptr());
            out.write(dlpack::array(tensor, shape.cast_mut().cast(), strides.cast_mut().cast()));
        }
        Ok(())
    })
}

/// # Safety
/// As the protocol says: the pointer is valid.
unsafe extern "C" fn stream(_device: i32, _id: i32, out: *mut *mut c_void) -> c_int {
    // SAFETY: the caller guarantees the pointer. The CPU has no streams.
    unsafe { out.write(std::ptr::null_mut()) };
    0
}
