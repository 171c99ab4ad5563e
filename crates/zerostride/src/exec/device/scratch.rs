//! Owns how much memory of a device the run of a plan takes besides its operands and its results. It does not
//! know who runs it (`mod.rs`), nor a limit.

use zerostride_code::print::ptx::MAX_ELEMENTS;
use zerostride_ops::DType;

use super::blocks::{Blocks, runs};
use super::queue::{Queue, tree_bytes};
use super::record::{KeptCode, part_count};
use super::reduction::{self, Reduced, leaves};
use crate::plan::{Plan, PlanSteps, Program, Step, Work, last_reads};

/// The most bytes that the run of a plan holds at once besides its operands and its results: buffers from the
/// step that fills them to the last one that reads them, and what a step allocates for itself.
pub(crate) fn scratch_bytes(plan: &Plan) -> u64 {
    let PlanSteps { steps, buffers, results, .. } = &*plan.passes;
    let last = last_reads(steps, buffers.len(), results);
    let (mut held, mut most) = (0u64, 0u64);
    for (range, blocks) in runs(plan, cache_bytes(plan)) {
        let bytes = |buffer: usize| {
            let local = blocks.as_ref().map_or(0, |blocks| blocks.local_bytes(buffer));
            let item = buffers[buffer].dtype.item_size() as u64;
            let whole = if results.contains(&buffer) {
                0
            } else {
                item.saturating_mul(buffers[buffer].shape.numel() as u64)
            };
            if local > 0 { local } else { whole }
        };
        let own = |step: &Step| step_bytes(step, buffers[step.output].dtype, blocks.as_ref());
        let filled = steps[range.clone()].iter().map(|step| bytes(step.output));
        held = filled.fold(held, u64::saturating_add);
        most = most.max(held.saturating_add(steps[range.clone()].iter().map(own).max().unwrap_or(0)));
        let dies = |buffer: &usize| last[*buffer].is_some_and(|last| range.contains(&last));
        held = held.saturating_sub((0..buffers.len()).filter(dies).map(bytes).sum());
    }
    most
}

/// The bytes of the cache of the device that a plan runs on.
fn cache_bytes(plan: &Plan) -> u64 {
    let index = super::device(plan, None).ok().flatten();
    index.and_then(|index| Queue::of(index).ok()).map_or(u64::MAX, |queue| queue.cache_bytes())
}

/// What a step allocates besides its result: for the search of zero divisors, which comes first, or for
/// itself.
fn step_bytes(step: &Step, dtype: DType, blocks: Option<&Blocks<'_>>) -> u64 {
    let divisors = step.work.program().and_then(Program::zero_divisor);
    let search = divisors.map_or(0, |program| 1 + tree_of(reduction::search(program), 1, step.visits()));
    let own = match &step.work {
        Work::Map { .. } | Work::Matmul { .. } => 0,
        Work::Reduce { op, correction, kept, reduced, program, finish, .. } => {
            let codes = reduction::codes((*op, *correction), program, dtype, finish.as_deref());
            let kept = blocks.map_or(kept.numel(), |blocks| blocks.part(kept.numel()));
            let results = (kept as u64).min(MAX_ELEMENTS / leaves(reduced.numel()));
            // The parts of complex numbers are reduced apart.
            let apart = if part_count(dtype) == 1 { 0 } else { results * dtype.item_size() as u64 };
            apart + tree_of(codes, results, reduced.numel())
        }
    };
    search.max(own)
}

/// The bytes of the tree of a reduction; none where there is no code, which is refused when it is run.
fn tree_of(codes: &KeptCode<Reduced>, results: u64, elements: usize) -> u64 {
    let leaves = leaves(elements.min(MAX_ELEMENTS as usize)) as u32;
    codes.as_ref().map_or(0, |(codes, _)| tree_bytes(codes, results, leaves))
}
