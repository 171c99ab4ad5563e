//! Owns the sentences for the two steps of the rule: whether the shapes are compatible, and what the
//! resulting shape is. It does not decide either (`alignment.rs`).

use zerostride_shape::{Role, ShapeError, Size};

use super::block::{Block, Row};
use super::words::{bytes, elements, listed, tuple};
use crate::alignment::Column;
use crate::explanation::{Explanation, Reduction};
use crate::lang::{Lang, count, say};

pub(super) fn tell(explanation: &Explanation, columns: &[Column], lang: Lang, blocks: &mut Vec<Block>) {
    if columns.is_empty() {
        return;
    }
    // One operand meets no other: there is nothing to compare.
    let Some(reduction) = &explanation.options().reduction else {
        tell_first(explanation, columns, lang, blocks);
        return tell_second(explanation, columns, lang, blocks);
    };
    if explanation.operands().len() > 1 {
        tell_first(explanation, columns, lang, blocks);
        tell_second(explanation, columns, lang, blocks);
    }
    tell_third(explanation, reduction, columns, lang, blocks);
}

/// Step 3: what a reduction leaves.
fn tell_third(
    explanation: &Explanation,
    reduction: &Reduction,
    columns: &[Column],
    lang: Lang,
    blocks: &mut Vec<Block>,
) {
    let Some(sizes) = explanation.result_sizes() else { return };
    let combined = columns.iter().filter(|column| column.reduced.is_some());
    let dims: Vec<String> = combined.clone().map(|column| column.dim.to_string()).collect();
    let each = combined.filter_map(|column| column.result).fold(1, |all: u128, size| all * size as u128);
    blocks.push(Block::Title(say!(lang, "step-reduce", op = reduction.op.name())));
    let (number, shape) = (count(dims.len() as u128), tuple(&sizes));
    let elements = elements(each, lang);
    let dims = listed(&dims, lang);
    blocks.push(Block::Says(say!(
        lang,
        "reduced",
        count = number,
        dims = dims,
        elements = elements,
        shape = shape
    )));
}

/// Step 1: dimension by dimension from the right, up to where it fails.
fn tell_first(explanation: &Explanation, columns: &[Column], lang: Lang, blocks: &mut Vec<Block>) {
    blocks.push(Block::Title(say!(lang, "step-one")));
    let operands = explanation.names().iter().zip(explanation.operands());
    let scalars: Vec<&String> =
        operands.filter(|(_, operand)| operand.shape.is_empty()).map(|(name, _)| name).collect();
    if !scalars.is_empty() {
        let number = count(scalars.len() as u128);
        blocks.push(Block::Says(say!(
            lang,
            "zero-dim-operands",
            count = number,
            names = listed(&scalars, lang)
        )));
    }
    let failing = explanation.error().and_then(|error| error.diagnostic().from_right);
    let reached = failing.map_or(columns.len(), |from_right| from_right + 1);
    blocks.push(Block::Rows(compared(&columns[columns.len() - reached..], explanation.names(), lang)));
    let missed: Vec<String> = columns[..columns.len() - reached]
        .iter()
        .filter(|column| column.result.is_none())
        .map(|column| column.dim.to_string())
        .collect();
    if !missed.is_empty() {
        let number = count(missed.len() as u128);
        blocks.push(Block::Says(say!(lang, "also-misfit", count = number, dims = listed(&missed, lang))));
    }
}

/// The sentence about each column, from the right; neighbours with the same sentence share a row.
fn compared(columns: &[Column], names: &[String], lang: Lang) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut previous: Option<&Column> = None;
    for column in columns.iter().rev() {
        let same = previous.is_some_and(|previous| previous.sizes == column.sizes);
        match rows.last_mut() {
            Some(row) if same => row.dims.1 = column.dim,
            _ => rows.push(Row {
                dims: (column.dim, column.dim),
                label: String::new(),
                text: compared_sizes(column, names, lang),
                fits: column.result.is_some(),
            }),
        }
        previous = Some(column);
    }
    for row in &mut rows {
        let (first, last) = (row.dims.0.to_string(), row.dims.1.to_string());
        row.label = match first == last {
            true => say!(lang, "dim-one", dim = first),
            false => say!(lang, "dims-range", first = first, last = last),
        };
    }
    rows
}

/// A size, or that the dimension is missing, and the names of the operands with it.
type Group<'a> = (Option<Size>, Vec<&'a str>);

/// `a has 1, b has 3: the 1 of a is stretched to 3.`
fn compared_sizes(column: &Column, names: &[String], lang: Lang) -> String {
    // The operands grouped by size, in the order in which the sizes first occur.
    let mut groups: Vec<Group<'_>> = Vec::new();
    for (size, name) in column.sizes.iter().zip(names) {
        match groups.iter_mut().find(|(group, _)| group == size) {
            Some((_, members)) => members.push(name),
            None => groups.push((*size, vec![name])),
        }
    }
    if let ([(Some(size), _)], 2..) = (&groups[..], names.len()) {
        let all = say!(lang, "all-have", count = count(names.len() as u128), size = size.to_string());
        return format!("{all}.");
    }
    let group = |(size, members): &Group<'_>| {
        let (number, names) = (count(members.len() as u128), listed(members, lang));
        match size {
            Some(size) => say!(lang, "has", count = number, names = names, size = size.to_string()),
            None => say!(lang, "has-none", count = number, names = names),
        }
    };
    let sizes: Vec<String> = groups.iter().map(group).collect();
    let verdicts = verdicts(column, &groups, lang);
    match verdicts.is_empty() {
        true => format!("{}.", sizes.join(", ")),
        false => format!("{}: {}.", sizes.join(", "), verdicts.join(", ")),
    }
}

fn verdicts(column: &Column, groups: &[Group<'_>], lang: Lang) -> Vec<String> {
    let Some(result) = column.result else {
        let sizes = groups.iter().filter_map(|(size, _)| *size).filter(|size| *size != 1);
        let sizes: Vec<String> = sizes.map(|size| size.to_string()).collect();
        return vec![match groups.len() {
            2 => say!(lang, "sizes-differ"),
            _ => {
                let number = count(sizes.len() as u128);
                say!(lang, "some-sizes-differ", count = number, sizes = listed(&sizes, lang))
            }
        }];
    };
    let verdict = |(size, members): &Group<'_>| {
        let number = count(members.len() as u128);
        let to = result.to_string();
        match (size, &members[..]) {
            (Some(1), [name]) if result != 1 => Some(say!(lang, "one-stretched", name = *name, to = to)),
            (Some(1), _) if result != 1 => Some(say!(lang, "ones-stretched", to = to)),
            (None, _) if result == 1 => {
                Some(say!(lang, "one-added", count = number, names = listed(members, lang)))
            }
            (None, _) => {
                let names = listed(members, lang);
                Some(say!(lang, "one-added-and-stretched", count = number, names = names, to = to))
            }
            (Some(_), _) => None,
        }
    };
    groups.iter().filter_map(verdict).collect()
}

/// Step 2: the resulting shape, or why there is none although the sizes are compatible.
fn tell_second(explanation: &Explanation, columns: &[Column], lang: Lang, blocks: &mut Vec<Block>) {
    let result: Option<Vec<Size>> = columns.iter().map(|column| column.result).collect();
    let Some(result) = result else { return };
    blocks.push(Block::Title(say!(lang, "step-two")));
    let numel = result.iter().try_fold(1u128, |count, &size| count.checked_mul(size as u128));
    let elements =
        numel.map_or_else(|| say!(lang, "elements-beyond-counting"), |numel| elements(numel, lang));
    let shape = tuple(&result);
    let told = explanation.result_bytes().filter(|_| explanation.options().has_bytes);
    blocks.push(Block::Says(match told.zip(explanation.result_dtype()) {
        Some((taken, dtype)) => {
            let (taken, dtype) = (bytes(taken, lang), dtype.to_string());
            say!(lang, "result-size-bytes", shape = shape, elements = elements, bytes = taken, dtype = dtype)
        }
        None => say!(lang, "result-size", shape = shape, elements = elements),
    }));
    let emptied: Vec<String> =
        columns.iter().filter(|column| is_emptied(column)).map(|column| column.dim.to_string()).collect();
    if !emptied.is_empty() {
        blocks.push(Block::Says(say!(lang, "emptied", dims = listed(&emptied, lang))));
    }
    let target = explanation.names().first().map_or("", String::as_str);
    match explanation.error() {
        Some(ShapeError::InPlace { output, .. }) => {
            blocks.push(Block::Warns(say!(lang, "target-differs", target = target, shape = tuple(output))));
        }
        Some(_) => blocks.push(Block::Warns(say!(lang, "no-memory"))),
        None if explanation.options().in_place => {
            blocks.push(Block::Says(say!(lang, "target-fits", target = target)));
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
