//! Owns what the readers of a value say about it: in which widths a mask is wanted, which values an
//! instruction can do without. It does not choose instructions.

use crate::code::{Code, Operation, Type, Value};

/// Masks of 32 and of 64 bits an element that are read, with those that the masks are made of: which a
/// mask is to have where masks are vectors. A rare way asks in any width, unless that is to be one register.
pub(super) fn mask_widths(code: &Code, asks_narrow: bool) -> Vec<Widths> {
    let mut widths = vec![Widths::default(); code.instructions.len()];
    for (place, instruction) in code.instructions.iter().enumerate().rev() {
        match instruction.operation {
            Operation::Select(mask, ..) if instruction.ty != Type::Mask => {
                widths[mask.index()].add(instruction.ty.bits());
            }
            Operation::Rare { mask, .. } if asks_narrow => widths[mask.index()].add(32),
            Operation::Rare { .. } => {}
            operation if instruction.ty == Type::Mask && !matches!(operation, Operation::Compare(..)) => {
                let own = widths[place].own();
                operation.operands().for_each(|mask| widths[mask.index()].add(own));
            }
            _ => {}
        }
    }
    widths
}

/// In which widths a mask that is a vector is read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Widths {
    pub is_32: bool,
    pub is_64: bool,
}

impl Widths {
    fn add(&mut self, bits: u32) {
        if bits == 64 {
            self.is_64 = true;
        } else {
            self.is_32 = true;
        }
    }

    /// Bits of an element of a mask that is made of others.
    pub(super) fn own(self) -> u32 {
        if self.is_64 { 64 } else { 32 }
    }
}

/// For each value, whether an instruction other than `a · b + c` reads it, or that as its summand, where it
/// negates none by itself.
pub(super) fn read_elsewhere(code: &Code, negates_summands: bool) -> Vec<bool> {
    let mut is_read = vec![false; code.instructions.len()];
    let mut note = |value: Value| is_read[value.index()] = true;
    code.results.iter().copied().for_each(&mut note);
    for instruction in &code.instructions {
        match instruction.operation {
            Operation::MulAdd(..) if negates_summands => {}
            Operation::MulAdd(_, _, summand) => note(summand),
            operation => operation.operands().for_each(&mut note),
        }
    }
    is_read
}
