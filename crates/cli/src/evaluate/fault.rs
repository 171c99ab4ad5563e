//! Owns what can go wrong while an expression is evaluated, and how it becomes a report about the
//! expression's text.

use zerostride::{Category, Error, Op, OpError, ShapeError};
use zerostride_explain::{Explanation, Operand, Options};
use zerostride_ops::Domain;

use crate::expr::{Kind, Problem, Span, parse};
use crate::failure::{Report, Status};
use crate::policy;

/// What went wrong, and where.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The text is at fault.
    Text(Problem),
    /// The engine refuses.
    Engine(Box<Refusal>),
    /// Nothing is wrong, but a dry run can tell no more: the shape of this part depends on elements.
    Unknown(Span),
}

/// An error of the engine, and the part of the expression that made it.
#[derive(Debug)]
pub(crate) struct Refusal {
    error: Error,
    span: Span,
    /// Whether it is about how an operation is called and not about its operands.
    misuse: bool,
    op: Option<Op>,
    in_place: bool,
    /// Shapes of the operands and where they stand.
    operands: Vec<(Vec<usize>, Span)>,
}

impl From<Problem> for Fault {
    fn from(problem: Problem) -> Fault {
        Fault::Text(problem)
    }
}

impl Fault {
    /// An error of the engine.
    pub(crate) fn engine(error: Error, span: Span) -> Fault {
        let (op, in_place, operands) = (None, false, Vec::new());
        Fault::Engine(Box::new(Refusal { error, span, misuse: false, op, in_place, operands }))
    }

    /// An error of the engine about arguments that no operand could make right.
    pub(super) fn misuse(error: Error, span: Span) -> Fault {
        match Fault::engine(error, span) {
            Fault::Engine(refusal) => Fault::Engine(Box::new(Refusal { misuse: true, ..*refusal })),
            other => other,
        }
    }

    /// Adds what is known of the operands, for a diagnosis of shapes that do not go together.
    #[must_use]
    pub(super) fn with_operands(self, op: Op, in_place: bool, operands: Vec<(Vec<usize>, Span)>) -> Fault {
        match self {
            Fault::Engine(refusal) => {
                Fault::Engine(Box::new(Refusal { op: Some(op), in_place, operands, ..*refusal }))
            }
            other => other,
        }
    }

    /// What to tell the user, whose expression is `source`.
    pub(crate) fn report(self, source: &str) -> Report {
        match self {
            Fault::Text(problem) => Report::in_text(problem, source),
            Fault::Unknown(span) => {
                let message = "the shape of this depends on elements, which a dry run does not compute: \
                               nothing is known of what follows";
                Report::new(Status::Unknown, message).excerpt(source, span)
            }
            Fault::Engine(refusal) => {
                if let Error::Policy(objection) = refusal.error.root() {
                    return policy::report(objection, source);
                }
                let report = refused(&refusal.error).excerpt(source, refusal.span);
                Report {
                    status: if refusal.misuse { Status::Usage } else { report.status },
                    explanation: refusal.explanation(source),
                    ..report
                }
            }
        }
    }
}

/// An error of the engine, with what is worth adding to it.
pub(crate) fn refused(error: &Error) -> Report {
    let report = Report::of_engine(error);
    match advice(error) {
        Some(advice) => report.help(advice),
        None => report,
    }
}

/// What is worth adding to PyTorch's line.
fn advice(error: &Error) -> Option<&'static str> {
    match error.root() {
        Error::Op(OpError::Promotion { .. } | OpError::Mixed { .. }) => {
            Some("convert one of them, as in x.to('i64')")
        }
        Error::Op(OpError::Unsupported { op, dtype }) => match (op.info().domain, dtype.category()) {
            // These lines say themselves what to write.
            (Domain::numeric, _) => None,
            (Domain::integral | Domain::integer, _) => Some("convert the operand, as in x.to('i64')"),
            (_, Category::Bool | Category::Int) => Some("convert the operand, as in x.to('f32')"),
            _ => None,
        },
        Error::Op(OpError::NotBool { .. }) => Some("a comparison such as `x > 0` makes a mask"),
        _ => None,
    }
}

/// What an operand is called in the explanation: by its text, if that is short enough for a table.
pub(crate) fn operand_name(source: &str, span: Span) -> Option<String> {
    let text = &source[span.start..span.end];
    if text.len() > 16 || text.contains('\n') {
        return None;
    }
    // Parentheses belong to no part, but `(a + b).t()` needs them.
    let ast = parse(text).ok()?;
    Some(match ast[ast.root()].kind {
        Kind::Unary(..) | Kind::Binary(..) => format!("({text})"),
        _ => text.to_owned(),
    })
}

impl Refusal {
    /// The shapes lined up, if that is what was wrong.
    fn explanation(&self, source: &str) -> Option<Explanation> {
        let Error::Shape(error) = self.error.root() else { return None };
        if !matches!(error, ShapeError::Incompatible { .. } | ShapeError::InPlace { .. }) {
            return None;
        }
        let operand = |(shape, span): &(Vec<usize>, Span)| Operand {
            name: operand_name(source, *span),
            ..Operand::new(shape)
        };
        let operands = self.operands.iter().map(operand);
        let options = Options { op: self.op, in_place: self.in_place, ..Options::default() };
        let explanation = Explanation::new(operands.collect(), options);
        // A formula may fail on shapes between its own: then the operands alone tell another story, or none.
        (explanation.error() == Some(error)).then_some(explanation)
    }
}
