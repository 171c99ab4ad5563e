//! Owns the running of steps together, block of rows by block of rows, of which some may reduce the rows that
//! others compute: such blocks have rows of one lane or of some leaves, each of which is one thread's. It
//! does not choose the steps (`plan/rows.rs`, `plan/folded.rs`), nor know what a step does or how rows are
//! accumulated (`kernels`).

use std::cell::Cell;
use std::ops::Range;
use std::vec::IntoIter;

use smallvec::SmallVec;
use zerostride_kernels::{Fold, LEAF_ELEMENTS, Reducer, lane_rows};
use zerostride_ops::DType;

use super::work::{Slots, allocate, block, run_work};
use crate::exec::body::{Compiled, ResultTile};
use crate::exec::elements::{KeptFold, Scratch, Window, Written};
use crate::memory::{Access, Block, Fresh};
use crate::plan::{ElementSource, FoldForm, FoldKind, FoldedStep, Group, Plan, Step, Work};
use crate::threads::{num_threads, parts};
use crate::{Error, Result, interrupt};

/// Stands for the target where steps write to slots else.
const TARGET: usize = usize::MAX;

/// Runs the steps of a group; their results are in their slots afterwards, but for the plan's result if it
/// has a target.
pub(in crate::exec) fn run<'p>(
    plan: &'p Plan,
    group: &'p Group,
    memory: &Access,
    slots: &mut Slots,
    target: Option<Block<'_>>,
) -> Result<()> {
    let units = group.units();
    let each = group.units_of_part(num_threads());
    let is_kept = group.folded.kind == FoldKind::Kept;
    let run = Run {
        plan,
        group,
        steps: &plan.passes.steps[group.steps.clone()],
        targeted: target.as_ref().map(|_| plan.result()),
        block: if is_kept { each } else { group.block },
        one_of_many: !is_kept || units.div_ceil(each) >= num_threads(),
    };
    // The slots of the plan that the steps write, taken out so that each part can have its own rows of them.
    let mut written: SmallVec<[(usize, Fresh); 4]> = SmallVec::new();
    for step in run.steps {
        let slot = run.place(step.output);
        if slot < slots.len() && !written.iter().any(|(known, _)| *known == slot) {
            let taken = slots[slot].take().map_or_else(|| allocate(&plan.passes.buffers[step.output]), Ok);
            written.push((slot, taken?));
        }
    }
    let leaves: SmallVec<[Block<'_>; 4]> = plan.leaves.iter().map(|leaf| block(memory, leaf)).collect();
    let others = &*slots;
    let read = |source: ElementSource| match source {
        ElementSource::Leaf(leaf) => leaves[leaf].reader(),
        ElementSource::Buffer(index) => {
            others[run.slot(index)].as_ref().expect("what a step reads is there").block()
        }
    };
    let own = written.iter_mut().map(|(slot, fresh)| (*slot, fresh.block_mut()));
    let (mut of_folds, of_rows): (Vec<_>, Vec<_>) = own
        .chain(target.map(|target| (TARGET, target)))
        .partition(|&(place, _)| run.reducing().any(|(step, _)| run.place(step.output) == place));
    let part = |first: usize| {
        let folds = run.reducing().map(|(step, made)| start(step, made)).collect();
        Part { units: first..units.min(first + each), rows: SmallVec::new(), folds }
    };
    let mut parts: Vec<Part<'_>> = (0..units).step_by(each).map(part).collect();
    for (place, block) in of_rows {
        run.divide(place, block, &mut parts);
    }
    parts::for_each(parts.iter_mut(), || Worker::new(&run), |worker, part| worker.run(&run, part, &read))?;
    let mut parts = parts.into_iter().map(|part| part.folds);
    let mut folds = parts.next().expect("there are rows");
    for part in parts {
        folds.iter_mut().zip(part).for_each(|(fold, part)| fold.append(part));
    }
    for (fold, (step, made)) in folds.iter_mut().zip(run.reducing()) {
        let own = of_folds.iter().position(|&(place, _)| place == run.place(step.output));
        let (_, block) = of_folds.swap_remove(own.expect("every result has memory"));
        store(&mut **fold, step, made, plan.passes.buffers[step.output].dtype, block)?;
    }
    written.into_iter().for_each(|(slot, fresh)| slots[slot] = Some(fresh));
    Ok(())
}

/// The fold of a step that reduces rows.
fn start(step: &Step, made: &FoldedStep) -> Box<dyn Fold> {
    let (Work::Reduce { op, compute, correction, reduced, program, .. }, Some((results, _))) =
        (&step.work, &made.results)
    else {
        unreachable!("only reductions are folded")
    };
    let takes = program.dtypes[program.result];
    Reducer::new(*op, *compute, takes, reduced.numel(), *correction).start(results.numel())
}

/// Writes the results of a reduction over rows.
fn store(fold: &mut dyn Fold, step: &Step, made: &FoldedStep, dtype: DType, block: Block<'_>) -> Result<()> {
    let Work::Reduce { finish, .. } = &step.work else { unreachable!("only reductions are folded") };
    let (shape, strides) = made.results.as_ref().expect("it reduces rows");
    let finish = Compiled::finish(finish.as_deref());
    let (count, item) = (shape.numel(), dtype.item_size());
    let mut results = ResultTile::new(finish, count, finish.map_or(item, |finish| finish.loads[0].1));
    let finished = results.finished(count, |results| {
        fold.finish(results);
        Ok(())
    })?;
    let (sizes, strides) = if shape.ndim() == 0 { (&[1][..], &[1][..]) } else { (&shape[..], &strides[..]) };
    Written::new(block, item, (sizes, strides, 0)).output().store(0..count, finished);
    Ok(())
}

/// What does not change while the steps run.
struct Run<'p> {
    plan: &'p Plan,
    group: &'p Group,
    steps: &'p [Step],
    /// The buffer that has a target.
    targeted: Option<usize>,
    /// The most rows of a block.
    block: usize,
    /// Whether there are enough parts for all threads.
    one_of_many: bool,
}

/// Some neighbouring units, what is written of their rows, and what they are reduced to.
struct Part<'a> {
    units: Range<usize>,
    /// By the place, the memory for the rows: one block, or one for each row in the order in which they are
    /// computed.
    rows: SmallVec<[(usize, IntoIter<Block<'a>>); 4]>,
    folds: Vec<Box<dyn Fold>>,
}

impl<'p> Run<'p> {
    /// The steps that reduce rows.
    fn reducing(&self) -> impl Iterator<Item = (&'p Step, &'p FoldedStep)> + use<'p> {
        self.steps.iter().zip(&self.group.folded.steps).filter(|(_, made)| made.results.is_some())
    }

    fn slot(&self, buffer: usize) -> usize {
        self.plan.passes.buffers[buffer].slot
    }

    /// The slot of what is written to a place.
    fn slot_of(&self, place: usize) -> usize {
        if place == TARGET { self.slot(self.plan.result()) } else { place }
    }

    /// Where a step writes its result, whole: to a slot or the target.
    fn place(&self, output: usize) -> usize {
        if Some(output) == self.targeted { TARGET } else { self.slot(output) }
    }

    /// The first row and the number of rows of some lanes.
    fn lanes(&self, lanes: &Range<usize>) -> impl Iterator<Item = (usize, usize)> + use<> {
        let rows = self.group.rows;
        lane_rows(rows, 0..rows).skip(lanes.start).take(lanes.len())
    }

    /// Gives each part its rows of what is written to a place.
    fn divide<'a>(&self, place: usize, block: Block<'a>, parts: &mut [Part<'a>]) {
        let (rows, lanes) = (self.group.rows, self.group.folded.kind.rows_apart());
        let row = block.range().len() / rows;
        let cut = |rest: &mut Option<Block<'a>>, rows: usize| {
            let (own, after) = rest.take().expect("there are rows left").split(row * rows);
            *rest = Some(after);
            own
        };
        let mut rest = Some(block);
        // Parts of rows or of whole leaves are neighbouring rows.
        if parts.len() == 1 || parts[0].units.len() >= lanes {
            let unit = if self.group.folded.kind == FoldKind::Kept { 1 } else { LEAF_ELEMENTS };
            for part in parts {
                let Range { start, end } = part.units;
                let [start, end] = [start, end].map(|end| (end / lanes * unit).min(rows));
                part.rows.push((place, vec![cut(&mut rest, end - start)].into_iter()));
            }
            return;
        }
        let mut all: Vec<_> = (0..rows).map(|_| Some(cut(&mut rest, 1))).collect();
        for part in parts {
            let own = self
                .lanes(&part.units)
                .flat_map(|(first, count)| (0..count).map(move |row| first + row * lanes));
            let blocks: Vec<_> = own.map(|row| all[row].take().expect("a row is in one lane")).collect();
            part.rows.push((place, blocks.into_iter()));
        }
    }
}

/// Copies some rows of a lane, of so many bytes, from a tile to their memory, the first being that number.
fn copy_rows(blocks: &mut IntoIter<Block<'_>>, (first, lanes): (usize, usize), row: usize, tile: &[u8]) {
    let copy = |block: Block<'_>, first: usize, tile: &[u8]| {
        let (sizes, strides) = ([tile.len() / row, row], [(lanes * row) as isize, 1]);
        let mut written = Written::new(block, 1, (&sizes, &strides, (first * row) as isize));
        written.output().store(0..tile.len(), tile);
    };
    if let [block] = blocks.as_mut_slice() {
        return copy(block.again(), first, tile);
    }
    let rows = tile.chunks_exact(row).zip((first..).step_by(lanes)).zip(blocks);
    rows.for_each(|((tile, first), block)| copy(block, first, tile));
}

/// What one thread works with.
struct Worker {
    /// The rows of a block of everything that only the group's steps read, and of what is copied afterwards.
    local: SmallVec<[Scratch; 4]>,
    /// The values of such rows that are reduced.
    values: Scratch,
    has_memory: bool,
    /// What each step that reduces within rows goes on with.
    kept: Vec<Cell<KeptFold>>,
}

impl Worker {
    fn new(run: &Run<'_>) -> Worker {
        let kept = run.steps.iter().map(|_| Cell::default()).collect();
        Worker { local: SmallVec::new(), values: Scratch::new(0), has_memory: false, kept }
    }

    /// Takes memory for the rows of a block, which may be large.
    fn allocate(&mut self, run: &Run<'_>) -> Result<()> {
        let scratch = |row: usize| {
            let (bytes, last) = (row.saturating_mul(run.block), run.steps.last().expect("a group has steps"));
            let shape = || run.plan.passes.buffers[last.output].shape.clone();
            Scratch::large(bytes).ok_or_else(|| Error::OutOfScratch { bytes, shape: shape() })
        };
        self.local = run.group.local.iter().map(|(_, row)| scratch(*row)).collect::<Result<_>>()?;
        self.values = scratch(run.group.folded_row_bytes())?;
        self.has_memory = true;
        Ok(())
    }

    fn run<'a>(
        &mut self,
        run: &Run<'_>,
        part: &mut Part<'_>,
        read: &(impl Fn(ElementSource) -> Block<'a> + Sync),
    ) -> Result<()> {
        if !self.has_memory {
            self.allocate(run)?;
        }
        match run.group.folded.kind {
            FoldKind::Kept => {
                self.block(run, (part.units.start, part.units.len()), part, read, |_, _, _| ())?
            }
            FoldKind::Row { lanes } => {
                for (first, count) in run.lanes(&part.units) {
                    if count == 0 {
                        let none = &self.values.bytes_mut()[..0];
                        part.folds.iter_mut().for_each(|fold| fold.rows(none, &[], first, true));
                    }
                    for done in (0..count).step_by(run.block) {
                        let rows = run.block.min(count - done);
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
                let leaves = ((run.block - 1) * row_elements / LEAF_ELEMENTS).max(1);
                for first in elements.clone().step_by(leaves * LEAF_ELEMENTS) {
                    let end = elements.end.min(first + leaves * LEAF_ELEMENTS);
                    let own = first / row_elements..end.div_ceil(row_elements);
                    self.block(run, (own.start, own.len()), part, read, |fold, values, row| {
                        let item = values.len() / (own.len() * row);
                        let (rows, before) = (end - first, (first - own.start * row) * item);
                        let panel = FoldForm::Along.panel(rows, 1, rows, 1);
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
        run: &Run<'_>,
        (first, count): (usize, usize),
        part: &mut Part<'_>,
        read: &impl Fn(ElementSource) -> Block<'a>,
        take: impl Fn(&mut dyn Fold, &[u8], usize),
    ) -> Result<()> {
        interrupt::check();
        let Worker { local, values, kept, .. } = self;
        let Group { local: slots, folded, .. } = run.group;
        let of_local = |slot: usize| slots.iter().position(|(own, _)| *own == slot);
        // What the thread holds of the block of rows, by the place. All that is read of a place that the
        // steps write is read here: elsewhere its rows have other numbers.
        let mut held: SmallVec<[(usize, Block<'_>); 8]> = SmallVec::new();
        held.extend(slots.iter().zip(&mut *local).map(|((slot, _), rows)| (*slot, rows.block_mut())));
        for (place, rows) in &mut part.rows {
            if let ([rows], None) = (rows.as_mut_slice(), of_local(run.slot_of(*place))) {
                held.push((*place, rows.again().moved_to(0)));
            }
        }
        let readers: SmallVec<[(usize, Block<'_>); 8]> =
            held.iter().map(|(place, block)| (*place, block.reader())).collect();
        let (mut folds, is_kept) = (part.folds.iter_mut(), folded.kind == FoldKind::Kept);
        for ((step, made), kept) in run.steps.iter().zip(&folded.steps).zip(kept) {
            let held_of = |source: ElementSource| {
                let slot = source.buffer().map(|buffer| run.slot(buffer));
                readers.iter().find(|(place, _)| Some(*place) == slot).map(|(_, block)| block)
            };
            let loads = made.work.program().into_iter().flat_map(|program| &program.loads);
            let moved = loads.zip(&made.row_strides).map(|(load, stride)| {
                if held_of(load.source).is_some() { 0 } else { stride * first as isize }
            });
            let moved: SmallVec<[isize; 8]> = moved.collect();
            let window = Window {
                steps: Some(count * made.steps),
                moved: &moved,
                read_next: !is_kept || !run.plan.passes.results.contains(&step.output),
                one_of_many: run.one_of_many,
                fold: Some(kept),
            };
            let read = |source: ElementSource| held_of(source).map_or_else(|| read(source), Block::reader);
            if let Some(dtype) = made.dtype() {
                run_work(&made.work, &window, read, (values.block_mut(), dtype))?;
                let (fold, row) = (folds.next().expect("every reduction has a fold"), made.row_elements());
                take(&mut **fold, &values.bytes_mut()[..count * row * dtype.item_size()], row);
            } else {
                let (slot, dtype) = (run.slot(step.output), run.plan.passes.buffers[step.output].dtype);
                let place = of_local(slot).map_or(run.place(step.output), |_| slot);
                let own = held.iter_mut().find(|(own, _)| *own == place).expect("every result has memory");
                run_work(&made.work, &window, read, (own.1.again(), dtype))?;
            }
        }
        drop((held, readers));
        // What others read, too.
        for (place, blocks) in &mut part.rows {
            if let Some(own) = of_local(run.slot_of(*place)) {
                let (row, lanes) = (slots[own].1, folded.kind.rows_apart());
                copy_rows(blocks, (first, lanes), row, &local[own].bytes_mut()[..count * row]);
            }
        }
        Ok(())
    }
}
