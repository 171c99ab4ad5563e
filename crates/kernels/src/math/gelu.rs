//! Owns the two forms of the Gaussian error linear unit.
//!
//! Both are `x` times a probability, whose relative error is small even in the negative tail.

use super::dw::{Dw, fast_two_sum, two_prod};
use super::erf::complement;
use super::exp::Exponential;
use super::{clamp, is_short, short};
use crate::lane::{Element, Lane};

/// √½, √(8/π) and 0.044715 · √(8/π) as double words.
const SQRT_HALF: (f64, f64) = (std::f64::consts::FRAC_1_SQRT_2, -4.833646656726457e-17);
const LINEAR: (f64, f64) = (1.5957691216057308, -9.96930880911092e-17);
const CUBIC: (f64, f64) = (0.07135481627260025, -6.175149918155315e-19);

/// NaN at -∞ as in PyTorch, whose formula multiplies it by 0; `y` elsewhere.
#[inline(always)]
fn with_end<V: Lane>(x: V, y: V) -> V {
    V::select(x.eq(-V::splat(V::Elem::INFINITY)), V::splat(V::Elem::NAN), y)
}

/// From here on the functions are `x`.
const LARGE: f64 = 39.0;

/// x · Φ(x), Φ being the distribution function of the normal distribution.
#[inline(always)]
pub(crate) fn gelu<V: Lane>(x: V) -> V {
    let wide = x.widen();
    with_end(x, V::narrow(if is_short::<V>() { short::gelu(wide) } else { normal_product(wide) }))
}

#[inline(always)]
fn normal_product<W: Lane<Elem = f64>>(x: W) -> W {
    let t = clamp(x, -LARGE, LARGE);
    let half = W::num(0.5);
    let (probability, n) = complement(-(Dw::splat(SQRT_HALF) * t), two_prod(t, t).scale(half));
    let y = (probability.scale(half) * t.abs()).hi.ldexp(n).mul_sign(x);
    W::select(x.gt(W::num(LARGE)), x, y)
}

/// The form with a hyperbolic tangent: x / (1 + exp(-√(8/π) · (x + 0.044715 x³))).
#[inline(always)]
pub(crate) fn gelu_tanh<V: Lane>(x: V) -> V {
    let wide = x.widen();
    with_end(x, V::narrow(if is_short::<V>() { short::gelu_tanh(wide) } else { logistic_product(wide) }))
}

#[inline(always)]
fn logistic_product<W: Lane<Elem = f64>>(x: W) -> W {
    let (zero, one) = (W::num(0.0), W::num(1.0));
    let t = clamp(x, -22.0, LARGE);
    let size = t.abs().min(W::num(22.0));
    let exponent = (two_prod(size, size) * Dw::splat(CUBIC) + Dw::splat(LINEAR)) * size;
    let e = Exponential::of(-exponent);
    let s = e.significand();
    let small = Dw { hi: s.hi.ldexp(e.n), lo: s.lo.ldexp(e.n.max(W::num(-900.0))) };
    let divisor = fast_two_sum(one, small.hi);
    let divisor = Dw { hi: divisor.hi, lo: divisor.lo + small.lo };
    let negative = x.lt(zero);
    let numerator = Dw::select(negative, s, one.into()) * t.abs();
    let y = numerator.div(divisor).hi.ldexp(W::select(negative, e.n, zero)).mul_sign(x);
    W::select(x.gt(W::num(LARGE)), x, y)
}
