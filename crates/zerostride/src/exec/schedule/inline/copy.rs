//! Owns copies of a tensor's elements without a plan: contiguous ones, or to another tensor. It does not know
//! how elements are packed (`kernels`).

use std::convert::Infallible;

use zerostride_kernels::{copy_slice, store_scalar};
use zerostride_ops::DType;
use zerostride_shape::InternalOverlap;

use super::convert::convert;
use super::desk::reading;
use super::gather::{self, GATHERED_ELEMENTS};
use super::loops::Loops;
use super::ready_operand::ReadyOperand;
use super::share::share_out;
use crate::Tensor;
use crate::exec::cache;
use crate::exec::elements::ElementSlice;
use crate::exec::schedule::size::Size;
use crate::memory::Fresh;
use crate::plan::Cost;

/// Bytes of a row that takes longer to walk to than to copy.
const SHORT_ROW_BYTES: usize = 64;

/// A copy of a tensor, in its own dtype or converted; `None` where what is converted is one broadcast scalar.
pub(super) fn evaluate(value: ReadyOperand<'_>, to: DType) -> Option<Tensor> {
    let tensor = value.tensor()?;
    let mut loops = Loops::single();
    loops.walk(&[value])?;
    let (from, is_dense) = (tensor.dtype(), loops.dense[0]);
    let (item, cost) = (from.item_size(), Cost::of_copying(from, loops.numel));
    // A plan packs large transposed copies panel by panel.
    let is_taken = match from == to {
        true if is_dense => cache::is_memcpy(cost.bytes()),
        _ => Size::of(cost) == Size::Small,
    };
    if !is_taken {
        return None;
    }
    let layout = loops.layout().ok()?;
    let mut fresh = Fresh::arbitrary(loops.numel.checked_mul(to.item_size())?)?;
    reading(&[value], |[bytes], _| {
        let slice = ElementSlice { bytes, item, first: tensor.layout().offset() };
        let out = fresh.bytes_mut();
        if from != to {
            let elements = gather::in_order(slice, &loops, 0)?;
            let is_all = elements.bytes().len() == loops.numel * item;
            is_all.then(|| convert(from, to, elements.bytes(), out))?;
        } else if is_dense {
            let from = slice.row(loops.numel);
            let copy = |first: usize, to: &mut [u8]| {
                copy_slice(&from[first * item..][..to.len()], to);
                Ok::<_, Infallible>(())
            };
            let Ok(()) = share_out(cost, (out, item), cost.grain(), copy);
        } else {
            gather::pack(slice, &loops, 0, out);
        }
        Some(())
    })?;
    Some(Tensor::new(fresh.share(), layout, to))
}

/// Writes a number, or the elements of a tensor of its dtype, broadcast, to a tensor that shares no memory
/// with it; `None` if nothing has been done.
pub(crate) fn write(value: ReadyOperand<'_>, target: &Tensor) -> Option<()> {
    let (dtype, own) = (target.dtype(), ReadyOperand::Tensor(target, None));
    let item = dtype.item_size();
    let mut loops = Loops::single();
    loops.walk(&[value, own])?;
    let may_be_written =
        loops.sizes() == target.shape() && target.layout().has_internal_overlap() == InternalOverlap::No;
    let may_be_read = value.number().is_some()
        || value.tensor().is_some_and(|tensor| tensor.dtype() == dtype && tensor.is_apart_from(target));
    let dims = loops.joined();
    // Contiguous rows are copied here; a plan packs more than a few strided elements or short rows.
    let are_rows = match dims.get() {
        [] => true,
        &[(len, [0 | 1, 1]), ..] => len * item >= SHORT_ROW_BYTES || loops.numel <= GATHERED_ELEMENTS * len,
        _ => false,
    };
    let is_quick = loops.numel <= GATHERED_ELEMENTS
        || are_rows && Size::of(Cost::of_copying(dtype, loops.numel)) == Size::Small;
    if !(may_be_written && may_be_read && is_quick) {
        return None;
    }
    let mut number = [0; 16];
    if let Some(value) = value.number() {
        store_scalar(value, dtype, &mut number[..item]);
    }
    let mut writing = target.storage().try_write()?;
    reading(&[value], |[bytes], _| {
        let (bytes, first) = match value.layout() {
            Some(layout) => (bytes, layout.offset()),
            None => (&number[..item], 0),
        };
        gather::copy(
            dims,
            ElementSlice { bytes, item, first },
            (writing.bytes_mut(), target.layout().offset()),
        );
        Some(())
    })
}
