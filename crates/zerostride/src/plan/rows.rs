//! Owns the choice of steps that run together, block of rows by block of rows, so that data which one step
//! reads or writes is still in cache when the next one reads it: softmax and layer normalisation have this
//! form. It does not run them (`exec`).
//!
//! Rows are steps of the outermost dimension that the loops of all steps have in common. Steps run together
//! if each of them, at one row, touches only that row of every buffer that one of them writes, and if the
//! rows of their operands do not interleave: blocks of columns would read cache lines in part. A buffer that
//! only these steps touch is never whole: each thread holds the rows that it works on.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use zerostride_shape::{Shape, Strides};

use super::memory::last_reads;
use super::program::{Buffer, Source, Step, Work};

/// Steps that run together over blocks of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) steps: Range<usize>,
    pub(crate) rows: usize,
    /// The most rows of a block, and the rows that are worth a thread.
    pub(crate) block: usize,
    pub(crate) worth: usize,
    /// Slots of buffers that only these steps touch, each with the bytes of a row.
    pub(crate) local: Vec<(usize, usize)>,
}

impl Group {
    /// Bytes of the rows that a thread holds.
    pub(crate) fn local_bytes(&self) -> usize {
        self.local.iter().map(|(_, row)| row * self.block).sum()
    }
}

/// Bytes of a block of rows in the largest array that the steps touch: a few such blocks fit into a core's
/// L2.
const BLOCK_BYTES: usize = 1 << 17;

/// Bytes that steps must read again for a group to pay, and that are worth a thread.
const AGAIN_BYTES: usize = 1 << 15;

/// The most steps of a group: a thread holds tiles for all of them.
const MOST_STEPS: usize = 64;

/// The groups of a plan, in order. A buffer that is local to a group is moved to a slot of its own.
pub(crate) fn groups(steps: &[Step], buffers: &mut [Buffer], results: &[usize]) -> Vec<Group> {
    let last = last_reads(steps, buffers.len(), results);
    let (mut groups, mut start) = (Vec::new(), 0);
    while start < steps.len() {
        let are_several = results.len() > 1;
        let rows = rows_of(&steps[start], are_several);
        let end = match rows {
            Some(rows) => {
                let mut together = Together::new((rows, are_several), buffers);
                let fitting = steps[start..].iter().take(MOST_STEPS).take_while(|step| together.take(step));
                let end = start + fitting.count();
                (start + 1..end)
                    .find(|&at| begins_another(steps, start..end, at, buffers, &last))
                    .unwrap_or(end)
            }
            None => start,
        };
        match rows.and_then(|rows| group(steps, (start..end, rows), buffers, &last)) {
            Some(group) => {
                groups.push(group);
                start = end;
            }
            None => start += 1,
        }
    }
    groups
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
    let is_before = |source: Source| before.iter().any(|step| source == Source::Buffer(step.output));
    let output = steps[at].output;
    buffers[output].shape.numel() > kept.first().copied().unwrap_or(1)
        && last[output].is_some_and(|last| (group.end..usize::MAX).contains(&last))
        && !steps[at].work.sources().any(is_before)
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
    let read = |step: &Step| {
        let reads = step.work.reads().into_iter();
        reads.map(|(_, dtype, count)| count.saturating_mul(dtype.item_size())).max().unwrap_or(0)
    };
    let all = own.iter().flat_map(|step| [read(step), bytes(&buffers[step.output])]);
    let row = (all.max()? / rows).max(1);
    let written = own.iter().all(|step| bytes(&buffers[step.output]) > 0);
    // Bytes that are read after an earlier step of the group has touched them.
    let again = own.iter().skip(1).map(read).max()?;
    if range.len() < 2 || again < AGAIN_BYTES || !written {
        return None;
    }
    // A buffer is read after the step that writes it.
    let outside = |buffer: usize| last[buffer] >= Some(range.end);
    let mut group = Group {
        steps: range.clone(),
        rows,
        block: (BLOCK_BYTES / row).clamp(1, rows),
        worth: (AGAIN_BYTES / row).clamp(1, rows),
        local: Vec::new(),
    };
    // Numbers beyond the plan's slots. Buffers that shared a slot still share one.
    let first = buffers.len();
    for buffer in own.iter().map(|step| step.output) {
        // A row that is larger than a block stays in the plan's memory.
        if row > BLOCK_BYTES || outside(buffer) {
            continue;
        }
        let slot = first + buffers[buffer].slot;
        if !group.local.iter().any(|(known, _)| *known == slot) {
            group.local.push((slot, bytes(&buffers[buffer]) / rows));
        }
        buffers[buffer].slot = slot;
    }
    Some(group)
}

/// A growing set of steps that may run together.
struct Together<'a> {
    rows: usize,
    /// Whether they are of a plan of several results.
    are_several: bool,
    buffers: &'a [Buffer],
    /// The slots that they write.
    written: HashSet<usize>,
    /// The slots that they read, and whether they read them row by row: a step may write over what another
    /// one has read.
    read: HashMap<usize, bool>,
    /// What they touch.
    touched: HashSet<Source>,
}

impl<'a> Together<'a> {
    fn new((rows, are_several): (usize, bool), buffers: &'a [Buffer]) -> Together<'a> {
        let (written, read, touched) = (HashSet::new(), HashMap::new(), HashSet::new());
        Together { rows, are_several, buffers, written, read, touched }
    }

    /// Adds the next step, if it may run with the steps so far.
    fn take(&mut self, step: &Step) -> bool {
        let Together { rows, buffers, .. } = *self;
        let own = &buffers[step.output];
        let (shape, program) = match &step.work {
            Work::Map { shape, program, out, out_offset } => {
                if *out_offset != 0 || !by_row(shape, out, rows, own) {
                    return false;
                }
                (shape, program)
            }
            Work::Reduce { kept, program, .. } => (kept, program),
            Work::Matmul { .. } => return false,
        };
        // Of several results, those that share nothing have no reason to run together.
        let is_read = |own: Source| self.touched.contains(&own);
        let shares = !self.are_several || self.touched.is_empty() || step.work.sources().any(is_read);
        self.touched.extend(step.work.sources().chain([Source::Buffer(step.output)]));
        self.written.insert(own.slot);
        let whole = whole(&step.work);
        shares
            && shape.first().is_some_and(|outer| outer % rows == 0 && *outer > 0)
            && own.shape.numel().is_multiple_of(rows)
            && self.read.get(&own.slot) != Some(&false)
            && program.loads.iter().all(|load| {
                let Source::Buffer(buffer) = load.source else { return is_apart(&whole, &load.strides) };
                let slot = buffers[buffer].slot;
                let by_row = load.offset == 0 && by_row(&whole, &load.strides, rows, &buffers[buffer]);
                *self.read.entry(slot).or_insert(true) &= by_row;
                if self.written.contains(&slot) { by_row } else { is_apart(&whole, &load.strides) }
            })
    }
}

/// All dimensions of a step's loop.
fn whole(work: &Work) -> Shape {
    match work {
        Work::Map { shape, .. } => shape.clone(),
        Work::Reduce { kept, reduced, .. } => {
            let sizes: Vec<usize> = kept.iter().chain(&**reduced).copied().collect();
            Shape::new(&sizes).unwrap_or_default()
        }
        Work::Matmul { batch, .. } => batch.clone(),
    }
}

/// Whether successive steps of the outermost dimension read disjoint ranges in order, or the same elements.
fn is_apart(shape: &Shape, strides: &Strides) -> bool {
    let outer = strides.first().map_or(0, |stride| stride.unsigned_abs());
    let inner = shape.iter().zip(&**strides).skip(1);
    let reach = inner.fold(0usize, |reach, (&size, stride)| {
        reach.saturating_add(size.saturating_sub(1).saturating_mul(stride.unsigned_abs()))
    });
    outer == 0 || outer > reach
}

/// Whether a loop of that shape, while it is at a row, touches the same row of a buffer and no other.
fn by_row(shape: &Shape, strides: &Strides, rows: usize, buffer: &Buffer) -> bool {
    let (Some(outer), Some(&stride)) = (shape.first(), strides.first()) else { return false };
    if outer % rows != 0 || *outer == 0 || !buffer.shape.numel().is_multiple_of(rows) {
        return false;
    }
    let (steps, row) = (outer / rows, (buffer.shape.numel() / rows) as i128);
    let inner = shape[1..].iter().zip(&strides[1..]);
    let reach = inner.map(|(&size, &stride)| (size as i128 - 1).max(0) * stride as i128).sum::<i128>();
    strides.iter().all(|&stride| stride >= 0)
        && steps as i128 * stride as i128 == row
        && (steps as i128 - 1) * (stride as i128) + reach < row
}
