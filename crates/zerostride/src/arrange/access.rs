//! Owns the way of these operations to the bytes of tensors: claims on all of them at once, then slices. It does not know
//! what is done with the bytes.

use crate::exec::Memory;
use crate::plan::Leaf;
use crate::{Result, Tensor};

fn leaves<const N: usize>(tensors: [&Tensor; N]) -> [Leaf; N] {
    tensors.map(|tensor| Leaf::new(tensor, None))
}

/// Lets `read` see the bytes that each tensor reaches, from its lowest element to its highest.
pub(super) fn read<const N: usize, R>(
    tensors: [&Tensor; N],
    read: impl FnOnce([&[u8]; N]) -> Result<R>,
) -> Result<R> {
    let memory = Memory::claim(&leaves(tensors), None)?;
    read(tensors.map(|tensor| memory.guard(tensor).bytes(tensor.reach())))
}

/// Lets `write` change the bytes that a target reaches while it sees those of the sources, which lie in other storages.
///
/// # Panics
/// If a source shares the target's storage.
pub(super) fn write<const N: usize, R>(
    target: &Tensor,
    sources: [&Tensor; N],
    write: impl FnOnce(&mut [u8], [&[u8]; N]) -> Result<R>,
) -> Result<R> {
    let mut memory = Memory::claim(&leaves(sources), Some(target))?;
    let mut guard = memory.split_off(target);
    write(guard.bytes_mut(target.reach()), sources.map(|tensor| memory.guard(tensor).bytes(tensor.reach())))
}
