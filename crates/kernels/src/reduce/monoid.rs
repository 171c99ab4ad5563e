//! Owns the reductions that are a monoid, a neutral element and an operation: sums, products, maxima, minima.
//! It does not know the order of elements.

use std::marker::PhantomData;

use bytemuck::Zeroable;
use zerostride_ops::{DType, Element};

use super::rule::{Elem, RowSequence, RowStarts, Rule, Side};
use super::vector::{Limits, LoadVector, MAX_VECTOR_LEN, Ordered, Vector};
use super::{ReducePanel, short};
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

/// The reduction by a monoid of elements that are loaded as `S`, accumulated as stored elements of dtype `T`.
pub(super) struct Accumulated<M, T, S>(PhantomData<fn(M, T, S)>);

impl<M, T, S> Accumulated<M, T, S> {
    pub(super) fn new() -> Self {
        Accumulated(PhantomData)
    }
}

impl<M: Monoid, T, S> Rule for Accumulated<M, T, S>
where
    T: Element<Stored = <M::Vector as Vector>::Elem> + 'static,
    S: LoadVector<Value = M::Vector>,
{
    type Vector = M::Vector;
    type Load = S;
    type One = Accumulated<M::One, T, S::One>;
    type State = Vec<T::Stored>;
    type Acc = M::Vector;
    type Out = T::Stored;
    const RESULT: DType = T::DTYPE;
    const IS_LIGHT: bool = true;

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
        acc: [M::Vector; G],
        _: bool,
        steps: &RowSequence<'_, Elem<Self>, impl RowStarts>,
        sides: [Side; G],
    ) -> [M::Vector; G] {
        let mut acc = M::rows::<S, G>(acc, steps, sides);
        // Tested once: most leaves are whole, and their accumulators stay in registers.
        if steps.has_tail() {
            for g in 0..G {
                if let Some((value, count)) = steps.tail::<S>(sides[g]) {
                    acc[g] = M::Vector::select(M::Vector::first(count), M::step(acc[g], value), acc[g]);
                }
            }
        }
        acc
    }

    #[inline(always)]
    fn lines(state: &mut Self::State, elements: &[Elem<Self>], panel: &ReducePanel) -> bool {
        short::take::<M, S>(state, elements, panel)
    }

    #[inline(always)]
    fn merge(left: M::Vector, right: M::Vector) -> M::Vector {
        M::step(left, right)
    }

    #[inline(always)]
    fn crossed<const BY: usize>(one: M::Vector, other: M::Vector) -> [M::Vector; 2] {
        one.crossed::<BY>(other)
    }

    fn results(&self, state: &Self::State, len: usize) -> impl Iterator<Item = T::Stored> {
        state[..len].iter().map(|&one| T::load(one).store())
    }
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

/// The maximum, or the minimum; the first NaN if there is one.
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
        V::select(value.beats::<LARGEST>(acc), value, acc)
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
