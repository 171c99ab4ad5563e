//! Owns matrix products, the transpose of broadcasting, and what returns two tensors.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::rows;
use crate::arguments::Value;
use crate::error::raise;
use crate::operand::Given;
use crate::tensor;
use crate::threads::compute;

rows! {
    /// The matrix product; batch dimensions broadcast without copies.
    Both "matmul" "input, other" |a| {
        let (input, other) = (a.required("input")?, a.required("other")?);
        matmul(input, other)?.ok_or_else(|| a.misused("the factors must be tensors or arrays"))?
    };
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
