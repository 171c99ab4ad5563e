//! Owns the writing of SVG: elements, escaped text, and the colours for light and dark. It does not know what
//! is drawn.

use std::fmt::Write;

/// A picture that is being written.
pub(crate) struct Svg {
    width: f64,
    height: f64,
    body: String,
}

/// Classes for text, lines and areas in light themes; then what differs in dark ones. Without variables,
/// which many renderers do not support.
const STYLE: &str = "\
text{font:12px system-ui,sans-serif;fill:#1d2129}.title{font-size:17px;font-weight:600}.head{font-size:13px;font-weight:600}\
.small{font-size:11px;fill:#606872}.grid{stroke:#e3e6ea;stroke-width:1}.one{stroke:#1d2129;stroke-width:1.5}\
.link{stroke:#606872;stroke-width:1;stroke-dasharray:2 3}.limit{stroke:#8250df;stroke-width:2}\
.better{fill:#1f883d}.worse{fill:#d1242f}.mark{stroke:#fff;stroke-width:.8}.paper{fill:#fff}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.small{fill:#9aa4af}.grid{stroke:#262c34}.one{stroke:#e6edf3}\
.link{stroke:#9aa4af}.limit{stroke:#bc8cff}.better{fill:#3fb950}.worse{fill:#ff7b72}.mark{stroke:#0d1117}.paper{fill:#0d1117}}";

impl Svg {
    /// An empty picture with the paper's colour behind it. Units are pixels.
    pub(crate) fn new(width: f64, height: f64) -> Svg {
        Svg { width, height, body: String::new() }
    }

    /// A line of text; `anchor` is `start`, `middle` or `end`.
    pub(crate) fn text(&mut self, x: f64, y: f64, class: &str, anchor: &str, text: &str) {
        let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        self.element(format_args!(
            r#"<text x="{x:.1}" y="{y:.1}" class="{class}" text-anchor="{anchor}">{text}</text>"#
        ));
    }

    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.element(format_args!(
            r#"<line x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}" class="{class}"/>"#
        ));
    }

    pub(crate) fn rect(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), class: &str) {
        self.element(format_args!(
            r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" class="{class}"/>"#
        ));
    }

    /// A mark, by whose shape and colour series are distinguished.
    pub(crate) fn mark(&mut self, (x, y): (f64, f64), mark: Mark, title: &str) {
        let title = title.replace('&', "&amp;").replace('<', "&lt;");
        let Mark { form, colour, class } = mark;
        let r = 4.0;
        let path = match form {
            Form::Circle => {
                format!("M{:.1} {y:.1}a{r} {r} 0 1 0 {} 0a{r} {r} 0 1 0 -{} 0z", x - r, 2.0 * r, 2.0 * r)
            }
            Form::Square => format!("M{:.1} {:.1}h7v7h-7z", x - 3.5, y - 3.5),
            Form::Diamond => format!("M{x:.1} {:.1}l5 5l-5 5l-5 -5z", y - 5.0),
            Form::Triangle => format!("M{x:.1} {:.1}l4.5 8h-9z", y - 4.5),
        };
        self.element(format_args!(
            r#"<path d="{path}" class="mark {class}" fill="{colour}"><title>{title}</title></path>"#
        ));
    }

    fn element(&mut self, element: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.body, "{element}");
    }

    /// The finished document; `label` is its description for screen readers.
    pub(crate) fn finish(self, label: &str) -> String {
        let Svg { width, height, body } = self;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
             height=\"{height:.0}\" role=\"img\" aria-label=\"{label}\">\n<style>{STYLE}</style>\n\
             <rect width=\"100%\" height=\"100%\" class=\"paper\"/>\n{body}</svg>\n"
        )
    }
}

/// The look of a series.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    pub(crate) form: Form,
    pub(crate) colour: &'static str,
    /// A class that sets the colour, or empty.
    pub(crate) class: &'static str,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Form {
    Circle,
    Square,
    Diamond,
    Triangle,
}

/// A logarithmic axis from pixels to pixels.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Axis {
    pub(crate) values: (f64, f64),
    pub(crate) pixels: (f64, f64),
}

impl Axis {
    /// The position of a value; values outside are at the ends.
    pub(crate) fn at(self, value: f64) -> f64 {
        let (low, high) = self.values;
        let part = (value.clamp(low, high) / low).ln() / (high / low).ln();
        self.pixels.0 + part * (self.pixels.1 - self.pixels.0)
    }

    /// The powers of ten times 1, 2 and 5 inside.
    pub(crate) fn ticks(self, steps: &[f64]) -> Vec<f64> {
        let decades = -6..9;
        let all = decades.flat_map(|decade| steps.iter().map(move |step| step * 10f64.powi(decade)));
        all.filter(|tick| (self.values.0 * 0.999..=self.values.1 * 1.001).contains(tick)).collect()
    }
}
