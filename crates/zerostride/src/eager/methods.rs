//! Owns the eager methods: each is the expression of the same name, evaluated at once. Read from the op table.

use zerostride_ops::{Class, Op, Scalar, for_each_op};

use super::Operand;
use super::evaluate::at_once;
use crate::{Dims, Error, Expr, Result, Tensor};

macro_rules! define_methods {
    (
        unary { $($(#[$udoc:meta])* $uv:ident $un:ident $ui:tt [$($ua:ident)*] $us:tt $ud:ident $ur:ident $ue:ident $uk:literal $($uarg:literal)?;)* }
        binary { $($(#[$bdoc:meta])* $bv:ident $bn:ident $bi:tt [$($ba:ident)*] $bs:tt $bd:ident $br:ident $be:ident $bk:literal $($barg:literal)? $([$law:ident])?;)* }
        nary { $($nary:tt)* }
        reduce { $($(#[$rdoc:meta])* $rv:ident $rn:ident $rd:ident $rr:ident $rk:literal $rarg:literal;)* }
        formula { $($formula:tt)* }
    ) => {
        /// Eager element-wise operations of one and two operands, and reductions.
        ///
        /// Operands broadcast; a number may stand for the second one.
        ///
        /// # Errors
        /// Shapes that do not broadcast, dtypes that the operation refuses, an integer division by zero, no memory.
        impl Tensor {
            $($(#[$udoc])*
            ///
            /// # Errors
            /// The operation refuses the dtype, or there is no memory.
            #[track_caller]
            pub fn $un(&self) -> Result<Tensor> {
                at_once(Op::$uv, [self.into()])
            }
            )*
            $($(#[$bdoc])*
            ///
            /// # Errors
            /// The shapes do not broadcast, the operation refuses the dtypes, or there is no memory.
            #[track_caller]
            pub fn $bn<'a>(&self, other: impl Into<Operand<'a>>) -> Result<Tensor> {
                at_once(Op::$bv, [self.into(), other.into()])
            }
            )*
            $($(#[$rdoc])*
            ///
            /// # Errors
            /// A dimension does not exist, the operation refuses the dtype, or there is no memory.
            #[track_caller]
            pub fn $rn(&self, dims: impl Into<Dims>) -> Result<Tensor> {
                Expr::current(self).$rn(dims).materialise()
            }
            )*
        }
    };
}

for_each_op!(define_methods);

/// Methods of `Expr`, evaluated at once: operands first, then arguments of any type.
macro_rules! eager {
    ($($name:ident($($operand:ident),*; $($arg:ident: $type:ty),*);)*) => {
        /// Eager operations with further arguments, and formulas. Each is [`Expr`]'s method of the same name.
        #[allow(clippy::extra_unused_lifetimes, reason = "not every row has an operand")]
        impl Tensor {
            $(
            #[doc = concat!("As [`Expr::", stringify!($name), "`], at once.")]
            ///
            /// # Errors
            /// Shapes or dtypes that do not go together, or no memory.
            #[track_caller]
            pub fn $name<'a>(&self, $($operand: impl Into<Operand<'a>>,)* $($arg: $type),*) -> Result<Tensor> {
                Expr::current(self).$name($(Operand::expr($operand),)* $($arg),*).materialise()
            }
            )*
        }
    };
}

eager! {
    add_scaled(other; alpha: impl Into<Scalar>);
    sub_scaled(other; alpha: impl Into<Scalar>);
    round_decimals(; decimals: i64);
    logit_clamped(; eps: f64);
    lerp(end, weight;);
    where_(condition, other;);
    nan_to_num(; nan: f64, posinf: Option<f64>, neginf: Option<f64>);
    softplus(; beta: f64, threshold: f64);
    clamp(; min: Option<Expr>, max: Option<Expr>);
    clamp_min(min;);
    clamp_max(max;);
    rsub(other; alpha: impl Into<Scalar>);
    addcmul(a, b; value: impl Into<Scalar>);
    addcdiv(a, b; value: impl Into<Scalar>);
    float_power(exponent;);
    isclose(other; rtol: f64, atol: f64, equal_nan: bool);
    masked_fill(mask, value;);
    mean(; dims: impl Into<Dims>);
    var_corrected(; dims: impl Into<Dims>, correction: f64);
    std(; dims: impl Into<Dims>);
    std_corrected(; dims: impl Into<Dims>, correction: f64);
    logsumexp(; dims: impl Into<Dims>);
    softmax(; dim: isize);
    log_softmax(; dim: isize);
    norm(; p: f64, dims: impl Into<Dims>);
    sum_to_size(; shape: &[usize]);
    matmul(other;);
    outer(other;);
    vecdot(other; dim: isize);
    tensordot(other; own: &[isize], theirs: &[isize]);
}

impl Tensor {
    /// A row of the table of up to three operands, at once, for those who have the row and not its name.
    ///
    /// # Errors
    /// As the method of that name; or the row takes another number of operands.
    ///
    /// ```
    /// use zerostride::{tensor, Op, Tensor};
    /// let sum = Tensor::apply(Op::Add, [(&tensor![[1], [2]]).into(), (&tensor![10, 20]).into()])?;
    /// assert_eq!(sum.to_vec::<i64>()?, [11, 21, 12, 22]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn apply<const N: usize>(op: Op, operands: [Operand<'_>; N]) -> Result<Tensor> {
        check_count(op, N)?;
        at_once(op, operands)
    }

    /// The mantissa in [0.5, 1) and the power of 2 of each element, as `torch.frexp`.
    ///
    /// # Errors
    /// The dtype is no float, or there is no memory.
    ///
    /// ```
    /// use zerostride::tensor;
    /// let (mantissa, exponent) = tensor![6.0].frexp()?;
    /// assert_eq!((mantissa.item::<f32>()?, exponent.item::<i32>()?), (0.75, 3));
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn frexp(&self) -> Result<(Tensor, Tensor)> {
        Ok((self.frexp_mantissa()?, self.frexp_exponent()?))
    }
}

/// Whether a row of the table takes so many operands and nothing else.
pub(super) fn check_count(op: Op, count: usize) -> Result<()> {
    match (op, op.info().class, count) {
        (_, Class::Unary, 1) | (_, Class::Binary, 2) | (Op::Lerp | Op::Where, _, 3) => Ok(()),
        _ => Err(Error::runtime(format_args!("{} does not take {count} operands alone", op.usage()))),
    }
}
