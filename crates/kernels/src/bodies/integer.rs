//! Owns the bodies on integers. Arithmetic wraps; division by zero has been ruled out before.

use zerostride_ops::{DType, Element, Op};

use super::division::Quotient;

/// What the bodies need of an integer type.
pub(crate) trait Integer: Element + Ord + Quotient {
    const ZERO: Self;
    const ONE: Self;
    const BITS: u32;
    fn wrapping_add(self, other: Self) -> Self;
    fn wrapping_sub(self, other: Self) -> Self;
    fn wrapping_mul(self, other: Self) -> Self;
    fn wrapping_neg(self) -> Self;
    /// The magnitude; the smallest integer stays as it is.
    fn wrapping_abs(self) -> Self;
    /// The remainder of truncated division, by the processor's instruction; MIN % -1 = 0.
    fn wrapping_rem(self, other: Self) -> Self;
    fn not(self) -> Self;
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn is_negative(self) -> bool;
    /// The count as a u32, `None` outside 0..BITS.
    fn shift_count(self) -> Option<u32>;
    /// `count < BITS`.
    fn shl(self, count: u32) -> Self;
    /// `count < BITS`; keeps the sign.
    fn shr(self, count: u32) -> Self;
}

macro_rules! integers {
    ($($type:ty: $signed:tt;)*) => {
        $(impl Integer for $type {
            const ZERO: Self = 0;
            const ONE: Self = 1;
            const BITS: u32 = <$type>::BITS;
            #[inline(always)]
            fn wrapping_add(self, other: Self) -> Self { <$type>::wrapping_add(self, other) }
            #[inline(always)]
            fn wrapping_sub(self, other: Self) -> Self { <$type>::wrapping_sub(self, other) }
            #[inline(always)]
            fn wrapping_mul(self, other: Self) -> Self { <$type>::wrapping_mul(self, other) }
            #[inline(always)]
            fn wrapping_neg(self) -> Self { <$type>::wrapping_neg(self) }
            #[inline(always)]
            fn wrapping_abs(self) -> Self { if self.is_negative() { <$type>::wrapping_neg(self) } else { self } }
            #[inline(always)]
            fn wrapping_rem(self, other: Self) -> Self { <$type>::wrapping_rem(self, other) }
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
            fn shift_count(self) -> Option<u32> {
                u32::try_from(self).ok().filter(|&count| count < <$type>::BITS)
            }
            #[inline(always)]
            fn shl(self, count: u32) -> Self { self << count }
            #[inline(always)]
            fn shr(self, count: u32) -> Self { self >> count }
        })*
    };
    (@negative signed $value:expr) => { $value < 0 };
    (@negative unsigned $value:expr) => { false };
}

integers! {
    u8: unsigned; u16: unsigned; u32: unsigned; u64: unsigned;
    i8: signed; i16: signed; i32: signed; i64: signed;
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
        pub(crate) fn $name<T: Integer>($($arg: T),+) -> $result { $body })*
    };
}

bodies! {
    abs(a) -> T => a.wrapping_abs();
    bitwise_not(a) -> T => a.not();
    ceil(a) -> T => a;
    conj_physical(a) -> T => a;
    floor(a) -> T => a;
    isfinite(_a) -> bool => true;
    isinf(_a) -> bool => false;
    isnan(_a) -> bool => false;
    isneginf(_a) -> bool => false;
    isposinf(_a) -> bool => false;
    logical_not(a) -> bool => a == T::ZERO;
    neg(a) -> T => a.wrapping_neg();
    positive(a) -> T => a;
    real(a) -> T => a;
    relu(a) -> T => a.max(T::ZERO);
    round(a) -> T => a;
    sgn(a) -> T => sign(a);
    signbit(a) -> bool => a.is_negative();
    square(a) -> T => a.wrapping_mul(a);
    trunc(a) -> T => a;

    add(a, b) -> T => a.wrapping_add(b);
    bitwise_and(a, b) -> T => a.and(b);
    bitwise_left_shift(a, b) -> T => b.shift_count().map_or(T::ZERO, |count| a.shl(count));
    bitwise_or(a, b) -> T => a.or(b);
    bitwise_xor(a, b) -> T => a.xor(b);
    eq(a, b) -> bool => a == b;
    fmax(a, b) -> T => a.max(b);
    fmin(a, b) -> T => a.min(b);
    ge(a, b) -> bool => a >= b;
    gt(a, b) -> bool => a > b;
    le(a, b) -> bool => a <= b;
    logical_and(a, b) -> bool => a != T::ZERO && b != T::ZERO;
    logical_or(a, b) -> bool => a != T::ZERO || b != T::ZERO;
    logical_xor(a, b) -> bool => (a != T::ZERO) != (b != T::ZERO);
    lt(a, b) -> bool => a < b;
    maximum(a, b) -> T => a.max(b);
    minimum(a, b) -> T => a.min(b);
    mul(a, b) -> T => a.wrapping_mul(b);
    ne(a, b) -> bool => a != b;
    sub(a, b) -> T => a.wrapping_sub(b);
}

/// A count outside the width shifts every bit out: the sign is left.
#[inline(always)]
pub(crate) fn bitwise_right_shift<T: Integer>(a: T, b: T) -> T {
    match b.shift_count() {
        Some(count) => a.shr(count),
        None if a.is_negative() => T::ZERO.not(),
        None => T::ZERO,
    }
}

#[inline(always)]
pub(crate) fn sign<T: Integer>(a: T) -> T {
    match a {
        a if a == T::ZERO => T::ZERO,
        a if a.is_negative() => T::ZERO.not(),
        _ => T::ONE,
    }
}

#[inline(always)]
pub(crate) fn div_trunc<T: Integer>(a: T, b: T) -> T {
    a.quotient(b)
}

/// The remainder of `div_trunc`: it has the sign of `a`.
#[inline(always)]
pub(crate) fn fmod<T: Integer>(a: T, b: T) -> T {
    divided(a, b).1
}

/// The truncated quotient and its remainder.
#[inline(always)]
fn divided<T: Integer>(a: T, b: T) -> (T, T) {
    let quotient = a.quotient(b);
    (quotient, a.wrapping_sub(quotient.wrapping_mul(b)))
}

/// Whether a remainder is not 0 and its sign is not the divisor's.
#[inline(always)]
fn against<T: Integer>(remainder: T, divisor: T) -> bool {
    remainder != T::ZERO && remainder.is_negative() != divisor.is_negative()
}

/// Rounded down: the truncated quotient, less 1 where the remainder's sign is not the divisor's.
#[inline(always)]
pub(crate) fn floor_divide<T: Integer>(a: T, b: T) -> T {
    let (quotient, remainder) = divided(a, b);
    if against(remainder, b) { quotient.wrapping_sub(T::ONE) } else { quotient }
}

/// The remainder of `floor_divide`: it has the sign of the divisor.
#[inline(always)]
pub(crate) fn remainder<T: Integer>(a: T, b: T) -> T {
    let remainder = fmod(a, b);
    if against(remainder, b) { remainder.wrapping_add(b) } else { remainder }
}

/// Euclid's algorithm on magnitudes. The smallest integer has no magnitude, so its result may be negative.
#[inline(always)]
pub(crate) fn gcd<T: Integer>(a: T, b: T) -> T {
    let (mut a, mut b) = (a.wrapping_abs(), b.wrapping_abs());
    while a != T::ZERO {
        (a, b) = (b.wrapping_rem(a), a);
    }
    b
}

/// Divides first, so that only a result too large wraps. Its sign is dropped before the product wraps if C
/// would multiply in a wider type, and after it otherwise.
#[inline(always)]
pub(crate) fn lcm<T: Integer>(a: T, b: T) -> T {
    let divisor = gcd(a, b);
    if divisor == T::ZERO {
        return T::ZERO;
    }
    let factor = a.quotient(divisor);
    if T::BITS < 32 {
        factor.wrapping_abs().wrapping_mul(b.wrapping_abs())
    } else {
        factor.wrapping_mul(b).wrapping_abs()
    }
}

#[inline(always)]
pub(crate) fn heaviside<T: Integer>(a: T, values: T) -> T {
    match a {
        a if a == T::ZERO => values,
        a if a.is_negative() => T::ZERO,
        _ => T::ONE,
    }
}

/// Squares and multiplies, wrapping; a negative exponent gives 0 except for the bases 1 and -1.
#[inline(always)]
pub(crate) fn pow<T: Integer>(base: T, exponent: T) -> T {
    if exponent.is_negative() {
        let minus_one = T::ONE.wrapping_neg();
        let odd = exponent.and(T::ONE) == T::ONE;
        return match base {
            base if base == T::ONE || (base == minus_one && !odd) => T::ONE,
            base if base == minus_one => minus_one,
            _ => T::ZERO,
        };
    }
    let (mut base, mut exponent, mut power) = (base, exponent, T::ONE);
    while exponent != T::ZERO {
        if exponent.and(T::ONE) == T::ONE {
            power = power.wrapping_mul(base);
        }
        base = base.wrapping_mul(base);
        exponent = exponent.shr(1);
    }
    power
}

#[inline(always)]
pub(crate) fn nan_to_num<T: Integer>([a, _nan, _posinf, _neginf]: [T; 4]) -> T {
    a
}

#[inline(always)]
pub(crate) fn where_<T: Integer>([condition, a, b]: [T; 3]) -> T {
    if condition != T::ZERO { a } else { b }
}
