//! Owns the step of a matrix product: which strides lead through the batches of each factor. It does not
//! multiply.

use smallvec::SmallVec;
use zerostride_kernels::ProductSizes;
use zerostride_ops::DType;
use zerostride_shape::{Layout, Shape, Strides, broadcast_shape};

use super::program::{ElementSource, Factor, Work};
use crate::expr::MatrixOperand;

/// The step of a product of two values in memory, which `infer` has accepted.
pub(crate) fn plan(
    dtype: DType,
    (a_source, a): (ElementSource, &Layout),
    (b_source, b): (ElementSource, &Layout),
) -> Work {
    let (left, right) = (MatrixOperand::new(a.shape(), true), MatrixOperand::new(b.shape(), false));
    let batch = broadcast_shape(&[left.batch, right.batch]).unwrap_or_default();
    let sizes = ProductSizes { n: left.rows, k: left.columns, m: right.columns };
    let factor = |source, layout: &Layout, left: bool| {
        let strides = layout.strides();
        let (outer, rows, columns) = match (strides.len(), left) {
            (1, true) => (&strides[..0], 0, strides[0]),
            (1, false) => (&strides[..0], strides[0], 0),
            (ndim, _) => (&strides[..ndim - 2], strides[ndim - 2], strides[ndim - 1]),
        };
        let missing = batch.ndim() - outer.len();
        let own = &layout.shape()[..outer.len()];
        let stretched = (0..batch.ndim()).map(|dim| match dim.checked_sub(missing) {
            Some(dim) if own[dim] > 1 => outer[dim],
            _ => 0,
        });
        let batch = Strides::new(&stretched.collect::<SmallVec<[isize; 8]>>()).unwrap_or_default();
        Factor { source, batch, rows, columns, offset: layout.offset() }
    };
    let (mut a, mut b) = (factor(a_source, a, true), factor(b_source, b, false));
    let (mut n, mut batch) = (sizes.n, batch);
    // Batches that share the right factor, and whose rows are as far apart as those of one batch, are rows of
    // one matrix.
    while let ([outer @ .., size], [outer_a @ .., apart], [outer_b @ .., 0]) =
        (&batch[..], &a.batch[..], &b.batch[..])
    {
        let is_in_step = *apart != 0 && (n == 1 || (n as isize).checked_mul(a.rows) == Some(*apart));
        let Some(rows) = n.checked_mul(*size).filter(|_| is_in_step) else { break };
        (a.rows, n) = (if n == 1 { *apart } else { a.rows }, rows);
        let strides = [outer_a, outer_b].map(|outer| Strides::new(outer).unwrap_or_default());
        batch = Shape::new(outer).unwrap_or_default();
        [a.batch, b.batch] = strides;
    }
    Work::Matmul { dtype, a, b, batch, n, m: sizes.m, k: sizes.k }
}
