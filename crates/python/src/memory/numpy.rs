//! Owns NumPy's own arrays, both ways: read through NumPy's array interface, which tells where elements lie without the
//! description that a buffer has to be made for; and made on a tensor's memory.
//!
//! Source: <https://numpy.org/doc/stable/reference/arrays.interface.html>, the C side.

use std::ffi::{c_char, c_int, c_void};
use std::ptr::NonNull;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCapsule, PyMemoryView, PyTuple, PyType};
use smallvec::SmallVec;
use zerostride::{DType, Lent, Tensor};

use crate::error::raise;
use crate::tensor::PyTensor;

/// `PyArrayInterface`: what a capsule of `__array_struct__` points to.
#[repr(C)]
struct Interface {
    /// Always 2.
    two: c_int,
    ndim: c_int,
    kind: c_char,
    item: c_int,
    flags: c_int,
    /// Null where there are no dimensions.
    shape: *const isize,
    /// In bytes.
    strides: *const isize,
    data: *mut c_void,
    description: *mut c_void,
}

/// Elements are aligned to their type.
const ALIGNED: c_int = 0x100;
/// Their bytes are in the processor's order.
const NOT_SWAPPED: c_int = 0x200;
const WRITABLE: c_int = 0x400;

/// NumPy's letters for kinds of dtype, with those of ours.
const KINDS: [(u8, &[DType]); 5] = [
    (b'b', &[DType::Bool]),
    (b'i', &[DType::I8, DType::I16, DType::I32, DType::I64]),
    (b'u', &[DType::U8, DType::U16, DType::U32, DType::U64]),
    (b'f', &[DType::F16, DType::F32, DType::F64]),
    (b'c', &[DType::C64, DType::C128]),
];

/// Whether an object is an array of NumPy's, and not of a class made from that.
pub(crate) fn is_array(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    static NDARRAY: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    Ok(object.is_exact_instance(NDARRAY.import(object.py(), "numpy", "ndarray")?))
}

/// The tensor on the memory of an array of NumPy's; `None` where its elements are of no dtype of ours, or lie in a way that
/// only NumPy reads.
pub(super) fn import(array: &Bound<'_, PyAny>) -> PyResult<Option<Tensor>> {
    let capsule = array.getattr("__array_struct__")?.cast_into::<PyCapsule>()?;
    // SAFETY: an array of NumPy's own class hands out a capsule with this, without a name, which lives as long as the
    // capsule.
    let interface = unsafe { capsule.pointer_checked(None)?.cast::<Interface>().as_ref() };
    let dtypes =
        KINDS.iter().find(|(kind, _)| *kind == interface.kind as u8).map_or(&[][..], |(_, dtypes)| dtypes);
    let dtype = dtypes.iter().copied().find(|dtype| dtype.item_size() as c_int == interface.item);
    let (Some(dtype), true) = (dtype, interface.two == 2 && has(interface, ALIGNED | NOT_SWAPPED)) else {
        return Ok(None);
    };
    let ndim = usize::try_from(interface.ndim).unwrap_or(0);
    let list = |numbers: *const isize| -> &[isize] {
        // SAFETY: there is a size and a stride for each dimension, if there are dimensions.
        if ndim == 0 { &[] } else { unsafe { std::slice::from_raw_parts(numbers, ndim) } }
    };
    let item = dtype.item_size() as isize;
    if list(interface.strides).iter().any(|stride| stride % item != 0) {
        return Ok(None);
    }
    let lent = Lent {
        data: NonNull::new(interface.data.cast()).unwrap_or(NonNull::dangling()),
        dtype,
        shape: &list(interface.shape).iter().map(|&size| size as usize).collect::<SmallVec<[usize; 6]>>(),
        strides: &list(interface.strides)
            .iter()
            .map(|stride| stride / item)
            .collect::<SmallVec<[isize; 6]>>(),
        writable: has(interface, WRITABLE),
    };
    // SAFETY: the capsule keeps the array, which keeps its elements at these strides valid: NumPy refuses to move them
    // while anybody else has the array. What the program does with them meanwhile is up to it, as with every buffer.
    // Letting the capsule go waits for nobody.
    unsafe { Tensor::from_lent(&lent, capsule.clone().unbind()) }.map(Some).map_err(raise)
}

fn has(interface: &Interface, flags: c_int) -> bool {
    interface.flags & flags == flags
}

/// `numpy.asarray`.
pub(super) fn as_array(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static ASARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    ASARRAY.import(py, "numpy", "asarray")
}

/// A NumPy array on the memory of a tensor.
pub(crate) fn array<'py>(tensor: &Bound<'py, PyTensor>) -> PyResult<Bound<'py, PyAny>> {
    let own = &tensor.get().0;
    if own.dtype() == DType::BF16 {
        return Err(PyTypeError::new_err(
            "NumPy has no bfloat16: convert the tensor first, as in t.float().numpy()",
        ));
    }
    if !own.is_contiguous() {
        return as_array(tensor.py())?.call1((PyMemoryView::from(tensor)?,));
    }
    // NumPy is told the dtype, and need not read the buffer's description of it.
    static NDARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let shape = PyTuple::new(tensor.py(), own.shape())?;
    let dtype = dtype_of(tensor.py(), own.dtype())?;
    NDARRAY.import(tensor.py(), "numpy", "ndarray")?.call1((shape, dtype, tensor))
}

/// NumPy's dtype of that name.
fn dtype_of(py: Python<'_>, dtype: DType) -> PyResult<&Bound<'_, PyAny>> {
    static DTYPES: [PyOnceLock<Py<PyAny>>; DType::ALL.len()] =
        [const { PyOnceLock::new() }; DType::ALL.len()];
    let make = || -> PyResult<Py<PyAny>> {
        Ok(py.import("numpy")?.call_method1("dtype", (dtype.torch_name(),))?.unbind())
    };
    Ok(DTYPES[dtype as usize].get_or_try_init(py, make)?.bind(py))
}
