//! Owns NumPy arrays, in both directions: they are read from the fields of the object, as by extensions
//! compiled against NumPy, without the cost of a buffer description; and made on a tensor's memory. It does
//! not know other libraries' arrays.
//!
//! Source: <https://numpy.org/doc/stable/reference/c-api/types-and-structures.html>, `PyArrayObject`.

use std::ffi::c_int;
use std::ptr::NonNull;

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyMemoryView, PyTuple};
use smallvec::SmallVec;
use zerostride::{DType, Lent, Tensor};

use crate::error::raise;
use crate::once::Once;
use crate::tensor::PyTensor;

/// `PyArrayObject_fields`, as far as it is read here. NumPy's macros read it in all extensions, so it cannot
/// change.
#[repr(C)]
struct Array {
    head: ffi::PyObject,
    data: *mut u8,
    ndim: c_int,
    /// Null for zero dimensions.
    shape: *const isize,
    /// In bytes.
    strides: *const isize,
    base: *mut ffi::PyObject,
    dtype: *mut ffi::PyObject,
    flags: c_int,
}

/// Elements are aligned to their type.
const ALIGNED: c_int = 0x100;
const WRITABLE: c_int = 0x400;
/// Writing is deprecated and NumPy warns of it, as for the results of `numpy.broadcast_arrays`.
const WARNS: c_int = c_int::MIN;

/// `numpy.ndarray`.
static NDARRAY: Once<Py<PyAny>> = Once::new();

/// Whether an object is a NumPy array, and not of a subclass.
pub(crate) fn is_array(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let class = NDARRAY.loaded(object.py(), "numpy", "ndarray")?;
    Ok(class.is_some_and(|class| object.is_exact_instance(class)))
}

/// The tensor on the memory of a NumPy array; `None` for other objects, for a dtype that zerostride does not
/// have, and for a layout that only NumPy can read.
pub(super) fn import(object: &Bound<'_, PyAny>) -> PyResult<Option<Tensor>> {
    if !is_array(object)? {
        return Ok(None);
    }
    // SAFETY: an array of NumPy's own class begins with these fields, which no other thread changes while
    // this one holds the GIL. Without a GIL, NumPy itself asks of programs that no thread reshapes or resizes
    // an array in place that another one uses: its own functions read these fields as here.
    let array = unsafe { &*object.as_ptr().cast::<Array>() };
    // NumPy has one object for each native dtype; those with swapped bytes are others.
    let native = dtypes(object.py())?.iter().find(|(native, _)| native.as_ptr() == array.dtype);
    let (Some(&(_, dtype)), true) = (native, array.flags & ALIGNED != 0) else { return Ok(None) };
    let ndim = usize::try_from(array.ndim).unwrap_or(0);
    let list = |numbers: *const isize| -> &[isize] {
        // SAFETY: there is a size and a stride for each dimension, if there are dimensions.
        if ndim == 0 { &[] } else { unsafe { std::slice::from_raw_parts(numbers, ndim) } }
    };
    let item = dtype.item_size() as isize;
    if list(array.strides).iter().any(|stride| stride % item != 0) {
        return Ok(None);
    }
    let lent = Lent {
        data: NonNull::new(array.data).unwrap_or(NonNull::dangling()),
        dtype,
        shape: &list(array.shape).iter().map(|&size| size as usize).collect::<SmallVec<[usize; 6]>>(),
        strides: &list(array.strides).iter().map(|stride| stride / item).collect::<SmallVec<[isize; 6]>>(),
        writable: array.flags & (WRITABLE | WARNS) == WRITABLE,
    };
    let owner = if array.base.is_null() { None } else { owner(object)? };
    if let Some(view) = owner.and_then(|tensor| tensor.get().0.view_from(&lent)) {
        return Ok(Some(view));
    }
    // SAFETY: the array keeps its elements at these strides valid: NumPy refuses to move them while another
    // object refers to the array. Accesses by the program meanwhile are its responsibility, as with every
    // buffer. Dropping the array waits for no thread.
    unsafe { Tensor::from_lent(&lent, object.clone().unbind()) }.map(Some).map_err(raise)
}

/// The tensor that owns the memory of a NumPy array. The array comes back as a view of it. Otherwise tensors
/// that lend to arrays that lend to tensors would form a chain, which a loop makes so long that dropping it
/// overflows the stack.
fn owner<'py>(array: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyTensor>>> {
    let mut base = array.getattr("base")?;
    while is_array(&base)? {
        base = base.getattr("base")?;
    }
    if base.is_exact_instance_of::<PyMemoryView>() {
        base = base.getattr("obj")?;
    }
    Ok(base.cast_into().ok())
}

/// Refuses a masked array, since a tensor has no missing elements.
pub(super) fn refuse_mask(object: &Bound<'_, PyAny>) -> PyResult<()> {
    static MASKED: Once<Py<PyAny>> = Once::new();
    if let Some(class) = MASKED.loaded(object.py(), "numpy.ma", "MaskedArray")?
        && object.is_instance(class)?
    {
        return Err(PyTypeError::new_err(
            "a tensor has no mask, and a masked array is not read as if it had none: write x.filled(0), or what should \
             stand where elements are masked",
        ));
    }
    Ok(())
}

/// `numpy.asarray`.
pub(super) fn as_array(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static ASARRAY: Once<Py<PyAny>> = Once::new();
    ASARRAY.import(py, "numpy", "asarray")
}

/// A NumPy array on the memory of a tensor.
pub(crate) fn array<'py>(tensor: &Bound<'py, PyTensor>) -> PyResult<Bound<'py, PyAny>> {
    let own = &tensor.get().0;
    super::import::check_on_cpu(own)?;
    if own.dtype() == DType::BF16 {
        return Err(PyTypeError::new_err(
            "NumPy has no bfloat16: convert the tensor first, as in t.float().numpy()",
        ));
    }
    if !own.is_contiguous() {
        return as_array(tensor.py())?.call1((PyMemoryView::from(tensor)?,));
    }
    // NumPy gets the dtype directly, so that it does not parse the buffer's format.
    let shape = PyTuple::new(tensor.py(), own.shape())?;
    let dtype =
        dtypes(tensor.py())?.iter().find(|(_, dtype)| *dtype == own.dtype()).map(|(native, _)| native);
    NDARRAY.import(tensor.py(), "numpy", "ndarray")?.call1((shape, dtype, tensor))
}

/// NumPy's native dtypes, with ours.
fn dtypes(py: Python<'_>) -> PyResult<&[(Py<PyAny>, DType)]> {
    static DTYPES: Once<Vec<(Py<PyAny>, DType)>> = Once::new();
    let make = || {
        let of = py.import("numpy")?.getattr("dtype")?;
        let known = DType::ALL.into_iter().filter(|dtype| *dtype != DType::BF16);
        known.map(|dtype| Ok((of.call1((dtype.torch_name(),))?.unbind(), dtype))).collect()
    };
    DTYPES.get_or_make(py, make).map(Vec::as_slice)
}
