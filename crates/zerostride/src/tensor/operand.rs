//! Owns `Operand`, what eager methods take: it says that a tensor is read when the method runs, not when it was named.

use zerostride_ops::Scalar;

use super::Tensor;
use crate::Expr;

/// An operand of an eager method: a tensor, a number or an expression; made with `into()`.
///
/// A tensor is read as the operation finds it, so that eager operations of several threads on one tensor come one after
/// the other. An expression keeps to the versions of its own operands.
///
/// ```
/// use zerostride::tensor;
/// let x = tensor![1, 2, 3];
/// assert_eq!(x.add(&x)?.to_vec::<i64>()?, [2, 4, 6]);
/// assert_eq!(x.add(10)?.to_vec::<i64>()?, [11, 12, 13]);
/// assert_eq!(x.add(&x * 2)?.to_vec::<i64>()?, [3, 6, 9]);
/// # Ok::<(), zerostride::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Operand(Expr);

impl Operand {
    pub(crate) fn expr(operand: impl Into<Operand>) -> Expr {
        operand.into().0
    }
}

impl From<&Tensor> for Operand {
    fn from(tensor: &Tensor) -> Operand {
        Operand(Expr::current(tensor))
    }
}

impl From<Tensor> for Operand {
    fn from(tensor: Tensor) -> Operand {
        Operand::from(&tensor)
    }
}

impl From<&Expr> for Operand {
    fn from(expr: &Expr) -> Operand {
        Operand(expr.clone())
    }
}

impl From<Expr> for Operand {
    fn from(expr: Expr) -> Operand {
        Operand(expr)
    }
}

impl<N: Into<Scalar>> From<N> for Operand {
    fn from(number: N) -> Operand {
        Operand(Expr::from(number))
    }
}
