//! Owns the monoids, a neutral element and an operation, of sums, products, maxima and minima. It does not
//! know the order of elements.

use std::marker::PhantomData;

use bytemuck::Zeroable;

use super::rule::{RowSequence, RowStarts, Side};
use super::vector::{Limits, LoadVector, MAX_VECTOR_LEN, Ordered, Vector};
use crate::lane::AnyMask;

/// A neutral element and an operation on vectors.
pub(super) trait Monoid: 'static {
    type Vector: Vector;
    type One: Monoid<Vector = <Self::Vector as Vector>::One>;
    fn empty() -> <Self::Vector as Vector>::Elem;
    fn step(acc: Self::Vector, value: Self::Vector) -> Self::Vector;
    /// Takes whole rows.
    #[inline(always)]
    fn rows<S: LoadVector<Value = Self::Vector>, const G: usize>(
        acc: [Self::Vector; G],
        steps: &RowSequence<'_, S::Elem, impl RowStarts>,
        sides: [Side; G],
    ) -> [Self::Vector; G] {
        each::<Self, S, G>(acc, steps, sides)
    }
    /// Takes the first `LEN` vectors of a block.
    #[inline(always)]
    fn block(acc: Self::Vector, block: [Self::Vector; MAX_VECTOR_LEN]) -> Self::Vector {
        block.into_iter().take(Self::Vector::LEN).fold(acc, Self::step)
    }
}

/// One step for each vector of whole rows.
#[inline(always)]
fn each<M: Monoid + ?Sized, S: LoadVector<Value = M::Vector>, const G: usize>(
    mut acc: [M::Vector; G],
    steps: &RowSequence<'_, S::Elem, impl RowStarts>,
    sides: [Side; G],
) -> [M::Vector; G] {
    for step in 0..steps.count() {
        for g in 0..G {
            acc[g] = M::step(acc[g], steps.load::<S>(step, sides[g]));
        }
    }
    acc
}

/// Declares monoids.
macro_rules! monoids {
    ($($name:ident: $empty:expr; |$acc:ident, $value:ident| $step:expr;)*) => {
        $(pub(super) struct $name<V>(PhantomData<V>);

        impl<V: Vector> Monoid for $name<V> {
            type Vector = V;
            type One = $name<V::One>;
            #[inline(always)]
            fn empty() -> V::Elem { $empty }
            #[inline(always)]
            fn step($acc: V, $value: V) -> V { $step }
        })*
    };
}

monoids! {
    Sum: V::Elem::zeroed(); |acc, value| acc.plus(value);
    Prod: V::one(); |acc, value| acc.times(value);
}

/// The maximum, or the minimum; NaN if there is one.
pub(super) struct Extreme<V, const LARGEST: bool>(PhantomData<V>);

impl<V: Ordered<One: Ordered>, const LARGEST: bool> Monoid for Extreme<V, LARGEST> {
    type Vector = V;
    type One = Extreme<V::One, LARGEST>;

    #[inline(always)]
    fn empty() -> V::Elem {
        if LARGEST { V::Elem::LOWEST } else { V::Elem::HIGHEST }
    }

    #[inline(always)]
    fn step(acc: V, value: V) -> V {
        value.extreme::<LARGEST>(acc)
    }

    /// By the instruction for it, as if no element were NaN, and again by comparisons if one is.
    #[inline(always)]
    fn rows<S: LoadVector<Value = V>, const G: usize>(
        acc: [V; G],
        steps: &RowSequence<'_, S::Elem, impl RowStarts>,
        sides: [Side; G],
    ) -> [V; G] {
        // Several masks, so that no addition to a mask waits for the one before.
        let (mut quick, mut numbers) = (acc, [V::first(V::LEN); 4]);
        for step in 0..steps.count() {
            for g in (0..G).step_by(2) {
                let other = (g + 1).min(G - 1);
                let values: [V; 2] = [steps.load::<S>(step, sides[g]), steps.load::<S>(step, sides[other])];
                numbers[g / 2 % 4] = numbers[g / 2 % 4] & values[0].are_numbers(values[1]);
                quick[g] = values[0].of_two::<LARGEST>(quick[g]);
                quick[other] = values[1].of_two::<LARGEST>(quick[other]);
            }
        }
        if !numbers.into_iter().any(|numbers| (!numbers).any()) {
            return quick;
        }
        each::<Self, S, G>(acc, steps, sides)
    }

    #[inline(always)]
    fn block(acc: V, block: [V; MAX_VECTOR_LEN]) -> V {
        let (mut quick, mut numbers) = (acc, V::first(V::LEN));
        for place in (0..V::LEN).step_by(2) {
            let values = [block[place], block[(place + 1).min(V::LEN - 1)]];
            numbers = numbers & values[0].are_numbers(values[1]);
            quick = values[1].of_two::<LARGEST>(values[0].of_two::<LARGEST>(quick));
        }
        if (!numbers).any() { block.into_iter().take(V::LEN).fold(acc, Self::step) } else { quick }
    }
}
