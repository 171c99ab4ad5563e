//! Owns the two forms of the Gaussian error linear unit.
//!
//! Both are `x` times a probability, whose relative error is small even in the negative tail.

use super::dw::{Dw, fast_two_difference, two_prod, two_sum};
use super::exp::Exponential;
use super::normal_tail::NormalTail;
use super::power::Power;
use super::{Real, clamp, is_short, minimum};
use crate::lane::{Element, Lane, rare};

/// √(8/π) and 0.044715 · √(8/π) as double words.
const LINEAR: (f64, f64) = (1.5957691216057308, -9.96930880911092e-17);
const CUBIC: (f64, f64) = (0.07135481627260025, -6.175149918155315e-19);

/// NaN at -∞ as in PyTorch, whose formula multiplies it by 0; `y` elsewhere.
#[inline(always)]
fn with_end<V: Lane>(x: V, y: V) -> V {
    V::select(x.eq(-V::splat(V::Elem::INFINITY)), V::splat(V::Elem::NAN), y)
}

/// x · Φ(x), Φ being the distribution function of the normal distribution.
#[inline(always)]
pub(crate) fn gelu<V: Real>(x: V) -> V {
    let (ordinary, end) = V::Elem::GELU_RANGE;
    // x · Φ(x) = max(x, 0) - s · Φ(-s) for s = |x|, and Φ(-s) = exp(-s²/2) · ratio. Above 13 it is x.
    let s = (-x).max(V::num(13.0).min(x));
    let tail = V::Elem::tail(&V::Elem::MILLS, s);
    let scaled = s * tail.unit();
    let less = two_prod(tail.high, scaled);
    let difference = fast_two_difference(V::num(0.0).max(x), less.hi);
    let y = difference.hi + (difference.lo - tail.low.mul_add(scaled, less.lo));
    let y = if is_short::<V>() { minimum::GELU.or(x, y) } else { y };
    let is_ordinary = x.ge(V::num(ordinary)) & x.lt(V::splat(V::Elem::INFINITY));
    rare!(!is_ordinary, y.copysign(x), {
        let y = V::select(x.ge(V::num(end)), -tail.times(s), V::num(-0.0));
        with_end(x, V::select(x.lt(V::num(0.0)), y, x))
    })
}

/// The form with a hyperbolic tangent: x / (1 + exp(-√(8/π) · (x + 0.044715 x³))).
#[inline(always)]
pub(crate) fn gelu_tanh<V: Real>(x: V) -> V {
    // Below, the result may be subnormal; above, 1 absorbs the exponential.
    let (bottom, top) = (if is_short::<V>() { -9.5 } else { -20.5 }, 8.0);
    let size = -clamp(x, bottom, top);
    // The exponent in two words.
    let square = two_prod(size, size);
    let (cubic, linear) = (Dw::<V>::constant(CUBIC), Dw::constant(LINEAR));
    let product = two_prod(square.hi, cubic.hi);
    let low = square.hi.mul_add(cubic.lo, square.lo.mul_add(cubic.hi, product.lo));
    let factor = two_sum(linear.hi, product.hi);
    let exponent = two_prod(factor.hi, size);
    let low = (factor.lo + (low + linear.lo)).mul_add(size, exponent.lo);
    let y = Power::of(exponent.hi, Some(low)).divide_by_one_plus(x);
    let y = if is_short::<V>() { minimum::GELU_TANH.or(x, y) } else { y };
    let is_ordinary = x.ge(V::num(bottom)) & x.lt(V::splat(V::Elem::INFINITY));
    rare!(!is_ordinary, y, with_end(x, V::select(x.gt(V::num(0.0)), x, power_product(x))))
}

/// The same for very negative numbers, whose exponential absorbs the 1.
#[inline(always)]
fn power_product<V: Real>(x: V) -> V {
    let bottom = if is_short::<V>() { -12.0 } else { -22.5 };
    let size = clamp(x, bottom, 0.0).abs();
    let exponent = (two_prod(size, size) * Dw::constant(CUBIC) + Dw::constant(LINEAR)) * size;
    let e = Exponential::of(-exponent);
    -(e.significand() * size).hi.ldexp(e.n)
}
