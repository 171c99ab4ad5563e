//! Owns the inverse hyperbolic and the inverse trigonometric functions of complex numbers, in forms none of
//! whose sums cancels.
//!
//! Source: Kahan, "Branch cuts for complex elementary functions, or much ado about nothing's sign bit", 1987.

use std::f64::consts::{FRAC_PI_2, LN_2};

use num_complex::Complex;

use super::super::dw::{two_prod, two_sum};
use super::super::{asinh as real_asinh, atan2, hypot, log as real_log, log1p as real_log1p};
use super::arithmetic::sqrt;
use super::{Part, is_finite, is_infinite, select, turned, turned_back};
use crate::lane::rare;

/// √(1 - z) and √(1 + z).
#[inline(always)]
fn roots<W: Part>(z: Complex<W>) -> (Complex<W>, Complex<W>) {
    let one = W::num(1.0);
    (sqrt(Complex::new(one - z.re, -z.im)), sqrt(Complex::new(one + z.re, z.im)))
}

/// The imaginary part of asin z, and less its sign that of acos z, from the two roots.
#[inline(always)]
fn asin_imaginary<W: Part>(minus: Complex<W>, plus: Complex<W>) -> W {
    real_asinh(minus.re * plus.im - minus.im * plus.re)
}

/// asin z of finite numbers.
#[inline(always)]
fn asin_of_finite<W: Part>(z: Complex<W>) -> Complex<W> {
    let (minus, plus) = roots(z);
    let re = atan2(z.re, minus.re * plus.re - minus.im * plus.im);
    Complex::new(re, asin_imaginary(minus, plus))
}

#[inline(always)]
pub(super) fn asin<W: Part>(z: Complex<W>) -> Complex<W> {
    select(is_finite(z), asin_of_finite(z), turned_back(asinh_at_the_ends(turned(z))))
}

#[inline(always)]
pub(super) fn asinh<W: Part>(z: Complex<W>) -> Complex<W> {
    select(is_finite(z), turned_back(asin_of_finite(turned(z))), asinh_at_the_ends(z))
}

#[inline(always)]
fn asinh_at_the_ends<W: Part>(z: Complex<W>) -> Complex<W> {
    let infinity = W::num(f64::INFINITY);
    let re = W::select(is_infinite(z), infinity.copysign(z.re), W::num(f64::NAN));
    let im = W::select(z.im.eq(W::num(0.0)), z.im, atan2(z.im, z.re.abs()));
    Complex::new(re, im)
}

#[inline(always)]
pub(super) fn acos<W: Part>(z: Complex<W>) -> Complex<W> {
    let (minus, plus) = roots(z);
    let ordinary = Complex::new(W::num(2.0) * atan2(minus.re, plus.re), -asin_imaginary(minus, plus));
    rare!(!is_finite(z), ordinary, {
        let infinity = W::num(f64::INFINITY);
        let im = W::select(is_infinite(z), infinity.copysign(-z.im), W::num(f64::NAN));
        let re = W::select(z.re.eq(W::num(0.0)), W::num(FRAC_PI_2), atan2(z.im.abs(), z.re));
        Complex::new(re, im)
    })
}

#[inline(always)]
pub(super) fn acosh<W: Part>(z: Complex<W>) -> Complex<W> {
    let w = acos(z);
    Complex::new(w.im.abs(), w.re.copysign(z.im))
}

#[inline(always)]
pub(super) fn atan<W: Part>(z: Complex<W>) -> Complex<W> {
    turned_back(atanh(turned(z)))
}

#[inline(always)]
pub(super) fn atanh<W: Part>(z: Complex<W>) -> Complex<W> {
    let (x, y) = (z.re.abs(), z.im.abs());
    let w = select(is_finite(z), atanh_in_first_quadrant(x, y), atanh_at_the_ends(x, y));
    Complex::new(w.re.copysign(z.re), w.im.copysign(z.im))
}

#[inline(always)]
fn atanh_at_the_ends<W: Part>(x: W, y: W) -> Complex<W> {
    let (zero, infinity, nan) = (W::num(0.0), W::num(f64::INFINITY), W::num(f64::NAN));
    let end = Complex::new(zero, W::select(y.is_nan(), y, W::num(FRAC_PI_2)));
    let lost = Complex::new(W::select(x.eq(zero), x, nan), nan);
    select(x.eq(infinity) | y.eq(infinity), end, lost)
}

#[inline(always)]
fn atanh_in_first_quadrant<W: Part>(x: W, y: W) -> Complex<W> {
    let (zero, quarter, half, one) = (W::num(0.0), W::num(0.25), W::num(0.5), W::num(1.0));
    let below = two_sum(one, -x);
    let distance = below.hi.mul_add(below.hi, y * y);
    let cosine = below * two_sum(one, x) + -two_prod(y, y);
    let ordinary = Complex::new(
        quarter * real_log1p(W::num(4.0) * x / distance),
        half * atan2(W::num(2.0) * y, cosine.hi),
    );
    let pole = x.eq(one) & y.lt(W::num(2f64.powi(-400)));
    let result = rare!(pole, ordinary, {
        let exact = y.eq(zero);
        let re = half * (W::num(LN_2) - real_log(y));
        let re = W::select(exact, W::num(f64::INFINITY), re);
        let im = W::select(exact, zero, half * atan2(W::num(2.0), -y));
        Complex::new(re, im)
    });
    rare!(x.max(y).gt(W::num(2f64.powi(500))), result, {
        let size = hypot(x * quarter, y * quarter);
        let re = x * quarter / size / size * quarter;
        Complex::new(re, W::num(FRAC_PI_2))
    })
}
