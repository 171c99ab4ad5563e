//! Owns what a step is on this processor: one instruction on values whose registers are not known yet; and
//! the list of those that have been chosen so far. It does not know which are chosen.

use iced_x86::Code as Encoding;

use super::encodings::Signs;
use crate::print::steps::{self, Form, Id, NONE, OPERANDS, Overwrites};

/// How the operands of an instruction stand: which may be in memory, which is overwritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// One operand, a register or a whole vector in memory.
    Unary,
    /// One operand in a register.
    Register,
    /// Two operands, the last one perhaps in memory; they may change places if `commutes`.
    Binary { commutes: bool },
    /// A selection: the mask, the value where it holds, perhaps in memory, and the other one.
    Select,
    /// A selection of a result of two operands, the last one perhaps in memory: the mask, both, and what is
    /// overwritten where the mask holds.
    Masked,
    /// A comparison where a mask holds, and false elsewhere: the mask, and both operands, the last one
    /// perhaps in memory.
    MaskedCompare,
    /// `± a · b ± c`: the instruction overwrites one of its operands, and there is one for each.
    MulAdd { is_64: bool, signs: Signs },
    /// The first operand is overwritten, the last one perhaps in memory.
    Overwriting,
    /// Two masks.
    Masks,
    /// A selection of masks, which is three instructions.
    MaskSelect,
    /// The address of the pool in all elements.
    Pool,
    /// 16 bytes of a table at each of two addresses, which are the first or the second elements of two
    /// halves.
    Fetch { table: u32, is_odd: bool },
}

impl Shape {
    fn form(self) -> Form {
        let (overwrites, memory) = match self {
            Shape::Unary => (Overwrites::Nothing, Some(0)),
            Shape::Binary { .. } | Shape::Select => (Overwrites::Nothing, Some(1)),
            Shape::MaskedCompare => (Overwrites::Nothing, Some(2)),
            Shape::Masked => (Overwrites::One(3), Some(2)),
            Shape::Overwriting => (Overwrites::One(0), Some(2)),
            Shape::MulAdd { .. } => (Overwrites::Any, Some(2)),
            Shape::Register | Shape::Masks | Shape::MaskSelect | Shape::Pool | Shape::Fetch { .. } => {
                (Overwrites::Nothing, None)
            }
        };
        let commutes = self == Shape::Binary { commutes: true };
        Form { overwrites, memory, repeats: self != Shape::Unary, commutes }
    }
}

/// An instruction of x86-64, with the bytes of the register of its value and of its operands' registers. A
/// mask register has none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Make {
    pub encoding: Encoding,
    pub shape: Shape,
    pub immediate: Option<u8>,
    pub sizes: (u32, u32),
}

impl steps::Make for Make {
    fn form(&self) -> Form {
        self.shape.form()
    }
}

/// The move of a vector between memory and a register of so many bytes.
pub(super) fn moved(encoding: Encoding, bytes: u32) -> Make {
    Make { encoding, shape: Shape::Register, immediate: None, sizes: (bytes, bytes) }
}

pub(super) type Act = steps::Act<Make>;
pub(super) type Step = steps::Step<Make>;
pub(super) type Steps = steps::Steps<Make>;

/// The steps so far, and what stands behind the code.
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
