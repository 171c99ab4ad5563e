//! Owns the division of a run by one number, without a division for each register: these are the slowest arithmetic there
//! is. It does not know when that pays (`table.rs`).
//!
//! With `y` the reciprocal, rounded, and `e` the rest of it, `q = a * y + a * e` is one of the two numbers around
//! `a / b`. Then `a - b * q` is exact, and `q + (a - b * q) * y` is `a / b` rounded: Markstein's theorem. It asks that
//! nothing is subnormal or overflows on the way, so that runs with other numbers in them are divided.
//!
//! Source: Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor", 1990.

use std::marker::PhantomData;

use super::code::{Body, HALF, PREPARED, Prepared, Register, Run, Set, Word, each};
use super::float::{lane, register};
use crate::lane::{Bits, Element, Lane, Mask};

/// The running value divided by an operand that is one number for all of a row.
pub(super) struct Quotient<V>(PhantomData<V>);

/// A divisor, its reciprocal and the rest of it, as they lie in a splat.
#[derive(Clone, Copy)]
#[repr(C)]
struct Divisor<V>(V, V, V);

impl<S: Set, V: Lane> Prepared<S> for Quotient<V> {
    #[inline(always)]
    unsafe fn prepare(splat: *mut Register) {
        const { assert!(size_of::<Divisor<V>>() <= (1 + PREPARED) * size_of::<Register>()) };
        // SAFETY: there is a register to read, the caller says, and room for three lanes, which is aligned to them.
        unsafe {
            let divisor = splat.cast::<V>().read();
            let reciprocal = V::num(1.0) / divisor;
            let rest = (-reciprocal).mul_add(divisor, V::num(1.0)) * reciprocal;
            splat.cast::<Divisor<V>>().write(Divisor(divisor, reciprocal, rest));
        }
    }
}

impl<S: Set, V: Lane> Body<S> for Quotient<V> {
    const WORDS: usize = 1;

    #[inline(always)]
    unsafe fn apply(value: Run<S>, words: *const Word, _: usize) -> Run<S> {
        // SAFETY: the operand is a splat from which a divisor has been prepared, or one for each half, the caller says.
        let divisors =
            [0, HALF].map(|first| unsafe { (*words).register(0, 0, first).cast::<Divisor<V>>().read() });
        let divisor = |i: usize| &divisors[i / HALF];
        // Half of all exponents are near 1 for quotients, a quarter for the divisor: what their products lose is a number.
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
        // The bit below the sign: it is set where a magnitude is smaller than the least one, or 2^(BIAS + 1) times as large.
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
