//! Owns the inverses of the hyperbolic functions and of the logistic one: `asinh`, `acosh`, `atanh`, `logit`.
//!
//! All are logarithms of an argument formed in double words, so that no digits are lost where the argument
//! nears 1; `f32` has short forms of the first three.

use super::dw::{Dw, two_prod, two_sum};
use super::log::Logarithm;
use super::{Real, is_short, short};
use crate::lane::Element;

/// Whether x² is so small that a function x + O(x³) equals x.
#[inline(always)]
fn is_tiny<V: Real>(x: V) -> V::Mask {
    (x * x).lt(V::splat(V::Elem::EPSILON) * V::num(0.0625))
}

/// log(x + root), where the root is left out and doubling `x` stands for it once x² hides the ±1 under it.
#[inline(always)]
fn log_with_root<V: Real>(x: V, root_argument: Dw<V>) -> V {
    let large = (x * x).gt(V::num(16.0) / V::splat(V::Elem::EPSILON));
    let sum = root_argument.sqrt() + x;
    let sum = Dw::select(large, x.into(), sum);
    let mut l = Logarithm::of_quotient(sum, V::num(1.0).into(), sum.hi);
    l.e = V::select(large, l.e + V::num(1.0), l.e);
    l.natural().round()
}

/// Inverse hyperbolic sine.
#[inline(always)]
pub(crate) fn asinh<V: Real>(x: V) -> V {
    if is_short::<V>() {
        return V::select(x.is_finite(), V::narrow(short::asinh(x.widen())), x);
    }
    let a = x.abs();
    let y = log_with_root(a, two_prod(a, a) + V::num(1.0)).mul_sign(x);
    V::select(is_tiny(x) | !x.is_finite(), x, y)
}

/// Inverse hyperbolic cosine; NaN below 1.
#[inline(always)]
pub(crate) fn acosh<V: Real>(x: V) -> V {
    let one = V::num(1.0);
    let y = if is_short::<V>() {
        V::narrow(short::acosh(x.widen()))
    } else {
        log_with_root(x, two_prod(x, x) + -one)
    };
    let y = V::select(x.is_finite(), y, x);
    V::select(x.lt(one), V::splat(V::Elem::NAN), y)
}

/// Inverse hyperbolic tangent; infinite at ±1, NaN beyond.
#[inline(always)]
pub(crate) fn atanh<V: Real>(x: V) -> V {
    let a = x.abs();
    let one = V::num(1.0);
    let y = if is_short::<V>() { V::narrow(short::atanh(x.widen())) } else { half_log_of_quotient(x) };
    let end = V::select(a.eq(one), V::splat(V::Elem::INFINITY).mul_sign(x), V::splat(V::Elem::NAN));
    V::select(a.lt(one), y, end)
}

/// atanh x for |x| < 1 as ½ log((1 + x) / (1 - x)).
#[inline(always)]
fn half_log_of_quotient<V: Real>(x: V) -> V {
    let (one, a) = (V::num(1.0), x.abs());
    let (above, below) = (two_sum(one, a), two_sum(one, -a));
    let l = Logarithm::of_quotient(above, below, above.hi / below.hi);
    let y = l.natural().scale(V::num(0.5)).round().mul_sign(x);
    V::select(is_tiny(x), x, y)
}

/// log(x / (1 - x)); infinite at 0 and 1, NaN outside.
#[inline(always)]
pub(crate) fn logit<V: Real>(x: V) -> V {
    let (zero, one) = (V::num(0.0), V::num(1.0));
    let rest = two_sum(one, -x);
    let y = Logarithm::of_quotient(x.into(), rest, x / rest.hi).natural().round();
    let infinity = V::splat(V::Elem::INFINITY);
    let y = V::select(x.eq(zero), -infinity, V::select(x.eq(one), infinity, y));
    V::select(x.ge(zero) & x.le(one), y, V::splat(V::Elem::NAN))
}
