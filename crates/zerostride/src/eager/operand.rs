//! Owns `Operand`, the argument type of eager methods: it defers the reading of a tensor until the method
//! runs. It does not know what the method does with it.

use zerostride_ops::Scalar;

use crate::exec::ReadyOperand;
use crate::{Expr, Tensor};

/// An operand of an eager method: a tensor, a number or an expression; made with `into()`.
///
/// A tensor is read as the operation finds it, so that eager operations of several threads on one tensor run
/// one after the other. An expression still refuses operands that were written to since it was built.
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
pub struct Operand<'a>(Given<'a>);

/// What the caller passed; it becomes an expression only where one is needed.
#[derive(Clone, Debug)]
enum Given<'a> {
    Tensor(&'a Tensor),
    Number(Scalar),
    Expr(Expr),
}

impl<'a> Operand<'a> {
    pub(crate) fn expr(operand: impl Into<Operand<'a>>) -> Expr {
        match operand.into().0 {
            Given::Tensor(tensor) => Expr::current(tensor),
            Given::Number(number) => Expr::from(number),
            Given::Expr(expr) => expr,
        }
    }

    /// The operand as the fast path for small operations reads it.
    pub(crate) fn value(&self) -> ReadyOperand<'_> {
        match &self.0 {
            Given::Tensor(tensor) => ReadyOperand::Tensor(tensor, None),
            Given::Number(number) => ReadyOperand::Number(*number),
            Given::Expr(expr) => ReadyOperand::of(expr),
        }
    }

    /// The operands, if all of them are tensors.
    #[inline]
    pub(crate) fn tensors<'t, const N: usize>(operands: &'t [Operand<'a>; N]) -> Option<[&'t Tensor; N]> {
        let Given::Tensor(first) = operands[0].0 else { return None };
        let mut tensors = [first; N];
        for (tensor, operand) in tensors.iter_mut().zip(operands) {
            *tensor = if let Given::Tensor(tensor) = operand.0 { tensor } else { return None };
        }
        Some(tensors)
    }
}

impl From<Operand<'_>> for Expr {
    /// A tensor is read when the expression runs; writes until then are no error.
    fn from(operand: Operand<'_>) -> Expr {
        Operand::expr(operand)
    }
}

impl<'a> From<&'a Tensor> for Operand<'a> {
    #[inline]
    fn from(tensor: &'a Tensor) -> Operand<'a> {
        Operand(Given::Tensor(tensor))
    }
}

impl From<Tensor> for Operand<'_> {
    fn from(tensor: Tensor) -> Self {
        Operand(Given::Expr(Expr::current(&tensor)))
    }
}

impl From<&Expr> for Operand<'_> {
    fn from(expr: &Expr) -> Self {
        Operand(Given::Expr(expr.clone()))
    }
}

impl From<Expr> for Operand<'_> {
    fn from(expr: Expr) -> Self {
        Operand(Given::Expr(expr))
    }
}

impl<N: Into<Scalar>> From<N> for Operand<'_> {
    fn from(number: N) -> Self {
        Operand(Given::Number(number.into()))
    }
}
