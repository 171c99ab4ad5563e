//! Owns the layout of the account: names on the left, numbers on the right, strides beside them or, if they
//! do not fit, below; sentences if the page is too narrow for a table. It does not know how the account is
//! made (`story/account.rs`).

use super::sheet::{Ink, Line, Sheet, width};
use crate::story::Account;
use crate::story::words::label;

pub(super) fn write(account: &Account, sheet: &mut Sheet) {
    let mut rows: Vec<(String, &[String; 4])> = vec![(String::new(), &account.header)];
    rows.extend(account.rows.iter().map(|(name, cells)| (label(name, sheet.signs.cut), cells)));
    let labels = rows.iter().map(|(label, _)| width(label)).max().unwrap_or(0);
    let mut widths = [0; 3];
    for (_, cells) in &rows {
        for (slot, cell) in widths.iter_mut().zip(*cells) {
            *slot = width(cell).max(*slot);
        }
    }
    let margin = 2 + labels + 3 + widths.iter().map(|width| width + 3).sum::<usize>();
    if margin - 3 > sheet.width() {
        for sentence in &account.sentences {
            sheet.paragraph(&Line::indent(2), Ink::Plain, sentence);
        }
        return;
    }
    // Strides that do not fit beside the numbers go below them.
    let beside = rows.iter().all(|(_, cells)| margin + width(&cells[3]) <= sheet.width());
    for (i, (label, cells)) in rows.iter().enumerate() {
        let ink = if i == 0 { Ink::Faint } else { Ink::Plain };
        let mut line = Line::indent(2).with(ink, format!("{label:<labels$}"));
        for (cell, width) in cells[..3].iter().zip(&widths) {
            line.push(ink, format!("   {cell:>width$}"));
        }
        if beside {
            sheet.line(&line.with(ink, format!("   {}", cells[3])));
        } else {
            sheet.line(&line);
            sheet.paragraph(&Line::indent(6), ink, &cells[3]);
        }
    }
}
