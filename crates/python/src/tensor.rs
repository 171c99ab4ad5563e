//! Owns `Tensor` as a Python class: what it says about itself, and its elements as Python's own numbers. Its operations
//! are rows of tables (`entry.rs`), its operators stand in `operators.rs`, its memory in `memory/`.

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use zerostride::{Category, DType, Scalar, Tensor};

use crate::arguments::Value;
use crate::dtype::{self, PyDType};
use crate::error::raise;
use crate::{functions, index, memory, number};

/// An n-dimensional array of elements of one dtype. Made by ``tensor``, ``asarray``, ``zeros`` and the like.
#[pyclass(name = "Tensor", module = "zerostride", frozen, weakref)]
pub(crate) struct PyTensor(pub(crate) Tensor);

/// A tensor as an object.
#[inline]
pub(crate) fn object(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    Ok(Bound::new(py, PyTensor(tensor))?.into_any())
}

#[pymethods]
impl PyTensor {
    /// The sizes of the dimensions.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.shape())
    }

    /// The sizes of the dimensions, or of one.
    #[pyo3(signature = (dim=None))]
    fn size<'py>(&self, py: Python<'py>, dim: Option<isize>) -> PyResult<Bound<'py, PyAny>> {
        match dim {
            Some(dim) => Ok(self.0.shape()[self.dim_at(dim)?].into_pyobject(py)?.into_any()),
            None => Ok(self.shape(py)?.into_any()),
        }
    }

    /// Elements between neighbours along each dimension, or along one.
    #[pyo3(signature = (dim=None))]
    fn stride<'py>(&self, py: Python<'py>, dim: Option<isize>) -> PyResult<Bound<'py, PyAny>> {
        match dim {
            Some(dim) => Ok(self.0.strides()[self.dim_at(dim)?].into_pyobject(py)?.into_any()),
            None => Ok(PyTuple::new(py, self.0.strides())?.into_any()),
        }
    }

    /// The number of dimensions.
    #[getter]
    fn ndim(&self) -> usize {
        self.0.ndim()
    }

    /// The number of dimensions.
    fn dim(&self) -> usize {
        self.0.ndim()
    }

    /// The number of elements.
    fn numel(&self) -> usize {
        self.0.numel()
    }

    /// Bytes of one element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.0.dtype().item_size()
    }

    /// Bytes of one element.
    fn element_size(&self) -> usize {
        self.0.dtype().item_size()
    }

    /// Bytes of all elements.
    #[getter]
    fn nbytes(&self) -> usize {
        self.0.numel() * self.0.dtype().item_size()
    }

    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> Bound<'py, PyDType> {
        dtype::object(py, self.0.dtype()).clone()
    }

    /// Where the elements are: always "cpu".
    #[getter]
    fn device(&self) -> &'static str {
        "cpu"
    }

    /// The element of the memory at which the tensor starts.
    fn storage_offset(&self) -> usize {
        self.0.storage_offset()
    }

    /// The address of the first element.
    fn data_ptr(&self) -> usize {
        self.0.data_ptr() as usize
    }

    /// Whether the elements lie next to each other in row-major order.
    fn is_contiguous(&self) -> bool {
        self.0.is_contiguous()
    }

    fn is_floating_point(&self) -> bool {
        self.0.dtype().category() == Category::Float
    }

    fn is_complex(&self) -> bool {
        self.0.dtype().category() == Category::Complex
    }

    /// Whether the elements may be written; not so on memory that was lent for reading.
    #[getter]
    fn writable(&self) -> bool {
        self.0.is_writable()
    }

    /// The dimensions in reverse order.
    #[getter(T)]
    fn reversed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        functions::reversed(Value::Tensor(self.0.clone()))?.object(py)
    }

    /// The last two dimensions swapped.
    #[getter(mT)]
    fn matrix_transposed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        functions::matrix_transposed(Value::Tensor(self.0.clone()))?.object(py)
    }

    /// The only element, as a Python number.
    fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.check_single()?;
        element(py, &self.0)
    }

    /// The elements as nested lists of Python numbers.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        nested(py, &self.0)
    }

    /// A NumPy array on the same memory.
    fn numpy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        memory::numpy(slf)
    }

    /// For NumPy: an array on the same memory, unless another dtype or a copy is asked for. Without a copy there is none of
    /// another dtype.
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        slf: &Bound<'py, Self>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let array = memory::numpy(slf)?;
        let array = match dtype {
            Some(dtype) if !array.getattr("dtype")?.eq(dtype)? => {
                if copy == Some(false) {
                    return Err(PyValueError::new_err(format!(
                        "an array of dtype {dtype} on the memory of a tensor of dtype {} takes a copy",
                        slf.get().0.dtype().torch_name()
                    )));
                }
                return array.call_method1("astype", (dtype,));
            }
            _ => array,
        };
        if copy == Some(true) { array.call_method0("copy") } else { Ok(array) }
    }

    fn __len__(&self) -> PyResult<usize> {
        self.0.shape().first().copied().ok_or_else(|| PyTypeError::new_err("len() of a 0-d tensor"))
    }

    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let tensor = &slf.get().0;
        let Some(&size) = tensor.shape().first() else {
            return Err(PyTypeError::new_err("iteration over a 0-d tensor"));
        };
        let rows = (0..size as isize).map(|row| object(slf.py(), tensor.select(0, row).map_err(raise)?));
        Ok(PyList::new(slf.py(), rows.collect::<PyResult<Vec<_>>>()?)?.try_iter()?.into_any())
    }

    fn __bool__(&self) -> PyResult<bool> {
        match self.0.numel() {
            1 => Ok(match self.only()? {
                Scalar::Bool(value) => value,
                Scalar::Int(value) => value != 0,
                Scalar::Float(value) => value != 0.0,
                Scalar::Complex(value) => value.re != 0.0 || value.im != 0.0,
            }),
            0 => Err(PyRuntimeError::new_err("Boolean value of Tensor with no values is ambiguous")),
            _ => {
                Err(PyRuntimeError::new_err("Boolean value of Tensor with more than one value is ambiguous"))
            }
        }
    }

    fn __float__(&self) -> PyResult<f64> {
        match self.only()? {
            Scalar::Complex(value) if value.im != 0.0 => {
                Err(PyRuntimeError::new_err("value cannot be converted to type double without overflow"))
            }
            value => Ok(value.to_f64()),
        }
    }

    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("builtins")?.call_method1("int", (self.item(py)?,))
    }

    fn __complex__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("builtins")?.call_method1("complex", (number::object(py, self.only()?)?,))
    }

    fn __index__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.0.dtype().category() {
            Category::Bool | Category::Int if self.0.numel() == 1 => self.__int__(py),
            _ => Err(PyTypeError::new_err(
                "only integer tensors of a single element can be converted to an index",
            )),
        }
    }

    fn __repr__(&self) -> String {
        self.0.to_string()
    }

    fn __format__<'py>(&self, py: Python<'py>, format: &str) -> PyResult<String> {
        if self.0.ndim() > 0 || format.is_empty() {
            return Ok(self.0.to_string());
        }
        py.import("builtins")?.call_method1("format", (self.item(py)?, format))?.extract()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        index::get(Value::Tensor(self.0.clone()), key)?.object(py)
    }

    fn __setitem__(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        index::set(&self.0, key, value)
    }

    fn __copy__(&self) -> PyResult<PyTensor> {
        self.0.clone_elements().map(PyTensor).map_err(raise)
    }

    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> PyResult<PyTensor> {
        self.__copy__()
    }
}

impl PyTensor {
    fn check_single(&self) -> PyResult<()> {
        if self.0.numel() != 1 {
            let message = format!("a Tensor with {} elements cannot be converted to Scalar", self.0.numel());
            return Err(PyRuntimeError::new_err(message));
        }
        Ok(())
    }

    fn only(&self) -> PyResult<Scalar> {
        self.check_single()?;
        self.0.scalar_at(&vec![0; self.0.ndim()]).map_err(raise)
    }

    fn dim_at(&self, dim: isize) -> PyResult<usize> {
        let ndim = self.0.ndim() as isize;
        let place = if dim < 0 { dim + ndim } else { dim };
        usize::try_from(place).ok().filter(|&place| place < self.0.ndim()).ok_or_else(|| {
            let message = format!(
                "Dimension out of range (expected to be in range of [{}, {}], but got {dim})",
                -ndim.max(1),
                ndim.max(1) - 1
            );
            pyo3::exceptions::PyIndexError::new_err(message)
        })
    }
}

/// The only element as Python's own number.
fn element<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    match tensor.dtype() {
        // A bare number of the engine's has 63 bits and a sign.
        DType::U64 => tensor.to_vec::<u64>().map_err(raise)?[0].into_bound_py_any(py),
        _ => number::object(py, tensor.scalar_at(&vec![0; tensor.ndim()]).map_err(raise)?),
    }
}

fn nested<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    let Some(&size) = tensor.shape().first() else {
        return element(py, tensor);
    };
    let size =
        isize::try_from(size).map_err(|_| PyValueError::new_err("the tensor is too large for a list"))?;
    let rows = (0..size).map(|row| nested(py, &tensor.select(0, row).map_err(raise)?));
    Ok(PyList::new(py, rows.collect::<PyResult<Vec<_>>>()?)?.into_any())
}
