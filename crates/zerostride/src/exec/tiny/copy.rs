//! Owns copies of a tensor's elements, in order, without a plan. It does not know who may touch the elements (`mod.rs`), nor how
//! they are collected (`kernels`).

use super::loops::Loops;
use super::{Any, Desk, Value, gather, share_out, with_desk};
use crate::Tensor;
use crate::exec::cache;
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
    let is_taken = if is_dense { cache::copies_plainly(cost.bytes()) } else { !cost.is_divided() };
    if !is_taken {
        return None;
    }
    let layout = loops.layout().ok()?;
    let mut fresh = Fresh::arbitrary(loops.numel.checked_mul(item)?)?;
    with_desk(|Desk { hazards, .. }| {
        let reading = Reading::of([value.storage()], hazards)?;
        if value.has_changed() {
            return None;
        }
        let (storage, first, out) = (reading.bytes(0), tensor.layout().offset(), fresh.bytes_mut());
        if is_dense {
            let from = &storage[first as usize * item..][..out.len()];
            let copy = |first: usize, to: &mut [u8]| to.copy_from_slice(&from[first * item..][..to.len()]);
            share_out(cost, (out, item), cost.grain(), copy);
        } else {
            gather::pack(item, first, storage, &loops, 0, out);
        }
        Some(())
    })?;
    Some(Tensor::new(fresh.share(), layout, dtype))
}
