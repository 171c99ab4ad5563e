//! Owns the functions that change the shape of tensors.
//! Here are those that take more than the engine's rows. It does not know the rules of views (`zerostride-
//! shape`).

use pyo3::prelude::*;
use zerostride::Expr;

use super::function::rows;
use crate::arguments::{Arguments, Value};
use crate::dtype;
use crate::error::raise;
use crate::threads::compute;

/// One expression for both a tensor, whose views share its memory, and a traced expression.
macro_rules! view {
    ($value:expr, $x:ident => $body:expr) => {
        match $value {
            Value::Tensor($x) => Value::Tensor($body.map_err(raise)?),
            Value::Traced($x) => Value::Traced(check($body)?),
        }
    };
}

/// The expression; its error, if it has one, is raised at the line of the traced function that makes it.
fn check(expr: Expr) -> PyResult<Expr> {
    match expr.shape() {
        Ok(_) => Ok(expr),
        Err(error) => Err(raise(error.root().clone())),
    }
}

fn shape(value: &Value) -> PyResult<Vec<usize>> {
    match value {
        Value::Tensor(tensor) => Ok(tensor.shape().to_vec()),
        Value::Traced(expr) => expr.shape().map(<[usize]>::to_vec).map_err(raise),
    }
}

fn viewed(input: Value, sizes: &[isize]) -> PyResult<Value> {
    Ok(match input {
        Value::Tensor(x) => Value::Tensor(x.view(sizes).map_err(raise)?),
        Value::Traced(x) => Value::Traced(check(x.reshape(sizes))?),
    })
}

rows! {
    /// Stretches the tensor to a shape, without copying: another name of `expand`.
    both "broadcast_to" "input, *size" |a| view!(a.value("input")?, x => x.expand(&a.sizes_of("size")?));
    /// The same elements under other sizes, as a view; -1 is inferred. Or the same bytes as elements of
    /// another dtype.
    method "view" "input, *size, dtype=None" |a| match a.optional("dtype").or_else(|| a.no_size()) {
        Some(dtype) => Value::Tensor(a.tensor("input")?.view_dtype(dtype::extract(dtype)?).map_err(raise)?),
        None => viewed(a.value("input")?, &a.sizes_of("size")?)?,
    };
    /// The same elements in the shape of another tensor, as a view.
    method "view_as" "input, other" |a| {
        let sizes: Vec<isize> = shape(&a.value("other")?)?.into_iter().map(|size| size as isize).collect();
        viewed(a.value("input")?, &sizes)?
    };
    /// Swaps two dimensions; or reorders all, as NumPy does, by a list of them, or by none into their
    /// reverse.
    both "transpose" "input, dim0=None, dim1=None" |a| match (a.optional("dim0"), a.optional("dim1")) {
        (None, None) => reversed(a.value("input")?)?,
        (Some(_), None) => view!(a.value("input")?, x => x.permute(&a.integers("dim0")?)),
        _ => transposed(a, ["dim0", "dim1"])?,
    };
    /// All dimensions as one, contiguous.
    both "ravel" "input" |a| {
        let x = match a.value("input")? {
            Value::Tensor(x) => Value::Tensor(compute(a.py, [x.numel()], || x.contiguous()).map_err(raise)?),
            traced => traced,
        };
        view!(x, x => x.flatten(0, -1))
    };
}

fn transposed(a: &Arguments<'_, '_>, dims: [&str; 2]) -> PyResult<Value> {
    let (dim0, dim1) = (a.integer(dims[0])?, a.integer(dims[1])?);
    Ok(view!(a.value("input")?, x => x.transpose(dim0, dim1)))
}

/// The dimensions in reverse order.
pub(crate) fn reversed(value: Value) -> PyResult<Value> {
    let dims: Vec<isize> = (0..shape(&value)?.len() as isize).rev().collect();
    Ok(view!(value, x => x.permute(&dims)))
}

/// The last two dimensions swapped.
pub(crate) fn matrix_transposed(value: Value) -> PyResult<Value> {
    Ok(view!(value, x => x.matrix_transpose()))
}
