//! Owns the few operations that everything on floats is written in ([`Arithmetic`]), and who has them: lanes,
//! over which mathematical functions are written, and registers, over which reductions and products are.
//!
//! A lane is one number, `f32` or `f64` (`scalar`), or one that computes nothing but writes down what it is
//! asked (`record`): what is recorded is printed for registers of every length. Reductions and products move
//! elements in registers in ways of their own, and small ones are done before code would be printed, so they
//! have registers that the compiler knows: a module for those of each instruction set, and two as one
//! (`pair`).
//!
//! Every operation here is exact or correctly rounded, so what is written in them gives the same bits
//! everywhere. The only horizontal operations are transposed loads. There are no reciprocal estimates,
//! because those differ between instruction sets. Look-up tables have 16 numbers, which AVX-512 permutes in
//! registers.
//!
//! Deliberately unknown here: memory, tiles, tails, and which functions exist.

#[macro_use]
mod instructions;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;
#[cfg(target_arch = "aarch64")]
pub(crate) mod neon;
mod pair;
pub(crate) mod record;
mod scalar;
#[cfg(test)]
mod tests;

pub(crate) use pair::Pair;

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Shl, Shr, Sub};

use half::{bf16, f16};

use crate::halves::{widen_bf16, widen_f16};

/// Elements of each row that [`Register::transposed`] takes.
pub(crate) const TRANSPOSED: usize = 8;

/// The number format of one element of a lane.
pub(crate) trait Element: Copy + PartialOrd + 'static {
    /// Stored bits of the significand: 23 or 52.
    const SIGNIFICAND: usize;
    /// The biased exponent of 1: 127 or 1023.
    const BIAS: u64;
    /// 1.5 · 2^SIGNIFICAND: adding it rounds to an integer, which is then in the low bits.
    const ROUNDER: Self;
    /// `ROUNDER + 2 · BIAS`, which rounds likewise. A difference from it is an exponent whose bits are known.
    const EXPONENT_ROUNDER: Self;
    const INFINITY: Self;
    const NAN: Self;
    /// The smallest normal number.
    const MIN_POSITIVE: Self;
    /// The distance from 1 to the next number.
    const EPSILON: Self;

    /// `x` rounded to this format.
    fn from_f64(x: f64) -> Self;
}

/// One bool per element of a lane.
pub(crate) trait Mask:
    Copy + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self> + Not<Output = Self>
{
    /// Whether [`rare!`] computes its rare way, which it then ends. Nothing else asks.
    fn begin_rare(self) -> bool;
    /// `slow` where the mask holds, `usual` elsewhere.
    fn end_rare<T: Select<Self>>(self, slow: T, usual: T) -> T;
}

/// `rare!(mask, usual, slow)` is `usual`, and where the mask holds `slow`, which is only computed if it holds
/// for some element. No other element takes it, so that bits do not depend on the neighbours in a register.
///
/// It is a macro because a closure would be compiled without the instruction set of its caller.
macro_rules! rare {
    ($mask:expr, $usual:expr, $slow:expr) => {{
        let (mask, usual) = ($mask, $usual);
        if $crate::lane::Mask::begin_rare(mask) {
            $crate::lane::Mask::end_rare(mask, $slow, usual)
        } else {
            usual
        }
    }};
}
pub(crate) use rare;

/// A mask that knows its elements. Bodies work on every [`Mask`], and cannot ask one.
pub(crate) trait AnyMask:
    Copy + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self> + Not<Output = Self>
{
    /// Whether the condition holds for some element. Only for skipping work whose result no element would
    /// select: lanes of different lengths would disagree otherwise.
    fn any(self) -> bool;
}

impl<M: AnyMask> Mask for M {
    #[inline(always)]
    fn begin_rare(self) -> bool {
        self.any()
    }

    #[inline(always)]
    fn end_rare<T: Select<M>>(self, slow: T, usual: T) -> T {
        T::select(self, slow, usual)
    }
}

/// Values that a mask selects from, element by element: lanes, and what is made of them.
pub(crate) trait Select<M>: Copy {
    /// `yes` where the mask holds, `no` elsewhere.
    fn select(mask: M, yes: Self, no: Self) -> Self;
}

impl<V: Arithmetic> Select<V::Mask> for V {
    #[inline(always)]
    fn select(mask: V::Mask, yes: V, no: V) -> V {
        <V as Arithmetic>::select(mask, yes, no)
    }
}

impl<M: Copy, A: Select<M>, B: Select<M>> Select<M> for (A, B) {
    #[inline(always)]
    fn select(mask: M, yes: Self, no: Self) -> Self {
        (A::select(mask, yes.0, no.0), B::select(mask, yes.1, no.1))
    }
}

/// Unsigned integers as wide as floats. `+` and `-` wrap.
pub(crate) trait Bits:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Not<Output = Self>
{
    type Mask: Mask;

    /// The low bits of `x` in every element.
    fn splat(x: u64) -> Self;
    fn eq(self, other: Self) -> Self::Mask;
    /// `self < other`, both read as two's complement.
    fn signed_lt(self, other: Self) -> Self::Mask;
    /// `yes` where the mask holds, `no` elsewhere.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;
}

/// Integers that are shifted, by less than their width: `>>` shifts zeros in.
pub(crate) trait Shift: Bits + Shl<usize, Output = Self> + Shr<usize, Output = Self> {}

impl<B: Bits + Shl<usize, Output = B> + Shr<usize, Output = B>> Shift for B {}

/// IEEE 754 numbers that are computed with at once: one, those of a register, or that of a code. The
/// operators round to nearest even, each on its own: nothing is contracted.
///
/// Implementations mark every method `#[inline(always)]`, and so do the functions written over them: a body
/// compiled on its own would not have the instruction set of its caller.
pub(crate) trait Arithmetic:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    type Elem: Element;
    type Mask: Mask;

    fn splat(x: Self::Elem) -> Self;

    /// `self * a + b`, rounded once.
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// Clears the sign bit, also of NaN.
    fn abs(self) -> Self;
    /// `if self < other { self } else { other }`, hence `other` when either is NaN and when both are zeros.
    fn min(self, other: Self) -> Self;
    /// `if self > other { self } else { other }`, hence `other` when either is NaN and when both are zeros.
    fn max(self, other: Self) -> Self;

    /// The smaller one, as [`min`](Arithmetic::min), but `self` if that is NaN.
    #[inline(always)]
    fn minimum(self, other: Self) -> Self {
        Self::select(self.is_nan(), self, self.min(other))
    }
    /// The larger one, as [`max`](Arithmetic::max), but `self` if that is NaN.
    #[inline(always)]
    fn maximum(self, other: Self) -> Self {
        Self::select(self.is_nan(), self, self.max(other))
    }

    /// Ordered comparisons: false when either side is NaN.
    fn lt(self, other: Self) -> Self::Mask;
    fn le(self, other: Self) -> Self::Mask;
    fn eq(self, other: Self) -> Self::Mask;
    /// `yes` where the mask holds, `no` elsewhere; the other side has no effect, not even if it is NaN.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;

    /// The number `x`, rounded to the element type if necessary.
    #[inline(always)]
    fn num(x: f64) -> Self {
        Self::splat(Self::Elem::from_f64(x))
    }

    #[inline(always)]
    fn gt(self, other: Self) -> Self::Mask {
        other.lt(self)
    }

    #[inline(always)]
    fn ge(self, other: Self) -> Self::Mask {
        other.le(self)
    }

    #[inline(always)]
    fn is_nan(self) -> Self::Mask {
        !self.eq(self)
    }

    /// Where neither is NaN.
    #[inline(always)]
    fn are_numbers(self, other: Self) -> Self::Mask {
        self.eq(self) & other.eq(other)
    }
}

/// Floats that are integers of the same bits, too.
pub(crate) trait AsBits: Arithmetic {
    type Bits: Bits<Mask = Self::Mask>;

    fn to_bits(self) -> Self::Bits;
    fn from_bits(bits: Self::Bits) -> Self;
}

/// What mathematical functions are written in.
pub(crate) trait Lane: AsBits<Bits: Shift> + Neg<Output = Self> {
    /// The same in `f64`, for bodies that compute `f32` there and round once; `f64` lanes are their own.
    type Wide: Lane<Elem = f64, Wide = Self::Wide>;
    /// Whether it is one number, and not one of a code, which has all instructions: truncation and fused
    /// multiply-add may be function calls then.
    const IS_ALONE: bool;

    /// Exact for `f32`.
    fn widen(self) -> Self::Wide;
    /// Rounds to nearest even, subnormals and overflow included.
    fn narrow(x: Self::Wide) -> Self;
    /// For every element the number of the table that the lowest four bits of its index select.
    fn lookup(table: &[Self::Elem; 16], index: Self::Bits) -> Self;

    /// Correctly rounded; NaN below zero, `-0` for `-0`.
    fn sqrt(self) -> Self;
    /// The nearest integer, ties to even; keeps the sign of zero, as do the three others.
    fn round_ties_even(self) -> Self;
    fn floor(self) -> Self;
    fn ceil(self) -> Self;
    /// Towards zero.
    fn trunc(self) -> Self;
    /// The remainder of truncated division, which is exact.
    fn remainder(self, other: Self) -> Self;
    /// 10 to an integral power that is not negative, correctly rounded for the powers that fit.
    fn power_of_ten(self) -> Self;

    #[inline(always)]
    fn is_finite(self) -> Self::Mask {
        self.abs().lt(Self::splat(Self::Elem::INFINITY))
    }

    /// The sign bit alone: the bits of `0` or `-0`.
    #[inline(always)]
    fn sign_bit(self) -> Self::Bits {
        self.to_bits() & Self::num(-0.0).to_bits()
    }

    /// Whether the sign bit is set, also of zeros and NaN.
    #[inline(always)]
    fn is_negative(self) -> Self::Mask {
        self.to_bits().signed_lt(Self::Bits::splat(0))
    }

    /// Flips the sign where `sign` is negative; exact, and unlike a multiplication also for NaN.
    #[inline(always)]
    fn mul_sign(self, sign: Self) -> Self {
        Self::from_bits(self.to_bits() ^ sign.sign_bit())
    }

    /// The magnitude of `self` with the sign of another, also of NaN.
    #[inline(always)]
    fn copysign(self, sign: Self) -> Self {
        Self::from_bits(self.abs().to_bits() | sign.sign_bit())
    }

    /// An integral value as a two's complement integer. `|self| <= 2^(SIGNIFICAND - 1)`.
    #[inline(always)]
    fn to_int(self) -> Self::Bits {
        let rounder = Self::splat(Self::Elem::ROUNDER);
        (self + rounder).to_bits() - rounder.to_bits()
    }

    /// A two's complement integer as a float. `|i| <= 2^(SIGNIFICAND - 1)`.
    #[inline(always)]
    fn from_int(i: Self::Bits) -> Self {
        let rounder = Self::splat(Self::Elem::ROUNDER);
        Self::from_bits(i + rounder.to_bits()) - rounder
    }

    /// 2^n for an integral `n` from `1 - BIAS` to `BIAS`.
    #[inline(always)]
    fn exp2_int(n: Self) -> Self {
        // The shift drops every bit of the rounder, whose low 9 (12) bits are zero.
        let biased = (n + Self::splat(Self::Elem::ROUNDER)).to_bits() + Self::Bits::splat(Self::Elem::BIAS);
        Self::from_bits(biased << Self::Elem::SIGNIFICAND)
    }

    /// `self · 2^n` for an integral `n` from `1 - BIAS` to `BIAS`, rounded once.
    #[inline(always)]
    fn scale(self, n: Self) -> Self {
        self * Self::exp2_int(n)
    }

    /// `(e, m)` with `self = 2^e · m` and `1 <= m < 2`, also for subnormal numbers. Unspecified unless `self`
    /// is positive and finite.
    #[inline(always)]
    fn binade(self) -> (Self, Self) {
        split(self, 1.0)
    }

    /// As [`Lane::binade`], but with `0.75 <= m < 1.5`.
    #[inline(always)]
    fn split_exponent(self) -> (Self, Self) {
        split(self, 0.75)
    }

    /// The integer next to `self · factor`, which becomes an exponent: powers of it are made of the bits of
    /// the sum from which it comes.
    #[inline(always)]
    fn exponent(self, factor: Self::Elem) -> Self {
        let rounder = Self::splat(Self::Elem::EXPONENT_ROUNDER);
        self.mul_add(Self::splat(factor), rounder) - rounder
    }

    /// `self · 2^n`, rounded once, subnormal results and overflow included. `n` is integral, at most `2 ·
    /// BIAS - 2` in magnitude, and `self · 2^(n/2)` must not be subnormal.
    #[inline(always)]
    fn ldexp(self, n: Self) -> Self {
        // Twice the bias and `n`, in two halves. The shifts drop every bit of the rounder.
        let sum = (n + Self::splat(Self::Elem::EXPONENT_ROUNDER)).to_bits();
        let half = sum >> 1;
        let first = Self::from_bits(half << Self::Elem::SIGNIFICAND);
        self * first * Self::from_bits((sum - half) << Self::Elem::SIGNIFICAND)
    }
}

/// Elements of floats that memory has side by side: what reductions and products are written in.
pub(crate) trait Register: Arithmetic {
    /// As many elements in `f64`; `f64` registers are their own.
    type Wide: Register<Elem = f64, Wide = Self::Wide>;
    /// The number of elements.
    const LEN: usize;

    /// The register whose element `i` is `element(i)`.
    fn from_fn(element: impl FnMut(usize) -> Self::Elem) -> Self;
    /// The first `LEN` elements.
    ///
    /// # Panics
    /// If there are fewer.
    fn load(from: &[Self::Elem]) -> Self;
    /// The first `LEN` elements in `f64`, exactly: shorter than a load followed by [`Register::widen`].
    ///
    /// # Panics
    /// If there are fewer.
    #[inline(always)]
    fn load_wide(from: &[Self::Elem]) -> Self::Wide {
        Self::load(from).widen()
    }
    /// The first `LEN` elements of f16, exactly.
    ///
    /// # Panics
    /// If there are fewer.
    #[inline(always)]
    fn load_f16(from: &[f16]) -> Self
    where
        Self: Register<Elem = f32>,
    {
        Self::from_fn(|i| widen_f16(from[i]))
    }
    /// The first `LEN` elements of bf16, exactly.
    ///
    /// # Panics
    /// If there are fewer.
    #[inline(always)]
    fn load_bf16(from: &[bf16]) -> Self
    where
        Self: Register<Elem = f32>,
    {
        Self::from_fn(|i| widen_bf16(from[i]))
    }
    /// The first elements of `LEN` rows, transposed: element `i` of register `j` is element `j` of row `i`.
    #[inline(always)]
    fn transposed(row: impl Fn(usize) -> [Self::Elem; TRANSPOSED]) -> [Self; TRANSPOSED] {
        std::array::from_fn(|j| Self::from_fn(|i| row(i)[j]))
    }
    /// Writes to the first `LEN` elements.
    ///
    /// # Panics
    /// If there are fewer.
    fn store(self, to: &mut [Self::Elem]);
    /// One element. `index < LEN`.
    fn element(self, index: usize) -> Self::Elem;
    /// Exact for `f32`.
    fn widen(self) -> Self::Wide;
}

/// `(e, m)` with `x = 2^e · m` and `least <= m < 2 · least`, where `least` is from 0.5 to 1.
#[inline(always)]
fn split<V: Lane>(x: V, least: f64) -> (V, V) {
    let up = V::Elem::SIGNIFICAND as f64 + 1.0;
    let subnormal = x.lt(V::splat(V::Elem::MIN_POSITIVE));
    let normal = V::select(subnormal, x * V::exp2_int(V::num(up)), x);
    let least = V::num(least).to_bits();
    let fraction = (V::Bits::splat(1) << V::Elem::SIGNIFICAND) - V::Bits::splat(1);
    // Moves the border between two exponents from the significand 1 down to the least one.
    let moved = normal.to_bits() + (V::num(1.0).to_bits() - least);
    let m = V::from_bits((moved & fraction) + least);
    let rounder = V::splat(V::Elem::ROUNDER);
    let bias = rounder + V::num(V::Elem::BIAS as f64);
    let bias = V::select(subnormal, bias + V::num(up), bias);
    (V::from_bits((moved >> V::Elem::SIGNIFICAND) + rounder.to_bits()) - bias, m)
}
