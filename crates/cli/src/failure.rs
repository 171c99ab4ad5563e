//! Owns what a command says when it cannot do what it was asked for, as data, and the exit status that goes
//! with it. It does not know how a failure is drawn (`report.rs`).

use std::io;
use std::process::ExitCode;

use zerostride::Error;
use zerostride_explain::Explanation;

use crate::expr::{Problem, Span};
use crate::interrupt;

/// Why a command failed.
pub(crate) enum Failure {
    /// Something to tell the user.
    Report(Box<Report>),
    /// The output has no reader any more: not worth a word.
    BrokenPipe,
}

/// What a command returns.
pub(crate) type Result<T = (), E = Failure> = std::result::Result<T, E>;

/// What there is to tell.
pub(crate) struct Report {
    /// The exit status.
    pub(crate) status: Status,
    /// The first line; for an error of the engine, PyTorch's.
    pub(crate) message: String,
    /// The text in which the mistake is.
    pub(crate) excerpt: Option<Excerpt>,
    /// What to do instead.
    pub(crate) help: Vec<String>,
    /// The shapes that do not go together.
    pub(crate) explanation: Option<Explanation>,
}

/// A part of a text that the user wrote.
pub(crate) struct Excerpt {
    pub(crate) text: String,
    pub(crate) span: Span,
}

/// How a command ends that does not do what it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// 0: nothing is wrong, but a dry run can tell no more.
    Unknown,
    /// 1: the shapes, or the dtypes, do not go together.
    Mismatch,
    /// 2: the command line is not understood, or a file cannot be read or written.
    Usage,
    /// A signal such as that of Ctrl-C asked for an end; the signal says which status that is
    /// (`interrupt.rs`).
    Interrupted,
}

impl Report {
    pub(crate) fn new(status: Status, message: impl Into<String>) -> Report {
        Report { status, message: message.into(), excerpt: None, help: Vec::new(), explanation: None }
    }

    /// A command line that is not understood.
    pub(crate) fn usage(message: impl Into<String>) -> Report {
        Report::new(Status::Usage, message)
    }

    /// A mistake in a text.
    pub(crate) fn in_text(problem: Problem, text: &str) -> Report {
        let Problem { message, span, help } = problem;
        Report { help: help.into_iter().collect(), ..Report::usage(message) }.excerpt(text, span)
    }

    /// An error of the engine.
    pub(crate) fn of_engine(error: &Error) -> Report {
        let status = match error.root() {
            Error::Io(_) | Error::OutOfMemory { .. } | Error::Memory { .. } => Status::Usage,
            Error::Interrupted => Status::Interrupted,
            _ => Status::Mismatch,
        };
        Report::new(status, error.to_string())
    }

    #[must_use]
    pub(crate) fn excerpt(self, text: &str, span: Span) -> Report {
        Report { excerpt: Some(Excerpt { text: text.to_owned(), span }), ..self }
    }

    #[must_use]
    pub(crate) fn help(mut self, help: impl Into<String>) -> Report {
        self.help.push(help.into());
        self
    }
}

impl From<Report> for Failure {
    fn from(report: Report) -> Failure {
        Failure::Report(Box::new(report))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Report::of_engine(&error).into()
    }
}

/// Of an output stream: files have errors of their own.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::BrokenPipe,
            _ => Report::usage(format!("cannot write the output: {error}")).into(),
        }
    }
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> ExitCode {
        match status {
            Status::Unknown => ExitCode::SUCCESS,
            Status::Mismatch => ExitCode::from(1),
            Status::Usage => ExitCode::from(2),
            Status::Interrupted => ExitCode::from(interrupt::status()),
        }
    }
}
