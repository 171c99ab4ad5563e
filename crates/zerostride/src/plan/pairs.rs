//! Owns the recognition of reductions over pairs of rows and columns, as of squared distances. It does not
//! run them (`exec/body/pairwise.rs`), nor know how a block of them is reduced (`kernels`).

use zerostride_kernels::{Pairwise, Term};
use zerostride_ops::{DType, Op, Reduction};

use super::program::{Instruction, Program};
use super::reduce_walk::ReduceWalk;

/// Rows whose results share a tile, and columns that a kernel takes at once.
pub(crate) const PAIR_ROWS: usize = 4;
pub(crate) const PAIR_COLUMNS: usize = 16;

/// A reduction over pairs, found in a program.
pub(crate) struct Pairs {
    op: Reduction,
    /// Of elements, and of results.
    pub(crate) dtype: DType,
    pub(crate) results: DType,
    term: Term,
    /// The loads of rows and columns.
    pub(crate) row: usize,
    pub(crate) column: usize,
    pub(crate) depth: usize,
    /// The size of the innermost kept dimensions.
    pub(crate) rows: usize,
    pub(crate) columns: usize,
}

impl Pairs {
    /// The reduction over pairs that a program is, if it is one: of its two loads, one is the same along the
    /// innermost kept dimension, the other along the one before.
    pub(crate) fn find(op: Reduction, program: &Program, walk: &ReduceWalk) -> Option<Pairs> {
        let (kept, reduced) = walk.sizes.split_at(walk.kept);
        let ([.., rows, columns], &[depth]) = (kept, reduced) else { return None };
        let (rows, columns) = (*rows, *columns);
        let repeats = |load: usize, dim: usize| walk.loads[load].1[kept.len() - dim] == 0;
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
        let widened = |register: usize| match program.instructions[register] {
            Instruction::Cast(narrow) => difference(narrow),
            _ => false,
        };
        let (last, operands) = map(program.result)?;
        let squared = match (last, operands) {
            (Op::Square, &[a]) => Some(a),
            (Op::Mul, &[a, b]) if a == b => Some(a),
            _ => None,
        };
        let term = match (last, operands) {
            _ if squared.is_some_and(difference) => Term::SquaredDifference,
            _ if squared.is_some_and(widened) => Term::WidenedSquaredDifference,
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
        (is_plain && rows >= PAIR_ROWS && columns >= PAIR_COLUMNS && found.kernel(PAIR_COLUMNS).is_some())
            .then_some(found)
    }

    /// The kernel for rows of so many results, a multiple of [`PAIR_COLUMNS`].
    pub(crate) fn kernel(&self, width: usize) -> Option<Pairwise> {
        Pairwise::new(self.op, self.dtype, self.term, self.depth, width)
    }
}
