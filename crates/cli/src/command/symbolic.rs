//! Owns explanations of shapes with letters for sizes, as `n,1`. It does not know shapes of numbers, which
//! `zerostride-explain` explains.

use std::collections::BTreeSet;

use crate::failure::{Report, Result, Status};
use crate::words::say;

/// An operand: its name, and its sizes, which are numbers and letters.
pub(super) struct Operand {
    pub(super) name: String,
    pub(super) sizes: Vec<String>,
}

/// What happens to the operands. Sizes of different letters have to be equal or 1, which is said.
///
/// # Errors
/// Two numbers that differ, neither of them 1.
pub(super) fn text(operands: &[Operand]) -> Result<String> {
    let ndim = operands.iter().map(|operand| operand.sizes.len()).max().unwrap_or(0);
    let mut result = Vec::new();
    let mut conditions = Vec::new();
    for dim in 0..ndim {
        let found: BTreeSet<&str> = operands.iter().filter_map(|operand| size(operand, dim, ndim)).collect();
        let mut others = found.into_iter().filter(|size| *size != "1");
        // Digits come before letters.
        let size = others.next().unwrap_or("1");
        let rest: Vec<&str> = others.collect();
        if let Some(other) = rest.iter().find(|other| is_number(size) && is_number(other)) {
            let message = say!("sizes-of-dim-differ", size = size, other = *other, dim = dim);
            return Err(Report::new(Status::Mismatch, message).into());
        }
        if !rest.is_empty() {
            let and = |all: String, size: &&str| say!("and", first = all, last = *size);
            let all = rest.iter().fold(size.to_owned(), and);
            conditions.push(format!("  dim {dim}   {}\n", say!("equal-or-one", sizes = all)));
        }
        result.push(size.to_owned());
    }
    let mut rows = vec![("dim".to_owned(), (0..ndim).map(|dim| dim.to_string()).collect::<Vec<_>>())];
    for operand in operands {
        let cell = |dim: usize| match size(operand, dim, ndim) {
            None => format!("·→{}", result[dim]),
            Some("1") if result[dim] != "1" => format!("1→{}", result[dim]),
            Some(size) => size.to_owned(),
        };
        rows.push((operand.name.clone(), (0..ndim).map(cell).collect()));
    }
    rows.push((say!("result"), result.clone()));
    let width =
        |texts: &mut dyn Iterator<Item = &String>| texts.map(|text| text.chars().count()).max().unwrap_or(0);
    let first = width(&mut rows.iter().map(|(name, _)| name));
    let widths: Vec<usize> =
        (0..ndim).map(|dim| width(&mut rows.iter().map(|(_, cells)| &cells[dim]))).collect();
    let names: Vec<&str> = operands.iter().map(|operand| &*operand.name).collect();
    let shapes: Vec<String> = operands.iter().map(|operand| shape(&operand.sizes)).collect();
    let (names, shapes) = (names.join(", "), shapes.join(", "));
    let mut text = say!("broadcast-to", names = names, shapes = shapes, result = shape(&result)) + "\n\n";
    let last = rows.len() - 1;
    for (number, (name, cells)) in rows.iter().enumerate() {
        if number == last {
            let line: usize = widths.iter().map(|width| width + 3).sum();
            text += &format!("  {:first$}{}\n", "", "─".repeat(line));
        }
        text += &format!("  {name:first$}");
        for (cell, width) in cells.iter().zip(&widths) {
            text += &format!("   {cell:>width$}");
        }
        text.push('\n');
    }
    if !conditions.is_empty() {
        text.push('\n');
        text.extend(conditions);
    }
    Ok(text)
}

/// The size of an operand in a dimension of the result, if it has that dimension.
fn size(operand: &Operand, dim: usize, ndim: usize) -> Option<&str> {
    (dim + operand.sizes.len()).checked_sub(ndim).map(|own| &*operand.sizes[own])
}

fn is_number(size: &str) -> bool {
    size.starts_with(|first: char| first.is_ascii_digit())
}

fn shape(sizes: &[String]) -> String {
    format!("({}{})", sizes.join(", "), if sizes.len() == 1 { "," } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(shapes: &[(&str, &str)]) -> String {
        let operand = |&(name, sizes): &(&str, &str)| Operand {
            name: name.to_owned(),
            sizes: sizes.split(',').map(str::to_owned).collect(),
        };
        match text(&shapes.iter().map(operand).collect::<Vec<_>>()) {
            Ok(text) => text,
            Err(crate::failure::Failure::Report(report)) => report.message,
            Err(_) => unreachable!("nothing is written"),
        }
    }

    #[test]
    fn letters_broadcast_as_sizes_do() {
        let expected = "\
a, b: (n, 1), (m,) broadcast to (n, m)

  dim        0     1
  a          n   1→m
  b        ·→n     m
        ────────────
  result     n     m
";
        assert_eq!(explained(&[("a", "n,1"), ("b", "m")]), expected);
        assert!(
            explained(&[("a", "n,3"), ("b", "k,1")]).ends_with("  dim 0   k and n have to be equal, or 1\n")
        );
        assert_eq!(
            explained(&[("a", "n,3"), ("b", "4")]),
            "the sizes 3 and 4 of dimension 1 differ, and neither is 1"
        );
    }
}
