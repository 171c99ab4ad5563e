//! Owns the bodies on floats, each written once over lanes: for one element and for whole registers. f16 and
//! bf16 compute in f32 and round once after each operation, as PyTorch does; the exceptions are in `half.rs`.

use crate::lane::{Bits, Element, rare};
use crate::math;
pub(crate) use crate::math::Real as Floats;

/// Operations that are one function of `math`.
macro_rules! functions {
    (unary { $($unary:ident)* } binary { $($binary:ident)* }) => {
        $(#[inline(always)]
        pub(crate) fn $unary<V: Floats>(a: V) -> V {
            math::$unary(a)
        })*
        $(#[inline(always)]
        pub(crate) fn $binary<V: Floats>(a: V, b: V) -> V {
            math::$binary(a, b)
        })*
    };
}

math::for_each_function!(functions);

/// Operations written here.
macro_rules! bodies {
    ($($name:ident($($arg:ident),+) => $body:expr;)*) => {
        $(#[inline(always)]
        pub(crate) fn $name<V: Floats>($($arg: V),+) -> V {
            $body
        })*
    };
}

/// Operations whose result is a bool.
macro_rules! tests {
    ($($name:ident($($arg:ident),+) => $body:expr;)*) => {
        $(#[inline(always)]
        pub(crate) fn $name<V: Floats>($($arg: V),+) -> V::Mask {
            $body
        })*
    };
}

bodies! {
    abs(a) => a.abs();
    angle(a) => V::select(a.lt(zero()), V::num(std::f64::consts::PI), V::select(a.is_nan(), a, zero()));
    ceil(a) => a.ceil();
    conj_physical(a) => a;
    floor(a) => a.floor();
    frac(a) => a - a.trunc();
    // In [0.5, 1), except that zeros, infinities and NaN stay.
    frexp_mantissa(a) => math::frexp(a).0;
    // 0 for zeros, infinities and NaN.
    frexp_exponent(a) => math::frexp(a).1;
    neg(a) => -a;
    positive(a) => a;
    real(a) => a;
    reciprocal(a) => one::<V>() / a;
    relu(a) => zero::<V>().max(a);
    round(a) => a.round_ties_even();
    sgn(a) => sign(a);
    sign(a) => V::select(a.gt(zero()), one(), V::select(a.lt(zero()), -one::<V>(), zero()));
    sqrt(a) => a.sqrt();
    square(a) => a * a;
    trunc(a) => a.trunc();

    add(a, b) => a + b;
    copysign(a, b) => a.copysign(b);
    div(a, b) => a / b;
    div_trunc(a, b) => (a / b).trunc();
    floor_divide(a, b) => floored_quotient(a, b);
    fmax(a, b) => V::select(a.is_nan(), b, b.max(a));
    fmin(a, b) => V::select(a.is_nan(), b, b.min(a));
    heaviside(a, values) => V::select(a.eq(zero()), values, V::select(a.gt(zero()), one(), zero()));
    maximum(a, b) => a.maximum(b);
    minimum(a, b) => a.minimum(b);
    mul(a, b) => a * b;
    remainder(a, b) => floored_remainder(a, b);
    sub(a, b) => a - b;
}

tests! {
    isfinite(a) => a.is_finite();
    isinf(a) => a.abs().eq(infinity());
    isnan(a) => a.is_nan();
    isneginf(a) => a.eq(-infinity::<V>());
    isposinf(a) => a.eq(infinity());
    logical_not(a) => a.eq(zero());
    signbit(a) => a.is_negative();

    eq(a, b) => a.eq(b);
    ge(a, b) => a.ge(b);
    gt(a, b) => a.gt(b);
    le(a, b) => a.le(b);
    logical_and(a, b) => !(a.eq(zero()) | b.eq(zero()));
    logical_or(a, b) => !(a.eq(zero()) & b.eq(zero()));
    logical_xor(a, b) => a.eq(zero()) ^ b.eq(zero());
    lt(a, b) => a.lt(b);
    ne(a, b) => !a.eq(b);
}

#[inline(always)]
fn zero<V: Floats>() -> V {
    V::num(0.0)
}

#[inline(always)]
fn one<V: Floats>() -> V {
    V::num(1.0)
}

#[inline(always)]
fn infinity<V: Floats>() -> V {
    V::num(f64::INFINITY)
}

/// The remainder of truncated division, which has the sign of `a`, and where it is known.
///
/// A quotient below 2^SIGNIFICAND is at most one too large after rounding and truncation. `a` minus its
/// product with `b` is a number of the format either way, so that the fused multiply-add is exact. Larger
/// quotients are not known, nor is division by infinity.
#[inline(always)]
pub(super) fn short_remainder<V: Floats>(a: V, b: V) -> (V, V::Mask) {
    let (dividend, divisor) = (a.abs(), b.abs());
    let quotient = (dividend / divisor).trunc();
    let rest = (-quotient).mul_add(divisor, dividend);
    let rest = V::select(rest.lt(zero()), rest + divisor, rest).copysign(a);
    let bound = V::num((1u64 << V::Elem::SIGNIFICAND) as f64);
    (rest, quotient.lt(bound) & divisor.is_finite())
}

/// The remainder of truncated division, which has the sign of `a`. It is exact.
#[inline(always)]
pub(crate) fn fmod<V: Floats>(a: V, b: V) -> V {
    // Where truncation and fused multiply-add are function calls, they take longer than a bit-by-bit
    // division.
    if V::IS_ALONE {
        return a.remainder(b);
    }
    let (rest, is_known) = short_remainder(a, b);
    rare!(!is_known, rest, {
        let (long, by) = (V::select(is_known, one(), a), V::select(is_known, one(), b));
        long.remainder(by)
    })
}

/// Whether a remainder is not 0 and its sign is not the divisor's.
#[inline(always)]
fn against<V: Floats>(remainder: V, divisor: V) -> V::Mask {
    !remainder.eq(zero()) & (divisor.lt(zero()) ^ remainder.lt(zero()))
}

/// Python's floor division: exact where the quotient rounded up to an integer that it does not reach.
///
/// Source: `div_floor_floating` in PyTorch's `c10/util/generic_math.h`.
#[inline(always)]
fn floored_quotient<V: Floats>(a: V, b: V) -> V {
    let remainder = fmod(a, b);
    let quotient = (a - remainder) / b;
    let quotient = V::select(against(remainder, b), quotient - one(), quotient);
    let floor = quotient.floor();
    let floor = V::select((quotient - floor).gt(V::num(0.5)), floor + one(), floor);
    let floor = V::select(quotient.eq(zero()), zero::<V>().copysign(a / b), floor);
    V::select(b.eq(zero()), a / b, floor)
}

/// The remainder of floor division: it has the sign of `b`.
#[inline(always)]
fn floored_remainder<V: Floats>(a: V, b: V) -> V {
    let remainder = fmod(a, b);
    V::select(against(remainder, b), remainder + b, remainder)
}

#[inline(always)]
pub(crate) fn complex<V: Floats>(re: V, im: V) -> [V; 2] {
    [re, im]
}

#[inline(always)]
pub(crate) fn polar<V: Floats>(modulus: V, angle: V) -> [V; 2] {
    [modulus * math::cos(angle), modulus * math::sin(angle)]
}

/// The next number after `a`: neighbouring numbers have neighbouring bit patterns, away from zero or towards
/// it.
#[inline(always)]
pub(crate) fn nextafter<V: Floats>(a: V, towards: V) -> V {
    let (bits, step) = (a.to_bits(), V::Bits::splat(1));
    let away = a.lt(towards) ^ a.is_negative();
    let moved = V::from_bits(V::Bits::select(away, bits + step, bits - step));
    let least = V::from_bits(towards.sign_bit() | step);
    let next = V::select(a.eq(towards), towards, V::select(a.eq(zero()), least, moved));
    V::select(a.is_nan() | towards.is_nan(), V::num(f64::NAN), next)
}

/// Exact at both ends, as the formula of the nearer end is used.
#[inline(always)]
pub(crate) fn lerp<V: Floats>([start, end, weight]: [V; 3]) -> V {
    let distance = end - start;
    let near = weight.abs().lt(V::num(0.5));
    V::select(near, start + weight * distance, end - distance * (one::<V>() - weight))
}

#[inline(always)]
pub(crate) fn nan_to_num<V: Floats>([a, nan, posinf, neginf]: [V; 4]) -> V {
    let infinite = V::select(a.is_negative(), neginf, posinf);
    V::select(a.is_nan(), nan, V::select(isinf(a), infinite, a))
}

/// Scaled by a power of ten, rounded half to even and scaled back.
#[inline(always)]
pub(crate) fn round_decimals<V: Floats>([a, decimals]: [V; 2]) -> V {
    let scale = decimals.abs().power_of_ten();
    let (left, right) = ((a / scale).round_ties_even() * scale, (a * scale).round_ties_even() / scale);
    V::select(decimals.lt(zero()), left, right)
}

#[inline(always)]
pub(crate) fn softplus<V: Floats>([a, beta, threshold]: [V; 3]) -> V {
    math::softplus(a, beta, threshold)
}

#[inline(always)]
pub(crate) fn where_<V: Floats>([condition, a, b]: [V; 3]) -> V {
    V::select(condition.eq(zero()), b, a)
}
