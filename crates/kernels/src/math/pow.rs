//! Owns `pow` and `xlogy`, which multiply a logarithm by a factor that magnifies its error.

use super::dw::Dw;
use super::exp::{ExpConstants, Exponential};
use super::log::{Logarithm, with_ends};
use super::{Real, clamp, is_short, short};
use crate::lane::{Element, rare};

/// x^y with all the special cases of C's `pow`.
#[inline(always)]
pub(crate) fn pow<V: Real>(x: V, y: V) -> V {
    let infinity = V::splat(V::Elem::INFINITY);
    let magnitude = if is_short::<V>() {
        V::narrow(short::pow_of_magnitude(x.abs().widen(), y.widen()))
    } else {
        pow_of_magnitude(x.abs(), y)
    };
    let is_ordinary = x.gt(V::num(0.0)) & x.lt(infinity) & y.abs().lt(infinity);
    rare!(!is_ordinary, magnitude, special_cases(x, y, magnitude))
}

/// x^y, given |x|^y where neither is 0 or infinite.
#[inline(always)]
fn special_cases<V: Real>(x: V, y: V, magnitude: V) -> V {
    let (zero, one, infinity) = (V::num(0.0), V::num(1.0), V::splat(V::Elem::INFINITY));
    let a = x.abs();
    let grows = y.gt(zero) ^ a.lt(one);
    let at_end = V::select(grows, infinity, zero);
    let magnitude = V::select(a.eq(zero) | a.eq(infinity) | y.abs().eq(infinity), at_end, magnitude);
    let magnitude = V::select(a.eq(one), one, magnitude);

    let half = y * V::num(0.5);
    let integral = y.round_ties_even().eq(y);
    let odd = integral & !half.round_ties_even().eq(half);
    let signed = V::select(odd, magnitude.mul_sign(x), magnitude);
    // An infinite y is integral here, as C has it.
    let defined = !(x.lt(zero) & a.lt(infinity) & !integral);
    let result = V::select(defined, signed, V::splat(V::Elem::NAN));
    let result = V::select(x.is_nan() | y.is_nan(), x + y, result);
    V::select(y.eq(zero) | x.eq(one), one, result)
}

/// a^y for finite numbers, of which a is positive.
#[inline(always)]
fn pow_of_magnitude<V: Real>(a: V, y: V) -> V {
    let log = Logarithm::of(a).natural();
    // A double word has no infinities: beyond the range of e^x, the product of single floats suffices.
    let rough = log.hi * y;
    let (bottom, top) = V::Elem::EXP_RANGE;
    let inside = rough.gt(V::num(bottom)) & rough.lt(V::num(top));
    let e = Exponential::of(Dw::select(inside, log * y, clamp(rough, bottom, top).into()));
    e.significand().round().ldexp(e.n)
}

/// x · log y, and 0 for x = 0 unless y is NaN.
#[inline(always)]
pub(crate) fn xlogy<V: Real>(x: V, y: V) -> V {
    let zero = V::num(0.0);
    let log = Logarithm::of(y).natural();
    let product = log * x;
    // A double word has no infinities and loses the sign of zero.
    let rough = with_ends(y, log.hi) * x;
    let result = V::select(rough.is_finite() & !rough.eq(zero), product.round(), rough);
    V::select(y.is_nan(), y, V::select(x.eq(zero), zero, result))
}
