//! Owns `Canvas`, the elements of an SVG document that is being written: groups, paths, text, all escaped. It
//! does not know what is drawn nor the colours (`style.rs`).

use std::fmt;

use crate::markup::push_escaped;

/// A length or coordinate in the document's units, written with at most one decimal.
pub(super) struct Number(pub(super) f64);

impl Number {
    /// Appends the digits to a text. A large picture has tens of thousands of numbers, for which `write!`
    /// would take longer than all the rest.
    fn push_to(&self, text: &mut String) {
        let tenths = (self.0 * 10.0).round() as i64;
        let (whole, tenth) = (tenths.unsigned_abs() / 10, tenths.unsigned_abs() % 10);
        let mut digits = itoa::Buffer::new();
        text.push_str(if tenths < 0 { "-" } else { "" });
        text.push_str(digits.format(whole));
        if tenth > 0 {
            text.push('.');
            text.push_str(digits.format(tenth));
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.push_to(&mut text);
        f.write_str(&text)
    }
}

/// The alignment of a text at its point.
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
        self.body.extend(["<g class=\"", class, "\""]);
        for (name, value) in attributes {
            self.body.extend([" ", name, "=\""]);
            push_escaped(value, &mut self.body);
            self.body.push('"');
        }
        self.body.push('>');
    }

    /// The tooltip of the group.
    pub(super) fn tooltip(&mut self, text: &str) {
        self.body.push_str("<title>");
        push_escaped(text, &mut self.body);
        self.body.push_str("</title>");
    }

    pub(super) fn close(&mut self) {
        self.body.push_str("</g>\n");
    }

    pub(super) fn path(&mut self, class: &str, path: &Path) {
        self.body.extend(["<path class=\"", class, "\" d=\"", &path.0, "\"/>"]);
    }

    pub(super) fn rect(&mut self, class: &str, [x, y, width, height]: [f64; 4]) {
        self.body.extend(["<rect class=\"", class]);
        self.numbers([("\" x=\"", x), ("\" y=\"", y), ("\" width=\"", width), ("\" height=\"", height)]);
        self.body.push_str("\" rx=\"4\"/>");
    }

    pub(super) fn text(&mut self, class: &str, (x, y): (f64, f64), anchor: Anchor, text: &str) {
        self.body.extend(["<text class=\"", class]);
        self.numbers([("\" x=\"", x), ("\" y=\"", y)]);
        self.body.push_str(match anchor {
            Anchor::Start => "\">",
            Anchor::Middle => "\" text-anchor=\"middle\">",
            Anchor::End => "\" text-anchor=\"end\">",
        });
        push_escaped(text, &mut self.body);
        self.body.push_str("</text>");
    }

    /// Numbers, each after its prefix.
    fn numbers<const N: usize>(&mut self, numbers: [(&str, f64); N]) {
        for (lead, number) in numbers {
            self.body.push_str(lead);
            Number(number).push_to(&mut self.body);
        }
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
            self.0.push(if i == 0 { 'M' } else { 'L' });
            Number(*x).push_to(&mut self.0);
            self.0.push(' ');
            Number(*y).push_to(&mut self.0);
        }
    }
}
