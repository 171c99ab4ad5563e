//! Owns the results of functions: memory is reserved for them, and a dry run replaces them by placeholders,
//! since the engine knows shapes and dtypes before it reads an element. It does not know the functions.

use zerostride::{DType, Result, Results, Tensor};

use super::value::{Part, Value};
use super::{Budget, Fault};
use crate::expr::{Problem, Span};

/// A placeholder of a shape and dtype: zeros, which take no memory until they are touched.
pub(crate) fn stand_in(shape: &[usize], dtype: DType) -> Result<Tensor> {
    Tensor::full(shape, 0, dtype)
}

/// A tensor whose elements the engine reads before it knows the result: in a dry run ones, which are right
/// for counts and weights and take the memory of one.
pub(super) fn read_at_once(
    tensor: Tensor,
    budget: &Budget,
) -> std::result::Result<Tensor, zerostride::Error> {
    match budget.is_dry() {
        true => Tensor::full(&[], 1, tensor.dtype())?.broadcast_to(tensor.shape()),
        false => Ok(tensor),
    }
}

/// The results of a function, after reserving memory; placeholders in a dry run.
pub(super) fn results(
    results: &Results,
    span: Span,
    budget: &Budget,
    run: impl FnOnce() -> Result<Vec<Tensor>>,
) -> std::result::Result<Value, Fault> {
    budget.take(results.bytes()).map_err(|message| Problem::new(message, span))?;
    let made = match (budget.is_dry(), results.known()) {
        (false, _) => run(),
        (true, Some(known)) => known.map(|(shape, dtype)| stand_in(shape, dtype)).collect(),
        (true, None) => return Err(Fault::Unknown(span)),
    };
    let mut made = made.map_err(|error| Fault::engine(error, span))?;
    match made.len() {
        1 => Ok(made.remove(0).into()),
        // An index selects one of several results.
        _ => {
            Ok(Value::Sequence(made.into_iter().map(|tensor| Part { value: tensor.into(), span }).collect()))
        }
    }
}
