//! Owns the reductions that are a neutral element and an operation: sums, products, extremes, truths.

use std::marker::PhantomData;

use bytemuck::Zeroable;
use zerostride_ops::{DType, Element};

use super::rule::{Elem, Rows, Rule, Side, Steps};
use super::vector::{Limits, Ordered, Vector};

/// A neutral element and an operation, on vectors of one kind.
pub(super) trait Monoid: 'static {
    type Vector: Vector;
    type One: Monoid<Vector: Vector<Elem = <Self::Vector as Vector>::Elem>>;
    fn empty() -> <Self::Vector as Vector>::Elem;
    fn step(acc: Self::Vector, value: Self::Vector) -> Self::Vector;
}

/// The reduction by a monoid, of elements stored as those of dtype `T` are.
pub(super) struct Accumulated<M, T>(PhantomData<fn(M, T)>);

impl<M, T> Accumulated<M, T> {
    pub(super) fn new() -> Self {
        Accumulated(PhantomData)
    }
}

impl<M: Monoid, T> Rule for Accumulated<M, T>
where
    T: Element<Stored = <M::Vector as Vector>::Elem> + 'static,
{
    type Vector = M::Vector;
    type One = Accumulated<M::One, T>;
    type State = Vec<Elem<Self>>;
    type Acc = M::Vector;
    type Out = Elem<Self>;
    const RESULT: DType = T::DTYPE;

    fn empty(len: usize) -> Self::State {
        vec![M::empty(); len]
    }

    #[inline(always)]
    fn none() -> M::Vector {
        M::Vector::splat(M::empty())
    }

    #[inline(always)]
    fn read(state: &Self::State, at: usize) -> M::Vector {
        M::Vector::load(&state[at..])
    }

    #[inline(always)]
    fn write(acc: M::Vector, state: &mut Self::State, at: usize) {
        acc.store(&mut state[at..]);
    }

    #[inline(always)]
    fn steps<const G: usize>(
        mut acc: [M::Vector; G],
        _: bool,
        steps: &Steps<'_, Elem<Self>, impl Rows>,
        sides: [Side; G],
    ) -> [M::Vector; G] {
        for step in 0..steps.count() {
            for g in 0..G {
                acc[g] = M::step(acc[g], steps.load(step, sides[g]));
            }
        }
        // Asked once: most leaves are whole, and their accumulators stay in registers then.
        if steps.has_tail() {
            for g in 0..G {
                if let Some((value, count)) = steps.tail(sides[g]) {
                    acc[g] = M::Vector::select(M::Vector::first(count), M::step(acc[g], value), acc[g]);
                }
            }
        }
        acc
    }

    #[inline(always)]
    fn merge(left: M::Vector, right: M::Vector) -> M::Vector {
        M::step(left, right)
    }

    #[inline(always)]
    fn crossed<const BY: usize>(one: M::Vector, other: M::Vector) -> [M::Vector; 2] {
        one.crossed::<BY>(other)
    }

    fn results(&self, state: &Self::State, len: usize) -> impl Iterator<Item = Elem<Self>> {
        state[..len].iter().map(|&one| T::load(one).store())
    }
}

/// Declares monoids.
macro_rules! monoids {
    ($($(#[$doc:meta])* $name:ident<$($constant:ident)?> $bound:ident: $empty:expr; |$acc:ident, $value:ident| $step:expr;)*) => {
        $($(#[$doc])*
        pub(super) struct $name<V $(, const $constant: bool)?>(PhantomData<V>);

        impl<V: $bound<One: $bound> $(, const $constant: bool)?> Monoid for $name<V $(, $constant)?> {
            type Vector = V;
            type One = $name<V::One $(, $constant)?>;
            #[inline(always)]
            fn empty() -> V::Elem { $empty }
            #[inline(always)]
            fn step($acc: V, $value: V) -> V { $step }
        })*
    };
}

monoids! {
    Sum<> Vector: V::Elem::zeroed(); |acc, value| acc.plus(value);
    Prod<> Vector: V::one(); |acc, value| acc.times(value);
    /// The largest, or the smallest; the first NaN if there is one. Of truths, whether any is, or all are.
    Extreme<LARGEST> Ordered: if LARGEST { V::Elem::LOWEST } else { V::Elem::HIGHEST };
        |acc, value| V::select(value.beats::<LARGEST>(acc), value, acc);
}
