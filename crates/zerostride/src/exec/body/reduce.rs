//! Owns reductions: the loop over blocks of neighbouring results and the leaves of each, divided among
//! threads along whichever is longer. The tree in which leaves are combined is the kernels'; threads cannot
//! change it.

use std::ops::Range;

use smallvec::SmallVec;
use zerostride_kernels::{Fold, LEAF_ELEMENTS, Reducer, Tuning, lane_rows, lanes};
use zerostride_ops::DType;
use zerostride_shape::{Shape, Strides, coalesce, contiguous_strides, order_dims, turn_dims};

use super::fold;
use super::grid::{FoldForm, Grid, LANE_ROWS};
use super::machine::{Results, Tiles};
use super::pairwise::Pairs;
use super::program::{Compiled, LoadKind};
use crate::exec::cache;
use crate::exec::elements::{ElementSlice, Input, LineOrder, Output, StridedRange, Window, Written};
use crate::fork::OnceLock;
use crate::memory::Block;
use crate::plan::{
    Cost, GRAIN_ELEMENTS, Instruction, Load, Program, REDUCED_TILE_ELEMENTS, Source, Work, slices,
};
use crate::threads::crew;
use crate::{Result, interrupt, num_threads};

/// Elements that one task takes at least, where each result has a power of two of leaves.
const GROUP_ELEMENTS: usize = 64 * LEAF_ELEMENTS;

/// Elements that are reduced, some milliseconds long, before anybody is asked whether to go on.
const UNASKED_ELEMENTS: usize = 1 << 23;

/// Parts that the groups of one block are divided into, at most twice as many.
const MOST_PARTS: usize = 64;

/// Rows of a tile, where the rows of operands are contiguous and results are combined row by row.
const TILE_ROWS: usize = 16;

/// Elements from which on lines of them are read in place: shorter ones are joined in tiles first, unless
/// they are contiguous as a whole.
const SHORT_LINE_ELEMENTS: usize = 128;

/// Results that a thread's share of them is a multiple of.
const SHARE_RESULTS: usize = 128;

/// What is kept with a program.
struct PreparedReduce {
    /// What results go through, if they do.
    finish: Option<Compiled>,
    cost: Cost,
    loops: ReduceLoops,
}

/// The loop over windows whose kept dimensions have certain sizes, then those over others: of each division
/// among so many threads, which may end with a smaller one. Threads look here all at once, and so without a
/// lock.
#[derive(Default)]
struct ReduceLoops(OnceLock<Box<(Shape, ReduceLoop, ReduceLoops)>>);

/// The strides of a load.
type LoadStrides = SmallVec<[isize; 8]>;

/// The loop over a window, wherever it begins.
struct ReduceLoop {
    /// Kept dimensions in the order of the operands' strides, as few as there can be for these.
    kept: Shape,
    /// The same for results, and their strides.
    results: Shape,
    out: Strides,
    /// The first result.
    first: isize,
    /// The first element of each load, from the one it has in the program, and its strides: kept dimensions,
    /// then reduced ones.
    loads: Vec<(isize, LoadStrides)>,
    /// The elements of the first load.
    grid: Grid,
    /// Whether all elements that are reduced to one result are the same.
    repeats: bool,
    /// Whether some load's rows are closer in memory than its columns, or each result's elements are the
    /// same.
    across: bool,
    pairs: Option<Pairs>,
    /// The program over lines of a tile.
    compiled: Compiled,
}

/// What one thread works with.
struct FoldWorker<'p> {
    tiles: Option<Tiles<'p>>,
    fold: Box<dyn Fold>,
    results: Results<'p>,
}

/// The reduction of a window's elements.
struct Reduction<'a, 'p> {
    reducer: Reducer,
    prepared: &'p PreparedReduce,
    own: &'p ReduceLoop,
    form: FoldForm,
    /// Results of a block.
    columns: usize,
    inputs: &'a [Input<'a>],
    slices: &'a [Option<ElementSlice<'a>>],
    /// Whether the elements are those of the only load.
    is_load: bool,
    /// Bytes of what a fold yields.
    item: usize,
    reduced: usize,
    /// The elements that are read in place.
    direct: Option<ElementSlice<'a>>,
}

/// Reduces the values of a program over a window of the kept dimensions and over the reduced ones to one
/// result for each element of the window, which may go through another program.
pub(in crate::exec) fn run<'a>(
    work: &Work,
    window: &Window<'_>,
    read: impl Fn(Source) -> Block<'a>,
    (block, dtype): (Block<'a>, DType),
) -> Result<()> {
    let Work::Reduce { op, compute, correction, kept, reduced, program, finish } = work else {
        unreachable!("the step is a reduction")
    };
    let takes = program.dtypes[program.result];
    let reducer = Reducer::new(*op, *compute, takes, reduced.numel(), *correction);
    let prepared: &PreparedReduce = program.kept.get(|| {
        let sizes: SmallVec<[usize; 8]> = kept.iter().chain(&**reduced).copied().collect();
        let finish = finish.as_deref().map(|finish| Compiled::new(finish, &[LoadKind::Vector], false));
        PreparedReduce { finish, cost: Cost::new(program, &sizes), loops: ReduceLoops::default() }
    });
    let part = window.shape(kept);
    if part.numel() == 0 {
        return Ok(());
    }
    let own = prepared.loops.get(&part, || ReduceLoop::new(reducer, (&part, reduced), program));
    let mut written = Written::new(block, dtype.item_size(), &own.results, &own.out, own.first);
    let out = written.output();
    let loads = program.loads.iter().zip(&own.loads).enumerate();
    let inputs = loads.map(|(index, (load, (first, strides)))| {
        let layout = (&strides[..], load.offset + first + window.moved(index));
        let grids = (&*own.kept, &**reduced);
        let input = Input::new(read(load.source), load.dtype.item_size(), grids, layout, &out);
        input.expect("a reduction writes into memory of its own")
    });
    let inputs: SmallVec<[Input<'_>; 4]> = inputs.collect();
    if let Some(pairs) = &own.pairs {
        return pairs.run(&inputs, prepared.finish.as_ref(), out);
    }
    let slices: SmallVec<[Option<ElementSlice<'_>>; 4]> =
        inputs.iter().map(|input| input.slice(&out)).collect();
    let is_load = is_load(program);
    let slice = slices.first().copied().flatten().filter(|_| is_load);
    let form = own.grid.form(own.across, slice.is_some());
    let direct = slice.filter(|_| own.grid.is_direct(form));
    let grain = window.grain(prepared.cost.grain());
    let columns = own.columns(form, direct.is_some(), grain);
    let item = prepared.finish.as_ref().map_or(dtype.item_size(), |finish| finish.loads[0].1);
    let (inputs, slices, reduced) = (&inputs[..], &slices[..], own.grid.count);
    let reduction =
        Reduction { reducer, prepared, own, form, columns, inputs, slices, is_load, item, reduced, direct };
    // Whole blocks of results, as many as are worth a thread.
    let blocks = grain.div_ceil(columns.saturating_mul(reduced).max(1));
    let parts = out.parts(columns.saturating_mul(blocks).min(own.grid.results));
    let effort = prepared.cost.effort(own.grid.results.saturating_mul(reduced));
    crew::for_each_of(effort, parts, || reduction.worker(), |worker, out| reduction.part(worker, out))
}

impl ReduceLoops {
    /// The loop over a window whose kept dimensions have these sizes.
    fn get(&self, part: &Shape, make: impl Fn() -> ReduceLoop) -> &ReduceLoop {
        let (known, own, others) =
            &**self.0.get_or_init(|| Box::new((part.clone(), make(), ReduceLoops::default())));
        if known == part { own } else { others.get(part, make) }
    }
}

impl ReduceLoop {
    fn new(reducer: Reducer, (part, reduced): (&Shape, &Shape), program: &Program) -> ReduceLoop {
        // Results in the order of the operands' strides, and forwards, whatever order they are wanted in.
        let step = contiguous_strides(part);
        let of_kept = program.loads.iter().map(|load| &load.strides[..part.ndim()]);
        let strides: Vec<&[isize]> = of_kept.chain([&step[..]]).collect();
        let (turned, firsts) = turn_dims(part, &strides);
        let (ordered, strides) = order_dims(part, &slices(&turned));
        let strides = slices(&strides);
        let (of_results, of_loads) = strides.split_last().expect("results have strides");
        let (kept, strides) = coalesce(&ordered, of_loads);
        let (results, out) = coalesce(&ordered, &[of_results]);
        let pairs = Pairs::find(reducer.op(), program, &kept, reduced, &strides);
        let whole = |((load, strides), &first): ((&Load, &Strides), &isize)| {
            (first, strides.iter().chain(&load.strides[part.ndim()..]).copied().collect())
        };
        let loads: Vec<(isize, LoadStrides)> =
            program.loads.iter().zip(&strides).zip(&firsts).map(whole).collect();
        let (first, out) = (firsts[program.loads.len()], out[0].clone());
        let of_loads: Vec<&[isize]> = loads.iter().map(|(_, strides)| strides.as_slice()).collect();
        let repeats = of_loads.iter().all(|strides| strides[kept.ndim()..].iter().all(|&stride| stride == 0));
        let is_across = |strides: &&[isize]| {
            let [column, _, row] = steps(strides, &kept);
            // One element for all that are reduced to a result suits both.
            row != Some(0) && (column == Some(1) || is_nearer(column, row))
        };
        let across = repeats || of_loads.iter().any(is_across);
        let [column, outer, row] = of_loads.first().map_or([None; 3], |strides| steps(strides, &kept));
        let is_even = reduced.ndim() <= 1 && !of_loads.is_empty();
        let steps = (column.unwrap_or(1), is_even.then(|| row.unwrap_or(1)));
        let elements = (program.dtypes[program.result], reduced.numel());
        let results_of = (kept.last().copied().unwrap_or(1), kept.numel());
        let grid = Grid::new(&reducer, elements, results_of, steps, is_nearer(outer, row));
        let compiled =
            Compiled::new(program, &kinds(program, &of_loads, &grid, (kept.ndim(), across)), false);
        ReduceLoop { kept, results, out, first, loads, grid, repeats, across, pairs, compiled }
    }

    /// Results of a block, where so many elements are worth a thread.
    fn columns(&self, form: FoldForm, direct: bool, grain: usize) -> usize {
        let Grid { inner, results, widest, count, .. } = self.grid;
        match form {
            // All threads have columns, of a few cache lines at least. Moments take more room than elements.
            FoldForm::Across if direct => {
                let threads = (results.saturating_mul(count) / grain).clamp(1, num_threads());
                let share = inner.div_ceil(threads).next_multiple_of(SHARE_RESULTS);
                share.min(widest).min(inner)
            }
            FoldForm::Along if direct => {
                let area = grain.min(GRAIN_ELEMENTS);
                (area / count.min(area)).clamp(1, inner)
            }
            _ => tile_columns(&self.grid, form, self.across),
        }
    }
}

/// The strides of a load along the last kept dimension and the one before, and along the last reduced one.
fn steps(strides: &[isize], kept: &Shape) -> [Option<isize>; 3] {
    let (kept, reduced) = strides.split_at(kept.ndim());
    let mut kept = kept.iter().rev().copied();
    [kept.next(), kept.next(), reduced.last().copied()]
}

/// Whether one step leads elsewhere, but less far than another.
fn is_nearer(one: Option<isize>, other: Option<isize>) -> bool {
    matches!((one, other), (Some(one), Some(other)) if one != 0 && one.unsigned_abs() < other.unsigned_abs())
}

/// How a program reads its loads, with these strides along so many kept dimensions, then along reduced ones:
/// once for a line where elements are the same all along, if lines of its tiles are long. A load that is the
/// value itself is wanted as it is.
fn kinds(program: &Program, loads: &[&[isize]], grid: &Grid, (kept, across): (usize, bool)) -> Vec<LoadKind> {
    let form = grid.form(across, false);
    let line = match form {
        FoldForm::Across => tile_columns(grid, form, across),
        FoldForm::Narrow => 1,
        FoldForm::Along => grid.count,
    };
    let is_long = line >= SHORT_LINE_ELEMENTS && !is_load(program);
    let kind = |strides: &&[isize]| {
        let (of_columns, of_rows) = strides.split_at(kept);
        let along = if form == FoldForm::Along { of_rows } else { of_columns };
        if is_long && along.iter().all(|&stride| stride == 0) { LoadKind::Splat } else { LoadKind::Vector }
    };
    loads.iter().map(kind).collect()
}

/// Whether the elements that a program reduces are those of its only load.
fn is_load(program: &Program) -> bool {
    matches!(program.instructions[program.result], Instruction::Load(0))
}

/// The most rows of a tile of so many results: of a lane, all that there are unless operands' rows are
/// contiguous (`across`); else whole leaves.
fn tile_rows(form: FoldForm, across: bool, columns: usize) -> usize {
    match form {
        FoldForm::Across if across => TILE_ROWS,
        FoldForm::Across => LANE_ROWS,
        FoldForm::Narrow | FoldForm::Along => {
            (REDUCED_TILE_ELEMENTS / columns / LEAF_ELEMENTS).max(1) * LEAF_ELEMENTS
        }
    }
}

/// Results of a tile.
fn tile_columns(grid: &Grid, form: FoldForm, across: bool) -> usize {
    let Grid { inner, results, count, .. } = *grid;
    match form {
        FoldForm::Across => results.min(REDUCED_TILE_ELEMENTS / count.clamp(1, tile_rows(form, across, 1))),
        FoldForm::Narrow => inner,
        FoldForm::Along => (REDUCED_TILE_ELEMENTS / count.min(REDUCED_TILE_ELEMENTS)).clamp(1, results),
    }
}

impl<'p> Reduction<'_, 'p> {
    fn worker(&self) -> FoldWorker<'p> {
        let (columns, finish) = (self.columns, self.prepared.finish.as_ref());
        let (fold, results) = (self.reducer.start(columns), Results::new(finish, columns, self.item));
        FoldWorker { tiles: self.tiles(), fold, results }
    }

    /// Tiles for elements that are not read in place.
    fn tiles(&self) -> Option<Tiles<'p>> {
        let elements = self.columns * self.reduced.min(tile_rows(self.form, self.own.across, self.columns));
        self.direct.is_none().then(|| Tiles::new(&self.own.compiled, elements.max(1), self.is_load))
    }

    fn part(&self, worker: &mut FoldWorker<'p>, mut out: Output<'_>) -> Result<()> {
        let Range { start, end } = out.columns();
        let inner = self.own.grid.inner;
        let FoldWorker { tiles, fold, results, .. } = worker;
        let mut first = start;
        while first < end {
            let even = if self.direct.is_some() { (first / inner + 1) * inner } else { end };
            let columns = first..end.min(first + self.columns).min(even);
            fold.start(columns.len());
            match self.reduced.div_ceil(self.group()) {
                groups if groups < 2 || num_threads() == 1 => {
                    self.leaves(tiles, &mut **fold, &columns, 0..groups)?;
                }
                // Threads take a power of two of groups at a time, so that the tree is that of one pass.
                groups => {
                    let step = (groups / MOST_PARTS).max(1).next_power_of_two();
                    let part = |tiles: &mut Option<Tiles<'p>>, fold: &mut dyn Fold, part: usize| {
                        self.leaves(tiles, fold, &columns, part * step..groups.min((part + 1) * step))
                    };
                    let parts = (groups.div_ceil(step), columns.len());
                    fold::divide(&mut **fold, &self.reducer, parts, || self.tiles(), part)?;
                }
            }
            out.store(columns.clone(), results.finished(columns.len(), |results| fold.finish(results))?);
            first = columns.end;
        }
        Ok(())
    }

    /// Reduced elements of a group of leaves: a power of two of these.
    fn group(&self) -> usize {
        match self.form {
            FoldForm::Narrow => (GROUP_ELEMENTS / self.columns.next_power_of_two()).max(LEAF_ELEMENTS),
            _ => GROUP_ELEMENTS,
        }
    }

    /// Takes some groups of leaves, a few at a time, and may end between them.
    fn leaves(
        &self,
        tiles: &mut Option<Tiles<'_>>,
        fold: &mut dyn Fold,
        columns: &Range<usize>,
        groups: Range<usize>,
    ) -> Result<()> {
        let step = (UNASKED_ELEMENTS / self.group().saturating_mul(columns.len())).max(1);
        groups.clone().step_by(step).try_for_each(|first| {
            interrupt::check();
            let end = groups.end.min(first + step);
            let rows = first * self.group()..self.reduced.min(end * self.group());
            match (&mut *tiles, self.direct) {
                (Some(tiles), _) => self.take_tiles(tiles, fold, columns, rows),
                (None, Some(slice)) => {
                    self.take(slice, fold, columns, rows);
                    Ok(())
                }
                (None, None) => unreachable!("there are tiles unless elements are read in place"),
            }
        })
    }

    /// Takes elements in place.
    fn take(&self, slice: ElementSlice<'_>, fold: &mut dyn Fold, columns: &Range<usize>, rows: Range<usize>) {
        let (input, grid) = (&self.inputs[0], &self.own.grid);
        let ElementSlice { bytes, item, first } = slice.at(input.offset(columns.start, 0));
        let row = |row: usize| grid.row_step.map_or_else(|| input.offset(0, row), |step| row as isize * step);
        let form = (self.form, columns.len());
        grid.take(fold, form, (bytes, item), rows, |at| (first + row(at)) as usize);
    }

    /// Takes elements that are computed in tiles first: some rows of a lane, or some leaves, at a time.
    fn take_tiles(
        &self,
        tiles: &mut Tiles<'_>,
        fold: &mut dyn Fold,
        columns: &Range<usize>,
        rows: Range<usize>,
    ) -> Result<()> {
        let ReduceLoop { repeats, across, .. } = *self.own;
        let form = self.form;
        let is_across = form == FoldForm::Across;
        let order = if form == FoldForm::Along { LineOrder::ByColumn } else { LineOrder::ByRow };
        let step = if is_across { lanes(self.reduced) } else { 1 };
        let most = tile_rows(form, across, self.columns);
        let of_lanes = is_across.then(|| lane_rows(self.reduced, rows.clone())).into_iter().flatten();
        let whole = (!is_across).then_some((rows.start, rows.len()));
        let parts = |(first, count): (usize, usize)| {
            (0..count.max(1))
                .step_by(most)
                .map(move |done| (first + done * step, most.min(count - done), done + most >= count))
        };
        let mut parts = whole.into_iter().chain(of_lanes).flat_map(parts).peekable();
        let (mut begins, mut known): (_, (usize, &[u8])) = ([0; LANE_ROWS], (0, &[]));
        while let Some((first, count, is_last)) = parts.next() {
            // Rows that are all the same are there once.
            let taken = if repeats && is_across { count.min(1) } else { count };
            // A lane of the last leaf may have no rows.
            if taken > 0 && (!repeats || known.0 != taken) {
                let next =
                    parts.peek().map_or((columns.end, rows.start), |&(first, ..)| (columns.start, first));
                let rows = StridedRange { first, step, count: taken };
                known = (taken, self.values(tiles, columns, rows, order, next)?);
            }
            if is_across {
                let begins = &mut begins[..count];
                let row = if repeats { 0 } else { columns.len() };
                begins.iter_mut().enumerate().for_each(|(at, begin)| *begin = at * row);
                fold.rows(known.1, begins, first, is_last);
            } else {
                fold.leaves(known.1, &form.panel(count, columns.len(), count, 1), first);
            }
        }
        Ok(())
    }

    /// The values of some columns of some rows, line by line: the columns of a row or the rows of a column.
    /// Those of the `next` column and row on are wanted after them.
    fn values<'t>(
        &'t self,
        tiles: &'t mut Tiles<'_>,
        columns: &Range<usize>,
        rows: StridedRange,
        order: LineOrder,
        next: (usize, usize),
    ) -> Result<&'t [u8]> {
        let (lines, len) = match order {
            LineOrder::ByRow => (rows.count, columns.len()),
            LineOrder::ByColumn => (columns.len(), rows.count),
        };
        let loads = &self.own.compiled.loads;
        // What is the same all along a line is there once.
        let part = |load: usize| match (loads[load].0, order) {
            (LoadKind::Vector | LoadKind::Stepped(_), _) => (columns.clone(), rows),
            (LoadKind::Splat, LineOrder::ByRow) => (columns.start..columns.start + 1, rows),
            (LoadKind::Splat, LineOrder::ByColumn) => (columns.clone(), StridedRange { count: 1, ..rows }),
        };
        // Tiles end before processors have seen where they lead.
        let asks =
            cache::comes_from_memory(self.prepared.cost.bytes()) && Tuning::active().prefetch_bytes > 0;
        let in_place = |load: usize| {
            let slice = self.slices[load]?;
            let (columns, rows) = part(load);
            let (at, step) = self.inputs[load].lines(columns, rows, order)?;
            if lines > 1 && len < SHORT_LINE_ELEMENTS && step != len as isize {
                return None;
            }
            let ahead = if asks { self.inputs[load].offset(next.0, next.1).wrapping_sub(at) } else { 0 };
            Some((slice.at(at), step, ahead.wrapping_mul(loads[load].1 as isize)))
        };
        tiles.run((lines, len), in_place, |load, tile| {
            let (columns, rows) = part(load);
            self.inputs[load].load(columns, rows, order, tile);
        })
    }
}
