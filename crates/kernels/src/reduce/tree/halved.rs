//! Owns the last halvings of leaves of single results: several leaves are halved to one element each at once.
//! It does not know how a leaf became one vector (`tree.rs`).

use crate::reduce::rule::Rule;
use crate::reduce::vector::{MAX_VECTOR_LEN, Vector};

/// Leaves of single results, each halved to a vector. As many as a vector has positions are halved further
/// together, which takes hardly longer than one of them.
pub(super) struct Halved<R: Rule> {
    vectors: [R::Acc; MAX_VECTOR_LEN],
    /// The number of lanes that came before the leaf, and the number of its result.
    leaves: [(usize, usize); MAX_VECTOR_LEN],
    pub(super) count: usize,
}

impl<R: Rule> Halved<R> {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Halved { vectors: [R::none(); MAX_VECTOR_LEN], leaves: [(0, 0); MAX_VECTOR_LEN], count: 0 }
    }

    /// Takes the vector of a leaf.
    #[inline(always)]
    pub(super) fn push(&mut self, vector: R::Acc, leaf: (usize, usize)) {
        (self.vectors[self.count], self.leaves[self.count]) = (vector, leaf);
        self.count += 1;
    }

    /// Adds the leaves to the subtrees of their results, with room for a vector of them.
    #[inline(always)]
    pub(super) fn join(&mut self, (subtrees, lanes): (&mut [R::State], usize), room: &mut R::State) {
        self.meet::<8>();
        self.meet::<4>();
        self.meet::<2>();
        self.meet::<1>();
        let (len, height) = (R::Vector::LEN, lanes.ilog2() as usize);
        let (taken, first) = self.leaves[0];
        // Whole vectors of one leaf of each result go where the subtrees are, if there is nothing to combine
        // them with.
        if self.leaves[..self.count].get(len - 1) == Some(&(taken, first + len - 1))
            && taken >> height & 1 == 0
        {
            R::write(self.vectors[0], &mut subtrees[height], first);
            self.count = 0;
            return;
        }
        // Leaves of one result that fill a subtree are combined here, in the same order.
        let last = (taken + (len - 1) * lanes, first);
        if self.leaves[..self.count].get(len - 1) == Some(&last) && taken.is_multiple_of(len * lanes) {
            self.halve::<1>();
            self.halve::<2>();
            self.halve::<4>();
            self.halve::<8>();
            R::write(self.vectors[0], room, 0);
            push_one::<R>(subtrees, taken, len * lanes, first, R::One::read(room, 0));
            self.count = 0;
            return;
        }
        R::write(self.vectors[0], room, 0);
        for (place, &(taken, result)) in self.leaves[..self.count].iter().enumerate() {
            let one = R::One::read(room, place);
            push_one::<R>(subtrees, taken, lanes, result, one);
        }
        self.count = 0;
    }

    /// Combines positions of the first vector that are `BY` apart, if it has any.
    #[inline(always)]
    fn halve<const BY: usize>(&mut self) {
        if BY < R::Vector::LEN {
            let [left, right] = R::crossed::<BY>(self.vectors[0], self.vectors[0]);
            self.vectors[0] = R::merge(left, right);
        }
    }

    /// Combines positions that are `BY` apart, if a vector has any, and puts the halves of two vectors into
    /// one. In the end, the first vector holds each leaf at the position of its number.
    #[inline(always)]
    fn meet<const BY: usize>(&mut self) {
        if BY < R::Vector::LEN {
            for at in 0..BY.min(self.count) {
                let other = if at + BY < self.count { at + BY } else { at };
                let [left, right] = R::crossed::<BY>(self.vectors[at], self.vectors[other]);
                self.vectors[at] = R::merge(left, right);
            }
        }
    }
}

/// Adds the accumulator of one result's leaf to its subtrees, of which `taken` lanes are there.
#[inline(always)]
pub(super) fn push_one<R: Rule>(
    subtrees: &mut [R::State],
    taken: usize,
    lanes: usize,
    at: usize,
    mut one: <R::One as Rule>::Acc,
) {
    let mut height = lanes.ilog2() as usize;
    while taken >> height & 1 == 1 {
        one = R::One::merge(R::One::read(&subtrees[height], at), one);
        height += 1;
    }
    R::One::write(one, &mut subtrees[height], at);
}
