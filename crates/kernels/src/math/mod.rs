//! Owns the mathematical functions: each is written once, over the [`Lane`](crate::lane::Lane) trait, so that one
//! element and a whole register get the same bits.
//!
//! A function is branch-free: both sides of a case distinction are computed and one is selected. What differs
//! between `f32` and `f64` is data (polynomials, split constants) behind a trait of the element type, such as
//! [`exp::Constants`]; bodies are shared wherever the double-word arithmetic of [`dw`] makes both accurate.
//!
//! Deliberately unknown here: tensors, integer and half types (their callers convert), and which operation uses what.

mod dw;
pub(crate) mod exp;

pub(crate) use exp::{exp, exp2, expm1};

use crate::lane::Lane;

/// A lane of a type that the functions of this module know.
pub(crate) trait Real: Lane<Elem: exp::Constants> {}

impl<V: Lane<Elem: exp::Constants>> Real for V {}

/// `c[0] + c[1]·x + c[2]·x² + ...` by Horner's rule with fused multiply-adds.
#[inline(always)]
fn poly<V: Lane>(x: V, coefficients: &[V::Elem]) -> V {
    let (&last, rest) = coefficients.split_last().expect("a polynomial has a coefficient");
    rest.iter().rev().fold(V::splat(last), |sum, &c| sum.mul_add(x, V::splat(c)))
}

/// `x` moved into `[lo, hi]`; NaN stays.
#[inline(always)]
fn clamp<V: Lane>(x: V, lo: f64, hi: f64) -> V {
    V::num(hi).min(V::num(lo).max(x))
}
