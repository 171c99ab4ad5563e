//! Owns the exchange of nodes of an expression for others of the same value. It does not know why they are exchanged.

use std::collections::HashMap;

use zerostride_shape::Shape;

use super::{Expr, Kind, Meta, Operands};
use crate::Result;

impl Expr {
    /// The expression with other nodes in place of those for which `other` has one. Only nodes over elements that are not
    /// in memory are looked at, from the root down, each once.
    ///
    /// # Errors
    /// The first of `other`.
    pub(crate) fn replace(&self, other: &mut dyn FnMut(&Expr) -> Result<Option<Expr>>) -> Result<Expr> {
        self.replaced(other, &mut HashMap::new())
    }

    fn replaced(
        &self,
        other: &mut dyn FnMut(&Expr) -> Result<Option<Expr>>,
        done: &mut HashMap<usize, Expr>,
    ) -> Result<Expr> {
        if !self.node().lazy {
            return Ok(self.clone());
        }
        if let Some(known) = done.get(&self.id()) {
            return Ok(known.clone());
        }
        let new = match other(self)? {
            Some(new) => new,
            None => {
                let operands = self.node().kind.operands();
                let operands = operands.iter().map(|operand| operand.replaced(other, done));
                self.with_operands(operands.collect::<Result<_>>()?, self.meta()?.shape.clone())
            }
        };
        done.insert(self.id(), new.clone());
        Ok(new)
    }

    /// The same operation on other operands of the same dtypes, which give that shape. Dtypes are not settled anew.
    pub(crate) fn with_operands(&self, operands: Operands, shape: Shape) -> Expr {
        let meta = self.meta().map(|meta| Meta { shape, typed: meta.typed });
        let mut operands = operands.into_iter();
        let mut next = || operands.next().expect("an operation has as many operands as before");
        let kind = match &self.node().kind {
            Kind::Map { op, compute, .. } => {
                return Expr::build(
                    Kind::Map { op: *op, operands: operands.collect(), compute: *compute },
                    meta,
                );
            }
            Kind::Cast { dtype, .. } => Kind::Cast { operand: next(), dtype: *dtype },
            Kind::Reduce { op, dims, keepdim, compute, correction, .. } => Kind::Reduce {
                op: *op,
                operand: next(),
                dims: dims.clone(),
                keepdim: *keepdim,
                compute: *compute,
                correction: *correction,
            },
            Kind::View { view, .. } => Kind::View { operand: next(), view: view.clone() },
            Kind::Matmul { .. } => Kind::Matmul { factors: [next(), next()] },
            Kind::Leaf { .. } | Kind::Input(_) | Kind::Number(_) | Kind::Failed { .. } => {
                return self.clone();
            }
        };
        Expr::build(kind, meta)
    }
}
