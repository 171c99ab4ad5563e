//! Owns the bodies on complex numbers, each written once over lanes of `f64`: c64 is widened before and
//! rounded after. How complex numbers are stored, and how reductions add and multiply them, is also here.

use num_complex::{Complex as Pair, Complex32, Complex64};
use zerostride_ops::Element;

use super::float;
use super::half::Float;
use crate::math::complex as math;

pub(crate) use math::Part;

/// An element made from two parts.
pub(crate) trait FromParts<P>: Element {
    fn from_parts(re: P, im: P) -> Self;
}

/// An element that has two parts.
pub(crate) trait IntoParts<P>: Element {
    fn parts(self) -> Pair<P>;
}

/// A complex dtype.
pub(crate) trait Complex: FromParts<f64> + IntoParts<f64> {
    /// The float of its parts.
    type Part: Float + FromParts<f64>;
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
}

macro_rules! parts {
    ($($part:ident $complex:ident: $($wide:ident)*;)*) => {
        $($(impl FromParts<$wide> for $part {
            #[inline(always)]
            fn from_parts(re: $wide, _: $wide) -> Self { re as $part }
        }

        impl FromParts<$wide> for $complex {
            #[inline(always)]
            fn from_parts(re: $wide, im: $wide) -> Self { Pair::new(re as $part, im as $part) }
        }

        impl IntoParts<$wide> for $complex {
            #[inline(always)]
            fn parts(self) -> Pair<$wide> { Pair::new(self.re.into(), self.im.into()) }
        })*

        impl Complex for $complex {
            type Part = $part;
            #[inline(always)]
            fn plus(self, other: Self) -> Self { self + other }
            #[inline(always)]
            fn times(self, other: Self) -> Self { math::mul(self, other) }
        })*
    };
}

parts! {
    f32 Complex32: f32 f64;
    f64 Complex64: f64;
}

/// A bool is the real part 1 or 0.
impl FromParts<f64> for bool {
    #[inline(always)]
    fn from_parts(re: f64, _: f64) -> Self {
        re != 0.0
    }
}

/// Operations that are one function of `math::complex`.
macro_rules! functions {
    (unary { $($unary:ident)* } binary { $($binary:ident)* }) => {
        $(#[inline(always)]
        pub(crate) fn $unary<W: Part>(a: Pair<W>) -> Pair<W> {
            math::$unary(a)
        })*
        $(#[inline(always)]
        pub(crate) fn $binary<W: Part>(a: Pair<W>, b: Pair<W>) -> Pair<W> {
            math::$binary(a, b)
        })*
    };
}

functions! {
    unary {
        acos acosh asin asinh atan atanh cos cosh exp exp2 expm1 log log10 log1p log2 neg reciprocal rsqrt sgn sigmoid silu
        sin sinc sinh sqrt tan tanh
    }
    binary { add div logaddexp mul pow sub }
}

/// Operations written here.
macro_rules! bodies {
    ($($name:ident($($arg:ident),+) -> $result:ty => $body:expr;)*) => {
        $(#[inline(always)]
        pub(crate) fn $name<W: Part>($($arg: Pair<W>),+) -> $result {
            $body
        })*
    };
}

bodies! {
    abs(a) -> W => math::abs(a);
    angle(a) -> W => math::angle(a);
    conj_physical(a) -> Pair<W> => Pair::new(a.re, -a.im);
    imag(a) -> W => a.im;
    isfinite(a) -> W::Mask => math::is_finite(a);
    isinf(a) -> W::Mask => math::is_infinite(a);
    isnan(a) -> W::Mask => math::is_nan(a);
    logical_not(a) -> W::Mask => math::is_zero(a);
    positive(a) -> Pair<W> => a;
    real(a) -> W => a.re;
    square(a) -> Pair<W> => math::mul(a, a);

    eq(a, b) -> W::Mask => a.re.eq(b.re) & a.im.eq(b.im);
    ldexp(a, n) -> Pair<W> => math::mul(a, math::exp2(n));
    logical_and(a, b) -> W::Mask => !(math::is_zero(a) | math::is_zero(b));
    logical_or(a, b) -> W::Mask => !(math::is_zero(a) & math::is_zero(b));
    logical_xor(a, b) -> W::Mask => math::is_zero(a) ^ math::is_zero(b);
    ne(a, b) -> W::Mask => !(a.re.eq(b.re) & a.im.eq(b.im));
}

/// Exact at both ends, as the formula of the nearer end is used.
#[inline(always)]
pub(crate) fn lerp<W: Part>([start, end, weight]: [Pair<W>; 3]) -> Pair<W> {
    let near = math::abs(weight).lt(W::num(0.5));
    let distance = math::sub(end, start);
    let rest = math::sub(Pair::new(W::num(1.0), W::num(0.0)), weight);
    let from_start = math::add(start, math::mul(weight, distance));
    math::select(near, from_start, math::sub(end, math::mul(distance, rest)))
}

/// Each part by itself; the replacements are real.
#[inline(always)]
pub(crate) fn nan_to_num<W: Part>([a, nan, posinf, neginf]: [Pair<W>; 4]) -> Pair<W> {
    Pair::new(
        float::nan_to_num([a.re, nan.re, posinf.re, neginf.re]),
        float::nan_to_num([a.im, nan.re, posinf.re, neginf.re]),
    )
}

#[inline(always)]
pub(crate) fn where_<W: Part>([condition, a, b]: [Pair<W>; 3]) -> Pair<W> {
    math::select(math::is_zero(condition), b, a)
}
