//! Owns `Expr` as a Python class: an array while a function is traced, or an array in a file. It does not
//! know its methods (`expr_methods.rs`).

use pyo3::prelude::*;
use zerostride::{Expr, Tensor};

use crate::error::raise;
use crate::threads::compute;

/// An array while a function is traced, or while it is in a file: a computation whose shape and dtype are
/// known.
#[pyclass(name = "Expr", module = "zerostride", frozen, subclass)]
pub(crate) struct PyExpr(pub(crate) Expr);

/// The expression as a Python object; its error, if it has one, is raised at the line of the traced function
/// that makes it.
pub(crate) fn object(py: Python<'_>, expr: Expr) -> PyResult<Bound<'_, PyAny>> {
    expr.shape().map_err(|error| raise(error.root().clone()))?;
    Ok(Bound::new(py, PyExpr(expr))?.into_any())
}

impl PyExpr {
    /// The elements, read from files.
    pub(crate) fn read(&self, py: Python<'_>) -> PyResult<Tensor> {
        compute(py, [usize::MAX], || self.0.eval()).map_err(raise)
    }
}
