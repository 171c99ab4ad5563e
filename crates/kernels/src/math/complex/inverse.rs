//! Owns the inverse hyperbolic and the inverse trigonometric functions of complex numbers.
//!
//! The formulas are Kahan's (1987, "Branch cuts for complex elementary functions, or much ado about nothing's sign
//! bit"): none of their sums cancels.

use std::f64::consts::{FRAC_PI_2, LN_2};

use num_complex::{Complex, Complex64};

use super::super::dw::{two_prod, two_sum};
use super::super::{asinh as real_asinh, atan2, hypot, log as real_log, log1p as real_log1p};
use super::arithmetic::sqrt;
use super::turned;

/// √(1 - z) and √(1 + z).
fn roots(z: Complex64) -> (Complex64, Complex64) {
    (sqrt(Complex::new(1.0 - z.re, -z.im)), sqrt(Complex::new(1.0 + z.re, z.im)))
}

/// The imaginary part of asin z, and less its sign that of acos z, from the two roots.
fn asin_imaginary(minus: Complex64, plus: Complex64) -> f64 {
    real_asinh(minus.re * plus.im - minus.im * plus.re)
}

pub(super) fn asin(z: Complex64) -> Complex64 {
    if !z.is_finite() {
        return turned(asinh_at_the_ends, z);
    }
    let (minus, plus) = roots(z);
    let re = atan2(z.re, minus.re * plus.re - minus.im * plus.im);
    Complex::new(re, asin_imaginary(minus, plus))
}

pub(super) fn asinh(z: Complex64) -> Complex64 {
    if z.is_finite() { turned(asin, z) } else { asinh_at_the_ends(z) }
}

fn asinh_at_the_ends(z: Complex64) -> Complex64 {
    let infinite = z.re.is_infinite() || z.im.is_infinite();
    let re = if infinite { f64::INFINITY.copysign(z.re) } else { f64::NAN };
    let im = if z.im == 0.0 { z.im } else { atan2(z.im, z.re.abs()) };
    Complex::new(re, im)
}

pub(super) fn acos(z: Complex64) -> Complex64 {
    if !z.is_finite() {
        let infinite = z.re.is_infinite() || z.im.is_infinite();
        let im = if infinite { f64::INFINITY.copysign(-z.im) } else { f64::NAN };
        let re = if z.re == 0.0 { FRAC_PI_2 } else { atan2(z.im.abs(), z.re) };
        return Complex::new(re, im);
    }
    let (minus, plus) = roots(z);
    Complex::new(2.0 * atan2(minus.re, plus.re), -asin_imaginary(minus, plus))
}

pub(super) fn acosh(z: Complex64) -> Complex64 {
    let w = acos(z);
    Complex::new(w.im.abs(), w.re.copysign(z.im))
}

pub(super) fn atan(z: Complex64) -> Complex64 {
    turned(atanh, z)
}

pub(super) fn atanh(z: Complex64) -> Complex64 {
    let (x, y) = (z.re.abs(), z.im.abs());
    let (re, im) = if z.is_finite() { atanh_in_first_quadrant(x, y) } else { atanh_at_the_ends(x, y) };
    Complex::new(re.copysign(z.re), im.copysign(z.im))
}

fn atanh_at_the_ends(x: f64, y: f64) -> (f64, f64) {
    if x.is_infinite() || y.is_infinite() {
        (0.0, if y.is_nan() { y } else { FRAC_PI_2 })
    } else {
        (if x == 0.0 { x } else { f64::NAN }, f64::NAN)
    }
}

fn atanh_in_first_quadrant(x: f64, y: f64) -> (f64, f64) {
    if x.max(y) > 2f64.powi(500) {
        let size = hypot(x * 0.25, y * 0.25);
        return (x * 0.25 / size / size * 0.25, FRAC_PI_2);
    }
    if x == 1.0 && y < 2f64.powi(-400) {
        let re = if y == 0.0 { f64::INFINITY } else { 0.5 * (LN_2 - real_log(y)) };
        return (re, if y == 0.0 { 0.0 } else { 0.5 * atan2(2.0, -y) });
    }
    let below = two_sum(1.0, -x);
    let distance = below.hi.mul_add(below.hi, y * y);
    let cosine = below * two_sum(1.0, x) + -two_prod(y, y);
    (0.25 * real_log1p(4.0 * x / distance), 0.5 * atan2(2.0 * y, cosine.hi))
}
