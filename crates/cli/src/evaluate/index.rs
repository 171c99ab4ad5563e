//! Owns the index of an expression, `x[1:3, None, mask]`: converts its items to the engine's, and reserves
//! memory for what index tensors select. It does not know how an index is written nor what its items mean
//! (`zerostride::Index`).

use zerostride::{Index, Results, Scalar};

use super::value::{Part, Value};
use super::{Budget, Fault, dry};
use crate::expr::{Problem, Span};
use crate::words::say;

/// One item of an index, its parts evaluated.
pub(super) enum Step {
    At(Part),
    Slice([Option<Part>; 3]),
    Ellipsis,
}

/// The value of an index: a tensor of a list, a view, or a copy of what index tensors select.
pub(super) fn apply(of: Part, steps: Vec<Step>, span: Span, budget: &Budget) -> Result<Value, Fault> {
    if let (Value::Sequence(parts), [Step::At(at)]) = (&of.value, &steps[..])
        && parts.first().is_some_and(|part| matches!(part.value, Value::Tensor(_)))
    {
        return among(parts, at);
    }
    let tensor = of.tensor()?;
    let items = steps.into_iter().map(|step| item(step, budget)).collect::<Result<Vec<_>, _>>()?;
    let engine = |error| Fault::engine(error, span);
    if !items.iter().any(|item| matches!(item, Index::Tensor(_))) {
        return Ok(tensor.index(&items).map_err(engine)?.into());
    }
    let tensor = dry::evaluated(Part { value: tensor.into(), span }, budget)?;
    let picked = Results::index(&tensor, &items).map_err(engine)?;
    dry::results(&picked, span, budget, || Ok(vec![tensor.index(&items)?]))
}

/// One of several tensors, such as the results of `sort`.
fn among(parts: &[Part], at: &Part) -> Result<Value, Fault> {
    let place = at.integer()?;
    let from_start = if place < 0 { place + parts.len() as isize } else { place };
    match usize::try_from(from_start).ok().and_then(|place| parts.get(place)) {
        Some(part) => Ok(part.value.clone()),
        None => {
            let message = say!("tensor-out-of-range", place = place.to_string(), count = parts.len());
            Err(Problem::new(message, at.span).into())
        }
    }
}

fn item(step: Step, budget: &Budget) -> Result<Index, Fault> {
    match step {
        Step::Ellipsis => Ok(Index::Ellipsis),
        Step::Slice(parts) => {
            let [start, stop, step] = parts.map(|part| part.map(bound).transpose().map(Option::flatten));
            Ok(Index::Slice { start: start?, stop: stop?, step: step?.unwrap_or(1) })
        }
        Step::At(part) => match part.value {
            Value::None => Ok(Index::NewDim),
            Value::Number(Scalar::Bool(flag)) => Ok(flag.into()),
            Value::Number(Scalar::Int(at)) => Ok(Index::At(saturated(at))),
            Value::Tensor(_) | Value::Sequence(_) => Ok(dry::evaluated(part, budget)?.into()),
            other => Err(Problem::new(say!("is-no-index", kind = other.kind()), part.span)
                .help(say!("indices"))
                .into()),
        },
    }
}

/// A bound or step of a slice; `None` is the same as a missing one.
fn bound(part: Part) -> Result<Option<isize>, Fault> {
    match part.value {
        Value::Number(Scalar::Int(value)) => Ok(Some(saturated(value))),
        Value::None => Ok(None),
        other => Err(Problem::new(say!("slice-of-integers", kind = other.kind()), part.span).into()),
    }
}

fn saturated(value: i64) -> isize {
    isize::try_from(value).unwrap_or(if value < 0 { isize::MIN } else { isize::MAX })
}
