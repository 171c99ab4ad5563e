//! Owns the running of matrix products: batches in step with strides of 0 where they are stretched, threads.
//! It does not know the rank cases (`expr/product.rs`), nor how two matrices are multiplied (`kernels`).

use std::convert::Infallible;

use zerostride_kernels::{Matrix, ProductScratch, ProductSizes, matmul};

use crate::exec::elements::{ElementSlice, StridedDims};
use crate::interrupt;
use crate::plan::{Factor, Work};
use crate::threads::{crew, num_threads};

/// The least and the most rows that are multiplied at a time: every such block packs the right factor anew.
const BLOCK_ROWS: [usize; 2] = [128, 1024];

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
    // Some rows of one batch, the first of which has that number among those of all.
    let multiply = |first: usize, rows: usize, out: &mut [u8], scratch: &mut ProductScratch| {
        let [a, b] = [(a, a_elements, first % n), (b, b_elements, 0)].map(|(factor, elements, row)| {
            let &Factor { offset, rows: row_stride, columns: column_stride, .. } = factor;
            let [of_batch] = StridedDims::of(batch, &factor.batch).offsets(first / n);
            let ElementSlice { bytes, first, .. } =
                elements.at(offset + of_batch + row as isize * row_stride);
            Matrix { bytes, offset: first, row_stride, column_stride }
        });
        matmul(dtype, ProductSizes { n: rows, k, m }, a, b, out, scratch);
    };
    let [least, most] = BLOCK_ROWS;
    // Every thread has some blocks.
    let block = (n / (2 * num_threads())).next_multiple_of(least).min(most).max(least).min(n);
    let worth = GRAIN_MULTIPLICATIONS.div_ceil(m.saturating_mul(k).max(1));
    let (part, row) = (worth.next_multiple_of(block), m * dtype.item_size());
    let Ok(()) = crew::for_each(
        out.chunks_mut(part * row).enumerate(),
        || ProductScratch::asking(interrupt::check),
        |scratch, (index, mut rest)| {
            let mut first = index * part;
            while !rest.is_empty() {
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
