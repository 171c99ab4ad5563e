//! Owns the printing of rows for x86-64: a lowered code becomes steps (`steps.rs`) in some order
//! (`order.rs`), their values get registers (`registers.rs`), and a loop around them becomes bytes
//! (`frame.rs`, `assembler.rs`). It does not know where bytes become code.

mod assembler;
mod encodings;
mod frame;
mod order;
mod readers;
mod registers;
mod steps;

use std::fmt;

use crate::code::{Operation, Type};
use crate::lower::lower;
use crate::row::{Read, Row, Write};

/// Instructions that may be printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Set {
    /// AVX-512 F, DQ, BW and VL: registers of 64 bytes.
    Avx512,
    /// AVX2, FMA and F16C: registers of 32 bytes.
    Avx2,
}

impl Set {
    /// Bytes of a register.
    const fn vector_bytes(self) -> u32 {
        match self {
            Set::Avx512 => 64,
            Set::Avx2 => 32,
        }
    }
}

/// Why a row is not printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unprintable {
    /// There is not one way of reading for each input, or of writing for each result, or accumulators are
    /// not as [`Row::reads`] says.
    Operands,
    /// Its values need more memory than a stack should give.
    Stack,
}

impl fmt::Display for Unprintable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unprintable::Operands => {
                "each input is read and each result written in one way; accumulators are the last input and \
                 the result"
            }
            Unprintable::Stack => "the values of the code need more than 64 KiB of stack",
        })
    }
}

impl std::error::Error for Unprintable {}

/// The machine code of a row, which may stand anywhere: a function `extern "sysv64" fn(arguments: *mut *mut
/// u8, count: usize, rows: usize)`.
///
/// The arguments are the addresses of the first elements of the inputs and then of the results, followed by
/// the distances in bytes from row to row of all these, and then those between elements of the inputs that
/// are [`Read::Stepped`], in their order. The function may change the addresses. It reads `count` elements of
/// each input in each row (one of a splat, and one of a number in all rows) and writes as many of each
/// result, and touches no other memory of theirs. A result may be the same elements as a contiguous input of
/// as many bytes an element; otherwise, no result shares memory with another operand. Accumulators are given
/// twice, as input and as result; all of those that a row goes along are read and written, whatever `count`
/// is. The code is to start at a multiple of 64 bytes.
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
    let code = lower(&row.code, set == Set::Avx2);
    let steps = steps::steps(&code, row, set);
    frame::write(&steps, row, set)
}

/// Whether each operand of the code has one way, and accumulators are as they should.
fn has_operands(row: &Row) -> bool {
    let code = &row.code;
    let are_known = row.reads.len() == code.inputs().len() && row.writes.len() == code.results().len();
    let Some(position) = row.reads.iter().position(Read::is_accumulators).filter(|_| are_known) else {
        return are_known;
    };
    let is_wide = |ty: Type| matches!(ty, Type::F32 | Type::F64 | Type::W32 | Type::W64);
    let is_read = |input: usize| {
        code.instructions.iter().any(|instruction| instruction.operation == Operation::Input(input as u32))
    };
    match (code.results(), row.accumulators()) {
        (&[result], Some(read)) => {
            let is_computed = !matches!(code.instructions[result.index()].operation, Operation::Input(_));
            let is_turn = match read {
                Read::Along(count) => count >= 16 && count.is_power_of_two(),
                _ => true,
            };
            is_turn
                && position + 1 == row.reads.len()
                && row.writes[0] == Write::Cached
                && is_computed
                && is_read(position)
                && code.ty(result) == code.inputs()[position]
                && is_wide(code.ty(result))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Binary, Builder};

    /// The sum of so many inputs, which are read with a step.
    fn sum(count: usize) -> Row {
        let mut builder = Builder::new();
        let first = builder.input(Type::F64);
        let sum = (1..count).fold(first, |sum, _| {
            let input = builder.input(Type::F64);
            builder.binary(Binary::Add, sum, input)
        });
        let mut row = Row::contiguous(builder.finish(&[sum]));
        row.reads.fill(Read::Stepped);
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
