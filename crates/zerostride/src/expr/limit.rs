//! Owns `Limit`, the argument of `clamp`. It does not know what is clamped.

use zerostride_ops::{Complex32, Complex64, bf16, f16};

use super::Expr;
use crate::Tensor;

/// A limit of [`Expr::clamp`]: a number, a tensor, an expression, or `None`.
///
/// ```
/// let x = zerostride::tensor![-2.0, 0.5, 3.0];
/// assert_eq!(x.clamp(0, 1)?.to_vec::<f32>()?, [0.0, 0.5, 1.0]);
/// assert_eq!(x.clamp(None, 1.0)?.to_vec::<f32>()?, [-2.0, 0.5, 1.0]);
/// # Ok::<(), zerostride::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Limit(pub(crate) Option<Expr>);

impl From<Option<Expr>> for Limit {
    fn from(limit: Option<Expr>) -> Limit {
        Limit(limit)
    }
}

macro_rules! limit_from {
    ($($given:ty)*) => {
        $(impl From<$given> for Limit {
            fn from(limit: $given) -> Limit {
                Limit(Some(limit.into()))
            }
        })*
    };
}

limit_from!(Tensor &Tensor Expr &Expr);
// Each type of number by itself: Rust takes no `N: Into<Scalar>` beside `Option<Expr>`.
limit_from!(bool u8 u16 u32 usize i8 i16 i32 i64 isize f16 bf16 f32 f64 Complex32 Complex64);
