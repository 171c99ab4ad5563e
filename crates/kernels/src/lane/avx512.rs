//! Owns the registers of AVX-512: 16 `f32` or 8 `f64`. Masks are mask registers.

use std::arch::x86_64::*;
use std::mem::transmute;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Not, Sub};

use half::{bf16, f16};

use super::{AnyMask, Arithmetic, AsBits, Bits, Pair, Register, TRANSPOSED};

impl AnyMask for __mmask16 {
    #[inline(always)]
    fn any(self) -> bool {
        self != 0
    }
}

impl AnyMask for __mmask8 {
    #[inline(always)]
    fn any(self) -> bool {
        self != 0
    }
}

instructions! {
    /// The four quarters of four registers of `f32`, each transposed on its own.
    fn transposed_quarters(a: __m512, b: __m512, c: __m512, d: __m512) -> [__m512d; 4] {
        let (low_ab, high_ab) = (_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
        let (low_cd, high_cd) = (_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
        [
            _mm512_castps_pd(_mm512_shuffle_ps::<0x44>(low_ab, low_cd)),
            _mm512_castps_pd(_mm512_shuffle_ps::<0xEE>(low_ab, low_cd)),
            _mm512_castps_pd(_mm512_shuffle_ps::<0x44>(high_ab, high_cd)),
            _mm512_castps_pd(_mm512_shuffle_ps::<0xEE>(high_ab, high_cd)),
        ]
    }
    /// The even quarters of two registers in turn, and the odd ones.
    fn parted_quarters(a: __m512d, b: __m512d) -> [__m512d; 2] {
        let even = _mm512_permutex2var_pd(a, _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13), b);
        let odd = _mm512_permutex2var_pd(a, _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15), b);
        [even, odd]
    }
}

/// 16 `f32`.
#[derive(Clone, Copy)]
pub(crate) struct F32x16(pub(crate) __m512);

operators!(F32x16: Add add _mm512_add_ps, Sub sub _mm512_sub_ps, Mul mul _mm512_mul_ps, Div div _mm512_div_ps);

impl Arithmetic for F32x16 {
    type Elem = f32;
    type Mask = __mmask16;

    instructions! {
        fn splat(x: f32) -> Self { F32x16(_mm512_set1_ps(x)) }
        fn mul_add(self, a: Self, b: Self) -> Self { F32x16(_mm512_fmadd_ps(self.0, a.0, b.0)) }
        fn abs(self) -> Self { F32x16(_mm512_abs_ps(self.0)) }
        fn min(self, other: Self) -> Self { F32x16(_mm512_min_ps(self.0, other.0)) }
        fn max(self, other: Self) -> Self { F32x16(_mm512_max_ps(self.0, other.0)) }
        fn lt(self, other: Self) -> __mmask16 { _mm512_cmp_ps_mask::<_CMP_LT_OQ>(self.0, other.0) }
        fn le(self, other: Self) -> __mmask16 { _mm512_cmp_ps_mask::<_CMP_LE_OQ>(self.0, other.0) }
        fn eq(self, other: Self) -> __mmask16 { _mm512_cmp_ps_mask::<_CMP_EQ_OQ>(self.0, other.0) }
        fn are_numbers(self, other: Self) -> __mmask16 {
            _mm512_cmp_ps_mask::<_CMP_ORD_Q>(self.0, other.0)
        }
        fn select(mask: __mmask16, yes: Self, no: Self) -> Self { F32x16(_mm512_mask_blend_ps(mask, no.0, yes.0)) }
    }
}

impl AsBits for F32x16 {
    type Bits = U32x16;

    instructions! {
        fn to_bits(self) -> U32x16 { U32x16(_mm512_castps_si512(self.0)) }
        fn from_bits(bits: U32x16) -> Self { F32x16(_mm512_castsi512_ps(bits.0)) }
    }
}

impl Register for F32x16 {
    type Wide = Pair<F64x8>;
    const LEN: usize = 16;

    instructions! {
        fn from_fn(element: impl FnMut(usize) -> f32) -> Self {
            F32x16(transmute::<[f32; 16], __m512>(std::array::from_fn(element)))
        }
        fn load(from: &[f32]) -> Self {
            F32x16(transmute::<[f32; 16], __m512>(*from.first_chunk().expect("16 elements to load")))
        }
        fn load_wide(from: &[f32]) -> Pair<F64x8> {
            let [low, high] = transmute::<[f32; 16], [__m256; 2]>(*from.first_chunk().expect("16 elements to load"));
            Pair(F64x8(_mm512_cvtps_pd(low)), F64x8(_mm512_cvtps_pd(high)))
        }
        fn load_f16(from: &[f16]) -> Self {
            F32x16(_mm512_cvtph_ps(transmute::<[f16; 16], __m256i>(*from.first_chunk().expect("16 elements to load"))))
        }
        fn load_bf16(from: &[bf16]) -> Self {
            let halves = transmute::<[bf16; 16], __m256i>(*from.first_chunk().expect("16 elements to load"));
            F32x16(_mm512_castsi512_ps(_mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(halves))))
        }
        fn transposed(row: impl Fn(usize) -> [f32; TRANSPOSED]) -> [Self; TRANSPOSED] {
            let row = |i| transmute::<[f32; TRANSPOSED], __m256>(row(i));
            let mut rows = [_mm512_setzero_ps(); TRANSPOSED];
            for (i, rows) in rows.iter_mut().enumerate() {
                *rows = _mm512_insertf32x8::<1>(_mm512_castps256_ps512(row(i)), row(i + 8));
            }
            let [a, b, c, d, e, f, g, h] = rows;
            let ([a, b, c, d], [e, f, g, h]) = (transposed_quarters(a, b, c, d), transposed_quarters(e, f, g, h));
            let ([a, e], [b, f]) = (parted_quarters(a, e), parted_quarters(b, f));
            let ([c, g], [d, h]) = (parted_quarters(c, g), parted_quarters(d, h));
            transmute::<[__m512d; TRANSPOSED], [Self; TRANSPOSED]>([a, b, c, d, e, f, g, h])
        }
        fn store(self, to: &mut [f32]) {
            *to.first_chunk_mut().expect("room for 16 elements") = transmute::<__m512, [f32; 16]>(self.0);
        }
        fn element(self, index: usize) -> f32 { transmute::<__m512, [f32; 16]>(self.0)[index] }
        fn widen(self) -> Pair<F64x8> {
            let (low, high) = (_mm512_castps512_ps256(self.0), _mm512_extractf32x8_ps::<1>(self.0));
            Pair(F64x8(_mm512_cvtps_pd(low)), F64x8(_mm512_cvtps_pd(high)))
        }
    }
}

/// 16 `u32`.
#[derive(Clone, Copy)]
pub(crate) struct U32x16(pub(crate) __m512i);

operators!(U32x16: Add add _mm512_add_epi32, Sub sub _mm512_sub_epi32,
    BitAnd bitand _mm512_and_si512, BitOr bitor _mm512_or_si512, BitXor bitxor _mm512_xor_si512);

unary_operators!(U32x16: Not not |own| _mm512_xor_si512(own, _mm512_set1_epi32(-1)));

impl Bits for U32x16 {
    type Mask = __mmask16;

    instructions! {
        fn splat(x: u64) -> Self { U32x16(_mm512_set1_epi32(x as i32)) }
        fn eq(self, other: Self) -> __mmask16 { _mm512_cmpeq_epi32_mask(self.0, other.0) }
        fn signed_lt(self, other: Self) -> __mmask16 { _mm512_cmplt_epi32_mask(self.0, other.0) }
        fn select(mask: __mmask16, yes: Self, no: Self) -> Self { U32x16(_mm512_mask_blend_epi32(mask, no.0, yes.0)) }
    }
}

/// 8 `f64`.
#[derive(Clone, Copy)]
pub(crate) struct F64x8(pub(crate) __m512d);

operators!(F64x8: Add add _mm512_add_pd, Sub sub _mm512_sub_pd, Mul mul _mm512_mul_pd, Div div _mm512_div_pd);

impl Arithmetic for F64x8 {
    type Elem = f64;
    type Mask = __mmask8;

    instructions! {
        fn splat(x: f64) -> Self { F64x8(_mm512_set1_pd(x)) }
        fn mul_add(self, a: Self, b: Self) -> Self { F64x8(_mm512_fmadd_pd(self.0, a.0, b.0)) }
        fn abs(self) -> Self { F64x8(_mm512_abs_pd(self.0)) }
        fn min(self, other: Self) -> Self { F64x8(_mm512_min_pd(self.0, other.0)) }
        fn max(self, other: Self) -> Self { F64x8(_mm512_max_pd(self.0, other.0)) }
        fn lt(self, other: Self) -> __mmask8 { _mm512_cmp_pd_mask::<_CMP_LT_OQ>(self.0, other.0) }
        fn le(self, other: Self) -> __mmask8 { _mm512_cmp_pd_mask::<_CMP_LE_OQ>(self.0, other.0) }
        fn eq(self, other: Self) -> __mmask8 { _mm512_cmp_pd_mask::<_CMP_EQ_OQ>(self.0, other.0) }
        fn are_numbers(self, other: Self) -> __mmask8 {
            _mm512_cmp_pd_mask::<_CMP_ORD_Q>(self.0, other.0)
        }
        fn select(mask: __mmask8, yes: Self, no: Self) -> Self { F64x8(_mm512_mask_blend_pd(mask, no.0, yes.0)) }
    }
}

impl AsBits for F64x8 {
    type Bits = U64x8;

    instructions! {
        fn to_bits(self) -> U64x8 { U64x8(_mm512_castpd_si512(self.0)) }
        fn from_bits(bits: U64x8) -> Self { F64x8(_mm512_castsi512_pd(bits.0)) }
    }
}

impl Register for F64x8 {
    type Wide = Self;
    const LEN: usize = 8;

    #[inline(always)]
    fn widen(self) -> Self {
        self
    }

    instructions! {
        fn from_fn(element: impl FnMut(usize) -> f64) -> Self {
            F64x8(transmute::<[f64; 8], __m512d>(std::array::from_fn(element)))
        }
        fn load(from: &[f64]) -> Self {
            F64x8(transmute::<[f64; 8], __m512d>(*from.first_chunk().expect("8 elements to load")))
        }
        fn transposed(row: impl Fn(usize) -> [f64; TRANSPOSED]) -> [Self; TRANSPOSED] {
            let row = |i| transmute::<[f64; TRANSPOSED], [__m256d; 2]>(row(i));
            let mut columns = [Self(_mm512_setzero_pd()); TRANSPOSED];
            for (half, columns) in columns.chunks_exact_mut(4).enumerate() {
                let mut rows = [_mm512_setzero_pd(); 4];
                for (i, rows) in rows.iter_mut().enumerate() {
                    *rows = _mm512_insertf64x4::<1>(_mm512_castpd256_pd512(row(i)[half]), row(i + 4)[half]);
                }
                let [a, b, c, d] = rows;
                let [first, third] = parted_quarters(_mm512_unpacklo_pd(a, b), _mm512_unpacklo_pd(c, d));
                let [second, fourth] = parted_quarters(_mm512_unpackhi_pd(a, b), _mm512_unpackhi_pd(c, d));
                columns.copy_from_slice(&[first, second, third, fourth].map(Self));
            }
            columns
        }
        fn store(self, to: &mut [f64]) {
            *to.first_chunk_mut().expect("room for 8 elements") = transmute::<__m512d, [f64; 8]>(self.0);
        }
        fn element(self, index: usize) -> f64 { transmute::<__m512d, [f64; 8]>(self.0)[index] }
    }
}

/// 8 `u64`.
#[derive(Clone, Copy)]
pub(crate) struct U64x8(pub(crate) __m512i);

operators!(U64x8: Add add _mm512_add_epi64, Sub sub _mm512_sub_epi64,
    BitAnd bitand _mm512_and_si512, BitOr bitor _mm512_or_si512, BitXor bitxor _mm512_xor_si512);

unary_operators!(U64x8: Not not |own| _mm512_xor_si512(own, _mm512_set1_epi32(-1)));

impl Bits for U64x8 {
    type Mask = __mmask8;

    instructions! {
        fn splat(x: u64) -> Self { U64x8(_mm512_set1_epi64(x as i64)) }
        fn eq(self, other: Self) -> __mmask8 { _mm512_cmpeq_epi64_mask(self.0, other.0) }
        fn signed_lt(self, other: Self) -> __mmask8 { _mm512_cmplt_epi64_mask(self.0, other.0) }
        fn select(mask: __mmask8, yes: Self, no: Self) -> Self { U64x8(_mm512_mask_blend_epi64(mask, no.0, yes.0)) }
    }
}
