//! Owns the bodies on floats. f16 and bf16 compute in f32 and round once after each operation, as PyTorch does.

use std::ops::{Add, Div, Mul, Neg, Rem, Sub};

use half::{bf16, f16};
use num_complex::{Complex32, Complex64};
use zerostride_ops::Element;

use crate::math::{self, Real};

/// A float dtype, seen as the type that its arithmetic runs in.
pub(crate) trait Float: Element + PartialOrd {
    /// `f32` for the halves, else the type itself.
    type Work: Work;
    /// The complex type of two such floats; the halves have none of their own.
    type Pair: Element;
    /// Exact.
    fn widen(self) -> Self::Work;
    /// Rounds to nearest even.
    fn narrow(value: Self::Work) -> Self;
    fn pair(re: Self::Work, im: Self::Work) -> Self::Pair;
    /// The next number of this type after `self` towards `other`.
    fn next_after(self, other: Self) -> Self;
}

/// `f32` or `f64`: what the bodies need besides the mathematical functions.
pub(crate) trait Work:
    Real<Wide = f64>
    + PartialOrd
    + Send
    + From<f32>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Rem<Output = Self>
    + Neg<Output = Self>
{
    const PI: Self;
    fn floor(self) -> Self;
    fn ceil(self) -> Self;
    fn trunc(self) -> Self;
    fn nearest(self) -> Self;
    fn magnitude(self) -> Self;
    fn with_sign(self, sign: Self) -> Self;
    fn root(self) -> Self;
    fn nan(self) -> bool;
    fn infinite(self) -> bool;
    fn negative(self) -> bool;
    /// 10 to an integral power, correctly rounded for the powers that fit.
    fn power_of_ten(self) -> Self;
}

macro_rules! work {
    ($($type:ident)*) => {
        $(impl Work for $type {
            const PI: Self = std::$type::consts::PI;
            fn floor(self) -> Self { $type::floor(self) }
            fn ceil(self) -> Self { $type::ceil(self) }
            fn trunc(self) -> Self { $type::trunc(self) }
            fn nearest(self) -> Self { $type::round_ties_even(self) }
            fn magnitude(self) -> Self { $type::abs(self) }
            fn with_sign(self, sign: Self) -> Self { $type::copysign(self, sign) }
            fn root(self) -> Self { $type::sqrt(self) }
            fn nan(self) -> bool { $type::is_nan(self) }
            fn infinite(self) -> bool { $type::is_infinite(self) }
            fn negative(self) -> bool { $type::is_sign_negative(self) }
            fn power_of_ten(self) -> Self { (10 as $type).powi(self as i32) }
        })*
    };
}

work!(f32 f64);

/// The step between neighbours is a step between bit patterns, away from zero or towards it.
macro_rules! next_after {
    ($type:ident) => {
        fn next_after(self, other: Self) -> Self {
            if self.is_nan() || other.is_nan() {
                return <$type>::NAN;
            }
            if self == other {
                return other;
            }
            let bits = self.to_bits();
            let sign_only = !(!0 >> 1);
            if bits & !sign_only == 0 {
                return <$type>::from_bits((other.to_bits() & sign_only) | 1);
            }
            let away = (self < other) == (bits & sign_only == 0);
            <$type>::from_bits(if away { bits + 1 } else { bits - 1 })
        }
    };
}

macro_rules! floats {
    ($($type:ident: $work:ident, $pair:ident, $widen:expr, $narrow:expr;)*) => {
        $(impl Float for $type {
            type Work = $work;
            type Pair = $pair;
            fn widen(self) -> $work { $widen(self) }
            fn narrow(value: $work) -> Self { $narrow(value) }
            fn pair(re: $work, im: $work) -> $pair { $pair::new(re, im) }
            next_after!($type);
        })*
    };
}

floats! {
    f16: f32, Complex32, f16::to_f32, f16::from_f32;
    bf16: f32, Complex32, bf16::to_f32, bf16::from_f32;
    f32: f32, Complex32, std::convert::identity, std::convert::identity;
    f64: f64, Complex64, std::convert::identity, std::convert::identity;
}

/// Operations that are one function of the working type: `name => function`.
macro_rules! functions {
    (unary { $($unary:ident)* } binary { $($binary:ident)* }) => {
        $(pub(crate) fn $unary<T: Float>(a: T) -> T {
            T::narrow(math::$unary(a.widen()))
        })*
        $(pub(crate) fn $binary<T: Float>(a: T, b: T) -> T {
            T::narrow(math::$binary(a.widen(), b.widen()))
        })*
    };
}

functions! {
    unary {
        acos acosh asin asinh atan atanh cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 gelu gelu_tanh i0 lgamma
        log log10 log1p log2 logit rad2deg rsqrt sigmoid silu sin sinc sinh tan tanh
    }
    binary { atan2 hypot ldexp logaddexp logaddexp2 pow xlogy }
}

/// Operations written out in the working type.
macro_rules! bodies {
    ($($name:ident($($arg:ident),+) => $body:expr;)*) => {
        $(pub(crate) fn $name<T: Float>($($arg: T),+) -> T {
            $(let $arg = $arg.widen();)+
            T::narrow($body)
        })*
    };
}

/// Operations whose result is a bool.
macro_rules! tests {
    ($($name:ident($($arg:ident),+) => $body:expr;)*) => {
        $(pub(crate) fn $name<T: Float>($($arg: T),+) -> bool {
            $(let $arg = $arg.widen();)+
            $body
        })*
    };
}

bodies! {
    abs(a) => a.magnitude();
    angle(a) => if a < zero() { T::Work::PI } else { select(a.nan(), a, zero()) };
    ceil(a) => Work::ceil(a);
    conj_physical(a) => a;
    floor(a) => Work::floor(a);
    frac(a) => a - Work::trunc(a);
    neg(a) => -a;
    positive(a) => a;
    real(a) => a;
    reciprocal(a) => one::<T::Work>() / a;
    relu(a) => if a < zero() { zero() } else { a };
    round(a) => a.nearest();
    sgn(a) => signum(a);
    sign(a) => signum(a);
    sqrt(a) => a.root();
    square(a) => a * a;
    trunc(a) => Work::trunc(a);

    add(a, b) => a + b;
    copysign(a, b) => a.with_sign(b);
    div(a, b) => a / b;
    // The quotient of halves is rounded before it is truncated, as in PyTorch.
    div_trunc(a, b) => Work::trunc(T::narrow(a / b).widen());
    floor_divide(a, b) => floored_quotient(a, b);
    fmax(a, b) => if a.nan() || a < b { b } else { a };
    fmin(a, b) => if a.nan() || a > b { b } else { a };
    fmod(a, b) => a % b;
    heaviside(a, values) => if a == zero() { values } else if a > zero() { one() } else { zero() };
    maximum(a, b) => if a.nan() || a > b { a } else { b };
    minimum(a, b) => if a.nan() || a < b { a } else { b };
    mul(a, b) => a * b;
    remainder(a, b) => floored_remainder(a, b);
    sub(a, b) => a - b;
}

tests! {
    isfinite(a) => !a.nan() && !a.infinite();
    isinf(a) => a.infinite();
    isnan(a) => a.nan();
    isneginf(a) => a.infinite() && a.negative();
    isposinf(a) => a.infinite() && !a.negative();
    logical_not(a) => a == zero();
    signbit(a) => a.negative();

    eq(a, b) => a == b;
    ge(a, b) => a >= b;
    gt(a, b) => a > b;
    le(a, b) => a <= b;
    logical_and(a, b) => a != zero() && b != zero();
    logical_or(a, b) => a != zero() || b != zero();
    logical_xor(a, b) => (a != zero()) != (b != zero());
    lt(a, b) => a < b;
    ne(a, b) => a != b;
}

fn zero<W: Work>() -> W {
    W::from(0.0)
}

fn one<W: Work>() -> W {
    W::from(1.0)
}

fn select<W: Work>(condition: bool, yes: W, no: W) -> W {
    if condition { yes } else { no }
}

/// -1, 0 or 1; 0 for NaN.
fn signum<W: Work>(a: W) -> W {
    if a > zero() {
        one()
    } else if a < zero() {
        -one::<W>()
    } else {
        zero()
    }
}

/// Python's floor division: exact where the quotient rounded up to an integer that it does not reach.
///
/// Source: `div_floor_floating` in PyTorch's `c10/util/generic_math.h`.
fn floored_quotient<W: Work>(a: W, b: W) -> W {
    if b == zero() {
        return a / b;
    }
    let remainder = a % b;
    let mut quotient = (a - remainder) / b;
    if remainder != zero() && (b < zero()) != (remainder < zero()) {
        quotient = quotient - one();
    }
    if quotient == zero() {
        return zero::<W>().with_sign(a / b);
    }
    let floor = Work::floor(quotient);
    select(quotient - floor > W::from(0.5), floor + one(), floor)
}

/// The remainder of floor division: it has the sign of `b`.
fn floored_remainder<W: Work>(a: W, b: W) -> W {
    let remainder = a % b;
    let against = remainder != zero() && (b < zero()) != (remainder < zero());
    select(against, remainder + b, remainder)
}

/// The mantissa of [`math::frexp`]: in [0.5, 1) but for zeros, infinities and NaN, which stay.
pub(crate) fn frexp_mantissa<T: Float>(a: T) -> T {
    T::narrow(math::frexp(a.widen()).0)
}

/// The exponent of [`math::frexp`]: 0 for zeros, infinities and NaN.
pub(crate) fn frexp_exponent<T: Float>(a: T) -> i32 {
    math::frexp(a.widen()).1
}

pub(crate) fn complex<T: Float>(re: T, im: T) -> T::Pair {
    T::pair(re.widen(), im.widen())
}

pub(crate) fn polar<T: Float>(modulus: T, angle: T) -> T::Pair {
    let (modulus, angle) = (modulus.widen(), angle.widen());
    T::pair(modulus * math::cos(angle), modulus * math::sin(angle))
}

pub(crate) fn nextafter<T: Float>(a: T, towards: T) -> T {
    a.next_after(towards)
}

/// Exact at both ends, whichever is nearer.
pub(crate) fn lerp<T: Float>([start, end, weight]: [T; 3]) -> T {
    let (start, end, weight) = (start.widen(), end.widen(), weight.widen());
    T::narrow(if weight.magnitude() < T::Work::from(0.5) {
        start + weight * (end - start)
    } else {
        end - (end - start) * (one::<T::Work>() - weight)
    })
}

pub(crate) fn nan_to_num<T: Float>([a, nan, posinf, neginf]: [T; 4]) -> T {
    let wide = a.widen();
    match (wide.nan(), wide.infinite(), wide.negative()) {
        (true, _, _) => nan,
        (_, true, false) => posinf,
        (_, true, true) => neginf,
        _ => a,
    }
}

/// Scaled by a power of ten, rounded half to even and scaled back.
pub(crate) fn round_decimals<T: Float>([a, decimals]: [T; 2]) -> T {
    let (a, decimals) = (a.widen(), decimals.widen());
    let scale = decimals.magnitude().power_of_ten();
    T::narrow(if decimals < zero() { (a / scale).nearest() * scale } else { (a * scale).nearest() / scale })
}

pub(crate) fn softplus<T: Float>([a, beta, threshold]: [T; 3]) -> T {
    T::narrow(math::softplus(a.widen(), beta.widen(), threshold.widen()))
}

pub(crate) fn where_<T: Float>([condition, a, b]: [T; 3]) -> T {
    if condition.widen() != zero() { a } else { b }
}
