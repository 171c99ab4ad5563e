//! Owns what is paid for what functions make, and what a dry run makes of it: the engine knows the shapes and
//! dtypes of results before it touches an element, and stand-ins take their place.

use zerostride::{DType, Result, Results, Tensor};

use super::value::{Part, Value};
use super::{Budget, Fault};
use crate::expr::{Problem, Span};

/// A tensor of a shape and dtype whose elements mean nothing: zeros, which take no memory until they are
/// touched.
pub(crate) fn stand_in(shape: &[usize], dtype: DType) -> Result<Tensor> {
    Tensor::full(shape, 0, dtype)
}

/// The results of a function, paid for, then made, unless this is a dry run.
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
        // An index chooses one of several.
        _ => {
            Ok(Value::Sequence(made.into_iter().map(|tensor| Part { value: tensor.into(), span }).collect()))
        }
    }
}
