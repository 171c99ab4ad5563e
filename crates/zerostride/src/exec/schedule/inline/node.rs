//! Owns the value of one node of an expression at once, given those of its operands. It does not know where
//! these come from.

use zerostride_ops::Inferred;

use super::operation::operation;
use super::ready_operand::ReadyOperand;
use super::row::Row;
use super::{copy, product, reduce};
use crate::Tensor;
use crate::expr::{Expr, Kind};

/// Whether none of an expression's operands has to be computed first.
pub(super) fn is_single(expr: &Expr) -> bool {
    !expr
        .node()
        .kind
        .operands()
        .iter()
        .any(|operand| matches!(ReadyOperand::of(operand), ReadyOperand::Other))
}

/// The operands of an expression.
pub(super) fn operand_of<'a>(expr: &'a Expr) -> impl Fn(usize) -> ReadyOperand<'a> {
    move |operand| ReadyOperand::of(&expr.node().kind.operands()[operand])
}

/// The value of an expression, given those of its operands.
pub(super) fn compute<'v>(expr: &Expr, value: impl Fn(usize) -> ReadyOperand<'v>) -> Option<Tensor> {
    match &expr.node().kind {
        Kind::Map { .. } => map(expr, value, None)?,
        Kind::Cast { dtype, .. } => copy::evaluate(value(0), *dtype),
        Kind::Reduce { .. } => reduce::evaluate(expr, value(0)),
        Kind::Matmul { .. } => product::evaluate(expr, [value(0), value(1)]),
        Kind::View { view, .. } => {
            let tensor = value(0).tensor()?;
            Some(tensor.with_layout(view.apply(tensor.layout()).ok()?))
        }
        _ => None,
    }
}

/// The value of an operation, given those of its operands, unless it has been written to a target; `None` if
/// nothing has been done.
pub(super) fn map<'v>(
    expr: &Expr,
    value: impl Fn(usize) -> ReadyOperand<'v>,
    target: Option<&Tensor>,
) -> Option<Option<Tensor>> {
    let Kind::Map { op, operands, compute } = &expr.node().kind else { return None };
    let inferred = Inferred { compute: *compute, result: expr.meta().ok()?.dtype() };
    let row = || Row::new(*op, inferred, operands.len());
    match operands.len() {
        1 => operation(row, &[0].map(value), target),
        2 => operation(row, &[0, 1].map(value), target),
        3 => operation(row, &[0, 1, 2].map(value), target),
        _ => None,
    }
}
