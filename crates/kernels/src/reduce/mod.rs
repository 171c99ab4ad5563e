//! Owns reductions: which rule each operation and dtype accumulates by (`monoid.rs`, `search.rs`, `variance.rs`), and the
//! tree in which partial results meet (`tree.rs`); `pairwise.rs` reduces over pairs without one.
//!
//! The tree depends on the number of reduced elements alone, never on threads, tiles or memory layout, so the bits of
//! a result do not either: elements are numbered in row-major order of the reduced dimensions; each leaf of
//! [`LEAF`] elements is spread over [`lanes`] accumulators, element `i` into accumulator `i % lanes`; the accumulators
//! of a leaf are halved pairwise into one; leaves meet pairwise, neighbours first. Rounding errors grow with the
//! logarithm of the length.
//!
//! Whichever way elements lie in memory, a vector takes neighbours: along the reduced elements those are the lanes of one
//! result, across them one lane of many results, lane after lane. Shapes are not known here: a caller hands in panels.

mod monoid;
mod pairwise;
mod rule;
mod search;
mod tree;
mod variance;

use std::any;
use std::marker::PhantomData;

use num_complex::{Complex32, Complex64};
use zerostride_ops::{Category, DType, Op};

pub use pairwise::{Pairwise, Term};

use crate::bodies::complex::Complex;
use crate::cast_kernel;
use monoid::{Accumulated, Any, ComplexProd, ComplexSum, Largest, Number, Prod, Smallest, Sum};
use rule::Rule;
use search::Search;
use tree::Tree;
use variance::{Sample, Variance};

/// Reduced elements that one leaf of the tree holds.
pub const LEAF: usize = 1024;

/// Accumulators side by side in a leaf, by the number of reduced elements: short reductions run in order, so that
/// many of them can run side by side; long ones fill the registers.
pub const fn lanes(reduced: usize) -> usize {
    match reduced {
        0..128 => 1,
        128..1024 => 16,
        _ => 64,
    }
}

/// Reduced elements by results in memory: where each lies, in elements from the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Panel {
    /// Reduced elements of each result.
    pub rows: usize,
    /// From one reduced element to the next.
    pub row_step: usize,
    /// Results.
    pub columns: usize,
    /// From one result's elements to the next one's.
    pub column_step: usize,
}

/// One reduction under way, over a block of neighbouring results.
pub trait Fold: Send {
    /// Takes elements of all results, the first row being reduced element `first`. Panels come in order, and each
    /// holds whole leaves unless it is the last.
    ///
    /// # Panics
    /// If the panel reaches outside `elements`, they are not aligned, the panel has not as many columns as the fold, or
    /// neither of its steps is 1.
    fn take(&mut self, elements: &[u8], panel: &Panel, first: usize);
    /// Appends the leaves that another fold has taken, which must be a power of two unless they are the last.
    fn append(&mut self, other: Box<dyn Fold>);
    /// Writes the results of the block's columns and starts anew.
    fn finish(&mut self, out: &mut [u8]);
    /// For [`Fold::append`].
    fn into_any(self: Box<Self>) -> Box<dyn any::Any>;
}

/// A reduction of one operation, dtype and length, ready to be started any number of times.
#[derive(Clone, Copy, Debug)]
pub struct Reducer {
    op: Op,
    compute: DType,
    reduced: usize,
    correction: f64,
}

impl Reducer {
    /// The reduction `op` of `reduced` elements, given that the operation computes in `compute`; `correction` is that of
    /// `var`.
    ///
    /// # Panics
    /// If `op` is no reduction of the op table, or `compute` is outside its domain.
    pub fn new(op: Op, compute: DType, reduced: usize, correction: f64) -> Self {
        let reducer = Reducer { op, compute, reduced, correction };
        assert!(reducer.fold(1).is_some(), "{op:?} has no reduction for {compute}");
        reducer
    }

    /// The dtype of the elements that [`Fold::take`] is given: one that holds every value of the dtype that the
    /// operation computes in. There are fewer of these, so that each can be fast.
    pub fn takes(op: Op, compute: DType) -> DType {
        match (op, compute) {
            (Op::All | Op::Any, _) => DType::Bool,
            (_, DType::F16 | DType::BF16) => DType::F32,
            (Op::Sum | Op::Prod, dtype) if dtype.category() <= Category::Int => DType::I64,
            (_, DType::Bool | DType::U8 | DType::I8 | DType::U16 | DType::I16) => DType::I32,
            (_, DType::U32) => DType::I64,
            (_, dtype) => dtype,
        }
    }

    /// The operation.
    pub fn op(&self) -> Op {
        self.op
    }

    /// Starts the reduction of a block of neighbouring results.
    ///
    /// # Panics
    /// Never: `new` has seen that there is a body.
    pub fn start(&self, columns: usize) -> Box<dyn Fold> {
        self.fold(columns).expect("`new` has seen that there is a body")
    }

    fn fold(&self, columns: usize) -> Option<Box<dyn Fold>> {
        match (self.op, Self::takes(self.op, self.compute)) {
            (Op::All, _) => self.tree(Accumulated::<Any<false>>::new(), columns),
            (Op::Any, _) => self.tree(Accumulated::<Any<true>>::new(), columns),
            (_, DType::F32) => self
                .sums::<f32>(columns)
                .or_else(|| self.extremes::<f32>(columns))
                .or_else(|| self.variance::<f32>(columns)),
            (_, DType::F64) => self
                .sums::<f64>(columns)
                .or_else(|| self.extremes::<f64>(columns))
                .or_else(|| self.variance::<f64>(columns)),
            (_, DType::I32) => self.extremes::<i32>(columns),
            (_, DType::I64) => self.sums::<i64>(columns).or_else(|| self.extremes::<i64>(columns)),
            (_, DType::U64) => self.extremes::<u64>(columns),
            (_, DType::C64) => self.complex::<Complex32>(columns),
            (_, DType::C128) => self.complex::<Complex64>(columns),
            _ => None,
        }
    }

    /// The dtype of the results.
    fn result(&self) -> DType {
        match self.op {
            Op::All | Op::Any if self.compute != DType::U8 => DType::Bool,
            Op::Argmax | Op::Argmin => DType::I64,
            Op::Var => self.compute.to_real(),
            _ => self.compute,
        }
    }

    fn tree<R: Rule>(&self, rule: R, columns: usize) -> Option<Box<dyn Fold>> {
        let (found, wanted) = (R::RESULT, self.result());
        let cast = (found != wanted).then(|| cast_kernel(found, wanted));
        Some(Box::new(Tree::new(rule, columns, lanes(self.reduced), cast)))
    }

    fn sums<T: Number>(&self, columns: usize) -> Option<Box<dyn Fold>> {
        match self.op {
            Op::Sum => self.tree(Accumulated::<Sum<T>>::new(), columns),
            Op::Prod => self.tree(Accumulated::<Prod<T>>::new(), columns),
            _ => None,
        }
    }

    fn extremes<T: Number>(&self, columns: usize) -> Option<Box<dyn Fold>> {
        match self.op {
            Op::Amax => self.tree(Accumulated::<Largest<T>>::new(), columns),
            Op::Amin => self.tree(Accumulated::<Smallest<T>>::new(), columns),
            Op::Argmax => self.tree(Search::<T, true>(PhantomData), columns),
            Op::Argmin => self.tree(Search::<T, false>(PhantomData), columns),
            _ => None,
        }
    }

    fn complex<T: Complex + Sample>(&self, columns: usize) -> Option<Box<dyn Fold>> {
        match self.op {
            Op::Sum => self.tree(Accumulated::<ComplexSum<T>>::new(), columns),
            Op::Prod => self.tree(Accumulated::<ComplexProd<T>>::new(), columns),
            _ => self.variance::<T>(columns),
        }
    }

    fn variance<T: Sample>(&self, columns: usize) -> Option<Box<dyn Fold>> {
        let rule = Variance::<T> { correction: self.correction, kind: PhantomData };
        (self.op == Op::Var).then(|| self.tree(rule, columns)).flatten()
    }
}

#[cfg(test)]
mod tests {
    use bytemuck::{cast_slice, cast_slice_mut};

    use super::*;

    fn column(rows: usize) -> Panel {
        Panel { rows, row_step: 1, columns: 1, column_step: 0 }
    }

    /// Feeds `values` as one column, in folds of `leaves` leaves each.
    fn sum(values: &[f32], leaves: usize) -> f32 {
        let reducer = Reducer::new(Op::Sum, DType::F32, values.len(), 0.0);
        let mut whole = reducer.start(1);
        for (chunk, values) in values.chunks(LEAF * leaves).enumerate() {
            let mut part = reducer.start(1);
            for (leaf, values) in values.chunks(LEAF).enumerate() {
                part.take(cast_slice(values), &column(values.len()), (chunk * leaves + leaf) * LEAF);
            }
            whole.append(part);
        }
        let mut out = [0.0f32];
        whole.finish(cast_slice_mut(&mut out));
        out[0]
    }

    #[test]
    fn the_bits_do_not_depend_on_how_leaves_are_grouped() {
        let values: Vec<f32> =
            (0..77_777).map(|i| ((i * 2_654_435_761_u64) % 1_000) as f32 * 0.37 - 150.0).collect();
        let bits: Vec<u32> = [1, 2, 4, 8, 64, 128].map(|leaves| sum(&values, leaves).to_bits()).to_vec();
        assert!(bits.iter().all(|&other| other == bits[0]), "{bits:?}");
    }

    #[test]
    fn a_search_finds_the_first_extreme_across_lanes() {
        let mut values = vec![0.0f32; 3000];
        (values[700], values[701], values[2500]) = (5.0, 5.0, 5.0);
        for (op, expected) in [(Op::Argmax, 700), (Op::Argmin, 0)] {
            let mut fold = Reducer::new(op, DType::F32, values.len(), 0.0).start(1);
            for (leaf, values) in values.chunks(LEAF).enumerate() {
                fold.take(cast_slice(values), &column(values.len()), leaf * LEAF);
            }
            let mut out = [0i64];
            fold.finish(cast_slice_mut(&mut out));
            assert_eq!(out[0], expected, "{op:?}");
        }
    }

    #[test]
    fn a_long_sum_of_equal_numbers_does_not_drift() {
        // One accumulator would be off by a percent; here only the sixteen steps of a lane and the tree's height round.
        let exact = 0.1 * (1 << 22) as f32;
        let found = sum(&vec![0.1; 1 << 22], 1);
        assert!((found - exact).abs() <= 4.0 * f32::EPSILON * exact, "{found} for {exact}");
    }
}
