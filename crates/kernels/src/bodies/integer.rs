//! Owns the bodies on integers. Arithmetic wraps; division by zero has been ruled out before.

use zerostride_ops::{DType, Element, Op};

use super::division::Quotient;
use crate::lane::{Mask, Select, rare};

/// Integers that bodies compute on: one, or one of a code that is recorded.
pub(crate) trait Whole: Copy + Select<<Self as Whole>::Mask> {
    type Mask: Mask;
    const BITS: u32;
    /// The low bits of `x`.
    fn splat(x: i64) -> Self;
    fn eq(self, other: Self) -> Self::Mask;
    fn lt(self, other: Self) -> Self::Mask;
    fn wrapping_add(self, other: Self) -> Self;
    fn wrapping_sub(self, other: Self) -> Self;
    fn wrapping_mul(self, other: Self) -> Self;
    fn not(self) -> Self;
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn is_negative(self) -> Self::Mask;
    /// Whether it is from 0 to BITS - 1.
    fn is_shift_count(self) -> Self::Mask;
    /// Unspecified unless `count` is a shift count.
    fn shl(self, count: Self) -> Self;
    /// The same; keeps the sign.
    fn shr(self, count: Self) -> Self;
    /// Truncated; MIN / -1 = MIN. Unspecified where the divisor is 0.
    fn quotient(self, divisor: Self) -> Self;
    /// The same, rounded down.
    fn floored_quotient(self, divisor: Self) -> Self;
    /// Euclid's algorithm on magnitudes. The smallest integer has none, so its result may be negative.
    fn gcd(self, other: Self) -> Self;
    /// Wraps; the exponent is read without a sign.
    fn power(self, exponent: Self) -> Self;
}

/// An integer type.
pub(crate) trait Integer: Whole<Mask = bool> + Element + Ord {
    const ZERO: Self;
}

macro_rules! integers {
    ($($type:ty, $unsigned:ty: $signed:tt;)*) => {
        $(impl Select<bool> for $type {
            #[inline(always)]
            fn select(mask: bool, yes: Self, no: Self) -> Self { if mask { yes } else { no } }
        }

        impl Whole for $type {
            type Mask = bool;
            const BITS: u32 = <$type>::BITS;
            #[inline(always)]
            fn splat(x: i64) -> Self { x as $type }
            #[inline(always)]
            fn eq(self, other: Self) -> bool { self == other }
            #[inline(always)]
            fn lt(self, other: Self) -> bool { self < other }
            #[inline(always)]
            fn wrapping_add(self, other: Self) -> Self { <$type>::wrapping_add(self, other) }
            #[inline(always)]
            fn wrapping_sub(self, other: Self) -> Self { <$type>::wrapping_sub(self, other) }
            #[inline(always)]
            fn wrapping_mul(self, other: Self) -> Self { <$type>::wrapping_mul(self, other) }
            #[inline(always)]
            fn not(self) -> Self { !self }
            #[inline(always)]
            fn and(self, other: Self) -> Self { self & other }
            #[inline(always)]
            fn or(self, other: Self) -> Self { self | other }
            #[inline(always)]
            fn xor(self, other: Self) -> Self { self ^ other }
            #[inline(always)]
            fn is_negative(self) -> bool { integers!(@negative $signed self) }
            #[inline(always)]
            fn is_shift_count(self) -> bool { (self as $unsigned) < <$type>::BITS as $unsigned }
            #[inline(always)]
            fn shl(self, count: Self) -> Self { self.wrapping_shl(count as u32) }
            #[inline(always)]
            fn shr(self, count: Self) -> Self { self.wrapping_shr(count as u32) }
            #[inline(always)]
            fn quotient(self, divisor: Self) -> Self { Quotient::quotient(self, divisor) }
            #[inline(always)]
            fn floored_quotient(self, divisor: Self) -> Self { Quotient::floored_quotient(self, divisor) }
            #[inline(always)]
            fn gcd(self, other: Self) -> Self {
                let (mut a, mut b) = (abs(self), abs(other));
                while a != 0 {
                    // By the processor's instruction; MIN % -1 = 0.
                    (a, b) = (b.wrapping_rem(a), a);
                }
                b
            }
            #[inline(always)]
            fn power(self, exponent: Self) -> Self {
                let (mut base, mut exponent, mut power) = (self, exponent as $unsigned, 1);
                while exponent != 0 {
                    if exponent & 1 == 1 {
                        power = <$type>::wrapping_mul(power, base);
                    }
                    base = <$type>::wrapping_mul(base, base);
                    exponent >>= 1;
                }
                power
            }
        }

        impl Integer for $type {
            const ZERO: Self = 0;
        })*
    };
    (@negative signed $value:expr) => { $value < 0 };
    (@negative unsigned $value:expr) => { false };
}

integers! {
    u8, u8: unsigned; u16, u16: unsigned; u32, u32: unsigned; u64, u64: unsigned;
    i8, u8: signed; i16, u16: signed; i32, u32: signed; i64, u64: signed;
}

/// Whether the operation fails where its second operand is zero.
pub(crate) const fn divides(op: Op) -> bool {
    matches!(op, Op::FloorDivide | Op::DivTrunc | Op::Remainder | Op::Fmod)
}

/// Whether an operation is the same on signed and unsigned integers, so that one body serves both.
const fn ignores_sign(op: Op) -> bool {
    use Op::*;
    matches!(
        op,
        Add | BitwiseAnd
            | BitwiseLeftShift
            | BitwiseNot
            | BitwiseOr
            | BitwiseXor
            | Ceil
            | ConjPhysical
            | Eq
            | Floor
            | Isfinite
            | Isinf
            | Isnan
            | Isneginf
            | Isposinf
            | LogicalAnd
            | LogicalNot
            | LogicalOr
            | LogicalXor
            | Mul
            | NanToNum
            | Ne
            | Neg
            | Positive
            | Real
            | Round
            | Square
            | Sub
            | Trunc
            | Where
    )
}

/// Whether the body on a signed type is that of the unsigned type.
pub(crate) const fn is_served<T: Integer>(op: Op) -> bool {
    T::DTYPE.is_signed_int() && ignores_sign(op)
}

/// The dtype whose body serves an operation on a dtype.
pub(crate) const fn serving(op: Op, dtype: DType) -> DType {
    match dtype {
        DType::I8 if ignores_sign(op) => DType::U8,
        DType::I16 if ignores_sign(op) => DType::U16,
        DType::I32 if ignores_sign(op) => DType::U32,
        DType::I64 if ignores_sign(op) => DType::U64,
        dtype => dtype,
    }
}

macro_rules! bodies {
    ($($name:ident($($arg:ident),+) -> $result:ty => $body:expr;)*) => {
        $(#[inline(always)]
        pub(crate) fn $name<T: Whole>($($arg: T),+) -> $result { $body })*
    };
}

bodies! {
    abs(a) -> T => T::select(a.is_negative(), neg(a), a);
    bitwise_not(a) -> T => a.not();
    ceil(a) -> T => a;
    conj_physical(a) -> T => a;
    floor(a) -> T => a;
    isfinite(a) -> T::Mask => a.eq(a);
    isinf(a) -> T::Mask => !a.eq(a);
    isnan(a) -> T::Mask => !a.eq(a);
    isneginf(a) -> T::Mask => !a.eq(a);
    isposinf(a) -> T::Mask => !a.eq(a);
    logical_not(a) -> T::Mask => a.eq(zero());
    neg(a) -> T => zero::<T>().wrapping_sub(a);
    positive(a) -> T => a;
    real(a) -> T => a;
    relu(a) -> T => T::select(a.is_negative(), zero(), a);
    round(a) -> T => a;
    sgn(a) -> T => sign(a);
    // -1, 0 or 1.
    sign(a) -> T => T::select(a.eq(zero()), a, T::select(a.is_negative(), T::splat(-1), T::splat(1)));
    signbit(a) -> T::Mask => a.is_negative();
    square(a) -> T => a.wrapping_mul(a);
    trunc(a) -> T => a;

    add(a, b) -> T => a.wrapping_add(b);
    bitwise_and(a, b) -> T => a.and(b);
    bitwise_left_shift(a, b) -> T => T::select(b.is_shift_count(), a.shl(b), zero());
    bitwise_or(a, b) -> T => a.or(b);
    // A count outside the width shifts every bit out: the sign is left.
    bitwise_right_shift(a, b) -> T => {
        let sign = T::select(a.is_negative(), T::splat(-1), zero());
        T::select(b.is_shift_count(), a.shr(b), sign)
    };
    bitwise_xor(a, b) -> T => a.xor(b);
    div_trunc(a, b) -> T => a.quotient(b);
    eq(a, b) -> T::Mask => a.eq(b);
    floor_divide(a, b) -> T => a.floored_quotient(b);
    fmax(a, b) -> T => maximum(a, b);
    fmin(a, b) -> T => minimum(a, b);
    // The remainder of `div_trunc`: it has the sign of `a`.
    fmod(a, b) -> T => a.wrapping_sub(a.quotient(b).wrapping_mul(b));
    gcd(a, b) -> T => a.gcd(b);
    ge(a, b) -> T::Mask => !a.lt(b);
    gt(a, b) -> T::Mask => b.lt(a);
    heaviside(a, values) -> T => {
        T::select(a.eq(zero()), values, T::select(a.is_negative(), zero(), T::splat(1)))
    };
    // Divides first, so that only a result too large wraps. Its sign is dropped before the product wraps if C
    // would multiply in a wider type, and after it otherwise.
    lcm(a, b) -> T => {
        let divisor = a.gcd(b);
        let factor = a.quotient(divisor);
        let product =
            if T::BITS < 32 { abs(factor).wrapping_mul(abs(b)) } else { abs(factor.wrapping_mul(b)) };
        T::select(divisor.eq(zero()), zero(), product)
    };
    le(a, b) -> T::Mask => !b.lt(a);
    logical_and(a, b) -> T::Mask => !(a.eq(zero()) | b.eq(zero()));
    logical_or(a, b) -> T::Mask => !(a.eq(zero()) & b.eq(zero()));
    logical_xor(a, b) -> T::Mask => a.eq(zero()) ^ b.eq(zero());
    lt(a, b) -> T::Mask => a.lt(b);
    maximum(a, b) -> T => T::select(b.lt(a), a, b);
    minimum(a, b) -> T => T::select(b.lt(a), b, a);
    mul(a, b) -> T => a.wrapping_mul(b);
    ne(a, b) -> T::Mask => !a.eq(b);
    // A negative exponent gives 0 except for the bases 1 and -1.
    pow(base, exponent) -> T => rare!(exponent.is_negative(), base.power(exponent), {
        let (one, minus_one) = (T::splat(1), T::splat(-1));
        let is_even = exponent.and(one).eq(zero());
        let is_one = base.eq(one) | (base.eq(minus_one) & is_even);
        T::select(is_one, one, T::select(base.eq(minus_one), minus_one, zero()))
    });
    // The remainder of `floor_divide`: it has the sign of the divisor.
    remainder(a, b) -> T => a.wrapping_sub(a.floored_quotient(b).wrapping_mul(b));
    sub(a, b) -> T => a.wrapping_sub(b);
}

#[inline(always)]
fn zero<T: Whole>() -> T {
    T::splat(0)
}

#[inline(always)]
pub(crate) fn nan_to_num<T: Whole>([a, _nan, _posinf, _neginf]: [T; 4]) -> T {
    a
}

#[inline(always)]
pub(crate) fn where_<T: Whole>([condition, a, b]: [T; 3]) -> T {
    T::select(condition.eq(zero()), b, a)
}
