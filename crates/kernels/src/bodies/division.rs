//! Owns the quotients of integers by float division. No instruction set here divides integers in registers,
//! and most processors take long to divide 64-bit ones. So a float is multiplied by the divisor's inverse,
//! which a loop by one number has once. A quotient by zero is unspecified.

/// An integer type that can be divided.
pub(crate) trait Quotient {
    /// Truncated; MIN / -1 = MIN.
    fn quotient(self, divisor: Self) -> Self;
    /// Rounded down; MIN / -1 = MIN.
    fn floored_quotient(self, divisor: Self) -> Self;
}

/// 1.5 · 2^23 and 1.5 · 2^52: adding one of them rounds to an integer, which is then in the low bits. A
/// conversion would test for numbers out of range.
const ROUNDER_F32: f32 = 12_582_912.0;
const ROUNDER_F64: f64 = 6_755_399_441_055_744.0;

/// Quotients of integers that floats of twice as many bits are. That of `a` and a half lies half a divisor's
/// inverse from every integer at least, which is more than the error of the float: it is between the
/// quotient's integer and the next one.
macro_rules! quotients {
    ($($integer:ty: $float:ty, $rounder:ident;)*) => {
        $(impl Quotient for $integer {
            #[inline(always)]
            fn quotient(self, divisor: Self) -> Self {
                let half = |sign: $float| <$float>::copysign(0.5, sign);
                let dividend = <$float>::from(self);
                let quotient = (dividend + half(dividend)) * (1.0 / <$float>::from(divisor));
                (quotient - half(quotient) + $rounder).to_bits() as $integer
            }

            #[inline(always)]
            fn floored_quotient(self, divisor: Self) -> Self {
                let divisor = <$float>::from(divisor);
                let quotient = (<$float>::from(self) + <$float>::copysign(0.5, divisor)) * (1.0 / divisor);
                (quotient - 0.5 + $rounder).to_bits() as $integer
            }
        })*
    };
}

quotients! {
    u8: f32, ROUNDER_F32;
    i8: f32, ROUNDER_F32;
    u16: f32, ROUNDER_F32;
    i16: f32, ROUNDER_F32;
    u32: f64, ROUNDER_F64;
    i32: f64, ROUNDER_F64;
}

/// The nearest integer of a number up to 2^51.
#[inline(always)]
fn nearest(x: f64) -> i64 {
    (x + ROUNDER_F64).to_bits().wrapping_sub(ROUNDER_F64.to_bits()) as i64
}

impl Quotient for i64 {
    #[inline(always)]
    fn quotient(self, divisor: i64) -> i64 {
        let inverse = 1.0 / divisor as f64;
        let high = nearest(self as f64 * inverse * 2f64.powi(-32)) << 32;
        // A little more than 2^31 divisors at most, so that the second quotient is the nearest integer, or
        // next to it at a half.
        let rest = self.wrapping_sub(high.wrapping_mul(divisor));
        let low = nearest(rest as f64 * inverse);
        let rest = rest.wrapping_sub(low.wrapping_mul(divisor));
        let away = if (self < 0) == (divisor < 0) { 1 } else { -1 };
        let beyond = rest != 0 && (rest < 0) != (self < 0);
        high.wrapping_add(low).wrapping_sub(if beyond { away } else { 0 })
    }

    #[inline(always)]
    fn floored_quotient(self, divisor: i64) -> i64 {
        let quotient = self.quotient(divisor);
        let rest = self.wrapping_sub(quotient.wrapping_mul(divisor));
        quotient.wrapping_sub(i64::from(rest != 0 && (rest < 0) != (divisor < 0)))
    }
}

impl Quotient for u64 {
    #[inline(always)]
    fn quotient(self, divisor: u64) -> u64 {
        // Half of the number fits into an i64.
        let even = (((self >> 1) as i64).quotient(divisor as i64) as u64) << 1;
        let rest = self.wrapping_sub(even.wrapping_mul(divisor));
        let quotient = even.wrapping_add(u64::from(rest >= divisor));
        if divisor >> 63 == 1 { u64::from(self >= divisor) } else { quotient }
    }

    #[inline(always)]
    fn floored_quotient(self, divisor: u64) -> u64 {
        self.quotient(divisor)
    }
}
