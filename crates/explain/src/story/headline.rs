//! Owns the first lines: what broadcasts to what, or PyTorch's message and which operands are "tensor a" and
//! "tensor b" in it. It does not know the reasons, which the steps give.

use zerostride_ops::Class as OpClass;
use zerostride_shape::ShapeError;

use super::words::{listed, tuple};
use crate::explanation::Explanation;
use crate::lang::{Lang, say};

/// The first lines.
pub(crate) enum Headline {
    /// What broadcasts to what, in full and in two shorter forms.
    Broadcast([String; 3]),
    /// PyTorch's message, which is never wrapped or translated, so that it can be searched for.
    Error { line: String, who: Option<String> },
}

impl Headline {
    /// The line in full.
    pub(crate) fn line(&self) -> &str {
        match self {
            Headline::Broadcast([full, ..]) => full,
            Headline::Error { line, .. } => line,
        }
    }
}

pub(super) fn tell(explanation: &Explanation, lang: Lang) -> Headline {
    match explanation.error() {
        Some(error) => {
            Headline::Error { line: error.to_string(), who: tensors_a_and_b(explanation, error, lang) }
        }
        None => Headline::Broadcast(broadcast_to(explanation, lang)),
    }
}

fn broadcast_to(explanation: &Explanation, lang: Lang) -> [String; 3] {
    let expression = expression(explanation, lang);
    let shape = explanation.shape().map_or(&[][..], |shape| shape);
    let result = tuple(&explanation.result_sizes().unwrap_or_default());
    let shapes: Vec<String> = explanation.operands().iter().map(|operand| tuple(&operand.shape)).collect();
    let full = match shapes.len() {
        _ if explanation.options().reduction.is_some() => {
            say!(lang, "headline-reduced", expression = &*expression, result = &*result)
        }
        0 => say!(lang, "headline-of-none", expression = &*expression, result = &*result),
        1 => say!(lang, "headline-of-one", expression = &*expression, result = &*result),
        _ => {
            let shapes = shapes.join(&format!(" {} ", say!(lang, "and")));
            say!(lang, "headline", expression = &*expression, shapes = shapes, result = &*result)
        }
    };
    [
        full,
        say!(lang, "headline-short", expression = &*expression, result = result),
        say!(lang, "headline-shortest", expression = expression, ndim = shape.len().to_string()),
    ]
}

/// The operation as it is written: `a + b`, `a.add_(b)`, `where(a, b, c)`, or just the operands.
pub(crate) fn expression(explanation: &Explanation, lang: Lang) -> String {
    let names = explanation.names();
    let options = explanation.options();
    if let Some(expression) = &options.expression {
        return expression.clone();
    }
    let Some(info) = options.op.map(|op| op.info()) else {
        return match (names, options.in_place) {
            ([target, others @ ..], true) if !others.is_empty() => {
                say!(lang, "expression-in-place", target = &**target, others = listed(others, lang))
            }
            _ => listed(names, lang),
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

/// PyTorch calls the shape accumulated so far "a" and the operand that does not fit "b", whatever their names
/// are. Its dimension is an index into the result of the operands so far.
fn tensors_a_and_b(explanation: &Explanation, error: &ShapeError, lang: Lang) -> Option<String> {
    let names = explanation.names();
    let diagnostic = error.diagnostic();
    let (first, second) = diagnostic.operands?;
    let (a, b) = (names.get(first)?.as_str(), names.get(second)?.as_str());
    let ndim = explanation.operands().iter().map(|operand| operand.shape.len()).max()?;
    let dim = ndim.checked_sub(diagnostic.from_right? + 1)?;
    let own_words = names.len() == 2 && a == "a" && b == "b";
    match (own_words, diagnostic.dim == Some(dim)) {
        (true, _) => None,
        (false, true) => Some(say!(lang, "tensors-a-and-b", a = a, b = b)),
        (false, false) => Some(say!(lang, "tensors-a-and-b-dim", a = a, b = b, dim = dim.to_string())),
    }
}
