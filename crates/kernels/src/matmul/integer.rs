//! Owns the products of integers, which wrap: the order of their sums changes nothing. It does not know
//! floats.

use std::ops::Range;

use bytemuck::{Pod, cast_slice};

use super::matrix::{BLOCK_ROW_BYTES, BLOCK_ROWS, Matrix, ProductSizes, parts};
use super::scratch::ProductScratch;
use crate::bodies::integer::Integer;
use crate::isa::{self, Task};

/// Columns of a packed block of the left factor.
const BLOCK_COLUMNS: usize = 128;

/// Writes the product of two matrices of integers that lie in their slices, row by row.
pub(super) fn multiply_integers<T: Integer + Pod>(
    ProductSizes { n, k, m }: ProductSizes,
    a: Matrix<'_>,
    b: Matrix<'_>,
    out: &mut [T],
    scratch: &mut ProductScratch,
) {
    out.fill(T::ZERO);
    let between = scratch.between;
    let width = BLOCK_ROW_BYTES / size_of::<T>();
    let deep = k.min(BLOCK_COLUMNS);
    let [own_a, own_b, _] = scratch.slices::<T>([deep * n.min(BLOCK_ROWS), deep * m.min(width), 0]);
    for columns in parts(m, width) {
        for depth in parts(k, BLOCK_COLUMNS) {
            let own_b = &mut own_b[..depth.len() * columns.len()];
            gather(&b, depth.clone(), columns.clone(), own_b);
            for rows in parts(n, BLOCK_ROWS) {
                between();
                let own_a = &mut own_a[..rows.len() * depth.len()];
                gather(&a, rows.clone(), depth.clone(), own_a);
                let out = &mut out[rows.start * m..rows.end * m];
                let (k, columns) = (depth.len(), columns.clone());
                isa::run_widest(IntegerBlock { k, m, columns, a: own_a, b: own_b, out });
            }
        }
    }
}

/// Copies the elements of some rows and columns, row by row.
fn gather<T: Pod>(from: &Matrix<'_>, rows: Range<usize>, columns: Range<usize>, to: &mut [T]) {
    let elements: &[T] = cast_slice(from.bytes);
    for (row, to) in rows.zip(to.chunks_exact_mut(columns.len())) {
        let first =
            from.offset + row as isize * from.row_stride + columns.start as isize * from.column_stride;
        if from.column_stride == 1 {
            to.copy_from_slice(&elements[first as usize..][..columns.len()]);
        } else {
            for (to, at) in to.iter_mut().zip(0..) {
                *to = elements[(first + at * from.column_stride) as usize];
            }
        }
    }
}

/// The loops over packed blocks, compiled for each instruction set.
struct IntegerBlock<'a, T> {
    k: usize,
    m: usize,
    /// Columns of the result that are added to.
    columns: Range<usize>,
    a: &'a [T],
    b: &'a [T],
    out: &'a mut [T],
}

impl<T: Integer> Task for IntegerBlock<'_, T> {
    #[inline(always)]
    fn run(self) {
        let IntegerBlock { k, m, columns, a, b, out } = self;
        for (out, a) in out.chunks_exact_mut(m).zip(a.chunks_exact(k)) {
            let out = &mut out[columns.clone()];
            for (&a, b) in a.iter().zip(b.chunks_exact(columns.len())) {
                for (out, &b) in out.iter_mut().zip(b) {
                    *out = out.wrapping_add(a.wrapping_mul(b));
                }
            }
        }
    }
}
