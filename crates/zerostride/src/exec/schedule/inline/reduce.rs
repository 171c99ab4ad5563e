//! Owns reductions of a tensor whose elements are in cache: by one thread, where they lie, without a plan. It
//! does not know the tree in which elements meet (`kernels`), which makes the bits those of a plan, nor how a
//! fold is handed them (`exec/lying.rs`).

use std::ops::Range;

use smallvec::SmallVec;
use zerostride_kernels::{Reducer, pack_dense};
use zerostride_ops::{DType, Op, Scalar};
use zerostride_shape::Layout;

use super::convert::convert;
use super::{Any, Desk, Value, apply, copy, with_desk};
use crate::Tensor;
use crate::exec::body::{FoldForm, Grid, widest};
use crate::expr::{Expr, Kind};
use crate::memory::{Fresh, Reading};
use crate::plan::{Cost, One};

/// The most bytes of elements that are copied or converted so that they can be reduced.
const COPIED_BYTES: usize = 64 << 10;

/// The value of an expression that is a reduction of a tensor.
pub(super) fn evaluate(expr: &Expr) -> Option<Tensor> {
    let Kind::Reduce { op, operand, dims, compute, .. } = &expr.node().kind else { return None };
    let (value, meta) = (Any::of(operand), expr.meta().ok()?);
    let tensor = value.tensor()?;
    let dtype = tensor.dtype();
    if dims.iter().all(|&dim| tensor.shape()[dim] == 1)
        && [*compute, meta.dtype()] == [dtype; 2]
        && let Some(one) = One::of(*op, dtype)
    {
        let result = match one {
            One::AfterZero => apply(Op::Add, &[value, Any::Number(Scalar::Int(0))]),
            One::Truth if dtype != DType::Bool => None,
            One::Element | One::Truth => copy::evaluate(value),
        }?;
        return Some(Tensor::new(result.storage().clone(), Layout::contiguous(meta.shape.clone()), dtype));
    }
    let reduction = Reduction::new(expr, tensor.layout(), dtype)?;
    let result = with_desk(|Desk { hazards, .. }| {
        let reading = Reading::of([value.storage()], hazards)?;
        if value.has_changed() { None } else { reduction.run(reading.bytes(0)) }
    })?;
    Some(Tensor::new(result.share(), Layout::contiguous(meta.shape.clone()), meta.dtype()))
}

/// A reduction of elements that lie somewhere.
pub(super) struct Reduction {
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
    /// Where the elements' bytes lie.
    reach: Range<usize>,
    /// The dimensions in whose order they are copied before, with strides in bytes, and the byte at which
    /// they begin.
    copied: Option<(Dims, usize)>,
}

impl Reduction {
    /// The reduction that an expression is, of elements of a layout and a dtype; `None` where a plan is
    /// faster.
    pub(super) fn new(expr: &Expr, layout: &Layout, dtype: DType) -> Option<Reduction> {
        let Kind::Reduce { op, dims, compute, correction, .. } = &expr.node().kind else { return None };
        let (kept, reduced) = split(layout, dims)?;
        let numel = |dims: &Dims| dims.iter().map(|(size, _)| size).product::<usize>();
        let (count, results) = (numel(&reduced), numel(&kept));
        let cost = Cost::of_reading(dtype, layout.numel());
        let takes = Reducer::takes(*op, *compute, dtype, count);
        // Many elements that are results themselves are copied faster.
        let widest = widest(*op, takes.item_size());
        let are_many = count == 1 && results > widest;
        let are_few = layout.numel() <= COPIED_BYTES / takes.item_size();
        if takes != dtype && !are_few || are_many || cost.is_divided() {
            return None;
        }
        let (item, any_order) = (dtype.item_size(), op.is_in_any_order(takes));
        let reducer = Reducer::new(*op, *compute, takes, count, *correction);
        let lines = reducer.takes_lines();
        let grid = |inner, interleaved, (column_step, row_step)| Grid {
            inner,
            results,
            widest,
            count,
            any_order,
            lines,
            interleaved,
            column_step,
            row_step: Some(row_step),
        };
        let (low, high) = layout.span()?;
        let make = |grid: Grid, outer_step: isize, copied: Option<(Dims, usize)>| {
            let form = grid.form(grid.column_step == 1, true);
            grid.is_direct(form).then(|| Reduction {
                reducer,
                grid,
                form,
                most: if form == FoldForm::Across { widest.min(grid.inner) } else { grid.inner },
                first: if copied.is_some() { 0 } else { layout.offset() - low },
                outer_step,
                dtype,
                takes,
                result: expr.dtype().map_or(item, DType::item_size),
                reach: low as usize * item..(high as usize + 1) * item,
                copied,
            })
        };
        let lying = || {
            // What is converted is all that lies there.
            if takes != dtype && (high - low) as usize >= layout.numel() {
                return None;
            }
            let row_step = match reduced[..] {
                [] => 1,
                [(_, step)] => step,
                _ => return None,
            };
            let ((outer, outer_step), (inner, column_step)) = match kept[..] {
                [] => ((1, 0), (1, 1)),
                [column] => ((1, 0), column),
                [outer, column] => (outer, column),
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
            let bytes = |&(size, step): &(usize, isize)| (size, step * item as isize);
            let dims = reduced.iter().chain(&kept).map(bytes).collect();
            let grid = grid(results, false, (1, results as isize));
            make(grid, 0, Some((dims, (layout.offset() - low) as usize * item)))
        };
        lying().or_else(copying)
    }

    /// The results, given the bytes of the storage that the elements are in. `None` if there is no memory for
    /// them.
    pub(super) fn run(&self, storage: &[u8]) -> Option<Fresh> {
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

/// Dimensions with their strides, outermost first.
type Dims = SmallVec<[(usize, isize); 4]>;

/// The kept dimensions of a layout and the reduced ones, as few of each as lead to the same elements in the
/// same order; `None` if there are no elements.
fn split(layout: &Layout, reduced: &[usize]) -> Option<(Dims, Dims)> {
    let mut parts = (Dims::new(), Dims::new());
    for (dim, (&size, &stride)) in layout.shape().iter().zip(layout.strides()).enumerate() {
        let part = if reduced.contains(&dim) { &mut parts.1 } else { &mut parts.0 };
        match part.last_mut() {
            _ if size == 0 => return None,
            _ if size == 1 => {}
            Some((outer, step)) if stride.checked_mul(size as isize) == Some(*step) => {
                (*outer, *step) = (*outer * size, stride);
            }
            _ => part.push((size, stride)),
        }
    }
    Some(parts)
}
