//! Owns the blocks of rows in which steps run together on a device: how many rows a block has, and where the
//! operands and the result of a step are for one. It does not run steps (`mod.rs`).
//!
//! What only these steps read is there for the rows of one block, which stay in the device's cache from one
//! kernel to the next, if all of it would not.

use std::ops::Range;

use smallvec::SmallVec;

use crate::plan::{FoldKind, Group, Plan, Program, Step, Work};

/// Steps that run together on a device.
pub(super) struct Blocks<'p> {
    plan: &'p Plan,
    group: &'p Group,
    /// The most rows of a block.
    rows: usize,
}

/// Where a step of a block is: the steps of its outermost dimension, for each load the elements that it
/// begins after its own first one, and the bytes that the result does.
pub(super) type Place = (usize, SmallVec<[isize; 8]>, i64);

/// What of a plan runs one after the other on a device with such a cache: steps alone, and blocks of several.
pub(super) fn runs(
    plan: &Plan,
    cache_bytes: u64,
) -> impl Iterator<Item = (Range<usize>, Option<Blocks<'_>>)> {
    let (mut start, mut groups) = (0, plan.passes.groups.iter().peekable());
    std::iter::from_fn(move || {
        let group = groups.next_if(|group| group.steps.start == start);
        let blocks = group.and_then(|group| Blocks::of(plan, group, cache_bytes));
        let end = blocks.as_ref().map_or(start + 1, |blocks| blocks.group.steps.end);
        let range = std::mem::replace(&mut start, end)..end;
        (range.end <= plan.passes.steps.len()).then_some((range, blocks))
    })
}

impl<'p> Blocks<'p> {
    /// The blocks of a group whose rows are half of a cache; `None` where whole buffers fit into the cache,
    /// or some steps reduce rows or look for zero divisors, for which each block would wait.
    fn of(plan: &'p Plan, group: &'p Group, cache_bytes: u64) -> Option<Blocks<'p>> {
        let blocks = Blocks { plan, group, rows: 1 };
        let row: u64 = blocks.steps().map(|step| step.output).map(|buffer| blocks.local_bytes(buffer)).sum();
        let waits = |step: &Step| step.work.program().is_some_and(|own| Program::zero_divisor(own).is_some());
        let is_kept = group.folded.kind == FoldKind::Kept && !blocks.steps().any(waits);
        let rows = (cache_bytes / 2 / row.max(1)).max(1) as usize;
        (is_kept && row.saturating_mul(group.rows as u64) > cache_bytes && rows < group.rows)
            .then_some(Blocks { rows, ..blocks })
    }

    pub(super) fn steps(&self) -> impl Iterator<Item = &'p Step> + use<'p> {
        self.plan.passes.steps[self.group.steps.clone()].iter()
    }

    /// The part of a group's rows that is in a block.
    pub(super) fn part(&self, elements: usize) -> usize {
        elements / self.group.rows * self.rows
    }

    /// The bytes of a buffer that is there for the rows of a block; 0 if it is whole.
    pub(super) fn local_bytes(&self, buffer: usize) -> u64 {
        let own = &self.plan.passes.buffers[buffer];
        let is_local = self.group.local.iter().any(|(slot, _)| *slot == own.slot);
        let row = (own.shape.numel() / self.group.rows).saturating_mul(own.dtype.item_size());
        if is_local { row.saturating_mul(self.rows) as u64 } else { 0 }
    }

    /// The rows of each block.
    pub(super) fn rows(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let (rows, most) = (self.group.rows, self.rows);
        (0..rows).step_by(most).map(move |first| first..rows.min(first + most))
    }

    /// Where a step of a block is, by its number in the group.
    pub(super) fn place(&self, at: usize, rows: &Range<usize>) -> Place {
        let (made, step) =
            (&self.group.folded.steps[at], &self.plan.passes.steps[self.group.steps.start + at]);
        let first = |buffer: Option<usize>, row: isize| {
            if buffer.is_some_and(|buffer| self.local_bytes(buffer) > 0) {
                0
            } else {
                row * rows.start as isize
            }
        };
        let loads = step.work.program().into_iter().flat_map(|program| &program.loads);
        let moved =
            loads.zip(&made.row_strides).map(|(load, &row)| first(load.source.buffer(), row)).collect();
        let of_result = match &step.work {
            Work::Map { out, .. } => out[0],
            Work::Reduce { kept, .. } => kept[1..].iter().product::<usize>() as isize,
            Work::Matmul { .. } => unreachable!("a matrix product is computed alone"),
        };
        let item = self.plan.passes.buffers[step.output].dtype.item_size() as isize;
        let out = first(Some(step.output), of_result * made.steps as isize * item);
        (rows.len() * made.steps, moved, out as i64)
    }
}
