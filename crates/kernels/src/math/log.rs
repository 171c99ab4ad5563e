//! Owns the logarithm kernel and the functions next to it: `log`, `log2`, `log10`, `log1p`.
//!
//! The constants come from `coefficients/log.py`.

use super::dw::{Dw, fast_two_sum, two_prod, two_sum};
use super::exp::ExpConstants;
use super::{Real, is_short, poly, short};
use crate::lane::{Element, Lane};

/// What the logarithms need to know about an element type.
pub(crate) trait LogConstants: Element {
    /// (atanh(s) / s - 1 - s²/3) / s⁴ as a polynomial in s², for |s| <= 1/5.
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
    fn log2<V: Real<Elem = Self>>(x: V) -> V;
    /// Of numbers that are neither tiny nor at the ends.
    fn log1p<V: Real<Elem = Self>>(x: V) -> V;
}

/// A logarithm as `e · ln 2 + m`: exact powers of two stay apart from the rest.
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

/// A logarithm at the ends of its domain: `-∞` for 0, NaN below, infinity and NaN themselves, else `y`.
#[inline(always)]
pub(super) fn with_ends<V: Lane>(x: V, y: V) -> V {
    let zero = V::num(0.0);
    let end = V::select(x.eq(zero), -V::splat(V::Elem::INFINITY), V::splat(V::Elem::NAN));
    let y = V::select(x.lt(V::splat(V::Elem::INFINITY)), y, x);
    V::select(x.le(zero), end, y)
}

/// Natural logarithm.
#[inline(always)]
pub(crate) fn log<V: Real>(x: V) -> V {
    with_ends(x, V::Elem::log(x))
}

/// Logarithm to base 2; exact for powers of two.
#[inline(always)]
pub(crate) fn log2<V: Real>(x: V) -> V {
    with_ends(x, V::Elem::log2(x))
}

/// Logarithm to base 10; exact for powers of ten.
#[inline(always)]
pub(crate) fn log10<V: Real>(x: V) -> V {
    if is_short::<V>() {
        return with_ends(x, V::narrow(short::log10(x.widen())));
    }
    let l = Logarithm::of(x);
    let m = l.m * Dw::splat(V::Elem::INV_LN10);
    with_ends(x, l.in_base(V::Elem::LOG10_2_SPLIT, m).round())
}

/// log(1 + x) without the cancellation near 0.
#[inline(always)]
pub(crate) fn log1p<V: Real>(x: V) -> V {
    let y = V::Elem::log1p(x);
    // Keeps -0, and the subnormal numbers, whose halves the kernel cannot hold.
    let tiny = x.abs().lt(V::splat(V::Elem::EPSILON) * V::num(0.25));
    with_ends(two_sum(V::num(1.0), x).hi, V::select(tiny, x, y))
}

impl LogConstants for f32 {
    const ATANH: &'static [f32] = &[0.20000196, 0.1426282, 0.119361825];
    const ONE_THIRD: (f32, f32) = (0.33333334, -9.934108e-9);
    const INV_LN2: (f32, f32) = (std::f32::consts::LOG2_E, 1.925963e-8);
    const INV_LN10: (f32, f32) = (std::f32::consts::LOG10_E, -1.010305e-8);
    const LOG10_2_SPLIT: (f32, f32) = (0.30103302, -3.0243555e-6);

    #[inline(always)]
    fn log<V: Real<Elem = f32>>(x: V) -> V {
        let (e, m) = x.split_exponent();
        let f = m - V::num(1.0);
        e.mul_add(V::splat(std::f32::consts::LN_2), (f * f).mul_add(curvature(f), f))
    }

    #[inline(always)]
    fn log2<V: Real<Elem = f32>>(x: V) -> V {
        let (e, m) = x.split_exponent();
        let f = m - V::num(1.0);
        // Base 2 magnifies what the last terms round away, so the square is kept whole.
        let square = two_prod(f, f);
        let cubic = (square.hi * f).mul_add(poly(f, &LOG_NEAR_1), square.lo * V::num(-0.5));
        let y = fast_two_sum(f, square.hi * V::num(-0.5));
        let (hi, lo) = (V::splat(Self::INV_LN2.0), V::splat(Self::INV_LN2.1));
        let product = two_prod(y.hi, hi);
        let s = fast_two_sum(e, product.hi);
        let small = y.hi.mul_add(lo, product.lo) + s.lo;
        s.hi + (y.lo + cubic).mul_add(hi, small)
    }

    #[inline(always)]
    fn log1p<V: Real<Elem = f32>>(x: V) -> V {
        let one = V::num(1.0);
        let sum = two_sum(one, x);
        let (e, m) = sum.hi.split_exponent();
        // What the sum lost is nothing beside a large one, whose reciprocal would be subnormal.
        let lost = sum.lo * V::exp2_int(V::num(-100.0).max(-e));
        let f = fast_two_sum(m - one, lost);
        log_of_parts(e, f.hi, f.lo.mul_add(-f.hi, f.lo))
    }
}

/// `e · ln 2 + log(1 + f) + small`, without a division, and exact in the terms that count.
#[inline(always)]
fn log_of_parts<V: Real<Elem = f32>>(e: V, f: V, small: V) -> V {
    let (ln2_hi, ln2_lo) = f32::LN2_SPLIT;
    // The product is exact, so this is its sum with f, and what that rounded away.
    let sum = e.mul_add(V::splat(ln2_hi), f);
    let rest = f - e.mul_add(-V::splat(ln2_hi), sum);
    sum + (f * f).mul_add(curvature(f), e.mul_add(V::splat(ln2_lo), rest) + small)
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
    const INV_LN10: (f64, f64) = (std::f64::consts::LOG10_E, 1.098319650216765e-17);
    const LOG10_2_SPLIT: (f64, f64) = (0.30102999566395283, 2.8363394551044964e-14);

    #[inline(always)]
    fn log<V: Real<Elem = f64>>(x: V) -> V {
        let (e, m) = x.split_exponent();
        let f = m - V::num(1.0);
        // f - f²/2 in two words and the small rest in one, without a division.
        let square = two_prod(f, f);
        let near = fast_two_sum(f, square.hi * V::num(-0.5));
        let rest = (square.hi * f).mul_add(poly(f, &LOG_NEAR_1_LONG), square.lo * V::num(-0.5));
        let (ln2_hi, ln2_lo) = Self::LN2_SPLIT;
        let sum = fast_two_sum(e * V::splat(ln2_hi), near.hi);
        sum.hi + (e.mul_add(V::splat(ln2_lo), sum.lo) + (near.lo + rest))
    }

    #[inline(always)]
    fn log2<V: Real<Elem = f64>>(x: V) -> V {
        Logarithm::of(x).binary().round()
    }

    #[inline(always)]
    fn log1p<V: Real<Elem = f64>>(x: V) -> V {
        Logarithm::of_one_plus(x.into()).natural().round()
    }
}

/// As `LOG_NEAR_1`, for `f64`.
const LOG_NEAR_1_LONG: [f64; 21] = [
    0.3333333333333331,
    -0.24999999999999864,
    0.20000000000010973,
    -0.16666666666723737,
    0.1428571428412168,
    -0.12499999990944481,
    0.11111111214589184,
    -0.10000000709113109,
    0.09090905949485542,
    -0.08333303174225128,
    0.07692334307508412,
    -0.0714356311970137,
    0.0666758395191922,
    -0.06241786676668409,
    0.05855441408734497,
    -0.05577941121688793,
    0.05509983065132903,
    -0.053744661440309545,
    0.04390306717012442,
    -0.023967449427385896,
    0.006172040170438777,
];
