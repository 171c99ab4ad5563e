//! Owns the transposing copy: square blocks that cross over in registers, so that neither side is touched element by
//! element. It does not know where the rows come from.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64 as arch;

use super::PackDim;

/// Copies rows that are next to each other where they are read to columns that are where they are written.
///
/// # Safety
/// As [`super::lines::Lines::copy`], with `rows.from` and `columns.to` of `N` bytes.
pub(super) unsafe fn copy<const N: usize>(rows: &PackDim, columns: &PackDim, from: *const u8, to: *mut u8) {
    let side = Register::BYTES / N;
    let (whole_rows, whole_columns) =
        if side < 2 { (0, 0) } else { (rows.len / side * side, columns.len / side * side) };
    for column in (0..whole_columns).step_by(side) {
        for row in (0..whole_rows).step_by(side) {
            let from = from.wrapping_offset(row as isize * rows.from + column as isize * columns.from);
            let to = to.wrapping_offset(row as isize * rows.to + column as isize * columns.to);
            // SAFETY: `side` rows and columns from here are among those that the caller vouches for, and a register
            // holds `side` elements, which are neighbours.
            unsafe { block::<N>(from, columns.from, to, rows.to) };
        }
    }
    let element = |row: usize, column: usize| {
        let from = from.wrapping_offset(row as isize * rows.from + column as isize * columns.from);
        let to = to.wrapping_offset(row as isize * rows.to + column as isize * columns.to);
        // SAFETY: the caller vouches for each element; arrays of bytes have no alignment.
        unsafe { to.cast::<[u8; N]>().write(from.cast::<[u8; N]>().read()) };
    };
    for column in 0..columns.len {
        let first = if column < whole_columns { whole_rows } else { 0 };
        (first..rows.len).for_each(|row| element(row, column));
    }
}

/// Transposes one square block: registers of elements that are next to each other, `from_step` bytes apart where they
/// are read, `to_step` where they are written.
///
/// Each stage interleaves the registers of the first half with those of the second; after as many stages as a side
/// has binary digits, every element has crossed over.
///
/// # Safety
/// As many registers as a register has elements of `N` bytes are readable, and writable, at those distances.
#[inline(always)]
unsafe fn block<const N: usize>(from: *const u8, from_step: isize, to: *mut u8, to_step: isize) {
    let side = Register::BYTES / N;
    // SAFETY: `read` is of the first register, which the caller vouches for.
    let mut registers = [unsafe { Register::load(from) }; Register::BYTES];
    for (at, register) in registers[..side].iter_mut().enumerate() {
        // SAFETY: the caller vouches for this register's bytes.
        *register = unsafe { Register::load(from.wrapping_offset(at as isize * from_step)) };
    }
    for _ in 0..side.ilog2() {
        let before = registers;
        for at in 0..side / 2 {
            (registers[2 * at], registers[2 * at + 1]) = before[at].interleave::<N>(before[at + side / 2]);
        }
    }
    for (at, register) in registers[..side].iter().enumerate() {
        // SAFETY: the caller vouches for this register's bytes.
        unsafe { register.store(to.wrapping_offset(at as isize * to_step)) };
    }
}

/// 16 bytes, with the instructions that every processor of the architecture has.
#[derive(Clone, Copy)]
struct Register(Bytes);

#[cfg(target_arch = "x86_64")]
type Bytes = arch::__m128i;
#[cfg(not(target_arch = "x86_64"))]
type Bytes = [u8; 16];

impl Register {
    const BYTES: usize = size_of::<Bytes>();

    /// # Safety
    /// The bytes are readable.
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Register {
        // SAFETY: the caller vouches for the bytes, of which every pattern is a register.
        Register(unsafe { from.cast::<Bytes>().read_unaligned() })
    }

    /// # Safety
    /// The bytes are writable.
    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: the caller vouches for the bytes.
        unsafe { to.cast::<Bytes>().write_unaligned(self.0) }
    }

    /// Elements of `N` bytes in turn from this register and the other: the lower half of them, then the upper one.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn interleave<const N: usize>(self, other: Register) -> (Register, Register) {
        let (a, b) = (self.0, other.0);
        // SAFETY: every processor of the architecture has SSE2.
        let (low, high) = unsafe {
            match N {
                1 => (arch::_mm_unpacklo_epi8(a, b), arch::_mm_unpackhi_epi8(a, b)),
                2 => (arch::_mm_unpacklo_epi16(a, b), arch::_mm_unpackhi_epi16(a, b)),
                4 => (arch::_mm_unpacklo_epi32(a, b), arch::_mm_unpackhi_epi32(a, b)),
                _ => (arch::_mm_unpacklo_epi64(a, b), arch::_mm_unpackhi_epi64(a, b)),
            }
        };
        (Register(low), Register(high))
    }

    #[cfg(not(target_arch = "x86_64"))]
    #[inline(always)]
    fn interleave<const N: usize>(self, other: Register) -> (Register, Register) {
        let (a, b) = (self.0, other.0);
        let byte = |half: usize| {
            move |at: usize| {
                let element = half * (8 / N) + at / N / 2;
                if at / N % 2 == 0 { a[element * N + at % N] } else { b[element * N + at % N] }
            }
        };
        (Register(std::array::from_fn(byte(0))), Register(std::array::from_fn(byte(1))))
    }
}
