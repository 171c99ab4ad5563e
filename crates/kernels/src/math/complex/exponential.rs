//! Owns the exponential and logarithmic functions of complex numbers.

use num_complex::Complex;

use super::super::dw::{Dw, two_prod, two_sum};
use super::super::exp::Exponential;
use super::super::inverse_trig::angle_of;
use super::super::log::Logarithm;
use super::super::trig::sin_cos;
use super::super::{
    atan2, clamp, cos as real_cos, exp as real_exp, expm1 as real_expm1, log1p as real_log1p, sin as real_sin,
};
use super::arithmetic::{div, mul_infinities};
use super::{Part, add, is_finite, is_inf, is_infinite, is_nan, is_zero, mul, neg, num, scaled, select, sub};
use crate::lane::rare;

const LN_2: (f64, f64) = (std::f64::consts::LN_2, 2.3190468138462996e-17);
const LOG2_E: (f64, f64) = (std::f64::consts::LOG2_E, 2.0355273740931033e-17);
const LOG10_E: (f64, f64) = (std::f64::consts::LOG10_E, 1.098319650216765e-17);
/// Beyond, e^x is 0 or infinite, even after multiplication by the sine of an `f64`.
const EXP_RANGE: f64 = 1400.0;

/// `factor · e^x` without undue overflow.
#[inline(always)]
pub(super) fn times_exp<W: Part>(factor: W, x: impl Into<Dw<W>>) -> W {
    let x = x.into();
    let inside = x.hi.abs().lt(W::num(EXP_RANGE));
    let e = Exponential::of(Dw::select(inside, x, clamp(x.hi, -EXP_RANGE, EXP_RANGE).into()));
    scaled(e.significand().hi * factor, e.n)
}

/// e^x · (cos y + i sin y), given the sine and the cosine.
#[inline(always)]
fn from_polar<W: Part>(x: Dw<W>, y: W, (sin, cos): (W, W)) -> Complex<W> {
    let (zero, one) = (W::num(0.0), W::num(1.0));
    let real = y.eq(zero);
    let ordinary =
        Complex::new(times_exp(W::select(real, one, cos), x), W::select(real, y, times_exp(sin, x)));
    let above = Complex::new(x.hi, W::num(f64::NAN));
    let end = select(x.hi.gt(zero), above, Complex::new(zero, zero.copysign(y)));
    select(is_inf(x.hi) & !y.is_finite(), end, ordinary)
}

/// e^x · (cos y + i sin y).
#[inline(always)]
fn exp_of<W: Part>(x: Dw<W>, y: Dw<W>) -> Complex<W> {
    // The low part corrects the angle, by little unless the angle is huge.
    let (s, c) = sin_cos(y.hi);
    let little = y.lo.abs().lt(W::num(2f64.powi(-30)));
    let (turned_s, turned_c) = (y.lo.mul_add(c, s), y.lo.mul_add(-s, c));
    let unturned = y.lo.eq(W::num(0.0));
    let (near_s, near_c) = (W::select(unturned, s, turned_s), W::select(unturned, c, turned_c));
    let turned = rare!(!little, (near_s, near_c), {
        let (turn_s, turn_c) = sin_cos(y.lo);
        (s.mul_add(turn_c, c * turn_s), c.mul_add(turn_c, -s * turn_s))
    });
    from_polar(x, y.hi, turned)
}

#[inline(always)]
pub(super) fn exp<W: Part>(z: Complex<W>) -> Complex<W> {
    from_polar(z.re.into(), z.im, sin_cos(z.im))
}

/// The product of a number and a constant; infinities stay.
#[inline(always)]
fn times<W: Part>(x: W, constant: (f64, f64)) -> Dw<W> {
    Dw::select(x.is_finite() & !x.eq(W::num(0.0)), Dw::splat(constant) * x, x.into())
}

#[inline(always)]
pub(super) fn exp2<W: Part>(z: Complex<W>) -> Complex<W> {
    exp_of(times(z.re, LN_2), times(z.im, LN_2))
}

#[inline(always)]
pub(super) fn expm1<W: Part>(z: Complex<W>) -> Complex<W> {
    let Complex { re, im } = z;
    // e^x cos y - 1 = (e^x - 1) cos y - (1 - cos y)
    let half = real_sin(im * W::num(0.5));
    let (sin, cos) = sin_cos(im);
    let ordinary = Complex::new(real_expm1(re).mul_add(cos, W::num(-2.0) * half * half), real_exp(re) * sin);
    let large = re.gt(W::num(700.0)) & is_finite(z);
    rare!(large, ordinary, {
        let e = from_polar(re.into(), im, (sin, cos));
        Complex::new(e.re - W::num(1.0), e.im)
    })
}

/// Half the logarithm of the square of a magnitude that was scaled by `2^shift`.
#[inline(always)]
fn half_log<W: Part>(square: Dw<W>, shift: W) -> Dw<W> {
    let mut l = Logarithm::of_quotient(square, W::num(1.0).into(), square.hi);
    l.e = l.e - (shift + shift);
    l.natural().scale(W::num(0.5))
}

/// log |z| as a double word, for a finite number that is not 0.
#[inline(always)]
fn log_abs<W: Part>(z: Complex<W>) -> Dw<W> {
    let size = z.re.abs().max(z.im.abs());
    let (large, small) = (size.gt(W::num(2f64.powi(500))), size.lt(W::num(2f64.powi(-400))));
    let shift = W::select(large, W::num(-600.0), W::select(small, W::num(600.0), W::num(0.0)));
    let scale = W::exp2_int(shift);
    let (x, y) = (z.re * scale, z.im * scale);
    half_log(two_prod(x, x) + two_prod(y, y), shift)
}

/// log |z| for any number.
#[inline(always)]
fn log_abs_with_ends<W: Part>(z: Complex<W>) -> Dw<W> {
    let infinity = W::num(f64::INFINITY);
    let at_zero = Dw::select(is_zero(z), (-infinity).into(), log_abs(z));
    let at_nan = Dw::select(is_nan(z), W::num(f64::NAN).into(), at_zero);
    Dw::select(is_infinite(z), infinity.into(), at_nan)
}

#[inline(always)]
pub(super) fn log<W: Part>(z: Complex<W>) -> Complex<W> {
    Complex::new(log_abs_with_ends(z).hi, atan2(z.im, z.re))
}

/// The logarithm in the base whose inverse natural logarithm is given.
#[inline(always)]
fn log_in_base<W: Part>(z: Complex<W>, constant: (f64, f64)) -> Complex<W> {
    let size = log_abs_with_ends(z);
    let size = W::select(size.hi.is_finite(), (size * Dw::splat(constant)).hi, size.hi);
    Complex::new(size, times(atan2(z.im, z.re), constant).hi)
}

#[inline(always)]
pub(super) fn log2<W: Part>(z: Complex<W>) -> Complex<W> {
    log_in_base(z, LOG2_E)
}

#[inline(always)]
pub(super) fn log10<W: Part>(z: Complex<W>) -> Complex<W> {
    log_in_base(z, LOG10_E)
}

#[inline(always)]
pub(super) fn log1p<W: Part>(z: Complex<W>) -> Complex<W> {
    let Complex { re: x, im: y } = z;
    let (zero, half, one) = (W::num(0.0), W::num(0.5), W::num(1.0));
    let one_plus = two_sum(one, x);
    let largest = x.abs().max(y.abs());
    // |1 + z|² - 1
    let square = two_prod(x, x) + two_prod(y, y) + Dw::from(x + x);
    let size = Logarithm::of_one_plus(square).natural().hi * half;
    let size = W::select(square.hi.lt(W::num(-0.5)), log_abs_of_sum(one_plus, y).hi, size);
    // The squares may underflow, and the logarithm is its argument.
    let size = W::select(largest.lt(W::num(2f64.powi(-100))), (y * half).mul_add(y, x), size);
    let size = W::select(y.eq(zero) & x.gt(-one), real_log1p(x), size);
    let angle = atan2(y, one_plus.hi);
    // The rounding error of 1 + x corrects the angle.
    let denominator = one_plus.hi * one_plus.hi + y * y;
    let turned = angle - y * one_plus.lo / denominator;
    let ordinary = Complex::new(size, W::select(turned.is_finite() & !angle.eq(zero), turned, angle));
    let far = largest.gt(W::num(2f64.powi(100))) | (one_plus.hi.eq(zero) & y.eq(zero));
    let result = rare!(far, ordinary, log(Complex::new(one_plus.hi, y)));
    select(is_nan(z), num(f64::NAN, f64::NAN), result)
}

/// log |x + iy|, where `x` is a double word.
#[inline(always)]
fn log_abs_of_sum<W: Part>(x: Dw<W>, y: W) -> Dw<W> {
    let size = x.hi.abs().max(y.abs());
    let shift = W::select(size.lt(W::num(2f64.powi(-400))), W::num(600.0), W::num(0.0));
    let scale = W::exp2_int(shift);
    let (x, y) = (x.scale(scale), y * scale);
    half_log(x * x + two_prod(y, y), shift)
}

#[inline(always)]
pub(super) fn pow<W: Part>(a: Complex<W>, b: Complex<W>) -> Complex<W> {
    let (size, angle) = (log_abs(a), angle_of(a.im, a.re));
    let re = size * b.re + angle * -b.im;
    let im = size * b.im + angle * b.re;
    // The product in single words decides on overflow and on the sign of a zero.
    let single = mul_infinities(b, log(a));
    // An angle of 0 · infinity gives a zero the sign of its NaN, in which processors differ: it is x86's.
    let turn = W::select(single.im.is_nan(), W::num(-f64::NAN), single.im);
    let coarse = !(is_finite(a) & is_finite(b) & re.lo.is_finite() & im.lo.is_finite()) | is_zero(a);
    let im = Dw::select(im.hi.eq(W::num(0.0)), im.hi.copysign(turn).into(), im);
    exp_of(Dw::select(coarse, single.re.into(), re), Dw::select(coarse, turn.into(), im))
}

/// 1 + e^z for a real part of at most 0, as a sum of two terms that do not cancel.
#[inline(always)]
fn one_plus_exp<W: Part>(z: Complex<W>) -> Complex<W> {
    let (size, half) = (real_exp(z.re), real_cos(z.im * W::num(0.5)));
    Complex::new((W::num(2.0) * size * half).mul_add(half, -real_expm1(z.re)), size * real_sin(z.im))
}

/// Whether `z` is finite and left of the imaginary axis, e^z there, and the denominator of the logistic
/// function: 1 + e^z there, beside the numerator e^z, and 1 + e^-z elsewhere.
#[inline(always)]
fn logistic<W: Part>(z: Complex<W>) -> (W::Mask, Complex<W>, Complex<W>) {
    let finite = is_finite(z);
    let left = finite & z.re.lt(W::num(0.0));
    let e = exp(select(left, z, neg(z)));
    let at_ends = Complex::new(W::num(1.0) + e.re, e.im);
    (left, e, select(finite, one_plus_exp(select(left, z, neg(z))), at_ends))
}

#[inline(always)]
pub(super) fn sigmoid<W: Part>(z: Complex<W>) -> Complex<W> {
    let (left, e, denominator) = logistic(z);
    div(select(left, e, num(1.0, 0.0)), denominator)
}

#[inline(always)]
pub(super) fn silu<W: Part>(z: Complex<W>) -> Complex<W> {
    let (left, e, denominator) = logistic(z);
    div(select(left, mul(z, e), z), denominator)
}

#[inline(always)]
pub(super) fn logaddexp<W: Part>(a: Complex<W>, b: Complex<W>) -> Complex<W> {
    let infinity = W::num(f64::INFINITY);
    let swapped = a.re.lt(b.re);
    let (smaller, larger) = (select(swapped, a, b), select(swapped, b, a));
    let ordinary = add(log1p(exp(sub(smaller, larger))), larger);
    let result = rare!(smaller.re.eq(infinity), ordinary, log(add(exp(smaller), exp(larger))));
    let neither = smaller.re.eq(-infinity) & larger.re.eq(-infinity);
    let result = select(neither, smaller, result);
    select(is_nan(a) | is_nan(b), num(f64::NAN, f64::NAN), result)
}
