//! Owns the running of reductions over pairs of rows and columns: the loop over blocks of them. It does not
//! know which programs are such reductions (`plan/pairs.rs`), nor how a block is reduced by a kernel
//! (`kernels`).

use std::ops::Range;

use smallvec::SmallVec;
use zerostride_code::Write;
use zerostride_kernels::{Fold, ReducePanel, Reducer, lanes};

use super::load_kind::LoadKind;
use super::machine::{Machine, ResultTile, room};
use super::native::End;
use super::program::Compiled;
use crate::exec::elements::{
    ElementSlice, Feed, LineOrder, ReduceInput, RowSink, Scratch, StepOutput, StridedRange,
};
use crate::plan::{FoldForm, KnownPairs, PAIR_COLUMNS, PAIR_ROWS, Pairs, Program, ReduceWalk, TILE_ELEMENTS};
use crate::threads::parts;
use crate::{Result, interrupt};

/// The most rows that are combined with the same packed columns, and elements of them.
const PACKED_ROWS: usize = 256;
const PACKED_ELEMENTS: usize = 8 * TILE_ELEMENTS;

/// A reduction over pairs, and how a block of them is reduced.
pub(super) struct PairLoop {
    pairs: Pairs,
    way: Way,
    /// Bytes of an element of each load.
    items: SmallVec<[usize; 4]>,
}

enum Way {
    Kernel(KnownPairs),
    /// Code that hands the elements of a row and those of columns to accumulators, one of these before the
    /// first element, and whether they are the results.
    Accumulators {
        code: Box<Compiled>,
        empty: Vec<u8>,
        are_results: bool,
    },
    /// Code whose elements a fold takes.
    Elements(Box<Compiled>),
}

/// What one thread works with.
struct PairWorker<'a> {
    /// The elements of each load: those of some rows one after the other, and those of columns, depth by
    /// depth.
    packed: SmallVec<[Scratch; 4]>,
    results: ResultTile<'a>,
    /// What takes accumulators or elements, and these, where they are not the results.
    fold: Option<(Box<dyn Fold>, Scratch)>,
}

/// Some rows and columns of a matrix of results.
struct PairBlock {
    rows: Range<usize>,
    /// The first column, how many there are, and how many are computed.
    first: usize,
    count: usize,
    width: usize,
}

impl PairLoop {
    /// The loop of a program, if that is a reduction over pairs.
    pub(super) fn new(reducer: &Reducer, program: &Program, walk: &ReduceWalk) -> Option<PairLoop> {
        let pairs = Pairs::find(reducer.op(), program, walk)?;
        let items = program.loads.iter().map(|load| load.dtype.item_size()).collect();
        let of_code = || {
            let kind = |&is_row: &bool| if is_row { LoadKind::Splat } else { LoadKind::Vector };
            let kinds: Vec<LoadKind> = pairs.are_rows.iter().map(kind).collect();
            let (code, end) = (Compiled::new(program, &kinds, false), End::Across(reducer.op()));
            let Some(empty) = reducer.accumulator() else { return Way::Elements(Box::new(code)) };
            let code = Box::new(code.accumulating(program, end));
            Way::Accumulators { code, empty, are_results: reducer.yields_accumulators() }
        };
        let way = pairs.known.map_or_else(of_code, Way::Kernel);
        Some(PairLoop { pairs, way, items })
    }

    /// Whether it may run on so many elements: its code is printed by then.
    pub(super) fn is_ready(&self, elements: usize) -> bool {
        match &self.way {
            Way::Kernel(_) => true,
            Way::Accumulators { code, .. } | Way::Elements(code) => code.is_printed_for(elements),
        }
    }

    /// Reduces all pairs, by parts of rows, to results of `item` bytes, which may go through a program.
    pub(super) fn run(
        &self,
        reducer: &Reducer,
        inputs: &[ReduceInput<'_>],
        finish: Option<&Compiled>,
        (out, item): (StepOutput<'_>, usize),
    ) -> Result<()> {
        let Pairs { depth, columns, rows: of_matrix, ref are_rows, .. } = self.pairs;
        let most = self.most();
        let has_fold = matches!(self.way, Way::Accumulators { are_results: false, .. } | Way::Elements(_));
        let state = || PairWorker {
            packed: self.items.iter().map(|_| Scratch::new(0)).collect(),
            results: ResultTile::new(finish, self.together() * most, item),
            fold: has_fold.then(|| (reducer.start(most), Scratch::new(0))),
        };
        // The elements of a row are the same for all columns.
        let outer = inputs.iter().zip(are_rows).map(|(input, &is_row)| is_row.then(|| input.outer()));
        let outer: SmallVec<[Option<ReduceInput<'_>>; 4]> = outer.collect();
        let part = |worker: &mut PairWorker<'_>, mut out: StepOutput<'_>| {
            let Range { start, end } = out.columns();
            let (mut row, end) = (start / columns, end / columns);
            while row < end {
                // Rows of one matrix are combined with the columns of one matrix.
                let last = end.min((row / of_matrix + 1) * of_matrix);
                self.rows((&outer, inputs), row..last, worker, &mut out)?;
                row = last;
            }
            Ok(())
        };
        let together = (PACKED_ELEMENTS / depth).clamp(PAIR_ROWS, PACKED_ROWS);
        parts::for_each(out.parts(together * columns), state, part)
    }

    /// The most columns that are packed at once.
    fn most(&self) -> usize {
        let Pairs { depth, columns, .. } = self.pairs;
        let wide = (4 * TILE_ELEMENTS / depth).clamp(128, 1024).min(columns.next_multiple_of(PAIR_COLUMNS));
        wide / PAIR_COLUMNS * PAIR_COLUMNS
    }

    /// Rows whose results are in a tile together.
    fn together(&self) -> usize {
        match self.way {
            Way::Kernel(_) => PAIR_ROWS,
            Way::Accumulators { .. } => {
                (2 * TILE_ELEMENTS / lanes(self.pairs.depth) / self.most()).max(PAIR_ROWS)
            }
            Way::Elements(_) => 1,
        }
    }

    /// Some rows, with all columns.
    fn rows(
        &self,
        (outer, inputs): (&[Option<ReduceInput<'_>>], &[ReduceInput<'_>]),
        rows: Range<usize>,
        worker: &mut PairWorker<'_>,
        out: &mut StepOutput<'_>,
    ) -> Result<()> {
        let Pairs { depth, columns, .. } = self.pairs;
        for ((outer, tile), item) in outer.iter().zip(&mut worker.packed).zip(&self.items) {
            if let Some(outer) = outer {
                let tile = room(tile, rows.len() * depth * item);
                outer.load(rows.clone(), StridedRange::all(0..depth), LineOrder::ByColumn, tile);
            }
        }
        for first in (0..columns).step_by(self.most()) {
            interrupt::check();
            let count = self.most().min(columns - first);
            let width = match self.way {
                Way::Kernel(_) => count.next_multiple_of(PAIR_COLUMNS),
                Way::Accumulators { .. } | Way::Elements(_) => count,
            };
            let block = PairBlock { rows: rows.clone(), first, count, width };
            self.pack_columns(inputs, &block, worker);
            match &self.way {
                Way::Kernel(known) => self.by_kernel(known, &block, worker, out)?,
                Way::Accumulators { code, empty, .. } => {
                    self.by_accumulators((code, empty), &block, worker, out)?;
                }
                Way::Elements(code) => self.by_elements(code, &block, worker, out)?,
            }
        }
        Ok(())
    }

    /// Packs the elements of columns. Those beyond the last are computed with and left.
    fn pack_columns(&self, inputs: &[ReduceInput<'_>], block: &PairBlock, worker: &mut PairWorker<'_>) {
        let &PairBlock { ref rows, first, count, width } = block;
        let Pairs { depth, columns, ref are_rows, .. } = self.pairs;
        let start = rows.start * columns + first;
        for (load, (input, tile)) in inputs.iter().zip(&mut worker.packed).enumerate() {
            if are_rows[load] {
                continue;
            }
            let item = self.items[load];
            let tile = room(tile, depth * width * item);
            let mut fill = |depths: Range<usize>| {
                let tile = &mut tile[depths.start * width * item..];
                input.load(start..start + count, StridedRange::all(depths), LineOrder::ByRow, tile);
            };
            if count == width {
                fill(0..depth);
            } else {
                (0..depth).for_each(|row| fill(row..row + 1));
                let beyond = tile.chunks_mut(width * item).map(|row| &mut row[count * item..]);
                beyond.for_each(|beyond| beyond.fill(0));
            }
        }
    }

    /// The packed elements of a load: those of some rows from one on, or of all columns.
    fn packed<'w>(
        &self,
        (packed, load): (&'w [Scratch], usize),
        (row, rows): (usize, usize),
        width: usize,
    ) -> &'w [u8] {
        let line = self.pairs.depth * self.items[load];
        let bytes = packed[load].bytes();
        if self.pairs.are_rows[load] { &bytes[row * line..][..rows * line] } else { &bytes[..width * line] }
    }

    fn by_kernel(
        &self,
        known: &KnownPairs,
        block: &PairBlock,
        worker: &mut PairWorker<'_>,
        out: &mut StepOutput<'_>,
    ) -> Result<()> {
        let &PairBlock { ref rows, width, .. } = block;
        let PairWorker { packed, results, .. } = worker;
        let kernel = known.kernel(width).expect("there is a kernel for every width");
        let of = |load: usize, rows: (usize, usize)| self.packed((packed, load), rows, width);
        let (of_row, of_column) = if self.pairs.are_rows[0] { (0, 1) } else { (1, 0) };
        for row in (0..rows.len()).step_by(PAIR_ROWS) {
            let together = PAIR_ROWS.min(rows.len() - row);
            let finished = results.finished(together * width, |results| {
                kernel.run(of(of_row, (row, together)), of(of_column, (0, 0)), results);
            })?;
            self.store(block, (row, together), finished, out);
        }
        Ok(())
    }

    fn by_accumulators(
        &self,
        (code, empty): (&Compiled, &[u8]),
        block: &PairBlock,
        worker: &mut PairWorker<'_>,
        out: &mut StepOutput<'_>,
    ) -> Result<()> {
        let &PairBlock { ref rows, count, .. } = block;
        let PairWorker { packed, results, fold } = worker;
        let depth = self.pairs.depth;
        for row in (0..rows.len()).step_by(self.together()) {
            let together = self.together().min(rows.len() - row);
            let of_load = |load: usize| self.packed((packed, load), (row, together), count);
            let loads: SmallVec<[&[u8]; 4]> = (0..packed.len()).map(of_load).collect();
            let sizes = (together, depth, count);
            let finished = results.finished(together * count, |results| {
                let Some((fold, held)) = fold else {
                    return code.accumulate_pairs(sizes, &loads, (empty, results));
                };
                let held = room(held, together * lanes(depth) * count * empty.len());
                code.accumulate_pairs(sizes, &loads, (empty, held));
                let panel = lanes_panel(lanes(depth), count);
                let (of_row, result) = (held.len() / together, results.len() / together);
                for (held, results) in held.chunks(of_row).zip(results.chunks_mut(result)) {
                    fold.start(count);
                    fold.leaves(held, &panel, 0);
                    fold.finish(results);
                }
            })?;
            self.store(block, (row, together), finished, out);
        }
        Ok(())
    }

    fn by_elements(
        &self,
        code: &Compiled,
        block: &PairBlock,
        worker: &mut PairWorker<'_>,
        out: &mut StepOutput<'_>,
    ) -> Result<()> {
        let &PairBlock { ref rows, count, .. } = block;
        let PairWorker { packed, results, fold } = worker;
        let (depth, mut machine) = (self.pairs.depth, Machine::new(code, count));
        let (fold, held) = fold.as_mut().expect("elements have a fold");
        let (line, panel) = (count * code.item, FoldForm::Narrow.panel(depth, count, count, 1));
        for row in 0..rows.len() {
            let feed = |load: usize| {
                let bytes = self.packed((packed, load), (row, 1), count);
                let len = if self.pairs.are_rows[load] { 1 } else { count };
                ElementSlice { bytes, item: self.items[load], first: 0 }.rows(depth, len, len as isize)
            };
            let feeds: SmallVec<[Feed<'_>; 4]> = (0..packed.len()).map(feed).collect();
            let held = room(held, depth * line);
            machine.run(depth, count, &feeds, &mut RowSink::lines(held, depth, line), Write::Cached)?;
            fold.start(count);
            fold.leaves(held, &panel, 0);
            let finished = results.finished(count, |results| fold.finish(results))?;
            self.store(block, (row, 1), finished, out);
        }
        Ok(())
    }

    /// Stores the results of some of the rows of a block, without columns beyond the last.
    fn store(
        &self,
        block: &PairBlock,
        (row, together): (usize, usize),
        results: &[u8],
        out: &mut StepOutput<'_>,
    ) {
        let &PairBlock { ref rows, first, count, width } = block;
        let columns = self.pairs.columns;
        let start = (rows.start + row) * columns + first;
        if width == columns {
            return out.store(start..start + together * columns, results);
        }
        for (row, results) in results.chunks_exact(results.len() / together).enumerate() {
            let start = start + row * columns;
            out.store(start..start + count, &results[..results.len() / width * count]);
        }
    }
}

/// Accumulators of some lanes for each of so many results.
fn lanes_panel(lanes: usize, results: usize) -> ReducePanel {
    ReducePanel {
        rows: lanes,
        width: results,
        columns: 1,
        column_step: results,
        row_step: results,
        leaf: lanes,
    }
}
