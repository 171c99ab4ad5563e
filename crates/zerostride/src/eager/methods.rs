//! Owns the eager methods, most of which are generated from the table of operations: each evaluates the
//! expression of the same name at once. It does not know how.

use zerostride_ops::{Class, Op, Scalar, for_each_op};

use super::Operand;
use super::evaluate::at_once;
use crate::{Dims, Error, Expr, Result, Tensor};

/// The type of an eager method's parameter, by the argument's type in the row, and the expression that passes
/// it to the method of [`Expr`].
#[rustfmt::skip]
macro_rules! argument {
    (type $a:lifetime operand) => { impl Into<Operand<$a>> };
    (type $a:lifetime list) => { &[isize] };
    (type $a:lifetime optional_tensor) => { Option<&Tensor> };
    (type $a:lifetime $other:ident) => { crate::expr::argument!(type $other) };
    (operand $value:ident) => { Operand::expr($value) };
    ($plain:ident $value:ident) => { $value };
}
pub(super) use argument;

/// The methods of rows whose functions are formulas.
macro_rules! formulas {
    ($(#[$doc:meta])* $name:ident) => {};
    ($(#[$doc:meta])* $name:ident ($($argument:ident $type:ident)*)) => {
        $(#[$doc])*
        ///
        /// # Errors
        /// Shapes or dtypes that do not go together, or no memory.
        #[track_caller]
        pub fn $name<'a>(&self, $($argument: argument!(type 'a $type)),*) -> Result<Tensor> {
            Expr::current(self).$name($(argument!($type $argument)),*).materialise()
        }
    };
}

macro_rules! define_methods {
    (
        unary { $($(#[$udoc:meta])* $uv:ident $un:ident $ui:tt [$($ua:ident)*] $us:tt $ud:ident $ur:ident $ue:ident $ug:ident $uk:literal $($uarg:literal)? $(($($ulist:tt)*))?;)* }
        binary { $($(#[$bdoc:meta])* $bv:ident $bn:ident $bi:tt [$($ba:ident)*] $bs:tt $bd:ident $br:ident $be:ident $bg:ident $bk:literal $($barg:literal)? $(($($blist:tt)*))? $([$law:ident])?;)* }
        nary { $($(#[$ndoc:meta])* $nv:ident $nn:ident $ni:tt [$($na:ident)*] $ns:tt $nd:ident $nr:ident $ne:ident $ng:ident $nk:literal $($narg:literal)? $(($nfirst:ident $(, $np:ident: $nt:ident $($ntext:literal)?)*))?;)* }
        reduce { $($(#[$rdoc:meta])* $rv:ident $rn:ident $rd:ident $rr:ident $ro:ident $req:ident $rone:ident $rp:tt $rem:ident $rl:ident $rg:ident $rdt:tt $rk:literal ($rfirst:ident, $rdims:ident: $rt:ident $rtext:literal);)* }
        formula { $($(#[$fdoc:meta])* $fv:ident $fname:ident $fi:tt $fd:ident $fr:ident $fdt:tt $fk:literal ($ffirst:ident $(, $fp:ident: $ft:ident $($ftext:literal)?)*);)* }
    ) => {
        /// Eager element-wise operations of one and two operands, and reductions.
        ///
        /// Operands broadcast; a number may stand for the second one.
        ///
        /// # Errors
        /// Shapes that do not broadcast, dtypes that the operation refuses, an integer division by zero, no
        /// memory.
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

        /// Eager operations with further arguments, and formulas. Each is [`Expr`]'s method of the same name.
        #[allow(clippy::extra_unused_lifetimes, reason = "not every row has an operand")]
        impl Tensor {
            $(formulas! { $(#[$ndoc])* $nn $(($($np $nt)*))? })*
            $(formulas! { $(#[$fdoc])* $fname ($($fp $ft)*) })*
        }
    };
}

for_each_op!(define_methods);

/// Makes eager methods of methods of `Expr` that are no rows of the table; each argument has its type in
/// front, as in rows.
macro_rules! eager {
    ($($name:ident($($argument:ident: $type:ident),*);)*) => {
        /// Eager operations that are no rows of the table.
        #[allow(clippy::extra_unused_lifetimes, reason = "not every row has an operand")]
        impl Tensor {
            $(
            #[doc = concat!("As [`Expr::", stringify!($name), "`], at once.")]
            ///
            /// # Errors
            /// Shapes or dtypes that do not go together, or no memory.
            #[track_caller]
            pub fn $name<'a>(&self, $($argument: argument!(type 'a $type)),*) -> Result<Tensor> {
                Expr::current(self).$name($(argument!($type $argument)),*).materialise()
            }
            )*
        }
    };
}

eager! {
    add_scaled(other: operand, alpha: scalar);
    sub_scaled(other: operand, alpha: scalar);
    logit_clamped(eps: float);
    where_(condition: operand, other: operand);
    var_corrected(dims: dims, correction: float);
    std_corrected(dims: dims, correction: float);
    sum_to_size(shape: sizes);
    matmul(other: operand);
    outer(other: operand);
    vecdot(other: operand, dim: dim);
    inner(other: operand);
    trace();
    tensordot(other: operand, own: list, theirs: list);
    cov(correction: int, fweights: optional_tensor, aweights: optional_tensor);
    corrcoef();
}

impl Tensor {
    /// Evaluates a row of the table of up to three operands at once, for callers that have the row rather
    /// than its name.
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

/// Refuses a row of the table that takes other arguments than `count` operands.
pub(super) fn check_count(op: Op, count: usize) -> Result<()> {
    match (op, op.info().class, count) {
        (_, Class::Unary, 1) | (_, Class::Binary, 2) | (Op::Lerp | Op::Where, _, 3) => Ok(()),
        _ => Err(Error::runtime(format_args!("{} does not take {count} operands alone", op.usage()))),
    }
}
