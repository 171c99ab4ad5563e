//! Owns the replacement of nodes in an expression by others of the same value. It does not know why they are
//! replaced.

use std::collections::HashMap;

use zerostride_shape::Shape;

use super::{Expr, Kind, Meta, Operands, operands_first};
use crate::{Result, Tensor};

/// Expressions with placeholders (`Tensor::absent`) for operands that are not in memory, to be planned but
/// not run.
pub(crate) fn without_inputs(exprs: &[Expr]) -> Result<Vec<Expr>> {
    replace(exprs, &mut |node| {
        if !node.node().lazy {
            return Ok(Some(node.clone()));
        }
        let Kind::Input(_) = node.node().kind else { return Ok(None) };
        let meta = node.meta()?;
        Tensor::absent(meta.dtype(), meta.shape.clone()).map(|tensor| Some(tensor.into()))
    })
}

/// Expressions with the nodes replaced for which `other` returns a replacement. `other` is called from the
/// roots down, once for each node, and not below a replaced node.
///
/// # Errors
/// The first error of `other`.
pub(crate) fn replace(
    exprs: &[Expr],
    other: &mut dyn FnMut(&Expr) -> Result<Option<Expr>>,
) -> Result<Vec<Expr>> {
    let (mut done, mut failed) = (HashMap::new(), None);
    let kept = operands_first(exprs, |node| {
        if failed.is_some() {
            return false;
        }
        match other(node) {
            Ok(None) => return true,
            Ok(Some(new)) => _ = done.insert(node.id(), new),
            Err(error) => failed = Some(error),
        }
        false
    });
    if let Some(error) = failed {
        return Err(error);
    }
    for node in kept {
        let operands = node.node().kind.operands().iter();
        let operands = operands.map(|operand| done.get(&operand.id()).unwrap_or(operand).clone());
        let new = node.with_operands(operands.collect(), node.meta()?.shape.clone());
        done.insert(node.id(), new);
    }
    Ok(exprs.iter().map(|expr| done.get(&expr.id()).unwrap_or(expr).clone()).collect())
}

impl Expr {
    /// The same operation on other operands of the same dtypes, whose result has that shape. Dtypes are not
    /// inferred again.
    pub(crate) fn with_operands(&self, operands: Operands, shape: Shape) -> Expr {
        let meta = self.meta().map(|meta| Meta { shape, typed: meta.typed });
        let mut operands = operands.into_iter();
        let kind = match &self.node().kind {
            Kind::Map { op, compute, .. } => {
                Kind::Map { op: *op, operands: operands.collect(), compute: *compute }
            }
            Kind::Cast { dtype, .. } => Kind::Cast { operand: next(&mut operands), dtype: *dtype },
            Kind::Reduce { op, dims, keepdim, compute, correction, .. } => Kind::Reduce {
                op: *op,
                operand: next(&mut operands),
                dims: dims.clone(),
                keepdim: *keepdim,
                compute: *compute,
                correction: *correction,
            },
            Kind::View { view, .. } => Kind::View { operand: next(&mut operands), view: view.clone() },
            Kind::Matmul { .. } => Kind::Matmul { factors: [next(&mut operands), next(&mut operands)] },
            Kind::Leaf { .. } | Kind::Input(_) | Kind::Number(_) | Kind::Failed { .. } => {
                return self.clone();
            }
        };
        let new = Expr::build(kind, meta).with_slope(self.node().slope);
        if self.node().row_major { new.in_row_major_order() } else { new }
    }
}

fn next(operands: &mut impl Iterator<Item = Expr>) -> Expr {
    operands.next().expect("an operation has as many operands as before")
}
