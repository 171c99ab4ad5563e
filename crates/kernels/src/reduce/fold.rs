//! Owns what a reduction in progress takes: rows of lanes or panels of leaves, in the order of the tree
//! (`mod.rs`). It does not know what is accumulated.

use std::any::Any;
use std::ops::Range;

/// Reduced elements of one leaf of the tree.
pub const LEAF_ELEMENTS: usize = 1024;

/// Accumulators of a leaf, by the number of reduced elements. Short reductions run in order, so that a vector
/// can hold many of them; long ones fill the registers.
pub const fn lanes(reduced: usize) -> usize {
    match reduced {
        0..128 => 1,
        128..1024 => 16,
        _ => 64,
    }
}

/// Whether a leaf may have so many accumulators.
pub(super) const fn are_lanes(count: usize) -> bool {
    count == lanes(1) || count == lanes(128) || count == lanes(LEAF_ELEMENTS)
}

/// The lanes of some leaves of a reduction of `reduced` elements, in the order in which [`Fold::rows`] takes
/// them: for each the index of its first row and how many rows it has, [`lanes`] apart. A lane of the last
/// leaf may have none.
///
/// ```
/// use zerostride_kernels::lane_rows;
/// assert_eq!(lane_rows(100, 0..100).collect::<Vec<_>>(), [(0, 100)]);
/// assert_eq!(lane_rows(200, 0..200).take(3).collect::<Vec<_>>(), [(0, 13), (8, 12), (4, 13)]);
/// ```
pub fn lane_rows(reduced: usize, rows: Range<usize>) -> impl Iterator<Item = (usize, usize)> {
    let lanes = lanes(reduced);
    let leaves =
        rows.clone().step_by(LEAF_ELEMENTS).map(move |start| (start, LEAF_ELEMENTS.min(rows.end - start)));
    leaves.flat_map(move |(start, count)| {
        (0..lanes).map(move |turn| {
            let lane = turn.reverse_bits() >> 1 >> (usize::BITS - 1 - lanes.ilog2());
            (start + lane, count.saturating_sub(lane).div_ceil(lanes))
        })
    })
}

/// A matrix of reduced elements by results in memory; strides are in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReducePanel {
    /// Reduced elements of each result.
    pub rows: usize,
    /// Results whose elements are contiguous in each row.
    pub width: usize,
    /// How many times there are that many results.
    pub columns: usize,
    /// From the first element of one such group to that of the next.
    pub column_step: usize,
    /// From one reduced element of a result to the next; it differs from `width` only if that is 1.
    pub row_step: usize,
    /// Rows of a leaf: [`LEAF_ELEMENTS`], or as many as there are [`lanes`] where each row is what has been
    /// accumulated in one of them ([`Reducer::accumulator`](crate::Reducer::accumulator)).
    pub leaf: usize,
}

/// A reduction in progress, over a block of neighbouring results.
pub trait Fold: Send {
    /// Starts anew with a block of that many results.
    ///
    /// # Panics
    /// If the fold was made for fewer.
    fn start(&mut self, columns: usize);
    /// Takes rows of the current lane, the first being reduced element `first`. Each has one element for
    /// every result, contiguous from an index of `elements` on. Lanes come in the order of [`lane_rows`]. All
    /// calls for a lane but the last, which says that it `ends`, bring a multiple of 16 rows. Order-free
    /// reductions of integers and bools, other than `argmax` and `argmin`, take rows in any order.
    ///
    /// # Panics
    /// If a row reaches outside `elements`, or they are not aligned.
    fn rows(&mut self, elements: &[u8], rows: &[usize], first: usize, ends: bool);
    /// Takes elements of all results, the first row being reduced element `first`. Panels come in order, and
    /// each holds whole leaves unless it is the last.
    ///
    /// # Panics
    /// If the panel reaches outside `elements`, they are not aligned, or the panel has other results than the
    /// block.
    fn leaves(&mut self, elements: &[u8], panel: &ReducePanel, first: usize);
    /// Appends the leaves that another fold of as many results has taken; their number must be a power of two
    /// unless they are the last.
    fn append(&mut self, other: Box<dyn Fold>);
    /// Writes the results of the block.
    fn finish(&mut self, out: &mut [u8]);
    /// For [`Fold::append`].
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}
