//! Owns the memory of results and how long it is held: which buffer takes over the block of an operand that
//! dies, and how much memory is held at once. It does not allocate (`exec`).

use std::collections::HashMap;

use smallvec::SmallVec;
use zerostride_kernels::LEAF_ELEMENTS;

use super::cost::Cost;
use super::folded::FoldGroup;
use super::grid::{JOINED_RESULTS, NARROW_RESULTS};
use super::liveness::{deaths, last_reads};
use super::panel::PanelWalk;
use super::program::{Buffer, Program, REDUCED_TILE_ELEMENTS, Step, TILE_ELEMENTS, Work};
use super::reduce_walk::is_scattered;
use crate::num_threads;

/// Lets an element-wise step write over a buffer that it reads for the last time, element for element, and
/// tells each step which slots die with it. Results live on.
///
/// A step of a fold only takes over what the fold computes: rows of others are read in another order.
pub(crate) fn share(steps: &mut [Step], buffers: &mut [Buffer], results: &[usize], folds: &[FoldGroup]) {
    let last = last_reads(steps, buffers.len(), results);
    for (index, step) in steps.iter().enumerate() {
        let fold = folds.iter().find(|fold| fold.steps.contains(&index));
        let own = |buffer: usize| {
            fold.is_none_or(|fold| steps[fold.steps.clone()].iter().any(|step| step.output == buffer))
        };
        let dies = |buffer: usize| last[buffer] == Some(index) && own(buffer);
        if let Some(dying) = dying_operand(step, buffers, dies) {
            buffers[step.output].slot = buffers[dying].slot;
        }
    }
    for (slot, step) in deaths(steps, buffers, results) {
        steps[step].dead.push(slot);
    }
}

/// The operand whose block a step may write over, if it `dies` with the step.
fn dying_operand(step: &Step, buffers: &[Buffer], dies: impl Fn(usize) -> bool) -> Option<usize> {
    let Work::Map { program, out, .. } = &step.work else { return None };
    let output = &buffers[step.output];
    // Of each slot the buffer that is read there: `None` if it is read in another way than the result is
    // written, or another buffer in the same block is read, which would be overwritten before.
    let mut read: HashMap<usize, Option<usize>> = HashMap::new();
    let operands =
        || program.loads.iter().filter_map(|load| load.source.buffer().map(|buffer| (load, buffer)));
    for (load, buffer) in operands() {
        let in_step = load.strides == *out && load.offset == 0;
        let only = read.entry(buffers[buffer].slot).or_insert(Some(buffer));
        *only = only.filter(|only| *only == buffer && in_step);
    }
    let fits = |candidate: usize| {
        let buffer = &buffers[candidate];
        buffer.dtype.item_size() == output.dtype.item_size()
            && buffer.shape.numel() == output.shape.numel()
            && dies(candidate)
            && read[&buffer.slot] == Some(candidate)
    };
    operands().map(|(_, buffer)| buffer).find(|&buffer| fits(buffer))
}

/// The most bytes of intermediate results that are held at once, without the plan's results and what is local
/// to groups.
pub(crate) fn peak(steps: &[Step], buffers: &[Buffer], results: &[usize]) -> usize {
    let is_result = |slot: usize| results.iter().any(|&result| buffers[result].slot == slot);
    // Of each slot the bytes, and whether it is held.
    let mut slots = vec![(0usize, false); buffers.len()];
    for buffer in buffers.iter().filter(|buffer| buffer.slot < buffers.len()) {
        let bytes = &mut slots[buffer.slot].0;
        *bytes = (*bytes).max(buffer.shape.numel().saturating_mul(buffer.dtype.item_size()));
    }
    let (mut held, mut peak) = (0u128, 0);
    for step in steps {
        let slot = buffers[step.output].slot;
        if let Some((bytes, is_held @ false)) = slots.get_mut(slot).filter(|_| !is_result(slot)) {
            *is_held = true;
            held += *bytes as u128;
        }
        peak = peak.max(held);
        for &slot in &step.dead {
            if let Some((bytes, is_held @ true)) = slots.get_mut(slot) {
                *is_held = false;
                held -= *bytes as u128;
            }
        }
    }
    peak.try_into().unwrap_or(usize::MAX)
}

/// Bytes of tiles that a step needs on all threads, by itself or in a group.
pub(crate) fn tile_bytes(step: &Step, grouped: bool) -> usize {
    let (program, sizes, finish): (_, SmallVec<[usize; 8]>, _) = match &step.work {
        Work::Map { program, shape, .. } => (program, shape.as_ref().into(), None),
        Work::Reduce { program, kept, reduced, finish, .. } => {
            let finish = finish.as_deref().map(|finish| (finish, TILE_ELEMENTS.min(kept.numel())));
            (program, kept.iter().chain(&**reduced).copied().collect(), finish)
        }
        Work::Matmul { .. } => return 0,
    };
    let grain = Cost::new(program, &sizes).panel(grouped);
    let divided = grouped || grain < step.visits();
    let threads = if divided { num_threads() } else { 1 };
    let bytes = |program: &Program, len: usize| -> usize {
        program.dtypes.iter().map(|dtype| len * dtype.item_size()).sum()
    };
    let tiles =
        bytes(program, tile(&step.work, grouped)) + finish.map_or(0, |(finish, len)| bytes(finish, len));
    (tiles + packed_bytes(&step.work, grain)) * threads
}

/// Elements of a tile of a step, by itself or in a group.
fn tile(work: &Work, grouped: bool) -> usize {
    match work {
        // A leaf of a few results, perhaps those of several dimensions, may be one tile.
        Work::Reduce { kept, reduced, program, .. } => {
            let inner = kept.iter().rev().scan(1usize, |inner, &size| {
                *inner = inner.saturating_mul(size);
                Some(*inner)
            });
            let few = inner.take_while(|&inner| inner <= NARROW_RESULTS).last().unwrap_or(1);
            let loads: Vec<&[isize]> = program.loads.iter().map(|load| &*load.strides).collect();
            let joins = !grouped && is_scattered(&loads, kept, reduced);
            let few = if joins { few.max(JOINED_RESULTS.min(kept.numel())) } else { few };
            REDUCED_TILE_ELEMENTS.max(few * LEAF_ELEMENTS.min(reduced.numel()))
        }
        _ => TILE_ELEMENTS,
    }
}

/// Bytes of tiles for the operands that an element-wise step packs, in panels of about `grain` elements.
fn packed_bytes(work: &Work, grain: usize) -> usize {
    let Work::Map { shape, program, out, .. } = work else { return 0 };
    if shape.ndim() == 0 || shape.numel() == 0 {
        return 0;
    }
    let item = program.dtypes[program.result].item_size();
    let loads = program.loads.iter().map(|load| (&*load.strides, load.dtype.item_size()));
    let operands: Vec<(&[isize], usize)> = std::iter::once((&**out, item)).chain(loads).collect();
    let walk = PanelWalk::new(shape, &operands, grain, 1..=1);
    operands.iter().map(|(strides, item)| walk.tile(strides, *item)).sum()
}
