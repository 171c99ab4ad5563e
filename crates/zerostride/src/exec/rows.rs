//! Owns the running of steps together, block of rows by block of rows. It does not choose them (`plan/rows.rs`), nor know
//! what a step does.

use std::ops::Range;

use super::{Memory, Slots, allocate, crew, run_work};
use crate::Result;
use crate::plan::{Group, Leaf, Plan, Source, part};
use crate::tensor::{Block, Fresh};

/// Runs the steps of a group; their results are in their slots afterwards.
pub(super) fn run(plan: &Plan, group: &Group, memory: &Memory, slots: &mut Slots) -> Result<()> {
    let steps = &plan.steps[group.steps.clone()];
    // The slots that the steps write, taken out so that each block of rows can have its own part of them.
    let mut written: Vec<(usize, Fresh)> = Vec::new();
    for step in steps {
        let buffer = &plan.buffers[step.output];
        if !written.iter().any(|(slot, _)| *slot == buffer.slot) {
            let fresh = match slots[buffer.slot].take() {
                Some(fresh) => fresh,
                None => allocate(buffer)?,
            };
            written.push((buffer.slot, fresh));
        }
    }
    let bounds: Vec<Range<usize>> = (0..group.rows)
        .step_by(group.block)
        .map(|first| first..group.rows.min(first + group.block))
        .collect();
    let mut parts: Vec<(Range<usize>, Vec<Held<'_>>)> =
        bounds.into_iter().map(|rows| (rows, Vec::new())).collect();
    for (slot, fresh) in &mut written {
        let row = fresh.bytes_mut().len() / group.rows;
        let mut rest = Some(fresh.block_mut());
        for (rows, held) in &mut parts {
            let (own, after) = rest.take().expect("rows follow each other").split(rows.len() * row);
            held.push(Held { slot: *slot, block: Some(own), first: rows.start * row });
            rest = Some(after);
        }
    }
    let reads = |leaf: &Leaf| memory.guard(&leaf.tensor).block(leaf.tensor.reach());
    let leaves: Vec<Block<'_>> = plan.leaves.iter().map(reads).collect();
    let (others, buffers) = (&*slots, &plan.buffers);
    let run_rows = |_: &mut (), (rows, mut held): (Range<usize>, Vec<Held<'_>>)| -> Result<()> {
        for step in steps {
            let buffer = &buffers[step.output];
            let own = held.iter().position(|held| held.slot == buffer.slot).expect("every slot is held");
            let mut block = held[own].block.take().expect("one step runs at a time");
            let reader = block.reader();
            let read = |source: Source| match source {
                Source::Leaf(leaf) => leaves[leaf].reader(),
                Source::Buffer(index) => {
                    let slot = buffers[index].slot;
                    match held.iter().find(|held| held.slot == slot) {
                        Some(held) => held.block.as_ref().unwrap_or(&reader).reader(),
                        None => others[slot].as_ref().expect("what a step reads is there").block(),
                    }
                }
            };
            let work = part(&step.work, group.rows, &rows);
            run_work(&work, read, block.again(), buffer.dtype, held[own].first)?;
            held[own].block = Some(block);
        }
        Ok(())
    };
    crew::for_each(parts.into_iter(), || (), run_rows)?;
    written.into_iter().for_each(|(slot, fresh)| slots[slot] = Some(fresh));
    Ok(())
}

/// The part of a slot that a block of rows has to itself.
struct Held<'a> {
    slot: usize,
    block: Option<Block<'a>>,
    /// Its first byte, counted from the slot's.
    first: usize,
}
