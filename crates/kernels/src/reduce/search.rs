//! Owns the search for an extreme and where it stands first. NaN is more extreme than every number.

use std::marker::PhantomData;

use zerostride_ops::DType;

use super::rule::{Rows, Rule, Side, Steps};
use super::vector::{Limits, Ordered, Vector};

/// The search for the index of the largest element, or of the smallest.
pub(super) struct Search<V, const LARGEST: bool>(pub(super) PhantomData<fn(V)>);

/// The most extreme elements and their indices, which are the bits of elements: of no elements, one that every other
/// comes before.
#[derive(Clone, Copy)]
pub(super) struct Found<T> {
    value: T,
    index: T,
}

impl<V: Vector> Found<V> {
    #[inline(always)]
    fn select(mask: V::Mask, yes: Self, no: Self) -> Self {
        Found { value: V::select(mask, yes.value, no.value), index: V::select(mask, yes.index, no.index) }
    }
}

impl<V: Ordered<One: Ordered>, const LARGEST: bool> Rule for Search<V, LARGEST> {
    type Vector = V;
    type One = Search<V::One, LARGEST>;
    type State = Found<Vec<V::Elem>>;
    type Acc = Found<V>;
    type Out = i64;
    const RESULT: DType = DType::I64;

    fn empty(len: usize) -> Self::State {
        let value = if LARGEST { V::Elem::LOWEST } else { V::Elem::HIGHEST };
        Found { value: vec![value; len], index: vec![V::Elem::from_index(V::Elem::NOWHERE); len] }
    }

    #[inline(always)]
    fn none() -> Found<V> {
        let value = if LARGEST { V::Elem::LOWEST } else { V::Elem::HIGHEST };
        Found { value: V::splat(value), index: V::splat(V::Elem::from_index(V::Elem::NOWHERE)) }
    }

    #[inline(always)]
    fn read(state: &Self::State, at: usize) -> Found<V> {
        Found { value: V::load(&state.value[at..]), index: V::load(&state.index[at..]) }
    }

    #[inline(always)]
    fn write(acc: Found<V>, state: &mut Self::State, at: usize) {
        acc.value.store(&mut state.value[at..]);
        acc.index.store(&mut state.index[at..]);
    }

    #[inline(always)]
    fn steps<const G: usize>(
        mut acc: [Found<V>; G],
        _: bool,
        steps: &Steps<'_, V::Elem, impl Rows>,
        sides: [Side; G],
    ) -> [Found<V>; G] {
        let index = |step: usize| V::Elem::from_index(steps.first + step * steps.advance);
        let nowhere = Self::none().index;
        let mut places = [nowhere; G];
        for g in 0..G {
            places[g] = sides[g].indices::<V>(V::Elem::from_index);
        }
        // While the rows are looked through, what was found in one has the index of the row.
        let mut at = [nowhere; G];
        for step in 0..steps.count() {
            let row = V::splat(index(step));
            for g in 0..G {
                let value: V = steps.load(step, sides[g]);
                let beats = value.beats::<LARGEST>(acc[g].value);
                acc[g].value = V::select(beats, value, acc[g].value);
                at[g] = V::select(beats, row, at[g]);
            }
        }
        for g in 0..G {
            if steps.count() > 0 {
                // The neutral value is the first element itself where nothing is more extreme.
                let first = V::splat(index(0)).plus_bits(places[g]);
                let first = V::select(acc[g].index.earlier(nowhere), acc[g].index, first);
                acc[g].index = V::select(at[g].earlier(nowhere), at[g].plus_bits(places[g]), first);
            }
            if let Some((value, count)) = steps.tail(sides[g]) {
                let found = Found { value, index: V::splat(index(steps.count())).plus_bits(places[g]) };
                acc[g] = Found::select(V::first(count), Self::merge(acc[g], found), acc[g]);
            }
        }
        acc
    }

    #[inline(always)]
    fn merge(left: Found<V>, right: Found<V>) -> Found<V> {
        // The lanes of a leaf interleave, so that either side may hold the earlier index.
        let swaps = right.index.earlier(left.index);
        let (first, second) = (Found::select(swaps, right, left), Found::select(swaps, left, right));
        Found::select(second.value.beats::<LARGEST>(first.value), second, first)
    }

    #[inline(always)]
    fn turned<const BY: usize>(acc: Found<V>) -> Found<V> {
        Found { value: acc.value.turned::<BY>(), index: acc.index.turned::<BY>() }
    }

    fn results(&self, state: &Self::State, len: usize) -> impl Iterator<Item = i64> {
        state.index[..len].iter().map(|index| index.to_index())
    }
}
