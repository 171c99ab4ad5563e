//! Owns what a reduction needs to say about itself: how the elements of lanes enter accumulators, and how accumulators
//! meet. It does not know the tree that decides which of them do (`tree.rs`), nor memory beyond one leaf.

use zerostride_ops::{DType, Element};

/// Accumulators side by side: a register or more of each dtype.
pub(super) const SIDE: usize = 16;

/// A reduction of one operation and dtype.
///
/// Accumulators come side by side, `W` at a time, so that the loops over them compile to vector instructions. Methods
/// are inlined into functions that are compiled for an instruction set.
pub(super) trait Rule: Copy + Send + Sync + 'static {
    type In: Element;
    type Out: Element;
    const RESULT: DType = <Self::Out as Element>::DTYPE;
    /// One accumulator.
    type One: Copy + Send + 'static;
    /// `W` accumulators, each of their parts next to its like.
    type Side<const W: usize>: Copy;

    /// The accumulator of no elements.
    fn empty() -> Self::One;
    /// The most steps that enter accumulators at once.
    const STEPS: usize;

    /// Accumulates some more elements of `W` lanes, each in order: at most `STEPS`, and a tail only if they are the last.
    fn lane<const W: usize>(acc: Self::Side<W>, steps: &Steps<'_, Self::In, W>) -> Self::Side<W>;
    /// What two accumulators say together.
    fn merge<const W: usize>(left: &Self::Side<W>, right: &Self::Side<W>) -> Self::Side<W>;
    fn gather<const W: usize>(ones: &[Self::One; W]) -> Self::Side<W>;
    fn scatter<const W: usize>(side: &Self::Side<W>, ones: &mut [Self::One; W]);
    fn result(&self, one: Self::One) -> Self::Out;
}

/// The elements of `W` lanes of a leaf, step by step: rows of `W` neighbours in memory.
pub(super) struct Steps<'a, T: Element, const W: usize> {
    /// From the first element of the first row on.
    pub(super) elements: &'a [T::Stored],
    /// Elements from a row to the next.
    pub(super) stride: usize,
    /// Whole rows.
    pub(super) count: usize,
    /// How many lanes have one element more.
    pub(super) tail: usize,
    /// The index among the reduced elements of the first row.
    pub(super) first: usize,
    /// By how much a step advances that index.
    pub(super) advance: usize,
    /// What each lane adds to it.
    pub(super) places: [u32; W],
}

impl<'a, T: Element, const W: usize> Steps<'a, T, W> {
    #[inline(always)]
    pub(super) fn row(&self, step: usize) -> &'a [T::Stored; W] {
        self.elements[step * self.stride..].first_chunk().expect("a leaf holds its rows")
    }

    /// The elements of the lanes that have one more.
    #[inline(always)]
    pub(super) fn tail(&self) -> &'a [T::Stored] {
        match self.tail {
            0 => &[],
            tail => &self.elements[self.count * self.stride..][..tail],
        }
    }

    /// The index of a lane's element.
    #[inline(always)]
    pub(super) fn index(&self, step: usize, lane: usize) -> i64 {
        (self.first + step * self.advance + self.places[lane] as usize) as i64
    }
}

/// `right = left merged with right`, one by one.
#[inline(always)]
pub(super) fn merge_slices<R: Rule>(left: &[R::One], right: &mut [R::One]) {
    let (left_sides, left_rest) = left.as_chunks::<SIDE>();
    let (right_sides, right_rest) = right.as_chunks_mut::<SIDE>();
    for (left, right) in left_sides.iter().zip(right_sides) {
        let merged = R::merge(&R::gather(left), &R::gather(right));
        R::scatter(&merged, right);
    }
    for (left, right) in left_rest.iter().zip(right_rest) {
        let merged = R::merge(&R::gather(&[*left]), &R::gather(&[*right]));
        R::scatter(&merged, std::array::from_mut(right));
    }
}
