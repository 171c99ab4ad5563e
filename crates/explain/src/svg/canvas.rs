//! Owns `Canvas`, the elements of an SVG document as they are written: groups, paths, text, all of it escaped.
//! It does not know what is drawn, nor in which colours (`style.rs`).

use std::fmt::{self, Write as _};

use crate::markup::Escaped;

/// A length or a place in units of the document, written with one decimal at most.
pub(super) struct Number(pub(super) f64);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Integers are written several times as fast as floats, and a large picture has tens of thousands of numbers.
        let tenths = (self.0 * 10.0).round() as i64;
        let sign = if tenths < 0 { "-" } else { "" };
        let (whole, tenth) = (tenths.unsigned_abs() / 10, tenths.unsigned_abs() % 10);
        match tenth {
            0 => write!(f, "{sign}{whole}"),
            tenth => write!(f, "{sign}{whole}.{tenth}"),
        }
    }
}

/// Where a text stands in relation to its place.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// Elements of a document.
#[derive(Default)]
pub(super) struct Canvas {
    body: String,
}

impl Canvas {
    pub(super) fn finish(self) -> String {
        self.body
    }

    /// Opens a group; `attributes` are pairs of a name and a value.
    pub(super) fn open(&mut self, class: &str, attributes: &[(&str, &str)]) {
        write!(self.body, "<g class=\"{class}\"").expect("a String takes all text");
        for (name, value) in attributes {
            write!(self.body, " {name}=\"{}\"", Escaped(value)).expect("a String takes all text");
        }
        self.body.push('>');
    }

    /// What a pointer that rests on the group is told.
    pub(super) fn tooltip(&mut self, text: &str) {
        write!(self.body, "<title>{}</title>", Escaped(text)).expect("a String takes all text");
    }

    pub(super) fn close(&mut self) {
        self.body.push_str("</g>\n");
    }

    pub(super) fn path(&mut self, class: &str, path: &Path) {
        write!(self.body, "<path class=\"{class}\" d=\"{}\"/>", path.0).expect("a String takes all text");
    }

    pub(super) fn rect(&mut self, class: &str, [x, y, width, height]: [f64; 4]) {
        let [x, y, width, height] = [x, y, width, height].map(Number);
        write!(
            self.body,
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"4\"/>"
        )
        .expect("a String takes all text");
    }

    pub(super) fn text(&mut self, class: &str, (x, y): (f64, f64), anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let (x, y) = (Number(x), Number(y));
        write!(self.body, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\"{anchor}>{}</text>", Escaped(text))
            .expect("a String takes all text");
    }
}

/// The outline of any number of shapes.
#[derive(Default)]
pub(super) struct Path(String);

impl Path {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A closed shape through these points.
    pub(super) fn polygon(&mut self, points: &[(f64, f64)]) {
        self.line(points);
        self.0.push('z');
    }

    /// A line through these points.
    pub(super) fn line(&mut self, points: &[(f64, f64)]) {
        for (i, (x, y)) in points.iter().enumerate() {
            let command = if i == 0 { 'M' } else { 'L' };
            write!(self.0, "{command}{} {}", Number(*x), Number(*y)).expect("a String takes all text");
        }
    }
}
