//! Owns the picture: the shapes aligned at the right, one column for each dimension, in as many blocks as the
//! page needs. It does not know why a column fails (`alignment.rs`).

use zerostride_shape::{Role, Size};

use super::sheet::{Ink, Line, Sheet, Signs, blanks, width};
use crate::alignment::{Column, is_misfit};
use crate::explanation::Explanation;
use crate::lang::{Lang, say};
use crate::story::words::label;

const INDENT: usize = 2;
const GAP: usize = 3;

/// The cells of one column: the dimension, every operand, the result.
struct Printed {
    cells: Vec<(Ink, String)>,
    width: usize,
    marked: bool,
}

pub(super) fn write(explanation: &Explanation, columns: &[Column], lang: Lang, sheet: &mut Sheet) {
    let mut labels = vec![say!(lang, "dim")];
    labels.extend(explanation.names().iter().map(|name| label(name, sheet.signs.cut)));
    labels.push(say!(lang, "result"));
    let margin = INDENT + labels.iter().map(|label| width(label)).max().unwrap_or(0);
    let printed: Vec<Printed> = columns
        .iter()
        .map(|column| print(column, is_misfit(explanation, columns, column), sheet.signs))
        .collect();
    sheet.blank();
    if printed.is_empty() {
        sheet.paragraph(&Line::indent(INDENT), Ink::Plain, &say!(lang, "no-dimension"));
    }
    for block in blocks(&printed, sheet.width().saturating_sub(margin)) {
        write_block(block, &labels, margin, sheet);
    }
    write_legend(columns, lang, sheet);
}

fn print(column: &Column, marked: bool, signs: Signs) -> Printed {
    let mut cells = vec![(Ink::Faint, column.dim.to_string())];
    for (i, (size, role)) in column.sizes.iter().zip(&column.roles).enumerate() {
        let arrow = |from: &str, to: Size| format!("{from}{}{to}", signs.arrow);
        cells.push(match (size, column.result, role) {
            (Some(size), Some(result), Role::Stretched) => (Ink::Stretched, arrow(&size.to_string(), result)),
            (None, Some(result), _) => (Ink::Added, arrow(signs.missing, result)),
            (None, None, _) => (Ink::Added, signs.missing.to_owned()),
            (Some(size), None, _) if column.is_wrong(i) => (Ink::Wrong, size.to_string()),
            (Some(size), ..) => (Ink::Plain, size.to_string()),
        });
    }
    cells.push(match column.result_text() {
        Some(text) => (Ink::Title, text.replace('→', signs.arrow).replace('·', signs.missing)),
        None => (Ink::Wrong, signs.wrong.to_owned()),
    });
    let width = cells.iter().map(|(_, text)| width(text)).max().unwrap_or(0);
    Printed { cells, width, marked }
}

/// Cuts the columns into blocks that fit into `room`, each at least one column.
fn blocks(columns: &[Printed], room: usize) -> Vec<&[Printed]> {
    let mut blocks = Vec::new();
    let (mut start, mut used) = (0, 0);
    for (at, column) in columns.iter().enumerate() {
        if at > start && used + GAP + column.width > room {
            blocks.push(&columns[start..at]);
            (start, used) = (at, 0);
        }
        used += GAP + column.width;
    }
    if start < columns.len() {
        blocks.push(&columns[start..]);
    }
    blocks
}

fn begin(label: &str, margin: usize) -> Line<'_> {
    let mut line = Line::indent(INDENT).with(Ink::Plain, label);
    line.pad_to(margin);
    line
}

fn write_block(block: &[Printed], labels: &[String], margin: usize, sheet: &mut Sheet) {
    fn cell<'a>(line: &mut Line<'a>, column: &Printed, ink: Ink, text: &'a str) {
        line.push(Ink::Plain, blanks(GAP + column.width - width(text)));
        line.push(ink, text);
    }
    for (row, label) in labels.iter().enumerate() {
        if row + 1 == labels.len() {
            let ruled: usize = block.iter().map(|column| GAP + column.width).sum();
            let rule = sheet.signs.rule.repeat(ruled - GAP);
            sheet.line(&begin("", margin).with(Ink::Plain, blanks(GAP)).with(Ink::Faint, rule));
        }
        let mut line = begin(label, margin);
        for column in block {
            let (ink, text) = &column.cells[row];
            cell(&mut line, column, *ink, text);
        }
        sheet.line(&line);
    }
    let mut marks = begin("", margin);
    for column in block {
        cell(&mut marks, column, Ink::Wrong, if column.marked { "^" } else { "" });
    }
    if block.iter().any(|column| column.marked) {
        sheet.line(&marks);
    }
    sheet.blank();
}

/// Explains the arrows that the picture has.
fn write_legend(columns: &[Column], lang: Lang, sheet: &mut Sheet) {
    let signs = sheet.signs;
    let has = |wanted: Role| {
        let drawn = columns.iter().filter(|column| column.result.is_some() || wanted == Role::Added);
        drawn.flat_map(|column| &column.roles).any(|role| *role == wanted)
    };
    let sign = |ink: Ink, sign: &str| Line::new().with(ink, format!("{sign} "));
    let mut items = Vec::new();
    if has(Role::Stretched) {
        let arrow = format!("1{}n", signs.arrow);
        items.push((sign(Ink::Stretched, &arrow), say!(lang, "legend-stretched")));
    }
    if has(Role::Added) {
        items.push((sign(Ink::Added, signs.missing), say!(lang, "legend-added")));
    }
    if items.is_empty() {
        return;
    }
    let wide: usize = items.iter().map(|(sign, meaning)| GAP + sign.width() + width(meaning)).sum();
    if INDENT + wide - GAP <= sheet.width() {
        let mut line = Line::new();
        for (sign, meaning) in items {
            line.push(Ink::Plain, blanks(if line.width() == 0 { INDENT } else { GAP }));
            line.append(sign.with(Ink::Faint, meaning));
        }
        sheet.line(&line);
    } else {
        for (sign, meaning) in items {
            let mut lead = Line::indent(INDENT);
            lead.append(sign);
            sheet.paragraph(&lead, Ink::Faint, &meaning);
        }
    }
    sheet.blank();
}
