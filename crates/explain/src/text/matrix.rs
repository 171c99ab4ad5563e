//! Owns the layout of matrices: side by side if they fit, else one above the other, or left out if one alone
//! is too wide. It does not know their elements (`story/matrices.rs`).

use super::sheet::{Ink, Line, Sheet, width};
use crate::story::{Equation, Matrix, Stretch};

const INDENT: usize = 2;

/// An operand before and after.
pub(super) fn write_stretch(stretch: &Stretch, sheet: &mut Sheet) {
    let (before, after) = (&stretch.before, &stretch.after);
    if INDENT + before.width().max(after.width()) > sheet.width() {
        return;
    }
    sheet.title(&stretch.title);
    let arrow = format!("   {}   ", sheet.signs.arrow);
    if INDENT + before.width() + width(&arrow) + after.width() <= sheet.width() {
        return write_row(&[before, after], &[&arrow], sheet);
    }
    write_row(&[before], &[], sheet);
    sheet.line(&Line::indent(INDENT).with(Ink::Faint, sheet.signs.arrow));
    write_row(&[after], &[], sheet);
}

/// The stretched operands, the operator between them, and the result.
pub(super) fn write_equation(equation: &Equation, sheet: &mut Sheet) {
    let all = equation.operands.iter().chain([&equation.result]);
    let widest = all.map(Matrix::width).max().unwrap_or(0);
    if INDENT + widest > sheet.width() {
        return;
    }
    sheet.title(&equation.title);
    let ([left, right], Some(symbol)) = (&equation.operands[..], equation.symbol) else {
        return write_row(&[&equation.result], &[], sheet);
    };
    let (operator, equals) = (format!("   {symbol}   "), "   =   ");
    let blocks = [left, right, &equation.result];
    let wide: usize = blocks.iter().map(|block| block.width()).sum();
    if INDENT + wide + width(&operator) + width(equals) <= sheet.width() {
        return write_row(&blocks, &[&operator, equals], sheet);
    }
    write_row(&[left], &[], sheet);
    sheet.line(&Line::new().with(Ink::Plain, symbol));
    write_row(&[right], &[], sheet);
    let rule = sheet.signs.rule.repeat(widest);
    sheet.line(&Line::indent(INDENT).with(Ink::Faint, rule));
    write_row(&[&equation.result], &[], sheet);
}

/// Matrices side by side, with a sign between the first lines of two.
fn write_row(blocks: &[&Matrix], signs: &[&str], sheet: &mut Sheet) {
    let height = blocks.iter().map(|block| block.0.len()).max().unwrap_or(0);
    for row in 0..height {
        let mut line = Line::indent(INDENT);
        for (i, block) in blocks.iter().enumerate() {
            if i > 0 {
                let sign = signs[i - 1];
                let blank = " ".repeat(width(sign));
                line.push(Ink::Faint, if row == 0 { sign.to_owned() } else { blank });
            }
            let text = block.0.get(row).map_or("", String::as_str);
            let missing = block.width() - width(text);
            line.push(Ink::Plain, format!("{text}{}", " ".repeat(missing)));
        }
        sheet.line(&line);
    }
}
