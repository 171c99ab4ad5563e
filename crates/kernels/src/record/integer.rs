//! Owns integers that are recorded, and the recording of operations on integers and bools. It does not know
//! what an operation computes.

use std::marker::PhantomData;
use std::ops::Range;

use zerostride_code::{Binary, Compare, Type, Unary, Value};
use zerostride_ops::DType;

use super::cast;
use super::element::{Recorded, stored_type};
use crate::bodies::dispatch::{Body, VisitBoolean, VisitInteger};
use crate::bodies::integer::{Integer, Whole};
use crate::lane::record::{Kind, Symbol, Truth, Word, append};
use crate::lane::{Arithmetic, AsBits, Lane, Select, rare};

/// An integer of a code, read as one of type `T`.
#[derive(Clone, Copy)]
pub(super) struct Number<T>(Value, PhantomData<T>);

impl<T: Integer> Number<T> {
    const TYPE: Type = stored_type(T::DTYPE);
    const IS_SIGNED: bool = T::DTYPE.is_signed_int();

    fn new(value: Value) -> Self {
        Number(value, PhantomData)
    }

    fn binary(self, binary: Binary, other: Self) -> Self {
        Number::new(append(|code| code.binary(binary, self.0, other.0)))
    }

    fn compare(self, compare: Compare, other: Self) -> Truth {
        Truth(append(|code| code.compare(compare, self.0, other.0)))
    }

    /// The nearest float.
    fn to_float<F: Kind>(self, dtype: DType) -> Symbol<F> {
        Symbol::new(append(|code| cast::real(code, T::DTYPE, dtype, self.0)))
    }

    /// The sign bit, whatever the type.
    fn has_high_bit(self) -> Truth {
        self.compare(Compare::Lt, Self::splat(0))
    }

    /// A quotient that is at most one too large, seen from 0, corrected by what it leaves of the dividend.
    fn corrected(self, divisor: Self, nearest: Self) -> Self {
        let rest = self.wrapping_sub(nearest.wrapping_mul(divisor));
        let differ = self.is_negative() ^ divisor.is_negative();
        let away = Select::select(differ, Self::splat(-1), Self::splat(1));
        let beyond = !rest.eq(Self::splat(0)) & (rest.has_high_bit() ^ self.is_negative());
        nearest.wrapping_sub(Select::select(beyond, away, Self::splat(0)))
    }

    /// The quotient of integers that are floats of twice as many bits, as `bodies/division.rs` has it.
    fn short_quotient<F: Kind>(self, divisor: Self, dtype: DType) -> Self
    where
        Symbol<F>: Lane<Elem = F>,
        <Symbol<F> as AsBits>::Bits: Into<Value>,
    {
        if !Self::IS_SIGNED {
            return self.short_floored::<F>(divisor, dtype);
        }
        let dividend = self.to_float::<F>(dtype);
        let half = Symbol::num(0.5).copysign(dividend);
        let quotient = (dividend + half) * (Symbol::num(1.0) / divisor.to_float::<F>(dtype));
        Number::new(append(|code| {
            let word = code.convert(Type::W32, quotient.0);
            code.convert(Self::TYPE, word)
        }))
    }

    /// The same, rounded down.
    fn short_floored<F: Kind>(self, divisor: Self, dtype: DType) -> Self
    where
        Symbol<F>: Lane<Elem = F>,
        <Symbol<F> as AsBits>::Bits: Into<Value>,
    {
        let (dividend, divisor) = (self.to_float::<F>(dtype), divisor.to_float::<F>(dtype));
        let half = Symbol::num(0.5);
        let signed = if Self::IS_SIGNED { half.copysign(divisor) } else { half };
        let quotient = (dividend + signed).mul_add(Symbol::num(1.0) / divisor, -half);
        let rounded: Value = (quotient + Symbol::splat(F::ROUNDER)).to_bits().into();
        Number::new(append(|code| code.convert(Self::TYPE, rounded)))
    }

    /// A truncated quotient, rounded down instead.
    fn floored(self, divisor: Self, quotient: Self) -> Self {
        let rest = self.wrapping_sub(quotient.wrapping_mul(divisor));
        let is_above = !rest.eq(Self::splat(0)) & (rest.is_negative() ^ divisor.is_negative());
        quotient.wrapping_sub(Select::select(is_above, Self::splat(1), Self::splat(0)))
    }
}

/// The nearest integer of a number up to 2^51.
fn nearest(x: Symbol<f64>) -> Number<i64> {
    Number::new(x.to_int().into())
}

impl Number<i64> {
    /// As a float. `|self| <= 2^51`.
    fn to_short_float(self) -> Symbol<f64> {
        Symbol::from_int(Word::new(self.0))
    }

    /// By one division where both numbers are short: the rounding of a quotient is then less than what lies
    /// between it and an integer.
    fn long_quotient(self, divisor: Self) -> Self {
        const SHORT_BITS: u32 = 52;
        let quotient = (self.to_short_float() / divisor.to_short_float()).trunc();
        let bias = Self::splat(1 << (SHORT_BITS - 1));
        let biased = Number::<u64>::new(self.wrapping_add(bias).or(divisor.wrapping_add(bias)).0);
        let is_long = !biased.shr(Number::splat(SHORT_BITS.into())).eq(Number::splat(0));
        rare!(is_long, nearest(quotient), self.longest_quotient(divisor))
    }

    /// The same of any numbers.
    fn longest_quotient(self, divisor: Self) -> Self {
        let float = |number: Self| number.to_float::<f64>(DType::F64);
        let inverse = Symbol::num(1.0) / float(divisor);
        let high = nearest(float(self) * inverse * Symbol::num(2f64.powi(-32))).shl(Self::splat(32));
        let rest = self.wrapping_sub(high.wrapping_mul(divisor));
        self.corrected(divisor, high.wrapping_add(nearest(float(rest) * inverse)))
    }
}

impl Number<u64> {
    fn long_quotient(self, divisor: Self) -> Self {
        let one = Self::splat(1);
        let signed = |number: Self| Number::<i64>::new(number.0);
        // Half of the number fits into an i64.
        let even = signed(self.shr(one)).long_quotient(signed(divisor)).shl(signed(one));
        let even = Self::new(even.0);
        let rest = self.wrapping_sub(even.wrapping_mul(divisor));
        let step = |mask| Select::select(mask, one, Self::splat(0));
        let quotient = even.wrapping_add(step(!rest.lt(divisor)));
        Select::select(divisor.has_high_bit(), step(!self.lt(divisor)), quotient)
    }
}

impl<T: Integer> Select<Truth> for Number<T> {
    fn select(mask: Truth, yes: Self, no: Self) -> Self {
        Number::new(append(|code| code.select(mask.0, yes.0, no.0)))
    }
}

/// Methods that are one instruction.
macro_rules! methods {
    ($($method:ident $binary:ident;)+) => {
        $(fn $method(self, other: Self) -> Self {
            self.binary(Binary::$binary, other)
        })+
    };
}

impl<T: Integer> Whole for Number<T> {
    type Mask = Truth;
    const BITS: u32 = T::BITS;

    methods! {
        wrapping_add Add;
        wrapping_sub Sub;
        wrapping_mul Mul;
        and And;
        or Or;
        xor Xor;
        shl ShiftLeft;
    }

    fn splat(x: i64) -> Self {
        Number::new(append(|code| code.constant(Self::TYPE, x as u64)))
    }

    fn eq(self, other: Self) -> Truth {
        self.compare(Compare::Eq, other)
    }

    fn lt(self, other: Self) -> Truth {
        self.compare(if Self::IS_SIGNED { Compare::Lt } else { Compare::Below }, other)
    }

    fn not(self) -> Self {
        Number::new(append(|code| code.unary(Unary::Not, self.0)))
    }

    fn is_negative(self) -> Truth {
        if Self::IS_SIGNED { self.has_high_bit() } else { Truth(append(|code| code.constant(Type::Mask, 0))) }
    }

    fn is_shift_count(self) -> Truth {
        self.compare(Compare::Below, Self::splat(T::BITS.into()))
    }

    fn shr(self, count: Self) -> Self {
        self.binary(if Self::IS_SIGNED { Binary::ShiftRightSigned } else { Binary::ShiftRight }, count)
    }

    fn quotient(self, divisor: Self) -> Self {
        match (T::BITS, Self::IS_SIGNED) {
            (64, true) => Self::new(Number::<i64>::new(self.0).long_quotient(Number::new(divisor.0)).0),
            (64, false) => Self::new(Number::<u64>::new(self.0).long_quotient(Number::new(divisor.0)).0),
            (32, _) => self.short_quotient::<f64>(divisor, DType::F64),
            _ => self.short_quotient::<f32>(divisor, DType::F32),
        }
    }

    fn floored_quotient(self, divisor: Self) -> Self {
        match (T::BITS, Self::IS_SIGNED) {
            (64, true) => self.floored(divisor, self.quotient(divisor)),
            (64, false) => self.quotient(divisor),
            (32, _) => self.short_floored::<f64>(divisor, DType::F64),
            _ => self.short_floored::<f32>(divisor, DType::F32),
        }
    }

    fn gcd(self, _: Self) -> Self {
        panic!("Euclid's algorithm takes as many steps as its numbers need")
    }

    /// Bit by bit. Most exponents are short, and of those from 64 on few powers fit into a type.
    fn power(self, exponent: Self) -> Self {
        const SHORT_BITS: u32 = 4;
        const USUAL_BITS: u32 = 6;
        let bits = |mut power: Self, mut square: Self, bits: Range<u32>| {
            for bit in bits {
                let is_unset = exponent.and(Self::splat(1 << bit)).eq(Self::splat(0));
                power = Select::select(is_unset, power, power.wrapping_mul(square));
                square = square.wrapping_mul(square);
            }
            (power, square)
        };
        let is_longer = |bits: u32| !exponent.lt(Self::splat(1 << bits));
        let (power, square) = bits(Self::splat(1), self, 0..SHORT_BITS);
        let power = rare!(is_longer(SHORT_BITS), power, bits(power, square, SHORT_BITS..USUAL_BITS).0);
        rare!(is_longer(USUAL_BITS), power, {
            let square = (0..USUAL_BITS).fold(self, |square, _| square.wrapping_mul(square));
            bits(power, square, USUAL_BITS..T::BITS).0
        })
    }
}

/// Records bodies on integers of type `T`.
pub(super) struct Integers<'a, T> {
    operands: &'a [Recorded],
    kind: PhantomData<T>,
}

impl<'a, T: Integer> Integers<'a, T> {
    pub(super) fn new(operands: &'a [Recorded]) -> Self {
        Integers { operands, kind: PhantomData }
    }

    fn numbers<const N: usize>(&self) -> [Number<T>; N] {
        std::array::from_fn(|place| Number::new(self.operands[place].re()))
    }
}

impl<T: Integer> VisitInteger<Number<T>> for Integers<'_, T> {
    type Output = Recorded;

    fn value<B: Body<N, Number<T>, Result = Number<T>>, const N: usize>(self) -> Recorded {
        Recorded::Real(B::call(self.numbers()).0)
    }

    fn test<B: Body<N, Number<T>, Result = Truth>, const N: usize>(self) -> Recorded {
        Recorded::Real(B::call(self.numbers()).0)
    }
}

/// Records bodies on bools.
pub(super) struct Booleans<'a>(pub(super) &'a [Recorded]);

impl VisitBoolean<Truth> for Booleans<'_> {
    type Output = Recorded;

    fn value<B: Body<N, Truth, Result = Truth>, const N: usize>(self) -> Recorded {
        Recorded::Real(B::call(std::array::from_fn(|place| Truth(self.0[place].re()))).0)
    }
}
