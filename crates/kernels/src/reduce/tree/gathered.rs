//! Owns leaves whose elements lie apart: they are brought next to each other, leaf by leaf, so that they are in the nearest cache
//! when they are taken. It does not know what takes them (`tree.rs`).

use bytemuck::{Pod, cast_slice, cast_slice_mut};

use crate::pack::PackDense;
use crate::reduce::{LEAF, Panel};

/// The leaves of a panel.
pub(super) struct Gathered<T> {
    panel: Panel,
    /// The copies of a whole leaf, and of the last one if that is not whole.
    whole: PackDense,
    last: PackDense,
    /// Room for a leaf.
    elements: Vec<T>,
}

impl<T: Pod> Gathered<T> {
    pub(super) fn new(panel: Panel) -> Self {
        let item = size_of::<T>();
        let pack = |rows| {
            PackDense::new(item, &[(rows, (panel.row_step * item) as isize), (panel.width, item as isize)])
        };
        let room = LEAF.min(panel.rows) * panel.width;
        let (whole, last) = (pack(LEAF), pack(panel.rows % LEAF));
        Gathered { panel, whole, last, elements: vec![T::zeroed(); room] }
    }

    /// Whether it is for panels of that form.
    pub(super) fn is_for(&self, panel: &Panel) -> bool {
        self.panel == *panel
    }

    /// The leaf of the result that begins with the first of these elements.
    ///
    /// # Panics
    /// If it reaches outside the elements.
    #[inline(never)]
    pub(super) fn leaf(&mut self, elements: &[T], leaf: usize) -> &[T] {
        let (pack, len) = if leaf < self.panel.rows / LEAF {
            (&self.whole, LEAF)
        } else {
            (&self.last, self.panel.rows % LEAF)
        };
        pack.run(cast_slice(elements), 0, cast_slice_mut(&mut self.elements[..len * self.panel.width]));
        &self.elements
    }
}
