//! Owns products, quotients, square roots and signs of complex numbers.

use num_complex::Complex;

use super::super::dw::{Dw, two_prod};
use super::super::{clamp, hypot};
use super::{Part, is_finite, is_inf, is_infinite, is_nan, is_zero, mul, num, scaled, select};
use crate::lane::{Bits, rare};

/// Beyond, quotients of normalised numbers are infinite or 0.
const LARGEST_EXPONENT: f64 = 2044.0;

/// The binary exponent of a finite number that is not 0.
#[inline(always)]
fn exponent<W: Part>(x: W) -> W {
    let subnormal = x.abs().lt(W::num(f64::MIN_POSITIVE));
    let normal = W::select(subnormal, x * W::num(2f64.powi(54)), x);
    let biased = W::from_int((normal.to_bits() >> 52) & W::Bits::splat(0x7ff)) - W::num(1023.0);
    W::select(subnormal, biased - W::num(54.0), biased)
}

/// A finite number that is not 0, scaled so that its larger part is between 1 and 2, and the exponent that
/// was taken out.
#[inline(always)]
fn normalised<W: Part>(z: Complex<W>) -> (Complex<W>, W) {
    let n = exponent(z.re.abs().max(z.im.abs()));
    (Complex::new(scaled(z.re, -n), scaled(z.im, -n)), n)
}

/// The product as in C99: an infinite factor makes it infinite even beside NaN parts.
#[inline(always)]
pub(super) fn mul_infinities<W: Part>(a: Complex<W>, b: Complex<W>) -> Complex<W> {
    let product = mul(a, b);
    let lost = product.re.is_nan() & product.im.is_nan() & (is_infinite(a) | is_infinite(b));
    rare!(lost, product, {
        let directions = mul(direction(a), direction(b));
        let infinity = W::num(f64::INFINITY);
        Complex::new(directions.re * infinity, directions.im * infinity)
    })
}

/// The direction of an infinite product: infinite parts become ±1, finite parts beside them 0, and NaN 0.
#[inline(always)]
fn direction<W: Part>(z: Complex<W>) -> Complex<W> {
    let infinite = is_infinite(z);
    Complex::new(part_of_direction(z.re, infinite), part_of_direction(z.im, infinite))
}

#[inline(always)]
fn part_of_direction<W: Part>(x: W, infinite: W::Mask) -> W {
    let (zero, one) = (W::num(0.0), W::num(1.0));
    let unit = W::select(is_inf(x), one, zero).copysign(x);
    W::select(x.is_nan(), zero.copysign(x), W::select(infinite, unit, x))
}

/// Numbers between `1 / NEAR` and this one are divided without scaling: nothing on the way is subnormal.
const NEAR: f64 = (1u128 << 100) as f64;

/// Whether a part is 0 or between `1 / NEAR` and `NEAR`.
#[inline(always)]
fn is_near<W: Part>(part: W) -> W::Mask {
    let size = part.abs();
    size.le(W::num(NEAR)) & (size.ge(W::num(1.0 / NEAR)) | size.eq(W::num(0.0)))
}

/// a · conj(b) and |b|² in double words, whose quotient is a / b.
#[inline(always)]
fn fraction<W: Part>(a: Complex<W>, b: Complex<W>) -> (Complex<Dw<W>>, Dw<W>) {
    let re = two_prod(a.re, b.re) + two_prod(a.im, b.im);
    let im = two_prod(a.im, b.re) + two_prod(-a.re, b.im);
    (Complex { re, im }, two_prod(b.re, b.re) + two_prod(b.im, b.im))
}

#[inline(always)]
pub(super) fn div<W: Part>(a: Complex<W>, b: Complex<W>) -> Complex<W> {
    let (parts, square) = fraction(a, b);
    let quotient = Complex::new(parts.re.div(square).hi, parts.im.div(square).hi);
    let are_near = is_near(a.re) & is_near(a.im) & is_near(b.re) & is_near(b.im);
    let zero = W::num(0.0);
    let is_ordinary = are_near & !parts.re.hi.eq(zero) & !parts.im.hi.eq(zero);
    rare!(!is_ordinary, quotient, div_of_any(a, b))
}

/// The quotient of any numbers: scaled, and by another formula at the ends.
#[inline(always)]
fn div_of_any<W: Part>(a: Complex<W>, b: Complex<W>) -> Complex<W> {
    let ordinary = is_finite(a) & is_finite(b) & !is_zero(a) & !is_zero(b);
    let ((near_a, m), (near_b, n)) = (normalised(a), normalised(b));
    let (a, b) = (select(ordinary, near_a, a), select(ordinary, near_b, b));
    let n = clamp(m - n, -LARGEST_EXPONENT, LARGEST_EXPONENT);
    let (parts, square) = fraction(a, b);
    let ends = div_at_the_ends(a, b);
    let part = |part, end| quotient_of(part, square, n, end);
    select(ordinary, Complex::new(part(parts.re, ends.re), part(parts.im, ends.im)), ends)
}

/// `x / square · 2^n`. Sums of products lose the sign of a zero, which is taken from `sign`.
#[inline(always)]
fn quotient_of<W: Part>(x: Dw<W>, square: Dw<W>, n: W, sign: W) -> W {
    W::select(x.hi.eq(W::num(0.0)), x.hi.copysign(sign), scaled(x.div(square).hi, n))
}

/// The quotient by Smith's method, for infinities, NaN and zeros.
#[inline(always)]
pub(super) fn div_at_the_ends<W: Part>(a: Complex<W>, b: Complex<W>) -> Complex<W> {
    let wide = b.re.abs().ge(b.im.abs());
    // The larger part of the divisor, and the smaller; the dividend's parts in that order.
    let (larger, smaller) = (W::select(wide, b.re, b.im), W::select(wide, b.im, b.re));
    let (p, q) = (W::select(wide, a.re, a.im), W::select(wide, a.im, a.re));
    let ratio = smaller / larger;
    let scale = W::num(1.0) / (larger + smaller * ratio);
    let product = p * ratio;
    let quotient = Complex::new((p + q * ratio) * scale, W::select(wide, q - product, product - q) * scale);
    select(is_zero(b), Complex::new(a.re / b.re.abs(), a.im / b.im.abs()), quotient)
}

#[inline(always)]
pub(super) fn reciprocal<W: Part>(z: Complex<W>) -> Complex<W> {
    div(num(1.0, 0.0), z)
}

#[inline(always)]
pub(super) fn sgn<W: Part>(z: Complex<W>) -> Complex<W> {
    let direction = select(is_finite(z), normalised(z).0, z);
    let size = hypot(direction.re, direction.im);
    select(is_zero(z), num(0.0, 0.0), Complex::new(direction.re / size, direction.im / size))
}

#[inline(always)]
pub(super) fn sqrt<W: Part>(z: Complex<W>) -> Complex<W> {
    let Complex { re, im } = z;
    let (zero, infinity) = (W::num(0.0), W::num(f64::INFINITY));
    let (_, n) = normalised(z);
    let half = (n * W::num(0.5)).round_ties_even();
    let (x, y) = (scaled(re, -(half + half)), scaled(im, -(half + half)));
    let root = ((two_prod(x, x) + two_prod(y, y)).sqrt() + x.abs()).scale(W::num(0.5)).sqrt();
    let root = scaled(root.hi, half);
    // Not from the scaled part, which may have underflowed.
    let other = im.abs() / root * W::num(0.5);
    let right = re.ge(zero);
    let ordinary =
        Complex::new(W::select(right, root, other), W::select(right, other.copysign(im), root.copysign(im)));
    let at_zero = select(is_zero(z), Complex::new(zero, im), ordinary);
    let at_nan = select(is_nan(z), num(f64::NAN, f64::NAN), at_zero);
    // The root of the small part, or NaN, beside that of the infinite one.
    let small = W::select(im.is_nan(), im, zero);
    let beside = Complex::new(
        W::select(right, re, small),
        W::select(right, small.copysign(im), infinity.copysign(im)),
    );
    let at_real = select(is_inf(re), beside, at_nan);
    select(is_inf(im), Complex::new(infinity, im), at_real)
}

#[inline(always)]
pub(super) fn rsqrt<W: Part>(z: Complex<W>) -> Complex<W> {
    reciprocal(sqrt(z))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_of_near_numbers_are_those_of_scaled_ones() {
        let mut state = 1u64;
        let mut part = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let size = f64::from_bits((1023 - 101 + (state >> 33) % 203) << 52 | state >> 12);
            let exact = f64::from((state >> 20) as i8) * 0.25;
            let number = if state >> 63 == 0 { size } else { exact };
            if state >> 62 & 1 == 0 { number } else { -number }
        };
        for _ in 0..200_000 {
            let [a, b] = [(); 2].map(|()| Complex::new(part(), part()));
            let (quotient, scaled) = (div(a, b), div_of_any(a, b));
            let bits = |z: Complex<f64>| [z.re, z.im].map(|x| if x.is_nan() { 1 } else { x.to_bits() });
            assert_eq!(bits(quotient), bits(scaled), "{a} / {b}: {quotient}, scaled {scaled}");
        }
    }
}
