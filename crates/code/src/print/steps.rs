//! Owns what steps are: instructions on values whose registers are not known yet. It does not know which
//! instructions a processor has.

use crate::row::Row;

/// The place of the step that computes a value.
pub(super) type Id = u32;

/// No value.
pub(super) const NONE: Id = u32::MAX;

/// The most values that a step reads.
pub(super) const OPERANDS: usize = 4;

/// Which operand an instruction overwrites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Overwrites {
    Nothing,
    /// The operand with this index.
    One(usize),
    /// Any of three: it has a form for each.
    Any,
}

/// How the operands of an instruction stand: which may be in memory, which is overwritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Form {
    pub overwrites: Overwrites,
    /// The operand that may be in memory.
    pub memory: Option<usize>,
    /// Whether that may also be one element for all.
    pub repeats: bool,
    /// Whether the first two operands may change places.
    pub commutes: bool,
}

impl Form {
    /// All operands are in registers, and stay there.
    pub(super) const PLAIN: Form =
        Form { overwrites: Overwrites::Nothing, memory: None, repeats: false, commutes: false };
}

/// An instruction of a processor.
pub(super) trait Make: Copy {
    fn form(&self) -> Form;
}

/// What a step does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Act<M> {
    /// Bits that stand behind the code: one element, or a whole vector.
    Constant { offset: u32, element_bytes: u32 },
    /// A vector of an input, whose elements have so many bytes in memory, from a byte on.
    Load { input: u32, bytes: u32, offset: u32, make: M },
    /// One element of an input in a whole register.
    Splat { input: u32, bytes: u32 },
    /// An instruction.
    Make(M),
    /// Writes a vector of a result, whose elements have so many bytes in memory, from a byte on.
    Store { result: u32, bytes: u32, offset: u32, make: M },
    /// Begins a rare way of the next so many steps, where the mask holds, or where it does not.
    Rare { count: u32, is_inverted: bool },
}

/// One instruction on values.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step<M> {
    pub act: Act<M>,
    /// The values that it reads, the rest being [`NONE`].
    pub args: [Id; OPERANDS],
    /// Whether its value is a mask in a mask register.
    pub is_mask: bool,
}

impl<M> Step<M> {
    pub(super) fn args(&self) -> impl Iterator<Item = Id> + use<M> {
        self.args.into_iter().filter(|&id| id != NONE)
    }

    pub(super) fn has_value(&self) -> bool {
        !matches!(self.act, Act::Store { .. } | Act::Rare { .. })
    }
}

/// Values that are read by the next round as what this one makes of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Accumulators {
    /// The step that reads them, and the one that makes the next.
    pub read: Id,
    pub made: Id,
    /// The register of the first copy, which the others follow.
    pub register: u8,
}

/// The steps of a row.
#[derive(Debug)]
pub(super) struct Steps<M> {
    pub steps: Vec<Step<M>>,
    /// Elements of a vector.
    pub lanes: u32,
    /// What stands behind the code.
    pub pool: Vec<u8>,
}

impl<M> Steps<M> {
    /// The accumulators of a row, in registers from this one on.
    pub(super) fn accumulators(&self, row: &Row, register: u8) -> Accumulators {
        let last = row.reads.len() as u32 - 1;
        let reads = |step: &Step<M>| matches!(step.act, Act::Load { input, .. } if input == last);
        let read = self.steps.iter().position(reads).expect("a row reads its accumulators");
        let makes = |step: &Step<M>| matches!(step.act, Act::Store { .. }).then_some(step.args[0]);
        let made = self.steps.iter().find_map(makes).expect("a row has a result");
        Accumulators { read: read as Id, made, register }
    }

    /// The inputs whose vectors are read, and the bytes of their elements.
    pub(super) fn loaded(&self) -> Vec<(usize, u32)> {
        let mut loaded: Vec<(usize, u32)> = Vec::new();
        for step in &self.steps {
            if let Act::Load { input, bytes, .. } = step.act
                && !loaded.contains(&(input as usize, bytes))
            {
                loaded.push((input as usize, bytes));
            }
        }
        loaded
    }

    /// The results, and the bytes of their elements.
    pub(super) fn stored(&self) -> Vec<(usize, u32)> {
        let stored = |step: &Step<M>| match step.act {
            Act::Store { result, bytes, .. } => Some((result as usize, bytes)),
            _ => None,
        };
        let mut stored: Vec<(usize, u32)> = self.steps.iter().filter_map(stored).collect();
        // Those of one result follow each other.
        stored.dedup();
        stored
    }
}
