//! Owns the in-place methods and `out`: what may be written to and what an operand may share with it, by PyTorch's
//! rules. It does not know how anything is computed.

use zerostride_ops::{Op, Scalar, for_each_op};

use super::Tensor;
use crate::expr::Kind;
use crate::{Error, Expr, Result};

/// Writes the value of a one-operation expression to `out`, as PyTorch's `out=` and in-place methods do.
///
/// Where PyTorch raises because an operand shares memory with `out` in another order, this is an error; where it would
/// silently read what it has just written, the operand counts as it was before.
fn write(expr: &Expr, out: &Tensor) -> Result<()> {
    expr.meta()?;
    for operand in expr.node().kind.operands() {
        if let Kind::Leaf { tensor, .. } = &operand.node().kind
            && tensor.shares_storage(out)
            && tensor.dtype() == out.dtype()
            && out.layout().pytorch_refuses(tensor.layout())
        {
            return Err(Error::PartialOverlap);
        }
    }
    expr.eval_into(out)
}

/// One in-place method, where the row has one.
macro_rules! method {
    (- $($rest:tt)*) => {};
    ($name:ident unary $variant:ident $doc:expr) => {
        #[doc = $doc]
        ///
        /// # Errors
        /// The result does not fit the tensor's dtype, or the tensor is stretched.
        pub fn $name(&self) -> Result<()> {
            write(&Expr::map(Op::$variant, [self.into()]), self)
        }
    };
    ($name:ident binary $variant:ident $doc:expr) => {
        #[doc = $doc]
        ///
        /// # Errors
        /// The result would be of another shape or not fit the tensor's dtype, the tensor is stretched, or the operand
        /// shares memory with it in another order.
        pub fn $name(&self, other: impl Into<Expr>) -> Result<()> {
            write(&Expr::map(Op::$variant, [self.into(), other.into()]), self)
        }
    };
}

macro_rules! define_methods {
    (
        unary { $($(#[$udoc:meta])* $uv:ident $un:ident $ui:tt [$($ua:ident)*] $us:tt $ud:ident $ur:ident $uk:literal $($uarg:literal)?;)* }
        binary { $($(#[$bdoc:meta])* $bv:ident $bn:ident $bi:tt [$($ba:ident)*] $bs:tt $bd:ident $br:ident $bk:literal $($barg:literal)? $([$law:ident])?;)* }
        nary { $($nary:tt)* }
        reduce { $($reduce:tt)* }
        formula { $($formula:tt)* }
    ) => {
        /// In-place element-wise operations: the result is written to the tensor, whose shape and dtype stay.
        impl Tensor {
            $(method! { $ui unary $uv concat!("[`Tensor::", stringify!($un), "`] in place.") })*
            $(method! { $bi binary $bv concat!("[`Tensor::", stringify!($bn), "`] in place.") })*
        }
    };
}

for_each_op!(define_methods);

/// In-place forms of operations with further arguments.
macro_rules! in_place {
    ($($name:ident = $of:ident($($arg:ident: $type:ty),*);)*) => {
        /// In-place operations with further arguments.
        impl Tensor {
            $(
            #[doc = concat!("[`Tensor::", stringify!($of), "`] in place.")]
            ///
            /// # Errors
            /// The result would be of another shape or not fit the tensor's dtype, or the tensor is stretched.
            pub fn $name(&self, $($arg: $type),*) -> Result<()> {
                write(&Expr::from(self).$of($($arg),*), self)
            }
            )*
        }
    };
}

in_place! {
    add_scaled_ = add_scaled(other: impl Into<Expr>, alpha: impl Into<Scalar>);
    sub_scaled_ = sub_scaled(other: impl Into<Expr>, alpha: impl Into<Scalar>);
    lerp_ = lerp(end: impl Into<Expr>, weight: impl Into<Expr>);
    nan_to_num_ = nan_to_num(nan: f64, posinf: Option<f64>, neginf: Option<f64>);
    clamp_ = clamp(min: Option<Expr>, max: Option<Expr>);
    addcmul_ = addcmul(a: impl Into<Expr>, b: impl Into<Expr>, value: impl Into<Scalar>);
    addcdiv_ = addcdiv(a: impl Into<Expr>, b: impl Into<Expr>, value: impl Into<Scalar>);
    masked_fill_ = masked_fill(mask: impl Into<Expr>, value: impl Into<Expr>);
}

impl Tensor {
    /// An element-wise operation of the table written to an existing tensor: PyTorch's `out=`.
    ///
    /// The target keeps its shape and dtype (PyTorch would resize it).
    ///
    /// # Errors
    /// As the in-place methods.
    ///
    /// ```
    /// use zerostride::{tensor, Op, Tensor};
    /// let out = Tensor::zeros(&[2, 2])?;
    /// Tensor::apply_out(Op::Add, [(&tensor![[1.0], [2.0]]).into(), (&tensor![10.0, 20.0]).into()], &out)?;
    /// assert_eq!(out.to_vec::<f32>()?, [11.0, 21.0, 12.0, 22.0]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn apply_out(op: Op, operands: impl IntoIterator<Item = Expr>, out: &Tensor) -> Result<()> {
        write(&Expr::map(op, operands), out)
    }

    /// Overwrites the elements with those of another tensor, stretched and converted as needed: `torch.Tensor.copy_`.
    ///
    /// # Errors
    /// The other tensor does not broadcast to this one's shape, or this one is stretched.
    pub fn copy_(&self, other: impl Into<Expr>) -> Result<()> {
        // Unlike a result, a copy may lose its category: conversion is what was asked for.
        other.into().to_dtype(self.dtype()).broadcast_to(self.shape()).eval_into(self)
    }

    /// Overwrites all elements with one number.
    ///
    /// # Errors
    /// The tensor is stretched.
    pub fn fill_(&self, value: impl Into<Scalar>) -> Result<()> {
        self.copy_(Expr::from(value.into()))
    }
}
