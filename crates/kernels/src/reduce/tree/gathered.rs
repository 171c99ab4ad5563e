//! Owns the leaves of strided elements: each is copied into a contiguous buffer in L1 just before it is
//! reduced. It does not know what reduces it (`tree.rs`).

use bytemuck::{Pod, cast_slice, cast_slice_mut};

use crate::pack::PackDense;
use crate::reduce::{LEAF_ELEMENTS, ReducePanel};

/// The leaves of a panel.
pub(super) struct Gathered<T> {
    panel: ReducePanel,
    /// The copies of a whole leaf, and of the last one if it is shorter.
    whole: PackDense,
    last: PackDense,
    /// The buffer of a leaf.
    elements: Vec<T>,
}

impl<T: Pod> Gathered<T> {
    pub(super) fn new(panel: ReducePanel) -> Self {
        let item = size_of::<T>();
        let pack = |rows| {
            PackDense::new(item, &[(rows, (panel.row_step * item) as isize), (panel.width, item as isize)])
        };
        let room = LEAF_ELEMENTS.min(panel.rows) * panel.width;
        let (whole, last) = (pack(LEAF_ELEMENTS), pack(panel.rows % LEAF_ELEMENTS));
        Gathered { panel, whole, last, elements: vec![T::zeroed(); room] }
    }

    /// Whether it was made for panels of this form.
    pub(super) fn is_for(&self, panel: &ReducePanel) -> bool {
        self.panel == *panel
    }

    /// The leaf of the result whose first element is the first of these.
    ///
    /// # Panics
    /// If it reaches outside the elements.
    #[inline(never)]
    pub(super) fn leaf(&mut self, elements: &[T], leaf: usize) -> &[T] {
        let (pack, len) = if leaf < self.panel.rows / LEAF_ELEMENTS {
            (&self.whole, LEAF_ELEMENTS)
        } else {
            (&self.last, self.panel.rows % LEAF_ELEMENTS)
        };
        pack.run(cast_slice(elements), 0, cast_slice_mut(&mut self.elements[..len * self.panel.width]));
        &self.elements
    }
}
