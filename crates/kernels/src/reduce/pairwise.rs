//! Owns sums over pairs: every row of one matrix is paired with every column of another, as in squared
//! distances. A few rows at a time share the loads of a column's elements. It does not know where the
//! matrices come from.
//!
//! The bits are those of the operation's kernel followed by the tree over lanes (`tree.rs`), which for short
//! reductions is a sum in order.

use std::marker::PhantomData;

use bytemuck::{Pod, cast_slice, cast_slice_mut};
use zerostride_ops::DType;

use super::fold::{LEAF_ELEMENTS, lane_rows, lanes};
use crate::isa::{RegisterFloat, RegisterTask};
use crate::lane::Register;

/// The term that a pair of elements contributes to a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Term {
    /// `(a - b)²`.
    SquaredDifference,
    /// `|a - b|`.
    AbsoluteDifference,
    /// `a · b`.
    Product,
}

/// A sum over pairs of rows and columns.
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
/// accumulators.
const SHARED_ROWS: usize = 4;
const SHARED_REGISTERS: usize = 4;

/// The most terms: one leaf, whose tree is that of its lanes.
const MOST_TERMS: usize = LEAF_ELEMENTS;

/// The most subtrees that wait at once: one for each height.
const MAX_HEIGHTS: usize = lanes(MOST_TERMS).ilog2() as usize;

/// The accumulators of some rows and the columns of `R` registers.
type PairTile<A, const R: usize> = [[A; R]; SHARED_ROWS];

impl Pairwise {
    /// The sum over `depth` terms for pairs with `width` columns, of elements and results of a dtype, if
    /// there is a kernel; the width must be a multiple of 16.
    pub fn new(dtype: DType, term: Term, depth: usize, width: usize) -> Option<Pairwise> {
        let kernel = match dtype {
            DType::F32 => kernel::<f32>(term),
            DType::F64 => kernel::<f64>(term),
            _ => return None,
        };
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

/// A term as a type.
trait PairTerm {
    fn term<L: Register>(row: L, column: L) -> L;
}

macro_rules! pairs {
    ($($name:ident |$row:ident, $column:ident| $term:expr;)*) => {
        $(struct $name;

        impl PairTerm for $name {
            #[inline(always)]
            fn term<L: Register>($row: L, $column: L) -> L { $term }
        })*
    };
}

pairs! {
    SquaredDifference |row, column| (row - column) * (row - column);
    AbsoluteDifference |row, column| (row - column).abs();
    Product |row, column| row * column;
}

fn kernel<T: RegisterFloat + Pod>(term: Term) -> Kernel {
    match term {
        Term::SquaredDifference => run::<T, SquaredDifference>,
        Term::AbsoluteDifference => run::<T, AbsoluteDifference>,
        Term::Product => run::<T, Product>,
    }
}

fn run<T: RegisterFloat + Pod, P: PairTerm>(sizes: &PairSizes, rows: &[u8], columns: &[u8], out: &mut [u8]) {
    let (rows, columns, out) =
        (cast_slice::<u8, T>(rows), cast_slice::<u8, T>(columns), cast_slice_mut::<u8, T>(out));
    let count = rows.len() / sizes.depth;
    assert!(rows.len() == count * sizes.depth && columns.len() == sizes.depth * sizes.width);
    assert_eq!(out.len(), count * sizes.width);
    T::run_widest(PairBlock::<T, P> { sizes: *sizes, rows, columns, out, kind: PhantomData });
}

/// All pairs, compiled for each instruction set.
struct PairBlock<'a, T, P> {
    sizes: PairSizes,
    rows: &'a [T],
    columns: &'a [T],
    out: &'a mut [T],
    kind: PhantomData<P>,
}

impl<T: RegisterFloat, P: PairTerm> RegisterTask<T> for PairBlock<'_, T, P> {
    #[inline(always)]
    fn run<L: Register<Elem = T>>(mut self) {
        let wide = SHARED_REGISTERS * L::LEN;
        let even = self.sizes.width / wide * wide;
        for column in (0..even).step_by(wide) {
            self.side::<L, SHARED_REGISTERS>(column);
        }
        if const { !WIDTH_MULTIPLE.is_multiple_of(SHARED_REGISTERS * L::LEN) } {
            for column in (even..self.sizes.width).step_by(L::LEN) {
                self.side::<L, 1>(column);
            }
        }
    }
}

impl<T: RegisterFloat, P: PairTerm> PairBlock<'_, T, P> {
    /// All rows against the columns of `R` registers.
    #[inline(always)]
    fn side<L: Register<Elem = T>, const R: usize>(&mut self, column: usize) {
        let PairSizes { depth, width } = self.sizes;
        let lanes = lanes(depth);
        let heights = if lanes > 1 { MAX_HEIGHTS } else { 0 };
        let mut subtrees: Vec<PairTile<L, R>> = vec![[[L::num(0.0); R]; SHARED_ROWS]; heights];
        for (rows, out) in self.rows.chunks(SHARED_ROWS * depth).zip(self.out.chunks_mut(SHARED_ROWS * width))
        {
            let last = rows.len() / depth - 1;
            // Rows beyond the last repeat it; only its first result is kept.
            let row: [&[T]; SHARED_ROWS] = std::array::from_fn(|row| &rows[row.min(last) * depth..][..depth]);
            for (turn, (first, _)) in lane_rows(depth, 0..depth).enumerate() {
                let mut acc = [[L::num(0.0); R]; SHARED_ROWS];
                for (step, columns) in self.columns[first * width..].chunks(lanes * width).enumerate() {
                    let at = first + step * lanes;
                    let columns = &columns[column..column + R * L::LEN];
                    let elements: [L; R] =
                        std::array::from_fn(|register| L::load(&columns[register * L::LEN..]));
                    for (acc, row) in acc.iter_mut().zip(&row) {
                        let element = L::splat(row[at]);
                        for (acc, &column) in acc.iter_mut().zip(&elements) {
                            *acc = *acc + P::term(element, column);
                        }
                    }
                }
                // Subtrees of one height are combined.
                let heights = turn.trailing_ones() as usize;
                for subtree in &subtrees[..heights] {
                    acc = meet(subtree, &acc);
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
fn meet<L: Register, const R: usize>(left: &PairTile<L, R>, right: &PairTile<L, R>) -> PairTile<L, R> {
    let mut both = *right;
    for (both, left) in both.iter_mut().flatten().zip(left.iter().flatten()) {
        *both = *left + *both;
    }
    both
}
