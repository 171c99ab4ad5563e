//! Owns reductions: the rule by which each operation and dtype accumulates (`accumulated.rs` of a monoid,
//! `search.rs`, `variance.rs`), and the tree that combines partial results (`tree.rs`). Reductions that are
//! independent of order have no tree (`exact.rs`), nor have those over pairs (`pairwise.rs`) and those of a
//! few dozen elements (`short.rs`). Shapes are not known here: a caller passes rows or panels (`fold.rs`).
//!
//! The tree depends on the number of reduced elements alone, never on threads, tiles or memory layout, and so
//! do the bits of a result. Elements are numbered in row-major order of the reduced dimensions. Each leaf of
//! [`LEAF_ELEMENTS`] elements is spread over [`lanes`] accumulators, element `i` into accumulator `i %
//! lanes`. The accumulators of a leaf are halved pairwise into one, and leaves are combined pairwise,
//! neighbours first. Rounding errors grow with the logarithm of the length.
//!
//! Lanes are subtrees, too: the rows of a lane enter one accumulator in order. Lanes come in bit-reversed
//! order of their numbers ([`lane_rows`]), so that those that are combined first come one after the other.
//!
//! A vector always holds contiguous elements: along the reduced elements these are the lanes of one result,
//! across them one lane of many results.
//!
//! Source: Higham, "The accuracy of floating point summation", SIAM Journal on Scientific Computing 14, 1993.

mod accumulated;
mod exact;
mod fold;
mod monoid;
mod pairwise;
mod rule;
mod search;
mod short;
mod tree;
mod variance;
mod vector;

use std::marker::PhantomData;

use num_complex::{Complex32, Complex64};
use zerostride_ops::{self as ops, Accumulator, Category, DType, Element, Reduction, bf16, f16};

pub use fold::{Fold, LEAF_ELEMENTS, ReducePanel, lane_rows, lanes};
pub use pairwise::{Pairwise, Term};
pub(crate) use variance::{Moments, PASS_ROWS};

use crate::lane::{self, Arithmetic, Register};
use crate::{CastKernel, Isa, cast_kernel, store_scalar};
use accumulated::Accumulated;
use exact::{AllOrAny, Exact, StoredInteger, Unordered};
use monoid::{Extreme, Monoid, Prod, Sum};
use rule::Rule;
use search::{FloatOrder, IntegerOrder, Search};
use tree::tree;
use variance::Variance;
use vector::{Array, Limits, LoadVector, MAX_VECTOR_LEN, Ordered, Vector, WidenedHalves};

/// A reduction of one operation, dtype and length, which can be started any number of times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reducer {
    op: Reduction,
    compute: DType,
    takes: DType,
    reduced: usize,
    correction: f64,
}

impl Reducer {
    /// The reduction `op` of `reduced` elements, where the operation computes in `compute`; `correction` is
    /// that of `var`. Folds read elements of the dtype `takes`, which [`takes`](Reducer::takes) or
    /// [`takes_computed`](Reducer::takes_computed) says.
    pub fn new(op: Reduction, compute: DType, takes: DType, reduced: usize, correction: f64) -> Self {
        Reducer { op, compute, takes, reduced, correction }
    }

    /// The dtype that folds read, given that of the elements. Order-free reductions read the elements' own:
    /// sums and products of integers are the same modulo any smaller power of two. So do sums of f16 and
    /// bf16, which are widened in registers. All others read a dtype that holds every value of `compute`;
    /// there are few of those, so that each can be fast. Indices are as wide as the elements that are
    /// searched.
    pub fn takes(op: Reduction, compute: DType, elements: DType, reduced: usize) -> DType {
        let is_half = |dtype: DType| matches!(dtype, DType::F16 | DType::BF16);
        let is_whole = |dtype: DType| dtype.category() <= Category::Int;
        match op.info().rule {
            ops::Rule::truth => DType::Bool,
            ops::Rule::index => searched(compute, reduced),
            _ if op == Reduction::Sum && is_half(elements) && (is_half(compute) || compute == DType::F32) => {
                elements
            }
            ops::Rule::sum if is_whole(compute) && is_whole(elements) => elements,
            ops::Rule::sum if is_whole(compute) => DType::I64,
            _ if is_half(compute) => DType::F32,
            _ => compute,
        }
    }

    /// The dtype that so many computed elements are converted to, once they are of the dtype that
    /// [`takes`](Reducer::takes) says, for code to let them enter accumulators: those hold what enters one
    /// of a leaf, or are modulo 2^64. They have 32 bits at least, and a bool is 0 or 1 there. A few elements
    /// are folded as they are.
    pub fn takes_computed(op: Reduction, takes: DType, reduced: usize) -> DType {
        let adds_up = op.info().rule == ops::Rule::sum;
        match takes {
            _ if lanes(reduced) == 1 => takes,
            DType::F16 | DType::BF16 => DType::F32,
            DType::Bool => DType::I32,
            DType::U8 | DType::I8 | DType::U16 | DType::I16 if op != Reduction::Prod => DType::I32,
            _ if adds_up && takes.category() == Category::Int => DType::I64,
            _ => takes,
        }
    }

    /// Whether folds have a loop for many results of a few dozen contiguous elements each (`short.rs`).
    pub fn takes_lines(&self) -> bool {
        self.op.step().is_some()
            && matches!(self.takes, DType::F16 | DType::BF16 | DType::F32 | DType::F64)
            && self.reduced >= MAX_VECTOR_LEN
    }

    /// What folds accumulate before the first element, as bytes of the dtype that they read, where code can
    /// accumulate computed elements instead of them ([`record_step`](crate::record_step)).
    pub fn accumulator(&self) -> Option<Vec<u8>> {
        let takes = self.takes;
        let is_wide = || takes == DType::I32 || takes == Self::takes_computed(self.op, takes, self.reduced);
        let is_held = match takes.category() {
            Category::Bool | Category::Int => lanes(self.reduced) > 1 && is_wide(),
            Category::Float => !takes.is_half(),
            Category::Complex => false,
        };
        match self.op.columns().accumulator {
            Accumulator::Element(_, start) if is_held => {
                let mut bytes = vec![0; takes.item_size()];
                store_scalar(start.scalar(takes), takes, &mut bytes);
                Some(bytes)
            }
            _ => None,
        }
    }

    /// Whether what has been accumulated by code is the result: in one lane, and in the dtype of results.
    pub fn yields_accumulators(&self) -> bool {
        self.accumulator().is_some() && lanes(self.reduced) == 1 && self.takes == self.result()
    }

    /// The operation.
    pub fn op(&self) -> Reduction {
        self.op
    }

    /// A started fold for blocks of up to that many neighbouring results.
    ///
    /// # Panics
    /// If the dtype is outside the reduction's domain.
    pub fn start(&self, columns: usize) -> Box<dyn Fold> {
        let Reducer { op, compute, .. } = self;
        let fold = self.fold(Isa::active(), columns);
        fold.unwrap_or_else(|| panic!("{op:?} has no reduction for {compute}"))
    }

    /// As [`start`](Reducer::start), with code of an instruction set; `None` if the processor lacks it, or
    /// the reduction does not compute in the dtype.
    pub fn start_on(&self, isa: Isa, columns: usize) -> Option<Box<dyn Fold>> {
        if isa.is_supported() { self.fold(isa, columns) } else { None }
    }

    fn fold(&self, isa: Isa, columns: usize) -> Option<Box<dyn Fold>> {
        match self.takes {
            DType::Bool => self.bools(columns),
            DType::F16 | DType::BF16 => self.halves(isa, 1, columns),
            DType::F32 => self.f32(isa, 1, columns),
            DType::F64 => self.f64(isa, 1, columns),
            // Integers are searched in registers of floats as wide.
            DType::I32 if self.searches() => self.f32(isa, 1, columns),
            DType::I64 | DType::U64 if self.searches() => self.f64(isa, 1, columns),
            DType::U8 => self.integers::<u8>(columns),
            DType::I8 => self.integers::<i8>(columns),
            DType::U16 => self.integers::<u16>(columns),
            DType::I16 => self.integers::<i16>(columns),
            DType::U32 => self.integers::<u32>(columns),
            DType::I32 => self.integers::<i32>(columns),
            DType::U64 => self.integers::<u64>(columns),
            DType::I64 => self.integers::<i64>(columns),
            // Real and imaginary parts are summed apart.
            DType::C64 if self.op != Reduction::Prod => self.f32(isa, 2, columns),
            DType::C128 if self.op != Reduction::Prod => self.f64(isa, 2, columns),
            DType::C64 => self.monoid::<Prod<Array<Complex32, 2>>, Complex32>(columns),
            DType::C128 => self.monoid::<Prod<Array<Complex64, 4>>, Complex64>(columns),
        }
    }

    /// Whether places are sought.
    fn searches(&self) -> bool {
        matches!(self.op.columns().accumulator, Accumulator::Place(..))
    }

    /// The dtype of the results, or of their parts.
    fn result(&self) -> DType {
        match self.op.info().rule {
            ops::Rule::truth if self.compute != DType::U8 => DType::Bool,
            ops::Rule::index => DType::I64,
            // A product is not one of parts.
            _ if self.op == Reduction::Prod => self.compute,
            _ => self.compute.to_real(),
        }
    }

    /// The conversion from the accumulators' dtype to that of the results.
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

    fn integers<T: StoredInteger>(&self, columns: usize) -> Option<Box<dyn Fold>> {
        match self.op {
            Reduction::Sum => self.exact::<exact::IntegerSum<T>>(columns),
            Reduction::Prod => self.exact::<exact::IntegerProduct<T>>(columns),
            Reduction::Amax | Reduction::Any => self.exact::<exact::IntegerExtreme<T, true>>(columns),
            Reduction::Amin | Reduction::All => self.exact::<exact::IntegerExtreme<T, false>>(columns),
            Reduction::Argmax | Reduction::Argmin | Reduction::Var => None,
        }
    }

    fn bools(&self, columns: usize) -> Option<Box<dyn Fold>> {
        match self.op {
            Reduction::Sum => self.exact::<exact::CountTrue>(columns),
            Reduction::All | Reduction::Prod | Reduction::Amin => self.exact::<AllOrAny<false>>(columns),
            Reduction::Any | Reduction::Amax => self.exact::<AllOrAny<true>>(columns),
            Reduction::Argmax | Reduction::Argmin | Reduction::Var => None,
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
        S: LoadVector<Value = M::Vector>,
    {
        self.tree::<Accumulated<M, T, S>>(Accumulated::new(), parts, columns)
    }

    /// The place of the largest element, or of the smallest.
    fn search<V: Ordered<One: Ordered>>(&self, largest: bool, columns: usize) -> Option<Box<dyn Fold>> {
        let sign = !V::Elem::LAST;
        let flips = match (largest, self.takes) {
            (true, DType::U64) => sign,
            (false, DType::U64) => !sign,
            (false, DType::F32 | DType::F64) => sign,
            (false, _) => !0,
            (true, _) => 0,
        };
        match self.takes.category() {
            Category::Float => self.tree::<Search<V, FloatOrder>>(Search::new(flips), 1, columns),
            Category::Int => self.tree::<Search<V, IntegerOrder>>(Search::new(flips), 1, columns),
            _ => None,
        }
    }

    /// Sums of f16 or bf16, in `f32`.
    fn sums<V, T>(&self, parts: usize, columns: usize) -> Option<Box<dyn Fold>>
    where
        V: Vector<One: Register<Elem = f32>> + Register<Elem = f32>,
        T: Element<Stored = <V as Vector>::Elem> + 'static,
    {
        match self.takes {
            DType::F16 => self.accumulated::<Sum<V>, T, WidenedHalves<V, f16>>(parts, columns),
            DType::BF16 => self.accumulated::<Sum<V>, T, WidenedHalves<V, bf16>>(parts, columns),
            _ => None,
        }
    }

    fn floats<V, T>(&self, parts: usize, columns: usize) -> Option<Box<dyn Fold>>
    where
        V: Ordered<Elem = <V as Arithmetic>::Elem, One: Ordered + Register<Elem = <V as Arithmetic>::Elem>>
            + Register,
        T: Element<Stored = <V as Vector>::Elem> + 'static,
    {
        let variance = || Variance { correction: self.correction, parts, kind: PhantomData };
        match self.op {
            Reduction::Sum => self.accumulated::<Sum<V>, T, V>(parts, columns),
            Reduction::Prod => self.monoid::<Prod<V>, T>(columns),
            Reduction::Amax => self.monoid::<Extreme<V, true>, T>(columns),
            Reduction::Amin => self.monoid::<Extreme<V, false>, T>(columns),
            Reduction::Argmax => self.search::<V>(true, columns),
            Reduction::Argmin => self.search::<V>(false, columns),
            Reduction::Var => self.tree::<Variance<V>>(variance(), parts, columns),
            Reduction::All | Reduction::Any => None,
        }
    }
}

/// The dtype in which elements are searched: as wide as the indices that so many of them need.
fn searched(compute: DType, reduced: usize) -> DType {
    let is_long = reduced >= i32::MAX as usize;
    match compute {
        DType::F16 | DType::BF16 | DType::F32 if is_long => DType::F64,
        DType::F16 | DType::BF16 => DType::F32,
        DType::U64 => DType::U64,
        DType::U32 | DType::I64 => DType::I64,
        dtype if dtype.category() > Category::Int => dtype,
        _ if is_long => DType::I64,
        _ => DType::I32,
    }
}

/// Reductions of floats on the registers of an instruction set.
macro_rules! on_registers {
    ($($name:ident: $reductions:ident of $float:ident, $avx512:ident, $avx2:ident, $neon:ident;)*) => {
        impl Reducer {
            $(fn $name(&self, isa: Isa, parts: usize, columns: usize) -> Option<Box<dyn Fold>> {
                match isa {
                    _ if cfg!(unoptimised) => self.$reductions::<$float, $float>(parts, columns),
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
