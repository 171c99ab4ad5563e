//! Owns the running of steps of which some reduce the rows that others compute: a block of rows after the
//! other, those of one lane or of some leaves, each lane and leaf on one thread. It does not choose the steps
//! (`plan/folded.rs`), nor know how rows are accumulated (`kernels`).

use std::ops::Range;

use smallvec::SmallVec;
use zerostride_kernels::{Fold, LEAF_ELEMENTS, ReducePanel, Reducer, lane_rows};
use zerostride_ops::DType;

use super::steps::{PreparedStep, Slots, allocate, block};
use crate::exec::body::{Compiled, LoadKind, Results};
use crate::exec::elements::{Scratch, Window, Written};
use crate::memory::{Access, Block, Fresh};
use crate::plan::{Buffer, FoldKind, Folded, FoldedStep, Group, Plan, Source, Step, Work};
use crate::threads::{crew, num_threads};
use crate::{Result, interrupt};

/// Runs the steps; their results are in their slots afterwards, but for the plan's result if it has a target.
pub(in crate::exec) fn run<'p>(
    plan: &'p Plan,
    (group, folded): (&'p Group, &'p Folded),
    memory: &Access,
    slots: &mut Slots,
    target: Option<Block<'_>>,
) -> Result<()> {
    let steps = &plan.passes.steps[group.steps.clone()];
    let buffers = &plan.passes.buffers;
    let run = Run { group, folded, steps, buffers };
    let targeted = target.as_ref().map(|_| plan.result());
    // Buffers beyond blocks of rows: the results of reductions over rows, and rows that are read afterwards.
    let mut whole: Vec<(usize, Fresh)> = Vec::new();
    for output in run.outputs().filter(|&output| Some(output) != targeted) {
        whole.push((output, allocate(&buffers[output])?));
    }
    let leaves: SmallVec<[Block<'_>; 4]> = plan.leaves.iter().map(|leaf| block(memory, leaf)).collect();
    let read = |source: Source| match source {
        Source::Leaf(leaf) => leaves[leaf].reader(),
        Source::Buffer(index) => {
            slots[buffers[index].slot].as_ref().expect("what a step reads is there").block()
        }
    };
    let own = whole.iter_mut().map(|(output, fresh)| (*output, fresh.block_mut()));
    let (mut of_rows, mut of_folds): (Vec<_>, Vec<_>) =
        own.chain(targeted.zip(target)).partition(|&(output, _)| run.reducer_of(output).is_none());
    let (units, each) = (group.units(folded), group.units_of_part(folded, num_threads()));
    let part =
        |first: usize| Part { units: first..units.min(first + each), rows: Vec::new(), folds: run.folds() };
    let mut parts: Vec<Part<'_>> = (0..units).step_by(each).map(part).collect();
    for (output, block) in of_rows.drain(..) {
        run.divide(output, block, &mut parts);
    }
    crew::for_each(parts.iter_mut(), || Worker::new(&run), |worker, part| worker.run(&run, part, &read))?;
    let mut parts = parts.into_iter().map(|part| part.folds);
    let mut folds = parts.next().expect("there are rows");
    for part in parts {
        folds.iter_mut().zip(part).for_each(|(fold, part)| fold.append(part));
    }
    for (fold, (step, made)) in folds.iter_mut().zip(run.reducing()) {
        let own = of_folds.iter().position(|(output, _)| *output == step.output);
        let (_, block) = of_folds.swap_remove(own.expect("every result has memory"));
        store(&mut **fold, step, made, &buffers[step.output], block)?;
    }
    whole.into_iter().for_each(|(output, fresh)| slots[buffers[output].slot] = Some(fresh));
    Ok(())
}

/// Writes the results of a reduction over rows.
fn store(
    fold: &mut dyn Fold,
    step: &Step,
    made: &FoldedStep,
    buffer: &Buffer,
    block: Block<'_>,
) -> Result<()> {
    let Work::Reduce { finish, .. } = &step.work else { unreachable!("only reductions are folded") };
    let (shape, strides) = made.results.as_ref().expect("it reduces rows");
    let finish =
        finish.as_deref().map(|finish| finish.kept.get(|| Compiled::new(finish, &[LoadKind::Vector], false)));
    let (count, item) = (shape.numel(), buffer.dtype.item_size());
    let mut results = Results::new(finish, count, finish.map_or(item, |finish| finish.loads[0].1));
    let finished = results.finished(count, |results| fold.finish(results))?;
    let (sizes, strides) = if shape.ndim() == 0 { (&[1][..], &[1][..]) } else { (&shape[..], &strides[..]) };
    Written::new(block, item, sizes, strides, 0).output().store(0..count, finished);
    Ok(())
}

/// What does not change while the steps run.
struct Run<'p> {
    group: &'p Group,
    folded: &'p Folded,
    steps: &'p [Step],
    buffers: &'p [Buffer],
}

/// Some neighbouring lanes or leaves, what is written of their rows, and what they are reduced to.
struct Part<'a> {
    units: Range<usize>,
    /// By the buffer.
    rows: Vec<(usize, RowBlocks<'a>)>,
    folds: Vec<Box<dyn Fold>>,
}

/// The memory for a part's rows of a buffer.
enum RowBlocks<'a> {
    /// One block.
    Together(Block<'a>),
    /// A block for each row, in the order in which they are computed.
    Apart(std::vec::IntoIter<Block<'a>>),
}

impl<'p> Run<'p> {
    fn all(&self) -> impl Iterator<Item = (&'p Step, &'p FoldedStep)> + use<'p> {
        self.steps.iter().zip(&self.folded.steps)
    }

    /// The steps that reduce rows.
    fn reducing(&self) -> impl Iterator<Item = (&'p Step, &'p FoldedStep)> + use<'p> {
        self.all().filter(|(_, made)| made.results.is_some())
    }

    /// The step that reduces rows to a buffer.
    fn reducer_of(&self, output: usize) -> Option<&'p Step> {
        self.reducing().map(|(step, _)| step).find(|step| step.output == output)
    }

    /// The buffers beyond blocks of rows.
    fn outputs(&self) -> impl Iterator<Item = usize> + use<'p> {
        let buffers = self.buffers;
        self.steps.iter().map(|step| step.output).filter(move |&output| buffers[output].slot < buffers.len())
    }

    fn folds(&self) -> Vec<Box<dyn Fold>> {
        let start = |(step, made): (&Step, &FoldedStep)| {
            let (Work::Reduce { op, compute, correction, reduced, program, .. }, Some((results, _))) =
                (&step.work, &made.results)
            else {
                unreachable!("only reductions are folded")
            };
            let takes = program.dtypes[program.result];
            Reducer::new(*op, *compute, takes, reduced.numel(), *correction).start(results.numel())
        };
        self.reducing().map(start).collect()
    }

    /// The first row and the number of rows of some lanes.
    fn lanes(&self, lanes: &Range<usize>) -> impl Iterator<Item = (usize, usize)> + use<> {
        let rows = self.group.rows;
        lane_rows(rows, 0..rows).skip(lanes.start).take(lanes.len())
    }

    /// Bytes of a row of a buffer.
    fn row_bytes(&self, buffer: usize) -> usize {
        let Buffer { dtype, ref shape, .. } = self.buffers[buffer];
        shape.numel() / self.group.rows * dtype.item_size()
    }

    /// Gives each part its rows of a buffer.
    fn divide<'a>(&self, output: usize, block: Block<'a>, parts: &mut [Part<'a>]) {
        let (row, lanes) = (self.row_bytes(output), self.folded.kind.rows_apart());
        let cut = |rest: &mut Option<Block<'a>>, rows: usize| {
            let (own, after) = rest.take().expect("there are rows left").split(row * rows);
            *rest = Some(after);
            own
        };
        let mut rest = Some(block);
        // Parts of whole leaves are neighbouring rows.
        if parts.len() == 1 || parts[0].units.len() >= lanes {
            for part in parts {
                let [start, end] = [part.units.start, part.units.end]
                    .map(|lane| (lane / lanes * LEAF_ELEMENTS).min(self.group.rows));
                part.rows.push((output, RowBlocks::Together(cut(&mut rest, end - start))));
            }
            return;
        }
        let mut rows: Vec<_> = (0..self.group.rows).map(|_| Some(cut(&mut rest, 1))).collect();
        for part in parts {
            let own = self
                .lanes(&part.units)
                .flat_map(|(first, count)| (0..count).map(move |row| first + row * lanes));
            let blocks: Vec<_> = own.map(|row| rows[row].take().expect("a row is in one lane")).collect();
            part.rows.push((output, RowBlocks::Apart(blocks.into_iter())));
        }
    }
}

impl RowBlocks<'_> {
    /// Copies some rows of a lane, of so many bytes, from a tile, the first being that number.
    fn store(&mut self, (first, lanes): (usize, usize), (row, item): (usize, usize), tile: &[u8]) {
        let elements = row / item;
        let offset = |row: usize| (row * elements) as isize;
        let copy = |block: Block<'_>, first: usize, tile: &[u8]| {
            let (sizes, strides) = ([tile.len() / row, elements], [offset(lanes), 1]);
            let mut written = Written::new(block, item, &sizes, &strides, offset(first));
            written.output().store(0..tile.len() / item, tile);
        };
        match self {
            RowBlocks::Together(block) => copy(block.again(), first, tile),
            RowBlocks::Apart(blocks) => {
                let rows = tile.chunks_exact(row).zip((first..).step_by(lanes)).zip(blocks);
                rows.for_each(|((tile, first), block)| copy(block, first, tile));
            }
        }
    }
}

/// A block of so many rows.
fn window(rows: usize, moved: &[isize]) -> Window<'_> {
    Window { steps: Some(0..rows), moved, read_next: true, one_of_many: true }
}

/// What one thread works with.
struct Worker<'p> {
    /// The rows of a block of everything that the steps compute.
    held: Vec<Scratch>,
    /// The values of such rows that are reduced.
    values: Scratch,
    /// The steps, prepared for blocks of that many rows.
    rows: usize,
    ready: Vec<PreparedStep<'p>>,
}

impl<'p> Worker<'p> {
    fn new(run: &Run<'p>) -> Worker<'p> {
        let block = run.group.block;
        let held = run.group.local.iter().map(|(_, row)| Scratch::new(row * block)).collect();
        let values = Scratch::new(run.group.folded_row_bytes() * block);
        Worker { held, values, rows: 0, ready: Vec::new() }
    }

    fn run<'a>(
        &mut self,
        run: &Run<'p>,
        part: &mut Part<'_>,
        read: &(impl Fn(Source) -> Block<'a> + Sync),
    ) -> Result<()> {
        match run.folded.kind {
            FoldKind::Row { lanes } => {
                for (first, count) in run.lanes(&part.units) {
                    if count == 0 {
                        let none = &self.values.bytes_mut()[..0];
                        part.folds.iter_mut().for_each(|fold| fold.rows(none, &[], first, true));
                    }
                    for done in (0..count).step_by(run.group.block) {
                        let rows = run.group.block.min(count - done);
                        let (first, ends) = (first + done * lanes, done + rows == count);
                        self.block(run, (first, rows), part, read, |fold, values, row| {
                            let begins: SmallVec<[usize; 64]> = (0..rows).map(|at| at * row).collect();
                            fold.rows(values, &begins, first, ends);
                        })?;
                    }
                }
            }
            FoldKind::One { row_elements } => {
                let elements = part.units.start * LEAF_ELEMENTS
                    ..(part.units.end * LEAF_ELEMENTS).min(run.group.rows * row_elements);
                let leaves = ((run.group.block - 1) * row_elements / LEAF_ELEMENTS).max(1);
                for first in elements.clone().step_by(leaves * LEAF_ELEMENTS) {
                    let end = elements.end.min(first + leaves * LEAF_ELEMENTS);
                    let own = first / row_elements..end.div_ceil(row_elements);
                    self.block(run, (own.start, own.len()), part, read, |fold, values, row| {
                        let item = values.len() / (own.len() * row);
                        let (rows, before) = (end - first, (first - own.start * row) * item);
                        let panel =
                            ReducePanel { rows, width: 1, columns: 1, column_step: rows, row_step: 1 };
                        fold.leaves(&values[before..][..rows * item], &panel, first);
                    })?;
                }
            }
        }
        Ok(())
    }

    /// Runs all steps on a block of so many rows from a first one on, and hands each fold the values of its
    /// rows, which have so many elements each.
    fn block<'a>(
        &mut self,
        run: &Run<'p>,
        (first, count): (usize, usize),
        part: &mut Part<'_>,
        read: &impl Fn(Source) -> Block<'a>,
        take: impl Fn(&mut dyn Fold, &[u8], usize),
    ) -> Result<()> {
        interrupt::check();
        let Worker { held, values, rows: ready_for, ready } = self;
        if *ready_for != count {
            let prepared = |made: &'p FoldedStep| PreparedStep::new(&made.work, &window(count, &[]));
            // Their tiles are given back first.
            ready.clear();
            ready.extend(run.folded.steps.iter().map(prepared));
            *ready_for = count;
        }
        let mut folds = part.folds.iter_mut();
        for ((step, made), ready) in run.all().zip(ready) {
            let local = |buffer: usize| {
                let slot = run.buffers[buffer].slot;
                run.group.local.iter().position(|(own, _)| *own == slot)
            };
            let moved: SmallVec<[isize; 8]> =
                made.row_strides.iter().map(|stride| stride * first as isize).collect();
            let own = if made.results.is_some() { None } else { local(step.output) };
            let dtype = made.dtype();
            {
                let mut blocks: SmallVec<[Block<'_>; 8]> = held.iter_mut().map(Scratch::block_mut).collect();
                let readers: SmallVec<[Block<'_>; 8]> = blocks.iter().map(Block::reader).collect();
                let read = |source: Source| match source.buffer().and_then(local) {
                    Some(local) => readers[local].reader(),
                    None => read(source),
                };
                let out = match own {
                    Some(own) => blocks[own].again(),
                    None => values.block_mut(),
                };
                ready.run(
                    &window(count, &moved),
                    read,
                    out,
                    dtype.unwrap_or(run.buffers[step.output].dtype),
                )?;
            }
            match own {
                None => {
                    let fold = folds.next().expect("every reduction has a fold");
                    let (row, item) = (made.row_elements(), dtype.map_or(1, DType::item_size));
                    take(&mut **fold, &values.bytes_mut()[..count * row * item], row);
                }
                Some(own) => {
                    let mut rows = part.rows.iter_mut();
                    if let Some((_, blocks)) = rows.find(|(output, _)| *output == step.output) {
                        let (row, item) =
                            (run.row_bytes(step.output), run.buffers[step.output].dtype.item_size());
                        let bytes = &held[own].bytes_mut()[..count * row];
                        blocks.store((first, run.folded.kind.rows_apart()), (row, item), bytes);
                    }
                }
            }
        }
        Ok(())
    }
}
