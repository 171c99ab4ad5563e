//! Owns the traits of float dtypes as they are stored, and the operations of f16 and bf16 that are not their
//! body on `f32`: those that round in between, or look at the bits of the dtype.

use bytemuck::Pod;
use half::{bf16, f16};
use num_complex::{Complex32, Complex64};
use zerostride_ops::Element;

use super::float::Floats;
use crate::halves::{narrow_bf16, narrow_f16, widen_bf16, widen_f16};

/// A float dtype that is computed in itself.
pub(crate) trait Float: Floats<Mask = bool> + Element + Pod {
    /// The complex type of two such floats.
    type Pair: Element;
    fn pair(parts: [Self; 2]) -> Self::Pair;
    /// An integral value as an integer.
    fn to_i32(self) -> i32;
}

macro_rules! floats {
    ($($type:ident: $pair:ident;)*) => {
        $(impl Float for $type {
            type Pair = $pair;
            #[inline(always)]
            fn pair([re, im]: [$type; 2]) -> $pair { $pair::new(re, im) }
            #[inline(always)]
            fn to_i32(self) -> i32 { self as i32 }
        })*
    };
}

floats! {
    f32: Complex32;
    f64: Complex64;
}

/// f16 or bf16, whose arithmetic runs in `f32`.
pub(crate) trait Half: Element {
    /// Exact.
    fn widen(self) -> f32;
    /// Rounds to nearest even.
    fn narrow(value: f32) -> Self;
    /// The next number of this type after `self` towards `other`.
    fn next_after(self, other: Self) -> Self;

    /// The quotient is rounded before it is truncated, as in PyTorch.
    fn div_trunc(self, other: Self) -> Self {
        Self::narrow(Self::narrow(self.widen() / other.widen()).widen().trunc())
    }
}

macro_rules! halves {
    ($($type:ident: $widen:ident, $narrow:ident;)*) => {
        $(impl Half for $type {
            #[inline(always)]
            fn widen(self) -> f32 { $widen(self) }
            #[inline(always)]
            fn narrow(value: f32) -> Self { $narrow(value) }
            #[inline(always)]
            fn next_after(self, other: Self) -> Self {
                const SIGN: u16 = 1 << 15;
                if self.is_nan() || other.is_nan() {
                    return $type::NAN;
                }
                if self == other {
                    return other;
                }
                let bits = self.to_bits();
                if bits & !SIGN == 0 {
                    return $type::from_bits((other.to_bits() & SIGN) | 1);
                }
                let away = (self < other) == (bits & SIGN == 0);
                $type::from_bits(if away { bits + 1 } else { bits - 1 })
            }
        })*
    };
}

halves! {
    f16: widen_f16, narrow_f16;
    bf16: widen_bf16, narrow_bf16;
}
