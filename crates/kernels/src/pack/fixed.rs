//! Owns the copy loops whose distance or size is a constant, so that the compiler vectorises them with
//! shuffles, for each instruction set, or unrolls them. It does not know when they pay (`plane.rs`).

use std::hint::black_box;
use std::marker::PhantomData;

use super::dim::PackDim;
use crate::isa::{self, Isa, Task};

/// A copy of rows of columns, from the address of the first element that is read to that of the first that is
/// written.
///
/// # Safety
/// All elements of the rows are readable and initialised, and the caller's to write where they are written;
/// no element of one side overlaps one of the other. The distances are those that the loop is for, and the
/// processor has the instruction set.
pub(super) type CopyFn = unsafe fn(Isa, &PackDim, &PackDim, *const u8, *mut u8);

/// The dimensions of a copy, and the addresses of its first element.
struct Addressed {
    rows: PackDim,
    columns: PackDim,
    from: *const u8,
    to: *mut u8,
}

impl Addressed {
    /// The first column of a row, where it is read and where it is written.
    #[inline(always)]
    fn row<T>(&self, row: usize) -> (*const T, *mut T) {
        let Addressed { rows, from, to, .. } = self;
        let row = row as isize;
        (from.wrapping_offset(row * rows.from).cast(), to.wrapping_offset(row * rows.to).cast())
    }
}

/// The loop for each constant.
macro_rules! loops {
    ($value:expr, $task:ident<$element:ident>: $($constant:literal)*) => {
        match $value {
            $($constant => Some((|isa, rows, columns, from, to| {
                let copy = Addressed { rows: *rows, columns: *columns, from, to };
                // SAFETY: the caller vouches for the instruction set, and for what the task copies.
                unsafe { isa::run_with(isa, $task::<$element, $constant>(copy, PhantomData)) }
            }) as CopyFn),)*
            _ => None,
        }
    };
}

/// Rows whose columns are `step` elements apart where they are read, and contiguous where they are written.
pub(super) fn stepped<T: 'static>(step: isize) -> Option<CopyFn> {
    match size_of::<T>() {
        // A register holds too few 8-byte elements for larger steps.
        8 => loops!(step, CopyStepped<T>: -1 2 3),
        4 => loops!(step, CopyStepped<T>: -1 2 3 4 5 6 7),
        1 | 2 => loops!(step, CopyStepped<T>: -1 2 3 4 8),
        _ => None,
    }
}

struct CopyStepped<T, const STEP: isize>(Addressed, PhantomData<T>);

impl<T, const STEP: isize> Task for CopyStepped<T, STEP> {
    #[inline(always)]
    fn run(self) {
        for row in 0..self.0.rows.len {
            // Otherwise the compiler tests all rows at once for overlap, and takes its scalar loop for
            // negative distances.
            let (from, to) = black_box(self.0.row::<T>(row));
            for at in 0..self.0.columns.len as isize {
                // SAFETY: the maker of the task vouches for every element and its place. The compiler must
                // know that no address wraps around, or it would not load the gaps.
                unsafe {
                    to.offset(at).write_unaligned(from.offset(at.unchecked_mul(STEP)).read_unaligned())
                };
            }
        }
    }
}

/// Rows of `columns` times the same element, without gaps on either side.
pub(super) fn repeated<T: 'static>(columns: usize) -> Option<CopyFn> {
    if size_of::<T>() > 8 { None } else { loops!(columns, CopyRepeated<T>: 2 3 4 5 6 7) }
}

struct CopyRepeated<T, const COLUMNS: usize>(Addressed, PhantomData<T>);

impl<T, const COLUMNS: usize> Task for CopyRepeated<T, COLUMNS> {
    #[inline(always)]
    fn run(self) {
        let (from, to) = self.0.row::<T>(0);
        for row in 0..self.0.rows.len {
            for column in 0..COLUMNS {
                // SAFETY: as in `CopyStepped`.
                unsafe {
                    to.add(row.unchecked_mul(COLUMNS) + column)
                        .write_unaligned(from.add(row).read_unaligned())
                };
            }
        }
    }
}

/// Rows of one element from each of `columns` lines. The lines have no gaps where they are read, the rows
/// none where they are written.
pub(super) fn interleaved<T: 'static>(columns: usize) -> Option<CopyFn> {
    if size_of::<T>() > 8 { None } else { loops!(columns, CopyInterleaved<T>: 2 3 4 5 6 7 8) }
}

struct CopyInterleaved<T, const COLUMNS: usize>(Addressed, PhantomData<T>);

impl<T, const COLUMNS: usize> Task for CopyInterleaved<T, COLUMNS> {
    #[inline(always)]
    fn run(self) {
        let (from, to) = self.0.row::<T>(0);
        let line = |line: usize| from.wrapping_byte_offset(line as isize * self.0.columns.from);
        let lines: [*const T; COLUMNS] = std::array::from_fn(line);
        for row in 0..self.0.rows.len {
            for (column, line) in lines.iter().enumerate() {
                // SAFETY: as in `CopyStepped`.
                unsafe {
                    to.add(row.unchecked_mul(COLUMNS) + column)
                        .write_unaligned(line.add(row).read_unaligned())
                };
            }
        }
    }
}

/// Rows of a few columns, at any distances.
pub(super) fn few<T: 'static>(columns: usize) -> Option<CopyFn> {
    macro_rules! unrolled {
        ($($columns:literal)*) => {
            match columns {
                $($columns => Some((|_, rows, columns, from, to| {
                    // SAFETY: as the caller says.
                    unsafe { unrolled::<T, $columns>(Addressed { rows: *rows, columns: *columns, from, to }) }
                }) as CopyFn),)*
                _ => None,
            }
        };
    }
    unrolled!(1 2 3 4 5 6 7 8)
}

/// With baseline instructions: gathers of AVX2 and AVX-512 are slower.
///
/// # Safety
/// As [`CopyFn`].
unsafe fn unrolled<T, const COLUMNS: usize>(copy: Addressed) {
    let Addressed { rows, columns, mut from, mut to } = copy;
    for _ in 0..rows.len {
        for column in 0..COLUMNS as isize {
            let element = from.wrapping_offset(column * columns.from).cast::<T>();
            let place = to.wrapping_offset(column * columns.to).cast::<T>();
            // SAFETY: the caller vouches for every element and its place.
            unsafe { place.write_unaligned(element.read_unaligned()) };
        }
        (from, to) = (from.wrapping_offset(rows.from), to.wrapping_offset(rows.to));
    }
}
