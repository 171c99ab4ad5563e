//! Owns matrix products of a few elements without a plan: by one thread, in place. It does not know how
//! matrices are multiplied (`body/matmul.rs`).

use zerostride_shape::Layout;

use super::desk::reading;
use super::ready_operand::ReadyOperand;
use crate::exec::body::multiply;
use crate::exec::elements::ElementSlice;
use crate::expr::Expr;
use crate::memory::Fresh;
use crate::plan::{ElementSource, plan_product};
use crate::{Tensor, interrupt};

/// Multiplications that take about ten times as long as a plan.
const MOST_MULTIPLICATIONS: usize = 1 << 18;

/// Whether a product of factors with these shapes is so small.
pub(super) fn is_small(left: &[usize], right: &[usize]) -> bool {
    // Each row of the left factor, of each batch, meets all of the right one or less.
    let rows = left
        .split_last()
        .map_or(0, |(_, rows)| rows.iter().fold(1, |all: usize, &rows| all.saturating_mul(rows)));
    right.iter().fold(rows, |all, &size| all.saturating_mul(size)) <= MOST_MULTIPLICATIONS
}

/// The value of an expression that is a product of two tensors.
pub(super) fn evaluate(expr: &Expr, values: [ReadyOperand<'_>; 2]) -> Option<Tensor> {
    let ([Some(a), Some(b)], meta) = (values.map(|value| value.tensor()), expr.meta().ok()?) else {
        return None;
    };
    if !is_small(a.shape(), b.shape()) {
        return None;
    }
    let (dtype, shape) = (meta.dtype(), &meta.shape);
    let [left, right] = [0, 1].map(ElementSource::Leaf);
    let work = plan_product(dtype, (left, a.layout()), (right, b.layout()));
    let mut out = Fresh::arbitrary(shape.numel().checked_mul(dtype.item_size())?)?;
    reading(&values, |[left, right], _| {
        interrupt::put_off(|| multiply(&work, elements(a, left), elements(b, right), out.bytes_mut()));
        Some(())
    })?;
    Some(Tensor::new(out.share(), Layout::contiguous(shape.clone()), dtype))
}

/// The elements of a tensor, in the bytes of its storage.
fn elements<'a>(tensor: &Tensor, storage: &'a [u8]) -> ElementSlice<'a> {
    let (item, reach) = (tensor.dtype().item_size(), tensor.reach());
    ElementSlice { first: -((reach.start / item) as isize), bytes: &storage[reach], item }
}
