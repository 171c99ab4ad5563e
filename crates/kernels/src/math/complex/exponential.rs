//! Owns the exponential and logarithmic functions of complex numbers.

use num_complex::{Complex, Complex64};

use super::super::dw::{Dw, two_prod, two_sum};
use super::super::exp::Exponential;
use super::super::inverse_trig::angle_of;
use super::super::log::Logarithm;
use super::super::{atan2, clamp, cos, exp as real_exp, expm1 as real_expm1, log1p as real_log1p, sin};
use super::arithmetic::{div, mul, mul_infinities, reciprocal};
use crate::lane::Lane;

const LN_2: (f64, f64) = (std::f64::consts::LN_2, 2.3190468138462996e-17);
const LOG2_E: (f64, f64) = (std::f64::consts::LOG2_E, 2.0355273740931033e-17);
const LOG10_E: (f64, f64) = (std::f64::consts::LOG10_E, 1.098319650216765e-17);
/// e^x is 0 or infinite beyond, even after a multiplication with the sine of an `f64`.
const EXP_RANGE: f64 = 1400.0;

/// `factor · e^x` without undue overflow.
pub(super) fn times_exp(factor: f64, x: impl Into<Dw<f64>>) -> f64 {
    let x = x.into();
    let x = if x.hi.abs() < EXP_RANGE { x } else { clamp(x.hi, -EXP_RANGE, EXP_RANGE).into() };
    let e = Exponential::of(x);
    Lane::ldexp(e.significand().hi * factor, e.n)
}

/// e^x · (cos y + i sin y).
fn exp_of(x: Dw<f64>, y: Dw<f64>) -> Complex64 {
    if y.hi == 0.0 {
        return Complex::new(times_exp(1.0, x), y.hi);
    }
    if x.hi.is_infinite() && !y.hi.is_finite() {
        return if x.hi > 0.0 {
            Complex::new(x.hi, f64::NAN)
        } else {
            Complex::new(0.0, 0f64.copysign(y.hi))
        };
    }
    // The low part turns the angle further: a little, unless the angle is huge.
    let (s, c) = (sin(y.hi), cos(y.hi));
    let (s, c) = if y.lo == 0.0 {
        (s, c)
    } else if y.lo.abs() < 2f64.powi(-30) {
        (y.lo.mul_add(c, s), y.lo.mul_add(-s, c))
    } else {
        let (turn_s, turn_c) = (sin(y.lo), cos(y.lo));
        (s.mul_add(turn_c, c * turn_s), c.mul_add(turn_c, -s * turn_s))
    };
    Complex::new(times_exp(c, x), times_exp(s, x))
}

pub(super) fn exp(z: Complex64) -> Complex64 {
    exp_of(z.re.into(), z.im.into())
}

/// The product of a number and a constant; infinities stay.
fn times(x: f64, constant: (f64, f64)) -> Dw<f64> {
    if x.is_finite() && x != 0.0 { Dw::splat(constant) * x } else { x.into() }
}

pub(super) fn exp2(z: Complex64) -> Complex64 {
    exp_of(times(z.re, LN_2), times(z.im, LN_2))
}

pub(super) fn expm1(z: Complex64) -> Complex64 {
    let Complex { re, im } = z;
    if re > 700.0 && z.is_finite() {
        let e = exp(z);
        return Complex::new(e.re - 1.0, e.im);
    }
    // e^x cos y - 1 = (e^x - 1) cos y - (1 - cos y)
    let half = sin(im * 0.5);
    Complex::new(real_expm1(re).mul_add(cos(im), -2.0 * half * half), real_exp(re) * sin(im))
}

/// log |z| as a double word, for a finite number that is not 0.
fn log_abs(z: Complex64) -> Dw<f64> {
    let size = z.re.abs().max(z.im.abs());
    let shift = match size {
        _ if size > 2f64.powi(500) => -600,
        _ if size < 2f64.powi(-400) => 600,
        _ => 0,
    };
    let scale = 2f64.powi(shift);
    let (x, y) = (z.re * scale, z.im * scale);
    let square = two_prod(x, x) + two_prod(y, y);
    let mut l = Logarithm::of_quotient(square, 1.0.into(), square.hi);
    l.e -= 2.0 * f64::from(shift);
    l.natural().scale(0.5)
}

/// log |z| anywhere.
fn log_abs_with_ends(z: Complex64) -> Dw<f64> {
    if z.re.is_infinite() || z.im.is_infinite() {
        f64::INFINITY.into()
    } else if z.is_nan() {
        f64::NAN.into()
    } else if z.re == 0.0 && z.im == 0.0 {
        f64::NEG_INFINITY.into()
    } else {
        log_abs(z)
    }
}

pub(super) fn log(z: Complex64) -> Complex64 {
    Complex::new(log_abs_with_ends(z).hi, atan2(z.im, z.re))
}

/// The logarithm in the base whose inverse natural logarithm is given.
fn log_in_base(z: Complex64, constant: (f64, f64)) -> Complex64 {
    let size = log_abs_with_ends(z);
    let size = if size.hi.is_finite() { (size * Dw::splat(constant)).hi } else { size.hi };
    Complex::new(size, times(atan2(z.im, z.re), constant).hi)
}

pub(super) fn log2(z: Complex64) -> Complex64 {
    log_in_base(z, LOG2_E)
}

pub(super) fn log10(z: Complex64) -> Complex64 {
    log_in_base(z, LOG10_E)
}

pub(super) fn log1p(z: Complex64) -> Complex64 {
    let Complex { re: x, im: y } = z;
    let one_plus = two_sum(1.0, x);
    let largest = x.abs().max(y.abs());
    if z.is_nan() {
        return Complex::new(f64::NAN, f64::NAN);
    }
    if largest > 2f64.powi(100) || (one_plus.hi == 0.0 && y == 0.0) {
        return log(Complex::new(one_plus.hi, y));
    }
    // |1 + z|² - 1
    let square = two_prod(x, x) + two_prod(y, y) + Dw::from(2.0 * x);
    let size = if y == 0.0 && x > -1.0 {
        real_log1p(x)
    } else if largest < 2f64.powi(-100) {
        // The squares may underflow, and the logarithm is its argument.
        (y * 0.5).mul_add(y, x)
    } else if square.hi < -0.5 {
        log_abs_of_sum(one_plus, y).hi
    } else {
        Logarithm::of_one_plus(square).natural().hi * 0.5
    };
    let angle = atan2(y, one_plus.hi);
    // What 1 + x lost turns the angle a little further.
    let denominator = one_plus.hi * one_plus.hi + y * y;
    let turned = angle - y * one_plus.lo / denominator;
    Complex::new(size, if turned.is_finite() && angle != 0.0 { turned } else { angle })
}

/// log |x + iy|, where `x` is a double word.
fn log_abs_of_sum(x: Dw<f64>, y: f64) -> Dw<f64> {
    let size = x.hi.abs().max(y.abs());
    let up = if size < 2f64.powi(-400) { 600 } else { 0 };
    let (x, y) = (x.scale(2f64.powi(up)), y * 2f64.powi(up));
    let square = x * x + two_prod(y, y);
    let mut l = Logarithm::of_quotient(square, 1.0.into(), square.hi);
    l.e -= 2.0 * f64::from(up);
    l.natural().scale(0.5)
}

pub(super) fn pow(a: Complex64, b: Complex64) -> Complex64 {
    if !a.is_finite() || !b.is_finite() || (a.re == 0.0 && a.im == 0.0) {
        return exp(mul_infinities(b, log(a)));
    }
    let (size, angle) = (log_abs(a), angle_of(a.im, a.re));
    let re = size * b.re + angle * -b.im;
    let im = size * b.im + angle * b.re;
    // Single words decide where the product overflows, and the sign of a zero.
    let single = mul_infinities(b, log(a));
    if !re.lo.is_finite() || !im.lo.is_finite() {
        exp(single)
    } else if im.hi == 0.0 {
        exp_of(re, im.hi.copysign(single.im).into())
    } else {
        exp_of(re, im)
    }
}

/// 1 + e^z for a real part of at most 0, as a sum of two terms that do not cancel.
fn one_plus_exp(z: Complex64) -> Complex64 {
    let (size, half) = (real_exp(z.re), cos(z.im * 0.5));
    Complex::new((2.0 * size * half).mul_add(half, -real_expm1(z.re)), size * sin(z.im))
}

pub(super) fn sigmoid(z: Complex64) -> Complex64 {
    if !z.is_finite() {
        let e = exp(-z);
        return reciprocal(Complex::new(1.0 + e.re, e.im));
    }
    if z.re < 0.0 { div(exp(z), one_plus_exp(z)) } else { reciprocal(one_plus_exp(-z)) }
}

pub(super) fn silu(z: Complex64) -> Complex64 {
    if !z.is_finite() {
        let e = exp(-z);
        return div(z, Complex::new(1.0 + e.re, e.im));
    }
    if z.re < 0.0 { div(mul(z, exp(z)), one_plus_exp(z)) } else { div(z, one_plus_exp(-z)) }
}

pub(super) fn logaddexp(a: Complex64, b: Complex64) -> Complex64 {
    if a.is_nan() || b.is_nan() {
        return Complex::new(f64::NAN, f64::NAN);
    }
    let (smaller, larger) = if a.re < b.re { (a, b) } else { (b, a) };
    if smaller.re == f64::NEG_INFINITY && larger.re == f64::NEG_INFINITY {
        return smaller;
    }
    if smaller.re == f64::INFINITY {
        return log(exp(smaller) + exp(larger));
    }
    log1p(exp(smaller - larger)) + larger
}
