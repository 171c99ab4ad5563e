//! Owns what is said about a broadcast that works but may not be meant: one note for each class that deserves one.
//! It does not decide the classes (`zerostride-shape`).

use zerostride_shape::Class;

use super::repairs::write_list;
use super::sheet::{Ink, Line, Sheet};
use super::words::{bytes, counted, listed};
use crate::explanation::Explanation;

pub(super) fn write(explanation: &Explanation, sheet: &mut Sheet) {
    let Some(shape) = explanation.shape() else { return };
    for class in explanation.classes() {
        match class {
            Class::MutualStretch => write_mutual(explanation, shape.numel(), sheet),
            Class::BlowUp => {
                let text = format!(
                    "the result takes {}, above the limit of {}.",
                    bytes(explanation.result_bytes().unwrap_or(0)),
                    bytes(explanation.options().max_bytes)
                );
                sheet.blank();
                sheet.paragraph(&note(), Ink::Plain, &text);
            }
            Class::RankAdded | Class::Stretched | Class::SameNumel => {}
        }
    }
}

fn write_mutual(explanation: &Explanation, numel: usize, sheet: &mut Sheet) {
    let numel_of = |operand: &crate::Operand| operand.shape.iter().product::<usize>().to_string();
    let sizes: Vec<String> = explanation.operands().iter().map(numel_of).collect();
    let text = format!(
        "the result ({}) is larger than EVERY operand ({}). That is right for an outer product or a table of all \
         pairs; anywhere else, such as in a loss, it is a common mistake that raises no error.",
        counted(numel as u128, "element"),
        listed(&sizes)
    );
    sheet.blank();
    sheet.paragraph(&note(), Ink::Plain, &text);
    if explanation.alternatives().is_empty() {
        return;
    }
    sheet.paragraph(&Line::indent(6), Ink::Plain, "To combine them element by element instead:");
    write_list(explanation, explanation.alternatives(), "      - ", sheet);
}

fn note() -> Line {
    Line::new().with(Ink::Title, "Note: ")
}
