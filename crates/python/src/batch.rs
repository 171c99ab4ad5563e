//! Owns what Python needs to map a traced function over many examples. It does not know which library's
//! mapping asks for that (`_autograd.py`).

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use zerostride::{Expr, Tensor, mapped};

use crate::error::{raise, type_name};
use crate::expr::PyExpr;
use crate::operand::Given;

/// For each array of examples along its first dimension one that stands for an example.
#[pyfunction]
pub(crate) fn _examples(batches: Vec<Bound<'_, PyExpr>>) -> PyResult<Vec<PyExpr>> {
    let example = |batch: &Bound<'_, PyExpr>| {
        let batch = &batch.get().0;
        let tensor = Tensor::full(&batch.shape()?[1..], 0, batch.dtype()?)?;
        Ok(PyExpr(Expr::from(tensor)))
    };
    batches.iter().map(example).collect::<zerostride::Result<_>>().map_err(raise)
}

/// For each result of a function of examples that of all of them, along a first dimension.
#[pyfunction]
pub(crate) fn _mapped(
    results: Vec<Bound<'_, PyAny>>,
    examples: Vec<Bound<'_, PyExpr>>,
    batches: Vec<Bound<'_, PyExpr>>,
) -> PyResult<Vec<PyExpr>> {
    let root = |result: &Bound<'_, PyAny>| match Given::new(result)? {
        Some(given) => Ok(given.expr()),
        None => Err(PyTypeError::new_err(format!("a function returns arrays, and no {}", type_name(result)))),
    };
    let roots = results.iter().map(root).collect::<PyResult<Vec<_>>>()?;
    let exprs =
        |objects: Vec<Bound<'_, PyExpr>>| objects.iter().map(|object| object.get().0.clone()).collect();
    let (examples, batches): (Vec<Expr>, Vec<Expr>) = (exprs(examples), exprs(batches));
    let found = mapped(&roots, &examples, &batches).map_err(raise)?;
    Ok(found.into_iter().map(PyExpr).collect())
}
