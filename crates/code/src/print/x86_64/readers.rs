//! Owns what the readers of a value say about it where masks are registers of their own: which instructions
//! need a mask, or its opposite. It does not choose instructions.

use crate::code::{Binary, Code, Operation, Type, Unary, Value};

/// Which masks are opposites that only selections and rare ways ask.
pub(super) fn inverted(code: &Code) -> Vec<bool> {
    let is_not = |operation| matches!(operation, Operation::Unary(Unary::Not, _));
    let mut is_inverted: Vec<bool> = code
        .instructions
        .iter()
        .map(|instruction| instruction.ty == Type::Mask && is_not(instruction.operation))
        .collect();
    for instruction in &code.instructions {
        match instruction.operation {
            Operation::Rare { .. } => {}
            Operation::Select(..) if instruction.ty != Type::Mask => {}
            operation => operation.operands().for_each(|value| is_inverted[value.index()] = false),
        }
    }
    is_inverted
}

/// Which results of two operands only a selection reads, where it holds, or a conjunction of masks, in the
/// same rare way as they are; no comparison of 64 bits if those are split.
pub(super) fn masked(code: &Code, is_inverted: &[bool], is_split: bool) -> Vec<bool> {
    let mut readers = vec![0; code.instructions.len()];
    code.results.iter().for_each(|value| readers[value.index()] += 1);
    for instruction in &code.instructions {
        instruction.operation.operands().for_each(|value| readers[value.index()] += 1);
    }
    let mut is_masked = vec![false; code.instructions.len()];
    // The beginnings and ends of the rare ways that are open, and the end of the last one inside of each.
    let mut ways = vec![(0, code.instructions.len(), 0)];
    for (place, instruction) in code.instructions.iter().enumerate() {
        while ways.len() > 1 && ways[ways.len() - 1].1 == place {
            ways.pop();
            if let Some((_, _, inner)) = ways.last_mut() {
                *inner = place;
            }
        }
        let Some(&(start, _, inner)) = ways.last() else { continue };
        let is_own = |value: Value| value.index() >= start.max(inner) && readers[value.index()] == 1;
        let operation = |value: Value| code.instructions[value.index()].operation;
        match instruction.operation {
            Operation::Rare { count, .. } => ways.push((place, place + 1 + count as usize, place)),
            Operation::Select(mask, yes, _) if instruction.ty != Type::Mask && !is_inverted[mask.index()] => {
                is_masked[yes.index()] = is_own(yes)
                    && match operation(yes) {
                        Operation::Binary(binary, ..) => !matches!(
                            binary,
                            Binary::ShiftLeft | Binary::ShiftRight | Binary::ShiftRightSigned
                        ),
                        _ => false,
                    };
            }
            Operation::Binary(Binary::And, a, b) if instruction.ty == Type::Mask => {
                let is_comparison = |&value: &Value| {
                    let is_whole = |a: Value| !is_split || code.ty(a).bits() < 64;
                    is_own(value) && matches!(operation(value), Operation::Compare(_, a, _) if is_whole(a))
                };
                if let Some(value) = [b, a].into_iter().find(is_comparison) {
                    is_masked[value.index()] = true;
                }
            }
            _ => {}
        }
    }
    is_masked
}
