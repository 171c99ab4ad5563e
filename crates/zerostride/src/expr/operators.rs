//! Owns Rust's operators on tensors, expressions and numbers: each builds an expression. It does not know how
//! one is inferred or evaluated.

use zerostride_ops::{Complex64, Op};

use super::Expr;
use crate::Tensor;

/// Implements `left op right` for one pair of types.
macro_rules! binary {
    ($($trait_:ident $method:ident $op:ident;)*) => {
        $(
            operands!($trait_ $method $op; Expr, &Expr, Tensor, &Tensor);
            numbers!($trait_ $method $op; bool i64 f64 Complex64);
        )*
    };
}

/// Implements all operators for an operand type on the left and anything that converts to an expression on
/// the right.
macro_rules! operands {
    ($trait_:ident $method:ident $op:ident; $($left:ty),*) => {
        $(impl<R: Into<Expr>> std::ops::$trait_<R> for $left {
            type Output = Expr;
            #[track_caller]
            fn $method(self, right: R) -> Expr {
                Expr::map(Op::$op, [self.into(), right.into()])
            }
        })*
    };
}

/// Implements all operators for a number on the left: of one integer and one float type, so that Rust knows
/// the type of `2 * &x` and `(1.0 - &x).exp()` without a suffix.
macro_rules! numbers {
    ($trait_:ident $method:ident $op:ident; $($left:ty)*) => {
        $(
            numbers!(@pair $trait_ $method $op $left, Expr);
            numbers!(@pair $trait_ $method $op $left, &Expr);
            numbers!(@pair $trait_ $method $op $left, Tensor);
            numbers!(@pair $trait_ $method $op $left, &Tensor);
        )*
    };
    (@pair $trait_:ident $method:ident $op:ident $left:ty, $right:ty) => {
        impl std::ops::$trait_<$right> for $left {
            type Output = Expr;
            #[track_caller]
            fn $method(self, right: $right) -> Expr {
                Expr::map(Op::$op, [self.into(), right.into()])
            }
        }
    };
}

macro_rules! unary {
    ($($trait_:ident $method:ident $op:ident;)*) => {
        $(unary!(@types $trait_ $method $op; Expr, &Expr, Tensor, &Tensor);)*
    };
    (@types $trait_:ident $method:ident $op:ident; $($operand:ty),*) => {
        $(impl std::ops::$trait_ for $operand {
            type Output = Expr;
            fn $method(self) -> Expr {
                Expr::map(Op::$op, [self.into()])
            }
        })*
    };
}

binary! {
    Add add Add;
    Sub sub Sub;
    Mul mul Mul;
    Div div Div;
    Rem rem Remainder;
    BitAnd bitand BitwiseAnd;
    BitOr bitor BitwiseOr;
    BitXor bitxor BitwiseXor;
    Shl shl BitwiseLeftShift;
    Shr shr BitwiseRightShift;
}

unary! {
    Neg neg Neg;
    Not not BitwiseNot;
}

impl std::iter::Sum for Expr {
    /// The sum in order; the number 0 of no expressions.
    fn sum<I: Iterator<Item = Expr>>(exprs: I) -> Expr {
        exprs.reduce(|sum, expr| sum + expr).unwrap_or_else(|| Expr::from(0))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Expr, Result, Tensor, bf16, f16, tensor};

    #[test]
    fn a_number_on_the_left_needs_no_suffix() -> Result<()> {
        let x = tensor![0.0, 2.0];
        let computed = |expr: Expr| expr.eval()?.to_vec::<f32>();
        assert_eq!(computed((1.0 / (1.0 + (-&x).exp())).round())?, [0.0, 1.0]);
        assert_eq!(computed((2 * &x).square())?, [0.0, 16.0]);
        assert_eq!(computed((7 % (1 + x)).square())?, [0.0, 1.0]);
        Ok(())
    }

    #[test]
    fn numbers_of_all_types_are_operands() -> Result<()> {
        let x = tensor![2.0, 4.0];
        let mean = (x.sum(..)? / x.numel() - x.ndim() as isize).eval()?;
        assert_eq!(mean.to_vec::<f32>()?, [2.0]);
        assert_eq!((&x * f16::ONE + bf16::ONE).eval()?.to_vec::<f32>()?, [3.0, 5.0]);
        assert_eq!(Tensor::arange(0, x.numel(), 1)?.to_vec::<i64>()?, [0, 1]);
        assert_eq!((&x + usize::MAX).eval()?.to_vec::<f32>()?, [usize::MAX as f32; 2]);
        Ok(())
    }

    #[test]
    fn expressions_are_summed_in_order() -> Result<()> {
        let sum: Expr = [1, 2, 3].into_iter().map(|factor| &tensor![1, 10] * factor).sum();
        assert_eq!(sum.eval()?.to_vec::<i64>()?, [6, 60]);
        assert_eq!(std::iter::empty::<Expr>().sum::<Expr>().eval()?.item::<i64>()?, 0);
        Ok(())
    }
}
