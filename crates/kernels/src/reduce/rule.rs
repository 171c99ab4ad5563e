//! Owns the interface between a reduction and the tree: how rows of elements are accumulated, and how
//! accumulators are combined. It does not know the tree (`tree.rs`).

use bytemuck::Pod;
use zerostride_ops::DType;

use super::fold::ReducePanel;
use super::vector::{LoadVector, Vector};
use crate::lane::Register;

/// The element type that a reduction reads.
pub(super) type Elem<R> = <<R as Rule>::Load as LoadVector>::Elem;

/// A reduction of one operation, in vectors of one kind. Methods on vectors are inlined into functions that
/// are compiled for an instruction set.
pub(super) trait Rule: Sized + Send + 'static {
    type Vector: Vector;
    /// How elements are loaded into vectors.
    type Load: LoadVector<Value = Self::Vector>;
    /// The same rule on single elements.
    type One: Rule<Load: LoadVector<Elem = Elem<Self>>, State = Self::State>;
    /// Accumulators in memory, as a structure of arrays.
    type State: Send;
    /// A vector of accumulators.
    type Acc: Copy;
    type Out: Pod;
    /// The dtype of results.
    const RESULT: DType;
    /// Vectors that are accumulated in turn, to hide the latency of a step: 2, 4 or 8, for whose accumulators
    /// there are registers.
    const AT_ONCE: usize = 4;
    /// Whether the rows of a lane may be taken in parts of any length.
    const IN_PARTS: bool = true;

    /// Accumulators of no elements.
    fn empty(len: usize) -> Self::State;
    /// The bits that are flipped in every element before it is compared, for a rule that knows only one
    /// order.
    fn flips(&self) -> u64 {
        0
    }
    /// What each position of a leaf adds to the index of a row, as the bits of an element, for a rule that
    /// records indices.
    fn numbers(_places: usize, _width: usize) -> Vec<Elem<Self>> {
        Vec::new()
    }
    /// A vector of accumulators of no elements.
    fn none() -> Self::Acc;
    fn read(state: &Self::State, at: usize) -> Self::Acc;
    fn write(acc: Self::Acc, state: &mut Self::State, at: usize);
    /// Accumulates rows in order, in as many vectors as there are accumulators; these are empty if they are
    /// `fresh`.
    fn steps<const G: usize>(
        acc: [Self::Acc; G],
        fresh: bool,
        steps: &RowSequence<'_, Elem<Self>, impl RowStarts>,
        sides: [Side; G],
    ) -> [Self::Acc; G];
    /// Accumulates results of a few dozen contiguous elements each, if the rule has a loop for that; whether
    /// it has.
    fn lines(_state: &mut Self::State, _elements: &[Elem<Self>], _panel: &ReducePanel) -> bool {
        false
    }
    /// Two accumulators combined.
    fn merge(left: Self::Acc, right: Self::Acc) -> Self::Acc;
    /// Two vectors of accumulators, in which positions that were `BY` apart now coincide
    /// ([`Vector::crossed`]).
    fn crossed<const BY: usize>(one: Self::Acc, other: Self::Acc) -> [Self::Acc; 2];
    /// The results of accumulators.
    fn results(&self, state: &Self::State, len: usize) -> impl Iterator<Item = Self::Out>;
}

/// Where rows start, in elements.
pub(super) trait RowStarts {
    /// Whether the distances are equal.
    const ARE_EVEN: bool;
    fn begin(&self, step: usize) -> usize;
    /// The highest of the first `count` starts.
    fn last(&self, count: usize) -> usize;
}

/// Starts at equal distances.
pub(super) struct EvenStarts(pub(super) usize);

impl RowStarts for EvenStarts {
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

impl RowStarts for &[usize] {
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

/// Rows of elements that are accumulated one after the other.
pub(super) struct RowSequence<'a, T, P> {
    elements: &'a [T],
    rows: P,
    /// Whole rows.
    count: usize,
    /// Positions that have one more element.
    tail: usize,
    /// Elements that follow the start of every row.
    room: usize,
    /// The index of the first row among the reduced elements, and its increment from row to row.
    pub(super) first: usize,
    pub(super) advance: usize,
    /// What each position adds to the index of a row; empty where a row is across results.
    pub(super) numbers: &'a [T],
    /// The bits that are flipped in every element.
    pub(super) flips: u64,
}

/// The part of a row that one vector takes.
#[derive(Clone, Copy)]
pub(super) struct Side {
    /// Elements from the start of the row.
    pub(super) at: usize,
    /// The number of its first position. Positions before the tail's length have one more element.
    pub(super) place: usize,
}

impl Side {
    /// From a position on, where positions are contiguous elements.
    #[inline(always)]
    pub(super) fn of(place: usize) -> Side {
        Side { at: place, place }
    }

    /// This one and the next, each so many elements and positions after the one before.
    #[inline(always)]
    pub(super) fn row<const G: usize>(self, at: usize, place: usize) -> [Side; G] {
        let mut sides = [self; G];
        for (g, side) in sides.iter_mut().enumerate() {
            *side = Side { at: self.at + g * at, place: self.place + g * place };
        }
        sides
    }
}

impl<'a, T: Copy, P: RowStarts> RowSequence<'a, T, P> {
    /// Whole rows, then one more element for the first `tail` positions. The first row is reduced element
    /// `first`, a row adds `advance` to that, and a position what `numbers` say. In every element the bits of
    /// `flips` are flipped.
    ///
    /// # Panics
    /// If a row starts outside the elements.
    #[inline(always)]
    pub(super) fn new(
        elements: &'a [T],
        rows: P,
        (count, tail): (usize, usize),
        (first, advance): (usize, usize),
        (numbers, flips): (&'a [T], u64),
    ) -> Self {
        let room = elements.len().checked_sub(rows.last(count)).expect("every row begins among the elements");
        RowSequence { elements, rows, count, tail, room, first, advance, numbers, flips }
    }

    /// Whole rows.
    #[inline(always)]
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Whether some positions have one more element.
    #[inline(always)]
    pub(super) fn has_tail(&self) -> bool {
        self.tail > 0
    }

    /// Rows, including one that is not whole.
    #[inline(always)]
    pub(super) fn all(&self) -> usize {
        self.count + usize::from(self.has_tail())
    }

    /// The elements of a whole row that a vector takes.
    ///
    /// # Panics
    /// If there is no such row, or the elements are not all there.
    #[inline(always)]
    pub(super) fn load<S: LoadVector<Elem = T>>(&self, step: usize, side: Side) -> S::Value {
        S::values(self.elements_of::<S::Value>(step, side))
    }

    /// The same in f64.
    ///
    /// # Panics
    /// As for [`load`](RowSequence::load).
    #[inline(always)]
    pub(super) fn load_wide<V: Vector<Elem = T> + Register<Elem = T>>(
        &self,
        step: usize,
        side: Side,
    ) -> V::Wide {
        V::load_wide(self.elements_of::<V>(step, side))
    }

    #[inline(always)]
    fn elements_of<V: Vector>(&self, step: usize, side: Side) -> &'a [T] {
        // Neither condition depends on the row, so the check is hoisted out of loops over rows, unlike that
        // of a slice.
        assert!(step < self.count && side.at <= self.room && V::LEN <= self.room - side.at);
        let at = self.rows.begin(step) + side.at;
        debug_assert!(self.elements.get(at..at + V::LEN).is_some());
        // SAFETY: `new` has checked that `room` elements follow the start of each of the first `count` rows,
        // of which `last` is the highest.
        unsafe { self.elements.get_unchecked(at..at + V::LEN) }
    }

    /// The elements of the positions that have one more, and their number.
    #[inline(always)]
    pub(super) fn tail<S: LoadVector<Elem = T>>(&self, side: Side) -> Option<(S::Value, usize)> {
        let count = self.tail.saturating_sub(side.place).min(S::Value::LEN);
        if count == 0 {
            return None;
        }
        let begin = self.rows.begin(self.count) + side.at;
        Some((S::some_values(&self.elements[begin..][..count]), count))
    }
}
