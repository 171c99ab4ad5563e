//! Owns the picture of a broadcast as an SVG document: the first lines, the aligned shapes, the cubes, the
//! legend, from top to bottom. It does not know how any of these is drawn (one file for each).

mod canvas;
mod cubes;
mod legend;
mod row;
mod style;
mod table;
mod view;

use crate::alignment::Column;
use crate::explanation::Explanation;
use crate::lang::{Lang, count, say};
use crate::markup::Escaped;
use crate::story::{Block, Headline, Story};
use canvas::{Anchor, Canvas, Number};
use legend::Legend;

const PADDING: f64 = 18.0;
const LINE: f64 = 20.0;
/// The width of a character of the first lines.
const CHARACTER: f64 = 9.2;

impl Explanation {
    /// The explanation as an SVG document, as wide as a notebook's cell, which can be used alone or inside a
    /// page.
    ///
    /// The shapes are aligned, and the failing dimension is marked. Below, each operand is drawn as cubes:
    /// its own elements solid, stretched ones as outlines, with an arrow along each stretched dimension. If
    /// more than three dimensions have something to show, slices are indicated.
    ///
    /// The picture follows the reader's light or dark setting, or `data-theme` of an enclosing element. It
    /// has a title and a description for screen readers. An element that belongs to one dimension of one
    /// operand has them in `data-operand` and `data-dims`; a stretched one has the class `zs-stretched`,
    /// `zs-added` or `zs-ghost`.
    ///
    /// ```
    /// use zerostride_explain::{Explanation, Lang, Operand, Options};
    ///
    /// let operands = vec![Operand::new(&[4, 3]), Operand::new(&[1, 3]).named("<row>")];
    /// let svg = Explanation::new(operands, Options::default()).svg(Lang::En);
    /// assert!(svg.starts_with("<svg ") && svg.contains("&lt;row&gt;") && !svg.contains("<row>"));
    /// ```
    pub fn svg(&self, lang: Lang) -> String {
        picture(self, &Story::new(self, lang), lang, true)
    }
}

/// The picture, with or without the first lines, which the page may have already.
pub(crate) fn picture(explanation: &Explanation, story: &Story, lang: Lang, with_headline: bool) -> String {
    let mut canvas = Canvas::default();
    let mut bottom = PADDING - 4.0;
    let mut width = f64::from(explanation.options().width);
    if with_headline {
        let fitting = ((width - 2.0 * PADDING) / CHARACTER) as usize;
        for (class, line) in first_lines(&story.headline, fitting) {
            bottom += LINE;
            canvas.text(class, (PADDING, bottom - 4.0), Anchor::Start, &line);
        }
        bottom += 12.0;
    }
    if let Some(columns) = &story.columns {
        let (right, lowest) = draw(explanation, columns, lang, &mut canvas, (width, bottom));
        (width, bottom) = (width.max(right + PADDING), lowest);
    }
    let (width, height) = (Number(width), Number(bottom + PADDING));
    let head = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"zs-picture\" role=\"img\" lang=\"{lang}\" \
         width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n<title>{}</title>\n\
         <desc>{}</desc>\n<style>\n{}</style>\n\
         <rect class=\"zs-ground\" width=\"{width}\" height=\"{height}\" rx=\"8\"/>\n",
        Escaped(story.headline.line()),
        Escaped(description(story)),
        style::sheet(),
    );
    let mut svg = canvas.finish();
    svg.insert_str(0, &head);
    svg + "</svg>\n"
}

/// The table, the legend beside or below it, and the cubes, drawn from `y` on; returns the right edge and the
/// bottom.
fn draw(
    explanation: &Explanation,
    columns: &[Column],
    lang: Lang,
    canvas: &mut Canvas,
    (width, y): (f64, f64),
) -> (f64, f64) {
    let room = width - 2.0 * PADDING;
    let (mut right, mut bottom) = (0.0f64, y);
    if !columns.is_empty() {
        let (wide, high) = table::draw(explanation, columns, lang, canvas, (PADDING, y), room);
        let legend = Legend::new(columns, lang);
        let beside = PADDING + wide + 40.0;
        let place = match beside + legend.width() <= width {
            true => (beside, y + table::HEAD),
            false => (PADDING, y + high + 6.0),
        };
        let legend_bottom = legend.draw(canvas, place);
        right = (PADDING + wide).max(place.0 + legend.width());
        bottom = legend_bottom.max(y + high) + 26.0;
    }
    if explanation.operands().is_empty() {
        return (right, bottom);
    }
    let (wide, high) = row::draw(explanation, columns, lang, canvas, (PADDING, bottom), room);
    (right, bottom) = (right.max(PADDING + wide), bottom + high);
    if let more @ 1.. = explanation.operands().len().saturating_sub(row::DRAWN) {
        bottom += 24.0;
        let text = say!(lang, "operands-not-drawn", count = count(more as u128));
        canvas.text("zs-faint", (PADDING, bottom), Anchor::Start, &text);
    }
    (right, bottom)
}

/// The first lines, wrapped after so many characters, each with its class.
fn first_lines(headline: &Headline, fitting: usize) -> Vec<(&'static str, String)> {
    // Shapes are not broken: their blanks are replaced while wrapping.
    let broken = |class: &'static str, text: &str, width: usize| {
        let lines = wrap(&text.replace(", ", ",\u{a0}"), width).into_iter();
        lines.map(move |line| (class, line.replace('\u{a0}', " "))).collect::<Vec<_>>()
    };
    match headline {
        Headline::Broadcast([full, ..]) if full.chars().count() <= 2 * fitting => {
            broken("zs-title", full, fitting)
        }
        Headline::Broadcast([_, shorter, _]) if shorter.chars().count() <= 2 * fitting => {
            broken("zs-title", shorter, fitting)
        }
        Headline::Broadcast([.., shortest]) => broken("zs-title", shortest, fitting),
        Headline::Error { line, who } => {
            let mut lines = broken("zs-title zs-wrong zs-hue-text", line, fitting);
            lines.extend(who.iter().flat_map(|who| broken("zs-faint", who, fitting + 10)));
            lines
        }
    }
}

/// Breaks a text at its blanks, and words that are longer than a line.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split(' ') {
        let characters: Vec<char> = word.chars().collect();
        for (i, part) in characters.chunks(width).enumerate() {
            if used > 0 && used + 1 + part.len() > width {
                lines.push(String::new());
                used = 0;
            }
            if let Some(line) = lines.last_mut() {
                if used > 0 && i == 0 {
                    line.push(' ');
                    used += 1;
                }
                line.extend(part);
                used += part.len();
            }
        }
    }
    lines
}

/// The description of the picture: the steps.
fn description(story: &Story) -> String {
    let mut sentences = Vec::new();
    for block in &story.blocks {
        match block {
            Block::Rows(rows) => {
                sentences.extend(rows.iter().map(|row| format!("{}: {}", row.label, row.text)))
            }
            Block::Says(text) | Block::Warns(text) => sentences.push(text.clone()),
            Block::Account(_) => break,
            _ => {}
        }
    }
    sentences.join(" ")
}
