//! Owns the matrices: each stretched operand before and after, and all of them with the result, in nested brackets.
//! It does not compute: elements are given as text, or the places of an operand stand for them.

use zerostride_ops::Class as OpClass;

use super::headline::expression;
use super::sheet::{Ink, Line, Sheet, width};
use crate::explanation::Explanation;

/// Results of more elements are not drawn.
const MAX_ELEMENTS: usize = 64;
/// Results of more dimensions are not drawn, where elements are known and where they are not.
const MAX_NDIM: [usize; 2] = [3, 2];

/// A drawing: lines, all of them as wide as the widest.
type Block = Vec<String>;

pub(super) fn write(explanation: &Explanation, sheet: &mut Sheet) {
    let Some(shape) = explanation.shape() else { return };
    let numel = shape.numel();
    let known: Vec<Option<&[String]>> = explanation.operands().iter().map(known_values).collect();
    let all_known = known.iter().all(Option::is_some);
    let limit = MAX_NDIM[usize::from(!all_known)];
    if !(1..=MAX_ELEMENTS).contains(&numel) || shape.ndim() > limit {
        return;
    }
    let mut afters = Vec::new();
    for (i, operand) in explanation.operands().iter().enumerate() {
        let places =
            || (0..operand.shape.iter().product()).map(|at| format!("{}{at}", explanation.names()[i]));
        let values = known[i].map_or_else(|| places().collect(), <[String]>::to_vec);
        let reading = &explanation.readings()[i];
        let stretched = expand(&values, shape, &reading.strides);
        let (before, after) = (nested(&values, &operand.shape), nested(&stretched, shape));
        if 2 + block_width(&before).max(block_width(&after)) > sheet.width() {
            return;
        }
        if reading.is_repeated() {
            write_pair(&explanation.names()[i], &before, &after, sheet);
        }
        afters.push(after);
    }
    if let (true, Some(result)) = (all_known, &explanation.options().result)
        && result.len() == numel
    {
        let result = nested(result, shape);
        if 2 + block_width(&result) <= sheet.width() {
            write_equation(explanation, &afters, &result, sheet);
        }
    }
}

/// The elements of an operand, if they are as many as its shape says.
fn known_values(operand: &crate::Operand) -> Option<&[String]> {
    let numel = operand.shape.iter().product::<usize>();
    operand.values.as_deref().filter(|values| values.len() == numel)
}

/// The elements that an operand has over the whole result, in row-major order, read through its strides.
fn expand(values: &[String], shape: &[usize], strides: &[isize]) -> Vec<String> {
    let mut offsets = vec![0usize];
    for (&size, stride) in shape.iter().zip(strides) {
        let steps = (0..size).map(|step| step * stride.unsigned_abs());
        let steps: Vec<usize> = steps.collect();
        offsets = offsets.iter().flat_map(|offset| steps.iter().map(move |step| offset + step)).collect();
    }
    offsets.into_iter().filter_map(|offset| values.get(offset).cloned()).collect()
}

/// Nested brackets, one row in a line, as PyTorch prints them; the elements stand under each other.
fn nested(values: &[String], shape: &[usize]) -> Block {
    let cell = values.iter().map(|value| width(value)).max().unwrap_or(0);
    let [.., columns] = shape else {
        return values.to_vec();
    };
    let rows = values.len() / (*columns).max(1);
    let line = |row: usize| {
        let cells = values[row * columns..(row + 1) * columns].iter();
        let cells: Vec<String> =
            cells.map(|value| format!("{}{value}", " ".repeat(cell - width(value)))).collect();
        // A bracket opens for each dimension that starts anew in this row, and closes for each that ends.
        let edge = |at: usize| {
            let mut block = 1;
            1 + shape[..shape.len() - 1]
                .iter()
                .rev()
                .take_while(|&&size| {
                    block *= size;
                    at.is_multiple_of(block)
                })
                .count()
        };
        let (open, close) = (edge(row), edge(row + 1));
        format!(
            "{}{}{}{}{}",
            " ".repeat(shape.len() - open),
            "[".repeat(open),
            cells.join(", "),
            "]".repeat(close),
            if row + 1 == rows { "" } else { "," }
        )
    };
    (0..rows).map(line).collect()
}

fn block_width(block: &Block) -> usize {
    block.iter().map(|line| width(line)).max().unwrap_or(0)
}

/// The operand before and after, side by side if they fit.
fn write_pair(name: &str, before: &Block, after: &Block, sheet: &mut Sheet) {
    let arrow = format!("   {}   ", sheet.signs.arrow);
    sheet.blank();
    sheet.title(&format!("{name} before and after"));
    if 2 + block_width(before) + width(&arrow) + block_width(after) <= sheet.width() {
        write_row(&[before, after], &[&arrow], sheet);
    } else {
        write_row(&[before], &[], sheet);
        sheet.line(&Line::new().with(Ink::Faint, format!("  {}", sheet.signs.arrow)));
        write_row(&[after], &[], sheet);
    }
}

/// The stretched operands, the operator between them, and the result; one above the other if they do not fit.
fn write_equation(explanation: &Explanation, operands: &[Block], result: &Block, sheet: &mut Sheet) {
    sheet.blank();
    sheet.title(&expression(explanation));
    let info = explanation.options().op.map(|op| op.info());
    let symbol = info.filter(|info| info.class == OpClass::Binary).and_then(|info| info.symbol);
    let ([left, right], Some(symbol)) = (operands, symbol) else {
        return write_row(&[result], &[], sheet);
    };
    let (operator, equals) = (format!("   {symbol}   "), "   =   ");
    let blocks = [left, right, result];
    let wide: usize = blocks.iter().map(|block| block_width(block)).sum();
    if 2 + wide + width(&operator) + width(equals) <= sheet.width() {
        return write_row(&blocks, &[&operator, equals], sheet);
    }
    write_row(&[left], &[], sheet);
    sheet.line(&Line::new().with(Ink::Plain, symbol));
    write_row(&[right], &[], sheet);
    let widest = blocks.iter().map(|block| block_width(block)).max().unwrap_or(0);
    let rule = sheet.signs.rule.repeat(widest.min(sheet.width() - 2));
    sheet.line(&Line::indent(2).with(Ink::Faint, rule));
    write_row(&[result], &[], sheet);
}

/// Blocks side by side, with a sign between the first lines of two.
fn write_row(blocks: &[&Block], signs: &[&str], sheet: &mut Sheet) {
    let height = blocks.iter().map(|block| block.len()).max().unwrap_or(0);
    for row in 0..height {
        let mut line = Line::indent(2);
        for (i, block) in blocks.iter().enumerate() {
            if i > 0 {
                let sign = signs[i - 1];
                let blank = " ".repeat(width(sign));
                line.push(Ink::Faint, if row == 0 { sign.to_owned() } else { blank });
            }
            let text = block.get(row).map_or("", String::as_str);
            let missing = block_width(block) - width(text);
            line.push(Ink::Plain, format!("{text}{}", " ".repeat(missing)));
        }
        sheet.line(&line);
    }
}
