//! Owns copies of a tensor's elements, in order, without a plan. It does not know who may touch the elements (`mod.rs`), nor how
//! they are collected (`kernels`).

use std::convert::Infallible;

use super::loops::Loops;
use super::{Any, Desk, Value, gather, with_desk};
use crate::Tensor;
use crate::exec::cache;
use crate::exec::crew::{self, Effort};
use crate::interrupt;
use crate::plan::Cost;
use crate::tensor::{Fresh, Reading};

/// A copy of a tensor.
pub(super) fn evaluate(value: Any<'_>) -> Option<Tensor> {
    let tensor = value.tensor()?;
    let mut loops = Loops::single();
    loops.walk(&[tensor])?;
    let (dtype, is_dense) = (tensor.dtype(), loops.dense[0]);
    let (item, cost) = (dtype.item_size(), Cost::of_copying(dtype, loops.numel));
    // Large copies that cross over are packed block by block.
    let is_taken = if is_dense { cost.bytes() <= cache::last_level() / 2 } else { !cost.is_divided() };
    if !is_taken {
        return None;
    }
    let layout = loops.layout()?;
    let mut fresh = Fresh::arbitrary(loops.numel.checked_mul(item)?)?;
    with_desk(|Desk { hazards, .. }| {
        let reading = Reading::of([value.storage()], hazards)?;
        if value.has_changed() {
            return None;
        }
        let (storage, first, out) = (reading.bytes(0), tensor.layout().offset(), fresh.bytes_mut());
        if is_dense {
            copy_all(&storage[first as usize * item..][..out.len()], out, item, cost);
        } else {
            gather::pack(item, first, storage, &loops, 0, out);
        }
        Some(())
    })?;
    Some(Tensor::new(fresh.share(), layout, dtype))
}

/// Copies elements of so many bytes, divided among threads where that is worth it.
fn copy_all(from: &[u8], to: &mut [u8], item: usize, cost: Cost) {
    let effort = if cost.is_long(to.len() / item) { Effort::Long } else { Effort::Short };
    let part = cost.grain() * item;
    let parts = to.chunks_mut(part).zip(from.chunks(part));
    let copy = |(): &mut (), (to, from): (&mut [u8], &[u8])| {
        to.copy_from_slice(from);
        Ok::<_, Infallible>(())
    };
    let Ok(()) = interrupt::put_off(|| crew::for_each_of(effort, parts, || (), copy));
}
