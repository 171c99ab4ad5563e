//! Owns `argmax` and `argmin`: the search for the first extreme element. NaN is more extreme than every
//! number. It does not know the tree.

use std::marker::PhantomData;

use zerostride_ops::DType;

use super::rule::{Elem, RowSequence, RowStarts, Rule, Side};
use super::vector::{Limits, Ordered};
use crate::lane::{AnyMask, Bits};

/// The search for the index of the maximum, after the bits of `flips` are flipped in each element: the sign
/// of a float to find the minimum, all bits of an integer; and the highest bit of an unsigned integer, which
/// is compared as a signed one.
pub(super) struct Search<V, O> {
    flips: u64,
    kind: PhantomData<fn(V, O)>,
}

impl<V, O> Search<V, O> {
    pub(super) fn new(flips: u64) -> Self {
        Search { flips, kind: PhantomData }
    }
}

/// What elements are compared as.
pub(super) trait Order<V: Ordered>: 'static {
    /// A float or an integer register: scalars of the two are in different registers of the processor.
    type Value: Copy;
    /// The element that no other one is less than.
    fn least() -> V::Elem;
    fn value(elements: V) -> Self::Value;
    fn elements(value: Self::Value) -> V;
    fn select(mask: V::Mask, yes: Self::Value, no: Self::Value) -> Self::Value;
    /// Where `value` replaces `held`.
    fn beats(value: Self::Value, held: Self::Value) -> V::Mask;
    /// The same, and the greater of the two, if neither is NaN: two independent instructions.
    fn beats_number(value: Self::Value, held: Self::Value) -> (V::Mask, Self::Value);
    /// Where neither is NaN.
    fn are_numbers(one: Self::Value, other: Self::Value) -> V::Mask;
}

/// The order of floats.
pub(super) struct FloatOrder;

impl<V: Ordered> Order<V> for FloatOrder {
    type Value = V;

    fn least() -> V::Elem {
        V::Elem::LOWEST
    }

    #[inline(always)]
    fn value(elements: V) -> V {
        elements
    }

    #[inline(always)]
    fn elements(value: V) -> V {
        value
    }

    #[inline(always)]
    fn select(mask: V::Mask, yes: V, no: V) -> V {
        V::select(mask, yes, no)
    }

    #[inline(always)]
    fn beats(value: V, held: V) -> V::Mask {
        value.beats::<true>(held)
    }

    #[inline(always)]
    fn beats_number(value: V, held: V) -> (V::Mask, V) {
        (held.is_less(value), value.of_two::<true>(held))
    }

    #[inline(always)]
    fn are_numbers(one: V, other: V) -> V::Mask {
        one.are_numbers(other)
    }
}

/// The order of integers as wide as the floats that they are loaded as.
pub(super) struct IntegerOrder;

impl<V: Ordered> Order<V> for IntegerOrder {
    type Value = V::Bits;

    fn least() -> V::Elem {
        V::Elem::from_bits(!V::Elem::LAST)
    }

    #[inline(always)]
    fn value(elements: V) -> V::Bits {
        elements.to_bits()
    }

    #[inline(always)]
    fn elements(value: V::Bits) -> V {
        V::from_bits(value)
    }

    #[inline(always)]
    fn select(mask: V::Mask, yes: V::Bits, no: V::Bits) -> V::Bits {
        V::Bits::select(mask, yes, no)
    }

    #[inline(always)]
    fn beats(value: V::Bits, held: V::Bits) -> V::Mask {
        held.signed_lt(value)
    }

    #[inline(always)]
    fn beats_number(value: V::Bits, held: V::Bits) -> (V::Mask, V::Bits) {
        let beats = held.signed_lt(value);
        (beats, V::Bits::select(beats, value, held))
    }

    #[inline(always)]
    fn are_numbers(_: V::Bits, _: V::Bits) -> V::Mask {
        V::first(V::LEN)
    }
}

/// The most extreme elements and their indices, which are stored as the bits of elements. Without elements it
/// is an index after all others. One mask selects both.
#[derive(Clone, Copy)]
pub(super) struct Found<T> {
    value: T,
    index: T,
}

/// What is found at each position of a vector.
type FoundIn<V, O> = Found<<O as Order<V>>::Value>;

#[inline(always)]
fn select<V: Ordered, O: Order<V>>(mask: V::Mask, yes: FoundIn<V, O>, no: FoundIn<V, O>) -> FoundIn<V, O> {
    Found { value: O::select(mask, yes.value, no.value), index: O::select(mask, yes.index, no.index) }
}

/// An index at every position.
#[inline(always)]
fn index<V: Ordered, O: Order<V>>(index: u64) -> O::Value {
    O::value(V::from_bits(V::Bits::splat(index)))
}

/// Where one index is less than the other.
#[inline(always)]
fn is_earlier<V: Ordered, O: Order<V>>(one: O::Value, other: O::Value) -> V::Mask {
    O::elements(one).to_bits().signed_lt(O::elements(other).to_bits())
}

#[inline(always)]
fn plus<V: Ordered, O: Order<V>>(index: O::Value, more: V::Bits) -> O::Value {
    O::value(V::from_bits(O::elements(index).to_bits() + more))
}

impl<V, O> Rule for Search<V, O>
where
    V: Ordered<One: Ordered>,
    O: Order<V> + Order<V::One>,
{
    type Vector = V;
    type Load = V;
    type One = Search<V::One, O>;
    type State = Found<Vec<Elem<Self>>>;
    type Acc = FoundIn<V, O>;
    type Out = i64;
    const RESULT: DType = DType::I64;

    fn empty(len: usize) -> Self::State {
        let nowhere = Elem::<Self>::from_bits(Elem::<Self>::LAST);
        Found { value: vec![<O as Order<V>>::least(); len], index: vec![nowhere; len] }
    }

    fn flips(&self) -> u64 {
        self.flips
    }

    fn numbers(places: usize, width: usize) -> Vec<Elem<Self>> {
        (0..places).map(|place| Elem::<Self>::from_bits((place / width) as u64)).collect()
    }

    #[inline(always)]
    fn none() -> FoundIn<V, O> {
        Found {
            value: <O as Order<V>>::value(V::splat(<O as Order<V>>::least())),
            index: index::<V, O>(Elem::<Self>::LAST),
        }
    }

    #[inline(always)]
    fn read(state: &Self::State, at: usize) -> FoundIn<V, O> {
        Found {
            value: <O as Order<V>>::value(V::load(&state.value[at..])),
            index: <O as Order<V>>::value(V::load(&state.index[at..])),
        }
    }

    #[inline(always)]
    fn write(acc: FoundIn<V, O>, state: &mut Self::State, at: usize) {
        <O as Order<V>>::elements(acc.value).store(&mut state.value[at..]);
        <O as Order<V>>::elements(acc.index).store(&mut state.index[at..]);
    }

    #[inline(always)]
    fn steps<const G: usize>(
        mut acc: [FoundIn<V, O>; G],
        _: bool,
        steps: &RowSequence<'_, Elem<Self>, impl RowStarts>,
        sides: [Side; G],
    ) -> [FoundIn<V, O>; G] {
        let row = |step: usize| index::<V, O>((steps.first + step * steps.advance) as u64);
        let flipped =
            |value: V| <O as Order<V>>::value(V::from_bits(value.to_bits() ^ V::Bits::splat(steps.flips)));
        let nowhere = Self::none().index;
        let mut places = [V::Bits::splat(0); G];
        if !steps.numbers.is_empty() {
            for g in 0..G {
                places[g] = V::load(&steps.numbers[sides[g].place..]).to_bits();
            }
        }
        // While rows are read, an element that is found has the index of its row. First as if no element were
        // NaN, and again by comparisons if one is.
        let (mut at, mut values) = ([nowhere; G], [nowhere; G]);
        let mut numbers = V::first(V::LEN);
        for g in 0..G {
            values[g] = acc[g].value;
        }
        for step in 0..steps.count() {
            let row = row(step);
            for g in 0..G {
                let value = flipped(steps.load::<V>(step, sides[g]));
                numbers = numbers & <O as Order<V>>::are_numbers(value, values[g]);
                let (beats, held) = <O as Order<V>>::beats_number(value, values[g]);
                (values[g], at[g]) = (held, <O as Order<V>>::select(beats, row, at[g]));
            }
        }
        if (!numbers).any() {
            at = [nowhere; G];
            for step in 0..steps.count() {
                let row = row(step);
                for g in 0..G {
                    let value = flipped(steps.load::<V>(step, sides[g]));
                    let beats = <O as Order<V>>::beats(value, acc[g].value);
                    acc[g].value = <O as Order<V>>::select(beats, value, acc[g].value);
                    at[g] = <O as Order<V>>::select(beats, row, at[g]);
                }
            }
        } else {
            for g in 0..G {
                acc[g].value = values[g];
            }
        }
        for g in 0..G {
            if steps.count() > 0 {
                // Where nothing is more extreme than the neutral value, the first element equals it.
                let is_held = is_earlier::<V, O>(acc[g].index, nowhere);
                let first = plus::<V, O>(row(0), places[g]);
                let before = <O as Order<V>>::select(is_held, acc[g].index, first);
                let is_found = is_earlier::<V, O>(at[g], nowhere);
                acc[g].index = <O as Order<V>>::select(is_found, plus::<V, O>(at[g], places[g]), before);
            }
            if let Some((value, count)) = steps.tail::<V>(sides[g]) {
                let found =
                    Found { value: flipped(value), index: plus::<V, O>(row(steps.count()), places[g]) };
                acc[g] = select::<V, O>(V::first(count), Self::merge(acc[g], found), acc[g]);
            }
        }
        acc
    }

    #[inline(always)]
    fn merge(left: FoundIn<V, O>, right: FoundIn<V, O>) -> FoundIn<V, O> {
        // Lanes interleave the elements, so that either side may hold the earlier index.
        let swaps = is_earlier::<V, O>(right.index, left.index);
        let (first, second) = (select::<V, O>(swaps, right, left), select::<V, O>(swaps, left, right));
        select::<V, O>(<O as Order<V>>::beats(second.value, first.value), second, first)
    }

    #[inline(always)]
    fn crossed<const BY: usize>(one: FoundIn<V, O>, other: FoundIn<V, O>) -> [FoundIn<V, O>; 2] {
        let elements = <O as Order<V>>::elements;
        let value = elements(one.value).crossed::<BY>(elements(other.value));
        let index = elements(one.index).crossed::<BY>(elements(other.index));
        let found = |value, index| Found {
            value: <O as Order<V>>::value(value),
            index: <O as Order<V>>::value(index),
        };
        [found(value[0], index[0]), found(value[1], index[1])]
    }

    fn results(&self, state: &Self::State, len: usize) -> impl Iterator<Item = i64> {
        state.index[..len].iter().map(|index| index.to_bits() as i64)
    }
}
