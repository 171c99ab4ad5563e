//! Owns the running of steps together, block of rows by block of rows. It does not choose them
//! (`plan/rows.rs`), nor know what a step does.

use std::ops::Range;

use smallvec::SmallVec;

use super::steps::{PreparedStep, Slots, allocate, block};
use crate::Result;
use crate::exec::elements::{Scratch, Window};
use crate::memory::{Access, Block, Fresh};
use crate::plan::{Group, Plan, Source, Step, Work};
use crate::threads::{crew, num_threads};

/// Runs the steps of a group; their results are in their slots afterwards, but for the plan's result if it
/// has a target.
pub(in crate::exec) fn run<'p>(
    plan: &'p Plan,
    group: &Group,
    memory: &Access,
    slots: &mut Slots,
    target: Option<Block<'_>>,
) -> Result<()> {
    let steps = &plan.passes.steps[group.steps.clone()];
    let (buffers, targeted) = (&plan.passes.buffers, target.as_ref().map(|_| plan.result()));
    let destination = |step: &Step| match step.output {
        output if Some(output) == targeted => Destination::Target,
        output => Destination::Slot(buffers[output].slot),
    };
    // The slots of the plan that the steps write, taken out so that each block of rows can have its own part
    // of them.
    let mut written: SmallVec<[(usize, Fresh); 4]> = SmallVec::new();
    for step in steps {
        if let Destination::Slot(slot) = destination(step)
            && slot < slots.len()
            && !written.iter().any(|(known, _)| *known == slot)
        {
            let fresh = match slots[slot].take() {
                Some(fresh) => fresh,
                None => allocate(&buffers[step.output])?,
            };
            written.push((slot, fresh));
        }
    }
    let leaves: SmallVec<[Block<'_>; 4]> = plan.leaves.iter().map(|leaf| block(memory, leaf)).collect();
    let others = &*slots;
    let threads = num_threads();
    let share = group.rows.div_ceil(threads);
    // Two blocks for each thread, so that a thread that comes late takes fewer, unless blocks are short: each
    // costs microseconds.
    let most = if share < 4 * group.worth { share } else { share.div_ceil(2) };
    let most = most.max(group.worth).min(group.block);
    let one_of_many = group.rows.div_ceil(most) >= threads;
    let window = |step: &Step, rows: &Range<usize>| Window {
        steps: Some(steps_of(&step.work, group.rows, rows)),
        moved: &[],
        read_next: !plan.passes.results.contains(&step.output),
        one_of_many,
    };
    let thread = || BlockWorker {
        local: group.local.iter().map(|(_, row)| Scratch::new(row * most)).collect(),
        rows: 0,
        ready: Vec::new(),
    };
    let run_rows = |thread: &mut BlockWorker<'p>, RowBlock { rows, held }: RowBlock<'_>| -> Result<()> {
        let BlockWorker { local, rows: ready_for, ready } = thread;
        if *ready_for != rows.len() {
            *ready = steps.iter().map(|step| PreparedStep::new(&step.work, &window(step, &rows))).collect();
            *ready_for = rows.len();
        }
        // The plan's memory outlives the thread's.
        let mut all: SmallVec<[Held<'_>; 6]> = SmallVec::new();
        held.into_iter().for_each(|held| all.push(held));
        for ((slot, row), scratch) in group.local.iter().zip(local) {
            let (block, _) = scratch.block_mut().split(row * rows.len());
            all.push(Held { to: Destination::Slot(*slot), block: Some(block.moved_to(row * rows.start)) });
        }
        let mut held = all;
        for (step, ready) in steps.iter().zip(ready) {
            let own =
                held.iter().position(|held| held.to == destination(step)).expect("every destination is held");
            let mut block = held[own].block.take().expect("one step runs at a time");
            let reader = block.reader();
            let read = |source: Source| match source {
                Source::Leaf(leaf) => leaves[leaf].reader(),
                Source::Buffer(index) => {
                    let slot = buffers[index].slot;
                    match held.iter().find(|held| held.to == Destination::Slot(slot)) {
                        Some(held) => held.block.as_ref().unwrap_or(&reader).reader(),
                        None => others[slot].as_ref().expect("what a step reads is there").block(),
                    }
                }
            };
            ready.run(&window(step, &rows), read, block.again(), buffers[step.output].dtype)?;
            held[own].block = Some(block);
        }
        Ok(())
    };
    let own = written.iter_mut().map(|(slot, fresh)| (Destination::Slot(*slot), fresh.block_mut()));
    let all = own.chain(target.map(|target| (Destination::Target, target)));
    let held = all.map(|(to, block)| Held { to, block: Some(block) }).collect();
    let blocks = Blocks { rest: RowBlock { rows: 0..group.rows, held }, most };
    crew::for_each(blocks, thread, run_rows)?;
    written.into_iter().for_each(|(slot, fresh)| slots[slot] = Some(fresh));
    Ok(())
}

/// The steps of a loop's outermost dimension that belong to some of so many rows.
fn steps_of(work: &Work, rows: usize, part: &Range<usize>) -> Range<usize> {
    let steps = match work {
        Work::Map { shape: outer, .. } | Work::Reduce { kept: outer, .. } => outer[0] / rows,
        Work::Matmul { .. } => unreachable!("no product is in a group"),
    };
    steps * part.start..steps * part.end
}

/// What one thread works with.
struct BlockWorker<'p> {
    /// Memory for what is local, which lasts for all of its blocks.
    local: SmallVec<[Scratch; 4]>,
    /// The steps, prepared for blocks of that many rows: all blocks but the last.
    rows: usize,
    ready: Vec<PreparedStep<'p>>,
}

/// Some rows, and what belongs to them of everything that the steps write.
struct RowBlock<'a> {
    rows: Range<usize>,
    held: SmallVec<[Held<'a>; 4]>,
}

struct Held<'a> {
    to: Destination,
    /// Out while a step writes it.
    block: Option<Block<'a>>,
}

/// Where a step writes.
#[derive(Clone, Copy, PartialEq)]
enum Destination {
    Slot(usize),
    Target,
}

/// Rows in blocks of at most that many.
struct Blocks<'a> {
    rest: RowBlock<'a>,
    most: usize,
}

impl<'a> Iterator for Blocks<'a> {
    type Item = RowBlock<'a>;

    fn next(&mut self) -> Option<RowBlock<'a>> {
        let RowBlock { rows, held } = &mut self.rest;
        let (left, count) = (rows.len(), self.most.min(rows.len()));
        let own = |held: &mut Held<'a>| {
            let block = held.block.take()?;
            let bytes = block.range().len() / left * count;
            let (own, after) = block.split(bytes);
            held.block = Some(after);
            Some(Held { to: held.to, block: Some(own) })
        };
        (count > 0).then(|| {
            let held = held.iter_mut().filter_map(own).collect();
            let first = rows.start;
            rows.start += count;
            RowBlock { rows: first..rows.start, held }
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let blocks = self.rest.rows.len().div_ceil(self.most);
        (blocks, Some(blocks))
    }
}

impl ExactSizeIterator for Blocks<'_> {}
