//! Owns the functions of complex numbers, one number at a time: they branch freely.
//!
//! Everything is computed in `f64`; `Complex<f32>` is widened and rounded once. Branch cuts, signed zeros, infinities
//! and NaN are those of C99's Annex G, which PyTorch follows; products and quotients of infinities are PyTorch's.
//!
//! Deliberately unknown here: which operation of the table is defined for complex numbers.

mod arithmetic;
#[cfg(test)]
mod ends;
mod exponential;
mod hyperbolic;
mod inverse;

use num_complex::{Complex, Complex64};

use crate::lane::Lane;

/// A part of a complex number: `f32` or `f64`, the lanes of one element.
pub(crate) trait Part: Lane<Wide = f64> {}

impl<V: Lane<Wide = f64>> Part for V {}

fn widen<V: Part>(z: Complex<V>) -> Complex64 {
    Complex::new(z.re.widen(), z.im.widen())
}

fn narrow<V: Part>(z: Complex64) -> Complex<V> {
    Complex::new(V::narrow(z.re), V::narrow(z.im))
}

/// -i · f(i · z): how a function of angles follows from the hyperbolic one.
fn turned(f: impl Fn(Complex64) -> Complex64, z: Complex64) -> Complex64 {
    let w = f(Complex::new(-z.im, z.re));
    Complex::new(w.im, -w.re)
}

macro_rules! unary {
    ($($(#[$doc:meta])* $name:ident = $module:ident;)*) => {$(
        $(#[$doc])*
        pub(crate) fn $name<V: Part>(z: Complex<V>) -> Complex<V> {
            narrow($module::$name(widen(z)))
        }
    )*};
}

macro_rules! binary {
    ($($(#[$doc:meta])* $name:ident = $module:ident;)*) => {$(
        $(#[$doc])*
        pub(crate) fn $name<V: Part>(a: Complex<V>, b: Complex<V>) -> Complex<V> {
            narrow($module::$name(widen(a), widen(b)))
        }
    )*};
}

unary! {
    /// z / |z|, and 0 for 0.
    sgn = arithmetic;
    /// 1 / z.
    reciprocal = arithmetic;
    /// The square root with a real part that is not negative; the cut is the negative real axis.
    sqrt = arithmetic;
    /// 1 / √z.
    rsqrt = arithmetic;
    /// e^z.
    exp = exponential;
    /// 2^z.
    exp2 = exponential;
    /// e^z - 1 without the cancellation near 0.
    expm1 = exponential;
    /// The natural logarithm with an imaginary part in [-π, π].
    log = exponential;
    /// The logarithm to base 2.
    log2 = exponential;
    /// The logarithm to base 10.
    log10 = exponential;
    /// log(1 + z) without the cancellation near 0.
    log1p = exponential;
    /// 1 / (1 + e^-z).
    sigmoid = exponential;
    /// z / (1 + e^-z).
    silu = exponential;
    /// The sine.
    sin = hyperbolic;
    /// The cosine.
    cos = hyperbolic;
    /// The tangent.
    tan = hyperbolic;
    /// The hyperbolic sine.
    sinh = hyperbolic;
    /// The hyperbolic cosine.
    cosh = hyperbolic;
    /// The hyperbolic tangent.
    tanh = hyperbolic;
    /// sin πz / πz, and 1 for 0.
    sinc = hyperbolic;
    /// The inverse sine; the cuts are the real axis outside [-1, 1].
    asin = inverse;
    /// The inverse cosine; the cuts are the real axis outside [-1, 1].
    acos = inverse;
    /// The inverse tangent; the cuts are the imaginary axis outside [-i, i].
    atan = inverse;
    /// The inverse hyperbolic sine; the cuts are the imaginary axis outside [-i, i].
    asinh = inverse;
    /// The inverse hyperbolic cosine; the cut is the real axis below 1.
    acosh = inverse;
    /// The inverse hyperbolic tangent; the cuts are the real axis outside [-1, 1].
    atanh = inverse;
}

binary! {
    /// a · b.
    mul = arithmetic;
    /// a / b without undue overflow and underflow.
    div = arithmetic;
    /// a^b as exp(b · log a), which is NaN for 0^0 as in PyTorch.
    pow = exponential;
    /// log(e^a + e^b) without undue overflow.
    logaddexp = exponential;
}

/// |z|.
pub(crate) fn abs<V: Part>(z: Complex<V>) -> V {
    let z = widen(z);
    V::narrow(super::hypot(z.re, z.im))
}

/// The angle of z in [-π, π].
pub(crate) fn angle<V: Part>(z: Complex<V>) -> V {
    super::atan2(z.im, z.re)
}
