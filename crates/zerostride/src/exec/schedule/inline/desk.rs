//! Owns what a thread reads and writes with: the bytes of storages that no operation is writing, and tiles
//! for copies of a few elements. It does not know operations.

use std::cell::RefCell;

use super::gather::{GATHERED_ELEMENTS, Tile};
use super::ready_operand::AsReadyOperand;
use crate::Tensor;
use crate::memory::{Hazards, Reading};

/// Tiles of a thread: two for each of up to three operands.
const DESK_TILES: usize = 6;

/// What a thread works with.
struct Desk {
    hazards: Hazards,
    tiles: Box<[Tile; DESK_TILES]>,
}

/// Runs work on what the storages of tensors hold, with the thread's tiles. `None` if an operation may be
/// writing one of them, or a tensor has been written to since it was captured.
#[inline(always)]
pub(super) fn reading<const N: usize, R>(
    values: &[impl AsReadyOperand; N],
    work: impl FnOnce([&[u8]; N], &mut [Tile]) -> Option<R>,
) -> Option<R> {
    thread_local! {
        static DESK: RefCell<Desk> =
            RefCell::new(Desk { hazards: Hazards::new(), tiles: Box::new([[0; GATHERED_ELEMENTS]; DESK_TILES]) });
    }
    let mut storages = [None; N];
    for (storage, value) in storages.iter_mut().zip(values) {
        *storage = value.value().storage();
    }
    // A thread that is ending has none.
    DESK.try_with(|desk| {
        let Desk { hazards, tiles } = &mut *desk.borrow_mut();
        let reading = Reading::of(storages, hazards)?;
        if values.iter().any(|value| value.value().has_changed()) {
            return None;
        }
        work(std::array::from_fn(|index| reading.bytes(index)), &mut **tiles)
    })
    .ok()?
}

/// Writes elements to a target in which they are contiguous, if what they have been computed from is still
/// current.
pub(super) fn overwrite(target: &Tensor, elements: &[u8], is_current: impl FnOnce() -> bool) -> Option<()> {
    let mut writing = target.storage().try_write()?;
    if !is_current() {
        return None;
    }
    let start = target.storage_offset() * target.dtype().item_size();
    writing.bytes_mut()[start..][..elements.len()].copy_from_slice(elements);
    Some(())
}
