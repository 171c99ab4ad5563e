//! Owns the views and other ways to see the same elements under another shape.

use pyo3::prelude::*;
use zerostride::Expr;

use super::rows;
use crate::arguments::{Arguments, Value};
use crate::error::raise;
use crate::threads::compute;

/// One expression for a tensor, whose views share its memory, and for a traced computation.
macro_rules! view {
    ($value:expr, $x:ident => $body:expr) => {
        match $value {
            Value::Tensor($x) => Value::Tensor($body.map_err(raise)?),
            Value::Traced($x) => Value::Traced(check($body)?),
        }
    };
}

/// A computation, or its error, at the line of the traced function that makes it.
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

rows! {
    /// Stretches dimensions of size 1 without copying, and adds dimensions in front; -1 keeps a size.
    Both "expand" "input, *size" |a| view!(a.value("input")?, x => x.expand(&a.sizes()?));
    /// Stretches the tensor to the shape of another one.
    Both "expand_as" "input, other" |a| {
        let shape = shape(&a.value("other")?)?;
        view!(a.value("input")?, x => x.broadcast_to(&shape))
    };
    /// Stretches the tensor to a shape, without copying: another name of `expand`.
    Both "broadcast_to" "input, *size" |a| view!(a.value("input")?, x => x.expand(&a.sizes()?));
    /// The same elements under other sizes, without copying where that is possible; -1 is inferred.
    Both "reshape" "input, *shape" |a| view!(a.value("input")?, x => x.reshape(&a.sizes()?));
    /// The same elements under other sizes, as a view; -1 is inferred.
    Method "view" "input, *shape" |a| match a.value("input")? {
        Value::Tensor(x) => Value::Tensor(x.view(&a.sizes()?).map_err(raise)?),
        Value::Traced(x) => Value::Traced(check(x.reshape(&a.sizes()?))?),
    };
    /// Adds a dimension of size 1.
    Both "unsqueeze" "input, dim" |a| view!(a.value("input")?, x => x.unsqueeze(a.integer("dim")?));
    /// Adds a dimension of size 1: the array API's name of `unsqueeze`.
    Function "expand_dims" "input, dim=0" |a| {
        view!(a.value("input")?, x => x.unsqueeze(a.integer_or("dim", 0)?))
    };
    /// Drops the dimensions of size 1, or those of the given ones whose size is 1.
    Both "squeeze" "input, dim=None" |a| match a.optional("dim") {
        Some(_) => view!(a.value("input")?, x => x.squeeze_dims(&a.integers("dim")?)),
        None => view!(a.value("input")?, x => x.squeeze()),
    };
    /// Reorders the dimensions.
    Both "permute" "input, *dims" |a| view!(a.value("input")?, x => x.permute(&a.sizes()?));
    /// Reorders the dimensions: the array API's name of `permute`.
    Function "permute_dims" "input, axes" |a| view!(a.value("input")?, x => x.permute(&a.integers("axes")?));
    /// Swaps two dimensions; or reorders all, as NumPy does, by a list of them, or by none into their reverse.
    Both "transpose" "input, dim0=None, dim1=None" |a| match (a.optional("dim0"), a.optional("dim1")) {
        (None, None) => reversed(a.value("input")?)?,
        (Some(_), None) => view!(a.value("input")?, x => x.permute(&a.integers("dim0")?)),
        _ => transposed(a, ["dim0", "dim1"])?,
    };
    /// Swaps two dimensions.
    Both "swapaxes" "input, axis0, axis1" |a| transposed(a, ["axis0", "axis1"])?;
    /// Swaps the dimensions of a matrix; fewer dimensions stay.
    Both "t" "input" |a| view!(a.value("input")?, x => x.t());
    /// Swaps the last two dimensions.
    Function "matrix_transpose" "input" |a| view!(a.value("input")?, x => x.matrix_transpose());
    /// Moves dimensions to other places.
    Both "movedim" "input, source, destination" |a| {
        view!(a.value("input")?, x => x.movedim(&a.integers("source")?, &a.integers("destination")?))
    };
    /// Moves dimensions to other places.
    Both "moveaxis" "input, source, destination" |a| {
        view!(a.value("input")?, x => x.movedim(&a.integers("source")?, &a.integers("destination")?))
    };
    /// Several dimensions as one.
    Both "flatten" "input, start_dim=0, end_dim=-1" |a| {
        view!(a.value("input")?, x => x.flatten(a.integer_or("start_dim", 0)?, a.integer_or("end_dim", -1)?))
    };
    /// All dimensions as one, with the elements next to each other.
    Both "ravel" "input" |a| {
        let x = match a.value("input")? {
            Value::Tensor(x) => Value::Tensor(compute(a.py, [x.numel()], || x.contiguous()).map_err(raise)?),
            traced => traced,
        };
        view!(x, x => x.flatten(0, -1))
    };
    /// The part of a dimension that starts at `start`.
    Both "narrow" "input, dim, start, length" |a| {
        let (dim, start, length) = (a.integer("dim")?, a.integer("start")?, a.integer("length")?);
        view!(a.value("input")?, x => x.narrow(dim, start, length))
    };
    /// One index of a dimension, which goes away.
    Both "select" "input, dim, index" |a| {
        view!(a.value("input")?, x => x.select(a.integer("dim")?, a.integer("index")?))
    };
    /// Reverses dimensions, as a view.
    Both "flip" "input, *dims" |a| view!(a.value("input")?, x => x.flip(&a.sizes()?));
    /// The diagonal of two dimensions, as the last dimension.
    Both "diagonal" "input, offset=0, dim1=0, dim2=1" |a| {
        let (offset, dims) = (a.integer_or("offset", 0)?, [a.integer_or("dim1", 0)?, a.integer_or("dim2", 1)?]);
        view!(a.value("input")?, x => x.diagonal(offset, dims[0], dims[1]))
    };
    /// All windows of a size along a dimension, as the last dimension.
    Method "unfold" "input, dimension, size, step" |a| {
        let (dim, size, step) = (a.integer("dimension")?, a.integer("size")?, a.integer("step")?);
        view!(a.value("input")?, x => x.unfold(dim, size, step))
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
