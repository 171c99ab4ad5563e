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

/// What happens to the operands; in place, the first is written to. Sizes of different letters have to be
/// equal or 1, which is said.
///
/// # Errors
/// Two numbers that differ, neither of them 1; in place, a result that is larger than the first operand.
pub(super) fn text(operands: &[Operand], in_place: bool) -> Result<String> {
    let ndim = operands.iter().map(|operand| operand.sizes.len()).max().unwrap_or(0);
    let mut result = Vec::new();
    let mut conditions = Vec::new();
    for dim in 0..ndim {
        let found: BTreeSet<&str> = operands.iter().filter_map(|operand| size(operand, dim, ndim)).collect();
        let mut others = found.iter().copied().filter(|size| *size != "1");
        // Digits come before letters.
        let size = others.next().unwrap_or("1");
        let rest: Vec<&str> = others.collect();
        if let Some(other) = rest.iter().find(|other| is_number(size) && is_number(other)) {
            let message = say!("sizes-of-dim-differ", size = size, other = *other, dim = dim);
            return Err(Report::new(Status::Mismatch, message).into());
        }
        let own = operands.first().and_then(|operand| self::size(operand, dim, ndim));
        let mut condition = |text: String| conditions.push(format!("  dim {dim}   {text}\n"));
        let and = |all: String, size: &&str| say!("and", first = all, last = *size);
        match own.filter(|own| in_place && *own != "1") {
            // Letters of the others may be 1, the target's own size stays.
            Some(own) => {
                for other in found.iter().filter(|size| ![own, "1"].contains(size)) {
                    condition(match is_number(other) {
                        true => say!("equal-in-place", sizes = and(own.to_owned(), other)),
                        false => say!("equal-or-one-in-place", size = *other, own = own),
                    });
                }
                result.push(own.to_owned());
            }
            None => {
                if !rest.is_empty() {
                    condition(say!("equal-or-one", sizes = rest.iter().fold(size.to_owned(), and)));
                }
                result.push(size.to_owned());
            }
        }
    }
    if let (Some(target), true) = (operands.first(), in_place)
        && target.sizes != result
    {
        let [output, broadcast] = [&target.sizes, &result].map(|sizes| format!("[{}]", sizes.join(", ")));
        let message = say!("grows-in-place", output = output, broadcast = broadcast);
        return Err(Report::new(Status::Mismatch, message).into());
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
    let result_text = shape(&result);
    let headline = match conditions.is_empty() || in_place {
        true => say!("broadcast-to", names = names, shapes = shapes, result = result_text),
        false => say!("broadcast-to-unless-one", names = names, shapes = shapes, result = result_text),
    };
    let mut text = headline + "\n\n";
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
    let grows = |operand: &Operand| (0..ndim).any(|dim| is_stretched(operand, dim, &result));
    if operands.len() > 1 && operands.iter().all(grows) {
        let sizes: Vec<String> = operands.iter().map(|operand| elements(&operand.sizes)).collect();
        text +=
            &format!("\n{}\n", say!("letters-grow", elements = elements(&result), sizes = sizes.join(", ")));
        // A column and a row of one length, as a prediction and a target.
        if let [a, b] = operands
            && let Some((column, row)) = [(a, b), (b, a)].into_iter().find(|(column, row)| {
                column.sizes.split_last().is_some_and(|(last, sizes)| last == "1" && *sizes == *row.sizes)
            })
        {
            text += &format!("{}\n", say!("letters-by-element", column = &*column.name, row = &*row.name));
        }
    }
    Ok(text)
}

/// Whether an operand has 1 or nothing where the result has another size.
fn is_stretched(operand: &Operand, dim: usize, result: &[String]) -> bool {
    size(operand, dim, result.len()).is_none_or(|own| own == "1") && result[dim] != "1"
}

/// The number of elements, as a product.
fn elements(sizes: &[String]) -> String {
    let factors: Vec<&str> = sizes.iter().map(|size| &**size).filter(|size| *size != "1").collect();
    if factors.is_empty() { "1".to_owned() } else { factors.join("·") }
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

    fn explained(shapes: &[(&str, &str)], in_place: bool) -> String {
        let operand = |&(name, sizes): &(&str, &str)| Operand {
            name: name.to_owned(),
            sizes: sizes.split(',').map(str::to_owned).collect(),
        };
        match text(&shapes.iter().map(operand).collect::<Vec<_>>(), in_place) {
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

Note: the result has n·m elements, more than EVERY operand (n, m).
That is right for a table of all pairs; anywhere else, such as in a loss, it is a
common mistake that raises no error.
";
        assert_eq!(explained(&[("a", "n,1"), ("b", "m")], false), expected);
        let two = explained(&[("a", "n,3"), ("b", "k,1")], false);
        assert!(two.starts_with("a, b: (n, 3), (k, 1) broadcast to (k, 3) if no size is 1\n"), "{two}");
        let condition = "  dim 0   k and n have to be equal; where one is 1, the result has the other\n";
        assert!(two.ends_with(condition), "{two}");
        assert_eq!(
            explained(&[("a", "n,3"), ("b", "4")], false),
            "the sizes 3 and 4 of dimension 1 differ, and neither is 1"
        );
    }

    #[test]
    fn a_column_and_a_row_of_one_length_are_told_apart() {
        for (a, b) in [("n,1", "n"), ("b,n,1", "b,n")] {
            let said = explained(&[("y", a), ("t", b)], false);
            assert!(said.ends_with("Element by element: y.squeeze(-1), or t.unsqueeze(-1).\n"), "{said}");
            let said = explained(&[("t", b), ("y", a)], false);
            assert!(said.ends_with("Element by element: y.squeeze(-1), or t.unsqueeze(-1).\n"), "{said}");
        }
        for (a, b) in [("n,m", "m"), ("n,m", "n,1"), ("n,1", "1"), ("n,3", "k,1")] {
            assert!(!explained(&[("a", a), ("b", b)], false).contains("Note"), "{a} {b}");
        }
    }

    #[test]
    fn in_place_the_first_shape_stays() {
        let stays = explained(&[("a", "n,m"), ("b", "k,1")], true);
        assert!(stays.starts_with("a, b: (n, m), (k, 1) broadcast to (n, m)\n"), "{stays}");
        assert!(stays.ends_with("  dim 0   k has to be n, or 1\n"), "{stays}");
        let number = explained(&[("a", "n"), ("b", "3")], true);
        assert!(number.ends_with("  dim 0   n and 3 have to be equal\n"), "{number}");
        for (a, b, output, broadcast) in
            [("n,1", "m", "n, 1", "n, m"), ("n", "m,n", "n", "m, n"), ("1", "n", "1", "n")]
        {
            assert_eq!(
                explained(&[("a", a), ("b", b)], true),
                format!("output with shape [{output}] doesn't match the broadcast shape [{broadcast}]")
            );
        }
    }
}
