//! Rows printed for processors, and loops for GPUs ([`ptx`], which has nothing of what follows). What each
//! printer does by itself is in a folder of its name: it chooses instructions, which become steps, and writes
//! the function around them. What they share is here: the order of steps (`order.rs`), the registers of their
//! values (`registers.rs`), and the bodies of the loop (`bodies.rs`).
//!
//! A printed function has three arguments: an array, a count of elements, and one of rows. The array has the
//! addresses of the first elements of the inputs and then of the results, followed by the distances in bytes
//! from row to row of all these, and then those between elements of the inputs that are [`Read::Stepped`], in
//! their order. The function may change the addresses. It reads so many elements of each input in each row
//! (one of a splat, and one of a number in all rows) and writes as many of each result, and touches no other
//! memory of theirs. Two operands that are the parts of elements begin 8 bytes from each other. A result may
//! be the same elements as a contiguous input of as many bytes an element, and parts may be those of two
//! inputs that are parts, too, or are read 16 bytes apart; otherwise, no result shares memory with another
//! operand. Accumulators that a row goes along are given twice, as input and as result; all of them are read
//! and written, however many elements it has. Those that rows go across are the result, which has one row.

pub mod aarch64;
mod bodies;
mod order;
pub mod ptx;
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
    /// There is not one way of reading for each input, or of writing for each result, or accumulators or
    /// parts are not as [`Read`] and [`Write`] say.
    Operands,
    /// Its values need more memory than a stack should give.
    Stack,
    /// Its instructions take more bytes than jumps of aarch64 reach.
    Length,
    /// Its operands have more dimensions than the arguments of a GPU's kernel.
    Arguments,
    /// Its tables or accumulators are more than the shared memory of a GPU's block.
    Shared,
    /// It has more elements than a launch numbers.
    Elements,
}

impl fmt::Display for Unprintable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unprintable::Operands => {
                "each input is read and each result written in one way; accumulators are the last input and \
                 the result; parts are two results of 64 bits"
            }
            Unprintable::Stack => "the values of the code need more than 64 KiB of stack",
            Unprintable::Length => "the instructions of the code take more than a mebibyte",
            Unprintable::Arguments => "the sizes and strides of the operands take more than 4096 bytes",
            Unprintable::Shared => "tables and accumulators take more than 48 KiB of shared memory",
            Unprintable::Elements => "a launch has fewer than 2^31 elements",
        })
    }
}

impl std::error::Error for Unprintable {}

/// Whether each operand of the code has one way, and accumulators and parts are as they should.
fn has_operands(row: &Row) -> bool {
    let code = &row.code;
    let are_parts = row.writes == [Write::Part; 2]
        && code.results().iter().all(|&result| code.ty(result).bits() == 64)
        && row.accumulators().is_none();
    let reads: Vec<(Read, Type)> = row.reads.iter().copied().zip(code.inputs().iter().copied()).collect();
    let are_two_by_two = reads.chunk_by(|(a, _), (b, _)| a == b).all(|same| {
        same[0].0 != Read::Part || same.len().is_multiple_of(2) && same.iter().all(|(_, ty)| ty.bits() == 64)
    });
    let are_known = are_two_by_two
        && row.reads.len() == code.inputs().len()
        && row.writes.len() == code.results().len()
        && (are_parts || !row.writes_parts());
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
                Read::Along(count) => (16..=2048).contains(&count) && count.is_power_of_two(),
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
