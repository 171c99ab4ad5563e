//! Owns the first lines: what broadcasts to what, or PyTorch's line and who "tensor a" and "tensor b" are.
//! It does not know the reasons, which the steps give.

use zerostride_ops::Class as OpClass;
use zerostride_shape::{Shape, ShapeError};

use super::sheet::{Ink, Line, Sheet, width};
use super::words::{listed, tuple};
use crate::explanation::Explanation;

pub(super) fn write(explanation: &Explanation, sheet: &mut Sheet) {
    match (explanation.error(), explanation.shape()) {
        (Some(error), _) => {
            // The line is not wrapped, so that it can be searched for.
            sheet.line(&Line::new().with(Ink::Wrong, error.to_string()));
            if let Some(who) = tensors_a_and_b(explanation, error) {
                sheet.paragraph(&Line::new(), Ink::Faint, &who);
            }
        }
        (None, Some(shape)) => {
            let [full, shorter, shortest] = broadcast_to(explanation, shape);
            let fitting = [full, shorter].into_iter().find(|text| width(text) <= sheet.width());
            sheet.title(&fitting.unwrap_or(shortest));
        }
        (None, None) => {}
    }
}

/// What broadcasts to what, in full and then ever shorter.
fn broadcast_to(explanation: &Explanation, shape: &Shape) -> [String; 3] {
    let expression = expression(explanation);
    let shapes: Vec<String> = explanation.operands().iter().map(|operand| tuple(&operand.shape)).collect();
    let full = match &shapes[..] {
        [] => format!("{expression}: the shape of nothing is {}", tuple(shape)),
        [only] => format!("{expression}: {only} stays as it is"),
        shapes => format!("{expression}: {} broadcast to {}", shapes.join(" and "), tuple(shape)),
    };
    [
        full,
        format!("{expression}: the shapes broadcast to {}", tuple(shape)),
        format!("{expression}: the shapes broadcast to {} dimensions", shape.ndim()),
    ]
}

/// The operation as it is written: `a + b`, `a.add_(b)`, `where(a, b, c)`, or just the operands.
pub(super) fn expression(explanation: &Explanation) -> String {
    let names = explanation.names();
    let options = explanation.options();
    let Some(info) = options.op.map(|op| op.info()) else {
        return match (names, options.in_place) {
            ([target, others @ ..], true) if !others.is_empty() => {
                format!("{target}, written in place from {}", listed(others))
            }
            _ => listed(names),
        };
    };
    match (names, info.symbol) {
        ([target, others @ ..], _) if options.in_place => match info.in_place {
            Some(method) => format!("{target}.{method}({})", others.join(", ")),
            None => format!("{}({}, out={target})", info.name, names.join(", ")),
        },
        ([left, right], Some(symbol)) if info.class == OpClass::Binary => format!("{left} {symbol} {right}"),
        _ => format!("{}({})", info.name, names.join(", ")),
    }
}

/// PyTorch calls the shape accumulated so far "a" and the operand that does not fit "b", whatever their names are, and
/// counts dimensions among the operands read so far.
fn tensors_a_and_b(explanation: &Explanation, error: &ShapeError) -> Option<String> {
    let names = explanation.names();
    let diagnostic = error.diagnostic();
    let (first, second) = diagnostic.operands?;
    let (a, b) = (names.get(first)?, names.get(second)?);
    let ndim = explanation.operands().iter().map(|operand| operand.shape.len()).max()?;
    let dim = ndim.checked_sub(diagnostic.from_right? + 1)?;
    let own_words = names.len() == 2 && a == "a" && b == "b";
    match (own_words, diagnostic.dim == Some(dim)) {
        (true, _) => None,
        (false, true) => Some(format!("Here \"tensor a\" is {a} and \"tensor b\" is {b}.")),
        (false, false) => Some(format!(
            "Here \"tensor a\" is {a}, \"tensor b\" is {b}, and the dimension is dim {dim} below."
        )),
    }
}
