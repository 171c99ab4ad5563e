//! Owns indexing: `x[0]`, `x[1:3]`, `x[:, None]`, `x[..., ::-1]`, as views. It does not know how an index is written.

use zerostride::{Error, ErrorClass, Expr, Scalar};

use super::Fault;
use super::value::{Part, Value};
use crate::expr::{Problem, Span};

/// One item of an index, its parts evaluated.
pub(super) enum Step {
    At(Part),
    Slice([Option<Part>; 3]),
    Ellipsis(Span),
}

/// The view of a tensor that an index stands for.
pub(super) fn apply(tensor: Expr, steps: Vec<Step>, span: Span) -> Result<Expr, Fault> {
    let ndim = tensor.shape().map_err(|error| Fault::engine(error, span))?.len();
    let takes_dim = |step: &&Step| match step {
        Step::At(part) => !matches!(part.value, Value::None),
        Step::Slice(_) => true,
        Step::Ellipsis(_) => false,
    };
    let taken = steps.iter().filter(takes_dim).count();
    if taken > ndim {
        let message = format!("too many indices for tensor of dimension {ndim}");
        return Err(Fault::engine(Error::Argument { class: ErrorClass::Index, message }, span));
    }
    let mut view = tensor;
    let mut dim = 0;
    let mut skipped = false;
    for step in steps {
        match step {
            Step::At(Part { value: Value::None, .. }) => {
                view = view.unsqueeze(dim);
                dim += 1;
            }
            Step::At(part) => view = select(&view, dim, part)?,
            Step::Slice(parts) => {
                let [start, stop, step] = parts.map(|part| part.map(bound).transpose().map(Option::flatten));
                let (start, stop, step) = (start?, stop?, step?.unwrap_or(1));
                // A bare `:` leaves the dimension as it is.
                if (start, stop, step) != (None, None, 1) {
                    view = view.slice(dim, start, stop, step);
                }
                dim += 1;
            }
            Step::Ellipsis(_) if !skipped => {
                dim += (ndim - taken) as isize;
                skipped = true;
            }
            Step::Ellipsis(span) => {
                return Err(Problem::new("an index has one `...` at most", span).into());
            }
        }
        view.shape().map_err(|error| Fault::engine(error, span))?;
    }
    Ok(view)
}

fn select(view: &Expr, dim: isize, part: Part) -> Result<Expr, Fault> {
    let Value::Number(Scalar::Int(index)) = part.value else {
        return Err(Problem::new(format!("{} is not an index", part.value.kind()), part.span)
            .help("an index is an integer, a slice, None or `...`; to choose by a mask, write where(mask, x, 0)")
            .into());
    };
    let size = view.shape().map_err(|error| Fault::engine(error, part.span))?[dim as usize];
    let inside = if index < 0 { index.unsigned_abs() <= size as u64 } else { (index as u64) < size as u64 };
    if !inside {
        let message = format!("index {index} is out of bounds for dimension {dim} with size {size}");
        return Err(Fault::engine(Error::Argument { class: ErrorClass::Index, message }, part.span));
    }
    Ok(view.select(dim, index as isize))
}

/// A bound or step of a slice; `None` is the same as nothing.
fn bound(part: Part) -> Result<Option<isize>, Fault> {
    match part.value {
        Value::Number(Scalar::Int(value)) => {
            Ok(Some(isize::try_from(value).unwrap_or(if value < 0 { isize::MIN } else { isize::MAX })))
        }
        Value::None => Ok(None),
        other => {
            Err(Problem::new(format!("the parts of a slice are integers, not {}", other.kind()), part.span)
                .into())
        }
    }
}
