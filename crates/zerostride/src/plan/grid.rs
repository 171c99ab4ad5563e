//! Owns the form of loops that reduce: how elements are handed to a fold, which follows from the strides of
//! their grid. It does not know where the elements are, nor who hands them on (`exec/body/fold.rs`).

use std::ops::Range;

use zerostride_kernels::{LEAF_ELEMENTS, ReducePanel, Reducer, lane_rows, lanes};
use zerostride_ops::{Accumulator, DType, Reduction};

use super::program::FEW_RESULTS;

/// Elements of short rows that are worth reading in place, row by row.
const ACROSS_ELEMENTS: usize = 2048;

/// Bytes of the part of each row that is read before the next row.
const ROW_BYTES: usize = 16 << 10;

/// Neighbouring results from which on their rows are worth a pass each.
const WIDE_RESULTS: usize = 16;

/// Neighbouring results that are not worth a pass for each row.
pub(crate) const NARROW_RESULTS: usize = 64;

/// Results of a row that is joined with others in tiles, however they lie in memory.
pub(super) const JOINED_RESULTS: usize = 32;

/// Leaves that are worth dividing among threads.
const DIVIDED_LEAVES: usize = 4;

/// The most rows of a lane in a leaf.
pub(crate) const LANE_ROWS: usize = 128;

/// Elements of a result from which on they are worth a pass, where their order makes no difference.
const PASS_ELEMENTS: usize = 16;

/// How the elements of a block of results are handed to a fold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FoldForm {
    /// Row by row, those of a lane after the other.
    Across,
    /// Leaf by leaf, the rows of a leaf being next to each other, and the results of a row.
    Narrow,
    /// Leaf by leaf, the elements of a result being next to each other.
    Along,
}

impl FoldForm {
    /// The panel of a block's elements, with the strides from a result's elements to those of the next, and
    /// from one of a result's elements to its next, unless the results of a row are contiguous.
    pub(crate) fn panel(
        self,
        rows: usize,
        columns: usize,
        column_step: usize,
        row_step: usize,
    ) -> ReducePanel {
        match self {
            FoldForm::Narrow => {
                let leaf = LEAF_ELEMENTS;
                ReducePanel { rows, width: columns, columns: 1, column_step, row_step: columns, leaf }
            }
            _ => ReducePanel { rows, width: 1, columns, column_step, row_step, leaf: LEAF_ELEMENTS },
        }
    }
}

/// The elements of a reduction as rows, one for each reduced index, and columns, one for each result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    /// Neighbouring results, and all of them.
    pub(crate) inner: usize,
    pub(crate) results: usize,
    /// The most columns that are worth reading before the next row.
    pub(crate) widest: usize,
    /// Reduced elements of each.
    pub(crate) count: usize,
    /// Whether they have the same result in any order.
    pub(crate) any_order: bool,
    /// Whether a fold takes results of a few dozen contiguous elements each.
    lines: bool,
    /// Whether elements of other results are between a row of neighbours and their next row.
    interleaved: bool,
    /// The results of a row that is joined with others in a tile, if rows are.
    pub(super) tile_row: Option<usize>,
    /// The stride from a result's elements to those of the next.
    pub(crate) column_step: isize,
    /// The stride from one reduced element to the next, if there is one.
    pub(crate) row_step: Option<isize>,
}

impl Grid {
    /// Elements of a dtype, of which so many are reduced to each result.
    pub(crate) fn new(
        reducer: &Reducer,
        (dtype, count): (DType, usize),
        (inner, results): (usize, usize),
        (column_step, row_step): (isize, Option<isize>),
        interleaved: bool,
    ) -> Grid {
        Grid {
            inner,
            results,
            widest: widest(reducer.op(), dtype.item_size()),
            count,
            any_order: reducer.op().is_in_any_order(dtype),
            lines: reducer.takes_lines(),
            interleaved,
            tile_row: None,
            column_step,
            row_step,
        }
    }

    /// The form of elements whose rows are closer in memory than their columns (`across`) or not, and which
    /// may be read in place or not.
    pub(crate) fn form(&self, across: bool, in_place: bool) -> FoldForm {
        let joined = in_place && self.row_step == Some(self.inner as isize);
        let are_along = if in_place { self.row_step == Some(1) } else { !across };
        let are_long = self.any_order && self.count >= PASS_ELEMENTS;
        let alone = are_along && (are_long || self.lines && self.inner >= PASS_ELEMENTS);
        // Rows of a few results are joined.
        let are_joined = match in_place {
            true => self.inner <= if joined { self.joined() } else { FEW_RESULTS } && !self.interleaved,
            false => self.tile_row.is_some(),
        };
        match lanes(self.count) {
            1 if !alone => FoldForm::Across,
            _ if !across || self.inner < 2 => FoldForm::Along,
            _ if are_joined => FoldForm::Narrow,
            _ => FoldForm::Across,
        }
    }

    /// Which of some rows are those of each lane: the first, how many there are, and how far apart. Where
    /// their order makes no difference, lanes are rows that follow each other in memory.
    pub(crate) fn lane_rows(
        &self,
        rows: Range<usize>,
    ) -> (impl Iterator<Item = (usize, usize)> + use<>, usize) {
        let (reduced, most) = if self.any_order { (1, LANE_ROWS) } else { (self.count, usize::MAX) };
        let Range { start, end } = rows;
        let parts = (start..end).step_by(most).map(move |first| first..end.min(first.saturating_add(most)));
        (parts.flat_map(move |part| lane_rows(reduced, part)), lanes(reduced))
    }

    /// The grid of elements that are computed in tiles: of all results of a step if it `is_whole`, or of a
    /// window. Operands may be contiguous along the reduced elements, or their rows scattered
    /// (`reduce_walk.rs`).
    pub(super) fn in_tiles(self, is_whole: bool, (are_along, are_scattered): (bool, bool)) -> Grid {
        let most = if is_whole { NARROW_RESULTS } else { FEW_RESULTS };
        let tile_row = match self.inner {
            inner if inner <= most && !self.interleaved => Some(inner),
            _ if is_whole && (self.results <= JOINED_RESULTS || are_scattered) => {
                Some(self.results.min(JOINED_RESULTS))
            }
            _ => None,
        };
        Grid { tile_row, lines: self.lines && are_along, ..self }
    }

    /// The most results whose rows are joined, where these are contiguous: more where threads have something
    /// to divide still, for then memory is read in order.
    fn joined(&self) -> usize {
        let are_divided = self.inner < self.results || self.count >= DIVIDED_LEAVES * LEAF_ELEMENTS;
        if are_divided && !self.any_order { NARROW_RESULTS.max(self.widest / 4) } else { NARROW_RESULTS }
    }

    /// Whether a fold reads elements in place.
    pub(crate) fn is_direct(&self, form: FoldForm) -> bool {
        self.count > 0
            && match form {
                // Short rows are joined in tiles.
                FoldForm::Across => {
                    self.column_step == 1
                        && (self.inner == self.results
                            || (self.inner >= WIDE_RESULTS && self.inner * self.count >= ACROSS_ELEMENTS))
                }
                FoldForm::Narrow => self.column_step == 1 && self.row_step == Some(self.inner as isize),
                // The trees of floats bring them together, leaf by leaf.
                FoldForm::Along => {
                    let is_taken = |step| step == 1 || (step > 1 && !self.any_order);
                    self.row_step.is_some_and(is_taken) && self.column_step >= 0
                }
            }
    }
}

/// The most results, of elements of so many bytes, that are worth reading before the next row. Moments take
/// more room than elements.
pub(crate) fn widest(op: Reduction, item: usize) -> usize {
    match op.columns().accumulator {
        Accumulator::Moments => ROW_BYTES / 4 / item,
        Accumulator::Element(..) | Accumulator::Place(..) => ROW_BYTES / item,
    }
}
