//! Owns the quotient of floats by one number, without a division for each register. It does not know when it
//! is asked for.
//!
//! With `y` the rounded reciprocal of `b` and `e` its error, `q = a * y + a * e` is one of the two floats
//! around `a / b`. Then `a - b * q` is exact, and `q + (a - b * q) * y` is `a / b` correctly rounded:
//! Markstein's theorem. It holds if nothing on the way is subnormal or overflows; other elements are divided.
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
