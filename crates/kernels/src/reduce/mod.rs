//! Owns reductions: which rule each operation and dtype accumulates by (`monoid.rs`, `search.rs`, `variance.rs`), and the
//! tree in which partial results meet (`tree.rs`).
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
mod rule;
mod search;
mod tree;
mod variance;

use std::any::Any;
use std::marker::PhantomData;

use num_complex::{Complex32, Complex64};
use zerostride_ops::{DType, Element, Op, bf16, f16};

use crate::bodies::complex::Complex;
use monoid::{
    Accumulated, ComplexProd, ComplexSum, Largest, Monoid, NONZERO, Number, Prod, Smallest, Sum, Truthful,
    Truths, ZERO,
};
use rule::Rule;
use search::{Counted, Search};
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
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
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
    /// The reduction `op` of `reduced` elements that are of dtype `compute`; `correction` is that of `var`.
    ///
    /// # Panics
    /// If `op` is no reduction of the op table, or `compute` is outside its domain.
    pub fn new(op: Op, compute: DType, reduced: usize, correction: f64) -> Self {
        let reducer = Reducer { op, compute, reduced, correction };
        assert!(reducer.fold(1).is_some(), "{op:?} has no reduction for {compute}");
        reducer
    }

    /// Starts the reduction of a block of neighbouring results.
    ///
    /// # Panics
    /// Never: `new` has seen that there is a body.
    pub fn start(&self, columns: usize) -> Box<dyn Fold> {
        self.fold(columns).expect("`new` has seen that there is a body")
    }

    fn fold(&self, columns: usize) -> Option<Box<dyn Fold>> {
        match self.compute {
            DType::Bool => self.truth::<bool, bool>(columns).or_else(|| self.ordered::<bool>(columns)),
            DType::U8 => self.truth::<u8, u8>(columns).or_else(|| self.ordered::<u8>(columns)),
            DType::U16 => self.integer::<u16>(columns),
            DType::U32 => self.integer::<u32>(columns),
            DType::U64 => self.integer::<u64>(columns),
            DType::I8 => self.integer::<i8>(columns),
            DType::I16 => self.integer::<i16>(columns),
            DType::I32 => self.integer::<i32>(columns),
            DType::I64 => self.sums::<i64>(columns).or_else(|| self.integer::<i64>(columns)),
            DType::F16 => self.float::<f16>(columns),
            DType::BF16 => self.float::<bf16>(columns),
            DType::F32 => self.float::<f32>(columns),
            DType::F64 => self.float::<f64>(columns),
            DType::C64 => self.complex::<Complex32>(columns),
            DType::C128 => self.complex::<Complex64>(columns),
        }
    }

    fn tree<R: Rule>(&self, rule: R, columns: usize) -> Option<Box<dyn Fold>> {
        Some(Box::new(Tree::new(rule, columns, lanes(self.reduced))))
    }

    fn accumulated<M: Monoid, O: Element>(
        &self,
        columns: usize,
        result: fn(M::Acc) -> O,
    ) -> Option<Box<dyn Fold>> {
        self.tree(Accumulated::<M, O> { result }, columns)
    }

    /// Sums and products; integers are given as i64.
    fn sums<T: Number>(&self, columns: usize) -> Option<Box<dyn Fold>> {
        match self.op {
            Op::Sum => self.accumulated::<Sum<T>, T>(columns, T::round),
            Op::Prod => self.accumulated::<Prod<T>, T>(columns, T::round),
            _ => None,
        }
    }

    fn ordered<T: Number<Work: Counted>>(&self, columns: usize) -> Option<Box<dyn Fold>> {
        match self.op {
            Op::Amax => self.accumulated::<Largest<T>, T>(columns, T::round),
            Op::Amin => self.accumulated::<Smallest<T>, T>(columns, T::round),
            Op::Argmax => self.tree(Search::<T, true>(PhantomData), columns),
            Op::Argmin => self.tree(Search::<T, false>(PhantomData), columns),
            _ => None,
        }
    }

    fn truth<T: Truthful, O: Element + From<bool>>(&self, columns: usize) -> Option<Box<dyn Fold>> {
        match self.op {
            Op::All => self.accumulated::<Truths<T>, O>(columns, |seen| (seen & ZERO == 0).into()),
            Op::Any => self.accumulated::<Truths<T>, O>(columns, |seen| (seen & NONZERO != 0).into()),
            _ => None,
        }
    }

    fn integer<T: Number<Work: Counted> + Truthful>(&self, columns: usize) -> Option<Box<dyn Fold>> {
        self.ordered::<T>(columns).or_else(|| self.truth::<T, bool>(columns))
    }

    fn float<T: Number<Work: Counted> + Truthful + Sample>(&self, columns: usize) -> Option<Box<dyn Fold>> {
        self.sums::<T>(columns)
            .or_else(|| self.ordered::<T>(columns))
            .or_else(|| self.truth::<T, bool>(columns))
            .or_else(|| self.variance::<T>(columns))
    }

    fn complex<T: Complex + Truthful + Sample>(&self, columns: usize) -> Option<Box<dyn Fold>> {
        match self.op {
            Op::Sum => self.accumulated::<ComplexSum<T>, T>(columns, |sum| sum),
            Op::Prod => self.accumulated::<ComplexProd<T>, T>(columns, |product| product),
            _ => self.truth::<T, bool>(columns).or_else(|| self.variance::<T>(columns)),
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
