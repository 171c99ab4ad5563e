//! Owns the logarithm kernel and the functions next to it: `log`, `log2`, `log10`, `log1p`.
//!
//! The constants come from `coefficients/log.py`.

use super::dw::{Dw, fast_two_sum};
use super::exp::ExpConstants;
use super::log_table::{self, Tables};
use super::{Real, poly};
use crate::lane::{Element, Lane, rare};

/// The constants of the logarithms for an element type.
pub(crate) trait LogConstants: Tables {
    /// (atanh(s) / s - 1 - s²/3) / s⁴ as a polynomial in s², for |s| <= 1/5.
    const ATANH: &'static [Self];
    const ONE_THIRD: (Self, Self);
    /// 1 / ln 2.
    const INV_LN2: (Self, Self);

    fn log<V: Real<Elem = Self>>(x: V) -> V;
}

/// A logarithm as `e · ln 2 + m`, so that powers of two are exact.
#[derive(Clone, Copy)]
pub(super) struct Logarithm<V> {
    pub(super) e: V,
    pub(super) m: Dw<V>,
}

impl<V: Real> Logarithm<V> {
    /// log x for positive finite `x`.
    #[inline(always)]
    pub(super) fn of(x: V) -> Self {
        let (e, m) = x.split_exponent();
        let difference = m - V::num(1.0);
        Logarithm { e, m: log_ratio(difference.into(), fast_two_sum(V::num(2.0), difference)) }
    }

    /// log(a / b), where `quotient` is about `a / b`; without cancellation where that is near 1.
    #[inline(always)]
    pub(super) fn of_quotient(a: Dw<V>, b: Dw<V>, quotient: V) -> Self {
        let (e, _) = quotient.split_exponent();
        let a = Dw { hi: a.hi.ldexp(-e), lo: a.lo.ldexp(-e) };
        Logarithm { e, m: log_ratio(a - b, a + b) }
    }

    /// log(1 + x) for finite `x` above -1; accurate relative to itself if `x` is not subnormal.
    #[inline(always)]
    pub(super) fn of_one_plus(x: Dw<V>) -> Self {
        let one = V::num(1.0);
        let a = x + one;
        let (e, _) = a.hi.split_exponent();
        // Not `a · 2^-e`, which would have rounded a small `x` away.
        let difference = Dw { hi: x.hi.ldexp(-e), lo: x.lo.ldexp(-e) } + (one.ldexp(-e) - one);
        Logarithm { e, m: log_ratio(difference, difference + V::num(2.0)) }
    }

    /// The natural logarithm.
    #[inline(always)]
    pub(super) fn natural(self) -> Dw<V> {
        let (hi, lo) = V::Elem::LN2_SPLIT;
        let s = fast_two_sum(self.e * V::splat(hi), self.m.hi);
        fast_two_sum(s.hi, s.lo + self.e.mul_add(V::splat(lo), self.m.lo))
    }
}

/// log(a / b) = 2 atanh((a - b) / (a + b)) for a / b from ¾ to 1½, with a relative error near 2^-65 (2^-36
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

/// A logarithm with the ends of its domain: `-∞` for 0, NaN below, infinity and NaN unchanged, otherwise `y`.
#[inline(always)]
pub(super) fn with_ends<V: Lane>(x: V, y: V) -> V {
    let (zero, infinity) = (V::num(0.0), V::splat(V::Elem::INFINITY));
    let is_ordinary = x.gt(zero) & x.lt(infinity);
    rare!(!is_ordinary, y, {
        let end = V::select(x.eq(zero), -infinity, V::splat(V::Elem::NAN));
        V::select(x.le(zero), end, x)
    })
}

/// Natural logarithm.
#[inline(always)]
pub(crate) fn log<V: Real>(x: V) -> V {
    with_ends(x, V::Elem::log(x))
}

/// Logarithm to base 2; exact for powers of two.
#[inline(always)]
pub(crate) fn log2<V: Real>(x: V) -> V {
    with_ends(x, log_table::log(x, &V::Elem::BINARY))
}

/// Logarithm to base 10; exact for powers of ten.
#[inline(always)]
pub(crate) fn log10<V: Real>(x: V) -> V {
    with_ends(x, log_table::log(x, &V::Elem::DECIMAL))
}

/// log(1 + x) without the cancellation near 0.
#[inline(always)]
pub(crate) fn log1p<V: Real>(x: V) -> V {
    // Its sign is that of x, also for -0.
    with_ends(V::num(1.0) + x, log_table::log1p(x).copysign(x))
}

impl LogConstants for f32 {
    const ATANH: &'static [f32] = &[0.20000196, 0.1426282, 0.119361825];
    const ONE_THIRD: (f32, f32) = (0.33333334, -9.934108e-9);
    const INV_LN2: (f32, f32) = (std::f32::consts::LOG2_E, 1.925963e-8);

    #[inline(always)]
    fn log<V: Real<Elem = f32>>(x: V) -> V {
        let (e, m) = x.split_exponent();
        let f = m - V::num(1.0);
        e.mul_add(V::splat(std::f32::consts::LN_2), (f * f).mul_add(curvature(f), f))
    }
}

/// (log(1 + f) - f) / f² for 1 + f from ¾ to 1½.
#[inline(always)]
fn curvature<V: Real<Elem = f32>>(f: V) -> V {
    poly(f, &LOG_NEAR_1).mul_add(f, V::num(-0.5))
}

/// (log(1 + f) - f + f²/2) / f³ for 1 + f from ¾ to 1½.
const LOG_NEAR_1: [f32; 8] =
    [0.3333345, -0.250001, 0.1999081, -0.16647132, 0.14478834, -0.13162942, 0.10463291, -0.04505573];

impl LogConstants for f64 {
    const ATANH: &'static [f64] = &[
        0.19999999999999862,
        0.14285714285788753,
        0.11111111095596025,
        0.09090910766270946,
        0.07692203131428799,
        0.0667057844009606,
        0.05796077162148958,
        0.06286391797305993,
    ];
    const ONE_THIRD: (f64, f64) = (0.3333333333333333, 1.850371707708594e-17);
    const INV_LN2: (f64, f64) = (std::f64::consts::LOG2_E, 2.0355273740931033e-17);

    #[inline(always)]
    fn log<V: Real<Elem = f64>>(x: V) -> V {
        log_table::log(x, &f64::NATURAL)
    }
}
