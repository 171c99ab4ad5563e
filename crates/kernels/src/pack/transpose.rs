//! Owns the transposing copy: square blocks are transposed in registers, so that neither side is accessed
//! element by element. It does not know where the rows come from. Power-of-two strides alias in L1: there a
//! transposed copy evicts its lines before it has filled them, and blocks go in squares of one line on both
//! sides instead.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;
#[cfg(target_arch = "x86_64")]
use std::mem::transmute;

use super::dim::PackDim;
use crate::isa::{CACHE_LINE_BYTES, Isa, prefetch};

/// Whether there is a block of at most so many rows and columns.
pub(super) fn fits<T>(rows: usize, columns: usize) -> bool {
    match size_of::<T>() {
        1 | 2 => HalfLane::fits::<T>(rows, columns),
        _ => Lane128::side::<T>() > 1 && Lane128::fits::<T>(rows, columns),
    }
}

/// The rows and columns of the largest block for so many, in the largest registers that any processor has.
pub(super) fn block<T>(rows: usize, columns: usize) -> [usize; 2] {
    debug_assert!(fits::<T>(rows, columns));
    #[cfg(target_arch = "x86_64")]
    if size_of::<T>() >= 4 && Register512::fits::<T>(rows, columns) {
        return Register512::block::<T>();
    }
    #[cfg(target_arch = "x86_64")]
    if __m256i::fits::<T>(rows, columns) {
        return __m256i::block::<T>();
    }
    if Lane128::fits::<T>(rows, columns) { Lane128::block::<T>() } else { HalfLane::block::<T>() }
}

/// Copies rows that are contiguous where they are read to columns that are contiguous where they are written.
///
/// # Safety
/// As [`super::plane::CopyFn`], with `rows.from` and `columns.to` of an element, of sizes that [`fits`]
/// allows.
pub(super) unsafe fn copy<T>(isa: Isa, rows: &PackDim, columns: &PackDim, from: *const u8, to: *mut u8) {
    // SAFETY: the caller vouches for the elements, and for the instruction set.
    unsafe {
        match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 if size_of::<T>() >= 4 && Register512::fits::<T>(rows.len, columns.len) => {
                with_avx512::<T>(rows, columns, from, to);
            }
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 | Isa::Avx512 if __m256i::fits::<T>(rows.len, columns.len) => {
                with_avx2::<T>(rows, columns, from, to);
            }
            _ if Lane128::fits::<T>(rows.len, columns.len) => blocks::<T, Lane128>(rows, columns, from, to),
            _ => blocks::<T, HalfLane>(rows, columns, from, to),
        }
    }
}

/// # Safety
/// As [`copy`], of sizes that the registers allow.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
unsafe fn with_avx512<T>(rows: &PackDim, columns: &PackDim, from: *const u8, to: *mut u8) {
    // SAFETY: as the caller says.
    unsafe { blocks::<T, Register512>(rows, columns, from, to) }
}

/// # Safety
/// As [`copy`], of sizes that the registers allow.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn with_avx2<T>(rows: &PackDim, columns: &PackDim, from: *const u8, to: *mut u8) {
    // SAFETY: as the caller says.
    unsafe { blocks::<T, __m256i>(rows, columns, from, to) }
}

/// Copies in blocks, the last of which overlap those before.
///
/// # Safety
/// As [`copy`], of sizes that the registers allow; the processor has their instructions.
#[inline(always)]
unsafe fn blocks<T, R: TransposeRegister>(rows: &PackDim, columns: &PackDim, from: *const u8, to: *mut u8) {
    let side = R::side::<T>();
    let square = if is_crowded(rows.to) { CACHE_LINE_BYTES / size_of::<T>() } else { usize::MAX };
    let apart = columns.from.unsigned_abs() >= CACHE_LINE_BYTES;
    let of = |first: usize, dim: &PackDim| first..dim.len.min(first.saturating_add(square));
    for first_column in (0..columns.len).step_by(square) {
        for first_row in (0..rows.len).step_by(square) {
            for column in of(first_column, columns).step_by(side) {
                let far = column + PREFETCH_BLOCKS * side;
                let is_asked = apart && far < columns.len;
                let ahead = if is_asked { (PREFETCH_BLOCKS * side) as isize * columns.from } else { 0 };
                let column = column.min(columns.len - side) as isize;
                for row in of(first_row, rows).step_by(side * R::LANES) {
                    let row = row.min(rows.len - side * R::LANES) as isize;
                    let from = from.wrapping_offset(row * rows.from + column * columns.from);
                    let to = to.wrapping_offset(row * rows.to + column * columns.to);
                    // SAFETY: as many rows and columns from here are among those that the caller vouches for.
                    unsafe { cross::<T, R>(from, (columns.from, ahead), to, rows.to) };
                }
            }
        }
    }
}

/// Whether lines so many bytes apart alias in L1, but so few of them that a square's lines fit. Where not
/// even these fit, squares gain nothing.
fn is_crowded(apart: isize) -> bool {
    let apart = apart.unsigned_abs();
    apart.is_multiple_of(8 * CACHE_LINE_BYTES) && !apart.is_multiple_of(64 * CACHE_LINE_BYTES)
}

/// Transposes one square block for each lane: contiguous registers, `from_step` bytes apart where they are
/// read; lanes `to_step` bytes apart where they are written. If `ahead` is not 0, the block so many bytes
/// ahead is prefetched.
///
/// Each stage interleaves the registers of the first half with those of the second. After log2(side) stages
/// the block is transposed.
///
/// # Safety
/// As many registers as a lane has elements are readable, and all their lanes writable, at those distances;
/// the processor has the instructions.
#[inline(always)]
unsafe fn cross<T, R: TransposeRegister>(
    from: *const u8,
    (from_step, ahead): (isize, isize),
    to: *mut u8,
    to_step: isize,
) {
    let side = R::side::<T>();
    if ahead != 0 {
        (0..side as isize).for_each(|at| prefetch::<1>(from.wrapping_offset(at * from_step + ahead)));
    }
    let register = |at: usize| {
        // SAFETY: the caller vouches for this register's bytes; any bits are a register.
        unsafe { from.wrapping_offset(at as isize * from_step).cast::<R>().read_unaligned() }
    };
    let mut registers = [register(0); MAX_SIDE];
    for (at, own) in registers[..side].iter_mut().enumerate() {
        *own = register(at);
    }
    for _ in 0..side.ilog2() {
        let before = registers;
        for at in 0..side / 2 {
            // SAFETY: the processor has the instructions.
            let pair = unsafe { before[at].interleave::<T>(before[at + side / 2]) };
            (registers[2 * at], registers[2 * at + 1]) = pair;
        }
    }
    for (at, register) in registers[..side].iter().enumerate() {
        for lane in 0..R::LANES {
            let to = to.wrapping_offset((lane * side + at) as isize * to_step);
            // SAFETY: the lane lies inside the register, and the caller vouches for its place.
            unsafe {
                to.cast::<R::Lane>().write_unaligned(
                    std::ptr::from_ref(register).cast::<R::Lane>().add(lane).read_unaligned(),
                )
            };
        }
    }
}

/// Blocks ahead that are prefetched where each column has lines of its own, which the hardware may not
/// prefetch.
const PREFETCH_BLOCKS: usize = 2;

/// The longest side of a block.
const MAX_SIDE: usize = 16;

/// A register of bytes, in lanes; any bits are a register.
trait TransposeRegister: Copy {
    /// The part of a register that instructions move elements within.
    type Lane: Copy;
    const LANES: usize = size_of::<Self>() / size_of::<Self::Lane>();

    /// Elements of a lane, and registers of a block.
    fn side<T>() -> usize {
        size_of::<Self::Lane>() / size_of::<T>()
    }

    /// Rows and columns of a block.
    fn block<T>() -> [usize; 2] {
        [Self::side::<T>() * Self::LANES, Self::side::<T>()]
    }

    fn fits<T>(rows: usize, columns: usize) -> bool {
        let [tall, wide] = Self::block::<T>();
        rows >= tall && columns >= wide
    }

    /// Elements of this register and the other alternately, lane by lane: of the lower half, then of the
    /// upper half.
    ///
    /// # Safety
    /// The processor has the instructions.
    unsafe fn interleave<T>(self, other: Self) -> (Self, Self);
}

#[cfg(target_arch = "x86_64")]
type Lane128 = __m128i;

#[cfg(target_arch = "x86_64")]
macro_rules! registers {
    ($($register:ty: $low8:ident $high8:ident $low16:ident $high16:ident $low32:ident $high32:ident $low64:ident $high64:ident;)*) => {
        $(impl TransposeRegister for $register {
            type Lane = Lane128;

            #[inline(always)]
            unsafe fn interleave<T>(self, other: Self) -> (Self, Self) {
                // SAFETY: the caller vouches for the instructions.
                unsafe {
                    match size_of::<T>() {
                        1 => ($low8(self, other), $high8(self, other)),
                        2 => ($low16(self, other), $high16(self, other)),
                        4 => ($low32(self, other), $high32(self, other)),
                        _ => ($low64(self, other), $high64(self, other)),
                    }
                }
            }
        })*
    };
}

#[cfg(target_arch = "x86_64")]
registers! {
    __m128i: _mm_unpacklo_epi8 _mm_unpackhi_epi8 _mm_unpacklo_epi16 _mm_unpackhi_epi16
        _mm_unpacklo_epi32 _mm_unpackhi_epi32 _mm_unpacklo_epi64 _mm_unpackhi_epi64;
    __m256i: _mm256_unpacklo_epi8 _mm256_unpackhi_epi8 _mm256_unpacklo_epi16 _mm256_unpackhi_epi16
        _mm256_unpacklo_epi32 _mm256_unpackhi_epi32 _mm256_unpacklo_epi64 _mm256_unpackhi_epi64;
}

/// A register of AVX-512 as one lane of elements of 4 or 8 bytes, so that whole cache lines are read and
/// written.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
struct Register512(__m512i);

#[cfg(target_arch = "x86_64")]
impl TransposeRegister for Register512 {
    type Lane = Register512;

    #[inline(always)]
    unsafe fn interleave<T>(self, other: Self) -> (Self, Self) {
        // Indices into both registers: those of the other one follow those of this one.
        const EIGHTS: [[u64; 8]; 2] = [[0, 8, 1, 9, 2, 10, 3, 11], [4, 12, 5, 13, 6, 14, 7, 15]];
        const FOURTHS: [[u32; 16]; 2] = [
            [0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23],
            [8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31],
        ];
        // SAFETY: the caller vouches for the instructions; any bits are a register.
        let half = |half: usize| unsafe {
            Register512(match size_of::<T>() {
                4 => {
                    _mm512_permutex2var_epi32(self.0, transmute::<[u32; 16], __m512i>(FOURTHS[half]), other.0)
                }
                _ => _mm512_permutex2var_epi64(self.0, transmute::<[u64; 8], __m512i>(EIGHTS[half]), other.0),
            })
        };
        (half(0), half(1))
    }
}

/// Half a lane, for blocks of elements of 1 or 2 bytes that do not fill a whole one.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
struct HalfLane(u64);

#[cfg(target_arch = "x86_64")]
impl TransposeRegister for HalfLane {
    type Lane = HalfLane;

    #[inline(always)]
    unsafe fn interleave<T>(self, other: Self) -> (Self, Self) {
        // SAFETY: SSE2 is part of x86-64.
        unsafe {
            let (own, other) =
                (_mm_cvtsi64_si128(self.0.cast_signed()), _mm_cvtsi64_si128(other.0.cast_signed()));
            let both = match size_of::<T>() {
                1 => _mm_unpacklo_epi8(own, other),
                _ => _mm_unpacklo_epi16(own, other),
            };
            let half = |lane: __m128i| HalfLane(_mm_cvtsi128_si64(lane).cast_unsigned());
            (half(both), half(_mm_unpackhi_epi64(both, both)))
        }
    }
}

/// The compiler makes NEON instructions of it.
#[cfg(not(target_arch = "x86_64"))]
type Lane128 = [u8; 16];

/// NEON has no half of it that the compiler would use.
#[cfg(not(target_arch = "x86_64"))]
type HalfLane = Lane128;

#[cfg(not(target_arch = "x86_64"))]
impl TransposeRegister for Lane128 {
    type Lane = Lane128;

    #[inline(always)]
    unsafe fn interleave<T>(self, other: Self) -> (Self, Self) {
        let size = size_of::<T>();
        let byte = |half: usize| {
            move |at: usize| {
                let own = half * size_of::<Lane128>() / 2 + at / size / 2 * size + at % size;
                if (at / size).is_multiple_of(2) { self[own] } else { other[own] }
            }
        };
        (std::array::from_fn(byte(0)), std::array::from_fn(byte(1)))
    }
}
