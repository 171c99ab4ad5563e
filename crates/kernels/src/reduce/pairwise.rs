//! Owns reductions over pairs: every row of one matrix is paired with every column of another, as in squared
//! distances. A few rows at a time share the loads of a column's elements. It does not know where the
//! matrices come from.
//!
//! The bits are those of the operation's kernel followed by the tree over lanes (`tree.rs`), which for short
//! reductions is a sum in order.

use std::marker::PhantomData;

use bytemuck::{Pod, cast_slice, cast_slice_mut};
use zerostride_ops::{DType, Reduction};

use super::fold::{LEAF_ELEMENTS, lane_rows, lanes};
use crate::isa::{RegisterFloat, RegisterTask};
use crate::lane::{Element, Register};

/// The term that a pair of elements contributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Term {
    /// `(a - b)²`.
    SquaredDifference,
    /// `|a - b|`.
    AbsoluteDifference,
    /// `a · b`.
    Product,
    /// `a + b`.
    Sum,
    /// `row - column`.
    Difference,
    /// `column - row`.
    Reversed,
    /// `(a - b)²` in f64, of a difference in f32: what norms add up.
    WidenedSquaredDifference,
}

impl Term {
    /// The dtype of results, where elements have the dtype `elements`.
    pub fn results(self, elements: DType) -> DType {
        if self == Term::WidenedSquaredDifference { DType::F64 } else { elements }
    }
}

/// A reduction over pairs of rows and columns.
#[derive(Clone, Copy, Debug)]
pub struct Pairwise {
    kernel: Kernel,
    sizes: PairSizes,
}

/// Reduces the pairs of rows and columns into results.
type Kernel = fn(&PairSizes, &[u8], &[u8], &mut [u8]);

/// Reduced elements, and contiguous columns.
#[derive(Clone, Copy, Debug)]
struct PairSizes {
    depth: usize,
    width: usize,
}

/// The number of columns is a multiple of this: the elements of the longest register.
const WIDTH_MULTIPLE: usize = 16;

/// Rows that share the loads of columns, and registers of columns that share those of rows: sixteen
/// accumulators, also where one takes two registers.
const SHARED_ROWS: usize = 4;
const SHARED_REGISTERS: usize = 4;
const SHARED_WIDENED: usize = SHARED_REGISTERS / 2;

/// The most terms: one leaf, whose tree is that of its lanes.
const MOST_TERMS: usize = LEAF_ELEMENTS;

/// The most subtrees that wait at once: one for each height.
const MAX_HEIGHTS: usize = lanes(MOST_TERMS).ilog2() as usize;

/// The accumulators of some rows and the columns of `R` registers.
type PairTile<A, const R: usize> = [[A; R]; SHARED_ROWS];

impl Pairwise {
    /// The reduction `op` over `depth` terms for pairs with `width` columns, if there is one; the width must
    /// be a multiple of 16. Elements have the dtype `dtype`, results that of [`Term::results`].
    pub fn new(op: Reduction, dtype: DType, term: Term, depth: usize, width: usize) -> Option<Pairwise> {
        let kernel = match dtype {
            DType::F32 if (op, term) == (Reduction::Sum, Term::WidenedSquaredDifference) => {
                Some(run::<f32, Sum, WidenedSquaredDifference> as Kernel)
            }
            DType::F32 => kernel::<f32>(op, term),
            DType::F64 => kernel::<f64>(op, term),
            _ => None,
        }?;
        let fits = (1..=MOST_TERMS).contains(&depth) && width.is_multiple_of(WIDTH_MULTIPLE);
        fits.then_some(Pairwise { kernel, sizes: PairSizes { depth, width } })
    }

    /// Reduces all pairs.
    ///
    /// Shapes: `rows` is (rows, depth), `columns` (depth, width), `out` (rows, width).
    ///
    /// # Panics
    /// If the slices have other lengths or are not aligned to their elements.
    pub fn run(&self, rows: &[u8], columns: &[u8], out: &mut [u8]) {
        (self.kernel)(&self.sizes, rows, columns, out);
    }
}

/// A term of elements of `T` as a type.
trait PairTerm<T> {
    /// An element of the results.
    type Sum: Element + Pod;
    /// As many terms as a register holds elements.
    type Terms<L: Register<Elem = T>>: Register<Elem = Self::Sum>;

    fn term<L: Register<Elem = T>>(row: L, column: L) -> Self::Terms<L>;
}

/// How a term is accumulated.
trait Accumulate {
    fn empty<L: Register>() -> L;
    fn step<L: Register>(acc: L, term: L) -> L;
}

macro_rules! pairs {
    ($($name:ident |$row:ident, $column:ident| $term:expr;)*) => {
        $(struct $name;

        impl<T: Element + Pod> PairTerm<T> for $name {
            type Sum = T;
            type Terms<L: Register<Elem = T>> = L;

            #[inline(always)]
            fn term<L: Register<Elem = T>>($row: L, $column: L) -> L { $term }
        })*
    };
}

macro_rules! folds {
    ($($name:ident $empty:expr, |$acc:ident, $term:ident| $step:expr;)*) => {
        $(struct $name;

        impl Accumulate for $name {
            #[inline(always)]
            fn empty<L: Register>() -> L { L::num($empty) }
            #[inline(always)]
            fn step<L: Register>($acc: L, $term: L) -> L { $step }
        })*
    };
}

pairs! {
    SquaredDifference |row, column| (row - column) * (row - column);
    AbsoluteDifference |row, column| (row - column).abs();
    Product |row, column| row * column;
    PairSum |row, column| row + column;
    Difference |row, column| row - column;
    Reversed |row, column| column - row;
}

struct WidenedSquaredDifference;

impl PairTerm<f32> for WidenedSquaredDifference {
    type Sum = f64;
    type Terms<L: Register<Elem = f32>> = L::Wide;

    #[inline(always)]
    fn term<L: Register<Elem = f32>>(row: L, column: L) -> L::Wide {
        let difference = (row - column).widen();
        difference * difference
    }
}

folds! {
    Sum 0.0, |acc, term| acc + term;
    Largest f64::NEG_INFINITY, |acc, term| term.maximum(acc);
    Smallest f64::INFINITY, |acc, term| term.minimum(acc);
}

fn kernel<T: RegisterFloat + Pod>(op: Reduction, term: Term) -> Option<Kernel> {
    Some(match (op, term) {
        (Reduction::Sum, Term::SquaredDifference) => run::<T, Sum, SquaredDifference>,
        (Reduction::Sum, Term::AbsoluteDifference) => run::<T, Sum, AbsoluteDifference>,
        (Reduction::Sum, Term::Product) => run::<T, Sum, Product>,
        (Reduction::Amax, Term::Sum) => run::<T, Largest, PairSum>,
        (Reduction::Amax, Term::Difference) => run::<T, Largest, Difference>,
        (Reduction::Amax, Term::Reversed) => run::<T, Largest, Reversed>,
        (Reduction::Amin, Term::Sum) => run::<T, Smallest, PairSum>,
        (Reduction::Amin, Term::Difference) => run::<T, Smallest, Difference>,
        (Reduction::Amin, Term::Reversed) => run::<T, Smallest, Reversed>,
        _ => return None,
    })
}

fn run<T: RegisterFloat + Pod, F: Accumulate, P: PairTerm<T>>(
    sizes: &PairSizes,
    rows: &[u8],
    columns: &[u8],
    out: &mut [u8],
) {
    let (rows, columns, out) =
        (cast_slice::<u8, T>(rows), cast_slice::<u8, T>(columns), cast_slice_mut::<u8, P::Sum>(out));
    let count = rows.len() / sizes.depth;
    assert!(rows.len() == count * sizes.depth && columns.len() == sizes.depth * sizes.width);
    assert_eq!(out.len(), count * sizes.width);
    T::run_widest(PairBlock::<T, F, P> { sizes: *sizes, rows, columns, out, kind: PhantomData });
}

/// All pairs, compiled for each instruction set.
struct PairBlock<'a, T, F, P: PairTerm<T>> {
    sizes: PairSizes,
    rows: &'a [T],
    columns: &'a [T],
    out: &'a mut [P::Sum],
    kind: PhantomData<(F, P)>,
}

impl<T: RegisterFloat, F: Accumulate, P: PairTerm<T>> RegisterTask<T> for PairBlock<'_, T, F, P> {
    #[inline(always)]
    fn run<L: Register<Elem = T>>(mut self) {
        if const { size_of::<P::Sum>() == size_of::<T>() } {
            self.sides::<L, SHARED_REGISTERS>();
        } else {
            self.sides::<L, SHARED_WIDENED>();
        }
    }
}

impl<T: RegisterFloat, F: Accumulate, P: PairTerm<T>> PairBlock<'_, T, F, P> {
    /// All rows against all columns, by `R` registers of columns.
    #[inline(always)]
    fn sides<L: Register<Elem = T>, const R: usize>(&mut self) {
        let wide = R * L::LEN;
        let even = self.sizes.width / wide * wide;
        for column in (0..even).step_by(wide) {
            self.side::<L, R>(column);
        }
        if const { !WIDTH_MULTIPLE.is_multiple_of(R * L::LEN) } {
            for column in (even..self.sizes.width).step_by(L::LEN) {
                self.side::<L, 1>(column);
            }
        }
    }

    /// All rows against the columns of `R` registers.
    #[inline(always)]
    fn side<L: Register<Elem = T>, const R: usize>(&mut self, column: usize) {
        let PairSizes { depth, width } = self.sizes;
        let lanes = lanes(depth);
        let heights = if lanes > 1 { MAX_HEIGHTS } else { 0 };
        let mut subtrees: Vec<PairTile<P::Terms<L>, R>> = vec![[[F::empty(); R]; SHARED_ROWS]; heights];
        for (rows, out) in self.rows.chunks(SHARED_ROWS * depth).zip(self.out.chunks_mut(SHARED_ROWS * width))
        {
            let last = rows.len() / depth - 1;
            // Rows beyond the last repeat it; only its first result is kept.
            let row: [&[T]; SHARED_ROWS] = std::array::from_fn(|row| &rows[row.min(last) * depth..][..depth]);
            for (turn, (first, _)) in lane_rows(depth, 0..depth).enumerate() {
                let mut acc = [[F::empty::<P::Terms<L>>(); R]; SHARED_ROWS];
                for (step, columns) in self.columns[first * width..].chunks(lanes * width).enumerate() {
                    let at = first + step * lanes;
                    let columns = &columns[column..column + R * L::LEN];
                    let elements: [L; R] =
                        std::array::from_fn(|register| L::load(&columns[register * L::LEN..]));
                    for (acc, row) in acc.iter_mut().zip(&row) {
                        let element = L::splat(row[at]);
                        for (acc, &column) in acc.iter_mut().zip(&elements) {
                            *acc = F::step(*acc, P::term(element, column));
                        }
                    }
                }
                // Subtrees of one height are combined.
                let heights = turn.trailing_ones() as usize;
                for subtree in &subtrees[..heights] {
                    acc = meet::<F, _, R>(subtree, &acc);
                }
                if turn + 1 < lanes {
                    subtrees[heights] = acc;
                    continue;
                }
                for (acc, out) in acc.iter().zip(out.chunks_exact_mut(width)) {
                    for (register, acc) in acc.iter().enumerate() {
                        acc.store(&mut out[column + register * L::LEN..]);
                    }
                }
            }
        }
    }
}

/// Two neighbouring subtrees combined.
#[inline(always)]
fn meet<F: Accumulate, A: Register, const R: usize>(
    left: &PairTile<A, R>,
    right: &PairTile<A, R>,
) -> PairTile<A, R> {
    let mut both = *right;
    for (both, left) in both.iter_mut().flatten().zip(left.iter().flatten()) {
        *both = F::step(*left, *both);
    }
    both
}
