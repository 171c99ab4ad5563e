//! Owns the exponential kernel and the functions next to it: `exp`, `exp2`, `expm1`. The argument is reduced
//! by Cody and Waite's split of ln 2; a polynomial is left.
//!
//! The constants come from `coefficients/exp.py`.

use super::dw::{Dw, fast_two_difference, fast_two_sum, two_prod};
use super::power::Power;
use super::{Real, clamp, is_short, poly, short};
use crate::lane::{Element, Lane, rare};

/// The constants of the exponential functions for an element type.
pub(crate) trait ExpConstants: Element {
    const LOG2_E: Self;
    /// ln 2 in two parts. The first has so many trailing zero bits that its product with any exponent is
    /// exact.
    const LN2_SPLIT: (Self, Self);
    /// ln 2 as a double word.
    const LN2: (Self, Self);
    /// (e^r - 1 - r - r²/2) / r³ for |r| <= ln(2)/2.
    const EXPM1: &'static [Self];
    /// Below the first e^x rounds to 0, above the second to infinity.
    const EXP_RANGE: (f64, f64);
    /// The same for 2^x.
    const EXP2_RANGE: (f64, f64);

    fn exp<V: Lane<Elem = Self>>(x: V) -> V;
    fn exp2<V: Lane<Elem = Self>>(x: V) -> V;
}

/// An exponential as `2^n · (1 + p)`, where the relative error of `p` is small, so that nothing cancels near
/// e^0.
#[derive(Clone, Copy)]
pub(super) struct Exponential<V> {
    pub(super) n: V,
    pub(super) p: Dw<V>,
}

impl<V: Real> Exponential<V> {
    /// e^x for `x` in the exponent range.
    #[inline(always)]
    pub(super) fn of(x: Dw<V>) -> Self {
        let n = (x.hi * V::splat(V::Elem::LOG2_E)).round_ties_even();
        let (ln2_hi, ln2_lo) = V::Elem::LN2_SPLIT;
        // The first step is exact; the second one's rounding error goes to the low part.
        let r = n.mul_add(-V::splat(ln2_hi), x.hi);
        let t = n * V::splat(ln2_lo);
        let r = fast_two_difference(r, t);
        Exponential { n, p: expm1_near_0(fast_two_sum(r.hi, r.lo + x.lo)) }
    }

    /// 2^x for `x` in the exponent range.
    #[inline(always)]
    pub(super) fn of_base_2(x: Dw<V>) -> Self {
        let n = x.hi.round_ties_even();
        let rest = fast_two_sum(x.hi - n, x.lo);
        Exponential { n, p: expm1_near_0(rest * Dw::splat(V::Elem::LN2)) }
    }

    /// `1 + p`.
    #[inline(always)]
    pub(super) fn significand(self) -> Dw<V> {
        let s = fast_two_sum(V::num(1.0), self.p.hi);
        fast_two_sum(s.hi, s.lo + self.p.lo)
    }
}

/// e^r - 1 for |r| <= ln(2)/2, with a relative error near 2^-58 (2^-29 in `f32`).
#[inline(always)]
fn expm1_near_0<V: Real>(r: Dw<V>) -> Dw<V> {
    let half = V::num(0.5);
    let square = two_prod(r.hi, r.hi);
    let cubic = square.hi * r.hi * poly(r.hi, V::Elem::EXPM1);
    let s = fast_two_sum(r.hi, square.hi * half);
    let small = square.lo.mul_add(half, r.lo.mul_add(r.hi, r.lo)) + cubic;
    fast_two_sum(s.hi, s.lo + small)
}

/// e^x.
#[inline(always)]
pub(crate) fn exp<V: Real>(x: V) -> V {
    V::Elem::exp(x)
}

/// 2^x.
#[inline(always)]
pub(crate) fn exp2<V: Real>(x: V) -> V {
    V::Elem::exp2(x)
}

/// e^x - 1 without the cancellation near 0.
#[inline(always)]
pub(crate) fn expm1<V: Real>(x: V) -> V {
    let y = if is_short::<V>() { V::narrow(short::expm1(x.widen())) } else { expm1_in_two_words(x) };
    // Keeps -0 and subnormal numbers, whose squares underflow.
    let tiny = x.abs().lt(V::splat(V::Elem::EPSILON) * V::num(0.25));
    V::select(tiny, x, y)
}

/// e^x - 1 for arguments that are not tiny.
#[inline(always)]
fn expm1_in_two_words<V: Real>(x: V) -> V {
    let (half, one) = (V::num(0.5), V::num(1.0));
    let (_, top) = V::Elem::EXP_RANGE;
    let e = Exponential::of(clamp(x, -64.0, top).into());
    // (2^n - 1) + 2^n · p, of which the first is the larger unless it is 0; halved, because 2^n may be
    // infinite. The rounding error of the subtraction is exact for n >= 0, and negligible beside -1.
    let power = V::exp2_int(e.n - one);
    let whole = power - half;
    let lost = (power - whole) - half;
    let s = fast_two_sum(whole, power * e.p.hi);
    let y = s.hi + (s.lo + power.mul_add(e.p.lo, lost));
    y + y
}

/// An exponential of `f32` as `2^n · (1 + p)`. The sum `1 + p` is only rounded where it is scaled, so that
/// results rise with `p`, which has a finer last place.
#[derive(Clone, Copy)]
struct Short<V> {
    /// n + `SHORT_ROUNDER`.
    sum: V,
    p: V,
}

/// Its last bits are the exponent of 1 in its place.
const SHORT_ROUNDER: f32 = f32::ROUNDER + 127.0;

impl<V: Lane<Elem = f32>> Short<V> {
    /// e^x for `x` in the exponent range.
    #[inline(always)]
    fn of(x: V) -> Self {
        let sum = x.mul_add(V::splat(f32::LOG2_E), V::splat(SHORT_ROUNDER));
        let n = sum - V::splat(SHORT_ROUNDER);
        // The first step is exact: unless n is 0, both numbers are multiples of 2^-25, and so is the
        // difference, which is below 1/2.
        let first = n.mul_add(-V::splat(f32::LN2.0), x);
        let r = n.mul_add(-V::splat(f32::LN2.1), first);
        Short { sum, p: (r * r).mul_add(poly(r, &SHORT_EXP), r) }
    }

    /// 2^x for `x` in the exponent range.
    #[inline(always)]
    fn of_base_2(x: V) -> Self {
        let sum = x + V::splat(SHORT_ROUNDER);
        let r = x - (sum - V::splat(SHORT_ROUNDER));
        Short { sum, p: r.mul_add(V::splat(f32::LN2.0), r * poly(r, &SHORT_EXP2)) }
    }

    /// The exponential, if 2^n is a normal number and so is this.
    #[inline(always)]
    fn scaled(self) -> V {
        let power = V::from_bits(self.sum.to_bits() << f32::SIGNIFICAND);
        self.p.mul_add(power, power)
    }

    /// The exponential.
    #[inline(always)]
    fn scaled_far(self) -> V {
        (self.p + V::num(1.0)).ldexp(self.sum - V::splat(SHORT_ROUNDER))
    }
}

/// (e^r - 1 - r) / r² for |r| <= ln(2)/2, nearer where `r` is negative: there rounding takes most of a last
/// place.
pub(super) const SHORT_EXP: [f32; 5] = [0.49999976, 0.16666548, 0.04167381, 0.00836614, 0.0013464715];
/// (2^r - 1) / r less the first word of ln 2, for |r| <= 1/2.
const SHORT_EXP2: [f32; 6] =
    [2.0404231e-8, 0.24022648, 0.055503324, 0.009618458, 0.0013398924, 0.00015347544];

impl ExpConstants for f32 {
    const LOG2_E: f32 = std::f32::consts::LOG2_E;
    const LN2_SPLIT: (f32, f32) = (0.69314575, 1.4286068e-6);
    const LN2: (f32, f32) = (std::f32::consts::LN_2, -1.9046542e-9);
    const EXPM1: &'static [f32] = &[0.16666667, 0.041666485, 0.008333205, 0.0013933112, 0.00019947135];
    const EXP_RANGE: (f64, f64) = (-104.0, 89.0);
    const EXP2_RANGE: (f64, f64) = (-151.0, 128.0);

    #[inline(always)]
    fn exp<V: Lane<Elem = f32>>(x: V) -> V {
        rare!(!x.abs().le(V::num(87.0)), Short::of(x).scaled(), {
            let (bottom, top) = Self::EXP_RANGE;
            Short::of(clamp(x, bottom, top)).scaled_far()
        })
    }

    #[inline(always)]
    fn exp2<V: Lane<Elem = f32>>(x: V) -> V {
        rare!(!x.abs().le(V::num(126.0)), Short::of_base_2(x).scaled(), {
            let (bottom, top) = Self::EXP2_RANGE;
            Short::of_base_2(clamp(x, bottom, top)).scaled_far()
        })
    }
}

impl ExpConstants for f64 {
    const LOG2_E: f64 = std::f64::consts::LOG2_E;
    const LN2_SPLIT: (f64, f64) = (0.6931471805598903, 5.497923018708371e-14);
    const LN2: (f64, f64) = (std::f64::consts::LN_2, 2.3190468138462996e-17);
    const EXPM1: &'static [f64] = &[
        0.16666666666666677,
        0.04166666666666669,
        0.008333333333321343,
        0.0013888888888868851,
        0.00019841269887005433,
        2.4801587358760467e-5,
        2.7557243196178317e-6,
        2.755724332436593e-7,
        2.510942928507348e-8,
        2.0924444913643002e-9,
    ];
    const EXP_RANGE: (f64, f64) = (-746.0, 710.0);
    const EXP2_RANGE: (f64, f64) = (-1076.0, 1024.0);

    #[inline(always)]
    fn exp<V: Lane<Elem = f64>>(x: V) -> V {
        rare!(!x.abs().le(V::num(708.0)), Power::of(x, None).scaled(), {
            let (bottom, top) = Self::EXP_RANGE;
            Power::of(clamp(x, bottom, top), None).scaled_far()
        })
    }

    #[inline(always)]
    fn exp2<V: Lane<Elem = f64>>(x: V) -> V {
        rare!(!x.abs().le(V::num(1022.0)), Power::of_base_2(x).scaled(), {
            let (bottom, top) = Self::EXP2_RANGE;
            Power::of_base_2(clamp(x, bottom, top)).scaled_far()
        })
    }
}
