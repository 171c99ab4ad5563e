//! Owns copies of two dimensions: which of the ways to copy fits the distances, and all ways but the transposing one.

use super::PackDim;
use super::transpose;

/// Rows of columns, elements of `N` bytes.
pub(super) struct Lines<const N: usize> {
    rows: PackDim,
    columns: PackDim,
    way: Way,
}

enum Way {
    /// Columns next to each other on both sides.
    Whole,
    /// One element to all columns of a row, which are next to each other.
    Repeat,
    /// Rows next to each other where they are read, columns where they are written.
    Transpose,
    Strided,
}

/// Bytes that are written at once where one element is repeated.
const SPLAT: usize = 32;

impl<const N: usize> Lines<N> {
    pub(super) fn new(rows: PackDim, columns: PackDim) -> Lines<N> {
        let item = N as isize;
        // Columns are what is next to each other where it is written, or else the longer side.
        let swaps = match (rows.to == item && rows.len > 1, columns.to == item) {
            (true, false) => true,
            (false, true) => false,
            _ => rows.len > columns.len,
        };
        let (rows, columns) = if swaps { (columns, rows) } else { (rows, columns) };
        let way = match columns.from {
            _ if columns.to != item => Way::Strided,
            from if from == item => Way::Whole,
            0 => Way::Repeat,
            _ if rows.from == item && rows.len > 1 => Way::Transpose,
            _ => Way::Strided,
        };
        Lines { rows, columns, way }
    }

    /// # Safety
    /// All elements of the rows are readable and initialised from `from`, and the caller's to write from `to`; the
    /// latter overlap none of the former.
    pub(super) unsafe fn copy(&self, from: *const u8, to: *mut u8) {
        let Lines { rows, columns, way } = self;
        // SAFETY: each way reads and writes the elements of `rows` and `columns` and no others.
        unsafe {
            match way {
                Way::Whole => whole::<N>(rows, columns.len, from, to),
                Way::Repeat => repeat::<N>(rows, columns.len, from, to),
                Way::Transpose => transpose::copy::<N>(rows, columns, from, to),
                Way::Strided => strided::<N>(rows, columns, from, to),
            }
        }
    }
}

/// # Safety
/// As [`Lines::copy`], columns next to each other on both sides.
unsafe fn whole<const N: usize>(rows: &PackDim, columns: usize, from: *const u8, to: *mut u8) {
    let width = columns * N;
    for row in 0..rows.len as isize {
        let (from, to) = (from.wrapping_offset(row * rows.from), to.wrapping_offset(row * rows.to));
        // SAFETY: a row's columns fill `width` bytes on both sides, apart from each other.
        unsafe {
            match width {
                // A call of the C library takes longer than these.
                16..=64 => ends::<16>(from, to, width),
                8..16 => ends::<8>(from, to, width),
                4..8 => ends::<4>(from, to, width),
                _ => from.copy_to_nonoverlapping(to, width),
            }
        }
    }
}

/// Copies pieces of `P` bytes, the last of which ends with the row.
///
/// # Safety
/// `width` bytes, at least `P`, are readable and writable, apart from each other.
#[inline(always)]
unsafe fn ends<const P: usize>(from: *const u8, to: *mut u8, width: usize) {
    let piece = |at: usize| {
        // SAFETY: the piece ends inside the row; arrays of bytes have no alignment.
        unsafe { to.add(at).cast::<[u8; P]>().write(from.add(at).cast::<[u8; P]>().read()) }
    };
    for at in (0..width - P).step_by(P) {
        piece(at);
    }
    piece(width - P);
}

/// # Safety
/// As [`Lines::copy`], one element for each row, columns next to each other where they are written.
unsafe fn repeat<const N: usize>(rows: &PackDim, columns: usize, from: *const u8, to: *mut u8) {
    let width = columns * N;
    let dense = rows.to == width as isize;
    for row in 0..rows.len {
        let place = to.wrapping_offset(row as isize * rows.to);
        // SAFETY: the caller vouches for the element.
        let element = unsafe { from.wrapping_offset(row as isize * rows.from).cast::<[u8; N]>().read() };
        let splat = splat(element);
        let write = |at: usize| {
            // SAFETY: called where the whole splat lies in this row, or in this and rows that are written after it.
            unsafe { place.add(at).cast::<[u64; SPLAT / 8]>().write_unaligned(splat) }
        };
        if width >= SPLAT {
            (0..width - SPLAT).step_by(SPLAT).for_each(write);
            write(width - SPLAT);
        } else if dense && (rows.len - row) * width >= SPLAT {
            write(0);
        } else {
            for column in 0..columns {
                // SAFETY: the column is in this row.
                unsafe { place.add(column * N).cast::<[u8; N]>().write(element) }
            }
        }
    }
}

/// An element again and again.
#[inline(always)]
fn splat<const N: usize>(element: [u8; N]) -> [u64; SPLAT / 8] {
    let mut bytes = [0; 16];
    bytes[..N].copy_from_slice(&element);
    // The small elements are the low end of a word, whose multiples hold it at every place.
    let [low, high] = [0, 8].map(|at| u64::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte])));
    match N {
        16 => [low, high, low, high],
        8 => [low; 4],
        4 => [low * 0x1_0000_0001; 4],
        2 => [low * 0x1_0001_0001_0001; 4],
        _ => [low * 0x101_0101_0101_0101; 4],
    }
    .map(u64::to_le)
}

/// Elements below which a line is hardly a loop.
const SHORT: usize = 8;

/// # Safety
/// As [`Lines::copy`].
unsafe fn strided<const N: usize>(rows: &PackDim, columns: &PackDim, from: *const u8, to: *mut u8) {
    // Along the smaller distances, so that a cache line is used up while it is at hand.
    let far = |dim: &PackDim| (dim.len < SHORT, dim.from.unsigned_abs() + dim.to.unsigned_abs());
    let (outer, inner) = if far(rows) < far(columns) { (columns, rows) } else { (rows, columns) };
    let item = N as isize;
    for at in 0..outer.len as isize {
        let (from, to) = (from.wrapping_offset(at * outer.from), to.wrapping_offset(at * outer.to));
        // SAFETY: the lines are of the elements that the caller vouches for. Of distances that are constants the compiler
        // makes instructions on registers.
        unsafe {
            if (inner.from, inner.to) == (-item, item) {
                line::<N>(inner.len, (-item, item), from, to);
            } else {
                line::<N>(inner.len, (inner.from, inner.to), from, to);
            }
        }
    }
}

/// # Safety
/// `len` elements at the first distance are readable, and writable at the second, apart from each other.
#[inline(always)]
unsafe fn line<const N: usize>(len: usize, steps: (isize, isize), from: *const u8, to: *mut u8) {
    for at in 0..len as isize {
        let element = from.wrapping_offset(at * steps.0).cast::<[u8; N]>();
        // SAFETY: the caller vouches for every element and its place; arrays of bytes have no alignment.
        unsafe { to.wrapping_offset(at * steps.1).cast::<[u8; N]>().write(element.read()) };
    }
}
