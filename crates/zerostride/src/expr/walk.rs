//! Owns walks over the nodes of an expression and the dropping of its nodes, both without deep recursion, so
//! that a deep graph does not overflow the stack. It does not know what a walk is for.

use std::collections::HashSet;
use std::mem;
use std::sync::Arc;

use zerostride_ops::Scalar;

use super::{Expr, Kind, Node};

/// Graphs of at most so many levels are dropped by recursion, which takes a few kilobytes of stack and no
/// allocation.
const SHALLOW: usize = 32;

impl Expr {
    /// The nodes of the expression in topological order, operands first, each once. `enters` is called once
    /// for each node; where it returns false, the node is left out, and so is what is reached only through
    /// it.
    pub(crate) fn operands_first(&self, enters: impl FnMut(&Expr) -> bool) -> Vec<&Expr> {
        operands_first([self], enters)
    }
}

/// The same of several expressions, whose shared nodes come once.
pub(crate) fn operands_first<'e>(
    roots: impl IntoIterator<Item = &'e Expr>,
    mut enters: impl FnMut(&Expr) -> bool,
) -> Vec<&'e Expr> {
    // The path from a root, each node with the number of its operands that have been visited.
    let (mut order, mut seen, mut path) = (Vec::new(), HashSet::new(), Vec::new());
    for root in roots {
        if seen.insert(root.id()) && enters(root) {
            path.push((root, 0));
        }
        while let Some((expr, looked_at)) = path.last_mut() {
            let expr: &'e Expr = expr;
            match expr.node().kind.operands().get(*looked_at) {
                Some(operand) => {
                    *looked_at += 1;
                    if seen.insert(operand.id()) && enters(operand) {
                        path.push((operand, 0));
                    }
                }
                None => {
                    order.push(expr);
                    path.pop();
                }
            }
        }
    }
    order
}

impl Node {
    /// Moves the operands to a list.
    fn give_operands(&mut self, to: &mut Vec<Expr>) {
        match mem::replace(&mut self.kind, Kind::Number(Scalar::Bool(false))) {
            Kind::Leaf { .. } | Kind::Input(_) | Kind::Number(_) | Kind::Failed { .. } => {}
            Kind::Map { operands, .. } => to.extend(operands),
            Kind::Cast { operand, .. } | Kind::Reduce { operand, .. } | Kind::View { operand, .. } => {
                to.push(operand);
            }
            Kind::Matmul { factors } => to.extend(factors),
        }
    }
}

impl Drop for Node {
    #[inline]
    fn drop(&mut self) {
        if self.depth > SHALLOW {
            take_apart(self);
        }
    }
}

/// Drops, by a loop, the nodes below this one that have no other owner.
#[cold]
fn take_apart(node: &mut Node) {
    let mut left = Vec::new();
    node.give_operands(&mut left);
    while let Some(expr) = left.pop() {
        // Several threads may drop the node at the same time: `into_inner` gives it to exactly one.
        if let Some(mut node) = Arc::into_inner(expr.0)
            && node.depth > SHALLOW
        {
            node.give_operands(&mut left);
        }
    }
}
