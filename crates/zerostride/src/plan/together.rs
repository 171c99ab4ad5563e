//! Owns which neighbouring steps may run together on blocks of rows: none reads rows that another one has not
//! computed yet. It does not know which of them do (`rows.rs`, `folded.rs`).

use std::collections::{HashMap, HashSet};

use smallvec::SmallVec;
use zerostride_shape::{Shape, Strides};

use super::program::{Buffer, ElementSource, Load, Step, Work};

/// Bytes that steps must read again for a group to pay, and that are worth a thread.
pub(super) const AGAIN_BYTES: usize = 1 << 15;

/// The most steps of a group: a thread holds tiles for all of them.
pub(super) const MOST_STEPS: usize = 64;

/// Bytes of the largest array that a step reads.
pub(super) fn largest_read(step: &Step) -> usize {
    let reads = step.work.reads().into_iter();
    reads.map(|(_, dtype, count)| count.saturating_mul(dtype.item_size())).max().unwrap_or(0)
}

/// Bytes that are read after an earlier one of the steps has touched them.
pub(super) fn read_again(steps: &[Step]) -> usize {
    steps.iter().skip(1).map(largest_read).max().unwrap_or(0)
}

/// A growing set of steps that may run together.
pub(super) struct Together<'a> {
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
    touched: HashSet<ElementSource>,
}

impl<'a> Together<'a> {
    pub(super) fn new((rows, are_several): (usize, bool), buffers: &'a [Buffer]) -> Together<'a> {
        let (written, read, touched) = (HashSet::new(), HashMap::new(), HashSet::new());
        Together { rows, are_several, buffers, written, read, touched }
    }

    /// Adds the next step, if it may run with the steps so far.
    pub(super) fn take(&mut self, step: &Step) -> bool {
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
        let strides: SmallVec<[&Strides; 8]> = program.loads.iter().map(|load| &load.strides).collect();
        shape.first().is_some_and(|outer| outer % rows == 0 && *outer > 0)
            && own.shape.numel().is_multiple_of(rows)
            && self.add(step, (&whole(&step.work), &strides), true)
    }

    /// Adds the next step, which reduces the rows, given its loop with rows outermost, if it may run with the
    /// steps so far. What it writes is there once they have run.
    pub(super) fn take_over(&mut self, step: &Step, (shape, strides): &(Shape, Vec<Strides>)) -> bool {
        self.add(step, (shape, &strides.iter().collect::<Vec<_>>()), false)
    }

    /// Adds a step with a loop, given the strides of its loads, that writes by row or not.
    fn add(&mut self, step: &Step, (shape, strides): (&Shape, &[&Strides]), writes: bool) -> bool {
        let Together { rows, buffers, .. } = *self;
        let slot = buffers[step.output].slot;
        // Of several results, those that share nothing have no reason to run together.
        let is_read = |own: ElementSource| self.touched.contains(&own);
        let shares = !self.are_several || self.touched.is_empty() || step.work.sources().any(is_read);
        let loads = || step.work.program().into_iter().flat_map(|program| &program.loads).zip(strides);
        let reads = |(load, strides): (&Load, &&Strides)| match load.source {
            ElementSource::Buffer(buffer) => {
                let slot = buffers[buffer].slot;
                Some((slot, load.offset == 0 && by_row(shape, strides, rows, &buffers[buffer])))
            }
            ElementSource::Leaf(_) => None,
        };
        let written = |own: usize| self.written.contains(&own) || (writes && own == slot);
        let is_possible = |pair: (&Load, &&Strides)| match reads(pair) {
            Some((slot, is_by_row)) if written(slot) => is_by_row,
            _ => is_apart(shape, pair.1),
        };
        if !shares || self.read.get(&slot) == Some(&false) || !loads().all(is_possible) {
            return false;
        }
        for (slot, is_by_row) in loads().filter_map(reads) {
            *self.read.entry(slot).or_insert(true) &= is_by_row;
        }
        self.touched.extend(step.work.sources().chain([ElementSource::Buffer(step.output)]));
        self.written.insert(slot);
        true
    }
}

/// All dimensions of a step's loop.
fn whole(work: &Work) -> Shape {
    match work {
        Work::Map { shape, .. } => shape.clone(),
        Work::Reduce { kept, reduced, .. } => {
            let sizes: SmallVec<[usize; 8]> = kept.iter().chain(&**reduced).copied().collect();
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
