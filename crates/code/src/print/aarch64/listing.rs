//! Owns the steps that have been chosen so far, and what stands behind the code. It does not know which are
//! chosen.

use std::collections::HashMap;

use super::steps::{Act, Make, Shape, Step, Steps};
use crate::print::steps::{Id, NONE, OPERANDS};

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
