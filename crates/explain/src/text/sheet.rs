//! Owns `Sheet`, the page that is being written: styled spans, wrapping, and the few characters that have an
//! ASCII form. It does not know what is written.

use std::borrow::Cow;
use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};

use super::page::Page;
use crate::story::words::harmless;

/// The narrowest page that is laid out.
const MIN_WIDTH: usize = 40;

/// The role of a piece of text, which decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ink {
    Plain,
    Title,
    Faint,
    Stretched,
    Added,
    Wrong,
    Good,
}

impl Ink {
    fn style(self) -> Style {
        let colour = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
        match self {
            Ink::Plain => Style::new(),
            Ink::Title => Style::new().bold(),
            Ink::Faint => Style::new().dimmed(),
            Ink::Stretched => colour(AnsiColor::Cyan),
            Ink::Added => colour(AnsiColor::Magenta),
            Ink::Wrong => colour(AnsiColor::Red).bold(),
            Ink::Good => colour(AnsiColor::Green).bold(),
        }
    }
}

/// The characters that a page draws with.
#[derive(Clone, Copy)]
pub(super) struct Signs {
    pub(super) arrow: &'static str,
    pub(super) missing: &'static str,
    pub(super) rule: &'static str,
    pub(super) wrong: &'static str,
    pub(super) cut: &'static str,
}

const UNICODE: Signs = Signs { arrow: "→", missing: "·", rule: "─", wrong: "✗", cut: "…" };
const ASCII: Signs = Signs { arrow: "->", missing: ".", rule: "-", wrong: "x", cut: ".." };

/// One line, as styled pieces.
#[derive(Clone, Default)]
pub(super) struct Line<'a>(Vec<(Ink, Cow<'a, str>)>);

impl<'a> Line<'a> {
    pub(super) fn new() -> Line<'a> {
        Line::default()
    }

    /// A line that begins with blanks.
    pub(super) fn indent(number: usize) -> Line<'a> {
        Line::new().with(Ink::Plain, blanks(number))
    }

    pub(super) fn push(&mut self, ink: Ink, text: impl Into<Cow<'a, str>>) {
        self.0.push((ink, text.into()));
    }

    /// The line with another piece.
    pub(super) fn with(mut self, ink: Ink, text: impl Into<Cow<'a, str>>) -> Line<'a> {
        self.push(ink, text);
        self
    }

    /// Continues with another line's pieces.
    pub(super) fn append(&mut self, other: Line<'a>) {
        self.0.extend(other.0);
    }

    /// Fills up with blanks to a width.
    pub(super) fn pad_to(&mut self, width: usize) {
        self.push(Ink::Plain, blanks(width.saturating_sub(self.width())));
    }

    pub(super) fn width(&self) -> usize {
        self.0.iter().map(|(_, text)| width(text)).sum()
    }
}

/// A text of so many blanks.
pub(super) fn blanks(number: usize) -> Cow<'static, str> {
    const SOME: &str = "                                                                ";
    SOME.get(..number).map_or_else(|| " ".repeat(number).into(), Cow::Borrowed)
}

/// The width of a text in columns: one for each character.
pub(super) fn width(text: &str) -> usize {
    text.chars().count()
}

/// The page that is being written.
pub(super) struct Sheet {
    width: usize,
    colour: bool,
    pub(super) signs: Signs,
    text: String,
}

impl Sheet {
    pub(super) fn new(page: &Page) -> Sheet {
        let signs = if page.unicode { UNICODE } else { ASCII };
        Sheet { width: page.width.max(MIN_WIDTH), colour: page.colour, signs, text: String::new() }
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Leaves a line empty before what comes next.
    pub(super) fn blank(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    /// Writes a line without its trailing blanks. Control characters, which only names can contain, are
    /// replaced.
    pub(super) fn line(&mut self, line: &Line<'_>) {
        let inked = line.0.iter().rposition(|(_, text)| !text.trim_end().is_empty());
        let pieces = inked.map_or(0, |last| last + 1);
        for (i, (ink, text)) in line.0[..pieces].iter().enumerate() {
            let text = if i + 1 == pieces { text.trim_end() } else { &**text };
            let harmless = text.chars().map(harmless);
            if self.colour && *ink != Ink::Plain {
                let style = ink.style();
                let text: String = harmless.collect();
                write!(self.text, "{style}{text}{style:#}").expect("a String takes all text");
            } else {
                self.text.extend(harmless);
            }
        }
        self.text.push('\n');
    }

    /// A title, after an empty line.
    pub(super) fn title(&mut self, text: &str) {
        self.blank();
        self.paragraph(&Line::new(), Ink::Title, text);
    }

    /// A wrapped paragraph: its first line begins with `lead`, the others with as many blanks.
    pub(super) fn paragraph(&mut self, lead: &Line<'_>, ink: Ink, text: &str) {
        let start = lead.width();
        let room = self.width.saturating_sub(start).max(MIN_WIDTH / 2);
        for (i, words) in wrap(text, room).into_iter().enumerate() {
            let line = if i == 0 { lead.clone() } else { Line::indent(start) };
            self.line(&line.with(ink, words));
        }
    }

    /// The text, ended by one line break.
    pub(super) fn finish(mut self) -> String {
        self.text.truncate(self.text.trim_end_matches('\n').len());
        self.text.push('\n');
        self.text
    }
}

/// Breaks a text at its blanks into lines of at most `room` columns; a longer word stands alone.
pub(super) fn wrap(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split(' ') {
        let needed = width(word);
        if used > 0 && used + 1 + needed > room {
            lines.push(String::new());
            used = 0;
        }
        if let Some(line) = lines.last_mut() {
            if used > 0 {
                line.push(' ');
                used += 1;
            }
            line.push_str(word);
            used += needed;
        }
    }
    lines
}
