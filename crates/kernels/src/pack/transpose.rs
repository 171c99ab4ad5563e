//! Owns the transposing copy: square blocks that cross over in registers, so that neither side is touched element by
//! element. It does not know where the rows come from.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

use super::PackDim;
use crate::isa::Isa;

/// Bytes of a lane, whose elements cross over among themselves: all that instructions move elements within.
const LANE: usize = 16;

/// Whether so many rows and columns have a block between them.
pub(super) fn fits<T>(rows: usize, columns: usize) -> bool {
    let side = LANE / size_of::<T>();
    side > 1 && rows >= side && columns >= side
}

/// Copies rows that are next to each other where they are read to columns that are where they are written.
///
/// # Safety
/// As [`super::lines::Way`], with `rows.from` and `columns.to` of an element, of sizes that [`fits`] allows.
pub(super) unsafe fn copy<T>(isa: Isa, rows: &PackDim, columns: &PackDim, from: *const u8, to: *mut u8) {
    // SAFETY: the caller vouches for the elements, and for the instruction set.
    unsafe {
        match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 | Isa::Avx512 => with_avx2::<T>(rows, columns, from, to),
            _ => blocks::<T, Lane, Lane>(rows, columns, from, to),
        }
    }
}

/// # Safety
/// As [`copy`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn with_avx2<T>(rows: &PackDim, columns: &PackDim, from: *const u8, to: *mut u8) {
    // SAFETY: as the caller says.
    unsafe { blocks::<T, __m256i, Lane>(rows, columns, from, to) }
}

/// Copies in blocks of registers of type `R`, and what is left of the rows in blocks of the narrower type `S`. The last
/// blocks end with the rows and columns: what they have in common with others is copied twice.
///
/// # Safety
/// As [`copy`]; the processor has the instructions of both registers.
#[inline(always)]
unsafe fn blocks<T, R: Register, S: Register>(
    rows: &PackDim,
    columns: &PackDim,
    from: *const u8,
    to: *mut u8,
) {
    let side = LANE / size_of::<T>();
    let (wide, narrow) = (side * R::LANES, side * S::LANES);
    let mut column = 0;
    while column < columns.len {
        column = column.min(columns.len - side);
        let place = |row: usize| {
            let from = from.wrapping_offset(row as isize * rows.from + column as isize * columns.from);
            (from, to.wrapping_offset(row as isize * rows.to + column as isize * columns.to))
        };
        let mut row = 0;
        while row + wide <= rows.len {
            let (from, to) = place(row);
            // SAFETY: as many rows and columns from here are among those that the caller vouches for.
            unsafe { block::<T, R>(from, columns.from, to, rows.to) };
            row += wide;
        }
        while row < rows.len {
            row = row.min(rows.len - narrow);
            let (from, to) = place(row);
            // SAFETY: as above.
            unsafe { block::<T, S>(from, columns.from, to, rows.to) };
            row += narrow;
        }
        column += side;
    }
}

/// Transposes one square block for each lane: registers of elements that are next to each other, `from_step` bytes apart
/// where they are read; lanes `to_step` bytes apart where they are written.
///
/// Each stage interleaves the registers of the first half with those of the second; after as many stages as a side
/// has binary digits, every element has crossed over.
///
/// # Safety
/// As many registers as a lane has elements are readable, and all their lanes writable, at those distances;
/// the processor has the instructions.
#[inline(always)]
unsafe fn block<T, R: Register>(from: *const u8, from_step: isize, to: *mut u8, to_step: isize) {
    let side = LANE / size_of::<T>();
    let register = |at: usize| {
        // SAFETY: the caller vouches for this register's bytes, of which every pattern is a register.
        unsafe { from.wrapping_offset(at as isize * from_step).cast::<R>().read_unaligned() }
    };
    let mut registers = [register(0); LANE];
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
            // SAFETY: the register has the lane, any bytes of it are arrays of bytes, and the caller vouches for the place.
            unsafe { to.cast::<[u8; LANE]>().write(register.lane(lane)) };
        }
    }
}

/// Some lanes of bytes.
trait Register: Copy {
    const LANES: usize = size_of::<Self>() / LANE;

    /// Elements in turn from this register and the other, lane by lane: the lower half, then the upper one.
    ///
    /// # Safety
    /// The processor has the instructions.
    unsafe fn interleave<T>(self, other: Self) -> (Self, Self);

    /// The bytes of a lane.
    #[inline(always)]
    fn lane(&self, lane: usize) -> [u8; LANE] {
        assert!(lane < Self::LANES);
        // SAFETY: the lane lies inside the register, whose bytes are initialised.
        unsafe { std::ptr::from_ref(self).cast::<[u8; LANE]>().add(lane).read() }
    }
}

#[cfg(target_arch = "x86_64")]
type Lane = __m128i;

#[cfg(target_arch = "x86_64")]
macro_rules! registers {
    ($($register:ty: $low8:ident $high8:ident $low16:ident $high16:ident $low32:ident $high32:ident $low64:ident $high64:ident;)*) => {
        $(impl Register for $register {
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

/// The compiler makes instructions of it.
#[cfg(not(target_arch = "x86_64"))]
type Lane = [u8; LANE];

#[cfg(not(target_arch = "x86_64"))]
impl Register for Lane {
    #[inline(always)]
    unsafe fn interleave<T>(self, other: Self) -> (Self, Self) {
        let size = size_of::<T>();
        let byte = |half: usize| {
            move |at: usize| {
                let own = half * LANE / 2 + at / size / 2 * size + at % size;
                if at / size % 2 == 0 { self[own] } else { other[own] }
            }
        };
        (std::array::from_fn(byte(0)), std::array::from_fn(byte(1)))
    }
}
