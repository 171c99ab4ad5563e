//! Owns reductions over pairs: every row of one matrix meets every column of another, as in squared distances. A few rows
//! at a time share the loads of a column's elements. It does not know where the matrices come from.
//!
//! The bits are those of the operation's kernel followed by the reduction in order, which short reductions have.

use std::marker::PhantomData;

use bytemuck::{Pod, cast_slice, cast_slice_mut};
use zerostride_ops::{DType, Op};

use super::lanes;
use super::monoid::{Largest, Monoid, Number, Smallest, Sum};
use crate::isa;

/// What a pair of elements contributes.
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
}

/// A reduction over pairs of rows and columns.
#[derive(Clone, Copy, Debug)]
pub struct Pairwise {
    kernel: fn(&Sizes, &[u8], &[u8], &mut [u8]),
    sizes: Sizes,
}

/// Reduced elements, and columns side by side.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    depth: usize,
    width: usize,
}

/// Columns in registers.
const SIDE: usize = 16;

/// Rows that share the loads of columns.
const ROWS: usize = 4;

impl Pairwise {
    /// The reduction `op` over `depth` terms for pairs with `width` columns, if there is one; the width must be a multiple
    /// of 16.
    pub fn new(op: Op, dtype: DType, term: Term, depth: usize, width: usize) -> Option<Pairwise> {
        let kernel = match dtype {
            DType::F32 => kernel::<f32>(op, term),
            DType::F64 => kernel::<f64>(op, term),
            _ => None,
        }?;
        let in_order = lanes(depth) == 1 && depth > 0 && width % SIDE == 0;
        in_order.then_some(Pairwise { kernel, sizes: Sizes { depth, width } })
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

/// A dtype that pairs are reduced in.
trait Real: Number + Pod {
    fn minus(self, other: Self) -> Self;
    fn magnitude(self) -> Self;
}

impl Real for f32 {
    #[inline(always)]
    fn minus(self, other: f32) -> f32 {
        self - other
    }
    #[inline(always)]
    fn magnitude(self) -> f32 {
        self.abs()
    }
}

impl Real for f64 {
    #[inline(always)]
    fn minus(self, other: f64) -> f64 {
        self - other
    }
    #[inline(always)]
    fn magnitude(self) -> f64 {
        self.abs()
    }
}

/// A term as a type.
trait Pair<T> {
    fn term(row: T, column: T) -> T;
}

macro_rules! pairs {
    ($($name:ident |$row:ident, $column:ident| $term:expr;)*) => {
        $(struct $name;

        impl<T: Real> Pair<T> for $name {
            #[inline(always)]
            fn term($row: T, $column: T) -> T { $term }
        })*
    };
}

pairs! {
    SquaredDifference |row, column| row.minus(column).times(row.minus(column));
    AbsoluteDifference |row, column| row.minus(column).magnitude();
    Product |row, column| row.times(column);
    Total |row, column| row.plus(column);
    Difference |row, column| row.minus(column);
    Reversed |row, column| column.minus(row);
}

fn kernel<T: Real>(op: Op, term: Term) -> Option<fn(&Sizes, &[u8], &[u8], &mut [u8])> {
    Some(match (op, term) {
        (Op::Sum, Term::SquaredDifference) => run::<T, Sum<T>, SquaredDifference>,
        (Op::Sum, Term::AbsoluteDifference) => run::<T, Sum<T>, AbsoluteDifference>,
        (Op::Sum, Term::Product) => run::<T, Sum<T>, Product>,
        (Op::Amax, Term::Sum) => run::<T, Largest<T>, Total>,
        (Op::Amax, Term::Difference) => run::<T, Largest<T>, Difference>,
        (Op::Amax, Term::Reversed) => run::<T, Largest<T>, Reversed>,
        (Op::Amin, Term::Sum) => run::<T, Smallest<T>, Total>,
        (Op::Amin, Term::Difference) => run::<T, Smallest<T>, Difference>,
        (Op::Amin, Term::Reversed) => run::<T, Smallest<T>, Reversed>,
        _ => return None,
    })
}

fn run<T: Real, M: Monoid<In = T, Acc = T>, P: Pair<T>>(
    sizes: &Sizes,
    rows: &[u8],
    columns: &[u8],
    out: &mut [u8],
) {
    let (rows, columns, out) =
        (cast_slice::<u8, T>(rows), cast_slice::<u8, T>(columns), cast_slice_mut::<u8, T>(out));
    let count = rows.len() / sizes.depth;
    assert!(rows.len() == count * sizes.depth && columns.len() == sizes.depth * sizes.width);
    assert_eq!(out.len(), count * sizes.width);
    isa::run_widest(Block::<T, M, P> { sizes: *sizes, rows, columns, out, kind: PhantomData });
}

/// All pairs, to be compiled for each instruction set.
struct Block<'a, T, M, P> {
    sizes: Sizes,
    rows: &'a [T],
    columns: &'a [T],
    out: &'a mut [T],
    kind: PhantomData<(M, P)>,
}

impl<T: Real, M: Monoid<In = T, Acc = T>, P: Pair<T>> isa::Task for Block<'_, T, M, P> {
    #[inline(always)]
    fn run(self) {
        let Sizes { depth, width } = self.sizes;
        let rows = self.rows.chunks(ROWS * depth);
        for (rows, out) in rows.zip(self.out.chunks_mut(ROWS * width)) {
            let count = rows.len() / depth;
            for column in (0..width).step_by(SIDE) {
                // Rows that are missing are the last one again; only its first result is kept.
                let row: [&[T]; ROWS] =
                    std::array::from_fn(|row| &rows[row.min(count - 1) * depth..][..depth]);
                let mut acc = [[M::EMPTY; SIDE]; ROWS];
                for (at, columns) in self.columns.chunks_exact(width).enumerate() {
                    let elements: &[T; SIDE] =
                        columns[column..].first_chunk().expect("a width of whole sides");
                    for (acc, row) in acc.iter_mut().zip(row) {
                        let element = row[at];
                        for (acc, &column) in acc.iter_mut().zip(elements) {
                            *acc = M::step(*acc, P::term(element, column));
                        }
                    }
                }
                for (acc, out) in acc.iter().zip(out.chunks_exact_mut(width)) {
                    out[column..column + SIDE].copy_from_slice(acc);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_reduced_in_order() {
        let (depth, width) = (5, 32);
        for count in 1..10 {
            let rows: Vec<f32> = (0..count * depth).map(|i| (i * 37 % 11) as f32 * 0.3 - 1.0).collect();
            let columns: Vec<f32> = (0..depth * width).map(|i| (i * 53 % 17) as f32 * 0.7 - 5.0).collect();
            let mut out = vec![0.0f32; count * width];
            let pairwise = Pairwise::new(Op::Sum, DType::F32, Term::SquaredDifference, depth, width).unwrap();
            pairwise.run(cast_slice(&rows), cast_slice(&columns), cast_slice_mut(&mut out));
            for (at, &found) in out.iter().enumerate() {
                let terms =
                    (0..depth).map(|k| rows[at / width * depth + k] - columns[k * width + at % width]);
                assert_eq!(found, terms.fold(0.0, |sum, d| sum + d * d), "{count} rows, pair {at}");
            }
        }
    }
}
