//! Owns the mathematical functions: each is written once, over the [`Lane`](crate::lane::Lane) trait, so that
//! one element and a whole register get the same bits.
//!
//! A function is branch-free: both sides of a case distinction are computed and one is selected. Loops are
//! `for` loops: a closure that holds instructions is a function of its own, which lacks its caller's
//! instruction set. What differs between `f32` and `f64` is data (polynomials, split constants) behind a
//! trait of the element type, such as [`ExpConstants`](exp::ExpConstants). Bodies are shared where the
//! double-word arithmetic of [`dw`] makes both accurate.
//!
//! Deliberately unknown here: tensors, integers, f16 and bf16 (callers convert), and which operation uses
//! which function.

mod area;
mod bessel;
pub(crate) mod complex;
mod dw;
mod erf;
mod erf_table;
mod erfinv;
mod exp;
mod exponent;
mod gamma;
mod gelu;
mod horner;
mod hyperbolic;
mod inverse_trig;
mod log;
mod log_table;
mod logaddexp;
mod pow;
mod root;
mod short;
#[cfg(test)]
mod tests;
mod trig;

pub(crate) use area::{acosh, asinh, atanh, logit};
pub(crate) use bessel::i0;
pub(crate) use erf::{erf, erfc};
pub(crate) use erfinv::erfinv;
pub(crate) use exp::{exp, exp2, expm1};
pub(crate) use exponent::{frexp, ldexp};
pub(crate) use gamma::{digamma, lgamma};
pub(crate) use gelu::{gelu, gelu_tanh};
pub(crate) use hyperbolic::{cosh, sigmoid, silu, sinh, tanh};
pub(crate) use inverse_trig::{acos, asin, atan, atan2, deg2rad, rad2deg};
pub(crate) use log::{log, log1p, log2, log10};
pub(crate) use logaddexp::{logaddexp, logaddexp2, softplus};
pub(crate) use pow::{pow, xlogy};
pub(crate) use root::{hypot, rsqrt};
pub(crate) use trig::{cos, sin, sinc, tan};

use crate::lane::{Element, Lane};
use exp::ExpConstants;
use hyperbolic::Tanh;
use log::LogConstants;

/// A lane of an element type that has these functions.
pub(crate) trait Real: Lane<Elem: ExpConstants + LogConstants + Tanh> {}

impl<V: Lane<Elem: ExpConstants + LogConstants + Tanh>> Real for V {}

/// Whether the elements are `f32`, for which the short polynomials suffice.
#[inline(always)]
fn is_short<V: Lane>() -> bool {
    V::Elem::SIGNIFICAND < f64::SIGNIFICAND
}

/// `c[0] + c[1]·x + c[2]·x² + ...` by Horner's rule with fused multiply-adds.
#[inline(always)]
fn poly<V: Lane>(x: V, coefficients: &[V::Elem]) -> V {
    let (&last, rest) = coefficients.split_last().expect("a polynomial has a coefficient");
    let mut sum = V::splat(last);
    for &c in rest.iter().rev() {
        sum = sum.mul_add(x, V::splat(c));
    }
    sum
}

/// `x` clamped to `[lo, hi]`; NaN stays.
#[inline(always)]
fn clamp<V: Lane>(x: V, lo: f64, hi: f64) -> V {
    V::num(hi).min(V::num(lo).max(x))
}
