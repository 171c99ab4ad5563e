//! Owns how elements are handed to folds: rows of a grid to one (`Grid::take`), pieces one after the other to
//! those of all results, and the threads over them. It does not know where elements come from, nor in which
//! form they are taken (`plan/grid.rs`); the tree in which they are combined is the kernels', and its bits do
//! not depend on them.

use std::convert::Infallible;
use std::ops::Range;

use zerostride_kernels::{Fold, LEAF_ELEMENTS, Reducer};
use zerostride_ops::{DType, Reduction};

use crate::plan::{FoldForm, Grid, LANE_ROWS};
use crate::threads::parts;

/// Results that one fold has at most.
const FOLD_RESULTS: usize = 2048;

/// Parts that a piece is divided into, at most twice as many.
const MOST_PIECE_PARTS: usize = 16;

/// A reduction that goes on from piece to piece.
pub(crate) struct Folding {
    reducer: Reducer,
    /// The elements of a piece.
    grid: Grid,
    /// The dtype of the elements taken, and of the results.
    takes: DType,
    result: DType,
    /// One for each block of results.
    folds: Vec<Box<dyn Fold>>,
    taken: usize,
}

/// Hands as many parts of the leaves of so many results each to a fold of its own, on all threads, and joins
/// these in order. For the tree to be that of one pass, each part but the last is a power of two of leaves,
/// and begins at a multiple of that.
pub(super) fn divide<S, E: Send>(
    fold: &mut dyn Fold,
    reducer: &Reducer,
    (parts, columns): (usize, usize),
    state: impl Fn() -> S + Sync,
    take: impl Fn(&mut S, &mut dyn Fold, usize) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let mut folds: Vec<Box<dyn Fold>> = (0..parts).map(|_| reducer.start(columns)).collect();
    let part = |state: &mut S, (index, fold): (usize, &mut Box<dyn Fold>)| take(state, &mut **fold, index);
    parts::for_each(folds.iter_mut().enumerate(), state, part)?;
    folds.into_iter().for_each(|part| fold.append(part));
    Ok(())
}

impl Grid {
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
        let (lanes, step) = self.lane_rows(rows);
        for (first, count) in lanes {
            let begins = &mut begins[..count];
            begins.iter_mut().enumerate().for_each(|(row, at)| *at = begin(first + row * step));
            fold.rows(bytes, begins, first, true);
        }
    }
}

impl Folding {
    /// The reduction `op` of `reduced` elements of a dtype for each of `columns` results of dtype `result`.
    pub(crate) fn new(
        (op, compute, correction): (Reduction, DType, f64),
        (elements, reduced): (DType, usize),
        columns: usize,
        result: DType,
    ) -> Folding {
        let takes = Reducer::takes(op, compute, elements, reduced);
        let reducer = Reducer::new(op, compute, takes, reduced, correction);
        let width = |first: usize| FOLD_RESULTS.min(columns - first);
        let folds = (0..columns).step_by(FOLD_RESULTS).map(|first| reducer.start(width(first))).collect();
        let steps = (1, Some(columns as isize));
        let grid = Grid::new(&reducer, (takes, reduced), (columns, columns), steps, false);
        Folding { reducer, grid, takes, result, folds, taken: 0 }
    }

    /// Takes the next elements: for each reduced index a row of one element for each result. Their number is
    /// a multiple of [`LEAF_ELEMENTS`] rows unless they are the last.
    pub(crate) fn take(&mut self, elements: &[u8]) {
        let Folding { reducer, grid, takes, folds, taken, .. } = self;
        let (all, item, first) = (grid.inner, takes.item_size(), *taken);
        *taken += elements.len() / (all * item).max(1);
        let form = if all == 1 { FoldForm::Along } else { FoldForm::Across };
        // Hands some rows to the fold of the results from a column on.
        let hand = |fold: &mut dyn Fold, column: usize, rows: Range<usize>| {
            let begin = |row: usize| (row - first) * all + column;
            grid.take(fold, (form, FOLD_RESULTS.min(all - column)), (elements, item), rows, begin);
        };
        let rows = first..*taken;
        let [fold] = &mut folds[..] else {
            let part = |(): &mut (), (block, fold): (usize, &mut Box<dyn Fold>)| {
                hand(&mut **fold, block * FOLD_RESULTS, rows.clone());
                Ok::<_, Infallible>(())
            };
            let Ok(()) = parts::for_each(folds.iter_mut().enumerate(), || (), part);
            return;
        };
        let group = (rows.len() / LEAF_ELEMENTS / MOST_PIECE_PARTS).next_power_of_two() * LEAF_ELEMENTS;
        let start = first.next_multiple_of(group).min(rows.end);
        let groups = (rows.end - start) / group;
        if groups < 2 {
            return hand(&mut **fold, 0, rows);
        }
        hand(&mut **fold, 0, first..start);
        let part = |(): &mut (), fold: &mut dyn Fold, part: usize| {
            hand(fold, 0, start + part * group..start + (part + 1) * group);
            Ok::<_, Infallible>(())
        };
        let Ok(()) = divide(&mut **fold, reducer, (groups, all), || (), part);
        hand(&mut **fold, 0, start + groups * group..rows.end);
    }

    /// Writes the results.
    pub(crate) fn finish(mut self, out: &mut [u8]) {
        let block = FOLD_RESULTS * self.result.item_size();
        self.folds.iter_mut().zip(out.chunks_mut(block)).for_each(|(fold, out)| fold.finish(out));
    }
}

#[cfg(test)]
mod tests {
    use bytemuck::{cast_slice, cast_slice_mut};

    use super::*;
    use crate::Tensor;

    #[test]
    fn the_bits_do_not_depend_on_the_pieces() {
        for (rows, columns) in [(1, 3), (100, 5), (300, 2049), (70_000, 3), (200_001, 1)] {
            let x = Tensor::rand(&[rows, columns], 7).unwrap();
            let elements = x.to_vec::<f32>().unwrap();
            for op in [Reduction::Sum, Reduction::Amax, Reduction::Var] {
                let expr = crate::Expr::from(&x);
                let expected = match op {
                    Reduction::Sum => expr.sum(0),
                    Reduction::Amax => expr.amax(0),
                    _ => expr.var(0),
                };
                let expected = expected.eval().unwrap().to_vec::<f32>().unwrap();
                for leaves in [1, 2, 3, 7, 64, 1000] {
                    let mut folding =
                        Folding::new((op, DType::F32, 1.0), (DType::F32, rows), columns, DType::F32);
                    for piece in elements.chunks(leaves * LEAF_ELEMENTS * columns) {
                        folding.take(cast_slice(piece));
                    }
                    let mut found = vec![0.0f32; columns];
                    folding.finish(cast_slice_mut(&mut found));
                    let bits =
                        |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
                    assert_eq!(
                        bits(&found),
                        bits(&expected),
                        "{op:?} of ({rows}, {columns}) by {leaves} leaves"
                    );
                }
            }
        }
    }
}
