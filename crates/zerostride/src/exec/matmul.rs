//! Owns the running of matrix products: batches in step with strides of 0 where they are stretched, threads. It does not
//! know the rank cases (`expr/product.rs`), nor how two matrices are multiplied (`kernels`).

use std::ops::Range;

use zerostride_kernels::{Matrix, ProductSizes, matmul};
use zerostride_ops::DType;
use zerostride_shape::Shape;

use super::join;
use crate::plan::{Factor, Work};

/// Rows that are multiplied at a time: fixed, so that threads cannot change the bits.
const ROWS: usize = 128;

/// Multiplications below which a product is not worth dividing among threads.
const GRAIN: usize = 1 << 18;

/// The elements of a factor: bytes, and the index that their first element has in the factor's layout.
pub(super) struct Elements<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) first: usize,
}

/// Multiplies into `out`, in blocks of rows of each batch.
pub(super) fn run(work: &Work, a_elements: Elements<'_>, b_elements: Elements<'_>, out: &mut [u8]) {
    let Work::Matmul { dtype, a, b, batch, n, m, k } = work else {
        unreachable!("the step is a matrix product")
    };
    let sizes = ProductSizes { n: *n, k: *k, m: *m };
    let product = Product { dtype: *dtype, sizes, batch, a: (a, a_elements), b: (b, b_elements) };
    // However many rows there are, nothing is to be done for no columns.
    if !out.is_empty() {
        product.divide(0..batch.numel() * n, out);
    }
}

struct Product<'a> {
    dtype: DType,
    sizes: ProductSizes,
    batch: &'a Shape,
    a: (&'a Factor, Elements<'a>),
    b: (&'a Factor, Elements<'a>),
}

impl Product<'_> {
    /// Rows of all batches, divided at the borders of blocks.
    fn divide(&self, rows: Range<usize>, out: &mut [u8]) {
        let first_end = self.block_end(rows.start);
        if first_end >= rows.end {
            return self.block(rows, out);
        }
        let middle = Some(self.block_end(rows.start + rows.len() / 2))
            .filter(|&end| end < rows.end)
            .unwrap_or(first_end);
        let (left, right) = out.split_at_mut((middle - rows.start) * self.sizes.m * self.dtype.item_size());
        let work = rows.len().saturating_mul(self.sizes.m).saturating_mul(self.sizes.k);
        if work < GRAIN {
            self.divide(rows.start..middle, left);
            self.divide(middle..rows.end, right);
        } else {
            join(|| self.divide(rows.start..middle, left), || self.divide(middle..rows.end, right));
        }
    }

    /// The end of the block of rows that a row is in.
    fn block_end(&self, row: usize) -> usize {
        let in_batch = row % self.sizes.n.max(1);
        row - in_batch + (in_batch / ROWS * ROWS + ROWS).min(self.sizes.n)
    }

    /// Some rows of one batch.
    fn block(&self, rows: Range<usize>, out: &mut [u8]) {
        if rows.is_empty() || out.is_empty() {
            return;
        }
        let n = self.sizes.n;
        let (mut rest, mut a_offset, mut b_offset) = (rows.start / n, self.a.0.offset, self.b.0.offset);
        for (dim, &size) in self.batch.iter().enumerate().rev() {
            let index = (rest % size) as isize;
            rest /= size;
            a_offset += index * self.a.0.batch[dim];
            b_offset += index * self.b.0.batch[dim];
        }
        a_offset += (rows.start % n) as isize * self.a.0.rows;
        let sizes = ProductSizes { n: rows.len(), ..self.sizes };
        matmul(self.dtype, sizes, matrix_of(&self.a, a_offset), matrix_of(&self.b, b_offset), out);
    }
}

fn matrix_of<'a>((factor, elements): &(&Factor, Elements<'a>), offset: isize) -> Matrix<'a> {
    Matrix {
        bytes: elements.bytes,
        offset: offset - elements.first as isize,
        row_stride: factor.rows,
        column_stride: factor.columns,
    }
}
