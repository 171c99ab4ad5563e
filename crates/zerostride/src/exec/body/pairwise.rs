//! Owns the running of reductions over pairs of rows and columns: the loop over blocks of them. It does not
//! know which programs are such reductions (`plan/pairs.rs`), nor how a block is reduced (`kernels`).

use std::ops::Range;

use super::machine::ResultTile;
use super::program::Compiled;
use crate::Result;
use crate::exec::elements::{LineOrder, ReduceInput, Scratch, StepOutput, StridedRange};
use crate::plan::{PAIR_COLUMNS, PAIR_ROWS, Pairs, TILE_ELEMENTS};
use crate::threads::parts;

/// The most rows that are combined with the same packed columns, and elements of them.
const PACKED_ROWS: usize = 256;
const PACKED_ELEMENTS: usize = 8 * TILE_ELEMENTS;

impl Pairs {
    /// Reduces all pairs, by parts of rows. Results may go through a program.
    pub(in crate::exec) fn run(
        &self,
        inputs: &[ReduceInput<'_>],
        finish: Option<&Compiled>,
        out: StepOutput<'_>,
    ) -> Result<()> {
        // The elements of a row are the same for all columns.
        let (rows, columns) = (&inputs[self.row].outer(), &inputs[self.column]);
        let state = || ResultTile::new(finish, PAIR_ROWS * self.most(), self.results.item_size());
        let part = |results: &mut ResultTile<'_>, mut out: StepOutput<'_>| {
            let Range { start, end } = out.columns();
            let (mut row, end) = (start / self.columns, end / self.columns);
            while row < end {
                // Rows of one matrix are combined with the columns of one matrix.
                let last = end.min((row / self.rows + 1) * self.rows);
                self.block((rows, columns), row..last, (results, &mut out))?;
                row = last;
            }
            Ok(())
        };
        let together = (PACKED_ELEMENTS / self.depth).clamp(PAIR_ROWS, PACKED_ROWS);
        parts::for_each(out.parts(together * self.columns), state, part)
    }

    /// The most columns that are packed at once.
    fn most(&self) -> usize {
        (4 * TILE_ELEMENTS / self.depth).clamp(64, 1024).min(self.columns.next_multiple_of(PAIR_COLUMNS))
            / PAIR_COLUMNS
            * PAIR_COLUMNS
    }

    fn block(
        &self,
        (left, right): (&ReduceInput<'_>, &ReduceInput<'_>),
        rows: Range<usize>,
        (results, out): (&mut ResultTile<'_>, &mut StepOutput<'_>),
    ) -> Result<()> {
        let (depth, item, most) = (self.depth, self.dtype.item_size(), self.most());
        let mut packed_rows = Scratch::new(rows.len() * depth * item);
        left.load(rows.clone(), StridedRange::all(0..depth), LineOrder::ByColumn, packed_rows.bytes_mut());
        let mut packed = Scratch::new(depth * most * item);
        // Columns beyond the last are computed with and left.
        packed.bytes_mut().fill(0);
        for first in (0..self.columns).step_by(most) {
            let count = most.min(self.columns - first);
            let width = count.next_multiple_of(PAIR_COLUMNS);
            let kernel = self.kernel(width).expect("there is a kernel for every width");
            let start = rows.start * self.columns + first;
            let packed = &mut packed.bytes_mut()[..depth * width * item];
            let mut load = |rows: Range<usize>| {
                let tile = &mut packed[rows.start * width * item..];
                right.load(start..start + count, StridedRange::all(rows), LineOrder::ByRow, tile);
            };
            // The rows of a last block have room for columns beyond.
            match count == width {
                true => load(0..depth),
                false => (0..depth).for_each(|row| load(row..row + 1)),
            }
            let bytes = &packed_rows.bytes_mut()[..rows.len() * depth * item];
            for (at, rows_together) in bytes.chunks(PAIR_ROWS * depth * item).enumerate() {
                let together = rows_together.len() / (depth * item);
                let finished = results
                    .finished(together * width, |results| kernel.run(rows_together, packed, results))?;
                let row = finished.len() / together;
                for (row, results) in finished.chunks_exact(row).enumerate() {
                    let start = (rows.start + at * PAIR_ROWS + row) * self.columns + first;
                    out.store(start..start + count, &results[..results.len() / width * count]);
                }
            }
        }
        Ok(())
    }
}
