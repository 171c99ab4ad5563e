//! Owns the order of a plan's steps: in whose memory each writes, and which run together. It does not know
//! what a step does.

use super::work::{Slots, allocate, block, run_work};
use super::{blocks, inline};
use crate::exec::body;
use crate::exec::elements::{ElementSlice, Window};
use crate::memory::{Access, Block};
use crate::plan::{Buffer, ElementSource, Plan, Step, Work};
use crate::{Result, Tensor};

/// Runs a plan, whose last step writes to a target if there is one, and hands out the memory of its other
/// results, in their slots.
pub(in crate::exec) fn run(plan: &Plan, memory: &mut Access, target: Option<&Tensor>) -> Result<Slots> {
    let steps = &plan.passes.steps;
    let mut slots: Slots = std::iter::repeat_with(|| None).take(plan.passes.buffers.len()).collect();
    let (mut index, mut groups) = (0, plan.passes.groups.iter().peekable());
    while index < steps.len() {
        let group = groups.next_if(|group| group.steps.start == index);
        let together = group.map_or(index..index + 1, |group| group.steps.clone());
        let target = target.filter(|_| together.end == steps.len());
        if let Some(target) = target {
            memory.start_writing(target.storage());
        }
        let target = target.map(|target| memory.guard(target.storage()).block_mut(target.reach()));
        match group {
            Some(group) => blocks::run(plan, group, memory, &mut slots, target)?,
            None => run_step(plan, &steps[index], memory, &mut slots, target)?,
        }
        for &slot in steps[together.clone()].iter().flat_map(|step| &step.dead) {
            slots[slot] = None;
        }
        index = together.end;
    }
    Ok(slots)
}

/// Runs a step. Its result is in its slot afterwards, unless it has a target.
fn run_step(
    plan: &Plan,
    step: &Step,
    memory: &Access,
    slots: &mut Slots,
    target: Option<Block<'_>>,
) -> Result<()> {
    let buffer = &plan.passes.buffers[step.output];
    if let Some(out) = target {
        return run_whole(plan, step, memory, slots, out);
    }
    if let Some(in_cache) = inline::StepInCache::of(&step.work) {
        let mut fresh = allocate(buffer)?;
        let elements = |source| elements(source, plan, memory, slots);
        if let Some(done) = in_cache.run(elements, fresh.bytes_mut()) {
            slots[buffer.slot] = Some(fresh);
            return done;
        }
    }
    // An operand that dies may give the result its memory.
    let mut fresh = match slots[buffer.slot].take() {
        Some(fresh) => fresh,
        None => allocate(buffer)?,
    };
    match &step.work {
        Work::Matmul { a, b, .. } => {
            let factor = |source| {
                elements(source, plan, memory, slots).expect("a factor is computed before its product")
            };
            body::multiply(&step.work, factor(a.source), factor(b.source), fresh.bytes_mut());
        }
        _ => run_whole(plan, step, memory, slots, fresh.block_mut())?,
    }
    slots[buffer.slot] = Some(fresh);
    Ok(())
}

fn run_whole(plan: &Plan, step: &Step, memory: &Access, slots: &Slots, out: Block<'_>) -> Result<()> {
    let buffer = &plan.passes.buffers[step.output];
    // A dying operand is in the output's own block, which is out of its slot while the step runs.
    let own = out.reader();
    let read = |source: ElementSource| match source {
        ElementSource::Leaf(leaf) => block(memory, &plan.leaves[leaf]),
        ElementSource::Buffer(index) => match &slots[plan.passes.buffers[index].slot] {
            Some(fresh) => fresh.block(),
            None => own.reader(),
        },
    };
    run_work(&step.work, &Window::ALL, read, (out, buffer.dtype))
}

/// The elements of an operand or a result; `None` while a step writes over them.
fn elements<'a>(
    source: ElementSource,
    plan: &'a Plan,
    memory: &'a Access,
    slots: &'a Slots,
) -> Option<ElementSlice<'a>> {
    match source {
        ElementSource::Leaf(leaf) => {
            let leaf = &plan.leaves[leaf];
            let (item, bytes) = (leaf.tensor.dtype().item_size(), memory.guard(leaf.tensor.storage()));
            let first = -(leaf.first_byte() as isize / item as isize);
            Some(ElementSlice { bytes: bytes.bytes(leaf.tensor.reach()), item, first })
        }
        ElementSource::Buffer(index) => {
            let Buffer { dtype, slot, .. } = plan.passes.buffers[index];
            Some(ElementSlice { bytes: slots[slot].as_ref()?.bytes(), item: dtype.item_size(), first: 0 })
        }
    }
}
