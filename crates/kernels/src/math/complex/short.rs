//! Owns products and quotients of complex numbers whose parts are `f32`, computed in `f64` and rounded once. There, products
//! of two parts are exact, and those of four neither overflow nor underflow.

use num_complex::Complex;

use super::super::Real;
use super::{arithmetic, is_finite, is_zero, select};
use crate::lane::{Lane, Mask};

#[inline(always)]
fn widen<V: Lane>(z: Complex<V>) -> Complex<V::Wide> {
    Complex::new(z.re.widen(), z.im.widen())
}

#[inline(always)]
fn narrow<V: Lane>(z: Complex<V::Wide>) -> Complex<V> {
    Complex::new(V::narrow(z.re), V::narrow(z.im))
}

/// a · b.
#[inline(always)]
pub(crate) fn mul<V: Real<Elem = f32>>(a: Complex<V>, b: Complex<V>) -> Complex<V> {
    narrow(arithmetic::mul(widen(a), widen(b)))
}

/// a / b.
#[inline(always)]
pub(crate) fn div<V: Real<Elem = f32>>(a: Complex<V>, b: Complex<V>) -> Complex<V> {
    let (a, b) = (widen(a), widen(b));
    // Each is rounded once, whatever cancels.
    let re = a.re.mul_add(b.re, a.im * b.im);
    let im = a.im.mul_add(b.re, -(a.re * b.im));
    let inverse = V::Wide::num(1.0) / b.re.mul_add(b.re, b.im * b.im);
    let quotient = Complex::new(re * inverse, im * inverse);
    let zero = V::Wide::num(0.0);
    let ordinary = is_finite(a) & is_finite(b) & !is_zero(a) & !is_zero(b);
    let special = !ordinary | re.eq(zero) | im.eq(zero);
    if !special.any() {
        return narrow(quotient);
    }
    // The sums of products lose the sign of a zero.
    let ends = arithmetic::div_at_the_ends(a, b);
    let signed = |part: V::Wide, end: V::Wide| V::Wide::select(part.eq(zero), part.copysign(end), part);
    let signed = Complex::new(signed(quotient.re, ends.re), signed(quotient.im, ends.im));
    narrow(select(ordinary, signed, ends))
}

#[cfg(test)]
mod tests {
    use num_complex::Complex32;

    use super::*;

    const SPECIAL: [f32; 12] = [
        0.0,
        -0.0,
        1.0,
        -1.5,
        3.0e38,
        -2.0e-45,
        1.2e-38,
        7.1e19,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        0.1,
    ];

    /// Pairs of special numbers, and of products that nearly cancel.
    fn pairs() -> impl Iterator<Item = [Complex32; 2]> {
        let count = SPECIAL.len();
        let special = move |i: usize, place: u32| SPECIAL[i / count.pow(place) % count];
        let near =
            |i: usize, place: usize| 1.0 + ((i * (place + 7) * 48_271) % 65_537) as f32 * 2f32.powi(-23);
        let all = (0..count.pow(4)).map(move |i| [0, 1, 2, 3].map(|place| special(i, place)));
        let cancelling = (0..20_000).map(move |i| [0, 1, 2, 3].map(|place| near(i, place)));
        all.chain(cancelling).map(|[a, b, c, d]| [Complex32::new(a, b), Complex32::new(c, d)])
    }

    /// NaN for NaN, signs of zeros included, and at most a neighbour.
    fn agree(got: f32, want: f32) -> bool {
        let same = got == want && got.is_sign_negative() == want.is_sign_negative();
        (got.is_nan() && want.is_nan()) || same || got.next_up() == want || got.next_down() == want
    }

    #[test]
    fn quotients_are_those_of_f64() {
        for [a, b] in pairs() {
            let (got, want) = (div(a, b), narrow::<f32>(arithmetic::div(widen(a), widen(b))));
            assert!(agree(got.re, want.re) && agree(got.im, want.im), "{a} / {b} is {want}, not {got}");
        }
    }
}
