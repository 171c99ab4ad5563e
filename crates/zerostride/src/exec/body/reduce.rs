//! Owns reductions: the loop over blocks of neighbouring results and the leaves of each, divided among
//! threads along whichever is longer. The tree in which leaves are combined is the kernels'; threads cannot
//! change it.

use std::ops::Range;

use once_cell::race::OnceBox;
use smallvec::SmallVec;
use zerostride_kernels::{Fold, LEAF_ELEMENTS, ReducePanel, Reducer, lanes};
use zerostride_ops::DType;
use zerostride_shape::Shape;

use super::fold;
use super::load_kind::LoadKind;
use super::machine::{Held, ResultTile, Tiles};
use super::native::{End, is_worth_printing, may_be_printed};
use super::pairwise::PairLoop;
use super::program::Compiled;
use crate::exec::cache;
use crate::exec::elements::{
    ElementSlice, LineOrder, ReduceInput, StepOutput, StridedElements, StridedRange, Window, Written,
};
use crate::memory::Block;
use crate::plan::{
    Cost, ElementSource, FoldForm, Grid, LANE_ROWS, Load, Pairs, REDUCED_TILE_ELEMENTS, ReduceWalk,
    SHORT_LINE_ELEMENTS, SHORT_PRINTED_LINE_ELEMENTS, Work,
};
use crate::threads::parts;
use crate::{Result, interrupt, num_threads};

/// Elements that one task takes at least, where each result has a power of two of leaves.
const GROUP_ELEMENTS: usize = 64 * LEAF_ELEMENTS;

/// Elements of neighbouring results of one lane that are worth a block of their own, if they can be read in
/// place.
const BLOCK_ELEMENTS: usize = 1024;

/// Elements of a result that enter accumulators at once: these take a sixteenth of the memory of as many
/// elements.
const ACCUMULATED_ELEMENTS: usize = 32 * LEAF_ELEMENTS;

/// Elements that are reduced, some milliseconds long, before the caller is asked whether to go on.
const UNASKED_ELEMENTS: usize = 1 << 23;

/// Parts that the groups of one block are divided into, at most twice as many.
const MOST_BLOCK_PARTS: usize = 64;

/// What is kept with a program.
struct PreparedReduce {
    cost: Cost,
    loops: ReduceLoops,
}

/// The loop over windows whose kept dimensions have certain sizes, then those over others: of each division
/// among so many threads, which may end with a smaller one. Threads look here all at once, and so without a
/// lock.
#[derive(Default)]
struct ReduceLoops(OnceBox<(Shape, ReduceLoop, ReduceLoops)>);

/// The loop over a window, wherever it begins.
struct ReduceLoop {
    /// Of elements as they enter accumulators, or as folds take them.
    reducer: Reducer,
    walk: ReduceWalk,
    pairs: Option<PairLoop>,
    /// The program over lines of a tile.
    compiled: Compiled,
    /// The fewest elements of a line that is worth being read in place, among several.
    shortest: usize,
    /// The same over rows, whose elements enter accumulators.
    across: Option<Compiled>,
    /// The accumulators of a leaf, or one of those of a row, before the first element, where elements may
    /// enter them as they are computed.
    empty: Option<Vec<u8>>,
}

/// What one thread works with: tiles for elements that are not read in place, and one for results.
type FoldWorker<'p> = (Option<Tiles<'p>>, Box<dyn Fold>, ResultTile<'p>);

/// The reduction of a window's elements.
struct WindowReduction<'a, 'p> {
    reducer: Reducer,
    /// What results go through, if they do.
    finish: Option<&'p Compiled>,
    walk: &'p ReduceWalk,
    compiled: &'p Compiled,
    shortest: usize,
    across: Option<&'p Compiled>,
    empty: Option<&'p [u8]>,
    form: FoldForm,
    /// Results of a block.
    columns: usize,
    inputs: &'a [ReduceInput<'a>],
    slices: &'a [Option<ElementSlice<'a>>],
    /// Bytes of what a fold yields.
    item: usize,
    /// The elements that folds read in place.
    direct: Option<ElementSlice<'a>>,
    /// Whether folds, or code that accumulates for them, read all elements in place. Blocks are larger then
    /// than tiles, and of neighbours.
    is_in_place: bool,
}

/// Reduces the values of a program over a window of the kept dimensions and over the reduced ones to one
/// result for each element of the window, which may go through another program.
pub(in crate::exec) fn run<'a>(
    work: &Work,
    window: &Window<'_>,
    read: impl Fn(ElementSource) -> Block<'a>,
    (block, dtype): (Block<'a>, DType),
) -> Result<()> {
    let Work::Reduce { op, compute, correction, kept, reduced, program, finish } = work else {
        unreachable!("the step is a reduction")
    };
    let prepared: &PreparedReduce = program.kept.get(|| {
        let sizes: SmallVec<[usize; 8]> = kept.iter().chain(&**reduced).copied().collect();
        PreparedReduce { cost: Cost::new(program, &sizes), loops: ReduceLoops::default() }
    });
    let finish = Compiled::finish(finish.as_deref());
    let part = window.shape(kept);
    if part.numel() == 0 {
        return Ok(());
    }
    let elements = part.numel().saturating_mul(reduced.numel());
    let reduce_loop = prepared.loops.get(&part, || {
        let takes = program.dtypes[program.result];
        let taking = |dtype| Reducer::new(*op, *compute, dtype, reduced.numel(), *correction);
        let walk = ReduceWalk::new(&taking(takes), (&part, reduced), program, part == *kept);
        let (form, count) = (walk.form(false), lanes(reduced.numel()));
        // Elements enter accumulators, those of pairs in any form, or are folded as they are.
        let are_rows = !walk.repeats && form != FoldForm::Narrow;
        let enter = !walk.is_load
            && may_be_printed(program)
            && (are_rows || Pairs::find(*op, program, &walk).is_some());
        let takes = if enter { Reducer::takes_computed(*op, takes, reduced.numel()) } else { takes };
        let (reducer, program) = (taking(takes), &program.ending_in(takes));
        let compiled = |is_splat: &dyn Fn(usize) -> bool| {
            let kind = |load| if is_splat(load) { LoadKind::Splat } else { LoadKind::Vector };
            let kinds: Vec<LoadKind> = (0..program.loads.len()).map(kind).collect();
            Compiled::new(program, &kinds, false)
        };
        let pairs = PairLoop::new(&reducer, program, &walk);
        let is_paired = pairs.as_ref().is_some_and(|pairs| pairs.is_ready(elements));
        let one = reducer.accumulator().filter(|_| enter && are_rows && !is_paired);
        // Vectors of elements enter vectors of accumulators.
        let along = one.as_ref().filter(|_| form == FoldForm::Along && count > 1);
        let across = one.as_ref().filter(|_| form == FoldForm::Across).map(|_| {
            let of_rows = compiled(&|load| walk.is_shared(load));
            of_rows.accumulating(program, End::Across(*op))
        });
        // Across rows tiles are what code falls back to.
        let of_lines = |shortest: usize| {
            let lines = compiled(&|load| walk.is_splat(load, shortest));
            let end = along.map(|_| End::Along(*op, count as u32));
            let lines = if let Some(end) = end { lines.accumulating(program, end) } else { lines };
            let bytes = prepared.cost.bytes();
            let of_whole = cache::prefetch_bytes(bytes, 0, true);
            let ahead = |load: &Load| window.prefetch_bytes(load, bytes, of_whole);
            let ahead: Vec<u32> = program.loads.iter().map(ahead).collect();
            (lines.prefetching(&ahead), shortest)
        };
        let may_be_printed = across.is_none() && !is_paired && is_worth_printing(elements);
        let printed = may_be_printed
            .then(|| of_lines(SHORT_PRINTED_LINE_ELEMENTS))
            .filter(|(lines, _)| lines.is_printed_for(elements));
        let (compiled, shortest) = printed.unwrap_or_else(|| of_lines(SHORT_LINE_ELEMENTS));
        let empty = match (along, &across) {
            (Some(one), _) => Some(one.repeat(count)),
            (None, Some(_)) => one,
            (None, None) => None,
        };
        ReduceLoop { reducer, compiled, shortest, pairs, walk, across, empty }
    });
    let ReduceLoop { reducer, walk, pairs, compiled, shortest, across, empty } = reduce_loop;
    let mut written = Written::new(block, dtype.item_size(), (&walk.results, &walk.out, walk.first));
    let out = written.output();
    let loads = program.loads.iter().zip(&walk.loads).enumerate();
    let inputs = loads.map(|(index, (load, (first, strides)))| {
        let layout = (&walk.sizes[..], &strides[..], load.offset + first + window.moved(index));
        let elements = StridedElements::read(read(load.source), load.dtype.item_size(), layout, &out);
        ReduceInput::new(elements.expect("a reduction writes into memory of its own"), walk.kept)
    });
    let inputs: SmallVec<[ReduceInput<'_>; 4]> = inputs.collect();
    let item = finish.map_or(dtype.item_size(), |finish| finish.loads[0].1);
    if let Some(pairs) = pairs.as_ref().filter(|pairs| pairs.is_ready(elements)) {
        return pairs.run(reducer, &inputs, finish, (out, item));
    }
    let slices: SmallVec<[Option<ElementSlice<'_>>; 4]> =
        inputs.iter().map(|input| input.slice(&out)).collect();
    let slice = slices.first().copied().flatten().filter(|_| walk.is_load);
    let form = walk.form(slice.is_some());
    let direct = slice.filter(|_| walk.grid.is_direct(form));
    // One thread divides nothing.
    let grain = if num_threads() == 1 { usize::MAX / 2 } else { window.grain(prepared.cost.grain()) };
    let wide = walk.columns(form, true, grain);
    let are_many = wide >= walk.columns(form, false, grain)
        || lanes(walk.grid.count) == 1
            && wide >= SHORT_PRINTED_LINE_ELEMENTS
            && wide.saturating_mul(walk.grid.count) >= BLOCK_ELEMENTS;
    let is_in_place = direct.is_some()
        || are_many
            && slices.iter().all(Option::is_some)
            && reduce_loop.takes_in_place((form, wide), &inputs, elements);
    let columns = if is_in_place { wide } else { walk.columns(form, false, grain) };
    let (inputs, slices, Grid { results, count, .. }) = (&inputs[..], &slices[..], walk.grid);
    let (across, empty) = (across.as_ref(), empty.as_deref());
    let reduction = WindowReduction {
        reducer: *reducer,
        finish,
        walk,
        compiled,
        shortest: *shortest,
        across,
        empty,
        form,
        columns,
        inputs,
        slices,
        item,
        direct,
        is_in_place,
    };
    // Whole blocks of results, as many as are worth a thread.
    let blocks = grain.div_ceil(columns.saturating_mul(count).max(1));
    let parts = out.parts(columns.saturating_mul(blocks).min(results));
    if let (Some(kept), 1) = (window.fold, parts.len()) {
        // Making a fold takes as long as some hundred elements.
        let is_own = |kept: &(Reducer, usize, Box<dyn Fold>)| (kept.0, kept.1) == (*reducer, columns);
        let fold = kept.take().filter(is_own).map(|(.., fold)| fold);
        let mut worker = reduction.worker(fold);
        let done = parts.into_iter().try_for_each(|out| reduction.part(&mut worker, out));
        kept.set(Some((*reducer, columns, worker.1)));
        return done;
    }
    let effort = prepared.cost.effort(results.saturating_mul(count));
    parts::for_each_of(effort, parts, || reduction.worker(None), |worker, out| reduction.part(worker, out))
}

/// What is a line of elements that are handed to a fold in a form.
fn order_of(form: FoldForm) -> LineOrder {
    match form {
        FoldForm::Across | FoldForm::Narrow => LineOrder::ByRow,
        FoldForm::Along => LineOrder::ByColumn,
    }
}

impl ReduceLoop {
    /// Whether there is code, printed before so many elements are reduced, that takes those of a block of so
    /// many neighbouring results where they are: they lie in lines with one stride.
    fn takes_in_place(
        &self,
        (form, columns): (FoldForm, usize),
        inputs: &[ReduceInput<'_>],
        elements: usize,
    ) -> bool {
        let (code, rows) = (self.across.as_ref().unwrap_or(&self.compiled), self.walk.grid.count);
        let is_in_lines = |(input, &(kind, _)): (&ReduceInput<'_>, &(LoadKind, usize))| {
            let along = |len: usize| if kind == LoadKind::Splat { len.min(1) } else { len };
            let (columns, rows) = match form {
                FoldForm::Along => (columns.min(self.walk.grid.inner), along(rows)),
                FoldForm::Across | FoldForm::Narrow => (along(columns), rows),
            };
            input.lines(0..columns, StridedRange::all(0..rows), order_of(form)).is_some()
        };
        self.empty.is_some()
            && code.is_printed_for(elements)
            && inputs.iter().zip(&code.loads).all(is_in_lines)
    }
}

impl ReduceLoops {
    /// The loop over a window whose kept dimensions have these sizes.
    fn get(&self, part: &Shape, make: impl Fn() -> ReduceLoop) -> &ReduceLoop {
        let (known, own, others) =
            self.0.get_or_init(|| Box::new((part.clone(), make(), ReduceLoops::default())));
        if known == part { own } else { others.get(part, make) }
    }
}

impl<'p> WindowReduction<'_, 'p> {
    fn worker(&self, fold: Option<Box<dyn Fold>>) -> FoldWorker<'p> {
        let (columns, finish) = (self.columns, self.finish);
        let fold = fold.unwrap_or_else(|| self.reducer.start(columns));
        (self.tiles(), fold, ResultTile::new(finish, columns, self.item))
    }

    /// Tiles for elements that are not read in place.
    fn tiles(&self) -> Option<Tiles<'p>> {
        let rows = self.walk.tile_rows(self.form, self.columns).min(self.walk.grid.count);
        let elements = (self.columns * rows).max(1);
        self.direct.is_none().then(|| Tiles::new(self.compiled, elements, self.walk.is_load))
    }

    fn part(&self, worker: &mut FoldWorker<'p>, mut out: StepOutput<'_>) -> Result<()> {
        let Range { start, end } = out.columns();
        let inner = self.walk.grid.inner;
        let (tiles, fold, results) = worker;
        // Whether a block has neighbours only.
        let is_even = match self.form {
            FoldForm::Across => self.is_in_place || self.across.is_some() && self.walk.is_of_neighbours(),
            FoldForm::Narrow => self.is_in_place,
            FoldForm::Along => self.direct.is_some(),
        };
        let mut first = start;
        while first < end {
            let even = if is_even { (first / inner + 1) * inner } else { end };
            let columns = first..end.min(first + self.columns).min(even);
            fold.start(columns.len());
            match self.walk.grid.count.div_ceil(self.group()) {
                groups if groups < 2 || num_threads() == 1 => {
                    self.leaves(tiles, &mut **fold, &columns, 0..groups)?;
                }
                // Threads take a power of two of groups at a time, so that the tree is that of one pass.
                groups => {
                    let step = (groups / MOST_BLOCK_PARTS).max(1).next_power_of_two();
                    let part = |tiles: &mut Option<Tiles<'p>>, fold: &mut dyn Fold, part: usize| {
                        self.leaves(tiles, fold, &columns, part * step..groups.min((part + 1) * step))
                    };
                    let parts = (groups.div_ceil(step), columns.len());
                    fold::divide(&mut **fold, &self.reducer, parts, || self.tiles(), part)?;
                }
            }
            let finished = results.finished(columns.len(), |results| {
                fold.finish(results);
                Ok(())
            })?;
            out.store(columns.clone(), finished);
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
            let rows = first * self.group()..self.walk.grid.count.min(end * self.group());
            let Some(slice) = self.direct else {
                let tiles = tiles.as_mut().expect("there are tiles unless elements are read in place");
                return self.take_computed(tiles, fold, columns, rows);
            };
            let (input, grid) = (&self.inputs[0], &self.walk.grid);
            let ElementSlice { bytes, item, first } = slice.at(input.offset(columns.start, 0));
            let of_row = |at| grid.row_step.map_or_else(|| input.offset(0, at), |step| at as isize * step);
            let form = (self.form, columns.len());
            grid.take(fold, form, (bytes, item), rows, |at| (first + of_row(at)) as usize);
            Ok(())
        })
    }

    /// Takes elements that are computed first, those of leaves or lanes.
    fn take_computed(
        &self,
        tiles: &mut Tiles<'_>,
        fold: &mut dyn Fold,
        columns: &Range<usize>,
        rows: Range<usize>,
    ) -> Result<()> {
        let all = ([(rows.start, rows.len())].into_iter(), 1);
        match self.form {
            FoldForm::Along => match self.empty.filter(|_| tiles.accumulates()) {
                Some(empty) => self.take_leaves(tiles, fold, columns, (rows, empty)),
                None => self.take_tiles(tiles, fold, columns, all),
            },
            FoldForm::Narrow => self.take_tiles(tiles, fold, columns, all),
            FoldForm::Across if self.take_lanes(tiles, fold, columns, rows.clone()) => Ok(()),
            FoldForm::Across => self.take_tiles(tiles, fold, columns, self.walk.grid.lane_rows(rows)),
        }
    }

    /// Takes the accumulators of leaves, all `empty` before the elements enter them as they are computed:
    /// those of neighbours together, whose lines are at one distance.
    fn take_leaves(
        &self,
        tiles: &mut Tiles<'_>,
        fold: &mut dyn Fold,
        columns: &Range<usize>,
        (rows, empty): (Range<usize>, &[u8]),
    ) -> Result<()> {
        let neighbours = if self.is_in_place { self.walk.grid.inner } else { columns.end };
        for first in rows.clone().step_by(ACCUMULATED_ELEMENTS) {
            let own = StridedRange { first, step: 1, count: ACCUMULATED_ELEMENTS.min(rows.end - first) };
            let mut next = columns.start;
            while next < columns.end {
                let end = columns.end.min((next / neighbours + 1) * neighbours);
                let held = Held { empty, first: next - columns.start, lines: columns.len() };
                self.tile(tiles, &(next..end), own, LineOrder::ByColumn, Some(held))?;
                next = end;
            }
            let leaf = lanes(self.walk.grid.count);
            let count = own.count.div_ceil(LEAF_ELEMENTS) * leaf;
            let panel = ReducePanel { leaf, ..self.form.panel(count, columns.len(), count, 1) };
            fold.leaves(tiles.held(columns.len() * count), &panel, first);
        }
        Ok(())
    }

    /// Takes the elements of lanes as they are computed, if what is read for them is in place or fits into
    /// tiles, and there is code for it; whether it did.
    fn take_lanes(
        &self,
        tiles: &mut Tiles<'_>,
        fold: &mut dyn Fold,
        columns: &Range<usize>,
        rows: Range<usize>,
    ) -> bool {
        let (Some(program), Some(empty)) = (self.across, self.empty) else { return false };
        let all = StridedRange::all(rows.clone());
        let part = |load: usize| {
            let is_splat = program.loads[load].0 == LoadKind::Splat;
            columns.start..if is_splat { columns.start + 1 } else { columns.end }
        };
        // Rows that are all the same are in a tile once.
        let own = |load: usize| {
            let is_same = self.walk.loads[load].1[self.walk.kept..].iter().all(|&stride| stride == 0);
            if is_same { StridedRange { count: 1, ..all } } else { all }
        };
        let in_place = |load: usize| {
            let columns = part(load);
            let lines = self.inputs[load].lines(columns.clone(), all, LineOrder::ByRow);
            let (slice, (at, step)) = self.slices[load].zip(lines).ok_or(own(load).count)?;
            Ok(slice.at(at).rows(rows.len(), columns.len(), step))
        };
        let (of_lanes, step) = self.walk.grid.lane_rows(rows.clone());
        let of_lanes = of_lanes.map(|(first, count)| (first - rows.start, count));
        tiles.accumulate_lanes(
            (program, empty),
            (rows.len(), columns.len(), REDUCED_TILE_ELEMENTS),
            (of_lanes, step),
            in_place,
            |load, tile| self.inputs[load].load(part(load), own(load), LineOrder::ByRow, tile),
            |row, first| fold.rows(row, &[0], rows.start + first, true),
        )
    }

    /// Takes elements that are computed in tiles first: those of some lanes, so many rows from one on and at
    /// one distance, or of leaves, some of them at a time.
    fn take_tiles(
        &self,
        tiles: &mut Tiles<'_>,
        fold: &mut dyn Fold,
        columns: &Range<usize>,
        (wholes, step): (impl Iterator<Item = (usize, usize)>, usize),
    ) -> Result<()> {
        let (form, repeats) = (self.form, self.walk.repeats);
        let is_across = form == FoldForm::Across;
        let order = order_of(form);
        let most = self.walk.tile_rows(form, self.columns);
        let parts = |(first, count): (usize, usize)| {
            (0..count.max(1))
                .step_by(most)
                .map(move |done| (first + done * step, most.min(count - done), done + most >= count))
        };
        let (mut begins, mut known): (_, (usize, &[u8])) = ([0; LANE_ROWS], (0, &[]));
        for (first, count, is_last) in wholes.flat_map(parts) {
            // Rows that are all the same are there once.
            let taken = if repeats && is_across { count.min(1) } else { count };
            // A lane of the last leaf may have no rows.
            if taken > 0 && (!repeats || known.0 != taken) {
                let rows = StridedRange { first, step, count: taken };
                known = (taken, self.tile(tiles, columns, rows, order, None)?);
            }
            let elements = known.1;
            if is_across {
                let begins = &mut begins[..count];
                let row = if repeats { 0 } else { columns.len() };
                begins.iter_mut().enumerate().for_each(|(at, begin)| *begin = at * row);
                fold.rows(elements, begins, first, is_last);
            } else {
                fold.leaves(elements, &form.panel(count, columns.len(), count, 1), first);
            }
        }
        Ok(())
    }

    /// The values of some columns of some rows, line by line: the columns of a row or the rows of a column.
    /// Or the accumulators of the lines of a block, which those from one on have entered.
    fn tile<'t>(
        &'t self,
        tiles: &'t mut Tiles<'_>,
        columns: &Range<usize>,
        rows: StridedRange,
        order: LineOrder,
        held: Option<Held<'_>>,
    ) -> Result<&'t [u8]> {
        let (lines, len) = match order {
            LineOrder::ByRow => (rows.count, columns.len()),
            LineOrder::ByColumn => (columns.len(), rows.count),
        };
        let loads = &self.compiled.loads;
        // Whether all lines are the same.
        let repeats = |load: usize| {
            let (of_columns, of_rows) = self.walk.loads[load].1.split_at(self.walk.kept);
            let across = if order == LineOrder::ByRow { of_rows } else { of_columns };
            lines <= 1 || across.iter().all(|&stride| stride == 0)
        };
        // What is the same all along a line is there once, and so are long lines that are all the same,
        // unless they are handed on as they are.
        let is_long = len >= self.shortest && !self.walk.is_load;
        let is_alike = |load: usize| lines <= 1 || is_long && repeats(load);
        let part = |load: usize| {
            let one = |is_one: bool, count: usize| if is_one { 1 } else { count };
            let is_splat = loads[load].0 == LoadKind::Splat;
            let [of_columns, of_rows] = match order {
                LineOrder::ByRow => [is_splat, is_alike(load)],
                LineOrder::ByColumn => [is_alike(load), is_splat],
            };
            let end = columns.start + one(of_columns, columns.len());
            (columns.start..end, StridedRange { count: one(of_rows, rows.count), ..rows })
        };
        let in_place = |load: usize| {
            let slice = self.slices[load]?;
            let (columns, rows) = part(load);
            let (at, step) = self.inputs[load].lines(columns, rows, order)?;
            let step = if is_alike(load) { 0 } else { step };
            if lines > 1 && len < self.shortest && step != len as isize {
                return None;
            }
            Some((slice.at(at), step))
        };
        // Two lines that begin at one element may part later, unless they begin at the same step, too.
        let known = |load: usize| {
            let (columns, rows) = part(load);
            let line = match order {
                LineOrder::ByRow => StridedRange::all(columns.clone()),
                LineOrder::ByColumn => rows,
            };
            let lines = if is_alike(load) { 1 } else { lines };
            repeats(load).then(|| (self.inputs[load].offset(columns.start, rows.first), line, lines))
        };
        tiles.run((lines, len), held, in_place, known, |load, tile| {
            let (columns, rows) = part(load);
            self.inputs[load].load(columns, rows, order, tile);
        })
    }
}
