//! Owns what can go wrong while an expression is evaluated, and the report about the expression's text that
//! it becomes. It does not know how a report is drawn.

use zerostride::{Category, Error, Op, OpError, ShapeError};
use zerostride_explain::{Explanation, Operand, Options};
use zerostride_ops::Domain;

use crate::expr::{Problem, Span};
use crate::failure::{Report, Status};
use crate::operand_name::operand_name;
use crate::policy;
use crate::words::say;

/// What went wrong, and where.
#[derive(Debug)]
pub(crate) enum Fault {
    /// A mistake in the text.
    Text(Problem),
    /// An error of the engine.
    Engine(Box<Refusal>),
    /// No mistake, but a dry run cannot continue: the shape of this part depends on elements.
    Unknown(Span),
}

/// An error of the engine, and the part of the expression that caused it.
#[derive(Debug)]
pub(crate) struct Refusal {
    error: Error,
    span: Span,
    /// Whether it is about the call, rather than its operands.
    misuse: bool,
    op: Option<Op>,
    in_place: bool,
    /// The shapes of the operands and their spans.
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

    /// An error of the engine about arguments, which other operands would not change.
    pub(super) fn misuse(error: Error, span: Span) -> Fault {
        match Fault::engine(error, span) {
            Fault::Engine(refusal) => Fault::Engine(Box::new(Refusal { misuse: true, ..*refusal })),
            other => other,
        }
    }

    /// Adds the operands, for the explanation of shapes that do not broadcast.
    #[must_use]
    pub(super) fn with_operands(self, op: Op, in_place: bool, operands: Vec<(Vec<usize>, Span)>) -> Fault {
        match self {
            Fault::Engine(refusal) => {
                Fault::Engine(Box::new(Refusal { op: Some(op), in_place, operands, ..*refusal }))
            }
            other => other,
        }
    }

    /// The report for the user, whose expression is `source`.
    pub(crate) fn report(self, source: &str) -> Report {
        match self {
            Fault::Text(problem) => Report::in_text(problem, source),
            Fault::Unknown(span) => {
                Report::new(Status::Unknown, say!("shape-depends-on-elements")).excerpt(source, span)
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

/// The report of an error of the engine, with advice if there is any.
pub(crate) fn refused(error: &Error) -> Report {
    let report = Report::of_engine(error);
    match advice(error) {
        Some(advice) => report.help(advice),
        None => report,
    }
}

/// Advice that is added to PyTorch's message.
fn advice(error: &Error) -> Option<String> {
    match error.root() {
        Error::Op(OpError::Promotion { .. } | OpError::Mixed { .. }) => Some(say!("convert-one")),
        Error::Op(OpError::Unsupported { op, dtype }) => match (op.info().domain, dtype.category()) {
            // These messages say themselves what to write.
            (Domain::numeric, _) => None,
            (Domain::integral | Domain::integer, _) => Some(say!("convert-operand", call = "x.to(i64)")),
            (_, Category::Bool | Category::Int) => Some(say!("convert-operand", call = "x.to(f64)")),
            _ => None,
        },
        Error::Op(OpError::NotBool { .. }) => Some(say!("comparison-makes-mask")),
        _ => None,
    }
}

impl Refusal {
    /// The explanation of the shapes, if they are the cause.
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
        // A formula may fail on shapes of its intermediate results. Then the operands would give another
        // error, or none.
        (explanation.error() == Some(error)).then_some(explanation)
    }
}
