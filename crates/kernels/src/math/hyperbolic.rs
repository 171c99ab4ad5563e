//! Owns the functions that are quotients of exponentials: `sinh`, `cosh`, `tanh`, `sigmoid`, `silu`.
//!
//! All are functions of e^x, a power of two times a number near 1. The power of two is kept apart, so that
//! nothing overflows before the result does, and the number is a double word, so that the quotient is rounded
//! once. `f32` has a shorter `tanh`, whose polynomial comes from `coefficients/tanh.py`.

use super::dw::{Dw, fast_two_difference, fast_two_sum};
use super::exp::{ExpConstants, Exponential, SHORT_EXP};
use super::power::{Power, PowerConstants};
use super::{Real, clamp, is_short, minimum, poly, short};
use crate::lane::{Element, rare};

/// The function whose body depends on the element type.
pub(crate) trait Tanh: Element {
    fn tanh<V: Real<Elem = Self>>(x: V) -> V;
}

/// e^|x| = 2^n (1 + p) for even and odd functions, which overflow a little after e^x does, and 4^-n.
#[inline(always)]
fn exp_of_magnitude<V: Real>(x: V) -> (Exponential<V>, V) {
    let (_, top) = V::Elem::EXP_RANGE;
    let e = Exponential::of(V::num(top + 1.0).min(x.abs()).into());
    // From 2^60 on e^x absorbs e^-x, even in double words.
    let n = V::num(60.0).min(e.n);
    (e, V::exp2_int(-(n + n)))
}

/// `1 + power + p`, where the power of two is at most 1, and `1 + power` is 0 or has an exponent not below
/// that of `p`.
#[inline(always)]
fn one_plus<V: Real>(power: V, p: Dw<V>) -> Dw<V> {
    let whole = fast_two_sum(V::num(1.0), power);
    let s = fast_two_sum(whole.hi, p.hi);
    fast_two_sum(s.hi, s.lo + (whole.lo + p.lo))
}

/// Hyperbolic sine.
#[inline(always)]
pub(crate) fn sinh<V: Real>(x: V) -> V {
    if is_short::<V>() {
        return V::narrow(short::sinh(x.widen()));
    }
    // (e^x - e^-x) / 2 = 2^(n-1) · ((1 + p)² - 4^-n) / (1 + p), where the ones cancel exactly.
    let (e, shrink) = exp_of_magnitude(x);
    let numerator = one_plus(-shrink, e.p * (e.p + V::num(2.0)));
    numerator.quotient(e.significand()).ldexp(e.n - V::num(1.0)).mul_sign(x)
}

/// Hyperbolic cosine.
#[inline(always)]
pub(crate) fn cosh<V: Real>(x: V) -> V {
    if is_short::<V>() {
        return V::narrow(short::cosh(x.widen()));
    }
    let (e, shrink) = exp_of_magnitude(x);
    let significand = e.significand();
    (significand * significand + shrink).quotient(significand).ldexp(e.n - V::num(1.0))
}

/// Hyperbolic tangent.
#[inline(always)]
pub(crate) fn tanh<V: Real>(x: V) -> V {
    V::Elem::tanh(x)
}

/// 1 / (1 + e^-x) as a numerator, a denominator and a power of two. Both are functions of e^-|x|, which is at
/// most 1, so nothing overflows.
#[inline(always)]
fn logistic<V: Real>(x: V) -> (Dw<V>, Dw<V>, V) {
    let e = Exponential::of((-x.abs()).into());
    let power = e.significand().scale(V::exp2_int(V::num(-120.0).max(e.n)));
    let sum = fast_two_sum(V::num(1.0), power.hi);
    let denominator = Dw { hi: sum.hi, lo: sum.lo + power.lo };
    let below = x.lt(V::num(0.0));
    let numerator = Dw::select(below, e.significand(), V::num(1.0).into());
    (numerator, denominator, V::select(below, e.n, V::num(0.0)))
}

/// 1 / (1 + e^-x).
#[inline(always)]
pub(crate) fn sigmoid<V: Real>(x: V) -> V {
    let (bottom, top) = V::Elem::LOGISTIC_RANGE;
    let y = Power::of(-clamp(x, bottom, top), None).divide_by_one_plus(V::num(1.0));
    rare!(x.lt(V::num(bottom)), y, {
        let (bottom, _) = V::Elem::EXP_RANGE;
        let (numerator, denominator, n) = logistic(clamp(x, bottom, -bottom));
        numerator.quotient(denominator).ldexp(n)
    })
}

/// x / (1 + e^-x); NaN at minus infinity, as the formula says.
#[inline(always)]
pub(crate) fn silu<V: Real>(x: V) -> V {
    let (bottom, top) = V::Elem::LOGISTIC_RANGE;
    let y = Power::of(-clamp(x, bottom, top), None).divide_by_one_plus(x);
    let y = if is_short::<V>() { minimum::SILU.or(x, y) } else { y };
    let is_ordinary = x.ge(V::num(bottom)) & x.lt(V::splat(V::Elem::INFINITY));
    rare!(!is_ordinary, y, {
        // A tenth more than e^x needs, because x multiplies it.
        let (bottom, _) = V::Elem::EXP_RANGE;
        let inside = clamp(x, 1.1 * bottom, -bottom);
        let (numerator, denominator, n) = logistic(inside);
        let y = (numerator * inside.abs()).quotient(denominator).ldexp(n).mul_sign(x);
        let y = V::select(x.gt(V::num(0.0)), x, y);
        V::select(x.eq(-V::splat(V::Elem::INFINITY)), V::splat(V::Elem::NAN), y)
    })
}

impl Tanh for f32 {
    #[inline(always)]
    fn tanh<V: Real<Elem = f32>>(x: V) -> V {
        let a = x.abs();
        // 1 - 2 / (e^2a + 1): the subtrahend is at most a quarter, and so is the weight of its error.
        let (one, two) = (V::num(1.0), V::num(2.0));
        let twice = V::num(10.0).min(a) * two;
        let n = twice.exponent(f32::LOG2_E);
        let (ln2_hi, ln2_lo) = f32::LN2_SPLIT;
        let r = n.mul_add(-V::splat(ln2_lo), n.mul_add(-V::splat(ln2_hi), twice));
        let exponential = poly(r, &SHORT_EXP).mul_add(r, one).mul_add(r, one);
        let far = one - two / exponential.mul_add(V::exp2_int(n), one);
        let square = x * x;
        let near = (square * a).mul_add(poly(square, &TANH_NEAR_0), a);
        V::select(a.lt(V::num(1.0)), near, far).mul_sign(x)
    }
}

/// (tanh x - x) / x³ as a polynomial in x², for |x| <= 1.
const TANH_NEAR_0: [f32; 8] = [
    -0.33333328,
    0.13333175,
    -0.05395075,
    0.021774676,
    -0.008572272,
    0.0030502917,
    -0.00082309433,
    0.000116842515,
];

impl Tanh for f64 {
    #[inline(always)]
    fn tanh<V: Real<Elem = f64>>(x: V) -> V {
        // (1 - e^-2a) / (1 + e^-2a); from 2a = 40 on the result is 1.
        let (one, two) = (V::num(1.0), V::num(2.0));
        let (power, lowest) = Power::in_three(V::num(32.0).min(x.abs()) * -two, V::num(0.0));
        let (high, low, unit) = power.words();
        let first = fast_two_difference(one, high * unit);
        let above = fast_two_difference(first.hi, low * unit);
        let above = fast_two_sum(above.hi, above.lo + (-lowest).mul_add(unit, first.lo));
        let below = fast_two_difference(two, above.hi);
        let below = Dw { hi: below.hi, lo: below.lo - above.lo };
        above.quotient(below).mul_sign(x)
    }
}
