//! Owns the last halvings of leaves of single results: several leaves are halved to one element each at once.
//! It does not know how a leaf became one vector (`tree.rs`).

use super::{Tree, push_one};
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

    /// Adds the leaves to the subtrees of their results.
    #[inline(always)]
    pub(super) fn join(&mut self, tree: &mut Tree<R::One>) {
        self.meet::<8>();
        self.meet::<4>();
        self.meet::<2>();
        self.meet::<1>();
        let (len, height) = (R::Vector::LEN, tree.lanes.ilog2() as usize);
        let (taken, first) = self.leaves[0];
        // Whole vectors of one leaf of each result go where the subtrees are, if there is nothing to combine
        // them with.
        if self.leaves[..self.count].get(len - 1) == Some(&(taken, first + len - 1))
            && taken >> height & 1 == 0
        {
            R::write(self.vectors[0], &mut tree.subtrees[height], first);
            self.count = 0;
            return;
        }
        // Leaves of one result that fill a subtree are combined here, in the same order.
        let last = (taken + (len - 1) * tree.lanes, first);
        if self.leaves[..self.count].get(len - 1) == Some(&last) && taken.is_multiple_of(len * tree.lanes) {
            self.halve::<1>();
            self.halve::<2>();
            self.halve::<4>();
            self.halve::<8>();
            R::write(self.vectors[0], &mut tree.leaf, 0);
            push_one::<R>(&mut tree.subtrees, taken, len * tree.lanes, first, R::One::read(&tree.leaf, 0));
            self.count = 0;
            return;
        }
        R::write(self.vectors[0], &mut tree.leaf, 0);
        for (place, &(taken, result)) in self.leaves[..self.count].iter().enumerate() {
            let one = R::One::read(&tree.leaf, place);
            push_one::<R>(&mut tree.subtrees, taken, tree.lanes, result, one);
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
