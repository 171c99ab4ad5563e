//! Owns the logarithm kernel and the functions next to it: `log`, `log2`, `log10`, `log1p`.
//!
//! The constants come from `coefficients/log.py`.

use std::f64::consts::FRAC_1_SQRT_2;

use super::dw::{Dw, fast_two_sum, two_sum};
use super::exp::ExpConstants;
use super::{Real, poly};
use crate::lane::{Bits, Element, Lane};

/// What the logarithms need to know about an element type.
pub(crate) trait LogConstants: Element {
    /// (atanh(s) / s - 1 - s²/3) / s⁴ as a polynomial in s², for |s| <= 3 - √8.
    const ATANH: &'static [Self];
    const ONE_THIRD: (Self, Self);
    /// 1 / ln 2.
    const INV_LN2: (Self, Self);
    /// 1 / ln 10.
    const INV_LN10: (Self, Self);
    /// log10(2) in two parts, the first a multiple of so large a power of two that exponents multiply it
    /// exactly.
    const LOG10_2_SPLIT: (Self, Self);

    fn log<V: Real<Elem = Self>>(x: V) -> V;
}

/// A logarithm as `e · ln 2 + m`: exact powers of two stay apart from the rest.
#[derive(Clone, Copy)]
pub(super) struct Logarithm<V> {
    pub(super) e: V,
    pub(super) m: Dw<V>,
}

/// `x` as `2^e · m` with `m` from `least` (between ½ and 1) to twice that: `(e, m)`, for positive finite `x`.
#[inline(always)]
fn split_exponent<V: Real>(x: V, least: f64) -> (V, V) {
    let subnormal = x.lt(V::splat(V::Elem::MIN_POSITIVE));
    let up = V::num(V::Elem::SIGNIFICAND as f64 + 1.0);
    let x = V::select(subnormal, x * V::exp2_int(up), x);
    let one = V::num(1.0).to_bits();
    let least = V::num(least).to_bits();
    let fraction = (V::Bits::splat(1) << V::Elem::SIGNIFICAND) - V::Bits::splat(1);
    // Moves the carry from one exponent to the next from 1 down to `least`.
    let moved = x.to_bits() + (one - least);
    let m = V::from_bits((moved & fraction) + least);
    let e = V::from_int(moved >> V::Elem::SIGNIFICAND) - V::num(V::Elem::BIAS as f64);
    (V::select(subnormal, e - up, e), m)
}

impl<V: Real> Logarithm<V> {
    /// log x for positive finite `x`.
    #[inline(always)]
    pub(super) fn of(x: V) -> Self {
        let (e, m) = split_exponent(x, FRAC_1_SQRT_2);
        let difference = m - V::num(1.0);
        Logarithm { e, m: log_ratio(difference.into(), fast_two_sum(V::num(2.0), difference)) }
    }

    /// log(a / b), where `quotient` is about `a / b`; without cancellation where that is near 1.
    #[inline(always)]
    pub(super) fn of_quotient(a: Dw<V>, b: Dw<V>, quotient: V) -> Self {
        let (e, _) = split_exponent(quotient, FRAC_1_SQRT_2);
        let a = Dw { hi: a.hi.ldexp(-e), lo: a.lo.ldexp(-e) };
        Logarithm { e, m: log_ratio(a - b, a + b) }
    }

    /// log(1 + x) for finite `x` above -1; accurate relative to itself if `x` is not subnormal.
    #[inline(always)]
    pub(super) fn of_one_plus(x: Dw<V>) -> Self {
        let one = V::num(1.0);
        let a = x + one;
        let (e, _) = split_exponent(a.hi, FRAC_1_SQRT_2);
        // Not `a · 2^-e`, which would have rounded a small `x`.
        let difference = Dw { hi: x.hi.ldexp(-e), lo: x.lo.ldexp(-e) } + (one.ldexp(-e) - one);
        Logarithm { e, m: log_ratio(difference, difference + V::num(2.0)) }
    }

    /// The natural logarithm.
    #[inline(always)]
    pub(super) fn natural(self) -> Dw<V> {
        self.in_base(V::Elem::LN2_SPLIT, self.m)
    }

    /// The logarithm to base 2: exact for powers of two.
    #[inline(always)]
    pub(super) fn binary(self) -> Dw<V> {
        let m = self.m * Dw::splat(V::Elem::INV_LN2);
        let s = fast_two_sum(self.e, m.hi);
        fast_two_sum(s.hi, s.lo + m.lo)
    }

    /// `e` times the split constant, plus `m`.
    #[inline(always)]
    fn in_base(self, (hi, lo): (V::Elem, V::Elem), m: Dw<V>) -> Dw<V> {
        let s = fast_two_sum(self.e * V::splat(hi), m.hi);
        fast_two_sum(s.hi, s.lo + self.e.mul_add(V::splat(lo), m.lo))
    }
}

/// log(a / b) = 2 atanh((a - b) / (a + b)) for a / b from √½ to √2, with a relative error near 2^-65 (2^-36
/// in `f32`).
#[inline(always)]
fn log_ratio<V: Real>(difference: Dw<V>, sum: Dw<V>) -> Dw<V> {
    let s = difference.div(sum);
    let square = s * s;
    let tail = square.hi * poly(square.hi, V::Elem::ATANH);
    let third = Dw::splat(V::Elem::ONE_THIRD);
    let factor = fast_two_sum(third.hi, tail);
    let factor = square * Dw { hi: factor.hi, lo: factor.lo + third.lo };
    let twice = s.scale(V::num(2.0));
    let rest = twice * factor;
    let y = fast_two_sum(twice.hi, rest.hi);
    fast_two_sum(y.hi, y.lo + (twice.lo + rest.lo))
}

/// A logarithm at the ends of its domain: `-∞` for 0, NaN below, infinity and NaN themselves, else `y`.
#[inline(always)]
pub(super) fn with_ends<V: Real>(x: V, y: V) -> V {
    let zero = V::num(0.0);
    let infinity = V::splat(V::Elem::INFINITY);
    let end = V::select(x.eq(zero), -infinity, V::select(x.lt(zero), V::splat(V::Elem::NAN), x));
    V::select(x.gt(zero) & x.lt(infinity), y, end)
}

/// Natural logarithm.
#[inline(always)]
pub(crate) fn log<V: Real>(x: V) -> V {
    with_ends(x, V::Elem::log(x))
}

/// Logarithm to base 2; exact for powers of two.
#[inline(always)]
pub(crate) fn log2<V: Real>(x: V) -> V {
    with_ends(x, Logarithm::of(x).binary().round())
}

/// Logarithm to base 10; exact for powers of ten.
#[inline(always)]
pub(crate) fn log10<V: Real>(x: V) -> V {
    let l = Logarithm::of(x);
    let m = l.m * Dw::splat(V::Elem::INV_LN10);
    with_ends(x, l.in_base(V::Elem::LOG10_2_SPLIT, m).round())
}

/// log(1 + x) without the cancellation near 0.
#[inline(always)]
pub(crate) fn log1p<V: Real>(x: V) -> V {
    let y = Logarithm::of_one_plus(x.into()).natural().round();
    // Keeps -0, and the subnormal numbers, whose halves the kernel cannot hold.
    let tiny = x.abs().lt(V::splat(V::Elem::EPSILON) * V::num(0.25));
    with_ends(two_sum(V::num(1.0), x).hi, V::select(tiny, x, y))
}

impl LogConstants for f32 {
    const ATANH: &'static [f32] = &[0.20000076, 0.14273544, 0.11709886];
    const ONE_THIRD: (f32, f32) = (0.33333334, -9.934108e-9);
    const INV_LN2: (f32, f32) = (std::f32::consts::LOG2_E, 1.925963e-8);
    const INV_LN10: (f32, f32) = (std::f32::consts::LOG10_E, -1.010305e-8);
    const LOG10_2_SPLIT: (f32, f32) = (0.30103302, -3.0243555e-6);

    #[inline(always)]
    fn log<V: Real<Elem = f32>>(x: V) -> V {
        let (e, m) = split_exponent(x, 2.0 / 3.0);
        let f = m - V::num(1.0);
        // log(1 + f) = f - f²/2 + f³ · polynomial: without the division, and exact in the term that counts.
        let square = f * f;
        let tail = square * poly(f, &LOG_NEAR_1).mul_add(f, V::num(-0.5));
        let (ln2_hi, ln2_lo) = Self::LN2_SPLIT;
        let s = fast_two_sum(e * V::splat(ln2_hi), f);
        s.hi + (s.lo + e.mul_add(V::splat(ln2_lo), tail))
    }
}

/// (log(1 + f) - f + f²/2) / f³ for |f| <= 1/3.
const LOG_NEAR_1: [f32; 8] =
    [0.33333215, -0.24999802, 0.20010449, -0.16680299, 0.14005226, -0.121868946, 0.13987403, -0.12880227];

impl LogConstants for f64 {
    const ATANH: &'static [f64] = &[
        0.20000000000001136,
        0.14285714285045656,
        0.11111111260726445,
        0.09090892114256595,
        0.07693381964067317,
        0.06628329710144064,
        0.06598919740824183,
    ];
    const ONE_THIRD: (f64, f64) = (0.3333333333333333, 1.850371707708594e-17);
    const INV_LN2: (f64, f64) = (std::f64::consts::LOG2_E, 2.0355273740931033e-17);
    const INV_LN10: (f64, f64) = (std::f64::consts::LOG10_E, 1.098319650216765e-17);
    const LOG10_2_SPLIT: (f64, f64) = (0.30102999566395283, 2.8363394551044964e-14);

    #[inline(always)]
    fn log<V: Real<Elem = f64>>(x: V) -> V {
        Logarithm::of(x).natural().round()
    }
}
