//! Owns `frexp` and `ldexp`, which split numbers into significand and exponent and put them together, and the
//! power of two nearest to a quotient.

use super::clamp;
use crate::lane::{Bits, Element, Lane};

/// `x` as a significand in [½, 1) with its sign, and an exponent; zeros, infinities and NaN with exponent 0.
#[inline(always)]
fn split<W: Lane<Elem = f64>>(x: W) -> (W, W) {
    let (zero, up) = (W::num(0.0), W::num(54.0));
    let subnormal = x.abs().lt(W::num(f64::MIN_POSITIVE));
    let bits = W::select(subnormal, x * W::exp2_int(up), x).to_bits();
    let field = W::Bits::splat(0x7ff) << 52;
    let exponent = W::from_int((bits & field) >> 52) - W::num(1022.0);
    let significand = W::from_bits((bits & !field) | W::num(0.5).to_bits());
    let ordinary = x.is_finite() & !x.eq(zero);
    let exponent = W::select(subnormal, exponent - up, exponent);
    (W::select(ordinary, significand, x), W::select(ordinary, exponent, zero))
}

/// The significand in [½, 1) with its sign, and the exponent; zeros, infinities and NaN with exponent 0.
#[inline(always)]
pub(crate) fn frexp<V: Lane>(x: V) -> (V, V) {
    let (significand, exponent) = split(x.widen());
    (V::narrow(significand), V::narrow(exponent))
}

/// x · 2^n for an integral `n`, rounded once.
#[inline(always)]
pub(crate) fn ldexp<V: Lane>(x: V, n: V) -> V {
    V::narrow(scaled(x.widen(), n.widen()))
}

#[inline(always)]
fn scaled<W: Lane<Elem = f64>>(x: W, n: W) -> W {
    let (significand, exponent) = split(x);
    // At the ends everything overflows or underflows.
    let power = clamp(exponent + clamp(n.round_ties_even(), -4000.0, 4000.0), -1200.0, 1200.0);
    let result = W::select(x.is_finite() & !x.eq(W::num(0.0)), significand.ldexp(power), x);
    W::select(n.is_nan(), n, result)
}

/// k and 2^k, where `n / d` is 2^k times a number from 2/3 to 3/2.
#[inline(always)]
pub(super) fn power_near<V: Lane>(n: V, d: V) -> (V, V) {
    // The bits of a number are nearly its logarithm, and those of 3/2 that of 2^½ but for the bias.
    let biased = (n.to_bits() - d.to_bits() + V::num(1.5).to_bits()) >> V::Elem::SIGNIFICAND;
    let rounder = V::splat(V::Elem::ROUNDER);
    let k = V::from_bits(biased + rounder.to_bits()) - (rounder + V::num(V::Elem::BIAS as f64));
    (k, V::from_bits(biased << V::Elem::SIGNIFICAND))
}
