//! Owns the steps that have been chosen so far, and what stands behind the code. It does not know which are
//! chosen.

use iced_x86::Code as Encoding;

use super::steps::{Act, Make, Shape, Step, Steps};
use crate::print::steps::{Id, NONE, OPERANDS};

#[derive(Debug, Default)]
pub(super) struct Listing {
    pub steps: Vec<Step>,
    pub pool: Vec<u8>,
}

impl Listing {
    pub(super) fn push(&mut self, act: Act, args: [Id; OPERANDS], is_mask: bool) -> Id {
        self.steps.push(Step { act, args, is_mask });
        self.steps.len() as Id - 1
    }

    /// An instruction with the bytes of the register of its value, 0 being a mask register, and of those of
    /// its operands.
    pub(super) fn make(
        &mut self,
        encoding: Encoding,
        shape: Shape,
        immediate: Option<u8>,
        args: &[Id],
        sizes: (u32, u32),
    ) -> Id {
        let mut all = [NONE; OPERANDS];
        all[..args.len()].copy_from_slice(args);
        self.push(Act::Make(Make { encoding, shape, immediate, sizes }), all, sizes.0 == 0)
    }

    /// A whole register from the pool.
    pub(super) fn whole(&mut self, bytes: &[u8]) -> Id {
        let offset = self.in_pool(bytes, bytes.len());
        self.push(Act::Constant { offset, element_bytes: 0 }, [NONE; OPERANDS], false)
    }

    /// Where bytes stand in the pool, at a multiple of `align`.
    pub(super) fn in_pool(&mut self, bytes: &[u8], align: usize) -> u32 {
        self.pool.resize(self.pool.len().next_multiple_of(align), 0);
        let offset = self.pool.len();
        self.pool.extend_from_slice(bytes);
        offset as u32
    }

    /// All steps of vectors of so many elements.
    pub(super) fn finish(self, lanes: u32) -> Steps {
        Steps { steps: self.steps, lanes, pool: self.pool }
    }
}
