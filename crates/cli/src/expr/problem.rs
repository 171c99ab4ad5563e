//! Owns the description of a mistake in a text that the user wrote, as data. It does not know how it is
//! drawn.

use std::ops::Range;

/// A range of bytes of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte after the last one.
    pub end: usize,
}

impl Span {
    /// The smallest span that covers both.
    pub fn to(self, last: Span) -> Span {
        Span { start: self.start, end: last.end }
    }

    /// The same part of a text with `offset` bytes more in front.
    #[must_use]
    pub fn shifted(self, offset: usize) -> Span {
        Span { start: self.start + offset, end: self.end + offset }
    }
}

impl From<Range<usize>> for Span {
    fn from(range: Range<usize>) -> Span {
        Span { start: range.start, end: range.end }
    }
}

/// A mistake and its span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong.
    pub message: String,
    /// Its span.
    pub span: Span,
    /// What to do instead, if there is advice.
    pub help: Option<String>,
}

impl Problem {
    /// A mistake at a span.
    pub fn new(message: impl Into<String>, span: Span) -> Problem {
        Problem { message: message.into(), span, help: None }
    }

    /// Adds advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Problem {
        self.help = Some(help.into());
        self
    }

    /// The same mistake in a text with `offset` bytes more in front.
    #[must_use]
    pub fn shifted(mut self, offset: usize) -> Problem {
        self.span = self.span.shifted(offset);
        self
    }
}
