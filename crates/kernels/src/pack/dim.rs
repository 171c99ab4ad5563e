//! Owns a dimension of a copy. It does not know which loop copies.

/// A dimension of a copy: elements at even distances on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackDim {
    /// How many elements.
    pub len: usize,
    /// Bytes from one element to the next where they are read.
    pub from: isize,
    /// Bytes from one element to the next where they are written.
    pub to: isize,
}

impl PackDim {
    pub(super) const ONE: PackDim = PackDim { len: 1, from: 0, to: 0 };
}
