//! Owns the rule of reductions that are a monoid. It does not know which monoids there are (`monoid.rs`), nor
//! the order of elements.

use std::marker::PhantomData;

use zerostride_ops::{DType, Element};

use super::fold::ReducePanel;
use super::monoid::Monoid;
use super::rule::{Elem, RowSequence, RowStarts, Rule, Side};
use super::short;
use super::vector::{LoadVector, Vector};

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
    const AT_ONCE: usize = 8;

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
