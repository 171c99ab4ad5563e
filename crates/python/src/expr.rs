//! Owns `Expr` as a Python class: what an array is while a function is traced. Its shape and dtype are known, its elements
//! are not; whatever needs them is refused here.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use zerostride::Expr;

use crate::arguments::Value;
use crate::dtype::{self, PyDType};
use crate::error::{TraceError, raise};
use crate::{functions, index};

/// An array while a function is traced: a computation whose shape and dtype are known.
#[pyclass(name = "Expr", module = "zerostride", frozen)]
pub(crate) struct PyExpr(pub(crate) Expr);

/// A computation as an object; its error, if it has none, at the line of the traced function that makes it.
pub(crate) fn object(py: Python<'_>, expr: Expr) -> PyResult<Bound<'_, PyAny>> {
    expr.shape().map_err(|error| raise(error.root().clone()))?;
    Ok(Bound::new(py, PyExpr(expr))?.into_any())
}

fn unknown<T>(what: &str, instead: &str) -> PyResult<T> {
    Err(TraceError::new_err(format!(
        "{what} needs the elements of an array, and while a function is traced only shape and dtype are known. {instead}"
    )))
}

#[pymethods]
impl PyExpr {
    /// The sizes of the dimensions.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.shape().map_err(raise)?)
    }

    /// The number of dimensions.
    #[getter]
    fn ndim(&self) -> PyResult<usize> {
        Ok(self.0.shape().map_err(raise)?.len())
    }

    /// The number of elements.
    fn numel(&self) -> PyResult<usize> {
        Ok(self.0.shape().map_err(raise)?.iter().product())
    }

    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDType>> {
        Ok(dtype::object(py, self.0.dtype().map_err(raise)?).clone())
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

    fn __getitem__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        index::get(Value::Traced(self.0.clone()), key)?.object(py)
    }

    fn __len__(&self) -> PyResult<usize> {
        let size = self.0.shape().map_err(raise)?.first().copied();
        size.ok_or_else(|| pyo3::exceptions::PyTypeError::new_err("len() of a 0-d tensor"))
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

    fn __bool__(&self) -> PyResult<bool> {
        unknown(
            "A condition (`if`, `while`, `and`, `or`, `not`)",
            "Choose elements with where(condition, a, b).",
        )
    }

    fn __float__(&self) -> PyResult<f64> {
        unknown("float()", "Keep the 0-d array: it computes like a number.")
    }

    fn __int__(&self) -> PyResult<i64> {
        unknown("int()", "Compute it outside of the function and pass it in.")
    }

    fn __index__(&self) -> PyResult<i64> {
        unknown("An index", "Compute it outside of the function and pass it in as an integer.")
    }

    #[pyo3(signature = (*_arguments))]
    fn item(&self, _arguments: &Bound<'_, PyTuple>) -> PyResult<f64> {
        unknown("item()", "Keep the 0-d array: it computes like a number.")
    }

    #[pyo3(signature = (*_arguments, **_named))]
    fn __array__(&self, _arguments: &Bound<'_, PyTuple>, _named: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        unknown("A NumPy array", "Use the functions of zerostride on it.")
    }

    fn numpy(&self) -> PyResult<()> {
        unknown("numpy()", "Use the functions of zerostride on it.")
    }

    fn tolist(&self) -> PyResult<()> {
        unknown("tolist()", "Return the array instead.")
    }

    fn __setitem__(&self, _key: &Bound<'_, PyAny>, _value: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(TraceError::new_err(
            "an array is written to by index, which a traced function cannot do: use where(condition, a, b)",
        ))
    }
}
