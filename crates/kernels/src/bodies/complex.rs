//! Owns the bodies on complex numbers.

use num_complex::{Complex as Pair, Complex32, Complex64};
use zerostride_ops::Element;

use crate::math::complex as math;

/// A complex dtype and the float it is made of.
pub(crate) trait Complex: Element {
    type Part: Part;
    const ONE: Self;
    fn parts(self) -> Pair<Self::Part>;
    fn from_parts(parts: Pair<Self::Part>) -> Self;
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
}

/// `f32` or `f64`, as the bodies need it.
pub(crate) trait Part: math::Part + Element + PartialOrd {
    const ZERO: Self;
    const HALF: Self;
    fn nan(self) -> bool;
    fn infinite(self) -> bool;
    fn negative(self) -> bool;
}

macro_rules! parts {
    ($($part:ident $complex:ident;)*) => {
        $(impl Part for $part {
            const ZERO: Self = 0.0;
            const HALF: Self = 0.5;
            fn nan(self) -> bool { self.is_nan() }
            fn infinite(self) -> bool { self.is_infinite() }
            fn negative(self) -> bool { self.is_sign_negative() }
        }

        impl Complex for $complex {
            type Part = $part;
            const ONE: Self = $complex::ONE;
            fn parts(self) -> Pair<$part> { self }
            fn from_parts(parts: Pair<$part>) -> Self { parts }
            fn plus(self, other: Self) -> Self { self + other }
            fn times(self, other: Self) -> Self { math::mul(self, other) }
        })*
    };
}

parts! {
    f32 Complex32;
    f64 Complex64;
}

/// Operations that are one function of `math::complex`.
macro_rules! functions {
    (unary { $($unary:ident)* } binary { $($binary:ident)* }) => {
        $(pub(crate) fn $unary<T: Complex>(a: T) -> T {
            T::from_parts(math::$unary(a.parts()))
        })*
        $(pub(crate) fn $binary<T: Complex>(a: T, b: T) -> T {
            T::from_parts(math::$binary(a.parts(), b.parts()))
        })*
    };
}

functions! {
    unary {
        acos acosh asin asinh atan atanh cos cosh exp exp2 expm1 log log10 log1p log2 reciprocal rsqrt sgn sigmoid silu
        sin sinc sinh sqrt tan tanh
    }
    binary { div logaddexp mul pow }
}

/// Operations on the parts.
macro_rules! bodies {
    ($($name:ident($($arg:ident),+) -> $result:ty => $body:expr;)*) => {
        $(pub(crate) fn $name<T: Complex>($($arg: T),+) -> $result {
            $(let $arg = $arg.parts();)+
            $body
        })*
    };
}

bodies! {
    abs(a) -> T::Part => math::abs(a);
    angle(a) -> T::Part => math::angle(a);
    conj_physical(a) -> T => T::from_parts(Pair::new(a.re, -a.im));
    imag(a) -> T::Part => a.im;
    isfinite(a) -> bool => ![a.re, a.im].iter().any(|part| part.nan() || part.infinite());
    isinf(a) -> bool => a.re.infinite() || a.im.infinite();
    isnan(a) -> bool => a.re.nan() || a.im.nan();
    logical_not(a) -> bool => is_zero(a);
    neg(a) -> T => T::from_parts(Pair::new(-a.re, -a.im));
    positive(a) -> T => T::from_parts(a);
    real(a) -> T::Part => a.re;
    square(a) -> T => T::from_parts(math::mul(a, a));

    add(a, b) -> T => T::from_parts(Pair::new(a.re + b.re, a.im + b.im));
    eq(a, b) -> bool => a == b;
    ldexp(a, n) -> T => T::from_parts(math::mul(a, math::exp2(n)));
    logical_and(a, b) -> bool => !is_zero(a) && !is_zero(b);
    logical_or(a, b) -> bool => !is_zero(a) || !is_zero(b);
    logical_xor(a, b) -> bool => is_zero(a) != is_zero(b);
    ne(a, b) -> bool => a != b;
    sub(a, b) -> T => T::from_parts(Pair::new(a.re - b.re, a.im - b.im));
}

fn is_zero<P: Part>(a: Pair<P>) -> bool {
    a.re == P::ZERO && a.im == P::ZERO
}

/// Exact at both ends, whichever is nearer.
pub(crate) fn lerp<T: Complex>([start, end, weight]: [T; 3]) -> T {
    let near = math::abs(weight.parts()) < T::Part::HALF;
    let distance = sub(end, start);
    if near { add(start, mul(weight, distance)) } else { sub(end, mul(distance, sub(T::ONE, weight))) }
}

/// Each part on its own; the replacements are real.
pub(crate) fn nan_to_num<T: Complex>([a, nan, posinf, neginf]: [T; 4]) -> T {
    let replace = |part: T::Part| match (part.nan(), part.infinite(), part.negative()) {
        (true, _, _) => nan.parts().re,
        (_, true, false) => posinf.parts().re,
        (_, true, true) => neginf.parts().re,
        _ => part,
    };
    let parts = a.parts();
    T::from_parts(Pair::new(replace(parts.re), replace(parts.im)))
}

pub(crate) fn where_<T: Complex>([condition, a, b]: [T; 3]) -> T {
    if is_zero(condition.parts()) { b } else { a }
}
