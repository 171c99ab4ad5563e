//! Owns one element as a lane and as a register: `f32` and `f64` themselves. It defines what all others must
//! compute.

use std::num::Wrapping;

use super::{AnyMask, Arithmetic, AsBits, Bits, Element, Lane, Register};

impl AnyMask for bool {
    #[inline(always)]
    fn any(self) -> bool {
        self
    }
}

macro_rules! one_element {
    ($float:ident, $bits:ident, $int:ident, rounder: $rounder:expr) => {
        impl Element for $float {
            const SIGNIFICAND: usize = $float::MANTISSA_DIGITS as usize - 1;
            const BIAS: u64 = $float::MAX_EXP as u64 - 1;
            const ROUNDER: Self = $rounder;
            const EXPONENT_ROUNDER: Self = $rounder + 2.0 * Self::BIAS as Self;
            const INFINITY: Self = $float::INFINITY;
            const NAN: Self = $float::NAN;
            const MIN_POSITIVE: Self = $float::MIN_POSITIVE;
            const EPSILON: Self = $float::EPSILON;

            #[inline(always)]
            fn from_f64(x: f64) -> Self {
                x as $float
            }
        }

        impl Bits for Wrapping<$bits> {
            type Mask = bool;

            #[inline(always)]
            fn splat(x: u64) -> Self {
                Wrapping(x as $bits)
            }

            #[inline(always)]
            fn eq(self, other: Self) -> bool {
                self.0 == other.0
            }

            #[inline(always)]
            fn signed_lt(self, other: Self) -> bool {
                (self.0 as $int) < (other.0 as $int)
            }

            #[inline(always)]
            fn select(mask: bool, yes: Self, no: Self) -> Self {
                if mask { yes } else { no }
            }
        }

        impl Arithmetic for $float {
            type Elem = $float;
            type Mask = bool;

            #[inline(always)]
            fn splat(x: $float) -> Self {
                x
            }

            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                // The `fma` of MinGW's C library rounds twice, first to the 64 bits of an x87 register: a
                // quarter of its results in f64 were wrong.
                #[cfg(all(windows, target_env = "gnu"))]
                return libm::Libm::<$float>::fma(self, a, b);
                #[cfg(not(all(windows, target_env = "gnu")))]
                $float::mul_add(self, a, b)
            }

            #[inline(always)]
            fn abs(self) -> Self {
                $float::abs(self)
            }

            #[inline(always)]
            fn min(self, other: Self) -> Self {
                if self < other { self } else { other }
            }

            #[inline(always)]
            fn max(self, other: Self) -> Self {
                if self > other { self } else { other }
            }

            #[inline(always)]
            fn lt(self, other: Self) -> bool {
                self < other
            }

            #[inline(always)]
            fn le(self, other: Self) -> bool {
                self <= other
            }

            #[inline(always)]
            fn eq(self, other: Self) -> bool {
                self == other
            }

            #[inline(always)]
            fn select(mask: bool, yes: Self, no: Self) -> Self {
                if mask { yes } else { no }
            }
        }

        impl AsBits for $float {
            type Bits = Wrapping<$bits>;

            #[inline(always)]
            fn to_bits(self) -> Self::Bits {
                Wrapping($float::to_bits(self))
            }

            #[inline(always)]
            fn from_bits(bits: Self::Bits) -> Self {
                $float::from_bits(bits.0)
            }
        }

        impl Lane for $float {
            type Wide = f64;
            const IS_ALONE: bool = true;

            #[inline(always)]
            fn widen(self) -> f64 {
                self as f64
            }

            #[inline(always)]
            fn narrow(x: f64) -> Self {
                x as $float
            }

            #[inline(always)]
            fn lookup(table: &[$float; 16], index: Self::Bits) -> Self {
                table[index.0 as usize % 16]
            }

            #[inline(always)]
            fn sqrt(self) -> Self {
                $float::sqrt(self)
            }

            #[inline(always)]
            fn round_ties_even(self) -> Self {
                $float::round_ties_even(self)
            }

            #[inline(always)]
            fn floor(self) -> Self {
                $float::floor(self)
            }

            #[inline(always)]
            fn ceil(self) -> Self {
                $float::ceil(self)
            }

            #[inline(always)]
            fn trunc(self) -> Self {
                $float::trunc(self)
            }

            #[inline(always)]
            fn remainder(self, other: Self) -> Self {
                self % other
            }

            #[inline(always)]
            fn power_of_ten(self) -> Self {
                (10 as $float).powi(self as i32)
            }
        }

        impl Register for $float {
            type Wide = f64;
            const LEN: usize = 1;

            #[inline(always)]
            fn from_fn(mut element: impl FnMut(usize) -> $float) -> Self {
                element(0)
            }

            #[inline(always)]
            fn load(from: &[$float]) -> Self {
                from[0]
            }

            #[inline(always)]
            fn store(self, to: &mut [$float]) {
                to[0] = self;
            }

            #[inline(always)]
            fn element(self, _: usize) -> $float {
                self
            }

            #[inline(always)]
            fn widen(self) -> f64 {
                self as f64
            }
        }
    };
}

one_element!(f32, u32, i32, rounder: 12_582_912.0);
one_element!(f64, u64, i64, rounder: 6_755_399_441_055_744.0);
