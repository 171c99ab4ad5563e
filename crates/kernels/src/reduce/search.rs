//! Owns the search for an extreme and where it stands first. NaN is more extreme than every number.

use std::marker::PhantomData;

use super::monoid::Number;
use super::rule::{Rule, Steps};

/// The search for the index of the largest element, or of the smallest.
#[derive(Clone, Copy)]
pub(super) struct Search<T, const LARGEST: bool>(pub(super) PhantomData<T>);

/// The most extreme elements of lanes and their indices; of no elements, an index that every other comes before.
#[derive(Clone, Copy)]
pub(super) struct Found<K, const W: usize> {
    value: [K; W],
    index: [i64; W],
}

/// The index of an element that every other comes before.
const NOWHERE: i64 = i64::MAX;

/// Whether `value` takes the place of `held`, which comes before it.
#[inline(always)]
#[allow(clippy::eq_op)]
fn beats<K: Copy + PartialOrd, const LARGEST: bool>(value: K, held: K) -> bool {
    let further = if LARGEST { value > held } else { value < held };
    // NaN is what differs from itself; the first one stays.
    further | ((value != value) & (held == held))
}

impl<T: Number, const LARGEST: bool> Rule for Search<T, LARGEST> {
    type In = T;
    type Out = i64;
    type One = Found<T, 1>;
    type Side<const W: usize> = Found<T, W>;
    const STEPS: usize = 16;

    #[inline(always)]
    fn empty() -> Self::One {
        Found { value: [if LARGEST { T::LOWEST } else { T::HIGHEST }], index: [NOWHERE] }
    }

    #[inline(always)]
    fn lane<const W: usize>(acc: Self::Side<W>, steps: &Steps<'_, T, W>) -> Self::Side<W> {
        let none = T::count(Self::STEPS);
        let (mut value, mut at) = (acc.value, [none; W]);
        for step in 0..steps.count {
            let row = steps.row(step);
            for lane in 0..W {
                let element = row[lane];
                let beats = beats::<_, LARGEST>(element, value[lane]);
                value[lane] = if beats { element } else { value[lane] };
                at[lane] = if beats { T::count(step) } else { at[lane] };
            }
        }
        let mut index = acc.index;
        for lane in 0..W {
            // The neutral value is the element itself where that is no more extreme.
            let found = if index[lane] == NOWHERE && steps.count > 0 && at[lane] == none {
                T::count(0)
            } else {
                at[lane]
            };
            index[lane] = if found == none { index[lane] } else { steps.index(T::steps(found), lane) };
        }
        let whole = Found { value, index };
        if steps.tail == 0 {
            return whole;
        }
        // A copy, so that what the loop above holds stays in registers: lanes are counted only here.
        let mut all = whole;
        for (lane, &element) in steps.tail().iter().enumerate() {
            if all.index[lane] == NOWHERE || beats::<_, LARGEST>(element, all.value[lane]) {
                (all.value[lane], all.index[lane]) = (element, steps.index(steps.count, lane));
            }
        }
        all
    }

    #[inline(always)]
    fn merge<const W: usize>(left: &Self::Side<W>, right: &Self::Side<W>) -> Self::Side<W> {
        let mut merged = *left;
        for lane in 0..W {
            // The lanes of a leaf interleave, so that either side may hold the earlier index.
            let (a, b) = ((left.value[lane], left.index[lane]), (right.value[lane], right.index[lane]));
            let (first, second) = if b.1 < a.1 { (b, a) } else { (a, b) };
            let kept = if beats::<_, LARGEST>(second.0, first.0) { second } else { first };
            (merged.value[lane], merged.index[lane]) = kept;
        }
        merged
    }

    #[inline(always)]
    fn gather<const W: usize>(ones: &[Self::One; W]) -> Self::Side<W> {
        Found { value: ones.map(|one| one.value[0]), index: ones.map(|one| one.index[0]) }
    }

    #[inline(always)]
    fn scatter<const W: usize>(side: &Self::Side<W>, ones: &mut [Self::One; W]) {
        for (lane, one) in ones.iter_mut().enumerate() {
            *one = Found { value: [side.value[lane]], index: [side.index[lane]] };
        }
    }

    #[inline(always)]
    fn result(&self, one: Self::One) -> i64 {
        one.index[0]
    }
}
