//! Owns the choice of steps that run together, block of rows by block of rows, so that what one writes or reads is still
//! in cache when the next one reads it: the form of softmax and of layer normalisation. It does not run them (`exec`).
//!
//! Rows are steps of the outermost dimension that the loops of all steps have in common. Steps run together if each
//! touches in a buffer that one of them writes, while it is at a row, that row alone.

use std::ops::Range;

use zerostride_shape::{Shape, Strides};

use super::program::{Buffer, Source, Step, Work};

/// Steps that run together over blocks of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) steps: Range<usize>,
    pub(crate) rows: usize,
    /// Rows of a block.
    pub(crate) block: usize,
}

/// Bytes that a block of rows may hold of the largest thing that the steps read: less than the cache of a core.
const BLOCK: usize = 1 << 18;

/// Bytes that steps must read more than once for a group to be worth it: about the cache of a core.
const LARGE: usize = 1 << 20;

/// The groups of a plan, in order.
pub(crate) fn groups(steps: &[Step], buffers: &[Buffer]) -> Vec<Group> {
    let (mut groups, mut start) = (Vec::new(), 0);
    while start < steps.len() {
        let end = match rows_of(&steps[start]) {
            Some(rows) => (start + 1..=steps.len())
                .take_while(|&end| fits(&steps[start..end], rows, buffers))
                .last()
                .unwrap_or(start),
            None => start,
        };
        match group(steps, start..end, buffers) {
            Some(group) => {
                groups.push(group);
                start = end;
            }
            None => start += 1,
        }
    }
    groups
}

/// The rows of a step that may begin a group: a reduction, for others gain nothing.
fn rows_of(step: &Step) -> Option<usize> {
    match &step.work {
        Work::Reduce { kept, .. } => kept.first().copied().filter(|&rows| rows > 1),
        _ => None,
    }
}

fn group(steps: &[Step], range: Range<usize>, buffers: &[Buffer]) -> Option<Group> {
    let rows = rows_of(steps.get(range.start)?)?;
    let bytes = |step: &Step| {
        let reads = step.work.reads().into_iter();
        reads.map(|(_, dtype, count)| count.saturating_mul(dtype.item_size())).max().unwrap_or(0)
    };
    let largest = steps[range.clone()].iter().map(bytes).max()?;
    let again = steps[range.clone()].iter().filter(|step| bytes(step) >= LARGE).count() > 1;
    let written = buffers[steps[range.start].output].shape.numel() > 0;
    let block = (BLOCK / (largest / rows).max(1)).clamp(1, rows);
    (range.len() > 1 && again && written).then_some(Group { steps: range, rows, block })
}

/// Whether some steps may run together.
fn fits(steps: &[Step], rows: usize, buffers: &[Buffer]) -> bool {
    // A step may write over what another step of the group has read.
    let written = |buffer: usize| steps.iter().any(|step| buffers[step.output].slot == buffers[buffer].slot);
    steps.iter().all(|step| {
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
        let whole = whole(&step.work);
        shape.first().is_some_and(|outer| outer % rows == 0 && *outer > 0)
            && own.shape.numel().is_multiple_of(rows)
            && program.loads.iter().all(|load| match load.source {
                Source::Buffer(buffer) if written(buffer) => {
                    load.offset == 0 && by_row(&whole, &load.strides, rows, &buffers[buffer])
                }
                _ => true,
            })
    })
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
