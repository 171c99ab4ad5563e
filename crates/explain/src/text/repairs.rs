//! Owns how repairs are listed: the call, what it makes of the operand and of the result, and what to mind.
//! It does not know how they were found (`repair/`).

use zerostride_shape::ShapeError;

use super::sheet::{Ink, Line, Sheet, width};
use super::words::{counted, listed, tuple};
use crate::explanation::Explanation;
use crate::repair::{Hint, Repair};

pub(super) fn write(explanation: &Explanation, sheet: &mut Sheet) {
    let repairs = explanation.repairs();
    sheet.blank();
    if repairs.is_empty() {
        return write_none(explanation, sheet);
    }
    let straight = repairs.iter().position(|repair| repair.mutual_stretch).unwrap_or(repairs.len());
    let (straight, mutual) = repairs.split_at(straight);
    if !straight.is_empty() {
        sheet.title("What would work, the likeliest first (each was applied and checked):");
        write_list(explanation, straight, "  - ", sheet);
    }
    if !mutual.is_empty() {
        sheet.blank();
        sheet.title(match (straight.is_empty(), explanation.options().in_place) {
            (false, _) => "For all pairs, with a result larger than every operand:",
            (true, true) => "What would work, with a result larger than every operand:",
            (true, false) => {
                "No change of one operand makes them meet element by element. These broadcast, but to all pairs, \
                 larger than every operand:"
            }
        });
        write_list(explanation, mutual, "  - ", sheet);
    }
}

/// One repair after the other, what it does beside its call.
pub(super) fn write_list(explanation: &Explanation, repairs: &[Repair], bullet: &str, sheet: &mut Sheet) {
    let names = explanation.names();
    // What a call does stands beside it, if the calls leave half of the page.
    let room = (sheet.width() / 2).saturating_sub(width(bullet) + 3);
    let calls = repairs.iter().map(|repair| width(&repair.call)).filter(|call| *call <= room);
    let column = width(bullet) + calls.max().unwrap_or(0) + 3;
    for repair in repairs {
        let mut lead = Line::new().with(Ink::Plain, bullet).with(Ink::Good, &repair.call);
        if width(&repair.call) <= room {
            lead.pad_to(column);
        } else {
            sheet.paragraph(&Line::new().with(Ink::Plain, bullet), Ink::Good, &repair.call);
            lead = Line::indent(width(bullet));
        }
        let result =
            format!("{}, {}", tuple(&repair.shape), counted(repair.shape.numel() as u128, "element"));
        let text = match *repair.view == *explanation.operands()[repair.operand].shape {
            true => format!("gives {result}"),
            false => format!("{} becomes {}; gives {result}", names[repair.operand], tuple(&repair.view)),
        };
        sheet.paragraph(&lead, Ink::Plain, &text);
        if let Some(hint) = &repair.hint {
            sheet.paragraph(&Line::indent(width(bullet)), Ink::Faint, &advice(hint, repair, names));
        }
    }
}

fn advice(hint: &Hint, repair: &Repair, names: &[String]) -> String {
    match hint {
        Hint::KeepDim { of, dims } => {
            let dims: Vec<String> = dims.iter().map(usize::to_string).collect();
            format!(
                "If {} is a mean or another reduction of {} over dim {}, pass keepdim=True there.",
                names[repair.operand],
                names[*of],
                listed(&dims)
            )
        }
        Hint::ElementOrder => {
            "Both have equally many elements; right only if they are stored in the same order.".to_owned()
        }
        Hint::NewTensor => format!("A new tensor; {} stays as it is.", names[repair.operand]),
    }
}

fn write_none(explanation: &Explanation, sheet: &mut Sheet) {
    // Of other errors the line itself says all there is.
    if !matches!(explanation.error(), Some(ShapeError::Incompatible { .. })) {
        return;
    }
    let operands = explanation.names().iter().zip(explanation.operands());
    let empty: Vec<&String> =
        operands.filter(|(_, operand)| operand.shape.contains(&0)).map(|(name, _)| name).collect();
    let text = match empty.len() {
        0 => "No change of one operand (a new, dropped or moved dimension) makes these shapes broadcast."
            .to_owned(),
        count => format!(
            "{} {} no elements: a size of 0 goes only with 0 or 1. No view repairs that; look for where the elements \
             were lost.",
            listed(&empty),
            if count == 1 { "has" } else { "have" }
        ),
    };
    sheet.paragraph(&Line::new(), Ink::Plain, &text);
}
