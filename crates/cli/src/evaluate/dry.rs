//! Owns the operands and results of functions: memory is reserved for them, and a dry run replaces them by
//! placeholders, since the engine knows shapes and dtypes before it reads an element. It does not know the
//! functions.

use std::slice;

use zerostride::stream::Passes;
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

/// Computes a part's elements, after reserving their memory: functions that move elements read them at once.
pub(super) fn evaluated(part: Part, budget: &Budget) -> std::result::Result<Tensor, Fault> {
    let span = part.span;
    let expr = part.tensor()?;
    let engine = |error| Fault::engine(error, span);
    let (shape, dtype) = (expr.shape().map_err(engine)?, expr.dtype().map_err(engine)?);
    budget.take_tensor(shape, dtype).map_err(|message| Problem::new(message, span))?;
    let passes = expr.has_inputs().then(|| expr.passes_in_memory(None)).transpose().map_err(engine)?;
    budget.note_read(passes.as_ref().map_or(0, Passes::bytes_read));
    if budget.is_dry() {
        zerostride::policy::check(&expr).map_err(engine)?;
        return stand_in(shape, dtype).map_err(engine);
    }
    let in_memory = || budget.moved(slice::from_ref(&expr))?.swap_remove(0).eval();
    passes.map_or_else(in_memory, |passes| passes.run(None)).map_err(engine)
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
