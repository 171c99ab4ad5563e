//! Owns how elements that are reduced are handed to a fold: the strides of their grid, and the form that
//! follows. It does not know where the elements are (`reduce.rs`, `fold.rs`, `inline/reduce.rs`), nor how
//! they are reduced (`kernels`).

use std::ops::Range;

use zerostride_kernels::{Fold, LEAF_ELEMENTS, ReducePanel, Reducer, lane_rows, lanes};
use zerostride_ops::{DType, Reduction};

use crate::plan::FEW_RESULTS;

/// Elements of short rows that are worth reading in place, row by row.
const ACROSS_ELEMENTS: usize = 2048;

/// Bytes of the part of each row that is read before the next row.
const ROW_BYTES: usize = 16 << 10;

/// Neighbouring results from which on their rows are worth a pass each.
const WIDE_RESULTS: usize = 16;

/// Neighbouring results that are not worth a pass for each row.
const NARROW_RESULTS: usize = 64;

/// Leaves that are worth dividing among threads.
const DIVIDED_LEAVES: usize = 4;

/// The most rows of a lane in a leaf.
pub(in crate::exec) const LANE_ROWS: usize = 128;

/// Elements of a result from which on they are worth a pass, where their order makes no difference.
const LONG_ELEMENTS: usize = 16;

/// How the elements of a block of results are handed to a fold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::exec) enum FoldForm {
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
    pub(in crate::exec) fn panel(
        self,
        rows: usize,
        columns: usize,
        column_step: usize,
        row_step: usize,
    ) -> ReducePanel {
        match self {
            FoldForm::Narrow => {
                ReducePanel { rows, width: columns, columns: 1, column_step, row_step: columns }
            }
            _ => ReducePanel { rows, width: 1, columns, column_step, row_step },
        }
    }
}

/// The elements of a reduction as rows, one for each reduced index, and columns, one for each result.
#[derive(Clone, Copy, Debug)]
pub(in crate::exec) struct Grid {
    /// Neighbouring results, and all of them.
    pub(in crate::exec) inner: usize,
    pub(in crate::exec) results: usize,
    /// The most columns that are worth reading before the next row.
    pub(in crate::exec) widest: usize,
    /// Reduced elements of each.
    pub(in crate::exec) count: usize,
    /// Whether they have the same result in any order.
    pub(in crate::exec) any_order: bool,
    /// Whether a fold takes results of a few dozen contiguous elements each.
    pub(in crate::exec) lines: bool,
    /// Whether elements of other results are between a row of neighbours and their next row.
    pub(in crate::exec) interleaved: bool,
    /// The stride from a result's elements to those of the next.
    pub(in crate::exec) column_step: isize,
    /// The stride from one reduced element to the next, if there is one.
    pub(in crate::exec) row_step: Option<isize>,
}

impl Grid {
    /// Elements of a dtype, of which so many are reduced to each result.
    pub(in crate::exec) fn new(
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
            column_step,
            row_step,
        }
    }

    /// The form of elements whose rows are closer in memory than their columns (`across`) or not, and which
    /// may be read in place or not.
    pub(in crate::exec) fn form(&self, across: bool, in_place: bool) -> FoldForm {
        let joined = in_place && self.row_step == Some(self.inner as isize);
        let lines = self.lines && self.inner >= LONG_ELEMENTS;
        let alone = if in_place {
            self.row_step == Some(1) && (lines || (self.any_order && self.count >= LONG_ELEMENTS))
        } else {
            lines && !across
        };
        match lanes(self.count) {
            1 if !alone => FoldForm::Across,
            _ if !across || self.inner < 2 => FoldForm::Along,
            // Rows of a few results are joined.
            _ if self.inner <= if joined { self.joined() } else { FEW_RESULTS } && !self.interleaved => {
                FoldForm::Narrow
            }
            _ => FoldForm::Across,
        }
    }

    /// The most results whose rows are joined, where these are contiguous: more where threads have something
    /// to divide still, for then memory is read in order.
    fn joined(&self) -> usize {
        let are_divided = self.inner < self.results || self.count >= DIVIDED_LEAVES * LEAF_ELEMENTS;
        if are_divided && !self.any_order { NARROW_RESULTS.max(self.widest / 4) } else { NARROW_RESULTS }
    }

    /// Hands a fold some rows of the elements of neighbouring results: elements of `bytes`, `item` bytes
    /// each, of which `begin` says the first of a row.
    pub(in crate::exec) fn take(
        &self,
        fold: &mut dyn Fold,
        (form, columns): (FoldForm, usize),
        (bytes, item): (&[u8], usize),
        rows: Range<usize>,
        begin: impl Fn(usize) -> usize,
    ) {
        if form != FoldForm::Across {
            let row_step = self.row_step.map_or(1, isize::unsigned_abs);
            let panel = form.panel(rows.len(), columns, self.column_step.unsigned_abs(), row_step);
            return fold.leaves(&bytes[begin(rows.start) * item..], &panel, rows.start);
        }
        let mut begins = [0; LANE_ROWS];
        let mut take = |first: usize, count: usize, step: usize| {
            let begins = &mut begins[..count];
            begins.iter_mut().enumerate().for_each(|(row, at)| *at = begin(first + row * step));
            fold.rows(bytes, begins, first, true);
        };
        if self.any_order {
            // In the order of memory.
            rows.clone().step_by(LANE_ROWS).for_each(|first| take(first, LANE_ROWS.min(rows.end - first), 1));
        } else {
            let step = lanes(self.count);
            lane_rows(self.count, rows).for_each(|(first, count)| take(first, count, step));
        }
    }

    /// Whether a fold reads elements in place.
    pub(in crate::exec) fn is_direct(&self, form: FoldForm) -> bool {
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
pub(in crate::exec) fn widest(op: Reduction, item: usize) -> usize {
    if op == Reduction::Var { ROW_BYTES / 4 / item } else { ROW_BYTES / item }
}
