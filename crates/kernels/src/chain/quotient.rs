//! Owns the division of a run by a broadcast scalar without dividing each register. It does not know when
//! that pays (`table.rs`).
//!
//! With `y` the rounded reciprocal of `b` and `e` its error, `q = a * y + a * e` is one of the two floats
//! around `a / b`. Then `a - b * q` is exact, and `q + (a - b * q) * y` is `a / b` correctly rounded:
//! Markstein's theorem. It holds if nothing on the way is subnormal or overflows; other runs are divided.
//!
//! Source: Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor", 1990.

use std::marker::PhantomData;

use super::code::{
    HALF_REGISTERS, PREPARED_REGISTERS, Prepared, Primitive, RegisterBytes, Run, Set, Word, each,
};
use super::float::{lane, register};
use crate::lane::{AnyMask, Bits, Element, Lane};

/// The running value divided by a broadcast scalar.
pub(super) struct SplatQuotient<V>(PhantomData<V>);

/// A divisor, its reciprocal and the error of that, as they lie in a splat.
#[derive(Clone, Copy)]
#[repr(C)]
struct Divisor<V>(V, V, V);

impl<S: Set, V: Lane<Mask: AnyMask>> Prepared<S> for SplatQuotient<V> {
    #[inline(always)]
    unsafe fn prepare(splat: *mut RegisterBytes) {
        const { assert!(size_of::<Divisor<V>>() <= (1 + PREPARED_REGISTERS) * size_of::<RegisterBytes>()) };
        // SAFETY: there is a register to read, the caller says, and room for three lanes, which is aligned to
        // them.
        unsafe {
            let divisor = splat.cast::<V>().read();
            let reciprocal = V::num(1.0) / divisor;
            let rest = (-reciprocal).mul_add(divisor, V::num(1.0)) * reciprocal;
            splat.cast::<Divisor<V>>().write(Divisor(divisor, reciprocal, rest));
        }
    }
}

impl<S: Set, V: Lane<Mask: AnyMask>> Primitive<S> for SplatQuotient<V> {
    const WORDS: usize = 1;

    #[inline(always)]
    unsafe fn apply(value: Run<S>, words: *const Word, _: usize) -> Run<S> {
        // SAFETY: the caller says that the operand is a splat with a prepared divisor, or two, one for each
        // half.
        let divisors = [0, HALF_REGISTERS]
            .map(|first| unsafe { (*words).register(0, 0, first).cast::<Divisor<V>>().read() });
        let divisor = |i: usize| &divisors[i / HALF_REGISTERS];
        // Quotients within half of the exponents around 1, and a divisor within a quarter, keep all products
        // normal.
        let bias = V::Elem::BIAS;
        let power = |biased: u64| V::Bits::splat(biased << V::Elem::SIGNIFICAND);
        let (least, most) = (power(bias - bias.div_ceil(2)), V::from_bits(power(bias + bias.div_ceil(4))));
        let dividend = |i| lane::<S, V>(&value, i);
        let quotients = each::<S>(|i| {
            let Divisor(_, reciprocal, rest) = *divisor(i);
            register::<S, V>(dividend(i).mul_add(reciprocal, dividend(i) * rest))
        });
        let quotient = |i| lane::<S, V>(&quotients, i);
        let beyond = |i| quotient(i).to_bits() - least;
        let far =
            (beyond(0) | beyond(1) | beyond(2) | beyond(3)) | (beyond(4) | beyond(5) | beyond(6) | beyond(7));
        let fits = |&Divisor(divisor, reciprocal, _): &Divisor<V>| {
            divisor.abs().le(most) & reciprocal.abs().le(most)
        };
        // The bit below the sign is set where a magnitude is below the least, or at least 2^(BIAS + 1) times
        // as large.
        let is_near =
            (far & V::num(2.0).to_bits()).eq(V::Bits::splat(0)) & fits(&divisors[0]) & fits(&divisors[1]);
        if (!is_near).any() {
            return each::<S>(|i| register::<S, V>(dividend(i) / divisor(i).0));
        }
        each::<S>(|i| {
            let Divisor(divisor, reciprocal, _) = *divisor(i);
            let left = (-quotient(i)).mul_add(divisor, dividend(i));
            register::<S, V>(left.mul_add(reciprocal, quotient(i)))
        })
    }
}
