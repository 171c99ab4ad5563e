//! Owns `Reading`: how an operand is read over the whole result, and what a copy of it would have cost. It
//! does not know how bytes are printed (`story/words.rs`).

use zerostride_shape::{Broadcast, Layout, Shape, ShapeError, Strides};

use crate::operand::Operand;

/// How one operand is read, without being copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The strides of the contiguous operand after expansion, in elements: 0 wherever it is stretched or
    /// added.
    pub strides: Strides,
    /// How many elements of the result each of its elements contributes to; 0 if it was stretched to size 0.
    pub repeats: u128,
    /// The bytes of the operand itself.
    pub own_bytes: u128,
    /// The bytes that a copy stretched to the result would have taken.
    pub copy_bytes: u128,
}

impl Reading {
    /// The reading of operand `i`.
    pub(crate) fn new(broadcast: &Broadcast, i: usize, operand: &Operand) -> Result<Reading, ShapeError> {
        let layout = Layout::contiguous(Shape::new(&operand.shape)?);
        let (own, result) = (layout.numel() as u128, broadcast.shape().numel() as u128);
        let item_size = operand.counted_dtype().item_size() as u128;
        Ok(Reading {
            strides: broadcast.expanded_strides(i, &layout),
            repeats: result.checked_div(own).unwrap_or(1),
            own_bytes: own * item_size,
            copy_bytes: result * item_size,
        })
    }

    /// Whether an implementation that copies would have to copy: the result has more or fewer elements than
    /// the operand.
    pub fn is_repeated(&self) -> bool {
        self.repeats != 1
    }
}
