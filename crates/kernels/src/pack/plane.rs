//! Owns copies of two dimensions: which loop is the cheapest, and the loops that need no shuffles. It does
//! not know other dimensions.

use std::mem::{MaybeUninit, transmute_copy};

use super::dim::PackDim;
use super::fixed::{self, CopyFn};
use super::row::copy_row;
use super::transpose;
use crate::isa::{self, CACHE_LINE_BYTES, Isa, Task, prefetch};

/// Rows of columns and a loop that copies them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plane {
    pub(super) rows: PackDim,
    pub(super) columns: PackDim,
    pub(super) way: CopyFn,
    /// Estimated cycles an element.
    pub(super) cost: f64,
}

/// Cache lines that are probably still in L1 when they are used again.
const L1_LINES: usize = 128;

impl Plane {
    /// The cheapest loop for columns, row by row, which are two of all dimensions of a copy; `far` if they
    /// are not in cache.
    pub(super) fn new<T: Copy + 'static>(
        rows: PackDim,
        columns: PackDim,
        all: &[PackDim],
        far: bool,
    ) -> Plane {
        let size = size_of::<T>();
        let (item, len) = (size as isize, columns.len as f64);
        // A line that is evicted before its other elements are used is fetched again. Both sides share the
        // cache.
        let held =
            crossed(&rows, &columns, all, |dim| dim.from) + crossed(&rows, &columns, all, |dim| dim.to);
        let again = if held > L1_LINES { 4.0 } else { 0.0 };
        // Estimated cycles an element, as measured in L1.
        let bytes = size as f64 / 32.0;
        let mut best = match fixed::few::<T>(columns.len) {
            Some(few) => Plane { rows, columns, way: few, cost: 1.1 + 1.5 / len + again },
            None => Plane { rows, columns, way: strided::<T>, cost: 1.1 + 5.0 / len + again },
        };
        let mut offer = |way: CopyFn, cost: f64| {
            if cost < best.cost {
                best = Plane { way, cost, ..best };
            }
        };
        if columns.to != item {
            return best;
        }
        match columns.from {
            0 => offer(splat::<T>, bytes + 3.0 / len),
            from if from == item && columns.len * size >= 4 => {
                let whole = if far { whole::<T, true> } else { whole::<T, false> };
                offer(whole, bytes + 3.0 / len);
            }
            from if from % item == 0 => {
                if let Some(stepped) = fixed::stepped::<T>(from / item) {
                    // The gaps are near, and the hardware prefetches them.
                    offer(stepped, 0.15 + 2.0 * bytes + 10.0 / len);
                }
            }
            _ => {}
        }
        let all = len * rows.len as f64;
        if rows.from == item && rows.to == (columns.len * size) as isize {
            let of_few = if columns.from == 0 { fixed::repeated::<T> } else { fixed::interleaved::<T> };
            if let Some(few) = of_few(columns.len) {
                offer(few, 0.1 + 2.0 * bytes + 0.03 * len + 10.0 / all);
            }
        }
        if transpose::fits::<T>(rows.len, columns.len) {
            let [tall, wide] = transpose::block::<T>(rows.len, columns.len);
            // The last blocks overlap those before.
            let copied = (rows.len.next_multiple_of(tall) * columns.len.next_multiple_of(wide)) as f64;
            let cost = (0.1 + 2.0 * bytes + 3.0 / (tall * wide) as f64) * copied / all + 10.0 / all;
            if rows.from == item {
                offer(transpose::copy::<T>, cost);
            } else if rows.from == -item {
                offer(turned::<T>, cost);
            } else if rows.from % item == 0 && fixed::stepped::<T>(rows.from / item).is_some() {
                let before = 0.15 + 2.0 * bytes + 10.0 / rows.len.min(square::<T>()) as f64;
                offer(in_two::<T>, cost + before + 10.0 / square::<T>() as f64);
            }
        }
        best
    }
}

/// The lines that columns touch on a side before another dimension uses other elements of them; 0 if none
/// does.
fn crossed(rows: &PackDim, columns: &PackDim, all: &[PackDim], distance: fn(&PackDim) -> isize) -> usize {
    let apart = |dim: &PackDim| distance(dim).unsigned_abs().min(CACHE_LINE_BYTES);
    let own = apart(columns);
    match columns.len * own / CACHE_LINE_BYTES {
        _ if !all.iter().any(|dim| apart(dim) < own) => 0,
        lines if apart(rows) < CACHE_LINE_BYTES => lines,
        lines => lines * rows.len,
    }
}

/// Bytes of a square that is gathered before it is transposed: it fits into L1.
const SQUARE_BYTES: usize = 8 << 10;

/// Rows and columns of the square.
const fn square<T>() -> usize {
    if size_of::<T>() <= 2 { 64 } else { 32 }
}

/// Transposes rows that are read in reverse: the last one comes first on both sides.
///
/// # Safety
/// As [`transpose::copy`], with rows of the opposite distance.
unsafe fn turned<T>(isa: Isa, rows: &PackDim, columns: &PackDim, from: *const u8, to: *mut u8) {
    let before = rows.len as isize - 1;
    let (from, to) = (from.wrapping_offset(before * rows.from), to.wrapping_offset(before * rows.to));
    let rows = PackDim { len: rows.len, from: -rows.from, to: -rows.to };
    // SAFETY: these are the same elements on both sides.
    unsafe { transpose::copy::<T>(isa, &rows, columns, from, to) }
}

/// Gathers strided rows into a contiguous square, then transposes the square. The last squares overlap those
/// before.
///
/// # Safety
/// As [`CopyFn`], with a row distance that has a strided loop, columns contiguous where they are written, and
/// at least as many of both as a transposed block has.
unsafe fn in_two<T: Copy + 'static>(
    isa: Isa,
    rows: &PackDim,
    columns: &PackDim,
    from: *const u8,
    to: *mut u8,
) {
    let item = size_of::<T>() as isize;
    let mut between = MaybeUninit::<[u64; SQUARE_BYTES / size_of::<u64>()]>::uninit();
    let between = between.as_mut_ptr().cast::<u8>();
    let (tall, wide) = (rows.len.min(square::<T>()), columns.len.min(square::<T>()));
    let own = tall as isize * item;
    let Some(stepped) = fixed::stepped::<T>(rows.from / item) else { return };
    let lines = PackDim { len: wide, from: columns.from, to: own };
    let line = PackDim { len: tall, from: rows.from, to: item };
    let read = PackDim { len: tall, from: item, to: rows.to };
    let written = PackDim { len: wide, from: own, to: item };
    for column in (0..columns.len).step_by(wide) {
        let column = column.min(columns.len - wide) as isize;
        for row in (0..rows.len).step_by(tall) {
            let row = row.min(rows.len - tall) as isize;
            let from = from.wrapping_offset(row * rows.from + column * columns.from);
            let to = to.wrapping_offset(row * rows.to + column * columns.to);
            // SAFETY: as many rows and columns from here are among those that the caller vouches for; the
            // square of elements of up to 8 bytes, for there are no steps of larger ones, has room for them,
            // and the first copy initialises all that the second one reads. The distances are those that the
            // loop and the blocks are for.
            unsafe {
                stepped(isa, &lines, &line, from, between);
                transpose::copy::<T>(isa, &read, &written, between, to);
            }
        }
    }
}

/// Rows ahead that are prefetched: enough for the latency of memory.
const PREFETCH_ROWS: isize = 16;

/// # Safety
/// As [`CopyFn`], with columns contiguous on both sides.
unsafe fn whole<T, const FAR: bool>(_: Isa, rows: &PackDim, columns: &PackDim, from: *const u8, to: *mut u8) {
    let width = columns.len * size_of::<T>();
    for row in 0..rows.len as isize {
        let (from, to) = (from.wrapping_offset(row * rows.from), to.wrapping_offset(row * rows.to));
        if FAR {
            prefetch::<{ 2 * CACHE_LINE_BYTES }>(from.wrapping_offset(PREFETCH_ROWS * rows.from));
        }
        // SAFETY: a row's columns fill `width` bytes on both sides, which do not overlap.
        unsafe {
            match width {
                // A call of `memcpy` takes longer than these.
                64..=256 => ends::<64>(from, to, width),
                16..64 => ends::<16>(from, to, width),
                8..16 => ends::<8>(from, to, width),
                4..8 => ends::<4>(from, to, width),
                _ => copy_row(from, to, width),
            }
        }
    }
}

/// Copies pieces of `P` bytes; the last one overlaps the one before.
///
/// # Safety
/// `width` bytes, at least `P`, are readable and writable and do not overlap.
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

/// Bytes of one store of a repeated element.
const SPLAT_BYTES: usize = 32;

/// # Safety
/// As [`CopyFn`], with one element for each row, and columns contiguous where they are written.
unsafe fn splat<T: Copy>(isa: Isa, rows: &PackDim, columns: &PackDim, from: *const u8, to: *mut u8) {
    let splat = FillRows { rows: *rows, columns: columns.len, from: from.cast::<T>(), to };
    // SAFETY: the caller vouches for the instruction set, and for what the task copies.
    unsafe { isa::run_with(isa, splat) }
}

/// Rows of the same element, contiguous where they are written.
struct FillRows<T> {
    rows: PackDim,
    columns: usize,
    from: *const T,
    to: *mut u8,
}

impl<T: Copy> Task for FillRows<T> {
    #[inline(always)]
    fn run(self) {
        let FillRows { rows, columns, from, to } = self;
        let width = columns * size_of::<T>();
        let dense = rows.to == width as isize;
        for row in 0..rows.len {
            let place = to.wrapping_offset(row as isize * rows.to);
            // SAFETY: the maker of the task vouches for the element.
            let element = unsafe { from.wrapping_byte_offset(row as isize * rows.from).read_unaligned() };
            // SAFETY: the array has at least as many bytes, all of them initialised.
            let piece: [u8; SPLAT_BYTES] = unsafe { transmute_copy(&[element; SPLAT_BYTES]) };
            if width >= SPLAT_BYTES {
                // Aligned stores, if elements are aligned: none crosses a cache line.
                let ahead = place.addr().wrapping_neg() % SPLAT_BYTES;
                let mut at = if ahead.is_multiple_of(size_of::<T>()) { ahead } else { SPLAT_BYTES };
                // SAFETY: each piece lies in the row.
                unsafe {
                    place.cast::<[u8; SPLAT_BYTES]>().write(piece);
                    while at < width - SPLAT_BYTES {
                        place.add(at).cast::<[u8; SPLAT_BYTES]>().write(piece);
                        at += SPLAT_BYTES;
                    }
                    place.add(width - SPLAT_BYTES).cast::<[u8; SPLAT_BYTES]>().write(piece);
                }
            } else if dense && (rows.len - row) * width >= SPLAT_BYTES {
                // SAFETY: the piece lies in this row and in rows that are written later.
                unsafe { place.cast::<[u8; SPLAT_BYTES]>().write(piece) }
            } else {
                for column in 0..columns {
                    // SAFETY: the column is in this row.
                    unsafe { place.cast::<T>().add(column).write_unaligned(element) }
                }
            }
        }
    }
}

/// # Safety
/// As [`CopyFn`].
unsafe fn strided<T>(_: Isa, rows: &PackDim, columns: &PackDim, from: *const u8, to: *mut u8) {
    for row in 0..rows.len as isize {
        let (from, to) = (from.wrapping_offset(row * rows.from), to.wrapping_offset(row * rows.to));
        for at in 0..columns.len as isize {
            let element = from.wrapping_offset(at * columns.from).cast::<T>();
            // SAFETY: the caller vouches for every element and its place.
            unsafe {
                to.wrapping_offset(at * columns.to).cast::<T>().write_unaligned(element.read_unaligned())
            };
        }
    }
}
