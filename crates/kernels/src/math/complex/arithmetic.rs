//! Owns products, quotients, square roots and signs of complex numbers.

use num_complex::{Complex, Complex64};

use super::super::dw::{Dw, two_prod};
use super::super::hypot;
use crate::lane::Lane;

/// The exponent of the largest power of two up to the size of a finite number that is not 0.
fn exponent(x: f64) -> f64 {
    let biased = |x: f64| ((x.to_bits() >> 52) & 0x7ff) as f64 - 1023.0;
    if x.abs() < f64::MIN_POSITIVE { biased(x * 2f64.powi(54)) - 54.0 } else { biased(x) }
}

/// `z · 2^n`.
fn scaled(z: Complex64, n: f64) -> Complex64 {
    Complex::new(Lane::ldexp(z.re, n), Lane::ldexp(z.im, n))
}

/// The number with its larger part between 1 and 2, and the exponent that was taken out; it is finite and not 0.
fn normalised(z: Complex64) -> (Complex64, f64) {
    let n = exponent(z.re.abs().max(z.im.abs()));
    (scaled(z, -n), n)
}

fn is_zero(z: Complex64) -> bool {
    z.re == 0.0 && z.im == 0.0
}

/// The schoolbook product, with NaN where infinities meet zeros, as PyTorch has it.
pub(super) fn mul(a: Complex64, b: Complex64) -> Complex64 {
    Complex::new(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re)
}

/// The product in which an infinite factor wins over NaN parts, as C99 multiplies.
pub(super) fn mul_infinities(a: Complex64, b: Complex64) -> Complex64 {
    let product = mul(a, b);
    let is_infinite = |z: Complex64| z.re.is_infinite() || z.im.is_infinite();
    if !(product.re.is_nan() && product.im.is_nan() && (is_infinite(a) || is_infinite(b))) {
        return product;
    }
    // The directions alone decide: a part is ±1 if infinite, beside it 0 for finite ones, and NaN counts as 0.
    let direction = |z: Complex64| {
        let infinite = is_infinite(z);
        let part = |x: f64| match x {
            _ if x.is_nan() => 0f64.copysign(x),
            _ if infinite => (if x.is_infinite() { 1f64 } else { 0.0 }).copysign(x),
            _ => x,
        };
        Complex::new(part(z.re), part(z.im))
    };
    mul(direction(a), direction(b)) * f64::INFINITY
}

pub(super) fn div(a: Complex64, b: Complex64) -> Complex64 {
    if !a.is_finite() || !b.is_finite() || is_zero(b) || is_zero(a) {
        return div_at_the_ends(a, b);
    }
    let ((a, m), (b, n)) = (normalised(a), normalised(b));
    let square = two_prod(b.re, b.re) + two_prod(b.im, b.im);
    // The sums of products lose the sign of a zero.
    let signs = div_at_the_ends(a, b);
    let part = |x: Dw<f64>, sign: f64| {
        if x.hi == 0.0 { x.hi.copysign(sign) } else { Lane::ldexp(x.div(square).hi, m - n) }
    };
    Complex::new(
        part(two_prod(a.re, b.re) + two_prod(a.im, b.im), signs.re),
        part(two_prod(a.im, b.re) + two_prod(-a.re, b.im), signs.im),
    )
}

/// The quotient by Smith's method, which decides what infinities, NaN and zeros give.
fn div_at_the_ends(a: Complex64, b: Complex64) -> Complex64 {
    if is_zero(b) {
        return Complex::new(a.re / b.re.abs(), a.im / b.im.abs());
    }
    if b.re.abs() >= b.im.abs() {
        let ratio = b.im / b.re;
        let scale = (b.re + b.im * ratio).recip();
        Complex::new((a.re + a.im * ratio) * scale, (a.im - a.re * ratio) * scale)
    } else {
        let ratio = b.re / b.im;
        let scale = (b.re * ratio + b.im).recip();
        Complex::new((a.re * ratio + a.im) * scale, (a.im * ratio - a.re) * scale)
    }
}

pub(super) fn reciprocal(z: Complex64) -> Complex64 {
    div(Complex::new(1.0, 0.0), z)
}

pub(super) fn sgn(z: Complex64) -> Complex64 {
    if is_zero(z) {
        return Complex::new(0.0, 0.0);
    }
    let z = if z.is_finite() { normalised(z).0 } else { z };
    let size = hypot(z.re, z.im);
    Complex::new(z.re / size, z.im / size)
}

pub(super) fn sqrt(z: Complex64) -> Complex64 {
    let Complex { re, im } = z;
    if im.is_infinite() {
        return Complex::new(f64::INFINITY, im);
    }
    if re.is_infinite() {
        // The root of the small part, or NaN, beside that of the infinite one.
        let small = if im.is_nan() { im } else { 0.0 };
        return if re > 0.0 {
            Complex::new(re, small.copysign(im))
        } else {
            Complex::new(small, f64::INFINITY.copysign(im))
        };
    }
    if is_zero(z) {
        return Complex::new(0.0, im);
    }
    if z.is_nan() {
        return Complex::new(f64::NAN, f64::NAN);
    }
    let (_, n) = normalised(z);
    let half = (n * 0.5).round_ties_even();
    let Complex { re: x, im: y } = scaled(z, -2.0 * half);
    let root = ((two_prod(x, x) + two_prod(y, y)).sqrt() + x.abs()).scale(0.5).sqrt();
    let root = Lane::ldexp(root.hi, half);
    // Not from the scaled part, which may have underflowed.
    let other = im.abs() / root * 0.5;
    if re >= 0.0 { Complex::new(root, other.copysign(im)) } else { Complex::new(other, root.copysign(im)) }
}

pub(super) fn rsqrt(z: Complex64) -> Complex64 {
    reciprocal(sqrt(z))
}
