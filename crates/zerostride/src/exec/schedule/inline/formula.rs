//! Owns plans that are one element-wise step on elements in cache: without panels, claims or threads. It does not know what is
//! worth dividing (`plan/cost.rs`), nor how stages run (`exec/machine.rs`).

use smallvec::SmallVec;
use zerostride_shape::Layout;

use super::gather::in_order;
use super::loops::Loops;
use super::{Desk, with_desk};
use crate::Tensor;
use crate::exec::body::Machine;
use crate::exec::elements::{Inside, Rows};
use crate::exec::schedule::panels::{self, InCache};
use crate::memory::{Fresh, Reading};
use crate::plan::{Leaf, Load, Plan, Source, Step, TILE_ELEMENTS, Work};

/// The most operands of a plan.
const MOST_LEAVES: usize = 4;

/// The result of a plan that is one element-wise step, by its stages, without panels: on rows where they lie, or on elements that
/// are copied unless they lie in order.
pub(crate) fn run_plan(plan: &Plan) -> Option<Tensor> {
    let [Step { work: Work::Map { shape, program, out, out_offset: 0 }, .. }] = &plan.passes.steps[..] else {
        return None;
    };
    let loops = Loops::of(shape, out)?;
    if !loops.dense[0] || plan.leaves.len() > MOST_LEAVES {
        return None;
    }
    let buffer = &plan.passes.buffers[plan.result()];
    let code = panels::in_cache(shape, program)?;
    let mut result = Fresh::arbitrary(loops.numel * buffer.dtype.item_size())?;
    with_desk(|Desk { hazards, .. }| {
        let mut storages = [None; MOST_LEAVES];
        for (storage, leaf) in storages.iter_mut().zip(&plan.leaves) {
            *storage = Some(&**leaf.tensor.storage());
        }
        let reading = Reading::of(storages, hazards)?;
        let has_changed =
            |leaf: &Leaf| leaf.version.is_some_and(|captured| captured != leaf.tensor.storage().version());
        if plan.leaves.iter().any(has_changed) {
            return None;
        }
        // The storage of an operand, and the first element in it.
        let operand = |load: &Load| match load.source {
            Source::Leaf(leaf) => Some((reading.bytes(leaf), load.offset - plan.leaves[leaf].moved)),
            Source::Buffer(_) => None,
        };
        match code {
            InCache::Rows(code) => {
                let (count, row) = (shape[0], shape[1]);
                let load = |load: &Load| {
                    let item = load.dtype.item_size();
                    let elements = if load.strides[1] == 0 { 1 } else { row };
                    let rows = Rows { step: load.strides[0] * item as isize, count, bytes: elements * item };
                    let (bytes, first) = operand(load)?;
                    Some(Some(Inside { bytes, first: first as usize * item, rows, ahead: 0 }))
                };
                let loads: SmallVec<[_; MOST_LEAVES]> =
                    program.loads.iter().map(load).collect::<Option<_>>()?;
                code.run_anywhere(count, row, &loads, result.bytes_mut());
                Some(())
            }
            InCache::InOrder(code) => {
                let mut copies: SmallVec<[_; MOST_LEAVES]> = program.loads.iter().map(|_| None).collect();
                let load = |(load, copy): (&Load, _)| {
                    let own = Loops::of(shape, &load.strides)?;
                    let (bytes, first) = operand(load)?;
                    in_order(load.dtype.item_size(), first, bytes, &own, 0, copy)
                };
                let loads: SmallVec<[_; MOST_LEAVES]> =
                    program.loads.iter().zip(&mut copies).map(load).collect::<Option<_>>()?;
                Machine::new(code, TILE_ELEMENTS).run_in_order(&loads, result.bytes_mut()).ok()
            }
        }
    })?;
    Some(Tensor::new(result.share(), Layout::contiguous(buffer.shape.clone()), buffer.dtype))
}
