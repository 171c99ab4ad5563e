//! Owns what a reduction needs to say about itself: how rows of elements enter accumulators, and how accumulators meet.
//! It does not know the tree that decides which of them do (`tree.rs`).

use bytemuck::Pod;
use zerostride_ops::DType;

use super::Panel;
use super::vector::{Source, Vector};
use crate::lane::Lane;

/// What a reduction reads.
pub(super) type Elem<R> = <<R as Rule>::Source as Source>::Elem;

/// A reduction of one operation, in vectors of one kind. Methods on vectors are inlined into functions that are compiled
/// for an instruction set.
pub(super) trait Rule: Sized + Send + 'static {
    type Vector: Vector;
    /// How elements become vectors.
    type Source: Source<Value = Self::Vector>;
    /// The same on single elements.
    type One: Rule<Source: Source<Elem = Elem<Self>>, State = Self::State>;
    /// Accumulators in memory, each of their parts next to its like.
    type State: Send;
    /// A vector of accumulators.
    type Acc: Copy;
    type Out: Pod;
    /// The dtype of results.
    const RESULT: DType;
    /// Whether a vector of accumulators is one vector, and a step hardly more than an instruction.
    const IS_LIGHT: bool = false;

    /// Accumulators of no elements.
    fn empty(len: usize) -> Self::State;
    /// The bits that change in every element before it is looked at: of a rule that knows one order of elements.
    fn flips(&self) -> u64 {
        0
    }
    /// What each place of a leaf adds to the index of a row, as the bits of an element: of a rule that looks at indices.
    fn numbers(_places: usize, _width: usize) -> Vec<Elem<Self>> {
        Vec::new()
    }
    /// A vector of them.
    fn none() -> Self::Acc;
    fn read(state: &Self::State, at: usize) -> Self::Acc;
    fn write(acc: Self::Acc, state: &mut Self::State, at: usize);
    /// Accumulates rows in order, in as many vectors as there are accumulators, which are empty if they are `fresh`.
    fn steps<const G: usize>(
        acc: [Self::Acc; G],
        fresh: bool,
        steps: &Steps<'_, Elem<Self>, impl Rows>,
        sides: [Side; G],
    ) -> [Self::Acc; G];
    /// Takes all elements of results, a few dozen each and next to each other, into accumulators without any; whether it
    /// has a way to.
    fn lines(_state: &mut Self::State, _elements: &[Elem<Self>], _panel: &Panel) -> bool {
        false
    }
    /// What two accumulators say together.
    fn merge(left: Self::Acc, right: Self::Acc) -> Self::Acc;
    /// Two vectors of accumulators in which those that were `BY` apart have the same place ([`Vector::crossed`]).
    fn crossed<const BY: usize>(one: Self::Acc, other: Self::Acc) -> [Self::Acc; 2];
    /// The results of accumulators.
    fn results(&self, state: &Self::State, len: usize) -> impl Iterator<Item = Self::Out>;
}

/// Where the rows of some steps begin, in elements.
pub(super) trait Rows {
    /// Whether they are at even distances.
    const ARE_EVEN: bool;
    fn begin(&self, step: usize) -> usize;
    /// The last of the first `count` beginnings in memory.
    fn last(&self, count: usize) -> usize;
}

/// Rows at even distances.
pub(super) struct Even(pub(super) usize);

impl Rows for Even {
    const ARE_EVEN: bool = true;

    #[inline(always)]
    fn begin(&self, step: usize) -> usize {
        step * self.0
    }

    #[inline(always)]
    fn last(&self, count: usize) -> usize {
        count.saturating_sub(1).checked_mul(self.0).expect("elements are counted by a usize")
    }
}

impl Rows for &[usize] {
    const ARE_EVEN: bool = false;

    #[inline(always)]
    fn begin(&self, step: usize) -> usize {
        self[step]
    }

    #[inline(always)]
    fn last(&self, count: usize) -> usize {
        self[..count].iter().copied().max().unwrap_or(0)
    }
}

/// Rows of elements that enter accumulators, one after the other.
pub(super) struct Steps<'a, T, P> {
    elements: &'a [T],
    rows: P,
    /// Whole rows.
    count: usize,
    /// Places that have one element more.
    tail: usize,
    /// Elements that there are from the beginning of every row on.
    room: usize,
    /// The index among the reduced elements of the first row, and what a row adds to it.
    pub(super) first: usize,
    pub(super) advance: usize,
    /// What each place adds to the index of a row, if rows do not go across.
    pub(super) numbers: &'a [T],
    /// The bits that change in every element.
    pub(super) flips: u64,
}

/// The part of a row that one vector takes.
#[derive(Clone, Copy)]
pub(super) struct Side {
    /// Elements from the beginning of a row.
    pub(super) at: usize,
    /// The number of its first place, of which the tail are the first ones.
    pub(super) place: usize,
}

impl Side {
    /// From that place on, where places are next to each other.
    #[inline(always)]
    pub(super) fn of(place: usize) -> Side {
        Side { at: place, place }
    }

    /// This one and others, each so many elements and places after the one before.
    #[inline(always)]
    pub(super) fn row<const G: usize>(self, at: usize, place: usize) -> [Side; G] {
        let mut sides = [self; G];
        for (g, side) in sides.iter_mut().enumerate() {
            *side = Side { at: self.at + g * at, place: self.place + g * place };
        }
        sides
    }
}

impl<'a, T: Copy, P: Rows> Steps<'a, T, P> {
    /// Some whole rows, then as many places of one more as `tail` says. The first row is reduced element `first`, and a row
    /// adds `advance` to that, a place what `numbers` say. Of every element `flips` change.
    ///
    /// # Panics
    /// If a row begins outside the elements.
    #[inline(always)]
    pub(super) fn new(
        elements: &'a [T],
        rows: P,
        (count, tail): (usize, usize),
        (first, advance): (usize, usize),
        (numbers, flips): (&'a [T], u64),
    ) -> Self {
        let room = elements.len().checked_sub(rows.last(count)).expect("every row begins among the elements");
        Steps { elements, rows, count, tail, room, first, advance, numbers, flips }
    }

    /// Whole rows.
    #[inline(always)]
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Whether some places have one element more.
    #[inline(always)]
    pub(super) fn has_tail(&self) -> bool {
        self.tail > 0
    }

    /// Rows with those that are not whole.
    #[inline(always)]
    pub(super) fn all(&self) -> usize {
        self.count + usize::from(self.has_tail())
    }

    /// The elements of a whole row that a vector takes.
    ///
    /// # Panics
    /// If the row is none, or the elements are not all there.
    #[inline(always)]
    pub(super) fn load<S: Source<Elem = T>>(&self, step: usize, side: Side) -> S::Value {
        S::values(self.elements_of::<S::Value>(step, side))
    }

    /// The same in f64.
    ///
    /// # Panics
    /// As for [`load`](Steps::load).
    #[inline(always)]
    pub(super) fn load_wide<V: Vector<Elem = T> + Lane<Elem = T>>(&self, step: usize, side: Side) -> V::Wide {
        V::load_wide(self.elements_of::<V>(step, side))
    }

    #[inline(always)]
    fn elements_of<V: Vector>(&self, step: usize, side: Side) -> &'a [T] {
        // Neither depends on the row, so that loops over rows ask once, unlike a slice's own check.
        assert!(step < self.count && side.at <= self.room && V::LEN <= self.room - side.at);
        let at = self.rows.begin(step) + side.at;
        debug_assert!(self.elements.get(at..at + V::LEN).is_some());
        // SAFETY: `new` has seen that `room` elements follow the beginning of each of the first `count` rows: both kinds of
        // rows above say which of these comes last.
        unsafe { self.elements.get_unchecked(at..at + V::LEN) }
    }

    /// The elements of the places that have one more, and how many they are.
    #[inline(always)]
    pub(super) fn tail<S: Source<Elem = T>>(&self, side: Side) -> Option<(S::Value, usize)> {
        let count = self.tail.saturating_sub(side.place).min(S::Value::LEN);
        if count == 0 {
            return None;
        }
        let begin = self.rows.begin(self.count) + side.at;
        Some((S::some_values(&self.elements[begin..][..count]), count))
    }
}
