//! Owns quotients of complex numbers whose parts are `f32`, computed in `f64` and rounded once. In `f64`
//! products of two parts are exact, and products of four neither overflow nor underflow.

use num_complex::Complex;

use super::super::Real;
use super::{arithmetic, is_finite, is_zero, select};
use crate::lane::{Arithmetic, Lane, rare};

#[inline(always)]
fn widen<V: Lane>(z: Complex<V>) -> Complex<V::Wide> {
    Complex::new(z.re.widen(), z.im.widen())
}

#[inline(always)]
fn narrow<V: Lane>(z: Complex<V::Wide>) -> Complex<V> {
    Complex::new(V::narrow(z.re), V::narrow(z.im))
}

/// a / b.
#[inline(always)]
pub(crate) fn div<V: Real<Elem = f32>>(a: Complex<V>, b: Complex<V>) -> Complex<V> {
    let (a, b) = (widen(a), widen(b));
    // One fused rounding each, so cancellation does no harm.
    let re = a.re.mul_add(b.re, a.im * b.im);
    let im = a.im.mul_add(b.re, -(a.re * b.im));
    let inverse = V::Wide::num(1.0) / b.re.mul_add(b.re, b.im * b.im);
    let quotient = Complex::new(re * inverse, im * inverse);
    let zero = V::Wide::num(0.0);
    let ordinary = is_finite(a) & is_finite(b) & !is_zero(a) & !is_zero(b);
    let special = !ordinary | re.eq(zero) | im.eq(zero);
    narrow(rare!(special, quotient, {
        // Sums of products lose the sign of a zero.
        let ends = arithmetic::div_at_the_ends(a, b);
        let signed = |part: V::Wide, end: V::Wide| V::Wide::select(part.eq(zero), part.copysign(end), part);
        let signed = Complex::new(signed(quotient.re, ends.re), signed(quotient.im, ends.im));
        select(ordinary, signed, ends)
    }))
}
