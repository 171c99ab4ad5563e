//! Owns reductions of elements in cache: by one thread, in place, of a tensor without a plan, or as a plan's
//! step. It does not know the tree in which elements are combined (`kernels`), which makes the bits those of
//! other ways, nor how a fold is handed them (`body/fold.rs`).

use smallvec::SmallVec;
use zerostride_kernels::{Reducer, pack_dense};
use zerostride_ops::DType;
use zerostride_shape::Layout;

use super::convert::convert;
use super::desk::reading;
use super::ready_operand::ReadyOperand;
use crate::Tensor;
use crate::exec::elements::{ElementSlice, StridedDims};
use crate::exec::schedule::size::Size;
use crate::expr::{Expr, Kind};
use crate::memory::Fresh;
use crate::plan::{Cost, FoldForm, Grid, widest};

/// The most bytes of a tensor's elements that are copied or converted so that they can be reduced.
pub(super) const COPIED_BYTES: usize = 64 << 10;

/// Elements of stretched results from which on a plan, which computes these once, is faster.
const STRETCHED_ELEMENTS: usize = 1 << 13;

/// The value of an expression that is a reduction of a tensor.
pub(super) fn evaluate(expr: &Expr, value: ReadyOperand<'_>) -> Option<Tensor> {
    let (tensor, meta) = (value.tensor()?, expr.meta().ok()?);
    let Kind::Reduce { op, dims, compute, correction, .. } = &expr.node().kind else { return None };
    let (layout, dtype) = (tensor.layout(), tensor.dtype());
    let is_reduced = |&(dim, _): &(usize, _)| dims.contains(&dim);
    let along = layout.shape().iter().zip(layout.strides()).map(|(&size, &stride)| (size, [stride]));
    let along = along.enumerate().rev();
    let kept = StridedDims::joined(along.clone().filter(|dim| !is_reduced(dim)).map(|(_, dim)| dim));
    let reduced = StridedDims::joined(along.filter(is_reduced).map(|(_, dim)| dim));
    let takes = Reducer::takes(*op, *compute, dtype, reduced.numel());
    let reducer = Reducer::new(*op, *compute, takes, reduced.numel(), *correction);
    let copied_bytes = COPIED_BYTES;
    let reduction = StridedReduction { reducer, dtype, takes, kept, reduced, copied_bytes };
    let mut results = Fresh::arbitrary(meta.shape.numel() * meta.dtype().item_size())?;
    reading(&[value], |[bytes], _| {
        let elements = ElementSlice { bytes, item: dtype.item_size(), first: layout.offset() };
        reduction.run(elements, results.bytes_mut())
    })?;
    Some(Tensor::new(results.share(), Layout::contiguous(meta.shape.clone()), meta.dtype()))
}

/// A reduction of elements along strided dimensions, wherever they are.
pub(super) struct StridedReduction {
    pub(super) reducer: Reducer,
    /// The dtype of the elements, and that of those which folds take.
    pub(super) dtype: DType,
    pub(super) takes: DType,
    pub(super) kept: StridedDims<1>,
    pub(super) reduced: StridedDims<1>,
    /// The most bytes of elements that may be copied or converted so that they can be reduced.
    pub(super) copied_bytes: usize,
}

impl StridedReduction {
    /// Writes the results in row-major order of the kept dimensions; `None` where a plan is faster, or there
    /// is no memory.
    pub(super) fn run(
        &self,
        ElementSlice { bytes, first, .. }: ElementSlice<'_>,
        mut out: &mut [u8],
    ) -> Option<()> {
        let StridedReduction { reducer, dtype, takes, ref kept, ref reduced, copied_bytes } = *self;
        let (count, results) = (reduced.numel(), kept.numel());
        if count == 0 || results == 0 {
            return None;
        }
        let numel = count * results;
        let cost = Cost::of_reading(dtype, numel);
        // Many elements that are results themselves are copied faster.
        let are_many = count == 1 && results > widest(reducer.op(), takes.item_size());
        let are_few = numel <= copied_bytes / takes.item_size();
        let are_stretched = kept.get().iter().any(|&(_, [step])| step == 0);
        if are_stretched && numel >= STRETCHED_ELEMENTS {
            return None;
        }
        if takes != dtype && !are_few || are_many || Size::of(cost) > Size::Small {
            return None;
        }
        // The grid of elements and the form in which a fold reads them in place, if it does.
        let direct = |inner, interleaved, (column_step, row_step)| {
            let steps = (column_step, Some(row_step));
            let grid = Grid::new(&reducer, (takes, count), (inner, results), steps, interleaved);
            let form = grid.form(column_step == 1, true);
            grid.is_direct(form).then_some((grid, form))
        };
        let item = dtype.item_size();
        let reach = |dims: &StridedDims<1>, pick: fn(isize, isize) -> isize| -> isize {
            dims.get().iter().map(|&(size, [step])| pick(0, (size as isize - 1) * step)).sum()
        };
        let [low, high] =
            [isize::min, isize::max].map(|pick| first + reach(kept, pick) + reach(reduced, pick));
        let first = first - low;
        let in_place = || {
            // All bytes of that range are converted.
            if takes != dtype && (high - low) as usize >= numel {
                return None;
            }
            let row_step = match *reduced.get() {
                [] => 1,
                [(_, [step])] => step,
                _ => return None,
            };
            let ((outer, [outer_step]), (inner, [column_step])) = match *kept.get() {
                [] => ((1, [0]), (1, [1])),
                [column] => ((1, [0]), column),
                [column, outer] => (outer, column),
                _ => return None,
            };
            let interleaved = outer > 1 && outer_step.unsigned_abs() < row_step.unsigned_abs();
            Some((direct(inner, interleaved, (column_step, row_step))?, outer_step))
        };
        let mut bytes = &bytes[low as usize * item..(high as usize + 1) * item];
        let (mut copy, mut converted);
        let ((grid, form), outer_step, first) = match in_place() {
            Some((direct, outer_step)) => (direct, outer_step, first),
            None if cost.bytes() > copied_bytes => return None,
            // A copy has results side by side, one row of elements after the other.
            None => {
                let direct = direct(results, false, (1, results as isize))?;
                let dims = reduced.get().iter().rev().chain(kept.get().iter().rev());
                let dims: SmallVec<[_; 4]> =
                    dims.map(|&(size, [step])| (size, step * item as isize)).collect();
                copy = Fresh::arbitrary(numel * item)?;
                pack_dense(item, &dims, bytes, first as usize * item, copy.bytes_mut());
                bytes = copy.bytes();
                (direct, 0, 0)
            }
        };
        if takes != dtype {
            converted = Fresh::arbitrary(bytes.len() / item * takes.item_size())?;
            convert(dtype, takes, bytes, converted.bytes_mut());
            bytes = converted.bytes();
        }
        // The results that are read at once.
        let most = if form == FoldForm::Across { grid.widest.min(grid.inner) } else { grid.inner };
        let result = out.len() / results;
        let (mut fold, row_step) = (reducer.start(most), grid.row_step.unwrap_or(1));
        for outer in 0..(results / grid.inner) as isize {
            for column in (0..grid.inner).step_by(most) {
                let columns = most.min(grid.inner - column);
                let begin = first + outer * outer_step + column as isize * grid.column_step.abs();
                let begin = |row: usize| (begin + row as isize * row_step) as usize;
                fold.start(columns);
                grid.take(&mut *fold, (form, columns), (bytes, takes.item_size()), 0..count, begin);
                let own;
                (own, out) = out.split_at_mut(columns * result);
                fold.finish(own);
            }
        }
        Some(())
    }
}
