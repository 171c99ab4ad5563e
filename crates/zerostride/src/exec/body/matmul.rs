//! Owns the running of matrix products: batches in step with strides of 0 where they are stretched, threads.
//! It does not know the rank cases (`expr/product.rs`), nor how two matrices are multiplied (`kernels`).

use std::convert::Infallible;
use std::ops::Range;

use zerostride_kernels::{Matrix, ProductScratch, ProductSizes, matmul};
use zerostride_ops::DType;
use zerostride_shape::Shape;

use crate::exec::elements::{ElementSlice, Steps};
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
    let Work::Matmul { dtype, a, b, batch, n, m, k } = work else {
        unreachable!("the step is a matrix product")
    };
    let sizes = ProductSizes { n: *n, k: *k, m: *m };
    let product = Product { dtype: *dtype, sizes, batch, a: (a, a_elements), b: (b, b_elements) };
    // However many rows there are, nothing is to be done for no columns.
    if !out.is_empty() {
        product.divide(out);
    }
}

struct Product<'a> {
    dtype: DType,
    sizes: ProductSizes,
    batch: &'a Shape,
    a: (&'a Factor, ElementSlice<'a>),
    b: (&'a Factor, ElementSlice<'a>),
}

impl Product<'_> {
    /// Blocks of rows of all batches, as many at a time as are worth a thread.
    fn divide(&self, out: &mut [u8]) {
        let ProductSizes { n, m, k } = self.sizes;
        let [least, most] = BLOCK_ROWS;
        // Every thread has some blocks.
        let rows = (n / (2 * num_threads())).next_multiple_of(least).min(most).max(least);
        let in_batch = n.div_ceil(rows);
        let blocks = self.batch.numel() * in_batch;
        let first_row = |block: usize| block / in_batch * n + block % in_batch * rows;
        let step = GRAIN_MULTIPLICATIONS.div_ceil(n.min(rows).saturating_mul(m).saturating_mul(k).max(1));
        let mut rest = out;
        let parts = (0..blocks.div_ceil(step)).map(|part| {
            let part = part * step..blocks.min((part + 1) * step);
            let rows = first_row(part.end) - first_row(part.start);
            let (own, others) = std::mem::take(&mut rest).split_at_mut(rows * m * self.dtype.item_size());
            rest = others;
            (part, own)
        });
        let Ok(()) = crew::for_each(
            parts,
            || ProductScratch::asking(interrupt::check),
            |scratch, (part, mut own)| {
                for block in part {
                    let rows = first_row(block)..first_row(block + 1);
                    let (own_rows, others) =
                        std::mem::take(&mut own).split_at_mut(rows.len() * m * self.dtype.item_size());
                    own = others;
                    self.block(rows, own_rows, scratch);
                }
                Ok::<_, Infallible>(())
            },
        );
    }

    /// Some rows of one batch.
    fn block(&self, rows: Range<usize>, out: &mut [u8], scratch: &mut ProductScratch) {
        if rows.is_empty() || out.is_empty() {
            return;
        }
        let n = self.sizes.n;
        let batch =
            |factor: &Factor| Steps { shape: self.batch, strides: &factor.batch }.offset(rows.start / n);
        let [a, b] =
            [self.a, self.b].map(|(factor, elements)| (factor, elements.at(factor.offset + batch(factor))));
        let row = (rows.start % n) as isize * a.0.rows;
        let sizes = ProductSizes { n: rows.len(), ..self.sizes };
        matmul(self.dtype, sizes, matrix((a.0, a.1.at(row))), matrix(b), out, scratch);
    }
}

fn matrix<'a>((factor, elements): (&Factor, ElementSlice<'a>)) -> Matrix<'a> {
    let ElementSlice { bytes, first, .. } = elements;
    Matrix { bytes, offset: first, row_stride: factor.rows, column_stride: factor.columns }
}
