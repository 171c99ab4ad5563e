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

/// Elements of a vector, and of a line in other memory order, that are packed at a time.
const LINE_ELEMENTS: usize = 4096;

/// Lines that are multiplied before the caller is asked whether to go on.
const UNASKED_LINES: usize = 2048;

/// Writes the product of two matrices of integers that lie in their slices, row by row.
pub(super) fn multiply_integers<T: Integer + Pod>(
    sizes: ProductSizes,
    a: Matrix<'_>,
    b: Matrix<'_>,
    out: &mut [T],
    scratch: &mut ProductScratch,
) {
    out.fill(T::ZERO);
    let ProductSizes { n, k, m } = sizes;
    // A vector by lines along which the depth is contiguous, or by elements that are side by side.
    match (n, m) {
        (_, 1) if n > 1 && a.row_stride == 1 => {
            let sizes = ProductSizes { n: 1, k, m: n };
            multiply_blocks(sizes, b.transposed(), a.transposed(), out, scratch);
        }
        (_, 1) => multiply_lines(k, a, b, out, scratch),
        (1, _) if b.row_stride == 1 && b.column_stride != 1 => {
            multiply_lines(k, b.transposed(), a.transposed(), out, scratch);
        }
        _ => multiply_blocks(sizes, a, b, out, scratch),
    }
}

/// Adds the products of lines, the rows of a matrix, by a vector, a column.
fn multiply_lines<T: Integer + Pod>(
    k: usize,
    lines: Matrix<'_>,
    vector: Matrix<'_>,
    out: &mut [T],
    scratch: &mut ProductScratch,
) {
    let between = scratch.between;
    let elements: &[T] = cast_slice(lines.bytes);
    let [own_line, own_vector, _] = scratch.slices::<T>([k.min(LINE_ELEMENTS), k.min(LINE_ELEMENTS), 0]);
    for depth in parts(k, LINE_ELEMENTS) {
        let own_vector = &mut own_vector[..depth.len()];
        gather(&vector.transposed(), 0..1, depth.clone(), own_vector);
        for (row, out) in out.iter_mut().enumerate() {
            if row.is_multiple_of(UNASKED_LINES) {
                between();
            }
            let line = if lines.column_stride == 1 {
                &elements[lines.place(row, depth.start) as usize..][..depth.len()]
            } else {
                let own = &mut own_line[..depth.len()];
                gather(&lines, row..row + 1, depth.clone(), own);
                own
            };
            isa::run_widest(IntegerLines { line, vector: own_vector, out });
        }
    }
}

/// Adds the product of two matrices block by block.
fn multiply_blocks<T: Integer + Pod>(
    ProductSizes { n, k, m }: ProductSizes,
    a: Matrix<'_>,
    b: Matrix<'_>,
    out: &mut [T],
    scratch: &mut ProductScratch,
) {
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
        let first = from.place(row, columns.start);
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

/// The product of a line by a vector, compiled for each instruction set.
struct IntegerLines<'a, T> {
    line: &'a [T],
    vector: &'a [T],
    out: &'a mut T,
}

impl<T: Integer> Task for IntegerLines<'_, T> {
    #[inline(always)]
    fn run(self) {
        let IntegerLines { line, vector, out } = self;
        let products = line.iter().zip(vector).map(|(&a, &b)| a.wrapping_mul(b));
        *out = products.fold(*out, T::wrapping_add);
    }
}
