//! Owns the table of a picture: the shapes aligned at the right, one box for each operand and dimension, in
//! as many bands as its width needs. It does not know why a box is wrong.

use zerostride_shape::Role;

use super::canvas::{Anchor, Canvas};
use super::cubes::LABEL_CHARACTER;
use crate::alignment::{Column, is_misfit};
use crate::explanation::Explanation;
use crate::lang::{Lang, say};
use crate::story::words::label;
use crate::theme::hue;

/// The height of the line that numbers the dimensions.
pub(super) const HEAD: f64 = 19.0;
const ROW: f64 = 29.0;
const BOX: f64 = 24.0;
const GAP: f64 = 6.0;
const CHIP: f64 = 11.0;

/// Draws the table with its upper left corner at a point, at most `room` wide, and returns its size.
pub(super) fn draw(
    explanation: &Explanation,
    columns: &[Column],
    lang: Lang,
    canvas: &mut Canvas,
    (x, y): (f64, f64),
    room: f64,
) -> (f64, f64) {
    let mut labels: Vec<String> = explanation.names().iter().map(|name| label(name, "…")).collect();
    labels.push(say!(lang, "result"));
    let longest = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    let margin = CHIP + 8.0 + longest as f64 * LABEL_CHARACTER + 14.0;
    let cells: Vec<Vec<String>> = columns.iter().map(cells).collect();
    let widths: Vec<f64> = cells.iter().map(|cells| width(cells)).collect();
    let (mut bottom, mut right) = (y, x);
    for band in bands(&widths, room - margin) {
        let mut left = x + margin;
        for at in band.clone() {
            let middle = left + widths[at] / 2.0;
            let head = match at == band.start {
                true => say!(lang, "dim-one", dim = columns[at].dim.to_string()),
                false => columns[at].dim.to_string(),
            };
            canvas.text("zs-small zs-faint", (middle, bottom + 12.0), Anchor::Middle, &head);
            let misfit = is_misfit(explanation, columns, &columns[at]);
            for row in 0..labels.len() {
                let place = [left, bottom + HEAD + row_offset(row, labels.len()), widths[at], BOX];
                draw_box(&columns[at], &cells[at], row, misfit, canvas, place);
            }
            left += widths[at] + GAP;
        }
        for (row, label) in labels.iter().enumerate() {
            let middle = bottom + HEAD + row_offset(row, labels.len()) + BOX / 2.0;
            let (class, hue) = match row + 1 == labels.len() {
                true => ("zs-strong", 0),
                false => ("zs-code zs-strong zs-hue-text", hue(row)),
            };
            canvas.open(&format!("zs-hue-{hue}"), &[]);
            canvas.rect("zs-hue zs-front", [x, middle - CHIP / 2.0, CHIP, CHIP]);
            canvas.text(class, (x + CHIP + 8.0, middle + 4.5), Anchor::Start, label);
            canvas.close();
        }
        right = right.max(left - GAP);
        bottom += HEAD + row_offset(labels.len() - 1, labels.len()) + ROW + 12.0;
    }
    (right - x, bottom - 12.0 - y)
}

/// The offset of a row; the result has some distance from the operands.
fn row_offset(row: usize, rows: usize) -> f64 {
    row as f64 * ROW + if row + 1 == rows { 7.0 } else { 0.0 }
}

/// Ranges of columns that fit into a width, at least one column each.
fn bands(widths: &[f64], room: f64) -> Vec<std::ops::Range<usize>> {
    let mut bands = Vec::new();
    let (mut start, mut used) = (0, 0.0);
    for (at, width) in widths.iter().enumerate() {
        if at > start && used + width > room {
            bands.push(start..at);
            (start, used) = (at, 0.0);
        }
        used += width + GAP;
    }
    if start < widths.len() {
        bands.push(start..widths.len());
    }
    bands
}

fn width(cells: &[String]) -> f64 {
    let longest = cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
    (longest as f64 * LABEL_CHARACTER + 18.0).max(44.0)
}

/// The texts of a column's boxes.
fn cells(column: &Column) -> Vec<String> {
    (0..=column.sizes.len()).map(|row| cell(column, row)).collect()
}

/// The text of a box: the size of an operand and how it changes, or the size of the result.
fn cell(column: &Column, row: usize) -> String {
    if row == column.sizes.len() {
        return column.result_text().unwrap_or_else(|| "✗".to_owned());
    }
    match (column.sizes[row], column.roles[row], column.result) {
        (Some(size), Role::Stretched, Some(result)) => format!("{size}→{result}"),
        (None, _, Some(result)) => format!("·→{result}"),
        (None, _, None) => "·".to_owned(),
        (Some(size), ..) => size.to_string(),
    }
}

fn draw_box(
    column: &Column,
    cells: &[String],
    row: usize,
    misfit: bool,
    canvas: &mut Canvas,
    place: [f64; 4],
) {
    let is_result = row == column.sizes.len();
    let role = if is_result { Role::Kept } else { column.roles[row] };
    let is_wrong = misfit && (is_result || column.is_wrong(row));
    let kind = match (role, column.result, column.sizes.get(row)) {
        (_, _, None) => "zs-kept",
        (Role::Added, ..) | (_, None, Some(None)) => "zs-added",
        (Role::Stretched, Some(_), _) => "zs-stretched",
        _ => "zs-kept",
    };
    // There is a box for each operand and dimension, so as little as possible is formatted.
    let [mut dim, mut operand, mut number] = [itoa::Buffer::new(); 3];
    let class = match (is_result, is_wrong) {
        (true, false) => "zs-box zs-kept zs-hue-0".to_owned(),
        (_, true) => ["zs-box ", kind, " zs-wrong"].concat(),
        (false, false) => ["zs-box ", kind, " zs-hue-", number.format(hue(row))].concat(),
    };
    let attributes = [("data-dims", dim.format(column.dim)), ("data-operand", operand.format(row))];
    let attributes = if is_result { &attributes[..1] } else { &attributes };
    canvas.open(&class, attributes);
    canvas.rect(if is_wrong || kind == "zs-kept" { "zs-card" } else { "zs-tint" }, place);
    let [x, y, width, height] = place;
    let class = if is_result { "zs-code zs-strong" } else { "zs-code" };
    canvas.text(class, (x + width / 2.0, y + height / 2.0 + 4.6), Anchor::Middle, &cells[row]);
    canvas.close();
}
