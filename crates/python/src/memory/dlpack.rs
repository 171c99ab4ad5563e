//! Owns DLPack, the protocol by which torch, JAX and others share arrays, in both directions and both
//! versions. It does not know other protocols.
//!
//! Source: <https://dmlc.github.io/dlpack/latest/c_api.html>, version 1.0, and the array API's `__dlpack__`.

use std::any::Any;
use std::ffi::{CStr, c_void};
use std::ptr::NonNull;

use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use smallvec::SmallVec;
use zerostride::{self as engine, Category, DType, Lent, MAX_RANK, Tensor};

use crate::error::raise;
use crate::tensor::PyTensor;

const CPU: i32 = 1;
const CUDA: i32 = 2;
/// Pinned host memory, which a GPU can access.
const CPU_PINNED: i32 = 3;

const READ_ONLY: u64 = 1;
const COPIED: u64 = 2;

#[repr(C)]
pub(super) struct Version {
    pub(super) major: u32,
    pub(super) minor: u32,
}

#[repr(C)]
pub(super) struct Device {
    kind: i32,
    id: i32,
}

impl Device {
    fn of(tensor: &Tensor) -> Device {
        match tensor.device() {
            engine::Device::Cpu => Device { kind: CPU, id: 0 },
            engine::Device::Cuda(index) => Device { kind: CUDA, id: index as i32 },
        }
    }
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct DataType {
    code: u8,
    bits: u8,
    lanes: u16,
}

#[repr(C)]
pub(super) struct Array {
    data: *mut c_void,
    device: Device,
    ndim: i32,
    dtype: DataType,
    shape: *mut i64,
    /// Null for row-major order.
    strides: *mut i64,
    byte_offset: u64,
}

/// `DLManagedTensor`.
#[repr(C)]
struct Legacy {
    array: Array,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Legacy)>,
}

/// `DLManagedTensorVersioned`.
#[repr(C)]
pub(super) struct Versioned {
    version: Version,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    flags: u64,
    array: Array,
}

/// What both versions have in common.
pub(super) trait Managed: Sized {
    /// The name of a capsule with one.
    const NAME: &'static CStr;
    /// Its name after a library has taken the content.
    const USED: &'static CStr;
    fn new(array: Array, flags: u64) -> Self;
    fn array(&self) -> &Array;
    fn is_writable(&self) -> bool;
    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)>;
    /// Whether this version of the protocol is supported.
    fn is_known(&self) -> bool;
}

impl Array {
    pub(super) fn is_on_cpu(&self) -> bool {
        self.device.kind != CUDA
    }

    pub(super) fn is_complex(&self) -> bool {
        self.dtype.code == 5
    }
}

impl Managed for Legacy {
    const NAME: &'static CStr = c"dltensor";
    const USED: &'static CStr = c"used_dltensor";

    fn new(array: Array, _flags: u64) -> Legacy {
        Legacy { array, context: std::ptr::null_mut(), deleter: Some(give_back::<Legacy>) }
    }

    fn array(&self) -> &Array {
        &self.array
    }

    fn is_writable(&self) -> bool {
        true
    }

    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Legacy)> {
        self.deleter
    }

    fn is_known(&self) -> bool {
        true
    }
}

impl Managed for Versioned {
    const NAME: &'static CStr = c"dltensor_versioned";
    const USED: &'static CStr = c"used_dltensor_versioned";

    fn new(array: Array, flags: u64) -> Versioned {
        let version = Version { major: 1, minor: 0 };
        let context = std::ptr::null_mut();
        Versioned { version, context, deleter: Some(give_back::<Versioned>), flags, array }
    }

    fn array(&self) -> &Array {
        &self.array
    }

    fn is_writable(&self) -> bool {
        self.flags & READ_ONLY == 0
    }

    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Versioned)> {
        self.deleter
    }

    fn is_known(&self) -> bool {
        self.version.major == 1
    }
}

fn data_type(dtype: DType) -> DataType {
    let code = match (dtype.category(), dtype) {
        (_, DType::BF16) => 4,
        (Category::Bool, _) => 6,
        (Category::Int, _) if dtype.is_signed_int() => 0,
        (Category::Int, _) => 1,
        (Category::Float, _) => 2,
        (Category::Complex, _) => 5,
    };
    DataType { code, bits: 8 * dtype.item_size() as u8, lanes: 1 }
}

/// A tensor while another library reads it, which knows only the address of the first field.
#[repr(C)]
struct Shown<M> {
    managed: M,
    /// The sizes, then the strides.
    _numbers: Vec<i64>,
    _tensor: Tensor,
}

/// # Safety
/// `managed` was made by `managed`, and this is called only once.
unsafe extern "C" fn give_back<M: Managed>(managed: *mut M) {
    // SAFETY: it is the first field of a box, which the caller gives up.
    drop(unsafe { Box::from_raw(managed.cast::<Shown<M>>()) });
}

/// A capsule with the tensor's memory.
fn show<'py, M: Managed>(py: Python<'py>, tensor: &Tensor, flags: u64) -> PyResult<Bound<'py, PyCapsule>> {
    let managed = managed::<M>(tensor, flags).cast();
    // SAFETY: the array is not null, and the name is static. A library that takes the array calls its
    // deleter; otherwise the destructor does.
    unsafe { PyCapsule::new_with_pointer_and_destructor(py, managed, M::NAME, Some(forgotten::<M>)) }
}

/// An array for another library, which calls its deleter.
pub(super) fn shown(tensor: &Tensor) -> NonNull<Versioned> {
    managed(tensor, if tensor.is_writable() { 0 } else { READ_ONLY })
}

/// The tensor that another library gets, and its flags: a copy where one is asked for, or where strides are
/// negative and sharing is not asked for, since torch and JAX do not take these.
pub(super) fn exported(tensor: &Tensor, copy: Option<bool>) -> PyResult<(Tensor, u64)> {
    let copies = copy.unwrap_or_else(|| tensor.strides().iter().any(|&stride| stride < 0));
    let shown = if copies { tensor.clone_elements().map_err(raise)? } else { tensor.alias() };
    let (copied, read_only) =
        (if copies { COPIED } else { 0 }, if shown.is_writable() { 0 } else { READ_ONLY });
    Ok((shown, copied | read_only))
}

pub(super) fn managed<M: Managed>(tensor: &Tensor, flags: u64) -> NonNull<M> {
    let sizes = tensor.shape().iter().map(|&size| size as i64);
    let mut numbers: Vec<i64> = sizes.chain(tensor.strides().iter().map(|&stride| stride as i64)).collect();
    let shape = numbers.as_mut_ptr();
    let array = array(tensor, shape, shape.wrapping_add(tensor.ndim()));
    let shown = Shown { managed: M::new(array, flags), _numbers: numbers, _tensor: tensor.alias() };
    NonNull::from(Box::leak(Box::new(shown))).cast()
}

/// A tensor's elements, with lists of its sizes and strides.
pub(super) fn array(tensor: &Tensor, shape: *mut i64, strides: *mut i64) -> Array {
    Array {
        data: tensor.data_ptr().cast(),
        device: Device::of(tensor),
        ndim: tensor.ndim() as i32,
        dtype: data_type(tensor.dtype()),
        shape,
        strides,
        byte_offset: 0,
    }
}

/// Frees an array that no library has taken.
///
/// # Safety
/// Called by Python only, with a capsule that `show` has made.
unsafe extern "C" fn forgotten<M: Managed>(capsule: *mut ffi::PyObject) {
    // SAFETY: a capsule with its first name still has the content that `show` put in.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, M::NAME.as_ptr()) == 1 {
            give_back(ffi::PyCapsule_GetPointer(capsule, M::NAME.as_ptr()).cast::<M>());
        }
    }
}

#[pymethods]
impl PyTensor {
    /// For other libraries: a DLPack capsule with the tensor's memory, or a copy if its strides are negative.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<&Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let own = self.__dlpack_device__();
        if stream.is_some() && own.0 == CPU {
            return Err(PyValueError::new_err("a tensor on the CPU has no stream"));
        }
        if dl_device.is_some_and(|device| device != own) {
            let message = format!("the tensor is on {}, and is shown nowhere else", self.0.device());
            return Err(PyBufferError::new_err(message));
        }
        // Of -1 the protocol says that nothing is to be waited for.
        let stream = stream.map(|stream| stream.extract::<isize>()).transpose()?.filter(|stream| *stream > 0);
        if let Some(stream) = stream {
            // SAFETY: the consumer names a stream of the tensor's device, as the protocol says.
            unsafe { self.0.precede(stream as usize) }.map_err(raise)?;
        }
        let (tensor, flags) = exported(&self.0, copy)?;
        if max_version.is_some_and(|(major, _)| major >= 1) {
            return show::<Versioned>(py, &tensor, flags);
        }
        if flags & READ_ONLY > 0 {
            return Err(PyBufferError::new_err(
                "the tensor is read-only, which DLPack before version 1.0 cannot say: clone() it first",
            ));
        }
        show::<Legacy>(py, &tensor, 0)
    }

    /// For other libraries: on the CPU, or on an NVIDIA GPU.
    fn __dlpack_device__(&self) -> (i32, i32) {
        let Device { kind, id } = Device::of(&self.0);
        (kind, id)
    }
}

/// An array that another library has lent. A Python object, so that it is freed by a thread with the GIL.
#[pyclass(frozen)]
pub(crate) struct Borrowed(Box<dyn Fn() + Send + Sync>);

impl Drop for Borrowed {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// A tensor on the memory of an array with `__dlpack__`, whose owner uses that `in_order`, if it is a GPU's,
/// or not.
pub(super) fn import(object: &Bound<'_, PyAny>, in_order: bool) -> PyResult<Tensor> {
    let py = object.py();
    let named = PyDict::new(py);
    named.set_item("max_version", (1, 0))?;
    if let Ok(device) = object.getattr("__dlpack_device__") {
        let (kind, id) = device.call0()?.extract()?;
        check(&Device { kind, id })?;
        if kind == CUDA {
            // What its owner does with the memory comes before our work, which is on the default stream.
            named.set_item("stream", 1)?;
        }
    }
    let capsule = match object.call_method("__dlpack__", (), Some(&named)) {
        // An object that predates versions does not have the argument.
        Err(error) if error.is_instance_of::<PyTypeError>(py) => object.call_method0("__dlpack__")?,
        capsule => capsule?,
    };
    let capsule = capsule.cast_into::<PyCapsule>()?;
    if capsule.is_valid_checked(Some(Versioned::NAME)) {
        take::<Versioned>(&capsule, object, in_order)
    } else {
        take::<Legacy>(&capsule, object, in_order)
    }
}

/// Refuses memory that neither the CPU nor an NVIDIA GPU can access.
fn check(device: &Device) -> PyResult<()> {
    let Device { kind, id } = *device;
    if kind == CPU || kind == CPU_PINNED || kind == CUDA && id >= 0 {
        return Ok(());
    }
    Err(PyBufferError::new_err(format!(
        "the array is on the DLPack device ({kind}, {id}), and tensors are on the CPU or an NVIDIA GPU: copy it \
         there first"
    )))
}

/// What is in the capsule that `object` gave, whose owner uses it `in_order` or not.
fn take<M: Managed + 'static>(
    capsule: &Bound<'_, PyCapsule>,
    object: &Bound<'_, PyAny>,
    in_order: bool,
) -> PyResult<Tensor> {
    let py = capsule.py();
    let managed = capsule.pointer_checked(Some(M::NAME))?.cast::<M>();
    if !managed.is_aligned() {
        return Err(PyBufferError::new_err("the capsule has no DLPack array: its address is not aligned"));
    }
    // SAFETY: the capsule is valid under the protocol's name, so it has an array, which is ours once the
    // capsule has its second name.
    unsafe {
        if ffi::PyCapsule_SetName(capsule.as_ptr(), M::USED.as_ptr()) != 0 {
            return Err(PyErr::fetch(py));
        }
        adopt(managed, object, in_order)
    }
}

/// The tensor on an array that `object` gave.
///
/// # Safety
/// The array is the caller's, who gives it up. `in_order` is what [`Tensor::from_lent_on_cuda`] says.
pub(super) unsafe fn adopt<M: Managed + 'static>(
    managed: NonNull<M>,
    object: &Bound<'_, PyAny>,
    in_order: bool,
) -> PyResult<Tensor> {
    let py = object.py();
    // SAFETY: the array is the caller's, and is given back below.
    let managed = unsafe { managed.as_ref() };
    let address = std::ptr::from_ref(managed) as usize;
    let deleter = managed.deleter();
    let lender = Bound::new(
        py,
        Borrowed(Box::new(move || {
            if let Some(deleter) = deleter {
                // SAFETY: the array is ours, and this is called once, when the last tensor on it is dropped.
                unsafe { deleter(address as *mut M) }
            }
        })),
    )?;
    if !managed.is_known() {
        return Err(PyBufferError::new_err("the array speaks a version of DLPack that is not 1.x"));
    }
    // SAFETY: the producer keeps the elements valid until its deleter is called, which the lender does.
    unsafe { lent(managed.array(), managed.is_writable(), object, lender.unbind(), in_order) }
}

/// The tensor on the elements of an array that `object` shows.
///
/// # Safety
/// The array's lists are valid for the call. Its elements are valid until `lender` is dropped, which waits
/// for no thread. `in_order` is what [`Tensor::from_lent_on_cuda`] says.
pub(super) unsafe fn lent(
    array: &Array,
    writable: bool,
    object: &Bound<'_, PyAny>,
    lender: impl Any + Send + Sync,
    in_order: bool,
) -> PyResult<Tensor> {
    check(&array.device)?;
    let (shape, strides) = dims(array)?;
    let dtype = match dtype(array) {
        Err(_) if object.hasattr("dtype").unwrap_or(false) => return Err(super::import::unknown(object)),
        dtype => dtype?,
    };
    let is_empty = shape.contains(&0);
    if array.data.is_null() && !is_empty {
        return Err(PyBufferError::new_err("the array has elements, and no memory that they are in"));
    }
    let offset = usize::try_from(array.byte_offset).ok();
    let offset = offset.filter(|offset| (array.data as usize).checked_add(*offset).is_some());
    let Some(offset) = offset.or(is_empty.then_some(0)) else {
        let message = format!("no address leads {} bytes behind the array's memory", array.byte_offset);
        return Err(PyBufferError::new_err(message));
    };
    let lent = Lent {
        data: NonNull::new(array.data.cast::<u8>().wrapping_add(offset)).unwrap_or(NonNull::dangling()),
        dtype,
        shape: &shape,
        strides: &strides,
        writable,
    };
    // SAFETY: the caller guarantees the elements and the lender. Accesses by other libraries meanwhile are
    // the program's responsibility; on a device they are ordered before ours, as `import` has asked.
    let tensor = unsafe {
        match array.device {
            Device { kind: CUDA, id } => {
                Tensor::from_lent_on_cuda(Some(id as usize), &lent, lender, in_order)
            }
            _ => Tensor::from_lent(&lent, lender),
        }
    };
    tensor.map_err(raise)
}

/// A new tensor with the sizes and dtype of an array.
///
/// # Safety
/// The array's lists are valid for the call.
pub(super) unsafe fn zeros(array: &Array) -> PyResult<Tensor> {
    check(&array.device)?;
    let device = match array.device {
        Device { kind: CUDA, id } => engine::Device::Cuda(id as usize),
        _ => engine::Device::Cpu,
    };
    let zeros = Tensor::full(&dims(array)?.0, 0, dtype(array)?);
    zeros.and_then(|zeros| zeros.to(device)).map_err(raise)
}

fn dtype(array: &Array) -> PyResult<DType> {
    let DataType { code, bits, lanes } = array.dtype;
    DType::ALL.into_iter().find(|dtype| data_type(*dtype) == array.dtype).ok_or_else(|| {
        PyBufferError::new_err(format!(
            "no dtype has DLPack's code {code} with {bits} bits and {lanes} lanes"
        ))
    })
}

type SizesAndStrides = (SmallVec<[usize; 6]>, SmallVec<[isize; 6]>);

/// The sizes and strides of an array, checked as far as they can be without its elements.
fn dims(array: &Array) -> PyResult<SizesAndStrides> {
    let refused = |problem: String| PyBufferError::new_err(problem);
    let wrong_ndim =
        || refused(format!("the array has {} dimensions, and tensors have 0 to {MAX_RANK}", array.ndim));
    let ndim = usize::try_from(array.ndim).ok().filter(|ndim| *ndim <= MAX_RANK).ok_or_else(wrong_ndim)?;
    let list = |pointer: *const i64| -> PyResult<&[i64]> {
        if ndim == 0 {
            return Ok(&[]);
        }
        if pointer.is_null() || !pointer.is_aligned() {
            return Err(refused(format!(
                "the array has {ndim} dimensions, and no list of that many numbers"
            )));
        }
        // SAFETY: the array has a size and, unless that is null, a stride for each dimension, which it keeps.
        Ok(unsafe { std::slice::from_raw_parts(pointer, ndim) })
    };
    let size = |size: &i64| {
        usize::try_from(*size).map_err(|_| refused(format!("the array has a dimension of size {size}")))
    };
    let shape = list(array.shape)?.iter().map(size).collect::<PyResult<SmallVec<[usize; 6]>>>()?;
    if !array.strides.is_null() {
        return Ok((shape, list(array.strides)?.iter().map(|&stride| stride as isize).collect()));
    }
    let mut strides: SmallVec<[isize; 6]> = SmallVec::from_elem(1, ndim);
    for dim in (1..ndim).rev() {
        // Without elements the product may overflow, and the strides do not matter.
        strides[dim - 1] = strides[dim].saturating_mul(shape[dim] as isize);
    }
    Ok((shape, strides))
}
