//! Owns the order in which the dimensions of results lie: that of the operands, as in PyTorch. It does not
//! know how they are computed (`lower.rs`).

use std::collections::HashMap;

use zerostride_shape::{Layout, Strides, result_order};

use super::reduction::{DimOrder, lying};
use super::uses::shape;
use crate::expr::{Expr, Kind, operands_first};

/// The layout of an expression's value in memory of its own: without gaps, its dimensions in the order in
/// which those of its operands lie, one operation after the other. What is only copied lies row-major, and so
/// does what is made to (`Node::row_major`).
pub(super) fn layout(expr: &Expr) -> Layout {
    let is_computed = matches!(expr.node().kind, Kind::Map { .. } | Kind::Cast { .. });
    if expr.node().in_order || expr.node().row_major || !is_computed {
        return Layout::contiguous(shape(expr).clone());
    }
    lies(expr)
}

/// How the value of an expression lies if each operation, one after the other, has a result in memory of its
/// own, and each view is one.
pub(crate) fn lies(expr: &Expr) -> Layout {
    let mut known: HashMap<usize, Layout> = HashMap::new();
    for expr in operands_first([expr], |_| true) {
        let own = shape(expr);
        let layout = match &expr.node().kind {
            Kind::Leaf { tensor, .. } => tensor.layout().clone(),
            // A view that there is none of is a copy.
            Kind::View { operand, view } => {
                view.apply(&known[&operand.id()]).unwrap_or_else(|_| Layout::contiguous(own.clone()))
            }
            Kind::Map { .. } | Kind::Cast { .. } if expr.node().row_major => Layout::contiguous(own.clone()),
            Kind::Map { .. } | Kind::Cast { .. } => {
                let stretched = |operand: &Expr| {
                    let layout = known[&operand.id()].broadcast_to(own).ok()?;
                    Some(layout.strides().clone())
                };
                let operands: Vec<Strides> =
                    expr.node().kind.operands().iter().filter_map(stretched).collect();
                let strides: Vec<&[isize]> = operands.iter().map(|strides| &**strides).collect();
                let order: DimOrder = result_order(own, &strides).unwrap_or_default().into();
                lying(own, &order)
            }
            Kind::Input(_)
            | Kind::Number(_)
            | Kind::Reduce { .. }
            | Kind::Matmul { .. }
            | Kind::Failed { .. } => Layout::contiguous(own.clone()),
        };
        known.insert(expr.id(), layout);
    }
    known.remove(&expr.id()).expect("the expression is the last of its nodes")
}
