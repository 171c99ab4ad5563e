//! Owns a matrix as a part of a slice of stored elements, and how sizes are taken in blocks. It does not know
//! what is multiplied.

use std::ops::Range;

use bytemuck::{Pod, cast_slice};

/// Rows of a packed block of the left factor, and bytes of a row of a packed block of the right one.
pub(super) const BLOCK_ROWS: usize = 128;
pub(super) const BLOCK_ROW_BYTES: usize = 2048;

/// A matrix in a slice of stored elements.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a> {
    /// The elements that the matrix is part of, aligned to their type.
    pub bytes: &'a [u8],
    /// The first element.
    pub offset: isize,
    /// Elements from one row to the next; 0 and negative steps are allowed.
    pub row_stride: isize,
    /// Elements from one column to the next.
    pub column_stride: isize,
}

/// The sizes of a product: `n` by `k` times `k` by `m`.
#[derive(Clone, Copy, Debug)]
pub struct ProductSizes {
    /// Rows of the left factor.
    pub n: usize,
    /// Columns of the left factor, rows of the right one.
    pub k: usize,
    /// Columns of the right factor.
    pub m: usize,
}

/// A range in parts of a size.
pub(super) fn parts(len: usize, size: usize) -> impl Iterator<Item = Range<usize>> {
    (0..len).step_by(size).map(move |first| first..len.min(first.saturating_add(size)))
}

impl<'a> Matrix<'a> {
    /// The matrix whose rows are the columns of this one.
    pub(super) fn transposed(self) -> Matrix<'a> {
        Matrix { row_stride: self.column_stride, column_stride: self.row_stride, ..self }
    }

    /// Where an element is.
    pub(super) fn place(&self, row: usize, column: usize) -> isize {
        self.offset + row as isize * self.row_stride + column as isize * self.column_stride
    }

    /// Asserts that every element of the matrix lies in the slice.
    pub(super) fn check<T: Pod>(&self, rows: usize, columns: usize) {
        let elements: &[T] = cast_slice(self.bytes);
        let reach = |stride: isize, size: usize| (stride as i128).saturating_mul(size as i128 - 1);
        let (down, across) = (reach(self.row_stride, rows), reach(self.column_stride, columns));
        let low = (self.offset as i128).saturating_add(down.min(0)).saturating_add(across.min(0));
        let high = (self.offset as i128).saturating_add(down.max(0)).saturating_add(across.max(0));
        assert!(low >= 0 && high < elements.len() as i128, "the matrix is not inside its slice");
    }
}
