//! Owns the hyperbolic and the trigonometric functions of complex numbers.

use num_complex::{Complex, Complex64};

use super::super::dw::Dw;
use super::super::trig::{PI, sin_cos_pi};
use super::super::{
    cos as real_cos, cosh as real_cosh, sin as real_sin, sinh as real_sinh, tan as real_tan,
    tanh as real_tanh,
};
use super::arithmetic::div;
use super::exponential::times_exp;
use super::turned;

/// Beyond, the hyperbolic functions are halves of exponentials.
const LARGE: f64 = 40.0;

/// (sinh x · c, cosh x · s) without undue overflow.
fn sinh_with(x: f64, c: f64, s: f64) -> Complex64 {
    if x.abs() > LARGE {
        let size = x.abs();
        Complex::new(times_exp(0.5 * c, size).copysign(c) * x.signum(), times_exp(0.5 * s, size))
    } else {
        Complex::new(real_sinh(x) * c, real_cosh(x) * s)
    }
}

pub(super) fn sinh(z: Complex64) -> Complex64 {
    let Complex { re: x, im: y } = z;
    if y == 0.0 {
        Complex::new(real_sinh(x), y)
    } else if x == 0.0 {
        Complex::new(if y.is_finite() { x * real_cos(y) } else { x }, real_sin(y))
    } else if x.is_infinite() && !y.is_finite() {
        Complex::new(f64::INFINITY, f64::NAN)
    } else {
        sinh_with(x, real_cos(y), real_sin(y))
    }
}

pub(super) fn cosh(z: Complex64) -> Complex64 {
    let Complex { re: x, im: y } = z;
    if y == 0.0 {
        Complex::new(real_cosh(x), y * x.signum().min(1.0))
    } else if x == 0.0 {
        Complex::new(real_cos(y), if y.is_finite() { x * real_sin(y) } else { 0.0 })
    } else if x.is_infinite() && !y.is_finite() {
        Complex::new(f64::INFINITY, f64::NAN)
    } else {
        let w = sinh_with(x, real_sin(y), real_cos(y));
        Complex::new(w.im, w.re)
    }
}

pub(super) fn tanh(z: Complex64) -> Complex64 {
    let Complex { re: x, im: y } = z;
    if y == 0.0 {
        return Complex::new(real_tanh(x), y);
    }
    if x.is_infinite() {
        let sign = if y.is_finite() { real_sin(2.0 * y) } else { y };
        return Complex::new(x.signum(), 0f64.copysign(sign));
    }
    if !y.is_finite() {
        return Complex::new(if x == 0.0 { x } else { f64::NAN }, f64::NAN);
    }
    if x.abs() > LARGE {
        return Complex::new(x.signum(), times_exp(4.0 * real_sin(y) * real_cos(y), -2.0 * x.abs()));
    }
    // Kahan's form: with t = tan y and s = sinh x, ((1 + t²) s cosh x + i t) / (1 + (1 + t²) s²).
    let t = real_tan(y);
    let (s, c) = (real_sinh(x), real_cosh(x));
    let beta = t.mul_add(t, 1.0);
    let denominator = (beta * s).mul_add(s, 1.0);
    Complex::new(beta * c * s / denominator, t / denominator)
}

pub(super) fn sin(z: Complex64) -> Complex64 {
    if !z.re.is_finite() && z.im.is_infinite() {
        return Complex::new(f64::NAN, f64::INFINITY);
    }
    turned(sinh, z)
}

pub(super) fn cos(z: Complex64) -> Complex64 {
    cosh(Complex::new(-z.im, z.re))
}

pub(super) fn tan(z: Complex64) -> Complex64 {
    turned(tanh, z)
}

pub(super) fn sinc(z: Complex64) -> Complex64 {
    if z.re == 0.0 && z.im == 0.0 {
        return Complex::new(1.0, 0.0);
    }
    let pi_z = Complex::new(z.re * PI.0, z.im * PI.0);
    if !z.is_finite() {
        return div(sin(pi_z), pi_z);
    }
    if z.re.abs().max(z.im.abs()) < 2f64.powi(-28) {
        // 1 - (πz)² / 6: the quotient would lose the imaginary part.
        return Complex::new(1.0, -(pi_z.re * pi_z.im) / 3.0);
    }
    // sin πz = sin πx cosh πy + i cos πx sinh πy, the angles being reduced before the multiplication by π.
    let (s, c) = sin_cos_pi(z.re.abs());
    // The sum turns -0 into 0.
    let (s, c) = ((s.hi + 0.0) * z.re.signum(), c.hi + 0.0);
    let y = Dw::splat(PI) * z.im;
    if y.hi.abs() > LARGE {
        // The quotient first: it is smaller than the exponential.
        let wave = Complex::new(0.5 * s, 0.5 * c * y.hi.signum());
        let quotient = div(wave, Complex::new(z.re, z.im));
        let quotient = Complex::new(quotient.re / PI.0, quotient.im / PI.0);
        let size = if y.hi < 0.0 { -y } else { y };
        return Complex::new(times_exp(quotient.re, size), times_exp(quotient.im, size));
    }
    let (sinh, cosh) = (real_sinh(y.hi), real_cosh(y.hi));
    div(Complex::new(s * y.lo.mul_add(sinh, cosh), c * y.lo.mul_add(cosh, sinh)), pi_z)
}
