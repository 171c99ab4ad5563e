//! Owns the printing of rows for x86-64: a code becomes steps (`narrow.rs`, `wide.rs`), and the function
//! around their bodies becomes bytes (`frame.rs`, `assembler.rs`). It does not know where bytes become code.

mod assembler;
mod encodings;
mod frame;
mod narrow;
mod near;
mod parts;
mod readers;
mod set;
mod steps;
mod wide;

use super::{Unprintable, has_operands};
use crate::lower::lower;
use crate::row::Row;
pub use set::Set;

/// The machine code of a row, which may stand anywhere that begins at a multiple of 64 bytes: a function
/// `extern "sysv64" fn(arguments: *mut *mut u8, count: usize, rows: usize)`, as [`print`](super) says.
///
/// # Errors
/// If the row's operands are not those of its code, or it needs too much stack.
///
/// ```
/// use zerostride_code::print::x86_64::{Set, print};
/// use zerostride_code::{Binary, Builder, Row, Type};
/// let mut builder = Builder::new();
/// let (x, y) = (builder.input(Type::F32), builder.input(Type::F32));
/// let sum = builder.binary(Binary::Add, x, y);
/// let bytes = print(&Row::contiguous(builder.finish(&[sum])), Set::Avx2).unwrap();
/// assert!(bytes.len() < 1024);
/// ```
pub fn print(row: &Row, set: Set) -> Result<Vec<u8>, Unprintable> {
    if !has_operands(row) {
        return Err(Unprintable::Operands);
    }
    let steps =
        narrow::steps(row, set).unwrap_or_else(|| wide::steps(&lower(&row.code, set.has()), row, set));
    frame::write(&steps, row, set)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Binary, Builder, Read, Type};

    /// The sum of so many inputs, which are read with a step.
    fn sum(count: usize) -> Row {
        let mut builder = Builder::new();
        let first = builder.input(Type::F64);
        let sum = (1..count).fold(first, |sum, _| {
            let input = builder.input(Type::F64);
            builder.binary(Binary::Add, sum, input)
        });
        let mut row = Row::contiguous(builder.finish(&[sum]));
        row.reads.fill(Read::Stepped(None));
        row
    }

    #[test]
    fn a_row_has_its_operands_and_takes_little_stack() {
        let mut row = sum(3);
        assert!(print(&row, Set::Avx512).is_ok());
        row.writes.clear();
        assert_eq!(print(&row, Set::Avx512), Err(Unprintable::Operands));
        // Buffers for two vectors side by side would be too large.
        for set in [Set::Avx512, Set::Avx2] {
            assert!(print(&sum(600), set).is_ok());
            assert_eq!(print(&sum(1100), set), Err(Unprintable::Stack));
        }
    }

    #[test]
    fn printed_bytes_depend_on_the_row_alone() {
        assert_eq!(print(&sum(40), Set::Avx2), print(&sum(40), Set::Avx2));
    }
}
