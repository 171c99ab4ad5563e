//! Owns the inverses of the hyperbolic functions and of the logistic one: `asinh`, `acosh`, `atanh`, `logit`.
//!
//! All are logarithms of an argument formed in double words, so that nothing cancels where the argument is
//! near 1; `f32` has shorter forms, of which that of `logit` is in its own arithmetic, with constants from
//! `coefficients/single.py`.

use super::dw::{Dw, fast_two_difference, fast_two_sum, two_prod, two_sum};
use super::exp::ExpConstants;
use super::exponent::power_near;
use super::log::LogConstants;
use super::log_table::log_of_sum;
use super::{Real, is_short, short, short_poly};
use crate::lane::{Element, Lane, rare};

/// Whether x² is so small that a function x + O(x³) equals x.
#[inline(always)]
fn is_tiny<V: Lane>(x: V) -> V::Mask {
    (x * x).lt(V::splat(V::Elem::EPSILON) * V::num(0.0625))
}

/// log(x + √(x² ± 1)). Once x² absorbs the 1, the root is x: it is left out, and the logarithm of 2x is taken
/// instead.
#[inline(always)]
fn log_with_root<W: Lane<Elem = f64>>(x: W, one: f64) -> W {
    let square = two_prod(x, x);
    let large = square.hi.gt(W::num(16.0 / f64::EPSILON));
    let sum = (square + W::num(one)).sqrt() + x;
    log_of_sum(Dw::select(large, x.into(), sum), W::select(large, W::num(1.0), W::num(0.0))).round()
}

/// Inverse hyperbolic sine.
#[inline(always)]
pub(crate) fn asinh<V: Real>(x: V) -> V {
    if is_short::<V>() {
        return V::select(x.is_finite(), V::narrow(short::asinh(x.widen())), x);
    }
    let y = V::narrow(log_with_root(x.abs().widen(), 1.0)).mul_sign(x);
    V::select(is_tiny(x) | !x.is_finite(), x, y)
}

/// Inverse hyperbolic cosine; NaN below 1.
#[inline(always)]
pub(crate) fn acosh<V: Real>(x: V) -> V {
    let y = if is_short::<V>() { short::acosh(x.widen()) } else { log_with_root(x.widen(), -1.0) };
    let y = V::select(x.is_finite(), V::narrow(y), x);
    V::select(x.lt(V::num(1.0)), V::splat(V::Elem::NAN), y)
}

/// Inverse hyperbolic tangent; infinite at ±1, NaN beyond.
#[inline(always)]
pub(crate) fn atanh<V: Real>(x: V) -> V {
    let a = x.abs();
    let one = V::num(1.0);
    let y =
        V::narrow(if is_short::<V>() { short::atanh(x.widen()) } else { half_log_of_quotient(x.widen()) });
    let end = V::select(a.eq(one), V::splat(V::Elem::INFINITY).mul_sign(x), V::splat(V::Elem::NAN));
    V::select(a.lt(one), y, end)
}

/// atanh x for |x| < 1 as ½ log((1 + x) / (1 - x)).
#[inline(always)]
fn half_log_of_quotient<W: Lane<Elem = f64>>(x: W) -> W {
    let (one, a) = (W::num(1.0), x.abs());
    let quotient = two_sum(one, a).div(two_sum(one, -a));
    let y = (log_of_sum(quotient, W::num(0.0)).round() * W::num(0.5)).mul_sign(x);
    W::select(is_tiny(x), x, y)
}

/// log(x / (1 - x)); infinite at 0 and 1, NaN outside.
#[inline(always)]
pub(crate) fn logit<V: Real>(x: V) -> V {
    let (zero, one) = (V::num(0.0), V::num(1.0));
    let y = if is_short::<V>() {
        single_logit(x)
    } else {
        log_of_sum(Dw::from(x).div(two_sum(one, -x)), zero).round()
    };
    let is_inside = x.gt(zero) & x.lt(one);
    rare!(!is_inside, y, {
        let end = V::select(x.eq(zero), -V::splat(V::Elem::INFINITY), V::splat(V::Elem::NAN));
        V::select(x.eq(one), V::splat(V::Elem::INFINITY), end)
    })
}

/// 2 atanh s = 2 s + s³ · TWICE_ATANH(s²) for |s| <= 1/5.
const TWICE_ATANH: [f32; 4] = [0.6666666, 0.40000933, 0.28503513, 0.24151674];

/// log(x / (1 - x)) for x from 0 to 1 in the arithmetic of `f32`, as k · ln 2 + 2 atanh((x - d) / (x + d))
/// for d = 2^k · (1 - x) near x.
#[inline(always)]
fn single_logit<V: Real>(x: V) -> V {
    let complement = fast_two_difference(V::num(1.0), x);
    let (k, power) = power_near(x, complement.hi);
    let d = complement.scale(power);
    // What `d.lo` changes of the quotient is corrected below.
    let (n, reciprocal) = (x - d.hi, V::num(1.0) / (x + d.hi));
    let s = n * reciprocal;
    // The larger product first, so that the difference is small where it is rounded.
    let left = (-s).mul_add(d.hi.min(x), (-s).mul_add(d.hi.max(x), n));
    let left = left - s.mul_add(d.lo, d.lo);
    let square = s * s;
    let rest = (s * square).mul_add(short_poly(square, &TWICE_ATANH), left * (reciprocal + reciprocal));
    let (ln2, ln2_low) = V::Elem::LN2_SPLIT;
    let sum = fast_two_sum(k * V::splat(ln2), s + s);
    let y = sum.hi + (sum.lo + k.mul_add(V::splat(ln2_low), rest));
    // There 1 - x is 1, and its part of a power of two may be subnormal.
    rare!(x.lt(V::num(2f64.powi(-100))), y, V::Elem::log(x))
}
