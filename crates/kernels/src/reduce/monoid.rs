//! Owns the reductions that are a neutral element and an operation: sums, products, extremes, truths.

use std::marker::PhantomData;

use zerostride_ops::{Element, bf16, f16};

use super::rule::{Rule, Steps};
use crate::bodies::complex::Complex as Pair;

/// A neutral element and an operation on plain values.
pub(super) trait Monoid: Copy + Send + Sync + 'static {
    type In: Element;
    type Acc: Copy + Send + 'static;
    const EMPTY: Self::Acc;
    fn step(acc: Self::Acc, value: <Self::In as Element>::Stored) -> Self::Acc;
    fn merge(a: Self::Acc, b: Self::Acc) -> Self::Acc;
}

/// A monoid, and how what it has accumulated becomes the result.
pub(super) struct Accumulated<M: Monoid, O> {
    pub(super) result: fn(M::Acc) -> O,
}

impl<M: Monoid, O> Clone for Accumulated<M, O> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Monoid, O> Copy for Accumulated<M, O> {}

impl<M: Monoid, O: Element> Rule for Accumulated<M, O> {
    type In = M::In;
    type Out = O;
    type One = M::Acc;
    type Side<const W: usize> = [M::Acc; W];
    const STEPS: usize = 8;

    #[inline(always)]
    fn empty() -> M::Acc {
        M::EMPTY
    }

    #[inline(always)]
    fn lane<const W: usize>(mut acc: [M::Acc; W], steps: &Steps<'_, M::In, W>) -> [M::Acc; W] {
        for step in 0..steps.count {
            let row = steps.row(step);
            for (acc, &element) in acc.iter_mut().zip(row) {
                *acc = M::step(*acc, element);
            }
        }
        if steps.tail == 0 {
            return acc;
        }
        // A copy, so that what the loop above holds stays in registers: lanes are counted only here.
        let mut all = acc;
        for (acc, &value) in all.iter_mut().zip(steps.tail()) {
            *acc = M::step(*acc, value);
        }
        all
    }

    #[inline(always)]
    fn merge<const W: usize>(left: &[M::Acc; W], right: &[M::Acc; W]) -> [M::Acc; W] {
        let mut merged = *left;
        for (merged, &right) in merged.iter_mut().zip(right) {
            *merged = M::merge(*merged, right);
        }
        merged
    }

    #[inline(always)]
    fn gather<const W: usize>(ones: &[M::Acc; W]) -> [M::Acc; W] {
        *ones
    }

    #[inline(always)]
    fn scatter<const W: usize>(side: &[M::Acc; W], ones: &mut [M::Acc; W]) {
        *ones = *side;
    }

    #[inline(always)]
    fn result(&self, one: M::Acc) -> O {
        (self.result)(one)
    }
}

/// A dtype as the type that sums, products and comparisons run in.
pub(super) trait Number: Element {
    type Work: Copy + PartialOrd + Send + 'static;
    const ZERO: Self::Work;
    const ONE: Self::Work;
    const LOWEST: Self::Work;
    const HIGHEST: Self::Work;
    /// Exact, without branches.
    fn work(stored: Self::Stored) -> Self::Work;
    /// Rounds to nearest even.
    fn round(work: Self::Work) -> Self;
    fn plus(a: Self::Work, b: Self::Work) -> Self::Work;
    fn times(a: Self::Work, b: Self::Work) -> Self::Work;
}

macro_rules! numbers {
    ($($type:ty as $work:ty: $zero:expr, $one:expr, $lowest:expr, $highest:expr, $plus:expr, $times:expr, $load:expr, $round:expr;)*) => {
        $(impl Number for $type {
            type Work = $work;
            const ZERO: $work = $zero;
            const ONE: $work = $one;
            const LOWEST: $work = $lowest;
            const HIGHEST: $work = $highest;
            #[inline(always)]
            fn work(stored: Self::Stored) -> $work { $load(stored) }
            #[inline(always)]
            fn round(work: $work) -> Self { $round(work) }
            #[inline(always)]
            fn plus(a: $work, b: $work) -> $work { $plus(a, b) }
            #[inline(always)]
            fn times(a: $work, b: $work) -> $work { $times(a, b) }
        })*
    };
    (integers $($type:ty)*) => {
        numbers! { $($type as $type: 0, 1, <$type>::MIN, <$type>::MAX, <$type>::wrapping_add, <$type>::wrapping_mul, |v| v, |v| v;)* }
    };
    (floats $($type:ty as $work:ty: $load:expr, $round:expr;)*) => {
        numbers! { $($type as $work: 0.0, 1.0, <$work>::NEG_INFINITY, <$work>::INFINITY, |a, b| a + b, |a, b| a * b, $load, $round;)* }
    };
}

numbers!(integers u8 u16 u32 u64 i8 i16 i32 i64);
numbers!(floats
    f16 as f32: half_to_f32, f16::from_f32;
    bf16 as f32: |v: bf16| f32::from_bits(u32::from(v.to_bits()) << 16), bf16::from_f32;
    f32 as f32: |v| v, |v| v;
    f64 as f64: |v| v, |v| v;
);
numbers! { bool as u8: 0, 1, 0, 1, |a, b| a | b, |a, b| a & b, |v| u8::from(v != 0), |v| v != 0; }

/// As the hardware converts, but in operations that every instruction set has on vectors.
#[inline(always)]
fn half_to_f32(half: f16) -> f32 {
    let bits = u32::from(half.to_bits());
    let magnitude = bits & 0x7fff;
    // The exponent's bias grows by 112; the product makes subnormals normal.
    let scaled = (f32::from_bits(magnitude << 13) * f32::from_bits((112 + 127) << 23)).to_bits();
    let special = if magnitude >= 0x7c00 { 0x7f80_0000 } else { 0 };
    f32::from_bits(scaled | special | (bits & 0x8000) << 16)
}

/// Declares monoids.
macro_rules! monoids {
    ($($(#[$doc:meta])* $name:ident<$t:ident: $bound:path>($acc:ty) $empty:expr; |$a:ident, $v:ident| $step:expr; |$left:ident, $right:ident| $merge:expr;)*) => {
        $($(#[$doc])*
        #[derive(Clone, Copy)]
        pub(super) struct $name<$t>(PhantomData<$t>);

        impl<$t: $bound> Monoid for $name<$t> {
            type In = $t;
            type Acc = $acc;
            const EMPTY: $acc = $empty;
            #[inline(always)]
            fn step($a: $acc, $v: <$t as Element>::Stored) -> $acc { $step }
            #[inline(always)]
            fn merge($left: $acc, $right: $acc) -> $acc { $merge }
        })*
    };
}

monoids! {
    /// Halves add up in f32 and are rounded once, at the end.
    Sum<T: Number>(T::Work) T::ZERO; |acc, value| T::plus(acc, T::work(value)); |a, b| T::plus(a, b);
    Prod<T: Number>(T::Work) T::ONE; |acc, value| T::times(acc, T::work(value)); |a, b| T::times(a, b);
    /// The largest, NaN if there is one.
    Largest<T: Number>(T::Work) T::LOWEST; |acc, value| larger(acc, T::work(value)); |a, b| larger(a, b);
    /// The smallest, NaN if there is one.
    Smallest<T: Number>(T::Work) T::HIGHEST; |acc, value| smaller(acc, T::work(value)); |a, b| smaller(a, b);
    ComplexSum<T: Pair>(T) T::ZERO; |acc, value| acc.plus(T::load(value)); |a, b| a.plus(b);
    ComplexProd<T: Pair>(T) T::ONE; |acc, value| acc.times(T::load(value)); |a, b| a.times(b);
    /// Which truths were seen: [`NONZERO`], [`ZERO`].
    Truths<T: Truthful>(u8) 0; |acc, value| acc | if T::load(value) == T::default() { ZERO } else { NONZERO }; |a, b| a | b;
}

/// What [`Truths`] saw: an element that counts as true, one that counts as false.
pub(super) const NONZERO: u8 = 1;
pub(super) const ZERO: u8 = 2;

/// A dtype whose zero counts as false, and everything else as true.
pub(super) trait Truthful: Element + Default {}

impl<T: Element + Default> Truthful for T {}

#[inline(always)]
#[allow(clippy::eq_op)]
fn larger<W: Copy + PartialOrd>(acc: W, value: W) -> W {
    // NaN is what differs from itself.
    if value > acc || value != value { value } else { acc }
}

#[inline(always)]
#[allow(clippy::eq_op)]
fn smaller<W: Copy + PartialOrd>(acc: W, value: W) -> W {
    if value < acc || value != value { value } else { acc }
}
