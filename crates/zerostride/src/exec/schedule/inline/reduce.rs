//! Owns reductions of a tensor whose elements are in cache: by one thread, in place, without a plan. It does
//! not know the tree in which elements are combined (`kernels`), which makes the bits those of a plan, nor
//! how a fold is handed them (`body/grid.rs`).

use std::ops::Range;

use smallvec::SmallVec;
use zerostride_kernels::{Reducer, pack_dense};
use zerostride_ops::{DType, Op, Scalar};
use zerostride_shape::Layout;

use super::convert::convert;
use super::{Value, apply, copy, reading};
use crate::Tensor;
use crate::exec::body::{FoldForm, Grid, widest};
use crate::exec::elements::StridedDims;
use crate::exec::schedule::size::Size;
use crate::expr::{Expr, Kind};
use crate::memory::Fresh;
use crate::plan::{Cost, One};

/// The most bytes of elements that are copied or converted so that they can be reduced.
const COPIED_BYTES: usize = 64 << 10;

/// The value of an expression that is a reduction of a tensor.
pub(super) fn evaluate(expr: &Expr, value: Value<'_>) -> Option<Tensor> {
    let Kind::Reduce { op, dims, compute, .. } = &expr.node().kind else { return None };
    let (tensor, meta) = (value.tensor()?, expr.meta().ok()?);
    let (dtype, layout) = (tensor.dtype(), Layout::contiguous(meta.shape.clone()));
    if dims.iter().all(|&dim| tensor.shape()[dim] == 1)
        && [*compute, meta.dtype()] == [dtype; 2]
        && let Some(one) = One::of(*op, dtype)
    {
        let result = match one {
            One::AfterZero => apply(Op::Add, &[value, Value::Number(Scalar::Int(0))]),
            One::Truth if dtype != DType::Bool => None,
            One::Element | One::Truth => copy::evaluate(value),
        };
        return Some(result?.with_layout(layout));
    }
    let reduction = Reduction::new(expr, tensor.layout(), dtype)?;
    let result = reading(&[value], |[bytes], _| reduction.run(bytes))?;
    Some(Tensor::new(result.share(), layout, meta.dtype()))
}

/// A reduction of strided elements.
struct Reduction {
    reducer: Reducer,
    grid: Grid,
    form: FoldForm,
    /// The results that are read at once.
    most: usize,
    /// The first element of those that are read.
    first: isize,
    /// Elements from one block of neighbouring results to the next.
    outer_step: isize,
    /// The dtype of the elements, that in which they are reduced, and the bytes of a result.
    dtype: DType,
    takes: DType,
    result: usize,
    /// The bytes of the elements in their storage.
    reach: Range<usize>,
    /// The dimensions in whose order they are copied before, and the byte at which they begin.
    copied: Option<(ByteDims, usize)>,
}

/// Sizes and strides in bytes, outermost first.
type ByteDims = SmallVec<[(usize, isize); 4]>;

impl Reduction {
    /// The reduction that an expression is, of elements of a layout and a dtype; `None` where a plan is
    /// faster.
    fn new(expr: &Expr, layout: &Layout, dtype: DType) -> Option<Reduction> {
        let Kind::Reduce { op, dims, compute, correction, .. } = &expr.node().kind else { return None };
        let is_reduced = |&(dim, _): &(usize, _)| dims.contains(&dim);
        let along = layout
            .shape()
            .iter()
            .zip(layout.strides())
            .map(|(&size, &stride)| (size, [stride]))
            .enumerate()
            .rev();
        let kept = StridedDims::joined(along.clone().filter(|dim| !is_reduced(dim)).map(|(_, dim)| dim));
        let reduced = StridedDims::joined(along.filter(is_reduced).map(|(_, dim)| dim));
        let (count, results) = (reduced.numel(), kept.numel());
        if count == 0 || results == 0 {
            return None;
        }
        let cost = Cost::of_reading(dtype, layout.numel());
        let takes = Reducer::takes(*op, *compute, dtype, count);
        // Many elements that are results themselves are copied faster.
        let widest = widest(*op, takes.item_size());
        let are_many = count == 1 && results > widest;
        let are_few = layout.numel() <= COPIED_BYTES / takes.item_size();
        if takes != dtype && !are_few || are_many || Size::of(cost) > Size::Small {
            return None;
        }
        let item = dtype.item_size();
        let reducer = Reducer::new(*op, *compute, takes, count, *correction);
        let grid = |inner, interleaved, (column_step, row_step)| {
            Grid::new(&reducer, (takes, count), (inner, results), (column_step, Some(row_step)), interleaved)
        };
        let (low, high) = layout.span()?;
        let make = |grid: Grid, outer_step: isize, copied: Option<_>| {
            let form = grid.form(grid.column_step == 1, true);
            grid.is_direct(form).then(|| Reduction {
                reducer,
                grid,
                form,
                most: if form == FoldForm::Across { grid.widest.min(grid.inner) } else { grid.inner },
                first: if copied.is_some() { 0 } else { layout.offset() - low },
                outer_step,
                dtype,
                takes,
                result: expr.dtype().map_or(item, DType::item_size),
                reach: low as usize * item..(high as usize + 1) * item,
                copied,
            })
        };
        let in_place = || {
            // All bytes of that range are converted.
            if takes != dtype && (high - low) as usize >= layout.numel() {
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
            make(grid(inner, interleaved, (column_step, row_step)), outer_step, None)
        };
        // Results side by side, one row of elements after the other.
        let copying = || {
            if cost.bytes() > COPIED_BYTES {
                return None;
            }
            let bytes = |&(size, [step]): &(usize, [isize; 1])| (size, step * item as isize);
            let dims = reduced.get().iter().rev().chain(kept.get().iter().rev()).map(bytes).collect();
            let grid = grid(results, false, (1, results as isize));
            make(grid, 0, Some((dims, (layout.offset() - low) as usize * item)))
        };
        in_place().or_else(copying)
    }

    /// The results, given the bytes of the storage that the elements are in. `None` if there is no memory for
    /// them.
    fn run(&self, storage: &[u8]) -> Option<Fresh> {
        let Reduction { ref reducer, ref grid, form, most, first, outer_step, takes, result, .. } = *self;
        let Grid { inner, results, count, column_step, row_step, .. } = *grid;
        let mut block = Fresh::arbitrary(results.checked_mul(result)?)?;
        let (mut copy, mut converted) = (None, None);
        let item = self.dtype.item_size();
        let mut bytes = &storage[self.reach.clone()];
        if let Some((dims, first)) = &self.copied {
            let copy: &mut Fresh = copy.insert(Fresh::arbitrary(results * count * item)?);
            pack_dense(item, dims, bytes, *first, copy.bytes_mut());
            bytes = copy.bytes();
        }
        if takes != self.dtype {
            let converted: &mut Fresh =
                converted.insert(Fresh::arbitrary(bytes.len() / item * takes.item_size())?);
            convert(self.dtype, takes, bytes, converted.bytes_mut());
            bytes = converted.bytes();
        }
        let (mut fold, mut out, row_step) = (reducer.start(most), block.bytes_mut(), row_step.unwrap_or(1));
        for outer in 0..(results / inner) as isize {
            for column in (0..inner).step_by(most) {
                let columns = most.min(inner - column);
                let begin = first + outer * outer_step + column as isize * column_step.abs();
                let begin = |row: usize| (begin + row as isize * row_step) as usize;
                fold.start(columns);
                grid.take(&mut *fold, (form, columns), (bytes, takes.item_size()), 0..count, begin);
                let own;
                (own, out) = out.split_at_mut(columns * result);
                fold.finish(own);
            }
        }
        Some(block)
    }
}
