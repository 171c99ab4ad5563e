//! Owns the printing of rows for aarch64: a code becomes steps (`narrow.rs`, `wide.rs`), and the function
//! around their bodies becomes bytes (`frame.rs`, `assembler.rs`). It does not know where bytes become code.

mod assembler;
mod frame;
mod narrow;
mod steps;
mod wide;
mod words;

use super::{Unprintable, has_operands};
use crate::lower::{Has, lower};
use crate::row::Row;

/// What a code has no need to be lowered to.
const HAS: Has = Has { scaling: false, words: true, long_to_single: false, inverse_roots: false };

/// The machine code of a row for NEON, which may stand anywhere that begins at a multiple of 64 bytes: a
/// function `extern "C" fn(arguments: *mut *mut u8, count: usize, rows: usize)`, as [`print`](super) says.
/// Results always go to the cache.
///
/// # Errors
/// If the row's operands are not those of its code, or it needs too much stack, or is too long.
///
/// ```
/// use zerostride_code::print::aarch64::print;
/// use zerostride_code::{Binary, Builder, Row, Type};
/// let mut builder = Builder::new();
/// let (x, y) = (builder.input(Type::F32), builder.input(Type::F32));
/// let sum = builder.binary(Binary::Add, x, y);
/// let bytes = print(&Row::contiguous(builder.finish(&[sum]))).unwrap();
/// assert!(bytes.len() < 1024);
/// ```
pub fn print(row: &Row) -> Result<Vec<u8>, Unprintable> {
    if !has_operands(row) {
        return Err(Unprintable::Operands);
    }
    let steps = narrow::steps(row).unwrap_or_else(|| wide::steps(&lower(&row.code, HAS), row));
    frame::write(&steps, row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Binary, Builder, Read, Type, Write};

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
        assert_eq!(print(&row), print(&row));
        // Parts are two.
        row.writes[0] = Write::Part;
        assert_eq!(print(&row), Err(Unprintable::Operands));
        row.writes.clear();
        assert_eq!(print(&row), Err(Unprintable::Operands));
        // Buffers of two vectors side by side take as much as those of one.
        assert!(print(&sum(1000)).is_ok());
        assert_eq!(print(&sum(1100)), Err(Unprintable::Stack));
    }

    /// So many products and sums, each of which reads the one before.
    fn chain(count: usize) -> Row {
        let mut builder = Builder::new();
        let (x, y) = (builder.input(Type::F32), builder.input(Type::F32));
        let last = (0..count / 2).fold(x, |last, _| {
            let product = builder.binary(Binary::Mul, last, y);
            builder.binary(Binary::Add, product, x)
        });
        Row::contiguous(builder.finish(&[last]))
    }

    #[test]
    fn a_row_takes_no_more_instructions_than_jumps_reach() {
        // Side by side five vectors take too many, one does not.
        let bytes = print(&chain(80_000)).expect("a row that can be printed").len();
        assert!((2 << 18..4 << 18).contains(&bytes), "{bytes}");
        assert_eq!(print(&chain(300_000)), Err(Unprintable::Length));
    }

    /// The function of `x · y + z` as `llvm-mc -triple=aarch64 -disassemble` (LLVM 14) reads it.
    const LISTING: &str = include_str!("listing.txt");

    #[test]
    fn another_disassembler_reads_what_is_meant() {
        let mut builder = Builder::new();
        let [x, y, z] = std::array::from_fn(|_| builder.input(Type::F32));
        let product = builder.binary(Binary::Mul, x, y);
        let sum = builder.binary(Binary::Add, product, z);
        let bytes = print(&Row::contiguous(builder.finish(&[sum]))).expect("a row that can be printed");
        let own = bytes.chunks_exact(4).map(|word| {
            let word: [u8; 4] = word.try_into().expect("four bytes");
            format!("{:08x}", u32::from_le_bytes(word))
        });
        let read: Vec<&str> = LISTING.lines().filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(own.collect::<Vec<_>>(), read);
    }
}
