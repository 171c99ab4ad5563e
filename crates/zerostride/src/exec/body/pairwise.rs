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
        let wide = (4 * TILE_ELEMENTS / depth).clamp(256, 1024).min(columns.next_multiple_of(PAIR_COLUMNS));
        wide / PAIR_COLUMNS * PAIR_COLUMNS
    }

    /// Rows whose results are in a tile together.
    fn together(&self) -> usize {
        match self.way {
            Way::Kernel(_) | Way::Elements(_) => PAIR_ROWS,
            Way::Accumulators { .. } => {
                (2 * TILE_ELEMENTS / lanes(self.pairs.depth) / self.most()).max(PAIR_ROWS)
            }
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
            let PairWorker { packed, results, fold } = &mut *worker;
            for row in (0..rows.len()).step_by(self.together()) {
                let together = self.together().min(rows.len() - row);
                let of_load = |load: usize| self.packed((packed, load), (row, together), width);
                let loads: SmallVec<[&[u8]; 4]> = (0..packed.len()).map(of_load).collect();
                let finished = results.finished(together * width, |results| {
                    self.reduce((&loads, together, width), fold.as_mut(), results)
                })?;
                self.store(&block, (row, together), finished, out);
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

    /// Reduces some rows with all packed columns to results, from the elements of each load.
    fn reduce(
        &self,
        (loads, together, width): (&[&[u8]], usize, usize),
        fold: Option<&mut (Box<dyn Fold>, Scratch)>,
        results: &mut [u8],
    ) -> Result<()> {
        let depth = self.pairs.depth;
        let of_row = results.len() / together;
        match (&self.way, fold) {
            (Way::Kernel(known), _) => {
                let kernel = known.kernel(width).expect("there is a kernel for every width");
                let (of_row, of_column) = if self.pairs.are_rows[0] { (0, 1) } else { (1, 0) };
                kernel.run(loads[of_row], loads[of_column], results);
            }
            (Way::Accumulators { code, empty, .. }, None) => {
                code.accumulate_pairs((together, depth, width), loads, (empty, results));
            }
            (Way::Accumulators { code, empty, .. }, Some((fold, held))) => {
                let held = room(held, together * lanes(depth) * width * empty.len());
                code.accumulate_pairs((together, depth, width), loads, (empty, held));
                let panel = lanes_panel(lanes(depth), width);
                let line = held.len() / together;
                for (held, results) in held.chunks(line).zip(results.chunks_mut(of_row)) {
                    fold.start(width);
                    fold.leaves(held, &panel, 0);
                    fold.finish(results);
                }
            }
            (Way::Elements(code), fold) => {
                let (fold, held) = fold.expect("elements have a fold");
                let (line, mut machine) = (width * code.item, Machine::new(code, width));
                let panel = FoldForm::Narrow.panel(depth, width, width, 1);
                let held = room(held, depth * line);
                for (row, results) in results.chunks_mut(of_row).enumerate() {
                    let feed = |load: usize| {
                        let (len, first) =
                            if self.pairs.are_rows[load] { (1, row * depth) } else { (width, 0) };
                        let slice = ElementSlice {
                            bytes: loads[load],
                            item: self.items[load],
                            first: first as isize,
                        };
                        slice.rows(depth, len, len as isize)
                    };
                    let feeds: SmallVec<[Feed<'_>; 4]> = (0..loads.len()).map(feed).collect();
                    let mut sink = RowSink::lines(held, depth, line);
                    machine.run((1, depth, width), &feeds, &mut sink, Write::Cached)?;
                    fold.start(width);
                    fold.leaves(held, &panel, 0);
                    fold.finish(results);
                }
            }
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
