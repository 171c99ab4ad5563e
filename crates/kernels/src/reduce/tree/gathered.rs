//! Owns leaves whose elements lie apart: they are brought next to each other, leaf by leaf, so that they are in the nearest cache
//! when they are taken. It does not know what takes them (`tree.rs`).

use bytemuck::{Pod, cast_slice, cast_slice_mut};

use super::SIDES;
use crate::pack::PackDense;
use crate::reduce::{LEAF, Panel};

/// The leaves of a panel.
pub(super) struct Gathered<T> {
    panel: Panel,
    /// The copies of a whole leaf, and of the last one if that is not whole.
    whole: PackDense,
    last: PackDense,
    /// Room for the leaves of a few results.
    elements: Vec<T>,
}

impl<T: Pod> Gathered<T> {
    pub(super) fn new(panel: Panel) -> Self {
        let item = size_of::<T>();
        let pack = |rows| {
            PackDense::new(item, &[(rows, (panel.row_step * item) as isize), (panel.width, item as isize)])
        };
        let room = SIDES.min(panel.columns) * LEAF.min(panel.rows) * panel.width;
        let (whole, last) = (pack(LEAF), pack(panel.rows % LEAF));
        Gathered { panel, whole, last, elements: vec![T::zeroed(); room] }
    }

    /// Whether it is for panels of that form.
    pub(super) fn is_for(&self, panel: &Panel) -> bool {
        self.panel == *panel
    }

    /// The same leaf of neighbouring results, at most as many as are worked on side by side, the first of which begins with the
    /// first of these elements; and how many elements lead from one to the next.
    ///
    /// # Panics
    /// If a leaf reaches outside the elements.
    #[inline(never)]
    pub(super) fn leaves(&mut self, elements: &[T], leaf: usize, results: usize) -> (&[T], usize) {
        let Panel { rows, width, column_step, .. } = self.panel;
        let (pack, len) = if leaf < rows / LEAF { (&self.whole, LEAF) } else { (&self.last, rows % LEAF) };
        let step = LEAF.min(rows) * width;
        for (result, room) in self.elements.chunks_mut(step).take(results).enumerate() {
            let first = result * column_step * size_of::<T>();
            pack.run(cast_slice(elements), first, cast_slice_mut(&mut room[..len * width]));
        }
        (&self.elements, step)
    }
}
