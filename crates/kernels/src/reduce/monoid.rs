//! Owns the reductions that are a neutral element and an operation: sums, products, extremes, truths.

use std::marker::PhantomData;

use zerostride_ops::Element;

use super::rule::{Rule, Steps};
use crate::bodies::complex::Complex;

/// A neutral element and an operation on plain values.
pub(super) trait Monoid: Copy + Send + Sync + 'static {
    type In: Element;
    type Acc: Element;
    const EMPTY: Self::Acc;
    fn step(acc: Self::Acc, value: <Self::In as Element>::Stored) -> Self::Acc;
    fn merge(a: Self::Acc, b: Self::Acc) -> Self::Acc;
    #[inline(always)]
    fn result(acc: Self::Acc) -> Self::Acc {
        acc
    }
}

/// The reduction by a monoid.
pub(super) struct Accumulated<M>(PhantomData<M>);

impl<M> Accumulated<M> {
    pub(super) fn new() -> Self {
        Accumulated(PhantomData)
    }
}

impl<M> Clone for Accumulated<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Accumulated<M> {}

impl<M: Monoid> Rule for Accumulated<M> {
    type In = M::In;
    type Out = M::Acc;
    type One = M::Acc;
    type Side<const W: usize> = [M::Acc; W];
    const STEPS: usize = 4;

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
    fn result(&self, one: M::Acc) -> M::Acc {
        M::result(one)
    }
}

/// A dtype that sums, products and comparisons run in.
pub(super) trait Number: Element<Stored = Self> + PartialOrd {
    const ZERO: Self;
    const ONE: Self;
    const LOWEST: Self;
    const HIGHEST: Self;
    /// A count of steps as wide as the values that it is selected with.
    type Count: Copy + PartialEq + Send + 'static;
    fn count(steps: usize) -> Self::Count;
    fn steps(count: Self::Count) -> usize;
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
}

macro_rules! numbers {
    ($($type:ty, $count:ty: $zero:expr, $one:expr, $lowest:expr, $highest:expr, $plus:expr, $times:expr;)*) => {
        $(impl Number for $type {
            const ZERO: Self = $zero;
            const ONE: Self = $one;
            const LOWEST: Self = $lowest;
            const HIGHEST: Self = $highest;
            type Count = $count;
            #[inline(always)]
            fn count(steps: usize) -> $count { steps as $count }
            #[inline(always)]
            fn steps(count: $count) -> usize { count as usize }
            #[inline(always)]
            fn plus(self, other: Self) -> Self { $plus(self, other) }
            #[inline(always)]
            fn times(self, other: Self) -> Self { $times(self, other) }
        })*
    };
}

numbers! {
    i32, u32: 0, 1, i32::MIN, i32::MAX, i32::wrapping_add, i32::wrapping_mul;
    i64, u64: 0, 1, i64::MIN, i64::MAX, i64::wrapping_add, i64::wrapping_mul;
    u64, u64: 0, 1, u64::MIN, u64::MAX, u64::wrapping_add, u64::wrapping_mul;
    f32, u32: 0.0, 1.0, f32::NEG_INFINITY, f32::INFINITY, |a: f32, b| a + b, |a: f32, b| a * b;
    f64, u64: 0.0, 1.0, f64::NEG_INFINITY, f64::INFINITY, |a: f64, b| a + b, |a: f64, b| a * b;
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
    Sum<T: Number>(T) T::ZERO; |acc, value| acc.plus(value); |a, b| a.plus(b);
    Prod<T: Number>(T) T::ONE; |acc, value| acc.times(value); |a, b| a.times(b);
    /// The largest, NaN if there is one.
    Largest<T: Number>(T) T::LOWEST; |acc, value| larger(acc, value); |a, b| larger(a, b);
    /// The smallest, NaN if there is one.
    Smallest<T: Number>(T) T::HIGHEST; |acc, value| smaller(acc, value); |a, b| smaller(a, b);
    ComplexSum<T: Complex>(T) T::ZERO; |acc, value| acc.plus(T::load(value)); |a, b| a.plus(b);
    ComplexProd<T: Complex>(T) T::ONE; |acc, value| acc.times(T::load(value)); |a, b| a.times(b);
}

/// Whether some element is `SEEN`: `any` of true; of false, the opposite of `all`.
#[derive(Clone, Copy)]
pub(super) struct Any<const SEEN: bool>;

impl<const SEEN: bool> Monoid for Any<SEEN> {
    type In = bool;
    type Acc = bool;
    const EMPTY: bool = false;
    #[inline(always)]
    fn step(acc: bool, value: u8) -> bool {
        acc | (bool::load(value) == SEEN)
    }
    #[inline(always)]
    fn merge(a: bool, b: bool) -> bool {
        a | b
    }
    #[inline(always)]
    fn result(seen: bool) -> bool {
        seen == SEEN
    }
}

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
