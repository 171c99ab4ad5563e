//! Owns the methods of `Expr` as a Python class. It does not know elements: what needs them is an error, or
//! reads the file.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use zerostride::{Category, DType, Expr};

use crate::arguments::Value;
use crate::dtype::{self, PyDType};
use crate::error::{TraceError, raise, type_name};
use crate::expr::{PyExpr, object};
use crate::operand::Given;
use crate::{functions, index, tensor};

/// An array as an operand of traced computations.
#[pyfunction]
pub(crate) fn _traced<'py>(array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let given = Given::new(array)?.ok_or_else(|| {
        let name = type_name(array);
        PyTypeError::new_err(format!("an operand must be a tensor, an array or a number, not {name}"))
    })?;
    object(array.py(), given.expr())
}

impl PyExpr {
    fn known_shape(&self) -> PyResult<&[usize]> {
        self.0.shape().map_err(raise)
    }

    fn known_dtype(&self) -> PyResult<DType> {
        self.0.dtype().map_err(raise)
    }

    /// The elements as a tensor; an error while a function is traced.
    fn elements<'py>(&self, py: Python<'py>, what: &str, instead: &str) -> PyResult<Bound<'py, PyAny>> {
        if self.0.has_inputs() {
            return tensor::object(py, self.read(py)?);
        }
        Err(TraceError::new_err(format!(
            "{what} needs the elements of an array, and while a function is traced only shape and dtype are known. {instead}"
        )))
    }
}

#[pymethods]
impl PyExpr {
    /// The sizes of the dimensions.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.known_shape()?)
    }

    /// The sizes of the dimensions, or of one.
    #[pyo3(signature = (dim=None))]
    fn size<'py>(&self, py: Python<'py>, dim: Option<isize>) -> PyResult<Bound<'py, PyAny>> {
        let shape = self.known_shape()?;
        match dim {
            Some(dim) => Ok(shape[tensor::dim_at(dim, shape.len())?].into_pyobject(py)?.into_any()),
            None => Ok(self.shape(py)?.into_any()),
        }
    }

    /// The number of dimensions.
    #[getter]
    fn ndim(&self) -> PyResult<usize> {
        Ok(self.known_shape()?.len())
    }

    /// The number of dimensions.
    fn dim(&self) -> PyResult<usize> {
        self.ndim()
    }

    /// The number of elements.
    fn numel(&self) -> PyResult<usize> {
        Ok(self.known_shape()?.iter().product())
    }

    /// Bytes of one element.
    #[getter]
    fn itemsize(&self) -> PyResult<usize> {
        Ok(self.known_dtype()?.item_size())
    }

    /// Bytes of one element.
    fn element_size(&self) -> PyResult<usize> {
        self.itemsize()
    }

    /// Bytes of all elements.
    #[getter]
    fn nbytes(&self) -> PyResult<usize> {
        Ok(self.numel()?.saturating_mul(self.itemsize()?))
    }

    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDType>> {
        Ok(dtype::object(py, self.known_dtype()?).clone())
    }

    /// Where elements are computed: always "cpu".
    #[getter]
    fn device(&self) -> &'static str {
        "cpu"
    }

    fn is_floating_point(&self) -> PyResult<bool> {
        Ok(self.known_dtype()?.category() == Category::Float)
    }

    fn is_complex(&self) -> PyResult<bool> {
        Ok(self.known_dtype()?.category() == Category::Complex)
    }

    /// Whether the elements may be written: never.
    #[getter]
    fn writable(&self) -> bool {
        false
    }

    /// The same values, which gradients take as constants.
    fn detach<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        object(py, self.0.detach())
    }

    /// The expression itself, since it cannot change.
    fn __copy__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __deepcopy__<'py>(slf: Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        slf
    }

    /// The elements of an array in a file; for a traced array, an error that names what needs them.
    fn _elements<'py>(&self, py: Python<'py>, what: &str) -> PyResult<Bound<'py, PyAny>> {
        self.elements(py, what, "Compute it outside of the function, or return the array.")
    }

    /// The dimensions in reverse order.
    #[getter(T)]
    fn reversed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        functions::reversed(Value::Traced(self.0.clone()))?.object(py)
    }

    /// The last two dimensions swapped.
    #[getter(mT)]
    fn matrix_transposed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        functions::matrix_transposed(Value::Traced(self.0.clone()))?.object(py)
    }

    /// The real parts; of numbers that are not complex, themselves.
    #[getter]
    fn real<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let expr = &slf.get().0;
        match expr.dtype().map_err(raise)?.category() {
            Category::Complex => object(slf.py(), expr.real()),
            _ => Ok(slf.clone().into_any()),
        }
    }

    /// The imaginary parts; of numbers that are not complex, zeros.
    #[getter]
    fn imag<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let dtype = self.0.dtype().map_err(raise)?;
        if dtype.category() == Category::Complex {
            return object(py, self.0.imag());
        }
        let zeros = tensor::zeros(dtype, self.0.shape().map_err(raise)?).map_err(raise)?;
        object(py, Expr::from(&zeros))
    }

    fn __getitem__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        index::get(Value::Traced(self.0.clone()), key)?.object(py)
    }

    fn __len__(&self) -> PyResult<usize> {
        let size = self.known_shape()?.first().copied();
        size.ok_or_else(|| PyTypeError::new_err("len() of a 0-d tensor"))
    }

    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let rows = (0..slf.get().__len__()?).map(|row| slf.get_item(row)).collect::<PyResult<Vec<_>>>()?;
        Ok(PyTuple::new(slf.py(), rows)?.try_iter()?.into_any())
    }

    fn __repr__(&self) -> String {
        let shape = self.0.shape().map(<[usize]>::to_vec).unwrap_or_default();
        let dtype = self.0.dtype().map_or("?", |dtype| dtype.torch_name());
        format!("Expr(shape={shape:?}, dtype={dtype})")
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        let what = "A condition (`if`, `while`, `and`, `or`, `not`)";
        self.elements(py, what, "Choose elements with where(condition, a, b).")?.is_truthy()
    }

    fn __float__(&self, py: Python<'_>) -> PyResult<f64> {
        self.elements(py, "float()", "Keep the 0-d array: it computes like a number.")?.extract()
    }

    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let instead = "Compute it outside of the function and pass it in.";
        self.elements(py, "int()", instead)?.call_method0("__int__")
    }

    fn __index__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let instead = "Compute it outside of the function and pass it in as an integer.";
        self.elements(py, "An index", instead)?.call_method0("__index__")
    }

    fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.elements(py, "item()", "Keep the 0-d array: it computes like a number.")?.call_method0("item")
    }

    #[pyo3(signature = (*arguments, **named))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        arguments: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let elements = self.elements(py, "A NumPy array", "Use the functions of zerostride on it.")?;
        elements.call_method("__array__", arguments, named)
    }

    fn numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.elements(py, "numpy()", "Use the functions of zerostride on it.")?.call_method0("numpy")
    }

    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.elements(py, "tolist()", "Return the array instead.")?.call_method0("tolist")
    }

    fn __setitem__(&self, _key: &Bound<'_, PyAny>, _value: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(TraceError::new_err(
            "an array is written to by index, which a traced function cannot do: use where(condition, a, b)",
        ))
    }
}
