//! Owns what the readers of a value say about it: where masks are registers of their own, which instructions
//! need a mask, or its opposite; which look-ups go together. It does not choose instructions.

use std::collections::HashMap;

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

/// For look-ups of 64 bits the next one by the same index in the same rare way, two by two.
pub(super) fn paired_lookups(code: &Code) -> Vec<Option<Value>> {
    let mut second = vec![None; code.instructions.len()];
    // The ends of the rare ways that are open, and what has no second yet, by its index.
    let mut ways: Vec<(usize, HashMap<Value, usize>)> = vec![(code.instructions.len(), HashMap::new())];
    for (place, instruction) in code.instructions.iter().enumerate() {
        while ways.len() > 1 && ways[ways.len() - 1].0 == place {
            ways.pop();
        }
        match instruction.operation {
            Operation::Rare { count, .. } => ways.push((place + 1 + count as usize, HashMap::new())),
            Operation::Lookup { index, .. } if instruction.ty.bits() == 64 => {
                let Some((_, alone)) = ways.last_mut() else { continue };
                match alone.remove(&index) {
                    Some(first) => second[first] = Some(Value(place as u32)),
                    None => drop(alone.insert(index, place)),
                }
            }
            _ => {}
        }
    }
    second
}
