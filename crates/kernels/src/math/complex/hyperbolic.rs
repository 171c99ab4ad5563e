//! Owns the hyperbolic and the trigonometric functions of complex numbers.

use num_complex::Complex;

use super::super::dw::Dw;
use super::super::trig::{PI, sin_cos, sin_cos_pi};
use super::super::{cosh as real_cosh, sinh as real_sinh, tan as real_tan, tanh as real_tanh};
use super::arithmetic::div;
use super::exponential::times_exp;
use super::{Part, is_finite, is_inf, is_zero, num, select, signum, turned, turned_back};
use crate::lane::rare;

/// Beyond, the hyperbolic functions are half an exponential.
const LARGE: f64 = 40.0;

/// (sinh x · c, cosh x · s) without undue overflow.
#[inline(always)]
fn sinh_with<W: Part>(x: W, (sinh, cosh): (W, W), c: W, s: W) -> Complex<W> {
    let size = x.abs();
    let large = size.gt(W::num(LARGE));
    let ordinary = Complex::new(sinh * c, cosh * s);
    rare!(large, ordinary, {
        let half = W::num(0.5);
        Complex::new(times_exp(half * c, size).copysign(c) * signum(x), times_exp(half * s, size))
    })
}

#[inline(always)]
pub(super) fn sinh<W: Part>(z: Complex<W>) -> Complex<W> {
    let Complex { re: x, im: y } = z;
    let zero = W::num(0.0);
    let (sin, cos) = sin_cos(y);
    let real = (real_sinh(x), real_cosh(x));
    let ends = select(is_inf(x) & !y.is_finite(), num(f64::INFINITY, f64::NAN), sinh_with(x, real, cos, sin));
    let imaginary = Complex::new(W::select(y.is_finite(), x * cos, x), sin);
    select(y.eq(zero), Complex::new(real.0, y), select(x.eq(zero), imaginary, ends))
}

#[inline(always)]
pub(super) fn cosh<W: Part>(z: Complex<W>) -> Complex<W> {
    let Complex { re: x, im: y } = z;
    let (zero, one) = (W::num(0.0), W::num(1.0));
    let (sin, cos) = sin_cos(y);
    let real = (real_sinh(x), real_cosh(x));
    let w = sinh_with(x, real, sin, cos);
    let ends = select(is_inf(x) & !y.is_finite(), num(f64::INFINITY, f64::NAN), Complex::new(w.im, w.re));
    let imaginary = Complex::new(cos, W::select(y.is_finite(), x * sin, zero));
    let sign = W::select(x.is_nan(), one, signum(x));
    select(y.eq(zero), Complex::new(real.1, y * sign), select(x.eq(zero), imaginary, ends))
}

#[inline(always)]
pub(super) fn tanh<W: Part>(z: Complex<W>) -> Complex<W> {
    let Complex { re: x, im: y } = z;
    let (zero, one) = (W::num(0.0), W::num(1.0));
    // Kahan's form: with t = tan y and s = sinh x, ((1 + t²) s cosh x + i t) / (1 + (1 + t²) s²).
    let t = real_tan(y);
    let (s, c) = (real_sinh(x), real_cosh(x));
    let beta = t.mul_add(t, one);
    let denominator = (beta * s).mul_add(s, one);
    let ordinary = Complex::new(beta * c * s / denominator, t / denominator);
    let result = rare!(x.abs().gt(W::num(LARGE)), ordinary, {
        let (sin, cos) = sin_cos(y);
        let far = times_exp(W::num(4.0) * sin * cos, W::num(-2.0) * x.abs());
        Complex::new(signum(x), far)
    });
    let lost = Complex::new(W::select(x.eq(zero), x, W::num(f64::NAN)), W::num(f64::NAN));
    let result = select(y.is_finite(), result, lost);
    let result = rare!(is_inf(x), result, {
        // That of sin 2y, whose argument may be beyond all numbers.
        let (sin, cos) = sin_cos(y);
        let sign = W::select(y.is_finite(), sin * cos, y);
        Complex::new(signum(x), zero.copysign(sign))
    });
    select(y.eq(zero), Complex::new(real_tanh(x), y), result)
}

#[inline(always)]
pub(super) fn sin<W: Part>(z: Complex<W>) -> Complex<W> {
    let lost = !z.re.is_finite() & is_inf(z.im);
    select(lost, num(f64::NAN, f64::INFINITY), turned_back(sinh(turned(z))))
}

#[inline(always)]
pub(super) fn cos<W: Part>(z: Complex<W>) -> Complex<W> {
    cosh(turned(z))
}

#[inline(always)]
pub(super) fn tan<W: Part>(z: Complex<W>) -> Complex<W> {
    turned_back(tanh(turned(z)))
}

#[inline(always)]
pub(super) fn sinc<W: Part>(z: Complex<W>) -> Complex<W> {
    let (zero, half, pi) = (W::num(0.0), W::num(0.5), W::num(PI.0));
    let pi_z = Complex::new(z.re * pi, z.im * pi);
    // sin πz = sin πx cosh πy + i cos πx sinh πy, the angles being reduced before the multiplication by π.
    let (s, c) = sin_cos_pi(z.re.abs());
    // The sum turns -0 into 0.
    let (s, c) = ((s.hi + zero) * signum(z.re), c.hi + zero);
    let y = Dw::splat(PI) * z.im;
    let (sinh, cosh) = (real_sinh(y.hi), real_cosh(y.hi));
    let sine = Complex::new(s * y.lo.mul_add(sinh, cosh), c * y.lo.mul_add(cosh, sinh));
    let large = y.hi.abs().gt(W::num(LARGE));
    // The quotient first, as it is smaller than the exponential.
    let wave = Complex::new(half * s, half * c * signum(y.hi));
    let quotient = div(select(large, wave, sine), select(large, z, pi_z));
    let size = Dw::select(y.hi.lt(zero), -y, y);
    let far = Complex::new(times_exp(quotient.re / pi, size), times_exp(quotient.im / pi, size));
    let result = select(large, far, quotient);
    // 1 - (πz)² / 6: the quotient would lose the imaginary part.
    let near = Complex::new(W::num(1.0), -(pi_z.re * pi_z.im) / W::num(3.0));
    let result = select(z.re.abs().max(z.im.abs()).lt(W::num(2f64.powi(-28))), near, result);
    let result = rare!(!is_finite(z), result, div(sin(pi_z), pi_z));
    select(is_zero(z), num(1.0, 0.0), result)
}
