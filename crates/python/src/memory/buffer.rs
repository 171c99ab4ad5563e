//! Owns Python's buffer protocol, in both directions, and pickling, which uses it. It does not know NumPy's
//! own fields (`numpy.rs`).

use std::ffi::{CStr, c_int, c_void};
use std::ptr::NonNull;

use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView, PyTuple};
use smallvec::SmallVec;
use zerostride::{Category, DType, Lent, Tensor};

use super::import::{Import, check_on_cpu, unknown};
use crate::dtype;
use crate::error::raise;
use crate::sequence;
use crate::tensor::PyTensor;

/// The tensor on a buffer. `dtype` is given if buffers have no format for it. `None` if the object has no
/// buffer.
pub(super) fn import(object: &Bound<'_, PyAny>, dtype: Option<DType>) -> PyResult<Option<Import>> {
    let py = object.py();
    let view = match PyMemoryView::from(object) {
        Ok(view) => view,
        // NumPy arrays of a dtype without a format have no buffer either.
        Err(error) if error.is_instance_of::<PyTypeError>(py) || object.hasattr("dtype")? => return Ok(None),
        Err(error) => return Err(error),
    };
    let buffer = match PyUntypedBuffer::get(&view) {
        // PyO3 does not support buffers of zero dimensions: the element is read as a row of one.
        Err(_) if view.getattr("ndim")?.eq(0)? => {
            let row = super::numpy::as_array(py)?.call1((object,))?.call_method1("reshape", (1,))?;
            let Some(row) = import(&row, dtype)? else { return Ok(None) };
            let select = |row: Tensor| row.select(0, 0).map_err(raise);
            return Ok(Some(match row {
                Import::Copied(row, why) => Import::Copied(select(row)?, why),
                // A read-only one is a scalar, which NumPy presents as an array.
                Import::Shared(row) if view.getattr("readonly")?.is_truthy()? => {
                    Import::Copied(select(row)?, "is a number, or may not be written")
                }
                Import::Shared(row) => Import::Shared(select(row)?),
            }));
        }
        buffer => buffer?,
    };
    if buffer.suboffsets().is_some() {
        return Err(PyBufferError::new_err("the buffer has its elements behind pointers: copy it first"));
    }
    let Some(known) = dtype.or_else(|| dtype_of(buffer.format(), buffer.item_size())) else {
        if object.hasattr("dtype")? {
            return Err(unknown(object));
        }
        return Err(PyTypeError::new_err(format!(
            "no dtype has elements of the buffer format '{}' of {} bytes",
            buffer.format().to_string_lossy(),
            buffer.item_size()
        )));
    };
    let Some(why) = obstacle(&buffer, known) else {
        return lend(&view, &buffer, known).map(|tensor| Some(Import::Shared(tensor)));
    };
    let array = py.import("numpy")?.call_method1("array", (object,))?;
    let native = array.getattr("dtype")?.call_method1("newbyteorder", ("=",))?;
    let copy = import(&array.call_method1("astype", (native,))?, dtype)?;
    Ok(copy.map(|copy| Import::Copied(copy.elements(), why)))
}

/// The dtype of a format of the struct module, in any byte order.
fn dtype_of(format: &CStr, size: usize) -> Option<DType> {
    let format = format.to_str().ok()?.trim_start_matches(['@', '=', '<', '>', '!']);
    let sized = |dtypes: [DType; 4]| dtypes.into_iter().find(|dtype| dtype.item_size() == size);
    match format {
        "?" => Some(DType::Bool),
        "b" | "h" | "i" | "l" | "q" | "n" => sized([DType::I8, DType::I16, DType::I32, DType::I64]),
        "B" | "H" | "I" | "L" | "Q" | "N" => sized([DType::U8, DType::U16, DType::U32, DType::U64]),
        "e" => Some(DType::F16),
        "f" => Some(DType::F32),
        "d" => Some(DType::F64),
        "Zf" => Some(DType::C64),
        "Zd" => Some(DType::C128),
        _ => None,
    }
}

/// Why a tensor cannot share the memory of these elements.
fn obstacle(buffer: &PyUntypedBuffer, dtype: DType) -> Option<&'static str> {
    let foreign = if cfg!(target_endian = "little") { &[b'>', b'!'][..] } else { b"<" };
    let alignment =
        if dtype.category() == Category::Complex { dtype.item_size() / 2 } else { dtype.item_size() };
    if buffer.item_size() > 1
        && buffer.format().to_bytes().first().is_some_and(|order| foreign.contains(order))
    {
        Some("has byte order different from the native byte order")
    } else if buffer.strides().iter().any(|stride| stride % dtype.item_size() as isize != 0) {
        Some("has strides not a multiple of the element byte size")
    } else if !(buffer.buf_ptr() as usize).is_multiple_of(alignment) {
        Some("has elements that are not aligned")
    } else {
        None
    }
}

fn lend(view: &Bound<'_, PyMemoryView>, buffer: &PyUntypedBuffer, dtype: DType) -> PyResult<Tensor> {
    let item = dtype.item_size() as isize;
    let strides: Vec<isize> = buffer.strides().iter().map(|stride| stride / item).collect();
    let lent = Lent {
        data: NonNull::new(buffer.buf_ptr().cast()).unwrap_or(NonNull::dangling()),
        dtype,
        shape: buffer.shape(),
        strides: &strides,
        writable: !buffer.readonly(),
    };
    // SAFETY: the view keeps the exporter alive, which keeps the elements at these strides valid meanwhile.
    // Accesses by other libraries are the program's responsibility, as with every buffer. Dropping the view
    // waits for no thread.
    unsafe { Tensor::from_lent(&lent, view.clone().unbind()) }.map_err(raise)
}

/// The buffer protocol's format for a dtype.
fn format_of(dtype: DType) -> Option<&'static CStr> {
    Some(match dtype {
        DType::Bool => c"?",
        DType::U8 => c"B",
        DType::U16 => c"H",
        DType::U32 => c"I",
        DType::U64 if size_of::<std::ffi::c_long>() == 8 => c"L",
        DType::U64 => c"Q",
        DType::I8 => c"b",
        DType::I16 => c"h",
        DType::I32 => c"i",
        DType::I64 if size_of::<std::ffi::c_long>() == 8 => c"l",
        DType::I64 => c"q",
        DType::F16 => c"e",
        DType::BF16 => return None,
        DType::F32 => c"f",
        DType::F64 => c"d",
        DType::C64 => c"Zf",
        DType::C128 => c"Zd",
    })
}

/// Shape and strides, in bytes, of an exported buffer.
struct Exported {
    shape: SmallVec<[ffi::Py_ssize_t; 6]>,
    strides: SmallVec<[ffi::Py_ssize_t; 6]>,
}

#[pymethods]
impl PyTensor {
    /// # Safety
    /// Called by Python only, with a buffer to fill.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, buffer: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let tensor = &slf.get().0;
        let (dtype, refused) = (tensor.dtype(), |message: &str| PyBufferError::new_err(message.to_owned()));
        check_on_cpu(tensor)?;
        let format = format_of(dtype).ok_or_else(|| refused("bfloat16 has no buffer format"))?;
        if flags & ffi::PyBUF_WRITABLE != 0 && !tensor.is_writable() {
            return Err(refused("the tensor is read-only"));
        }
        let asks = |flag: c_int| flags & flag == flag;
        if !asks(ffi::PyBUF_STRIDES) && !tensor.is_contiguous() {
            return Err(refused("the tensor is not contiguous"));
        }
        if asks(ffi::PyBUF_F_CONTIGUOUS) && !asks(ffi::PyBUF_C_CONTIGUOUS) && tensor.ndim() > 1 {
            return Err(refused("the tensor is not contiguous in column-major order"));
        }
        if (asks(ffi::PyBUF_C_CONTIGUOUS) || asks(ffi::PyBUF_ANY_CONTIGUOUS)) && !tensor.is_contiguous() {
            return Err(refused("the tensor is not contiguous"));
        }
        let item = dtype.item_size() as isize;
        let mut exported = Box::new(Exported {
            shape: tensor.shape().iter().map(|&size| size as isize).collect(),
            // Only the stride of a dimension of size 1 or 0 can overflow, which no loop uses.
            strides: tensor.strides().iter().map(|stride| stride.saturating_mul(item)).collect(),
        });
        let has = |flag: c_int, list: &mut SmallVec<[isize; 6]>| {
            if asks(flag) { list.as_mut_ptr() } else { std::ptr::null_mut() }
        };
        // SAFETY: the buffer is Python's, to be filled. It points into `exported`, which `__releasebuffer__`
        // takes back, and into the tensor, which the buffer's reference keeps alive.
        unsafe {
            (*buffer).buf = tensor.data_ptr().cast::<c_void>();
            (*buffer).obj = slf.clone().into_any().into_ptr();
            (*buffer).len = tensor.numel() as isize * item;
            (*buffer).itemsize = item;
            (*buffer).readonly = c_int::from(!tensor.is_writable());
            (*buffer).ndim = tensor.ndim() as c_int;
            (*buffer).shape = has(ffi::PyBUF_ND, &mut exported.shape);
            (*buffer).strides = has(ffi::PyBUF_STRIDES, &mut exported.strides);
            (*buffer).suboffsets = std::ptr::null_mut();
            (*buffer).format =
                if asks(ffi::PyBUF_FORMAT) { format.as_ptr().cast_mut() } else { std::ptr::null_mut() };
            (*buffer).internal = Box::into_raw(exported).cast();
        }
        Ok(())
    }

    /// # Safety
    /// Called by Python only, with a buffer that `__getbuffer__` has filled.
    unsafe fn __releasebuffer__(&self, buffer: *mut ffi::Py_buffer) {
        // SAFETY: `__getbuffer__` has put the box there, and each buffer is released once.
        drop(unsafe { Box::from_raw((*buffer).internal.cast::<Exported>()) });
    }

    /// Pickled as the bytes of its elements at this moment; a stretched dimension is stored once. From
    /// protocol 5 on they can be passed out of band, without a further copy.
    fn __reduce_ex__<'py>(slf: &Bound<'py, Self>, protocol: u32) -> PyResult<Bound<'py, PyTuple>> {
        let (py, tensor) = (slf.py(), &slf.get().0);
        // Pickle reads the bytes without a claim, so they are copied: no other thread can write the copy.
        // What is on a GPU is pickled as what is not: another process may have none.
        let distinct = distinct(tensor).and_then(|distinct| distinct.cpu()?.row_major()).map_err(raise)?;
        let bytes = Bound::new(py, PyTensor(bytes_of(&distinct)?))?;
        let data = if protocol >= 5 {
            py.import("pickle")?.getattr("PickleBuffer")?.call1((bytes,))?
        } else {
            PyBytes::new(py, &bytes.get().0.to_vec::<u8>().map_err(raise)?).into_any()
        };
        let rebuild = py.import("zerostride._zerostride")?.getattr("_rebuild")?;
        let shape = PyTuple::new(py, distinct.shape())?;
        let (dtype, stretched) = (dtype::object(py, tensor.dtype()), PyTuple::new(py, tensor.shape())?);
        // Older versions, which cannot read stretched tensors, can read all others.
        let arguments = match distinct.shape() == tensor.shape() {
            true => (data, dtype, shape).into_pyobject(py)?,
            false => (data, dtype, shape, stretched).into_pyobject(py)?,
        };
        PyTuple::new(py, [rebuild, arguments.into_any()])
    }
}

/// The elements with stretched dimensions reduced to size 1.
fn distinct(tensor: &Tensor) -> zerostride::Result<Tensor> {
    let is_stretched = |&dim: &usize| tensor.strides()[dim] == 0 && tensor.shape()[dim] > 1;
    let mut dims = (0..tensor.ndim()).filter(is_stretched);
    dims.try_fold(tensor.alias(), |tensor, dim| tensor.narrow(dim as isize, 0, 1))
}

/// The bytes of a contiguous tensor, on the same memory.
fn bytes_of(tensor: &Tensor) -> PyResult<Tensor> {
    let len = tensor.numel() * tensor.dtype().item_size();
    let lent = Lent {
        data: NonNull::new(tensor.data_ptr()).unwrap_or(NonNull::dangling()),
        dtype: DType::U8,
        shape: &[len],
        strides: &[1],
        writable: tensor.is_writable(),
    };
    // SAFETY: a contiguous tensor has that many initialised bytes from its first element on, and is kept
    // alive.
    unsafe { Tensor::from_lent(&lent, tensor.alias()) }.map_err(raise)
}

/// Restores a pickled tensor: on the buffer itself if it is writable, else on a copy; then stretched to a
/// shape.
#[pyfunction(name = "_rebuild", signature = (data, dtype, shape, stretched=None))]
pub(crate) fn rebuild<'py>(
    data: &Bound<'py, PyAny>,
    dtype: &Bound<'py, PyAny>,
    shape: &Bound<'py, PyAny>,
    stretched: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyTensor>> {
    let (py, dtype) = (data.py(), dtype::extract(dtype)?);
    let wrong = || PyTypeError::new_err("the shape of a pickled tensor is a tuple of sizes");
    let sizes = sequence::shape(shape)?.ok_or_else(wrong)?;
    let view = PyMemoryView::from(data)?;
    let buffer = PyUntypedBuffer::get(&view)?;
    let numel = sizes.iter().try_fold(dtype.item_size(), |bytes, &size| bytes.checked_mul(size));
    if numel != Some(buffer.len_bytes()) || !buffer.is_c_contiguous() {
        return Err(PyValueError::new_err("the pickled bytes are not those of the tensor"));
    }
    let mut strides = vec![1isize; sizes.len()];
    for dim in (1..sizes.len()).rev() {
        // Without elements the product may overflow, and the strides do not matter.
        strides[dim - 1] = strides[dim].saturating_mul(sizes[dim] as isize);
    }
    let lent = Lent {
        data: NonNull::new(buffer.buf_ptr().cast()).unwrap_or(NonNull::dangling()),
        dtype,
        shape: &sizes,
        strides: &strides,
        writable: !buffer.readonly(),
    };
    let aligned = (buffer.buf_ptr() as usize).is_multiple_of(dtype.item_size());
    if !aligned {
        let copy = py.import("numpy")?.call_method1("array", (view, "uint8"))?;
        return rebuild(&copy, dtype::object(py, dtype), shape, stretched);
    }
    // SAFETY: the view has exactly the bytes of the shape, aligned, and keeps them alive.
    let tensor = unsafe { Tensor::from_lent(&lent, view.clone().unbind()) }.map_err(raise)?;
    let tensor =
        if data.is_instance_of::<PyBytes>() { tensor.clone_elements().map_err(raise)? } else { tensor };
    let tensor = match stretched {
        Some(stretched) => {
            tensor.broadcast_to(&sequence::shape(stretched)?.ok_or_else(wrong)?).map_err(raise)?
        }
        None => tensor,
    };
    Bound::new(py, PyTensor(tensor))
}
