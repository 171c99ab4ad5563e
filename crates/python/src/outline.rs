//! Owns what Python sees of a traced computation node by node, by which the package computes it on chunks of
//! another library's arrays. It does not know those arrays, nor where a computation is cut (`_dask.py`).

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use zerostride::{Expr, Op, OutlineNode};

use crate::expr::{self, PyExpr};
use crate::operand::Given;
use crate::{dtype, number, tensor};

/// The identity of a node, and what it computes: a word, and what the word needs, operands first.
#[pyfunction]
pub(crate) fn _step<'py>(expr: &Bound<'py, PyExpr>) -> PyResult<(usize, Bound<'py, PyTuple>)> {
    let (py, expr) = (expr.py(), &expr.get().0);
    let node = |expr: &Expr| Bound::new(py, PyExpr(expr.clone()));
    let nodes = |exprs: &[Expr]| PyList::new(py, exprs.iter().map(node).collect::<PyResult<Vec<_>>>()?);
    let step = match expr.step().map_err(crate::error::raise)? {
        OutlineNode::Tensor(tensor) => ("tensor", tensor::object(py, tensor.alias())?).into_pyobject(py)?,
        OutlineNode::Number(value) => ("number", number::object(py, value)?).into_pyobject(py)?,
        OutlineNode::Map(op, operands, compute) => {
            ("map", nodes(operands)?, op.name(), dtype::object(py, compute)).into_pyobject(py)?
        }
        OutlineNode::Cast(operand) => ("cast", node(operand)?).into_pyobject(py)?,
        OutlineNode::Reduce { op, operand, dims, keepdim, correction } => {
            ("reduce", node(operand)?, op.name(), PyTuple::new(py, dims)?, keepdim, correction)
                .into_pyobject(py)?
        }
        OutlineNode::Matmul(factors) => ("matmul", nodes(factors)?).into_pyobject(py)?,
        OutlineNode::Select(operand, selection) => {
            ("select", node(operand)?, selection.starts, selection.dims).into_pyobject(py)?
        }
        OutlineNode::Reshape(operand) => ("reshape", node(operand)?).into_pyobject(py)?,
        OutlineNode::Diagonal(operand, [offset, dim1, dim2]) => {
            ("diagonal", node(operand)?, offset, dim1, dim2).into_pyobject(py)?
        }
        OutlineNode::Unfold(operand, [dim, size, step]) => {
            ("unfold", node(operand)?, dim, size, step).into_pyobject(py)?
        }
    };
    Ok((expr.identity(), step))
}

/// The operation of a step "map" on other operands, of which one is traced.
#[pyfunction]
pub(crate) fn _settled<'py>(
    op: &str,
    operands: Vec<Bound<'py, PyAny>>,
    compute: &Bound<'py, PyAny>,
    result: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let unknown =
        |what: &str| PyValueError::new_err(format!("{what} is not what a step of a computation has"));
    let op = Op::from_name(op).ok_or_else(|| unknown(op))?;
    let operand = |object: &Bound<'py, PyAny>| {
        Ok(Given::new(object)?.ok_or_else(|| unknown(&object.to_string()))?.expr())
    };
    let operands = operands.iter().map(operand).collect::<PyResult<Vec<Expr>>>()?;
    let (compute, result_dtype) = (dtype::extract(compute)?, dtype::extract(result)?);
    let settled = Expr::settled(op, &operands, compute, result_dtype).map_err(crate::error::raise)?;
    expr::object(result.py(), settled)
}
