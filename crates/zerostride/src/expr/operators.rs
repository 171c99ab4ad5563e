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
            numbers!($trait_ $method $op; bool u8 u16 u32 i8 i16 i32 i64 f32 f64 Complex64);
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

/// Implements all operators for a number on the left.
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
