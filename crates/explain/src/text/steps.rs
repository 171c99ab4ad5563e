//! Owns the two steps of the rule in words: are the shapes compatible, and what is the resulting shape.
//! It does not decide either: the columns have been decided.

use zerostride_shape::{Role, ShapeError};

use super::sheet::{Ink, Line, Sheet, width};
use super::words::{bytes, counted, listed, tuple};
use crate::alignment::Column;
use crate::explanation::Explanation;

pub(super) fn write(explanation: &Explanation, columns: &[Column], sheet: &mut Sheet) {
    if columns.is_empty() {
        return;
    }
    write_first(explanation, columns, sheet);
    sheet.blank();
    write_second(explanation, columns, sheet);
}

/// Step 1: dimension by dimension from the right, up to where it fails.
fn write_first(explanation: &Explanation, columns: &[Column], sheet: &mut Sheet) {
    sheet.title("Step 1: are the shapes compatible? Compare the sizes from the right.");
    let operands = explanation.names().iter().zip(explanation.operands());
    let scalars: Vec<&String> =
        operands.filter(|(_, operand)| operand.shape.is_empty()).map(|(name, _)| name).collect();
    if !scalars.is_empty() {
        let is = if scalars.len() == 1 { "is" } else { "are" };
        let text = format!("{} {is} 0-d, which goes with every shape.", listed(&scalars));
        sheet.paragraph(&Line::indent(2), Ink::Plain, &text);
    }
    let failing = explanation.error().and_then(|error| error.diagnostic().from_right);
    let compared = failing.map_or(columns.len(), |from_right| from_right + 1);
    let mut runs: Vec<(usize, usize, String, bool)> = Vec::new();
    for column in columns.iter().rev().take(compared) {
        let text = compared_sizes(column, explanation.names());
        match runs.last_mut() {
            Some((_, last, same, _)) if *same == text => *last = column.dim,
            _ => runs.push((column.dim, column.dim, text, column.result.is_some())),
        }
    }
    let dims = |first: usize, last: usize| match first == last {
        true => format!("dim {first}"),
        false => format!("dims {first} to {last}"),
    };
    let labels: Vec<String> = runs.iter().map(|(first, last, ..)| dims(*first, *last)).collect();
    let margin = labels.iter().map(|label| width(label)).max().unwrap_or(0);
    for ((.., text, fits), label) in runs.iter().zip(&labels) {
        let ink = if *fits { Ink::Plain } else { Ink::Wrong };
        let lead = Line::indent(2).with(Ink::Faint, format!("{label:margin$}   "));
        sheet.paragraph(&lead, ink, text);
    }
    let missed = columns.len() - compared;
    let also: Vec<String> = columns[..missed]
        .iter()
        .filter(|column| column.result.is_none())
        .map(|column| column.dim.to_string())
        .collect();
    if !also.is_empty() {
        let noun = if also.len() == 1 { "dim" } else { "dims" };
        let text = format!("The comparison stops there; {noun} {} would not fit either.", listed(&also));
        sheet.paragraph(&Line::indent(2), Ink::Plain, &text);
    }
}

/// `a has 1, b has 3: the 1 of a is stretched to 3.`
fn compared_sizes(column: &Column, names: &[String]) -> String {
    // The operands by size, in the order in which the sizes first occur.
    let mut groups: Vec<(Option<usize>, Vec<&str>)> = Vec::new();
    for (size, name) in column.sizes.iter().zip(names) {
        match groups.iter_mut().find(|(group, _)| group == size) {
            Some((_, members)) => members.push(name),
            None => groups.push((*size, vec![name])),
        }
    }
    if let ([(Some(size), _)], 2..) = (&groups[..], names.len()) {
        let all = if names.len() == 2 { "both have" } else { "all have" };
        return format!("{all} {size}.");
    }
    let group = |(size, members): &(Option<usize>, Vec<&str>)| {
        let verb = if members.len() == 1 { "has" } else { "have" };
        let size = size.map_or("none".to_owned(), |size| size.to_string());
        format!("{} {verb} {size}", listed(members))
    };
    let sizes: Vec<String> = groups.iter().map(group).collect();
    let verdicts = verdicts(column, &groups);
    match verdicts.is_empty() {
        true => format!("{}.", sizes.join(", ")),
        false => format!("{}: {}.", sizes.join(", "), verdicts.join(", ")),
    }
}

fn verdicts(column: &Column, groups: &[(Option<usize>, Vec<&str>)]) -> Vec<String> {
    let Some(result) = column.result else {
        let sizes = groups.iter().filter_map(|(size, _)| *size).filter(|size| *size != 1);
        let sizes: Vec<String> = sizes.map(|size| size.to_string()).collect();
        let who = if groups.len() == 2 { "they".to_owned() } else { listed(&sizes) };
        let none = if sizes.len() == 2 { "neither" } else { "none" };
        return vec![format!("{who} differ, and {none} is 1")];
    };
    let verdict = |(size, members): &(Option<usize>, Vec<&str>)| {
        let get = if members.len() > 1 { "get" } else { "gets" };
        match (size, &members[..]) {
            (Some(1), [name]) if result != 1 => Some(format!("the 1 of {name} is stretched to {result}")),
            (Some(1), _) if result != 1 => Some(format!("the 1s are stretched to {result}")),
            (None, _) if result == 1 => Some(format!("{} {get} a dimension of size 1", listed(members))),
            (None, _) => Some(format!("{} {get} a 1, stretched to {result}", listed(members))),
            (Some(_), _) => None,
        }
    };
    groups.iter().filter_map(verdict).collect()
}

/// Step 2: the resulting shape, or what stands against it although the sizes go together.
fn write_second(explanation: &Explanation, columns: &[Column], sheet: &mut Sheet) {
    let result: Option<Vec<usize>> = columns.iter().map(|column| column.result).collect();
    let Some(result) = result else { return };
    sheet.title("Step 2: what is the resulting shape? A size of 1 takes the other size.");
    let numel = result.iter().try_fold(1u128, |count, &size| count.checked_mul(size as u128));
    let size = numel.map_or("more than 2^128 elements".to_owned(), |count| counted(count, "element"));
    let size = match explanation.result_bytes().zip(explanation.result_dtype()) {
        Some((count, dtype)) => format!("{size}, {} as {dtype}", bytes(count)),
        None => size,
    };
    sheet.paragraph(&Line::indent(2), Ink::Plain, &format!("{}: {size}.", tuple(&result)));
    let emptied: Vec<String> =
        columns.iter().filter(|column| is_emptied(column)).map(|column| column.dim.to_string()).collect();
    if !emptied.is_empty() {
        let text = format!(
            "In dim {} a 1 became 0: it takes the OTHER size, not the larger one. The result is empty.",
            listed(&emptied)
        );
        sheet.paragraph(&Line::indent(2), Ink::Plain, &text);
    }
    match explanation.error() {
        Some(ShapeError::InPlace { output, .. }) => {
            let target = explanation.names().first().map_or("", String::as_str);
            let text = format!(
                "But {target}, which is written to, has shape {}, and an operation in place never changes the shape \
                 of its target.",
                tuple(output)
            );
            sheet.paragraph(&Line::indent(2), Ink::Wrong, &text);
        }
        Some(_) => {
            let text = "Every dimension fits, but no memory could hold the result: it is refused before anything is \
                        allocated.";
            sheet.paragraph(&Line::indent(2), Ink::Wrong, text);
        }
        None if explanation.options().in_place => {
            let target = explanation.names().first().map_or("", String::as_str);
            let text = format!("It is the shape of {target}, which can therefore be written in place.");
            sheet.paragraph(&Line::indent(2), Ink::Plain, &text);
        }
        None => {}
    }
}

fn is_emptied(column: &Column) -> bool {
    let ones = column
        .sizes
        .iter()
        .zip(&column.roles)
        .any(|(size, role)| *size == Some(1) && *role == Role::Stretched);
    column.result == Some(0) && ones
}
