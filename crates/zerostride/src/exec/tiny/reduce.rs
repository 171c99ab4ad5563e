//! Owns reductions of a tensor whose elements are in cache: by one thread, where they lie, without a plan. It does not know
//! the tree in which elements meet (`kernels`), which makes the bits those of a plan, nor how a fold is handed them
//! (`exec/lying.rs`).

use smallvec::SmallVec;
use zerostride_kernels::Reducer;
use zerostride_ops::{DType, Op, Scalar};
use zerostride_shape::Layout;

use super::{Any, Desk, Value, apply, copy, with_desk};
use crate::Tensor;
use crate::exec::lying::{Form, Grid, Lying, widest};
use crate::expr::{Expr, Kind};
use crate::plan::{Cost, One, in_any_order};
use crate::tensor::{Fresh, Reading};

/// The value of an expression that is a reduction of a tensor.
pub(super) fn evaluate(expr: &Expr) -> Option<Tensor> {
    let Kind::Reduce { op, operand, dims, compute, correction, .. } = &expr.node().kind else { return None };
    let (value, meta) = (Any::of(operand), expr.meta().ok()?);
    let tensor = value.tensor()?;
    let (dtype, item) = (tensor.dtype(), tensor.dtype().item_size());
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
    let (kept, reduced) = split(tensor.layout(), dims)?;
    let (rows, row_step) = match reduced[..] {
        [] => (1, 1),
        [row] => row,
        _ => return None,
    };
    let ((outer, outer_step), (inner, column_step)) = match kept[..] {
        [] => ((1, 0), (1, 1)),
        [column] => ((1, 0), column),
        [outer, column] => (outer, column),
        _ => return None,
    };
    let is_taken = Reducer::takes(*op, *compute, dtype, rows) == dtype;
    let any_order = in_any_order(*op, dtype);
    let (results, even) = (outer * inner, Some(row_step));
    let interleaved = outer > 1 && outer_step.unsigned_abs() < row_step.unsigned_abs();
    let grid = Grid { inner, results, count: rows, any_order, interleaved, column_step, row_step: even };
    let form = grid.form(column_step == 1, true);
    // Many elements that are results themselves are copied faster.
    let are_many = rows == 1 && results > widest(*op);
    if !is_taken || are_many || !grid.is_direct(form) || Cost::of_reading(dtype, tensor.numel()).is_divided()
    {
        return None;
    }
    let reducer = Reducer::new(*op, *compute, dtype, rows, *correction);
    let most = if form == Form::Across { widest(*op).min(inner) } else { inner };
    let (result, reach) = (meta.dtype().item_size(), tensor.reach());
    let first = tensor.layout().offset() - (reach.start / item) as isize;
    let mut fresh = Fresh::arbitrary(grid.results.checked_mul(result)?)?;
    with_desk(|Desk { hazards, .. }| {
        let reading = Reading::of([value.storage()], hazards)?;
        if value.has_changed() {
            return None;
        }
        let bytes = &reading.bytes(0)[reach];
        let (mut fold, mut out) = (reducer.start(most), fresh.bytes_mut());
        for block in 0..outer as isize {
            for column in (0..inner).step_by(most) {
                let (columns, column_step) = (most.min(inner - column), column_step.unsigned_abs());
                let begin = first + block * outer_step + (column * column_step) as isize;
                let lying = Lying { bytes, item, form, columns, column_step, reduced: rows, any_order };
                fold.start(columns);
                lying.take(&mut *fold, 0..rows, |row| (begin + row as isize * row_step) as usize);
                let results;
                (results, out) = out.split_at_mut(columns * result);
                fold.finish(results);
            }
        }
        Some(())
    })?;
    Some(Tensor::new(fresh.share(), Layout::contiguous(meta.shape.clone()), meta.dtype()))
}

/// Dimensions with their strides, outermost first.
type Dims = SmallVec<[(usize, isize); 4]>;

/// The kept dimensions of a layout and the reduced ones, as few of each as lead to the same elements in the same order; `None`
/// if there are no elements.
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
