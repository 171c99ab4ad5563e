//! Owns the loops whose distances or sizes are constants: the compiler makes shuffles of whole registers of them, for
//! each instruction set, or unrolls them. It does not know when they are worth it.

use std::hint::black_box;
use std::marker::PhantomData;

use super::PackDim;
use super::lines::Way;
use crate::isa::{self, Task};

/// The dimensions of a copy, and its first elements.
struct Copy {
    rows: PackDim,
    columns: PackDim,
    from: *const u8,
    to: *mut u8,
}

impl Copy {
    /// The first column of a row, as it is read and written.
    #[inline(always)]
    fn row<T>(&self, row: usize) -> (*const T, *mut T) {
        let Copy { rows, from, to, .. } = self;
        let row = row as isize;
        (from.wrapping_offset(row * rows.from).cast(), to.wrapping_offset(row * rows.to).cast())
    }
}

/// The loop, for its constants.
macro_rules! loops {
    ($value:expr, $task:ident<$element:ident>: $($constant:literal)*) => {
        match $value {
            $($constant => Some((|isa, rows, columns, from, to| {
                let copy = Copy { rows: *rows, columns: *columns, from, to };
                // SAFETY: the caller vouches for the instruction set, and for what the task copies.
                unsafe { isa::run_with(isa, $task::<$element, $constant>(copy, PhantomData)) }
            }) as Way),)*
            _ => None,
        }
    };
}

/// Rows whose columns are `step` elements apart where they are read, and neighbours where they are written.
pub(super) fn stepped<T: 'static>(step: isize) -> Option<Way> {
    match size_of::<T>() {
        // A register holds too few of the large ones for more.
        8 => loops!(step, Stepped<T>: -1 2 3),
        4 => loops!(step, Stepped<T>: -1 2 3 4 5 6 7),
        1 | 2 => loops!(step, Stepped<T>: -1 2 3 4 8),
        _ => None,
    }
}

struct Stepped<T, const STEP: isize>(Copy, PhantomData<T>);

impl<T, const STEP: isize> Task for Stepped<T, STEP> {
    #[inline(always)]
    fn run(self) {
        for row in 0..self.0.rows.len {
            // Else the compiler tests all rows at once for overlaps, and takes the slow way where rows run backwards.
            let (from, to) = black_box(self.0.row::<T>(row));
            for at in 0..self.0.columns.len as isize {
                // SAFETY: the maker of the task vouches for every element and its place. The compiler must know that no
                // address wraps around, to load what lies between the elements as well.
                unsafe {
                    to.offset(at).write_unaligned(from.offset(at.unchecked_mul(STEP)).read_unaligned())
                };
            }
        }
    }
}

/// Rows of `columns` times the same element, without gaps on either side.
pub(super) fn repeated<T: 'static>(columns: usize) -> Option<Way> {
    if size_of::<T>() > 8 { None } else { loops!(columns, Repeated<T>: 2 3 4 5 6 7) }
}

struct Repeated<T, const COLUMNS: usize>(Copy, PhantomData<T>);

impl<T, const COLUMNS: usize> Task for Repeated<T, COLUMNS> {
    #[inline(always)]
    fn run(self) {
        let (from, to) = self.0.row::<T>(0);
        for row in 0..self.0.rows.len {
            for column in 0..COLUMNS {
                // SAFETY: as in `Stepped`.
                unsafe {
                    to.add(row.unchecked_mul(COLUMNS) + column)
                        .write_unaligned(from.add(row).read_unaligned())
                };
            }
        }
    }
}

/// Rows of one element of each of `columns` lines: the lines have no gaps where they are read, the rows none where they
/// are written.
pub(super) fn interleaved<T: 'static>(columns: usize) -> Option<Way> {
    if size_of::<T>() > 8 { None } else { loops!(columns, Interleaved<T>: 2 3 4 5 6 7 8) }
}

struct Interleaved<T, const COLUMNS: usize>(Copy, PhantomData<T>);

impl<T, const COLUMNS: usize> Task for Interleaved<T, COLUMNS> {
    #[inline(always)]
    fn run(self) {
        let (from, to) = self.0.row::<T>(0);
        let line = |line: usize| from.wrapping_byte_offset(line as isize * self.0.columns.from);
        let lines: [*const T; COLUMNS] = std::array::from_fn(line);
        for row in 0..self.0.rows.len {
            for (column, line) in lines.iter().enumerate() {
                // SAFETY: as in `Stepped`.
                unsafe {
                    to.add(row.unchecked_mul(COLUMNS) + column)
                        .write_unaligned(line.add(row).read_unaligned())
                };
            }
        }
    }
}

/// Rows of a few columns, at any distances.
pub(super) fn few<T: 'static>(columns: usize) -> Option<Way> {
    macro_rules! unrolled {
        ($($columns:literal)*) => {
            match columns {
                $($columns => Some((|_, rows, columns, from, to| {
                    // SAFETY: as the caller says.
                    unsafe { unrolled::<T, $columns>(Copy { rows: *rows, columns: *columns, from, to }) }
                }) as Way),)*
                _ => None,
            }
        };
    }
    unrolled!(1 2 3 4 5 6 7 8)
}

/// With instructions that all processors have, for their others that collect elements from memory are slow.
///
/// # Safety
/// As [`Way`].
unsafe fn unrolled<T, const COLUMNS: usize>(copy: Copy) {
    let Copy { rows, columns, mut from, mut to } = copy;
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
