//! Owns the failures of commands, as data, with their exit status. It does not know how a failure is drawn
//! (`report.rs`).

use std::io;
use std::process::ExitCode;

use zerostride::Error;
use zerostride_explain::Explanation;

use crate::expr::{Problem, Span};
use crate::interrupt;
use crate::words::{engine, say};

/// Why a command failed.
pub(crate) enum Failure {
    /// A report for the user.
    Report(Box<Report>),
    /// The output's reader has closed it: nothing is reported.
    BrokenPipe,
}

/// What a command returns.
pub(crate) type Result<T = (), E = Failure> = std::result::Result<T, E>;

/// What a failure tells the user.
pub(crate) struct Report {
    /// The exit status.
    pub(crate) status: Status,
    /// The first line, in the user's language.
    pub(crate) message: String,
    /// The text that the mistake is in.
    pub(crate) excerpt: Option<Excerpt>,
    /// What to do instead.
    pub(crate) help: Vec<String>,
    /// The shapes that do not broadcast.
    pub(crate) explanation: Option<Explanation>,
}

/// A part of a text that the user wrote.
pub(crate) struct Excerpt {
    pub(crate) text: String,
    pub(crate) span: Span,
}

/// The exit status of a command that does not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// 0: no mistake, but a dry run cannot continue.
    Unknown,
    /// 1: the shapes or dtypes do not fit.
    Mismatch,
    /// 2: the command line is wrong, or a file cannot be read or written.
    Usage,
    /// A signal such as Ctrl-C ended the command; the status depends on the signal (`interrupt.rs`).
    Interrupted,
}

impl Report {
    pub(crate) fn new(status: Status, message: impl Into<String>) -> Report {
        Report { status, message: message.into(), excerpt: None, help: Vec::new(), explanation: None }
    }

    /// A mistake in the command line.
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
            Error::Io(_) | Error::OutOfMemory { .. } | Error::OutOfScratch { .. } | Error::Memory { .. } => {
                Status::Usage
            }
            Error::Interrupted => Status::Interrupted,
            _ => Status::Mismatch,
        };
        Report::new(status, engine::of(error))
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

/// For output streams: errors of files are reported elsewhere.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::BrokenPipe,
            _ => Report::usage(say!("output-unwritable", error = engine::of_system(&error))).into(),
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
