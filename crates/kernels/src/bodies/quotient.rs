//! Owns the quotient of floats by one number, without a division for each register. It does not know when it
//! is asked for.
//!
//! With `y` the rounded reciprocal of `b` and `e` its error, `q = a * y + a * e` is one of the two floats
//! around `a / b`. Then `a - b * q` is exact, and `q + (a - b * q) * y` is `a / b` correctly rounded:
//! Markstein's theorem. It holds if nothing on the way is subnormal or overflows; other elements are divided.
//!
//! Where `a` is an integer of 8 bits, `q` can be compared with all quotients beforehand.
//!
//! Source: Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor", 1990.

use crate::lane::{Bits, Element, Lane, rare};

/// `a / b`, where what depends on `b` alone is computed once.
#[inline(always)]
pub(crate) fn quotient_by_one<V: Lane>(a: V, b: V) -> V {
    let reciprocal = V::num(1.0) / b;
    let rest = (-reciprocal).mul_add(b, V::num(1.0)) * reciprocal;
    // Quotients within half of the exponents around 1, and a divisor within a quarter, keep all products
    // normal.
    let bias = V::Elem::BIAS;
    let power = |biased: u64| V::Bits::splat(biased << V::Elem::SIGNIFICAND);
    let (least, most) = (power(bias - bias.div_ceil(2)), V::from_bits(power(bias + bias.div_ceil(4))));
    let fits = b.abs().le(most) & reciprocal.abs().le(most);
    let quotient = a.mul_add(reciprocal, a * rest);
    // The bit below the sign is set where a magnitude is below the least, or at least 2^(BIAS + 1) times as
    // large.
    let beyond = (quotient.to_bits() - least) & V::num(2.0).to_bits();
    let (is_zero, is_near) = (a.eq(V::num(0.0)), beyond.eq(V::Bits::splat(0)));
    let left = (-quotient).mul_add(b, a);
    let corrected = V::select(is_zero, a * reciprocal, left.mul_add(reciprocal, quotient));
    rare!(!((is_near | is_zero) & fits), corrected, a / b)
}

/// The rounded reciprocal of a positive `b` and its error, if `a * reciprocal + a * error`, where the last
/// product is rounded, is `a / b` for all integers `a` of 8 bits with and without a sign.
pub fn reciprocal_for_bytes(b: f32) -> Option<[f32; 2]> {
    let reciprocal = 1.0 / b;
    let error = (-reciprocal).mul_add(b, 1.0) * reciprocal;
    // Nothing on the way is subnormal or overflows: even integers have the significands of odd ones.
    let is_ordinary = (2f32.powi(-64)..2f32.powi(64)).contains(&b);
    let is_exact = |a: u8| {
        let a = f32::from(a);
        a.mul_add(reciprocal, a * error) == a / b
    };
    (is_ordinary && (1..=u8::MAX).step_by(2).all(is_exact)).then_some([reciprocal, error])
}
