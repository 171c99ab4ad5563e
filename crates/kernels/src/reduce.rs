//! Owns reductions: what each accumulates, and the tree in which partial results meet.
//!
//! The tree depends on the number of reduced elements alone, never on threads, tiles or memory layout, so the bits of
//! a result do not either: elements are numbered in row-major order of the reduced dimensions; each leaf of
//! [`LEAF`] elements is spread over [`lanes`] accumulators, element `i` into accumulator `i % lanes`; the accumulators
//! of a leaf are halved pairwise into one; leaves meet pairwise, neighbours first. Rounding errors grow with the
//! logarithm of the length. It does not know shapes: a caller hands in rows of a tile.

use std::any::Any;

use bytemuck::{cast_slice, cast_slice_mut};
use num_complex::{Complex32, Complex64};
use zerostride_ops::{DType, Element, Op, bf16, f16};

use crate::bodies::{complex::Complex, half::Float, integer::Integer};
use crate::lane::Lane;

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

/// One reduction under way, over a block of neighbouring results.
pub trait Fold: Send {
    /// Takes one leaf: a tile of `rows` reduced elements by the block's columns, columns next to each other. Leaves
    /// come in order, the first row of this one being reduced element `first`.
    fn leaf(&mut self, tile: &[u8], first: usize);
    /// Appends the leaves that another fold has taken, which must be a power of two unless they are the last.
    fn append(&mut self, other: Box<dyn Fold>);
    /// Writes the results of the block's columns and starts anew.
    fn finish(&mut self, out: &mut [u8]);
    /// For [`Fold::append`].
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

/// How one element enters an accumulator and how accumulators meet.
trait Accumulate: Send + 'static {
    type In: Element;
    type Acc: Copy + Send;
    type Out: Element;
    /// Before any element.
    fn empty(&self) -> Self::Acc;
    fn step(acc: Self::Acc, value: Self::In, index: usize) -> Self::Acc;
    fn merge(a: Self::Acc, b: Self::Acc) -> Self::Acc;
    fn result(&self, acc: Self::Acc) -> Self::Out;
}

/// The tree over leaves, as a stack of complete subtrees with falling heights.
struct Tree<R: Accumulate> {
    rule: R,
    columns: usize,
    lanes: usize,
    accumulators: Vec<R::Acc>,
    subtrees: Vec<(u32, Vec<R::Acc>)>,
}

impl<R: Accumulate> Tree<R> {
    fn push(&mut self, mut height: u32, mut results: Vec<R::Acc>) {
        while self.subtrees.last().is_some_and(|(top, _)| *top == height) {
            let (_, left) = self.subtrees.pop().expect("the last subtree was just seen");
            merge_into::<R>(&left, &mut results);
            height += 1;
        }
        self.subtrees.push((height, results));
    }
}

/// `right = left merged with right`, column by column.
fn merge_into<R: Accumulate>(left: &[R::Acc], right: &mut [R::Acc]) {
    for (right, &left) in right.iter_mut().zip(left) {
        *right = R::merge(left, *right);
    }
}

impl<R: Accumulate> Fold for Tree<R> {
    fn leaf(&mut self, tile: &[u8], first: usize) {
        let tile: &[<R::In as Element>::Stored] = cast_slice(tile);
        self.accumulators.clear();
        self.accumulators.resize(self.lanes * self.columns, self.rule.empty());
        for (row, values) in tile.chunks_exact(self.columns).enumerate() {
            let lane = row % self.lanes * self.columns;
            for (acc, &value) in self.accumulators[lane..][..self.columns].iter_mut().zip(values) {
                *acc = R::step(*acc, R::In::load(value), first + row);
            }
        }
        let mut width = self.lanes;
        while width > 1 {
            width /= 2;
            let (low, high) = self.accumulators.split_at_mut(width * self.columns);
            for (low, &high) in low.iter_mut().zip(&*high) {
                *low = R::merge(*low, high);
            }
        }
        let results = self.accumulators[..self.columns].to_vec();
        self.push(0, results);
    }

    fn append(&mut self, other: Box<dyn Fold>) {
        let other = other.into_any().downcast::<Self>().expect("folds of one reduction are of one kind");
        for (height, results) in other.subtrees {
            self.push(height, results);
        }
    }

    fn finish(&mut self, out: &mut [u8]) {
        let mut results = match self.subtrees.pop() {
            Some((_, last)) => last,
            None => vec![self.rule.empty(); self.columns],
        };
        while let Some((_, left)) = self.subtrees.pop() {
            merge_into::<R>(&left, &mut results);
        }
        let out: &mut [<R::Out as Element>::Stored] = cast_slice_mut(out);
        for (out, acc) in out.iter_mut().zip(results) {
            *out = self.rule.result(acc).store();
        }
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// Declares an accumulation that is a neutral element and a commutative operation.
macro_rules! monoids {
    ($($(#[$doc:meta])* $name:ident<$t:ident: $bound:ident> { $in:ty => $acc:ty => $out:ty }
        empty $empty:expr; step |$sacc:ident, $svalue:ident| $step:expr; merge |$a:ident, $b:ident| $merge:expr; result |$r:ident| $result:expr;)*) => {
        $($(#[$doc])*
        struct $name<$t>(std::marker::PhantomData<$t>);

        impl<$t: $bound> Accumulate for $name<$t> {
            type In = $in;
            type Acc = $acc;
            type Out = $out;
            fn empty(&self) -> $acc { $empty }
            fn step($sacc: $acc, $svalue: $in, _index: usize) -> $acc { $step }
            fn merge($a: $acc, $b: $acc) -> $acc { $merge }
            fn result(&self, $r: $acc) -> $out { $result }
        })*
    };
}

monoids! {
    /// Halves add up in f32 and are rounded once, at the end.
    FloatSum<T: Float> { T => T::Work => T }
        empty Lane::num(0.0); step |acc, value| acc + value.widen(); merge |a, b| a + b; result |acc| T::narrow(acc);
    FloatProd<T: Float> { T => T::Work => T }
        empty Lane::num(1.0); step |acc, value| acc * value.widen(); merge |a, b| a * b; result |acc| T::narrow(acc);
    IntegerSum<T: Integer> { T => T => T }
        empty T::ZERO; step |acc, value| acc.wrapping_add(value); merge |a, b| a.wrapping_add(b); result |acc| acc;
    IntegerProd<T: Integer> { T => T => T }
        empty T::ONE; step |acc, value| acc.wrapping_mul(value); merge |a, b| a.wrapping_mul(b); result |acc| acc;
    ComplexSum<T: Complex> { T => T => T }
        empty T::ZERO; step |acc, value| acc.plus(value); merge |a, b| a.plus(b); result |acc| acc;
    ComplexProd<T: Complex> { T => T => T }
        empty T::ONE; step |acc, value| acc.times(value); merge |a, b| a.times(b); result |acc| acc;
}

/// How dtypes compare in a search for an extreme: NaN is more extreme than every number.
trait Extreme: Element {
    /// Whether `self` is strictly larger than `other`.
    fn above(self, other: Self) -> bool;
    fn is_nan(self) -> bool {
        false
    }
}

macro_rules! extremes {
    (ints: $($int:ty)*; floats: $($float:ty)*) => {
        $(impl Extreme for $int {
            fn above(self, other: Self) -> bool { self > other }
        })*
        $(impl Extreme for $float {
            fn above(self, other: Self) -> bool { self > other }
            fn is_nan(self) -> bool { <$float>::is_nan(self) }
        })*
    };
}

extremes!(ints: bool u8 u16 u32 u64 i8 i16 i32 i64; floats: f16 bf16 f32 f64);

/// The search for an extreme, the largest or the smallest, and for where it stands first; `answer` is what of the two
/// is asked for.
struct Search<T, O, const LARGEST: bool> {
    answer: fn(T, usize) -> O,
}

impl<T: Extreme, O: Element, const LARGEST: bool> Accumulate for Search<T, O, LARGEST> {
    type In = T;
    type Acc = Option<(T, usize)>;
    type Out = O;

    fn empty(&self) -> Self::Acc {
        None
    }

    fn step(acc: Self::Acc, value: T, index: usize) -> Self::Acc {
        Self::merge(acc, Some((value, index)))
    }

    fn merge(a: Self::Acc, b: Self::Acc) -> Self::Acc {
        let (Some(a), Some(b)) = (a, b) else { return a.or(b) };
        // The lanes of a leaf interleave, so that either side may hold the earlier index.
        let (first, second) = if a.1 < b.1 { (a, b) } else { (b, a) };
        let further = if LARGEST { second.0.above(first.0) } else { first.0.above(second.0) };
        let beaten = !first.0.is_nan() && (second.0.is_nan() || further);
        Some(if beaten { second } else { first })
    }

    fn result(&self, acc: Self::Acc) -> O {
        let (value, index) = acc.expect("a search over nothing is refused before it starts");
        (self.answer)(value, index)
    }
}

/// `all` (`SEEN` false) and `any` (`SEEN` true): whether an element of that truth was seen.
struct Truth<T, O, const SEEN: bool>(std::marker::PhantomData<(T, O)>);

/// Whether an element counts as true.
trait Truthful: Element {
    fn truth(self) -> bool;
}

impl<T: Element + Default> Truthful for T {
    fn truth(self) -> bool {
        self != T::default()
    }
}

impl<T: Truthful, O: Element + From<bool>, const SEEN: bool> Accumulate for Truth<T, O, SEEN> {
    type In = T;
    type Acc = bool;
    type Out = O;
    fn empty(&self) -> bool {
        false
    }
    fn step(acc: bool, value: T, _index: usize) -> bool {
        acc | (value.truth() == SEEN)
    }
    fn merge(a: bool, b: bool) -> bool {
        a | b
    }
    fn result(&self, acc: bool) -> O {
        O::from(acc == SEEN)
    }
}

/// A sample's count, mean and sum of squared deviations, in f64.
///
/// Source: Chan, Golub, LeVeque, "Updating Formulae and a Pairwise Algorithm for Computing Sample Variances", 1979.
#[derive(Clone, Copy)]
struct Moments {
    count: f64,
    mean: Complex64,
    squares: f64,
}

/// `var`, with `count - correction` degrees of freedom.
struct Variance<T> {
    correction: f64,
    kind: std::marker::PhantomData<T>,
}

/// A float or complex dtype as a complex f64 in, a real float out.
trait Sample: Element {
    type Real: Element;
    fn to_complex(self) -> Complex64;
    fn from_f64(value: f64) -> Self::Real;
}

macro_rules! samples {
    ($($type:ty => $real:ty: |$value:ident| $to:expr, |$result:ident| $from:expr;)*) => {
        $(impl Sample for $type {
            type Real = $real;
            fn to_complex(self) -> Complex64 { let $value = self; $to }
            fn from_f64($result: f64) -> $real { $from }
        })*
    };
}

samples! {
    f16 => f16: |v| f64::from(v).into(), |r| f16::from_f64(r);
    bf16 => bf16: |v| f64::from(v).into(), |r| bf16::from_f64(r);
    f32 => f32: |v| f64::from(v).into(), |r| r as f32;
    f64 => f64: |v| v.into(), |r| r;
    Complex32 => f32: |v| Complex64::new(v.re.into(), v.im.into()), |r| r as f32;
    Complex64 => f64: |v| v, |r| r;
}

impl<T: Sample> Accumulate for Variance<T> {
    type In = T;
    type Acc = Moments;
    type Out = T::Real;
    fn empty(&self) -> Moments {
        Moments { count: 0.0, mean: Complex64::ZERO, squares: 0.0 }
    }
    fn step(acc: Moments, value: T, _index: usize) -> Moments {
        let value = value.to_complex();
        let count = acc.count + 1.0;
        let delta = value - acc.mean;
        let mean = acc.mean + delta / count;
        let after = value - mean;
        Moments { count, mean, squares: acc.squares + delta.re * after.re + delta.im * after.im }
    }
    fn merge(a: Moments, b: Moments) -> Moments {
        if a.count == 0.0 || b.count == 0.0 {
            return if a.count == 0.0 { b } else { a };
        }
        let count = a.count + b.count;
        let delta = b.mean - a.mean;
        Moments {
            count,
            mean: a.mean + delta * (b.count / count),
            squares: a.squares + b.squares + delta.norm_sqr() * (a.count * b.count / count),
        }
    }
    fn result(&self, acc: Moments) -> T::Real {
        T::from_f64(acc.squares / (acc.count - self.correction).max(0.0))
    }
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
            DType::Bool => self.truth::<bool, bool>(columns).or_else(|| self.extreme::<bool>(columns)),
            DType::U8 => self.truth::<u8, u8>(columns).or_else(|| self.integer::<u8>(columns)),
            DType::U16 => self.integer::<u16>(columns),
            DType::U32 => self.integer::<u32>(columns),
            DType::U64 => self.integer::<u64>(columns),
            DType::I8 => self.integer::<i8>(columns),
            DType::I16 => self.integer::<i16>(columns),
            DType::I32 => self.integer::<i32>(columns),
            DType::I64 => self.integer::<i64>(columns),
            DType::F16 => self.float::<f16>(columns),
            DType::BF16 => self.float::<bf16>(columns),
            DType::F32 => self.float::<f32>(columns),
            DType::F64 => self.float::<f64>(columns),
            DType::C64 => self.complex::<Complex32>(columns),
            DType::C128 => self.complex::<Complex64>(columns),
        }
    }

    fn tree<R: Accumulate>(&self, rule: R, columns: usize) -> Option<Box<dyn Fold>> {
        let lanes = lanes(self.reduced);
        Some(Box::new(Tree { rule, columns, lanes, accumulators: Vec::new(), subtrees: Vec::new() }))
    }

    fn integer<T: Integer + Extreme + Truthful>(&self, columns: usize) -> Option<Box<dyn Fold>> {
        match self.op {
            Op::Sum => self.tree(IntegerSum::<T>(Default::default()), columns),
            Op::Prod => self.tree(IntegerProd::<T>(Default::default()), columns),
            _ => self.extreme::<T>(columns).or_else(|| self.truth::<T, bool>(columns)),
        }
    }

    fn float<T: Float + Extreme + Truthful + Sample>(&self, columns: usize) -> Option<Box<dyn Fold>> {
        match self.op {
            Op::Sum => self.tree(FloatSum::<T>(Default::default()), columns),
            Op::Prod => self.tree(FloatProd::<T>(Default::default()), columns),
            _ => self
                .extreme::<T>(columns)
                .or_else(|| self.truth::<T, bool>(columns))
                .or_else(|| self.variance::<T>(columns)),
        }
    }

    fn complex<T: Complex + Truthful + Sample>(&self, columns: usize) -> Option<Box<dyn Fold>> {
        match self.op {
            Op::Sum => self.tree(ComplexSum::<T>(Default::default()), columns),
            Op::Prod => self.tree(ComplexProd::<T>(Default::default()), columns),
            _ => self.truth::<T, bool>(columns).or_else(|| self.variance::<T>(columns)),
        }
    }

    fn extreme<T: Extreme>(&self, columns: usize) -> Option<Box<dyn Fold>> {
        match self.op {
            Op::Amax => self.tree(Search::<T, T, true> { answer: |value, _| value }, columns),
            Op::Amin => self.tree(Search::<T, T, false> { answer: |value, _| value }, columns),
            Op::Argmax => self.tree(Search::<T, i64, true> { answer: |_, index| index as i64 }, columns),
            Op::Argmin => self.tree(Search::<T, i64, false> { answer: |_, index| index as i64 }, columns),
            _ => None,
        }
    }

    fn truth<T: Truthful, O: Element + From<bool>>(&self, columns: usize) -> Option<Box<dyn Fold>> {
        match self.op {
            Op::All => self.tree(Truth::<T, O, false>(Default::default()), columns),
            Op::Any => self.tree(Truth::<T, O, true>(Default::default()), columns),
            _ => None,
        }
    }

    fn variance<T: Sample>(&self, columns: usize) -> Option<Box<dyn Fold>> {
        let rule = Variance::<T> { correction: self.correction, kind: Default::default() };
        (self.op == Op::Var).then(|| self.tree(rule, columns)).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds `values` as one column, in folds of `leaves` leaves each.
    fn sum(values: &[f32], leaves: usize) -> f32 {
        let reducer = Reducer::new(Op::Sum, DType::F32, values.len(), 0.0);
        let mut whole = reducer.start(1);
        for (chunk, values) in values.chunks(LEAF * leaves).enumerate() {
            let mut part = reducer.start(1);
            for (leaf, values) in values.chunks(LEAF).enumerate() {
                part.leaf(cast_slice(values), (chunk * leaves + leaf) * LEAF);
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
                fold.leaf(cast_slice(values), leaf * LEAF);
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
