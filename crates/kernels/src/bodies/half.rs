//! Owns the float dtypes as they are stored, and what is different for the halves: where their bodies round in between,
//! or look at their own bits.

use half::{bf16, f16};
use num_complex::{Complex32, Complex64};
use zerostride_ops::Element;

use super::float::Floats;

/// A float dtype, seen as the type that its arithmetic runs in.
pub(crate) trait Float: Element + PartialOrd {
    /// `f32` for the halves, else the type itself.
    type Work: Floats<Mask = bool> + Send;
    /// The complex type of two such floats; the halves have none of their own.
    type Pair: Element;
    /// Exact.
    fn widen(self) -> Self::Work;
    /// Rounds to nearest even.
    fn narrow(value: Self::Work) -> Self;
    fn pair(parts: [Self::Work; 2]) -> Self::Pair;
    /// An integral value.
    fn integer(value: Self::Work) -> i32;
}

macro_rules! floats {
    ($($type:ident: $work:ident, $pair:ident, $widen:expr, $narrow:expr;)*) => {
        $(impl Float for $type {
            type Work = $work;
            type Pair = $pair;
            #[inline(always)]
            fn widen(self) -> $work { $widen(self) }
            #[inline(always)]
            fn narrow(value: $work) -> Self { $narrow(value) }
            #[inline(always)]
            fn pair([re, im]: [$work; 2]) -> $pair { $pair::new(re, im) }
            #[inline(always)]
            fn integer(value: $work) -> i32 { value as i32 }
        })*
    };
}

floats! {
    f16: f32, Complex32, f16::to_f32, f16::from_f32;
    bf16: f32, Complex32, bf16::to_f32, bf16::from_f32;
    f32: f32, Complex32, std::convert::identity, std::convert::identity;
    f64: f64, Complex64, std::convert::identity, std::convert::identity;
}

/// A dtype of two bytes whose arithmetic runs in `f32`.
pub(crate) trait Half: Float<Work = f32> {
    /// The next number of this type after `self` towards `other`.
    fn next_after(self, other: Self) -> Self;

    /// The quotient is rounded before it is truncated, as in PyTorch.
    fn div_trunc(self, other: Self) -> Self {
        Self::narrow(Self::narrow(self.widen() / other.widen()).widen().trunc())
    }
}

macro_rules! halves {
    ($($type:ident)*) => {
        $(impl Half for $type {
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

halves!(f16 bf16);
