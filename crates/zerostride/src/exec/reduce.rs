//! Owns reductions: the loop over blocks of neighbouring results and the leaves of each, divided among threads along
//! whichever is longer. The tree in which leaves meet is the kernels'; threads cannot change it.

use std::ops::Range;

use smallvec::SmallVec;
use zerostride_kernels::{Fold, LEAF, Panel, Reducer, lane_rows, lanes};
use zerostride_ops::{DType, Op};
use zerostride_shape::{Shape, Strides, coalesce, contiguous_strides, order_dims};

use super::access::{Input, Order, Output, Rows, Written};
use super::crew;
use super::machine::{Scratch, Tiles};
use super::pairwise::Pairs;
use super::program::{Compiled, Kind};
use super::window::Window;
use crate::Result;
use crate::plan::{FEW, GRAIN, Instruction, Load, Program, REDUCED, Source};
use crate::tensor::Block;

/// Reduced elements that one task takes at least: a power of two of leaves.
const GROUP: usize = 64 * LEAF;

/// Parts that the groups of one block are divided into, at most twice as many.
const PARTS: usize = 64;

/// Elements of all rows and columns of a tile, but for those of whole leaves of several results.
const AREA: usize = REDUCED;

/// Rows of a tile that results lie along.
const ROWS: usize = 16;

/// Results that are read across memory at once.
const ACROSS: usize = 2048;

/// Results that a thread's share of them is a multiple of.
const SHARE: usize = 256;

/// Neighbouring results from which on their rows are worth a pass each.
const WIDE: usize = 16;

/// How the elements of a block of results are handed to a fold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Row by row, those of a lane after the other.
    Across,
    /// Leaf by leaf, the rows of a leaf being next to each other, and the results of a row.
    Narrow,
    /// Leaf by leaf, the elements of a result being next to each other.
    Along,
}

struct Reduction<'a> {
    reducer: &'a Reducer,
    compiled: &'a Compiled,
    inputs: &'a [Input<'a>],
    reduced: usize,
    form: Form,
    /// Results of a block.
    columns: usize,
    /// Elements that are reduced where they lie.
    direct: Option<Direct<'a>>,
}

/// Elements where they lie.
struct Direct<'a> {
    bytes: &'a [u8],
    /// The place of the loop's first element in `bytes`, in elements.
    first: usize,
    /// Results at even distances, and the distance.
    inner: usize,
    column_step: usize,
}

/// What one thread works with.
struct Worker<'a> {
    tiles: Option<Tiles<'a>>,
    fold: Box<dyn Fold>,
}

/// Reduces the values of a program over a window on `kept` and over `reduced` to one result for each element of `kept`.
pub(super) fn run<'a>(
    reducer: &Reducer,
    (kept, reduced): (&Shape, &Shape),
    program: &Program,
    window: &Window,
    read: impl Fn(Source) -> Block<'a>,
    block: Block<'a>,
    dtype: DType,
) -> Result<()> {
    let kept = &window.shape(kept);
    if kept.numel() == 0 {
        return Ok(());
    }
    // Results in the order in which operands lie, whatever order they are wanted in.
    let contiguous = contiguous_strides(kept);
    let of_kept = program.loads.iter().map(|load| &load.strides[..kept.ndim()]);
    let strides: Vec<&[isize]> = of_kept.chain([&contiguous[..]]).collect();
    let (ordered, strides) = order_dims(kept, &strides);
    let (ordered, strides) =
        coalesce(&ordered, &strides.iter().map(|strides| &strides[..]).collect::<Vec<_>>());
    let (out_strides, strides) = strides.split_last().expect("the output has strides");
    let mut written =
        Written::new(block, dtype.item_size(), &ordered, out_strides, window.offset(&contiguous));
    let out = written.output();
    let whole = |(load, strides): (&Load, &Strides)| -> SmallVec<[isize; 8]> {
        strides.iter().chain(&load.strides[kept.ndim()..]).copied().collect()
    };
    let places: Vec<_> = program.loads.iter().zip(strides).map(whole).collect();
    let inputs = program.loads.iter().zip(&places).map(|(load, strides)| {
        let place = (&strides[..], load.offset + window.offset(&load.strides));
        let input = Input::new(read(load.source), load.dtype.item_size(), (&ordered, reduced), place, &out);
        input.expect("a reduction writes into memory of its own")
    });
    let inputs: Vec<Input<'_>> = inputs.collect();
    if let Some(pairs) = Pairs::find(reducer.op(), program, &ordered, reduced, strides) {
        return pairs.run(&inputs, out);
    }
    let loads = Loads { kept: &ordered, reduced, strides, program, split: kept.ndim() };
    let span = inputs.first().filter(|_| loads.alone()).and_then(|input| input.span(&out));
    let form = loads.form(span.is_some());
    let span = span.filter(|_| loads.are_direct(form));
    let column_step = loads.column_step(0).unsigned_abs();
    let direct = span.map(|(bytes, first)| Direct { bytes, first, inner: loads.inner(), column_step });
    let reduction = Reduction {
        reducer,
        compiled: program
            .kept
            .get(|| Compiled::new(program, &vec![Kind::Vector; program.loads.len()], false)),
        inputs: &inputs,
        reduced: reduced.numel(),
        form,
        columns: loads.columns(form, direct.is_some(), reducer.op()),
        direct,
    };
    // Whole blocks of results, as many as are worth a thread.
    let blocks = window.grain(GRAIN).div_ceil(reduction.columns.saturating_mul(reduced.numel()).max(1));
    let parts = out.parts(reduction.columns.saturating_mul(blocks).min(kept.numel()));
    crew::for_each(parts, || reduction.worker(), |worker, out| reduction.part(worker, out, dtype))
}

/// How the loads of a reduction lie.
struct Loads<'a> {
    kept: &'a Shape,
    reduced: &'a Shape,
    /// The strides of the kept dimensions; those of the reduced ones are the program's, from `split` on.
    strides: &'a [Strides],
    program: &'a Program,
    split: usize,
}

impl Loads<'_> {
    /// Neighbouring results.
    fn inner(&self) -> usize {
        self.kept.last().copied().unwrap_or(1)
    }

    fn column_step(&self, load: usize) -> isize {
        self.strides.get(load).and_then(|strides| strides.last()).copied().unwrap_or(1)
    }

    fn row_step(&self, load: usize) -> isize {
        self.program.loads[load].strides[self.split..].last().copied().unwrap_or(1)
    }

    /// The form for elements that may be reduced where they lie, or not.
    fn form(&self, in_place: bool) -> Form {
        let (inner, count) = (self.inner(), self.reduced.numel());
        let across = (0..self.program.loads.len()).any(|load| self.column_step(load) == 1) && inner > 1;
        let joined = in_place && self.reduced.ndim() == 1 && self.row_step(0) == inner as isize;
        match lanes(count) {
            1 => Form::Across,
            _ if !across => Form::Along,
            // Rows of a few results are joined.
            _ if inner <= if joined { NARROW } else { FEW } => Form::Narrow,
            _ => Form::Across,
        }
    }

    /// Whether the elements are one load.
    fn alone(&self) -> bool {
        matches!(self.program.instructions[self.program.result], Instruction::Load(0))
    }

    /// Whether elements can be reduced where they lie.
    fn are_direct(&self, form: Form) -> bool {
        let (inner, count) = (self.inner(), self.reduced.numel());
        let row = self.reduced.ndim() <= 1;
        self.alone()
            && count > 0
            && match form {
                // Short rows are joined in tiles.
                Form::Across => {
                    self.column_step(0) == 1
                        && (inner == self.kept.numel() || (inner >= WIDE && inner * count >= ACROSS))
                }
                Form::Narrow => row && self.column_step(0) == 1 && self.row_step(0) == inner as isize,
                Form::Along => row && self.row_step(0) == 1 && self.column_step(0) >= 0,
            }
    }

    /// Results of a block.
    fn columns(&self, form: Form, direct: bool, op: Op) -> usize {
        let (inner, count) = (self.inner(), self.reduced.numel());
        match form {
            // All threads have columns, of a few cache lines at least. Moments take more room than elements.
            Form::Across if direct => {
                let share = inner.div_ceil(crew::num_threads()).next_multiple_of(SHARE);
                share.min(if op == Op::Var { ACROSS / 4 } else { ACROSS }).min(inner)
            }
            Form::Across => self.kept.numel().min(AREA / count.clamp(1, ROWS)),
            Form::Narrow => inner,
            Form::Along => {
                let (area, most) = if direct { (GRAIN, inner) } else { (AREA, self.kept.numel()) };
                (area / count.min(area)).clamp(1, most)
            }
        }
    }
}

/// Results side by side that are not worth a pass for each row.
const NARROW: usize = 64;

impl<'a> Reduction<'a> {
    fn worker(&'a self) -> Worker<'a> {
        let elements = match self.form {
            Form::Across => self.columns * self.reduced.min(ROWS),
            _ => self.columns * self.reduced.min(LEAF),
        };
        let tiles = || Tiles::new(self.compiled, elements.max(1));
        Worker { tiles: self.direct.is_none().then(tiles), fold: self.reducer.start(self.columns) }
    }

    fn part(&self, worker: &mut Worker<'_>, mut out: Output<'_>, dtype: DType) -> Result<()> {
        let Range { start, end } = out.columns();
        let mut results = Scratch::new(self.columns * dtype.item_size());
        let mut first = start;
        while first < end {
            let even = self.direct.as_ref().map_or(end, |direct| (first / direct.inner + 1) * direct.inner);
            let columns = first..end.min(first + self.columns).min(even);
            let results = &mut results.bytes_mut()[..columns.len() * dtype.item_size()];
            worker.fold.start(columns.len());
            match self.reduced.div_ceil(GROUP) {
                groups @ 0..2 => self.leaves(worker, &columns, 0..groups)?,
                groups => self.groups(worker, &columns, groups)?,
            }
            worker.fold.finish(results);
            out.store(columns.clone(), results);
            first = columns.end;
        }
        Ok(())
    }

    /// Takes all groups of leaves. Threads take a power of two of them at a time, so that the tree is that of one pass.
    fn groups(&self, worker: &mut Worker<'_>, columns: &Range<usize>, groups: usize) -> Result<()> {
        let step = (groups / PARTS).max(1).next_power_of_two();
        let mut folds: Vec<Option<Box<dyn Fold>>> = Vec::new();
        folds.resize_with(groups.div_ceil(step), || None);
        let part =
            |worker: &mut Worker<'_>, (index, fold): (usize, &mut Option<Box<dyn Fold>>)| -> Result<()> {
                worker.fold.start(columns.len());
                self.leaves(worker, columns, index * step..groups.min((index + 1) * step))?;
                *fold = Some(std::mem::replace(&mut worker.fold, self.reducer.start(self.columns)));
                Ok(())
            };
        crew::for_each(folds.iter_mut().enumerate(), || self.worker(), part)?;
        folds.into_iter().flatten().for_each(|fold| worker.fold.append(fold));
        Ok(())
    }

    /// Takes some groups of leaves.
    fn leaves(&self, worker: &mut Worker<'_>, columns: &Range<usize>, groups: Range<usize>) -> Result<()> {
        let rows = groups.start * GROUP..self.reduced.min(groups.end * GROUP);
        let Worker { tiles, fold } = worker;
        match (tiles, &self.direct) {
            (Some(tiles), _) if self.form == Form::Across => self.rows_of_tiles(tiles, fold, columns, rows),
            (Some(tiles), _) => self.leaves_of_tiles(tiles, fold, columns, rows),
            (None, Some(direct)) => {
                self.take(direct, fold, columns, rows);
                Ok(())
            }
            (None, None) => unreachable!("there are tiles unless elements are reduced where they lie"),
        }
    }

    /// Takes elements where they lie.
    fn take(
        &self,
        direct: &Direct<'_>,
        fold: &mut Box<dyn Fold>,
        columns: &Range<usize>,
        rows: Range<usize>,
    ) {
        let begin = |row| (direct.first as isize + self.inputs[0].offset(columns.start, row)) as usize;
        if self.form == Form::Across {
            let step = lanes(self.reduced);
            for (first, count) in lane_rows(self.reduced, rows) {
                let rows: SmallVec<[usize; 128]> = (0..count).map(|row| begin(first + row * step)).collect();
                fold.rows(direct.bytes, &rows, first, true);
            }
            return;
        }
        let bytes = &direct.bytes[begin(rows.start) * self.inputs[0].elements().item()..];
        fold.leaves(bytes, &self.panel(rows.len(), columns.len(), direct.column_step), rows.start);
    }

    /// The panel of a block's elements.
    fn panel(&self, rows: usize, columns: usize, column_step: usize) -> Panel {
        let (width, columns) = if self.form == Form::Narrow { (columns, 1) } else { (1, columns) };
        Panel { rows, width, columns, column_step }
    }

    fn rows_of_tiles(
        &self,
        tiles: &mut Tiles<'_>,
        fold: &mut Box<dyn Fold>,
        columns: &Range<usize>,
        rows: Range<usize>,
    ) -> Result<()> {
        let begins: [usize; ROWS] = std::array::from_fn(|row| row * columns.len());
        let step = lanes(self.reduced);
        for (first, count) in lane_rows(self.reduced, rows) {
            let mut done = 0;
            loop {
                let rows = Rows { first: first + done * step, step, count: ROWS.min(count - done) };
                let tile = tiles.run(rows.count * columns.len(), |load, tile| {
                    self.inputs[load].load(columns.clone(), rows, Order::ByRow, tile);
                })?;
                done += rows.count;
                fold.rows(tile, &begins[..rows.count], rows.first, done == count);
                if done == count {
                    break;
                }
            }
        }
        Ok(())
    }

    fn leaves_of_tiles(
        &self,
        tiles: &mut Tiles<'_>,
        fold: &mut Box<dyn Fold>,
        columns: &Range<usize>,
        rows: Range<usize>,
    ) -> Result<()> {
        let order = if self.form == Form::Narrow { Order::ByRow } else { Order::ByColumn };
        for first in rows.clone().step_by(LEAF) {
            let leaf = first..rows.end.min(first + LEAF);
            let tile = tiles.run(leaf.len() * columns.len(), |load, tile| {
                self.inputs[load].load(columns.clone(), Rows::all(leaf.clone()), order, tile);
            })?;
            fold.leaves(tile, &self.panel(leaf.len(), columns.len(), leaf.len()), first);
        }
        Ok(())
    }
}
