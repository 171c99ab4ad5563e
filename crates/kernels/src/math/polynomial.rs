//! Owns polynomials on lanes, and the questions that functions ask of a lane. It does not know functions.

use crate::lane::{Element, Lane};

/// Whether the elements are `f32`, for which the short polynomials suffice.
#[inline(always)]
pub(super) fn is_short<V: Lane>() -> bool {
    V::Elem::SIGNIFICAND < f64::SIGNIFICAND
}

/// `c[0] + c[1]·x + c[2]·x² + ...` by Horner's rule with fused multiply-adds.
#[inline(always)]
pub(super) fn poly<V: Lane>(x: V, coefficients: &[V::Elem]) -> V {
    let (&last, rest) = coefficients.split_last().expect("a polynomial has a coefficient");
    let mut sum = V::splat(last);
    for &c in rest.iter().rev() {
        sum = sum.mul_add(x, V::splat(c));
    }
    sum
}

/// The same with coefficients of `f32`, for lanes of such elements.
#[inline(always)]
pub(super) fn short_poly<V: Lane>(x: V, coefficients: &[f32]) -> V {
    let (&last, rest) = coefficients.split_last().expect("a polynomial has a coefficient");
    let mut sum = V::num(last.into());
    for &c in rest.iter().rev() {
        sum = sum.mul_add(x, V::num(c.into()));
    }
    sum
}

/// `x` clamped to `[lo, hi]`; NaN stays.
#[inline(always)]
pub(super) fn clamp<V: Lane>(x: V, lo: f64, hi: f64) -> V {
    V::num(hi).min(V::num(lo).max(x))
}
