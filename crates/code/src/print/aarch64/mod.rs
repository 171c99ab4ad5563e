//! Owns the printing of rows for aarch64: a lowered code becomes steps (`steps.rs`), and the function around
//! their bodies becomes bytes (`frame.rs`, `assembler.rs`). It does not know where bytes become code.

mod assembler;
mod frame;
mod steps;
mod words;

use super::{Unprintable, has_operands};
use crate::lower::{Has, lower};
use crate::row::Row;

/// What a code has no need to be lowered to.
const HAS: Has = Has { scaling: false, words: true, long_to_single: false };

/// The machine code of a row for NEON, which may stand anywhere that begins at a multiple of 64 bytes: a
/// function `extern "C" fn(arguments: *const *mut u8, count: usize)`.
///
/// The arguments are the addresses of the first elements of the inputs and then of the results, followed by
/// the distances in bytes between elements of the inputs that are [`Read::Stepped`](crate::Read::Stepped), in
/// their order. It reads `count` elements of each input (one of a splat) and writes as many of each result,
/// and touches no other memory of theirs. A result may be the same elements as a contiguous input of as many
/// bytes an element; otherwise, no result shares memory with another operand. Accumulators are given twice,
/// as input and as result, and all of them are read and written, whatever `count` is. Results always go to
/// the cache.
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
    let code = lower(&row.code, HAS);
    frame::write(&steps::steps(&code, row), row)
}
