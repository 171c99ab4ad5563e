//! Owns the registers of AVX2 with FMA: 8 `f32` or 4 `f64`. Masks are registers whose elements are all ones
//! or zero.

use std::arch::x86_64::*;
use std::mem::transmute;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Not, Sub};

use half::{bf16, f16};

use super::{AnyMask, Arithmetic, AsBits, Bits, Pair, Register, TRANSPOSED};

/// 8 `f32`.
#[derive(Clone, Copy)]
pub(crate) struct F32x8(pub(crate) __m256);

operators!(F32x8: Add add _mm256_add_ps, Sub sub _mm256_sub_ps, Mul mul _mm256_mul_ps, Div div _mm256_div_ps);

impl Arithmetic for F32x8 {
    type Elem = f32;
    type Mask = Mask32x8;

    instructions! {
        fn splat(x: f32) -> Self { F32x8(_mm256_set1_ps(x)) }
        fn mul_add(self, a: Self, b: Self) -> Self { F32x8(_mm256_fmadd_ps(self.0, a.0, b.0)) }
        fn abs(self) -> Self { F32x8(_mm256_andnot_ps(_mm256_set1_ps(-0.0), self.0)) }
        fn min(self, other: Self) -> Self { F32x8(_mm256_min_ps(self.0, other.0)) }
        fn max(self, other: Self) -> Self { F32x8(_mm256_max_ps(self.0, other.0)) }
        fn lt(self, other: Self) -> Mask32x8 {
            Mask32x8(_mm256_castps_si256(_mm256_cmp_ps::<_CMP_LT_OQ>(self.0, other.0)))
        }
        fn le(self, other: Self) -> Mask32x8 {
            Mask32x8(_mm256_castps_si256(_mm256_cmp_ps::<_CMP_LE_OQ>(self.0, other.0)))
        }
        fn eq(self, other: Self) -> Mask32x8 {
            Mask32x8(_mm256_castps_si256(_mm256_cmp_ps::<_CMP_EQ_OQ>(self.0, other.0)))
        }
        fn are_numbers(self, other: Self) -> Mask32x8 {
            Mask32x8(_mm256_castps_si256(_mm256_cmp_ps::<_CMP_ORD_Q>(self.0, other.0)))
        }
        fn select(mask: Mask32x8, yes: Self, no: Self) -> Self {
            F32x8(_mm256_blendv_ps(no.0, yes.0, _mm256_castsi256_ps(mask.0)))
        }
    }
}

impl AsBits for F32x8 {
    type Bits = U32x8;

    instructions! {
        fn to_bits(self) -> U32x8 { U32x8(_mm256_castps_si256(self.0)) }
        fn from_bits(bits: U32x8) -> Self { F32x8(_mm256_castsi256_ps(bits.0)) }
    }
}

impl Register for F32x8 {
    type Wide = Pair<F64x4>;
    const LEN: usize = 8;

    instructions! {
        fn from_fn(element: impl FnMut(usize) -> f32) -> Self {
            F32x8(transmute::<[f32; 8], __m256>(std::array::from_fn(element)))
        }
        fn load(from: &[f32]) -> Self {
            F32x8(transmute::<[f32; 8], __m256>(*from.first_chunk().expect("8 elements to load")))
        }
        fn load_wide(from: &[f32]) -> Pair<F64x4> {
            let [low, high] = transmute::<[f32; 8], [__m128; 2]>(*from.first_chunk().expect("8 elements to load"));
            Pair(F64x4(_mm256_cvtps_pd(low)), F64x4(_mm256_cvtps_pd(high)))
        }
        fn load_f16(from: &[f16]) -> Self {
            F32x8(_mm256_cvtph_ps(transmute::<[f16; 8], __m128i>(*from.first_chunk().expect("8 elements to load"))))
        }
        fn load_bf16(from: &[bf16]) -> Self {
            let halves = transmute::<[bf16; 8], __m128i>(*from.first_chunk().expect("8 elements to load"));
            F32x8(_mm256_castsi256_ps(_mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(halves))))
        }
        fn transposed(row: impl Fn(usize) -> [f32; TRANSPOSED]) -> [Self; TRANSPOSED] {
            let row = |i| transmute::<[f32; TRANSPOSED], [__m128; 2]>(row(i));
            let mut columns = [Self(_mm256_setzero_ps()); TRANSPOSED];
            for (half, columns) in columns.chunks_exact_mut(4).enumerate() {
                let mut rows = [_mm256_setzero_ps(); 4];
                for (i, rows) in rows.iter_mut().enumerate() {
                    *rows = _mm256_set_m128(row(i + 4)[half], row(i)[half]);
                }
                // Each half of a register is transposed on its own.
                let [a, b, c, d] = rows;
                let (low_ab, high_ab) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
                let (low_cd, high_cd) = (_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
                columns.copy_from_slice(&[
                    F32x8(_mm256_shuffle_ps::<0x44>(low_ab, low_cd)),
                    F32x8(_mm256_shuffle_ps::<0xEE>(low_ab, low_cd)),
                    F32x8(_mm256_shuffle_ps::<0x44>(high_ab, high_cd)),
                    F32x8(_mm256_shuffle_ps::<0xEE>(high_ab, high_cd)),
                ]);
            }
            columns
        }
        fn store(self, to: &mut [f32]) {
            *to.first_chunk_mut().expect("room for 8 elements") = transmute::<__m256, [f32; 8]>(self.0);
        }
        fn element(self, index: usize) -> f32 { transmute::<__m256, [f32; 8]>(self.0)[index] }
        fn widen(self) -> Pair<F64x4> {
            let (low, high) = (_mm256_castps256_ps128(self.0), _mm256_extractf128_ps::<1>(self.0));
            Pair(F64x4(_mm256_cvtps_pd(low)), F64x4(_mm256_cvtps_pd(high)))
        }
    }
}

/// 8 `u32`.
#[derive(Clone, Copy)]
pub(crate) struct U32x8(pub(crate) __m256i);

operators!(U32x8: Add add _mm256_add_epi32, Sub sub _mm256_sub_epi32,
    BitAnd bitand _mm256_and_si256, BitOr bitor _mm256_or_si256, BitXor bitxor _mm256_xor_si256);

unary_operators!(U32x8: Not not |own| _mm256_xor_si256(own, _mm256_set1_epi32(-1)));

impl Bits for U32x8 {
    type Mask = Mask32x8;

    instructions! {
        fn splat(x: u64) -> Self { U32x8(_mm256_set1_epi32(x as i32)) }
        fn eq(self, other: Self) -> Mask32x8 { Mask32x8(_mm256_cmpeq_epi32(self.0, other.0)) }
        fn signed_lt(self, other: Self) -> Mask32x8 { Mask32x8(_mm256_cmpgt_epi32(other.0, self.0)) }
        fn select(mask: Mask32x8, yes: Self, no: Self) -> Self { U32x8(_mm256_blendv_epi8(no.0, yes.0, mask.0)) }
    }
}

/// 8 bools: all 32 bits or none.
#[derive(Clone, Copy)]
pub(crate) struct Mask32x8(pub(crate) __m256i);

operators!(Mask32x8: BitAnd bitand _mm256_and_si256, BitOr bitor _mm256_or_si256, BitXor bitxor _mm256_xor_si256);

unary_operators!(Mask32x8: Not not |own| _mm256_xor_si256(own, _mm256_set1_epi32(-1)));

impl AnyMask for Mask32x8 {
    instructions! {
        fn any(self) -> bool { _mm256_testz_si256(self.0, self.0) == 0 }
    }
}

/// 4 `f64`.
#[derive(Clone, Copy)]
pub(crate) struct F64x4(pub(crate) __m256d);

operators!(F64x4: Add add _mm256_add_pd, Sub sub _mm256_sub_pd, Mul mul _mm256_mul_pd, Div div _mm256_div_pd);

impl Arithmetic for F64x4 {
    type Elem = f64;
    type Mask = Mask64x4;

    instructions! {
        fn splat(x: f64) -> Self { F64x4(_mm256_set1_pd(x)) }
        fn mul_add(self, a: Self, b: Self) -> Self { F64x4(_mm256_fmadd_pd(self.0, a.0, b.0)) }
        fn abs(self) -> Self { F64x4(_mm256_andnot_pd(_mm256_set1_pd(-0.0), self.0)) }
        fn min(self, other: Self) -> Self { F64x4(_mm256_min_pd(self.0, other.0)) }
        fn max(self, other: Self) -> Self { F64x4(_mm256_max_pd(self.0, other.0)) }
        fn lt(self, other: Self) -> Mask64x4 {
            Mask64x4(_mm256_castpd_si256(_mm256_cmp_pd::<_CMP_LT_OQ>(self.0, other.0)))
        }
        fn le(self, other: Self) -> Mask64x4 {
            Mask64x4(_mm256_castpd_si256(_mm256_cmp_pd::<_CMP_LE_OQ>(self.0, other.0)))
        }
        fn eq(self, other: Self) -> Mask64x4 {
            Mask64x4(_mm256_castpd_si256(_mm256_cmp_pd::<_CMP_EQ_OQ>(self.0, other.0)))
        }
        fn are_numbers(self, other: Self) -> Mask64x4 {
            Mask64x4(_mm256_castpd_si256(_mm256_cmp_pd::<_CMP_ORD_Q>(self.0, other.0)))
        }
        fn select(mask: Mask64x4, yes: Self, no: Self) -> Self {
            F64x4(_mm256_blendv_pd(no.0, yes.0, _mm256_castsi256_pd(mask.0)))
        }
    }
}

impl AsBits for F64x4 {
    type Bits = U64x4;

    instructions! {
        fn to_bits(self) -> U64x4 { U64x4(_mm256_castpd_si256(self.0)) }
        fn from_bits(bits: U64x4) -> Self { F64x4(_mm256_castsi256_pd(bits.0)) }
    }
}

impl Register for F64x4 {
    type Wide = Self;
    const LEN: usize = 4;

    #[inline(always)]
    fn widen(self) -> Self {
        self
    }

    instructions! {
        fn from_fn(element: impl FnMut(usize) -> f64) -> Self {
            F64x4(transmute::<[f64; 4], __m256d>(std::array::from_fn(element)))
        }
        fn load(from: &[f64]) -> Self {
            F64x4(transmute::<[f64; 4], __m256d>(*from.first_chunk().expect("4 elements to load")))
        }
        fn transposed(row: impl Fn(usize) -> [f64; TRANSPOSED]) -> [Self; TRANSPOSED] {
            let row = |i| transmute::<[f64; TRANSPOSED], [__m128d; 4]>(row(i));
            let mut columns = [Self(_mm256_setzero_pd()); TRANSPOSED];
            for (pair, columns) in columns.chunks_exact_mut(2).enumerate() {
                // Each half of a register is transposed on its own.
                let a = _mm256_set_m128d(row(2)[pair], row(0)[pair]);
                let b = _mm256_set_m128d(row(3)[pair], row(1)[pair]);
                columns.copy_from_slice(&[F64x4(_mm256_unpacklo_pd(a, b)), F64x4(_mm256_unpackhi_pd(a, b))]);
            }
            columns
        }
        fn store(self, to: &mut [f64]) {
            *to.first_chunk_mut().expect("room for 4 elements") = transmute::<__m256d, [f64; 4]>(self.0);
        }
        fn element(self, index: usize) -> f64 { transmute::<__m256d, [f64; 4]>(self.0)[index] }
    }
}

/// 4 `u64`.
#[derive(Clone, Copy)]
pub(crate) struct U64x4(pub(crate) __m256i);

operators!(U64x4: Add add _mm256_add_epi64, Sub sub _mm256_sub_epi64,
    BitAnd bitand _mm256_and_si256, BitOr bitor _mm256_or_si256, BitXor bitxor _mm256_xor_si256);

unary_operators!(U64x4: Not not |own| _mm256_xor_si256(own, _mm256_set1_epi32(-1)));

impl Bits for U64x4 {
    type Mask = Mask64x4;

    instructions! {
        fn splat(x: u64) -> Self { U64x4(_mm256_set1_epi64x(x as i64)) }
        fn eq(self, other: Self) -> Mask64x4 { Mask64x4(_mm256_cmpeq_epi64(self.0, other.0)) }
        fn signed_lt(self, other: Self) -> Mask64x4 { Mask64x4(_mm256_cmpgt_epi64(other.0, self.0)) }
        fn select(mask: Mask64x4, yes: Self, no: Self) -> Self { U64x4(_mm256_blendv_epi8(no.0, yes.0, mask.0)) }
    }
}

/// 4 bools: all 64 bits or none.
#[derive(Clone, Copy)]
pub(crate) struct Mask64x4(pub(crate) __m256i);

operators!(Mask64x4: BitAnd bitand _mm256_and_si256, BitOr bitor _mm256_or_si256, BitXor bitxor _mm256_xor_si256);

unary_operators!(Mask64x4: Not not |own| _mm256_xor_si256(own, _mm256_set1_epi32(-1)));

impl AnyMask for Mask64x4 {
    instructions! {
        fn any(self) -> bool { _mm256_testz_si256(self.0, self.0) == 0 }
    }
}
