//! Owns the account: how often each element of an operand is used, with which strides, and what copies would have cost.
//! It does not know how these were worked out (`reading.rs`).

use super::sheet::{Ink, Line, Sheet, width};
use super::words::{bytes, label, times, tuple};
use crate::explanation::Explanation;

pub(super) fn write(explanation: &Explanation, sheet: &mut Sheet) {
    let readings = explanation.readings();
    if explanation.result_bytes() == Some(0) || readings.len() < 2 {
        return;
    }
    sheet.blank();
    if !readings.iter().any(|reading| reading.is_repeated()) {
        sheet.paragraph(
            &Line::new(),
            Ink::Plain,
            "Nothing is stretched: the operands meet element by element.",
        );
        return;
    }
    sheet.title("Nothing is copied: where an operand is stretched, its stride is 0.");
    let mut rows = vec![["", "each element", "own bytes", "as a copy", "strides"].map(str::to_owned)];
    for (name, reading) in explanation.names().iter().zip(readings) {
        let copy = if reading.is_repeated() { bytes(reading.copy_bytes) } else { "-".to_owned() };
        rows.push([
            label(name, sheet.signs.cut),
            times(reading.repeats),
            bytes(reading.own_bytes),
            copy,
            tuple(&reading.strides),
        ]);
    }
    write_table(&rows, sheet);
    let repeated = || readings.iter().filter(|reading| reading.is_repeated());
    let copies: u128 = repeated().map(|reading| reading.copy_bytes).sum();
    let own: u128 = repeated().map(|reading| reading.own_bytes).sum();
    let unknown = explanation.operands().iter().any(|operand| operand.dtype.is_none());
    let counted = if unknown { " (Unknown dtypes count as f32.)" } else { "" };
    let text =
        format!("{} are stretched as they lie; copies would take {}.{counted}", bytes(own), bytes(copies));
    sheet.paragraph(&Line::indent(2), Ink::Plain, &text);
}

/// Columns of words: the label to the left, numbers to the right, the last one below where it does not
/// fit; sentences on a page too narrow even so.
fn write_table(rows: &[[String; 5]], sheet: &mut Sheet) {
    let mut widths = [0; 4];
    for row in rows {
        for (slot, cell) in widths.iter_mut().zip(row) {
            *slot = width(cell).max(*slot);
        }
    }
    let margin = 2 + widths.iter().map(|width| width + 3).sum::<usize>();
    if margin - 3 > sheet.width() {
        for [name, repeats, own, copy, strides] in &rows[1..] {
            let text = format!("{name}: each element {repeats}, {own}, as a copy {copy}, strides {strides}");
            sheet.paragraph(&Line::indent(2), Ink::Plain, &text);
        }
        return;
    }
    // Strides for which there is no room beside the numbers go below them.
    let beside = rows.iter().all(|row| margin + width(&row[4]) <= sheet.width());
    for (i, row) in rows.iter().enumerate() {
        let ink = if i == 0 { Ink::Faint } else { Ink::Plain };
        let mut line = Line::indent(2).with(ink, format!("{:<1$}", row[0], widths[0]));
        for (cell, width) in row[1..4].iter().zip(&widths[1..]) {
            line.push(ink, format!("   {cell:>width$}"));
        }
        if beside {
            sheet.line(&line.with(ink, format!("   {}", row[4])));
        } else {
            sheet.line(&line);
            sheet.paragraph(&Line::indent(6), ink, &row[4]);
        }
    }
}
