//! Owns the running of matrix products: batches in step with strides of 0 where they are stretched, threads.
//! It does not know the rank cases (`expr/product.rs`), nor how two matrices are multiplied (`kernels`).

use std::convert::Infallible;

use zerostride_kernels::{Matrices, Matrix, ProductScratch, ProductSizes, matmul, matmul_small};

use crate::exec::elements::{ElementSlice, StridedDims};
use crate::interrupt;
use crate::plan::{Factor, Work};
use crate::threads::{num_threads, parts};

/// The least and the most rows that are multiplied at a time: every such block packs the right factor anew.
const PART_ROWS: [usize; 2] = [128, 1024];

/// Multiplications below which a product is not worth dividing among threads.
const GRAIN_MULTIPLICATIONS: usize = 1 << 18;

/// Multiplies into `out`, in blocks of rows of each batch.
pub(in crate::exec) fn run(
    work: &Work,
    a_elements: ElementSlice<'_>,
    b_elements: ElementSlice<'_>,
    out: &mut [u8],
) {
    let &Work::Matmul { dtype, ref a, ref b, ref batch, n, m, k } = work else {
        unreachable!("the step is a matrix product")
    };
    // However many rows there are, nothing is to be done for no columns.
    if out.is_empty() {
        return;
    }
    // The factors of a batch, from a row of the left one on.
    let factors = |index: usize, row: usize| {
        [(a, a_elements, row), (b, b_elements, 0)].map(|(factor, elements, row)| {
            let &Factor { offset, rows: row_stride, columns: column_stride, .. } = factor;
            let [of_batch] = StridedDims::of(batch, &factor.batch).offsets(index);
            let ElementSlice { bytes, first, .. } =
                elements.at(offset + of_batch + row as isize * row_stride);
            Matrix { bytes, offset: first, row_stride, column_stride }
        })
    };
    // Some rows of one batch, the first of which has that number among those of all.
    let multiply = |first: usize, rows: usize, out: &mut [u8], scratch: &mut ProductScratch| {
        let [a, b] = factors(first / n, first % n);
        matmul(dtype, ProductSizes { n: rows, k, m }, a, b, out, scratch);
    };
    // Small batches from a number on, which lie at equal distances.
    let sizes = ProductSizes { n, k, m };
    let is_small = sizes.is_small(dtype);
    let multiply_small = |first: usize, count: usize, out: &mut [u8]| {
        let [first_a, first_b] = factors(first, 0);
        let apart = |factor: &Factor| factor.batch.last().copied().unwrap_or(0);
        let (a, b) =
            (Matrices { first: first_a, apart: apart(a) }, Matrices { first: first_b, apart: apart(b) });
        matmul_small(dtype, sizes, count, a, b, out);
    };
    let [least, most] = PART_ROWS;
    // Every thread has some blocks.
    let block = (n / (2 * num_threads())).next_multiple_of(least).min(most).max(least).min(n);
    let worth = GRAIN_MULTIPLICATIONS.div_ceil(m.saturating_mul(k).max(1));
    let (part, row) = (worth.next_multiple_of(block), m * dtype.item_size());
    let Ok(()) = parts::for_each(
        out.chunks_mut(part * row).enumerate(),
        || ProductScratch::asking(interrupt::check),
        |scratch, (index, mut rest)| {
            let mut first = index * part;
            while !rest.is_empty() {
                let alike = batch.last().map_or(1, |inner| inner - first / n % inner);
                let whole = alike.min(rest.len() / (n * row));
                if is_small && first.is_multiple_of(n) && whole > 1 {
                    let own;
                    (own, rest) = rest.split_at_mut(whole * n * row);
                    multiply_small(first / n, whole, own);
                    first += whole * n;
                    continue;
                }
                let rows = block.min(n - first % n).min(rest.len() / row);
                let own;
                (own, rest) = rest.split_at_mut(rows * row);
                multiply(first, rows, own, scratch);
                first += rows;
            }
            Ok::<_, Infallible>(())
        },
    );
}
