//! Owns `Optional`, an operand that may be left out. It does not know of what.

use zerostride_ops::{Complex32, Complex64, bf16, f16};

use super::Expr;
use crate::Tensor;

/// An operand that may be left out, such as a limit of [`Expr::clamp`]: a number, a tensor, an expression, or
/// `None`.
///
/// ```
/// let x = zerostride::tensor![-2.0, 0.5, 3.0];
/// assert_eq!(x.clamp(0, 1)?.to_vec::<f32>()?, [0.0, 0.5, 1.0]);
/// assert_eq!(x.clamp(None, 1.0)?.to_vec::<f32>()?, [-2.0, 0.5, 1.0]);
/// # Ok::<(), zerostride::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Optional(pub(crate) Option<Expr>);

impl From<Option<Expr>> for Optional {
    fn from(operand: Option<Expr>) -> Optional {
        Optional(operand)
    }
}

macro_rules! optional_from {
    ($($given:ty)*) => {
        $(impl From<$given> for Optional {
            fn from(operand: $given) -> Optional {
                Optional(Some(operand.into()))
            }
        })*
    };
}

optional_from!(Tensor &Tensor Expr &Expr);
// Each type of number by itself: Rust takes no `N: Into<Scalar>` beside `Option<Expr>`.
optional_from!(bool u8 u16 u32 usize i8 i16 i32 i64 isize f16 bf16 f32 f64 Complex32 Complex64);
