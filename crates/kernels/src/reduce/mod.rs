//! Owns reductions: which rule each operation and dtype accumulates by (`monoid.rs`, `search.rs`, `variance.rs`), and the
//! tree in which partial results meet (`tree.rs`). `exact.rs` has what needs none, because order makes no difference;
//! `pairwise.rs` reduces over pairs without one, `lines.rs` a few dozen neighbours each.
//!
//! The tree depends on the number of reduced elements alone, never on threads, tiles or memory layout, so the bits of
//! a result do not either: elements are numbered in row-major order of the reduced dimensions; each leaf of
//! [`LEAF`] elements is spread over [`lanes`] accumulators, element `i` into accumulator `i % lanes`; the accumulators
//! of a leaf are halved pairwise into one; leaves meet pairwise, neighbours first. Rounding errors grow with the
//! logarithm of the length.
//!
//! Lanes are subtrees too: the rows of a lane enter one accumulator in order, and lanes follow each other by the reversed
//! binary digits of their numbers ([`lane_rows`]), so that those that meet first are neighbours.
//!
//! Whichever way elements lie in memory, a vector takes neighbours: along the reduced elements those are the lanes of one
//! result, across them one lane of many results. Shapes are not known here: a caller hands in rows or panels.

mod exact;
mod lines;
mod monoid;
mod pairwise;
mod rule;
mod search;
mod tree;
mod variance;
mod vector;

use std::any;
use std::marker::PhantomData;
use std::ops::Range;

use num_complex::{Complex32, Complex64};
use zerostride_ops::{Category, DType, Element, Op, bf16, f16};

pub use pairwise::{Pairwise, Term};

use crate::lane::{self, Lane};
use crate::{CastKernel, Isa, cast_kernel};
use exact::{Exact, Integer, Truth, Unordered};
use monoid::{Accumulated, Extreme, Monoid, Prod, Sum};
use rule::Rule;
use search::{Floats, Integers, Search};
use tree::tree;
use variance::Variance;
use vector::{Array, Halves, LONGEST, Limits, Ordered, Source, Vector};

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

/// The lanes of some leaves of a reduction of `reduced` elements, in the order in which [`Fold::rows`] takes them: for
/// each the index of its first row and how many rows it has, [`lanes`] apart. A lane of the last leaf may have none.
///
/// ```
/// use zerostride_kernels::lane_rows;
/// assert_eq!(lane_rows(100, 0..100).collect::<Vec<_>>(), [(0, 100)]);
/// assert_eq!(lane_rows(200, 0..200).take(3).collect::<Vec<_>>(), [(0, 13), (8, 12), (4, 13)]);
/// ```
pub fn lane_rows(reduced: usize, rows: Range<usize>) -> impl Iterator<Item = (usize, usize)> {
    let lanes = lanes(reduced);
    let leaves = rows.clone().step_by(LEAF).map(move |start| (start, LEAF.min(rows.end - start)));
    leaves.flat_map(move |(start, count)| {
        (0..lanes).map(move |turn| {
            let lane = turn.reverse_bits() >> 1 >> (usize::BITS - 1 - lanes.ilog2());
            (start + lane, count.saturating_sub(lane).div_ceil(lanes))
        })
    })
}

/// Reduced elements by results in memory: where each lies, in elements from the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Panel {
    /// Reduced elements of each result.
    pub rows: usize,
    /// Results whose elements lie side by side, row after row.
    pub width: usize,
    /// How often there are that many results.
    pub columns: usize,
    /// From the first element of some to that of the next.
    pub column_step: usize,
    /// From one reduced element of a result to the next: more than `width` only if that is 1.
    pub row_step: usize,
}

/// A reduction under way, over a block of neighbouring results.
pub trait Fold: Send {
    /// Begins anew with a block of that many results.
    ///
    /// # Panics
    /// If the fold was not made for as many.
    fn start(&mut self, columns: usize);
    /// Takes rows of the lane under way, the first being reduced element `first`: each has an element of every result,
    /// next to each other from an index of `elements` on. Lanes come in the order of [`lane_rows`], and all calls for a
    /// lane but the last, which says that it `ends`, bring a multiple of 16 rows. Integers and truths come in any order,
    /// but for the places of the largest and the smallest.
    ///
    /// # Panics
    /// If a row reaches outside `elements`, or they are not aligned.
    fn rows(&mut self, elements: &[u8], rows: &[usize], first: usize, ends: bool);
    /// Takes elements of all results, the first row being reduced element `first`. Panels come in order, and each
    /// holds whole leaves unless it is the last.
    ///
    /// # Panics
    /// If the panel reaches outside `elements`, they are not aligned, or the panel has other results than the block.
    fn leaves(&mut self, elements: &[u8], panel: &Panel, first: usize);
    /// Appends the leaves that another fold of as many results has taken, which must be a power of two unless they are
    /// the last.
    fn append(&mut self, other: Box<dyn Fold>);
    /// Writes the results of the block.
    fn finish(&mut self, out: &mut [u8]);
    /// For [`Fold::append`].
    fn into_any(self: Box<Self>) -> Box<dyn any::Any>;
}

/// A reduction of one operation, dtype and length, ready to be started any number of times.
#[derive(Clone, Copy, Debug)]
pub struct Reducer {
    op: Op,
    compute: DType,
    takes: DType,
    reduced: usize,
    correction: f64,
}

impl Reducer {
    /// The reduction `op` of `reduced` elements of a dtype, given that the operation computes in `compute`; `correction` is
    /// that of `var`. Folds [take](Reducer::takes) elements of the same dtype or another one.
    pub fn new(op: Op, compute: DType, elements: DType, reduced: usize, correction: f64) -> Self {
        Reducer { op, compute, takes: Self::takes(op, compute, elements, reduced), reduced, correction }
    }

    /// The dtype of what folds are given for elements of a dtype. Where the order of elements makes no difference they are
    /// taken as they are: sums and products of integers are the same modulo any smaller power of two. So are halves that are
    /// added, which become `f32` in registers. Else it is a dtype that holds every value of the one that the operation
    /// computes in: there are fewer of these, so that each can be fast. Indices are as wide as the elements that are searched.
    pub fn takes(op: Op, compute: DType, elements: DType, reduced: usize) -> DType {
        let searches = matches!(op, Op::Argmax | Op::Argmin);
        let (long, whole) = (reduced >= i32::MAX as usize, |dtype: DType| dtype.category() <= Category::Int);
        let half = |dtype: DType| matches!(dtype, DType::F16 | DType::BF16);
        match (op, compute) {
            (Op::All | Op::Any, _) => DType::Bool,
            (_, DType::F16 | DType::BF16 | DType::F32) if searches && long => DType::F64,
            (Op::Sum, DType::F16 | DType::BF16 | DType::F32) if half(elements) => elements,
            (_, DType::F16 | DType::BF16) => DType::F32,
            (Op::Sum | Op::Prod, dtype) if whole(dtype) => {
                if whole(elements) {
                    elements
                } else {
                    DType::I64
                }
            }
            (_, dtype) if !searches || !whole(dtype) => dtype,
            (_, DType::U64) => DType::U64,
            (_, DType::U32 | DType::I64) => DType::I64,
            _ => {
                if long {
                    DType::I64
                } else {
                    DType::I32
                }
            }
        }
    }

    /// Whether folds have a way to take a few dozen elements of each result that are next to each other, of many results.
    pub fn takes_lines(&self) -> bool {
        matches!(self.op, Op::Sum | Op::Prod | Op::Amax | Op::Amin)
            && matches!(self.takes, DType::F16 | DType::BF16 | DType::F32 | DType::F64)
            && self.reduced >= LONGEST
    }

    /// The operation.
    pub fn op(&self) -> Op {
        self.op
    }

    /// A fold for blocks of up to that many neighbouring results, started.
    ///
    /// # Panics
    /// If the operation is no reduction of the op table, or computes in a dtype outside its domain.
    pub fn start(&self, columns: usize) -> Box<dyn Fold> {
        let Reducer { op, compute, .. } = self;
        let fold = self.fold(Isa::active(), columns);
        fold.unwrap_or_else(|| panic!("{op:?} has no reduction for {compute}"))
    }

    /// As [`start`](Reducer::start), with code of an instruction set; `None` where the processor lacks that, or the
    /// operation is no reduction that computes in the dtype.
    pub fn start_on(&self, isa: Isa, columns: usize) -> Option<Box<dyn Fold>> {
        if isa.is_supported() { self.fold(isa, columns) } else { None }
    }

    fn fold(&self, isa: Isa, columns: usize) -> Option<Box<dyn Fold>> {
        match (self.op, self.takes) {
            (Op::All, _) => self.exact::<Truth<false>>(columns),
            (Op::Any, _) => self.exact::<Truth<true>>(columns),
            (_, DType::F16 | DType::BF16) => self.halves(isa, 1, columns),
            (_, DType::F32) => self.f32(isa, 1, columns),
            (_, DType::F64) => self.f64(isa, 1, columns),
            // Integers are searched in registers of as wide floats.
            (Op::Argmax | Op::Argmin, DType::I32) => self.f32(isa, 1, columns),
            (Op::Argmax | Op::Argmin, DType::I64 | DType::U64) => self.f64(isa, 1, columns),
            (Op::Sum, DType::Bool) => self.exact::<exact::Count>(columns),
            (Op::Prod | Op::Amin, DType::Bool) => self.exact::<Truth<false>>(columns),
            (Op::Amax, DType::Bool) => self.exact::<Truth<true>>(columns),
            (_, DType::Bool) => None,
            (_, DType::U8) => self.integers::<u8>(columns),
            (_, DType::I8) => self.integers::<i8>(columns),
            (_, DType::U16) => self.integers::<u16>(columns),
            (_, DType::I16) => self.integers::<i16>(columns),
            (_, DType::U32) => self.integers::<u32>(columns),
            (_, DType::I32) => self.integers::<i32>(columns),
            (_, DType::U64) => self.integers::<u64>(columns),
            (_, DType::I64) => self.integers::<i64>(columns),
            (Op::Prod, DType::C64) => self.monoid::<Prod<Array<Complex32, 2>>, Complex32>(columns),
            (Op::Prod, DType::C128) => self.monoid::<Prod<Array<Complex64, 4>>, Complex64>(columns),
            // The parts of a complex number do not meet in sums.
            (_, DType::C64) => self.f32(isa, 2, columns),
            (_, DType::C128) => self.f64(isa, 2, columns),
        }
    }

    /// The dtype of the results, or of their parts.
    fn result(&self) -> DType {
        match self.op {
            Op::All | Op::Any if self.compute != DType::U8 => DType::Bool,
            Op::Argmax | Op::Argmin => DType::I64,
            Op::Prod => self.compute,
            _ => self.compute.to_real(),
        }
    }

    /// The way from accumulators' results to those that are wanted.
    fn cast(&self, found: DType) -> Option<CastKernel> {
        let wanted = self.result();
        (found != wanted).then(|| cast_kernel(found, wanted))
    }

    fn tree<R: Rule>(&self, rule: R::One, parts: usize, columns: usize) -> Option<Box<dyn Fold>> {
        let cast = self.cast(R::One::RESULT);
        Some(Box::new(tree::<R>(rule, columns, lanes(self.reduced), parts, cast)))
    }

    fn exact<X: Exact>(&self, columns: usize) -> Option<Box<dyn Fold>> {
        Some(Box::new(Unordered::<X>::new(columns, self.cast(X::RESULT))))
    }

    fn integers<T: Integer>(&self, columns: usize) -> Option<Box<dyn Fold>> {
        match self.op {
            Op::Sum => self.exact::<exact::Sum<T>>(columns),
            Op::Prod => self.exact::<exact::Product<T>>(columns),
            Op::Amax => self.exact::<exact::Extreme<T, true>>(columns),
            Op::Amin => self.exact::<exact::Extreme<T, false>>(columns),
            _ => None,
        }
    }

    fn monoid<M: Monoid, T>(&self, columns: usize) -> Option<Box<dyn Fold>>
    where
        T: Element<Stored = <M::Vector as Vector>::Elem> + 'static,
    {
        self.accumulated::<M, T, M::Vector>(1, columns)
    }

    fn accumulated<M, T, S>(&self, parts: usize, columns: usize) -> Option<Box<dyn Fold>>
    where
        M: Monoid,
        T: Element<Stored = <M::Vector as Vector>::Elem> + 'static,
        S: Source<Value = M::Vector>,
    {
        self.tree::<Accumulated<M, T, S>>(Accumulated::new(), parts, columns)
    }

    fn search<V: Ordered<One: Ordered>>(&self, columns: usize) -> Option<Box<dyn Fold>> {
        let sign = !V::Elem::LAST;
        let flips = match (self.op, self.takes) {
            (Op::Argmax, DType::U64) => sign,
            (Op::Argmin, DType::U64) => !sign,
            (Op::Argmin, DType::F32 | DType::F64) => sign,
            (Op::Argmin, _) => !0,
            (Op::Argmax, _) => 0,
            _ => return None,
        };
        match self.takes.category() {
            Category::Float => self.tree::<Search<V, Floats>>(Search::new(flips), 1, columns),
            Category::Int => self.tree::<Search<V, Integers>>(Search::new(flips), 1, columns),
            _ => None,
        }
    }

    /// Sums of halves, in `f32`.
    fn sums<V, T>(&self, parts: usize, columns: usize) -> Option<Box<dyn Fold>>
    where
        V: Vector<One: Lane<Elem = f32>> + Lane<Elem = f32>,
        T: Element<Stored = <V as Vector>::Elem> + 'static,
    {
        match self.takes {
            DType::F16 => self.accumulated::<Sum<V>, T, Halves<V, f16>>(parts, columns),
            DType::BF16 => self.accumulated::<Sum<V>, T, Halves<V, bf16>>(parts, columns),
            _ => None,
        }
    }

    fn floats<V, T>(&self, parts: usize, columns: usize) -> Option<Box<dyn Fold>>
    where
        V: Ordered<Elem = <V as Lane>::Elem, One: Ordered + Lane<Elem = <V as Lane>::Elem>> + Lane,
        T: Element<Stored = <V as Vector>::Elem> + 'static,
    {
        let variance = || Variance { correction: self.correction, parts, kind: PhantomData };
        match self.op {
            Op::Sum => self.accumulated::<Sum<V>, T, V>(parts, columns),
            Op::Prod => self.monoid::<Prod<V>, T>(columns),
            Op::Amax => self.monoid::<Extreme<V, true>, T>(columns),
            Op::Amin => self.monoid::<Extreme<V, false>, T>(columns),
            Op::Var => self.tree::<Variance<V>>(variance(), parts, columns),
            _ => self.search::<V>(columns),
        }
    }
}

/// Reductions of floats on the widest registers there are.
macro_rules! on_registers {
    ($($name:ident: $reductions:ident of $float:ident, $avx512:ident, $avx2:ident, $neon:ident;)*) => {
        impl Reducer {
            $(fn $name(&self, isa: Isa, parts: usize, columns: usize) -> Option<Box<dyn Fold>> {
                match isa {
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx512 => self.$reductions::<lane::avx512::$avx512, $float>(parts, columns),
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx2 => self.$reductions::<lane::avx2::$avx2, $float>(parts, columns),
                    #[cfg(target_arch = "aarch64")]
                    Isa::Neon => self.$reductions::<lane::neon::$neon, $float>(parts, columns),
                    _ => self.$reductions::<$float, $float>(parts, columns),
                }
            })*
        }
    };
}

on_registers! {
    halves: sums of f32, F32x16, F32x8, F32x4;
    f32: floats of f32, F32x16, F32x8, F32x4;
    f64: floats of f64, F64x8, F64x4, F64x2;
}
