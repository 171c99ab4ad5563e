//! Owns the recognition of reductions over pairs of rows and columns, as of squared distances. It does not
//! run them (`exec/body/pairwise.rs`), nor know how a block of them is reduced (`kernels`).

use smallvec::SmallVec;
use zerostride_kernels::{LEAF_ELEMENTS, Pairwise, Term};
use zerostride_ops::{DType, Op, Reduction};

use super::program::{Instruction, Program};
use super::reduce_walk::ReduceWalk;

/// Rows whose results share a tile, and columns that a kernel takes at once.
pub(crate) const PAIR_ROWS: usize = 4;
pub(crate) const PAIR_COLUMNS: usize = 16;

/// A reduction over pairs, found in a program.
pub(crate) struct Pairs {
    /// For each load whether its elements are those of rows, the same for all columns; the others are those
    /// of columns, the same for all rows.
    pub(crate) are_rows: SmallVec<[bool; 4]>,
    pub(crate) depth: usize,
    /// The sizes of the innermost kept dimensions.
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    /// What a kernel computes, if there is one.
    pub(crate) known: Option<KnownPairs>,
}

/// A sum over pairs that has a kernel.
#[derive(Clone, Copy)]
pub(crate) struct KnownPairs {
    dtype: DType,
    term: Term,
    depth: usize,
}

impl Pairs {
    /// The reduction over pairs that a program is, if it is one: of its loads, some are the same along the
    /// innermost kept dimension, the others along the one before.
    pub(crate) fn find(op: Reduction, program: &Program, walk: &ReduceWalk) -> Option<Pairs> {
        let (kept, reduced) = walk.sizes.split_at(walk.kept);
        let ([.., rows, columns], &[depth]) = (kept, reduced) else { return None };
        let (rows, columns) = (*rows, *columns);
        let repeats = |load: usize, dim: usize| walk.loads[load].1[kept.len() - dim] == 0;
        let of_rows = |load: usize| match (repeats(load, 1), repeats(load, 2)) {
            (true, _) => Some(true),
            (false, true) => Some(false),
            (false, false) => None,
        };
        let are_rows: SmallVec<[bool; 4]> = (0..program.loads.len()).map(of_rows).collect::<Option<_>>()?;
        let are_both = [true, false].iter().all(|kind| are_rows.contains(kind));
        let are_many = rows >= PAIR_ROWS && columns >= PAIR_COLUMNS && (1..=LEAF_ELEMENTS).contains(&depth);
        (are_both && are_many).then(|| {
            let known = KnownPairs::find(op, program, &are_rows, depth);
            Pairs { are_rows, depth, rows, columns, known }
        })
    }
}

impl KnownPairs {
    fn find(op: Reduction, program: &Program, are_rows: &[bool], depth: usize) -> Option<KnownPairs> {
        if op != Reduction::Sum || !matches!(are_rows, [true, false] | [false, true]) {
            return None;
        }
        let load = |register: usize| match program.instructions[register] {
            Instruction::Load(load) => Some(load),
            _ => None,
        };
        let map = |register: usize| match &program.instructions[register] {
            Instruction::Map { op, operands, .. } => Some((*op, &operands[..])),
            _ => None,
        };
        let are_both = |a: usize, b: usize| load(a).is_some() && load(b).is_some() && load(a) != load(b);
        let is_difference =
            |register: usize| matches!(map(register), Some((Op::Sub, &[a, b])) if are_both(a, b));
        let term = match map(program.result)? {
            (Op::Square, &[a]) if is_difference(a) => Term::SquaredDifference,
            (Op::Mul, &[a, b]) if a == b && is_difference(a) => Term::SquaredDifference,
            (Op::Abs, &[a]) if is_difference(a) => Term::AbsoluteDifference,
            (Op::Mul, &[a, b]) if are_both(a, b) => Term::Product,
            _ => return None,
        };
        let dtype = program.dtypes[0];
        let found = KnownPairs { dtype, term, depth };
        // Converted loads are tiles.
        let is_plain = program.dtypes.iter().all(|&other| other == dtype);
        (is_plain && found.kernel(PAIR_COLUMNS).is_some()).then_some(found)
    }

    /// The kernel for rows of so many results, a multiple of [`PAIR_COLUMNS`].
    pub(crate) fn kernel(&self, width: usize) -> Option<Pairwise> {
        Pairwise::new(self.dtype, self.term, self.depth, width)
    }
}
