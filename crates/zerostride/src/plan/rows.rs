//! Owns the choice of steps that run together, block of rows by block of rows, so that data which one step
//! reads or writes is still in cache when the next one reads it: softmax and layer normalisation have this
//! form. It does not run them (`exec`).
//!
//! Rows are steps of the outermost dimension that the loops of all steps have in common. Steps run together
//! if each of them, at one row, touches only that row of every buffer that one of them writes, and if the
//! rows of their operands do not interleave: blocks of columns would read cache lines in part. A buffer that
//! only these steps touch is never whole: each thread holds the rows that it works on.

use std::collections::HashMap;
use std::ops::{Range, RangeInclusive};

use zerostride_kernels::LEAF_ELEMENTS;

use super::folded::{FoldGroup, FoldKind, Folded};
use super::liveness::last_reads;
use super::program::{Buffer, ElementSource, Step, Work};
use super::together::{AGAIN_BYTES, MOST_STEPS, Together, largest_read, read_again};

/// Steps that run together over blocks of rows.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) steps: Range<usize>,
    pub(crate) rows: usize,
    /// The most rows of a block, and the rows that are worth a thread.
    pub(crate) block: usize,
    pub(crate) worth: usize,
    /// Slots of which each thread holds the rows of its block, each with the bytes of a row: buffers that
    /// only these steps touch. Of a fold, all that it computes by row.
    pub(crate) local: Vec<(usize, usize)>,
    /// What they do to a block of rows.
    pub(crate) folded: Folded,
}

impl Group {
    /// Bytes of what so many threads hold of rows, and of what they are reduced to.
    pub(crate) fn local_bytes(&self, threads: usize) -> usize {
        let rows: usize = self.local.iter().map(|(_, row)| row * self.block).sum();
        let (units, each) = (self.units(), self.units_of_part(threads));
        // Subtrees of the units of each part, and those of all that they are joined in.
        let heights = |units: usize| units.ilog2() as usize + 2;
        let values = self.folded.result_bytes().sum::<usize>()
            * (heights(each) * units.div_ceil(each) + heights(units));
        (rows + self.folded_row_bytes() * self.block).saturating_mul(threads).saturating_add(values)
    }

    /// Bytes of the values of a row that are reduced by one step.
    pub(crate) fn folded_row_bytes(&self) -> usize {
        self.folded.row_bytes().max().unwrap_or(0)
    }

    /// The units that rows are divided into: lanes, leaves of all elements, or the rows themselves.
    pub(crate) fn units(&self) -> usize {
        match self.folded.kind {
            FoldKind::Kept => self.rows,
            FoldKind::Row { lanes } => self.rows.div_ceil(LEAF_ELEMENTS) * lanes,
            FoldKind::One { row_elements } => (self.rows * row_elements).div_ceil(LEAF_ELEMENTS),
        }
    }

    /// The units that are worth a part, a power of two of them: two parts for each thread, so that a thread
    /// that comes late takes fewer.
    pub(crate) fn units_of_part(&self, threads: usize) -> usize {
        if let FoldKind::Kept = self.folded.kind {
            // A block, unless blocks are short: each costs microseconds.
            let share = self.rows.div_ceil(threads);
            let most = if share < 4 * self.worth { share } else { share.div_ceil(2) };
            return most.max(self.worth).min(self.block);
        }
        let (units, parts) = (self.units(), if threads == 1 { 1 } else { 2 * threads });
        let worth = self.worth.saturating_mul(units).div_ceil(self.rows);
        units.div_ceil(parts).max(worth).next_power_of_two()
    }
}

/// Bytes of a block of rows in the largest array that the steps touch: a few such blocks fit into a core's
/// L2.
const BLOCK_BYTES: usize = 1 << 17;

/// Rows of which those that threads work on are a small part, and of which each thread has some.
const MANY_ROWS: usize = 64;

/// Rows of a block that are paired with columns, which are read for all of these rows at once, and the bytes
/// that a thread may hold for that.
const PAIRED_ROWS: RangeInclusive<usize> = 8..=32;
const PAIRED_BYTES: usize = 1 << 19;

/// Rows of a block: steps touch `row` bytes of each, and threads hold `held` bytes of each.
fn block_rows(steps: &[Step], row: usize, held: usize) -> usize {
    let paired = steps.iter().any(is_over_pairs);
    let least =
        if paired { (PAIRED_BYTES / held.max(1)).clamp(*PAIRED_ROWS.start(), *PAIRED_ROWS.end()) } else { 1 };
    (BLOCK_BYTES / row).max(least)
}

/// Whether a step reduces over pairs of rows and columns.
fn is_over_pairs(step: &Step) -> bool {
    let Work::Reduce { kept, program, .. } = &step.work else { return false };
    let repeats = |dim: usize| program.loads.iter().any(|load| load.strides[dim] == 0);
    kept.ndim() == 2 && repeats(0) && repeats(1)
}

/// The groups of a plan, in order. A buffer that is local to a group is moved to a slot of its own.
pub(crate) fn groups(
    steps: &[Step],
    buffers: &mut [Buffer],
    results: &[usize],
    folds: &[FoldGroup],
) -> Vec<Group> {
    let last = last_reads(steps, buffers.len(), results);
    let (mut groups, mut start) = (Vec::new(), 0);
    while start < steps.len() {
        let next = folds.iter().find(|fold| fold.steps.start >= start);
        if let Some(fold) = next.filter(|fold| fold.steps.start == start)
            && let Some(group) = folded(steps, fold, buffers, &last)
        {
            groups.push(group);
            start = fold.steps.end;
            continue;
        }
        let before = next.map_or(steps.len(), |fold| fold.steps.start).max(start + 1);
        let are_several = results.len() > 1;
        let Some(rows) = rows_of(&steps[start], are_several) else {
            start += 1;
            continue;
        };
        let within = &steps[start..before.min(start + MOST_STEPS)];
        let (rows, count) = longest(within, (rows, are_several), buffers);
        let end = (start + 1..start + count)
            .find(|&at| begins_another(steps, start..start + count, at, buffers, &last))
            .unwrap_or(start + count);
        match group(steps, (start..end, rows), buffers, &last) {
            Some(group) => {
                groups.push(group);
                start = end;
            }
            None => start += 1,
        }
    }
    groups
}

/// Over how many rows steps run together from the first on, and how many of them: over the first step's rows,
/// or the fewer and larger ones of a step that would not fit otherwise.
fn longest(steps: &[Step], (rows, are_several): (usize, bool), buffers: &[Buffer]) -> (usize, usize) {
    let fitting = |rows| {
        let mut together = Together::new((rows, are_several), buffers);
        steps.iter().take_while(|step| together.take(step)).count()
    };
    let mut longest = (rows, fitting(rows));
    while let Some(fewer) = steps.get(longest.1).and_then(|next| rows_of(next, are_several))
        && fewer < longest.0
        && longest.0.is_multiple_of(fewer)
    {
        let count = fitting(fewer);
        if count <= longest.1
            || largest_row(&steps[..count], buffers, fewer).is_none_or(|row| row > BLOCK_BYTES)
        {
            break;
        }
        longest = (fewer, count);
    }
    longest
}

/// The rows of a step that may begin a group: a reduction, and in a plan of several results an element-wise
/// step, whose operands others may read.
fn rows_of(step: &Step, are_several: bool) -> Option<usize> {
    match &step.work {
        Work::Reduce { kept: outer, .. } => Some(outer),
        Work::Map { shape: outer, .. } if are_several => Some(outer),
        _ => None,
    }
    .and_then(|outer| outer.first().copied().filter(|&rows| rows > 1))
}

/// Whether a step of a group would fill a table that the group has to hold whole for steps behind it: it had
/// better begin a group with these.
fn begins_another(
    steps: &[Step],
    group: Range<usize>,
    at: usize,
    buffers: &[Buffer],
    last: &[Option<usize>],
) -> bool {
    let Work::Reduce { kept, .. } = &steps[at].work else { return false };
    let before = &steps[group.start..at];
    let is_before =
        |source: ElementSource| before.iter().any(|step| source == ElementSource::Buffer(step.output));
    let output = steps[at].output;
    buffers[output].shape.numel() > kept.first().copied().unwrap_or(1)
        && last[output].is_some_and(|last| (group.end..usize::MAX).contains(&last))
        && !steps[at].work.sources().any(is_before)
}

/// The group of steps that reduce their rows; `None` where the form of its loops would be beyond limits.
fn folded(steps: &[Step], fold: &FoldGroup, buffers: &mut [Buffer], last: &[Option<usize>]) -> Option<Group> {
    let own = &steps[fold.steps.clone()];
    let folded = fold.folded(steps, buffers)?;
    let bytes = |buffer: &Buffer| buffer.shape.numel().saturating_mul(buffer.dtype.item_size());
    let mut group =
        Group { steps: fold.steps.clone(), rows: fold.rows, block: 0, worth: 0, local: Vec::new(), folded };
    let row = largest_row(own, buffers, fold.rows)?;
    let by_row = |index: &usize| !fold.reduces[*index - fold.steps.start];
    // Of each slot of the plan, the last step of the group that touches it; none if others do, too.
    let mut ends: HashMap<usize, Option<usize>> = HashMap::new();
    for index in fold.steps.clone().filter(by_row) {
        let (output, slot) = (steps[index].output, buffers[steps[index].output].slot);
        let end = last[output].unwrap_or(index).max(index);
        let end = Some(end).filter(|&end| end < fold.steps.end);
        ends.entry(slot).and_modify(|known| *known = (*known).zip(end).map(|(a, b)| a.max(b))).or_insert(end);
    }
    // Numbers beyond the plan's slots, each taken again once nothing reads it.
    let (first, mut taken) = (buffers.len(), HashMap::<usize, usize>::new());
    for index in fold.steps.clone().filter(by_row) {
        let output = steps[index].output;
        let (slot, row) = (buffers[output].slot, (bytes(&buffers[output]) / fold.rows).max(1));
        if last[output] >= Some(fold.steps.end) {
            group.local.push((slot, row));
            continue;
        }
        let is_free = |own: &usize| {
            let mut users = taken.iter().filter(|(_, local)| *local == own);
            users.all(|(slot, _)| ends[slot].is_some_and(|end| end < index))
        };
        let known = taken.get(&slot).copied();
        let same =
            |&(own, bytes): &(usize, usize)| (own >= first && bytes == row && is_free(&own)).then_some(own);
        let free = known.or_else(|| group.local.iter().find_map(same));
        let local = free.unwrap_or_else(|| {
            group.local.push((first + slot, row));
            first + slot
        });
        taken.insert(slot, local);
        buffers[output].slot = local;
    }
    group.block = fold.block(BLOCK_BYTES / group.folded_row_bytes().max(row));
    group.worth = (AGAIN_BYTES / row).clamp(1, fold.rows);
    Some(group)
}

/// Bytes of a row in the largest array that steps touch.
fn largest_row(steps: &[Step], buffers: &[Buffer], rows: usize) -> Option<usize> {
    let all = steps.iter().flat_map(|step| {
        let output = &buffers[step.output];
        [largest_read(step), output.shape.numel().saturating_mul(output.dtype.item_size())]
    });
    Some((all.max()? / rows).max(1))
}

/// `last` are the last reads of all buffers.
fn group(
    steps: &[Step],
    (range, rows): (Range<usize>, usize),
    buffers: &mut [Buffer],
    last: &[Option<usize>],
) -> Option<Group> {
    let own = &steps[range.clone()];
    let bytes = |buffer: &Buffer| buffer.shape.numel().saturating_mul(buffer.dtype.item_size());
    let row = largest_row(own, buffers, rows)?;
    let written = own.iter().all(|step| bytes(&buffers[step.output]) > 0);
    if range.len() < 2 || read_again(own) < AGAIN_BYTES || !written {
        return None;
    }
    // A buffer is read after the step that writes it.
    let outside = |buffer: usize| last[buffer] >= Some(range.end);
    let mut local: Vec<(usize, usize)> = Vec::new();
    // Numbers beyond the plan's slots. Buffers that shared a slot still share one.
    let first = buffers.len();
    for buffer in own.iter().map(|step| step.output) {
        // A row that is larger than a block stays in the plan's memory, unless there are many.
        if (row > BLOCK_BYTES && rows < MANY_ROWS) || outside(buffer) {
            continue;
        }
        let slot = first + buffers[buffer].slot;
        if !local.iter().any(|(known, _)| *known == slot) {
            local.push((slot, bytes(&buffers[buffer]) / rows));
        }
        buffers[buffer].slot = slot;
    }
    let fold =
        FoldGroup { steps: range.clone(), rows, kind: FoldKind::Kept, reduces: vec![false; range.len()] };
    let folded = fold.folded(steps, buffers).expect("loops over rows in memory have strides");
    let held = local.iter().map(|(_, row)| row).sum();
    let (block, worth) = (fold.block(block_rows(own, row, held)), (AGAIN_BYTES / row).clamp(1, rows));
    Some(Group { steps: range, rows, block, worth, local, folded })
}
