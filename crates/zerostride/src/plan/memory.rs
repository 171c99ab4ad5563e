//! Owns where results lie and for how long: which buffer takes over the block of an operand that dies, and how much memory
//! is held at once. It does not allocate (`exec`).

use smallvec::SmallVec;
use zerostride_kernels::LEAF;

use super::cost::Cost;
use super::panel::Walk;
use super::program::{Buffer, FEW, Program, REDUCED, Source, Step, TILE, Work};
use crate::num_threads;

/// Lets an element-wise step write over a buffer that it reads for the last time, element for element, and tells each step
/// which slots die with it.
pub(crate) fn share(steps: &mut [Step], buffers: &mut [Buffer]) {
    for (index, step) in steps.iter().enumerate() {
        if let Some(dying) = dying_operand(steps, index, buffers) {
            buffers[step.output].slot = buffers[dying].slot;
        }
    }
    for (slot, step) in deaths(steps, buffers) {
        steps[step].dead.push(slot);
    }
}

fn dying_operand(steps: &[Step], index: usize, buffers: &[Buffer]) -> Option<usize> {
    let step = &steps[index];
    let Work::Map { program, out, .. } = &step.work else { return None };
    let output = &buffers[step.output];
    let fits = |candidate: usize| {
        let buffer = &buffers[candidate];
        let in_step = |source| program.loads.iter().filter(move |load| load.source == source);
        buffer.dtype.item_size() == output.dtype.item_size()
            && buffer.shape.numel() == output.shape.numel()
            && last_use(steps, candidate) == Some(index)
            && in_step(Source::Buffer(candidate)).all(|load| load.strides == *out && load.offset == 0)
            // Another buffer in the same block would be overwritten before it is read.
            && program.loads.iter().all(|load| match load.source {
                Source::Buffer(other) => other == candidate || buffers[other].slot != buffer.slot,
                Source::Leaf(_) => true,
            })
    };
    program.loads.iter().find_map(|load| match load.source {
        Source::Buffer(candidate) if fits(candidate) => Some(candidate),
        _ => None,
    })
}

/// The last step that reads a buffer.
fn last_use(steps: &[Step], buffer: usize) -> Option<usize> {
    steps
        .iter()
        .rposition(|step| step.work.reads().iter().any(|(source, ..)| *source == Source::Buffer(buffer)))
}

/// The slots in use, each with the step after which nothing reads or writes it; the last step's output lives on.
fn deaths(steps: &[Step], buffers: &[Buffer]) -> Vec<(usize, usize)> {
    let touches = |step: &Step, slot: usize| {
        let reads = step.work.reads();
        buffers[step.output].slot == slot
            || reads
                .iter()
                .any(|(source, ..)| matches!(source, Source::Buffer(buffer) if buffers[*buffer].slot == slot))
    };
    let result = steps.last().map(|step| buffers[step.output].slot);
    let mortal = (0..buffers.len()).filter(|&slot| result != Some(slot));
    mortal
        .filter_map(|slot| steps.iter().rposition(|step| touches(step, slot)).map(|step| (slot, step)))
        .collect()
}

/// The most bytes of intermediate results that are held at once, without the plan's result and what is local to groups.
pub(crate) fn peak(steps: &[Step], buffers: &[Buffer]) -> usize {
    let result = steps.last().map(|step| buffers[step.output].slot);
    let bytes = |slot: usize| {
        let in_slot = buffers.iter().filter(|buffer| buffer.slot == slot);
        in_slot.map(|buffer| buffer.shape.numel().saturating_mul(buffer.dtype.item_size())).max().unwrap_or(0)
    };
    let (mut held, mut peak): (Vec<usize>, usize) = (Vec::new(), 0);
    for step in steps {
        let slot = buffers[step.output].slot;
        if slot < buffers.len() && result != Some(slot) && !held.contains(&slot) {
            held.push(slot);
        }
        peak = peak.max(held.iter().map(|&slot| bytes(slot)).fold(0, usize::saturating_add));
        held.retain(|slot| !step.dead.contains(slot));
    }
    peak
}

/// Bytes of tiles that a step needs on all threads, by itself or in a group.
pub(crate) fn tile_bytes(step: &Step, grouped: bool) -> usize {
    let (program, sizes, finish): (_, SmallVec<[usize; 8]>, _) = match &step.work {
        Work::Map { program, shape, .. } => (program, shape.as_ref().into(), None),
        Work::Reduce { program, kept, reduced, finish, .. } => {
            let finish = finish.as_deref().map(|finish| (finish, TILE.min(kept.numel())));
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
    let tiles = bytes(program, tile(&step.work)) + finish.map_or(0, |(finish, len)| bytes(finish, len));
    (tiles + packed_bytes(&step.work, grain)) * threads
}

/// Elements of a tile of a step.
fn tile(work: &Work) -> usize {
    match work {
        // A leaf of a few results may be one tile.
        Work::Reduce { kept, reduced, .. } => match kept.last() {
            Some(&few) if few <= FEW => REDUCED.max(few * LEAF.min(reduced.numel())),
            _ => REDUCED,
        },
        _ => TILE,
    }
}

/// Bytes of tiles for what an element-wise step does not read or write where it lies, in panels of about so many elements.
fn packed_bytes(work: &Work, grain: usize) -> usize {
    let Work::Map { shape, program, out, .. } = work else { return 0 };
    if shape.ndim() == 0 || shape.numel() == 0 {
        return 0;
    }
    let item = program.dtypes[program.result].item_size();
    let loads = program.loads.iter().map(|load| (&*load.strides, load.dtype.item_size()));
    let operands: Vec<(&[isize], usize)> = std::iter::once((&**out, item)).chain(loads).collect();
    let walk = Walk::new(shape, &operands, grain, 1..=1);
    operands.iter().map(|(strides, item)| walk.tile(strides, *item)).sum()
}
