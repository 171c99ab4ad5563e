//! Owns the functions of complex numbers, written over lanes of `f64`, so that one number and a register of
//! them get the same bits. Case distinctions are selections; rare cases are skipped where no element needs
//! them. `short` has shorter forms for lanes of `f32`.
//!
//! Branch cuts, signed zeros, infinities and NaN are those of C99's Annex G, which PyTorch follows; products
//! and quotients of infinities are PyTorch's. `Complex<f32>` is widened by the caller and rounded once.
//!
//! Deliberately unknown here: which operation of the table is defined for complex numbers.

mod arithmetic;
mod exponential;
mod hyperbolic;
mod inverse;
pub(crate) mod short;

use num_complex::Complex;

use super::Real;
use crate::lane::Select;

/// A lane of `f64`: the real or the imaginary parts of as many complex numbers.
pub(crate) trait Part: Real<Elem = f64, Wide = Self> {}

impl<W: Real<Elem = f64, Wide = W>> Part for W {}

/// The same complex number in every element.
#[inline(always)]
fn num<W: Part>(re: f64, im: f64) -> Complex<W> {
    Complex::new(W::num(re), W::num(im))
}

impl<W: Part> Select<W::Mask> for Complex<W> {
    #[inline(always)]
    fn select(mask: W::Mask, yes: Self, no: Self) -> Self {
        select(mask, yes, no)
    }
}

#[inline(always)]
pub(crate) fn select<W: Part>(mask: W::Mask, yes: Complex<W>, no: Complex<W>) -> Complex<W> {
    Complex::new(W::select(mask, yes.re, no.re), W::select(mask, yes.im, no.im))
}

#[inline(always)]
pub(crate) fn is_zero<W: Part>(z: Complex<W>) -> W::Mask {
    z.re.eq(W::num(0.0)) & z.im.eq(W::num(0.0))
}

#[inline(always)]
pub(crate) fn is_finite<W: Part>(z: Complex<W>) -> W::Mask {
    z.re.is_finite() & z.im.is_finite()
}

#[inline(always)]
pub(crate) fn is_nan<W: Part>(z: Complex<W>) -> W::Mask {
    z.re.is_nan() | z.im.is_nan()
}

#[inline(always)]
pub(crate) fn is_infinite<W: Part>(z: Complex<W>) -> W::Mask {
    is_inf(z.re) | is_inf(z.im)
}

/// Whether one part is infinite.
#[inline(always)]
fn is_inf<W: Part>(x: W) -> W::Mask {
    x.abs().eq(W::num(f64::INFINITY))
}

#[inline(always)]
pub(crate) fn add<V: Real>(a: Complex<V>, b: Complex<V>) -> Complex<V> {
    Complex::new(a.re + b.re, a.im + b.im)
}

#[inline(always)]
pub(crate) fn sub<V: Real>(a: Complex<V>, b: Complex<V>) -> Complex<V> {
    Complex::new(a.re - b.re, a.im - b.im)
}

#[inline(always)]
pub(crate) fn neg<V: Real>(z: Complex<V>) -> Complex<V> {
    Complex::new(-z.re, -z.im)
}

/// The product by the formula, with NaN where an infinity meets a zero or another infinity: the bits of
/// PyTorch's vectors.
#[inline(always)]
pub(crate) fn mul<V: Real>(a: Complex<V>, b: Complex<V>) -> Complex<V> {
    Complex::new(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re)
}

/// 1 with the sign of `x`; NaN stays.
#[inline(always)]
fn signum<W: Part>(x: W) -> W {
    W::select(x.is_nan(), x, W::num(1.0).copysign(x))
}

/// `x · 2^n` in two multiplications. A part far smaller than the other may become subnormal in between, and a
/// single instruction would round it differently. `n` is integral, at most `2 · BIAS - 2` in magnitude.
#[inline(always)]
fn scaled<W: Part>(x: W, n: W) -> W {
    let half = (n * W::num(0.5)).round_ties_even();
    x * W::exp2_int(half) * W::exp2_int(n - half)
}

/// i · z: a trigonometric function is -i times the hyperbolic one of this.
#[inline(always)]
fn turned<W: Part>(z: Complex<W>) -> Complex<W> {
    Complex::new(-z.im, z.re)
}

/// -i · z.
#[inline(always)]
fn turned_back<W: Part>(z: Complex<W>) -> Complex<W> {
    Complex::new(z.im, -z.re)
}

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident($($z:ident),+) = $module:ident;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub(crate) fn $name<W: Part>($($z: Complex<W>),+) -> Complex<W> {
            $module::$name($($z),+)
        }
    )*};
}

functions! {
    /// z / |z|, and 0 for 0.
    sgn(z) = arithmetic;
    /// 1 / z.
    reciprocal(z) = arithmetic;
    /// The square root with a real part that is not negative; the cut is the negative real axis.
    sqrt(z) = arithmetic;
    /// 1 / √z.
    rsqrt(z) = arithmetic;
    /// e^z.
    exp(z) = exponential;
    /// 2^z.
    exp2(z) = exponential;
    /// e^z - 1 without the cancellation near 0.
    expm1(z) = exponential;
    /// The natural logarithm with an imaginary part in [-π, π].
    log(z) = exponential;
    /// The logarithm to base 2.
    log2(z) = exponential;
    /// The logarithm to base 10.
    log10(z) = exponential;
    /// log(1 + z) without the cancellation near 0.
    log1p(z) = exponential;
    /// 1 / (1 + e^-z).
    sigmoid(z) = exponential;
    /// z / (1 + e^-z).
    silu(z) = exponential;
    /// The sine.
    sin(z) = hyperbolic;
    /// The cosine.
    cos(z) = hyperbolic;
    /// The tangent.
    tan(z) = hyperbolic;
    /// The hyperbolic sine.
    sinh(z) = hyperbolic;
    /// The hyperbolic cosine.
    cosh(z) = hyperbolic;
    /// The hyperbolic tangent.
    tanh(z) = hyperbolic;
    /// sin πz / πz, and 1 for 0.
    sinc(z) = hyperbolic;
    /// The inverse sine; the cuts are the real axis outside [-1, 1].
    asin(z) = inverse;
    /// The inverse cosine; the cuts are the real axis outside [-1, 1].
    acos(z) = inverse;
    /// The inverse tangent; the cuts are the imaginary axis outside [-i, i].
    atan(z) = inverse;
    /// The inverse hyperbolic sine; the cuts are the imaginary axis outside [-i, i].
    asinh(z) = inverse;
    /// The inverse hyperbolic cosine; the cut is the real axis below 1.
    acosh(z) = inverse;
    /// The inverse hyperbolic tangent; the cuts are the real axis outside [-1, 1].
    atanh(z) = inverse;
    /// a / b without undue overflow and underflow.
    div(a, b) = arithmetic;
    /// a^b as exp(b · log a), which is NaN for 0^0 as in PyTorch.
    pow(a, b) = exponential;
    /// log(e^a + e^b) without undue overflow.
    logaddexp(a, b) = exponential;
}

/// |z|.
#[inline(always)]
pub(crate) fn abs<V: Real>(z: Complex<V>) -> V {
    super::hypot(z.re, z.im)
}

/// The angle of z in [-π, π].
#[inline(always)]
pub(crate) fn angle<V: Real>(z: Complex<V>) -> V {
    super::atan2(z.im, z.re)
}
