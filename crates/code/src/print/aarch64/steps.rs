//! Owns what a step is on this processor: one instruction on values whose registers are not known yet; and
//! the list of those that have been chosen so far. It does not know which are chosen.

use std::collections::HashMap;

use crate::print::steps::{self, Form, Id, NONE, OPERANDS, Overwrites};

/// Bytes of a register.
pub(super) const VECTOR_BYTES: u32 = 16;

/// How the operands of an instruction stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// The operands in order.
    Plain,
    /// Two operands, and one that the result of both is added to or subtracted from, which is overwritten.
    Accumulate,
    /// A selection: the mask, the value where it holds, and the other one.
    Select,
    /// A look-up in a table of 64 bytes: bytes that are indices.
    Lookup { table: u32 },
    /// The same after another, which is overwritten where an index is in this table.
    NextLookup { table: u32 },
}

/// An instruction without its registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Make {
    pub word: u32,
    pub shape: Shape,
}

impl steps::Make for Make {
    fn form(&self) -> Form {
        let overwrites = match self.shape {
            Shape::Plain | Shape::Lookup { .. } => Overwrites::Nothing,
            Shape::Accumulate => Overwrites::One(2),
            Shape::NextLookup { .. } => Overwrites::One(1),
            Shape::Select => Overwrites::Any,
        };
        Form { overwrites, ..Form::PLAIN }
    }
}

pub(super) type Act = steps::Act<Make>;
pub(super) type Step = steps::Step<Make>;
pub(super) type Steps = steps::Steps<Make>;

/// The steps so far, and what stands behind the code.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub steps: Vec<Step>,
    pub pool: Vec<u8>,
    /// The steps of patterns of bytes.
    patterns: HashMap<[u8; 16], Id>,
}

impl Listing {
    pub(super) fn push(&mut self, act: Act, args: &[Id]) -> Id {
        let mut all = [NONE; OPERANDS];
        all[..args.len()].copy_from_slice(args);
        self.steps.push(Step { act, args: all, is_mask: false });
        self.steps.len() as Id - 1
    }

    /// An instruction as its word says.
    pub(super) fn raw(&mut self, word: u32, args: &[Id]) -> Id {
        self.shaped(word, Shape::Plain, args)
    }

    pub(super) fn shaped(&mut self, word: u32, shape: Shape, args: &[Id]) -> Id {
        self.push(Act::Make(Make { word, shape }), args)
    }

    /// A pattern of so many bytes in all elements of a register.
    pub(super) fn constant(&mut self, bits: u64, element_bytes: usize) -> Id {
        let element = &bits.to_le_bytes()[..element_bytes];
        let pattern: [u8; 16] = std::array::from_fn(|byte| element[byte % element_bytes]);
        self.whole(pattern)
    }

    /// A whole register from the pool.
    pub(super) fn whole(&mut self, pattern: [u8; 16]) -> Id {
        if let Some(&id) = self.patterns.get(&pattern) {
            return id;
        }
        let offset = self.pool.len() as u32;
        self.pool.extend_from_slice(&pattern);
        let id = self.push(Act::Constant { offset, element_bytes: 0 }, &[]);
        self.patterns.insert(pattern, id);
        id
    }

    /// All steps of vectors of so many elements.
    pub(super) fn finish(self, lanes: u32) -> Steps {
        Steps { steps: self.steps, lanes, pool: self.pool }
    }
}
