//! Owns what runs at once, without a plan or panels: one row of the table where a plan would cost about as
//! much as the arithmetic or more (`operation.rs`); expressions of few elements (`nodes.rs`); steps on
//! elements in cache (`step.rs`). Nothing here waits for other operations, and only results and copies of
//! operands are allocated. It knows no rules: anything unusual, an error included, is left to the plan by
//! returning `None`.

mod convert;
mod copy;
mod desk;
mod direct;
mod gather;
mod loops;
mod node;
mod nodes;
mod operation;
mod product;
mod ready_operand;
mod reduce;
mod row;
mod share;
mod step;
#[cfg(test)]
mod tests;

pub(crate) use copy::write as copy_into;
use node::{compute, is_single, map, operand_of};
pub(crate) use operation::{apply, apply_into};
pub(crate) use ready_operand::ReadyOperand;
pub(super) use step::StepInCache;
pub(crate) use step::run_plan;

use crate::Tensor;
use crate::expr::{Expr, Kind};

/// The value of an expression of few elements; of more, if it is one operation on tensors and numbers, one
/// reduction of a tensor, one product of two, or a tensor, which is copied.
pub(crate) fn evaluate(expr: &Expr) -> Option<Tensor> {
    match &expr.node().kind {
        Kind::Leaf { tensor, .. } => copy::evaluate(ReadyOperand::of(expr), tensor.dtype()),
        Kind::Map { .. } | Kind::Reduce { .. } | Kind::Matmul { .. } if is_single(expr) => {
            compute(expr, operand_of(expr))
        }
        _ => nodes::evaluate(expr),
    }
}

/// Writes the value of an expression of few elements, or one that is one operation on tensors and numbers, to
/// a tensor of its shape and dtype, whose elements are contiguous; `None` if nothing has been done.
pub(crate) fn evaluate_into(expr: &Expr, target: &Tensor) -> Option<()> {
    match &expr.node().kind {
        Kind::Map { .. } if is_single(expr) => map(expr, operand_of(expr), Some(target)).map(drop),
        _ => nodes::evaluate_into(expr, target),
    }
}
