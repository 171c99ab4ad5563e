//! Owns the registers of NEON: 4 `f32` or 2 `f64`. Masks are registers whose elements are all ones or zero.

use std::arch::aarch64::*;
use std::mem::transmute;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Not, Sub};

use super::{AnyMask, Arithmetic, AsBits, Bits, Pair, Register, TRANSPOSED};

/// 4 `f32`.
#[derive(Clone, Copy)]
pub(crate) struct F32x4(pub(crate) float32x4_t);

operators!(F32x4: Add add vaddq_f32, Sub sub vsubq_f32, Mul mul vmulq_f32, Div div vdivq_f32);

impl Arithmetic for F32x4 {
    type Elem = f32;
    type Mask = Mask32x4;

    // The instructions for minimum and maximum differ on NaN and zeros.
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Self::select(self.lt(other), self, other)
    }

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Self::select(other.lt(self), self, other)
    }

    instructions! {
        fn splat(x: f32) -> Self { F32x4(vdupq_n_f32(x)) }
        fn mul_add(self, a: Self, b: Self) -> Self { F32x4(vfmaq_f32(b.0, self.0, a.0)) }
        fn abs(self) -> Self { F32x4(vabsq_f32(self.0)) }
        fn lt(self, other: Self) -> Mask32x4 { Mask32x4(vcltq_f32(self.0, other.0)) }
        fn le(self, other: Self) -> Mask32x4 { Mask32x4(vcleq_f32(self.0, other.0)) }
        fn eq(self, other: Self) -> Mask32x4 { Mask32x4(vceqq_f32(self.0, other.0)) }
        fn select(mask: Mask32x4, yes: Self, no: Self) -> Self { F32x4(vbslq_f32(mask.0, yes.0, no.0)) }
    }
}

impl AsBits for F32x4 {
    type Bits = U32x4;

    instructions! {
        fn to_bits(self) -> U32x4 { U32x4(vreinterpretq_u32_f32(self.0)) }
        fn from_bits(bits: U32x4) -> Self { F32x4(vreinterpretq_f32_u32(bits.0)) }
    }
}

impl Register for F32x4 {
    type Wide = Pair<F64x2>;
    const LEN: usize = 4;

    instructions! {
        fn from_fn(element: impl FnMut(usize) -> f32) -> Self {
            F32x4(transmute::<[f32; 4], float32x4_t>(std::array::from_fn(element)))
        }
        fn load(from: &[f32]) -> Self {
            F32x4(transmute::<[f32; 4], float32x4_t>(*from.first_chunk().expect("4 elements to load")))
        }
        fn transposed(row: impl Fn(usize) -> [f32; TRANSPOSED]) -> [Self; TRANSPOSED] {
            let row = |i| transmute::<[f32; TRANSPOSED], [float32x4_t; 2]>(row(i));
            let mut columns = [Self(vdupq_n_f32(0.0)); TRANSPOSED];
            for (half, columns) in columns.chunks_exact_mut(4).enumerate() {
                let (a, b, c, d) = (row(0)[half], row(1)[half], row(2)[half], row(3)[half]);
                let (ac, bd) = (vzip1q_f32(a, c), vzip1q_f32(b, d));
                let (high_ac, high_bd) = (vzip2q_f32(a, c), vzip2q_f32(b, d));
                columns.copy_from_slice(&[
                    F32x4(vzip1q_f32(ac, bd)),
                    F32x4(vzip2q_f32(ac, bd)),
                    F32x4(vzip1q_f32(high_ac, high_bd)),
                    F32x4(vzip2q_f32(high_ac, high_bd)),
                ]);
            }
            columns
        }
        fn store(self, to: &mut [f32]) {
            *to.first_chunk_mut().expect("room for 4 elements") = transmute::<float32x4_t, [f32; 4]>(self.0);
        }
        fn element(self, index: usize) -> f32 { transmute::<float32x4_t, [f32; 4]>(self.0)[index] }
        fn widen(self) -> Pair<F64x2> {
            Pair(F64x2(vcvt_f64_f32(vget_low_f32(self.0))), F64x2(vcvt_high_f64_f32(self.0)))
        }
    }
}

/// 4 `u32`.
#[derive(Clone, Copy)]
pub(crate) struct U32x4(pub(crate) uint32x4_t);

operators!(U32x4: Add add vaddq_u32, Sub sub vsubq_u32,
    BitAnd bitand vandq_u32, BitOr bitor vorrq_u32, BitXor bitxor veorq_u32);

unary_operators!(U32x4: Not not |own| vmvnq_u32(own));

impl Bits for U32x4 {
    type Mask = Mask32x4;

    instructions! {
        fn splat(x: u64) -> Self { U32x4(vdupq_n_u32(x as u32)) }
        fn eq(self, other: Self) -> Mask32x4 { Mask32x4(vceqq_u32(self.0, other.0)) }
        fn signed_lt(self, other: Self) -> Mask32x4 {
            Mask32x4(vcltq_s32(vreinterpretq_s32_u32(self.0), vreinterpretq_s32_u32(other.0)))
        }
        fn select(mask: Mask32x4, yes: Self, no: Self) -> Self { U32x4(vbslq_u32(mask.0, yes.0, no.0)) }
    }
}

/// 4 bools: all 32 bits or none.
#[derive(Clone, Copy)]
pub(crate) struct Mask32x4(pub(crate) uint32x4_t);

operators!(Mask32x4: BitAnd bitand vandq_u32, BitOr bitor vorrq_u32, BitXor bitxor veorq_u32);

unary_operators!(Mask32x4: Not not |own| vmvnq_u32(own));

impl AnyMask for Mask32x4 {
    instructions! {
        fn any(self) -> bool { vmaxvq_u32(self.0) != 0 }
    }
}

/// 2 `f64`.
#[derive(Clone, Copy)]
pub(crate) struct F64x2(pub(crate) float64x2_t);

operators!(F64x2: Add add vaddq_f64, Sub sub vsubq_f64, Mul mul vmulq_f64, Div div vdivq_f64);

impl Arithmetic for F64x2 {
    type Elem = f64;
    type Mask = Mask64x2;

    // The instructions for minimum and maximum differ on NaN and zeros.
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Self::select(self.lt(other), self, other)
    }

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Self::select(other.lt(self), self, other)
    }

    instructions! {
        fn splat(x: f64) -> Self { F64x2(vdupq_n_f64(x)) }
        fn mul_add(self, a: Self, b: Self) -> Self { F64x2(vfmaq_f64(b.0, self.0, a.0)) }
        fn abs(self) -> Self { F64x2(vabsq_f64(self.0)) }
        fn lt(self, other: Self) -> Mask64x2 { Mask64x2(vcltq_f64(self.0, other.0)) }
        fn le(self, other: Self) -> Mask64x2 { Mask64x2(vcleq_f64(self.0, other.0)) }
        fn eq(self, other: Self) -> Mask64x2 { Mask64x2(vceqq_f64(self.0, other.0)) }
        fn select(mask: Mask64x2, yes: Self, no: Self) -> Self { F64x2(vbslq_f64(mask.0, yes.0, no.0)) }
    }
}

impl AsBits for F64x2 {
    type Bits = U64x2;

    instructions! {
        fn to_bits(self) -> U64x2 { U64x2(vreinterpretq_u64_f64(self.0)) }
        fn from_bits(bits: U64x2) -> Self { F64x2(vreinterpretq_f64_u64(bits.0)) }
    }
}

impl Register for F64x2 {
    type Wide = Self;
    const LEN: usize = 2;

    #[inline(always)]
    fn widen(self) -> Self {
        self
    }

    instructions! {
        fn from_fn(element: impl FnMut(usize) -> f64) -> Self {
            F64x2(transmute::<[f64; 2], float64x2_t>(std::array::from_fn(element)))
        }
        fn load(from: &[f64]) -> Self {
            F64x2(transmute::<[f64; 2], float64x2_t>(*from.first_chunk().expect("2 elements to load")))
        }
        fn transposed(row: impl Fn(usize) -> [f64; TRANSPOSED]) -> [Self; TRANSPOSED] {
            let row = |i| transmute::<[f64; TRANSPOSED], [float64x2_t; 4]>(row(i));
            let mut columns = [Self(vdupq_n_f64(0.0)); TRANSPOSED];
            for (pair, columns) in columns.chunks_exact_mut(2).enumerate() {
                let (a, b) = (row(0)[pair], row(1)[pair]);
                columns.copy_from_slice(&[F64x2(vzip1q_f64(a, b)), F64x2(vzip2q_f64(a, b))]);
            }
            columns
        }
        fn store(self, to: &mut [f64]) {
            *to.first_chunk_mut().expect("room for 2 elements") = transmute::<float64x2_t, [f64; 2]>(self.0);
        }
        fn element(self, index: usize) -> f64 { transmute::<float64x2_t, [f64; 2]>(self.0)[index] }
    }
}

/// 2 `u64`.
#[derive(Clone, Copy)]
pub(crate) struct U64x2(pub(crate) uint64x2_t);

operators!(U64x2: Add add vaddq_u64, Sub sub vsubq_u64,
    BitAnd bitand vandq_u64, BitOr bitor vorrq_u64, BitXor bitxor veorq_u64);

unary_operators!(U64x2: Not not |own| veorq_u64(own, vdupq_n_u64(!0)));

impl Bits for U64x2 {
    type Mask = Mask64x2;

    instructions! {
        fn splat(x: u64) -> Self { U64x2(vdupq_n_u64(x)) }
        fn eq(self, other: Self) -> Mask64x2 { Mask64x2(vceqq_u64(self.0, other.0)) }
        fn signed_lt(self, other: Self) -> Mask64x2 {
            Mask64x2(vcltq_s64(vreinterpretq_s64_u64(self.0), vreinterpretq_s64_u64(other.0)))
        }
        fn select(mask: Mask64x2, yes: Self, no: Self) -> Self { U64x2(vbslq_u64(mask.0, yes.0, no.0)) }
    }
}

/// 2 bools: all 64 bits or none.
#[derive(Clone, Copy)]
pub(crate) struct Mask64x2(pub(crate) uint64x2_t);

operators!(Mask64x2: BitAnd bitand vandq_u64, BitOr bitor vorrq_u64, BitXor bitxor veorq_u64);

unary_operators!(Mask64x2: Not not |own| veorq_u64(own, vdupq_n_u64(!0)));

impl AnyMask for Mask64x2 {
    instructions! {
        fn any(self) -> bool { vmaxvq_u32(vreinterpretq_u32_u64(self.0)) != 0 }
    }
}
