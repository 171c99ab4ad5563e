//! Owns the methods of `Tensor` as a Python class: its attributes, and its elements as Python numbers. It
//! does not know operations (`entry.rs`), operators (`operators.rs`) or memory (`memory/`).

use std::sync::atomic::{AtomicIsize, Ordering};

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyInt, PyList, PyTuple};
use zerostride::{Category, Complex32, Complex64, DType, Expr, Scalar, Tensor, bf16, f16};

use crate::arguments::Value;
use crate::dtype::{self, PyDType};
use crate::error::raise;
use crate::operand::Given;
use crate::tensor::{PyTensor, dim_at, object, zeros};
use crate::threads::compute;
use crate::{functions, index, memory, number};

#[pymethods]
impl PyTensor {
    /// The sizes of the dimensions.
    ///
    /// >>> zs.zeros(2, 3).shape
    /// (2, 3)
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.shape())
    }

    /// The sizes of the dimensions, or of one.
    ///
    /// >>> zs.zeros(2, 3).size(0)
    /// 2
    #[pyo3(signature = (dim=None))]
    fn size<'py>(&self, py: Python<'py>, dim: Option<isize>) -> PyResult<Bound<'py, PyAny>> {
        match dim {
            Some(dim) => Ok(self.0.shape()[dim_at(dim, self.0.ndim())?].into_pyobject(py)?.into_any()),
            None => Ok(self.shape(py)?.into_any()),
        }
    }

    /// Elements between neighbours along each dimension, or along one.
    ///
    /// >>> zs.zeros(2, 3).t().stride()
    /// (1, 3)
    #[pyo3(signature = (dim=None))]
    fn stride<'py>(&self, py: Python<'py>, dim: Option<isize>) -> PyResult<Bound<'py, PyAny>> {
        match dim {
            Some(dim) => Ok(self.0.strides()[dim_at(dim, self.0.ndim())?].into_pyobject(py)?.into_any()),
            None => Ok(PyTuple::new(py, self.0.strides())?.into_any()),
        }
    }

    /// The number of dimensions.
    ///
    /// >>> zs.zeros(2, 3).ndim
    /// 2
    #[getter]
    fn ndim(&self) -> usize {
        self.0.ndim()
    }

    /// The number of dimensions.
    ///
    /// >>> zs.zeros(2, 3).dim()
    /// 2
    fn dim(&self) -> usize {
        self.0.ndim()
    }

    /// The number of elements.
    ///
    /// >>> zs.zeros(2, 3).numel()
    /// 6
    fn numel(&self) -> usize {
        self.0.numel()
    }

    /// Bytes of one element.
    ///
    /// >>> zs.zeros(2, 3).itemsize
    /// 4
    #[getter]
    fn itemsize(&self) -> usize {
        self.0.dtype().item_size()
    }

    /// Bytes of one element.
    ///
    /// >>> zs.zeros(2, 3).element_size()
    /// 4
    fn element_size(&self) -> usize {
        self.0.dtype().item_size()
    }

    /// Bytes of all elements.
    ///
    /// >>> zs.zeros(2, 3).nbytes
    /// 24
    #[getter]
    fn nbytes(&self) -> usize {
        self.0.numel() * self.0.dtype().item_size()
    }

    /// The type of the elements.
    ///
    /// >>> zs.tensor([1, 2]).dtype
    /// zerostride.int64
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> Bound<'py, PyDType> {
        dtype::object(py, self.0.dtype()).clone()
    }

    /// Where the elements are: "cpu", or an NVIDIA GPU as "cuda:0".
    ///
    /// >>> zs.zeros(2).device
    /// 'cpu'
    #[getter]
    fn device(&self) -> String {
        self.0.device().to_string()
    }

    /// The element of the memory at which the tensor starts.
    ///
    /// >>> zs.arange(6)[2:].storage_offset()
    /// 2
    fn storage_offset(&self) -> usize {
        self.0.storage_offset()
    }

    /// The address of the first element.
    ///
    /// >>> x = zs.arange(6)
    /// >>> x[2:].data_ptr() - x.data_ptr()
    /// 16
    fn data_ptr(&self) -> usize {
        self.0.data_ptr() as usize
    }

    /// Whether the elements lie next to each other in row-major order.
    ///
    /// >>> zs.zeros(2, 3).t().is_contiguous()
    /// False
    fn is_contiguous(&self) -> bool {
        self.0.is_contiguous()
    }

    /// The tensor itself: only what is traced has gradients.
    ///
    /// >>> zs.tensor([1, 2]).detach()
    /// tensor([1, 2])
    fn detach(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    /// Whether the elements are floats.
    ///
    /// >>> zs.tensor([1, 2]).is_floating_point()
    /// False
    fn is_floating_point(&self) -> bool {
        self.0.dtype().category() == Category::Float
    }

    /// Whether the elements are complex numbers.
    ///
    /// >>> zs.tensor([1 + 2j]).is_complex()
    /// True
    fn is_complex(&self) -> bool {
        self.0.dtype().category() == Category::Complex
    }

    /// Whether the elements may be written; not so on memory that was lent for reading.
    ///
    /// >>> zs.from_dlpack(zs.zeros(2)).writable
    /// True
    #[getter]
    fn writable(&self) -> bool {
        self.0.is_writable()
    }

    /// The dimensions in reverse order.
    ///
    /// >>> zs.zeros(2, 3, 4).T.shape
    /// (4, 3, 2)
    #[getter(T)]
    fn reversed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        functions::reversed(Value::Tensor(self.0.alias()))?.object(py)
    }

    /// The last two dimensions swapped.
    ///
    /// >>> zs.zeros(2, 3, 4).mT.shape
    /// (2, 4, 3)
    #[getter(mT)]
    fn matrix_transposed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        functions::matrix_transposed(Value::Tensor(self.0.alias()))?.object(py)
    }

    /// The real parts: of a complex tensor those in its memory, of another one itself.
    ///
    /// >>> zs.tensor([1 + 2j]).real
    /// tensor([1.])
    #[getter]
    fn real<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        if slf.get().is_complex() { part(slf, "real") } else { Ok(slf.clone().into_any()) }
    }

    #[setter]
    fn set_real(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        PyTensor::real(slf)?.call_method1("copy_", (value,)).map(drop)
    }

    /// The imaginary parts of a complex tensor, in its memory; of another one zeros, as NumPy has them.
    ///
    /// >>> zs.tensor([1 + 2j]).imag
    /// tensor([2.])
    #[getter]
    fn imag<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        if slf.get().is_complex() {
            return part(slf, "imag");
        }
        object(slf.py(), zeros(slf.get().0.dtype(), slf.get().0.shape()).map_err(raise)?)
    }

    #[setter]
    fn set_imag(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        if !slf.get().is_complex() {
            return Err(PyTypeError::new_err("imag is not implemented for tensors with non-complex dtypes."));
        }
        part(slf, "imag")?.call_method1("copy_", (value,)).map(drop)
    }

    /// The only element, as a Python number.
    ///
    /// >>> zs.tensor([[2.5]]).item()
    /// 2.5
    fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.check_single()?;
        element(py, &self.0)
    }

    /// The elements as nested lists of Python numbers.
    ///
    /// >>> zs.tensor([[1, 2], [3, 4]]).tolist()
    /// [[1, 2], [3, 4]]
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        nested(py, &self.0)
    }

    /// A NumPy array on the same memory.
    ///
    /// >>> zs.tensor([1, 2]).numpy()
    /// array([1, 2])
    fn numpy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        memory::numpy(slf)
    }

    /// For NumPy: an array on the same memory, unless another dtype or a copy is asked for. Without a copy
    /// there is none of another dtype.
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

    fn __iter__(&self) -> PyResult<Rows> {
        match self.0.shape().first() {
            Some(_) => Ok(Rows { tensor: self.0.alias(), next: AtomicIsize::new(0) }),
            None => Err(PyTypeError::new_err("iteration over a 0-d tensor")),
        }
    }

    /// The rows from the last to the first.
    fn __reversed__(&self) -> PyResult<PyTensor> {
        match self.0.ndim() {
            0 => Ok(PyTensor(self.0.alias())),
            _ => self.0.flip(&[0]).map(PyTensor).map_err(raise),
        }
    }

    /// Whether an element is equal to a number, or to that of a tensor which broadcasts with this one.
    fn __contains__(&self, py: Python<'_>, element: &Bound<'_, PyAny>) -> PyResult<bool> {
        let element = match Given::new(element)? {
            Some(given @ (Given::Tensor(_) | Given::Number(_))) => given.expr(),
            _ => {
                return Err(PyRuntimeError::new_err(format!(
                    "Tensor.__contains__ only supports Tensor or scalar, but you passed in a {}.",
                    element.get_type().repr()?
                )));
            }
        };
        let found = || Expr::from(&self.0).eq(element).any(..).eval()?.item::<bool>();
        compute(py, [self.0.numel()], found).map_err(raise)
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
        match self.python_scalar()? {
            Scalar::Complex(value) if value.im != 0.0 => {
                Err(PyRuntimeError::new_err("value cannot be converted to type double without overflow"))
            }
            value => Ok(value.to_f64()),
        }
    }

    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let number = match self.python_scalar()? {
            Scalar::Complex(value) if value.im == 0.0 => value.re.into_bound_py_any(py)?,
            Scalar::Complex(_) => {
                return Err(PyRuntimeError::new_err(
                    "value cannot be converted to type int64_t without overflow",
                ));
            }
            _ => self.item(py)?,
        };
        py.get_type::<PyInt>().call1((number,))
    }

    fn __complex__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.get_type::<PyComplex>().call1((number::object(py, self.python_scalar()?)?,))
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

    /// A number's format for one element; several elements accept only the empty format.
    fn __format__<'py>(&self, py: Python<'py>, format: &str) -> PyResult<String> {
        match self.0.ndim() {
            0 => self.item(py)?.call_method1("__format__", (format,))?.extract(),
            _ if format.is_empty() => Ok(self.0.to_string()),
            _ => Err(PyTypeError::new_err("unsupported format string passed to Tensor.__format__")),
        }
    }

    fn __getitem__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        index::get(Value::Tensor(self.0.alias()), key)?.object(py)
    }

    fn __setitem__(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        index::set(&self.0, key, value)
    }

    /// Another tensor on the same memory.
    fn __copy__(&self) -> PyTensor {
        PyTensor(self.0.alias())
    }

    /// A tensor of the same elements, in memory of its own.
    fn __deepcopy__(&self, memo: &Bound<'_, PyAny>) -> PyResult<PyTensor> {
        let copy = compute(memo.py(), [self.0.numel()], || self.0.clone_elements());
        copy.map(PyTensor).map_err(raise)
    }

    /// Bytes of the object and of all elements.
    fn __sizeof__(&self) -> usize {
        size_of::<PyTensor>() + self.nbytes()
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

    /// The only element, for Python's conversions, which have their own error.
    fn python_scalar(&self) -> PyResult<Scalar> {
        if self.0.numel() != 1 {
            return Err(PyValueError::new_err("only one element tensors can be converted to Python scalars"));
        }
        self.only()
    }

    fn only(&self) -> PyResult<Scalar> {
        self.check_single()?;
        self.0.scalar_at(&vec![0; self.0.ndim()]).map_err(raise)
    }
}

/// The only element as a Python number.
fn element<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    match tensor.dtype() {
        // The engine's bare numbers are i64, which cannot hold all u64.
        DType::U64 => tensor.to_vec::<u64>().map_err(raise)?[0].into_bound_py_any(py),
        _ => number::object(py, tensor.scalar_at(&vec![0; tensor.ndim()]).map_err(raise)?),
    }
}

/// The real or imaginary part of a complex tensor: a view that NumPy makes, on the same memory.
fn part<'py>(tensor: &Bound<'py, PyTensor>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let parts = memory::numpy(tensor)?.getattr(name)?;
    match memory::array(&parts)? {
        Some(parts) => object(tensor.py(), parts.elements()),
        None => Err(PyTypeError::new_err("NumPy's parts of a complex array are arrays")),
    }
}

/// An iterator over the rows of a tensor, which are views.
#[pyclass(module = "zerostride", frozen)]
pub(crate) struct Rows {
    tensor: Tensor,
    next: AtomicIsize,
}

#[pymethods]
impl Rows {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__(&self) -> PyResult<Option<PyTensor>> {
        let rows = self.tensor.shape()[0] as isize;
        let row = self
            .next
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |row| (row < rows).then_some(row + 1));
        row.ok().map(|row| self.tensor.select(0, row).map(PyTensor)).transpose().map_err(raise)
    }

    /// The number of rows left.
    fn __length_hint__(&self) -> usize {
        self.tensor.shape()[0] - self.next.load(Ordering::Relaxed) as usize
    }
}

/// Elements between two checks for Ctrl-C.
const UNHEARD: usize = 1 << 16;

/// The elements as nested lists, all read under one claim.
fn nested<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    macro_rules! lists {
        ($($dtype:ident $type:ty, $number:expr;)*) => {
            match tensor.dtype() {
                $(DType::$dtype => {
                    let elements = compute(py, [tensor.numel()], || tensor.to_vec::<$type>()).map_err(raise)?;
                    let number: fn(Python<'py>, $type) -> PyResult<Bound<'py, PyAny>> = $number;
                    Lists { py, shape: tensor.shape(), elements: &mut elements.into_iter(), number, made: 0 }.at(0)
                })*
            }
        };
    }
    lists! {
        Bool bool, |py, x| x.into_bound_py_any(py);
        U8 u8, |py, x| x.into_bound_py_any(py);
        U16 u16, |py, x| x.into_bound_py_any(py);
        U32 u32, |py, x| x.into_bound_py_any(py);
        U64 u64, |py, x| x.into_bound_py_any(py);
        I8 i8, |py, x| x.into_bound_py_any(py);
        I16 i16, |py, x| x.into_bound_py_any(py);
        I32 i32, |py, x| x.into_bound_py_any(py);
        I64 i64, |py, x| x.into_bound_py_any(py);
        F16 f16, |py, x| x.to_f64().into_bound_py_any(py);
        BF16 bf16, |py, x| x.to_f64().into_bound_py_any(py);
        F32 f32, |py, x| f64::from(x).into_bound_py_any(py);
        F64 f64, |py, x| x.into_bound_py_any(py);
        C64 Complex32, |py, x| Ok(PyComplex::from_doubles(py, x.re.into(), x.im.into()).into_any());
        C128 Complex64, |py, x| Ok(PyComplex::from_doubles(py, x.re, x.im).into_any());
    }
}

/// The construction of nested lists.
struct Lists<'a, 'py, T> {
    py: Python<'py>,
    shape: &'a [usize],
    elements: &'a mut std::vec::IntoIter<T>,
    number: fn(Python<'py>, T) -> PyResult<Bound<'py, PyAny>>,
    /// Numbers and lists since the last check for Ctrl-C.
    made: usize,
}

impl<'py, T> Lists<'_, 'py, T> {
    /// The next list of a dimension; after the last dimension, the next number.
    fn at(&mut self, dim: usize) -> PyResult<Bound<'py, PyAny>> {
        self.made += 1;
        if self.made > UNHEARD {
            self.made = 0;
            self.py.check_signals()?;
        }
        let Some(&size) = self.shape.get(dim) else {
            let element =
                self.elements.next().expect("a shape has as many elements as its sizes multiply to");
            return (self.number)(self.py, element);
        };
        // Without elements a dimension can have any size, so the list grows as it is filled rather than being
        // allocated first.
        let list = PyList::empty(self.py);
        for _ in 0..size {
            list.append(self.at(dim + 1)?)?;
        }
        Ok(list.into_any())
    }
}
