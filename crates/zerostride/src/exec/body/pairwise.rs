//! Owns reductions over pairs of rows and columns, as of squared distances: which programs are some, and the
//! loop over blocks of them. It does not know how a block is reduced (`kernels`).

use std::ops::Range;

use zerostride_kernels::{Pairwise, Term};
use zerostride_ops::{DType, Op, Reduction};
use zerostride_shape::{Shape, Strides};

use super::machine::Results;
use super::program::Compiled;
use crate::Result;
use crate::exec::elements::{Input, LineOrder, Output, Scratch, StridedRange};
use crate::plan::{Instruction, Program, TILE_ELEMENTS};
use crate::threads::crew;

/// The most rows that are combined with the same packed columns, and elements of them.
const BLOCK_ROWS: usize = 256;
const PACKED_ELEMENTS: usize = 8 * TILE_ELEMENTS;

/// Rows whose results share a tile.
const TILE_ROWS: usize = 4;

/// A reduction over pairs, found in a program.
pub(in crate::exec) struct Pairs {
    op: Reduction,
    /// Of elements, and of results.
    dtype: DType,
    results: DType,
    term: Term,
    /// The loads of rows and columns.
    row: usize,
    column: usize,
    depth: usize,
    /// The size of the innermost kept dimensions.
    rows: usize,
    columns: usize,
}

impl Pairs {
    /// The reduction over pairs that a program is, if it is one: of its two loads, one is the same along the
    /// innermost kept dimension, the other along the one before.
    pub(in crate::exec) fn find(
        op: Reduction,
        program: &Program,
        kept: &Shape,
        reduced: &Shape,
        strides: &[Strides],
    ) -> Option<Pairs> {
        let [.., rows, columns] = kept[..] else { return None };
        let [depth] = reduced[..] else { return None };
        let repeats = |load: usize, dim: usize| strides[load][kept.ndim() - dim] == 0;
        let (row, column) = match &program.loads[..] {
            [_, _] if repeats(0, 1) && repeats(1, 2) => (0, 1),
            [_, _] if repeats(1, 1) && repeats(0, 2) => (1, 0),
            _ => return None,
        };
        let load = |register: usize| match program.instructions[register] {
            Instruction::Load(load) => Some(load),
            _ => None,
        };
        let map = |register: usize| match &program.instructions[register] {
            Instruction::Map { op, operands, .. } => Some((*op, &operands[..])),
            _ => None,
        };
        let difference = |register: usize| {
            matches!(map(register), Some((Op::Sub, &[a, b]))
            if load(a).is_some() && load(b).is_some() && load(a) != load(b))
        };
        let widened = |register: usize| matches!(program.instructions[register], Instruction::Cast(narrow) if difference(narrow));
        let (last, operands) = map(program.result)?;
        let term = match (last, operands) {
            (Op::Square, &[a]) if difference(a) => Term::SquaredDifference,
            (Op::Square, &[a]) if widened(a) => Term::WidenedSquaredDifference,
            (Op::Mul, &[a, b]) if a == b && difference(a) => Term::SquaredDifference,
            (Op::Abs, &[a]) if difference(a) => Term::AbsoluteDifference,
            (Op::Mul, &[a, b]) if load(a)? != load(b)? => Term::Product,
            (Op::Add, &[a, b]) if load(a)? != load(b)? => Term::Sum,
            (Op::Sub, &[a, b]) if load(a)? == row && load(b)? == column => Term::Difference,
            (Op::Sub, &[a, b]) if load(a)? == column && load(b)? == row => Term::Reversed,
            _ => return None,
        };
        let dtype = program.dtypes[0];
        let results = term.results(dtype);
        let found = Pairs { op, dtype, results, term, row, column, depth, rows, columns };
        // Converted loads are tiles.
        let is_plain = program.dtypes[program.result] == results
            && program.dtypes.iter().all(|&other| other == dtype || other == results);
        (is_plain && rows >= TILE_ROWS && columns >= 16 && found.kernel(16).is_some()).then_some(found)
    }

    fn kernel(&self, width: usize) -> Option<Pairwise> {
        Pairwise::new(self.op, self.dtype, self.term, self.depth, width)
    }

    /// Reduces all pairs, by parts of rows. Results may go through a program.
    pub(in crate::exec) fn run(
        &self,
        inputs: &[Input<'_>],
        finish: Option<&Compiled>,
        out: Output<'_>,
    ) -> Result<()> {
        // The elements of a row are the same for all columns.
        let (rows, columns) = (&inputs[self.row].outer(), &inputs[self.column]);
        let state = || Results::new(finish, TILE_ROWS * self.most(), self.results.item_size());
        let part = |results: &mut Results<'_>, mut out: Output<'_>| {
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
        let together = (PACKED_ELEMENTS / self.depth).clamp(TILE_ROWS, BLOCK_ROWS);
        crew::for_each(out.parts(together * self.columns), state, part)
    }

    /// The most columns that are packed at once.
    fn most(&self) -> usize {
        (4 * TILE_ELEMENTS / self.depth).clamp(64, 1024).min(self.columns.next_multiple_of(16)) / 16 * 16
    }

    fn block(
        &self,
        (left, right): (&Input<'_>, &Input<'_>),
        rows: Range<usize>,
        (results, out): (&mut Results<'_>, &mut Output<'_>),
    ) -> Result<()> {
        let (depth, item, most) = (self.depth, self.dtype.item_size(), self.most());
        let mut packed_rows = Scratch::new(rows.len() * depth * item);
        left.load(rows.clone(), StridedRange::all(0..depth), LineOrder::ByColumn, packed_rows.bytes_mut());
        let mut packed = Scratch::new(depth * most * item);
        // Columns beyond the last are computed with and left.
        packed.bytes_mut().fill(0);
        for first in (0..self.columns).step_by(most) {
            let count = most.min(self.columns - first);
            let width = count.next_multiple_of(16);
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
            for (at, rows_together) in bytes.chunks(TILE_ROWS * depth * item).enumerate() {
                let together = rows_together.len() / (depth * item);
                let finished = results
                    .finished(together * width, |results| kernel.run(rows_together, packed, results))?;
                let row = finished.len() / together;
                for (row, results) in finished.chunks_exact(row).enumerate() {
                    let start = (rows.start + at * TILE_ROWS + row) * self.columns + first;
                    out.store(start..start + count, &results[..results.len() / width * count]);
                }
            }
        }
        Ok(())
    }
}
