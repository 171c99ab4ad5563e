//! Owns the work of a step: who runs a window of it, on whose memory. It does not know which steps run
//! together.

use smallvec::SmallVec;
use zerostride_ops::DType;
use zerostride_shape::checked_bytes;

use super::panels;
use crate::exec::body;
use crate::exec::elements::Window;
use crate::memory::{Access, Block, Fresh};
use crate::plan::{Buffer, ElementSource, Leaf, Work};
use crate::{Error, Result};

/// The result of each step of a plan that is still needed, by its slot.
pub(in crate::exec) type Slots = SmallVec<[Option<Fresh>; 4]>;

/// Runs a window of a step's work.
pub(super) fn run_work<'a>(
    work: &Work,
    window: &Window<'_>,
    read: impl Fn(ElementSource) -> Block<'a>,
    out: (Block<'a>, DType),
) -> Result<()> {
    match work {
        Work::Map { shape, program, out: strides, out_offset } => {
            panels::run((shape, program), (strides, *out_offset), window, read, out)
        }
        Work::Reduce { .. } => body::reduce(work, window, read, out),
        Work::Matmul { .. } => unreachable!("a matrix product is written to memory of its own"),
    }
}

/// The elements of an operand, where its plan counts them.
pub(super) fn block<'a>(memory: &'a Access, leaf: &Leaf) -> Block<'a> {
    memory.guard(leaf.tensor.storage()).block(leaf.tensor.reach()).moved_to(leaf.first_byte())
}

/// Memory for the result of a step.
pub(super) fn allocate(buffer: &Buffer) -> Result<Fresh> {
    let bytes = checked_bytes(&buffer.shape, buffer.dtype.item_size())?;
    Fresh::arbitrary(bytes).ok_or_else(|| Error::OutOfMemory { bytes, shape: buffer.shape.clone() })
}
