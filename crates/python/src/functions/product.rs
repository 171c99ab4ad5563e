//! Owns matrix products, the transpose of broadcasting, and what returns two tensors.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use zerostride::Expr;

use super::rows;
use crate::arguments::{Arguments, Value};
use crate::error::raise;
use crate::operand::Given;
use crate::sequence::{self, Limit};
use crate::tensor;
use crate::threads::compute;

rows! {
    /// The matrix product; batch dimensions broadcast without copies.
    Both "matmul" "input, other" |a| {
        let (input, other) = (a.required("input")?, a.required("other")?);
        matmul(input, other)?.ok_or_else(|| a.misused("the factors must be tensors or arrays"))?
    };
    /// All products of an element of one vector and one of another.
    Both "outer" "input, vec2" |a| contracted(a, ["input", "vec2"], |x, y| x.outer(y))?;
    /// The sum of products along a dimension, the first factor conjugated.
    Function "vecdot" "x, y, *, dim=-1" |a| {
        let dim = a.integer_or("dim", -1)?;
        contracted(a, ["x", "y"], |x, y| x.vecdot(y, dim))?
    };
    /// The sum of products over the last dimensions of `a` and the first of `b`, or over two lists of dimensions.
    Function "tensordot" "a, b, dims=2" |a| tensordot(a)?;
    /// Sums what a broadcast from that shape has stretched: the transpose of `expand`.
    Method "sum_to_size" "input, *size" |a| {
        let size = a.counts()?;
        match a.value("input")? {
            Value::Tensor(x) => {
                Value::Tensor(compute(a.py, [x.numel()], || x.sum_to_size(&size)).map_err(raise)?)
            }
            Value::Traced(x) => Value::Traced(x.sum_to_size(&size)),
        }
    };
    /// The mantissa in [0.5, 1) and the power of 2 of each element.
    Both "frexp" "input" |a| {
        let (mantissa, exponent) = a.tensor("input")?.frexp().map_err(raise)?;
        let pair = [tensor::object(a.py, mantissa)?, tensor::object(a.py, exponent)?];
        PyTuple::new(a.py, pair)?.into_any()
    };
}

/// The matrix product; `None` where an operand is of no use.
pub(crate) fn matmul(a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>) -> PyResult<Option<Value>> {
    let (Some(x), Some(y)) = (Given::new(a)?, Given::new(b)?) else { return Ok(None) };
    let product = x.expr().matmul(y.expr());
    product.shape().map_err(|error| raise(error.root().clone()))?;
    if x.is_traced() || y.is_traced() {
        return Ok(Some(Value::Traced(product)));
    }
    let product = compute(a.py(), [x.numel(), y.numel()], || product.eval()).map_err(raise)?;
    Ok(Some(Value::Tensor(product)))
}

/// A product of two factors, at once or as part of a traced computation.
fn contracted(
    a: &Arguments<'_, '_>,
    factors: [&str; 2],
    product: impl FnOnce(Expr, Expr) -> Expr,
) -> PyResult<Value> {
    let factors = [a.value(factors[0])?, a.value(factors[1])?];
    let traced = factors.iter().any(|factor| matches!(factor, Value::Traced(_)));
    let [x, y] = factors.map(|factor| match factor {
        Value::Tensor(tensor) => Expr::from(tensor),
        Value::Traced(expr) => expr,
    });
    let product = product(x, y);
    let numel = product.shape().map_err(|error| raise(error.root().clone()))?.iter().product();
    if traced {
        return Ok(Value::Traced(product));
    }
    compute(a.py, [numel], || product.eval()).map(Value::Tensor).map_err(|error| raise(error.root().clone()))
}

fn tensordot(a: &Arguments<'_, '_>) -> PyResult<Value> {
    let Some(dims) = a.optional("dims") else { return over_last(a, 2) };
    if let Some(count) = sequence::integer(dims)? {
        return over_last(a, count);
    }
    let wrong = || a.misused("`dims` must be an integer, or two lists of dimensions");
    let lists = sequence::items(dims, Limit::Rank)?;
    let [own, theirs] = &lists[..] else { return Err(wrong()) };
    // A number stands for a list of one.
    let list = |list| match sequence::integer(list)? {
        Some(dim) => Ok(vec![dim]),
        None => sequence::integers(list, Limit::Rank)?.ok_or_else(wrong),
    };
    let (own, theirs) = (list(own)?, list(theirs)?);
    contracted(a, ["a", "b"], |x, y| x.tensordot(y, &own, &theirs))
}

/// Contracts the last dimensions of the first factor with the first of the second.
fn over_last(a: &Arguments<'_, '_>, count: isize) -> PyResult<Value> {
    let refused = |what: String| PyRuntimeError::new_err(what);
    if count < 0 {
        return Err(refused(format!("tensordot expects dims >= 0, but got dims={count}")));
    }
    let ndim = |name: &str| match a.value(name)? {
        Value::Tensor(tensor) => Ok(tensor.ndim() as isize),
        Value::Traced(expr) => expr.shape().map(|shape| shape.len() as isize).map_err(raise),
    };
    let own = ndim("a")?;
    if count > own.min(ndim("b")?) {
        return Err(refused(format!("tensordot expects dims < ndim_a or ndim_b, but got dims={count}")));
    }
    let (last, first): (Vec<isize>, Vec<isize>) = ((own - count..own).collect(), (0..count).collect());
    contracted(a, ["a", "b"], |x, y| x.tensordot(y, &last, &first))
}
