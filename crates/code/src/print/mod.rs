//! Rows printed for processors. What each printer does by itself is in a folder of its name: it chooses
//! instructions, which become steps, and writes the function around them. What they share is here: the order
//! of steps (`order.rs`), the registers of their values (`registers.rs`), and the bodies of the loop
//! (`bodies.rs`).

pub mod aarch64;
mod bodies;
mod order;
mod readers;
mod registers;
mod steps;
#[cfg(target_arch = "x86_64")]
pub mod x86_64;

use std::fmt;

use crate::code::{Operation, Type};
use crate::row::{Read, Row, Write};

/// Why a row is not printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unprintable {
    /// There is not one way of reading for each input, or of writing for each result, or accumulators are
    /// not as [`Read::Accumulators`] says.
    Operands,
    /// Its values need more memory than a stack should give.
    Stack,
    /// Its instructions take more bytes than jumps of aarch64 reach.
    Length,
}

impl fmt::Display for Unprintable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unprintable::Operands => {
                "each input is read and each result written in one way; accumulators are the last input and \
                 the result"
            }
            Unprintable::Stack => "the values of the code need more than 64 KiB of stack",
            Unprintable::Length => "the instructions of the code take more than a mebibyte",
        })
    }
}

impl std::error::Error for Unprintable {}

/// Whether each operand of the code has one way, and accumulators are as they should.
fn has_operands(row: &Row) -> bool {
    let (code, is_accumulators) = (&row.code, |read: &Read| matches!(read, Read::Accumulators(_)));
    let are_known = row.reads.len() == code.inputs().len() && row.writes.len() == code.results().len();
    let Some(position) = row.reads.iter().position(is_accumulators).filter(|_| are_known) else {
        return are_known;
    };
    let is_wide = |ty: Type| matches!(ty, Type::F32 | Type::F64 | Type::W32 | Type::W64);
    let is_read = |input: usize| {
        code.instructions.iter().any(|instruction| instruction.operation == Operation::Input(input as u32))
    };
    match (code.results(), row.accumulators()) {
        (&[result], Some(count)) => {
            let is_computed = !matches!(code.instructions[result.index()].operation, Operation::Input(_));
            (16..=2048).contains(&count)
                && count.is_power_of_two()
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
