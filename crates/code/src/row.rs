//! Owns what is printed: a code, and how the elements of a row reach it and leave it. It does not know where
//! they are.

use crate::code::Code;

/// How the elements of an input are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Read {
    /// They are contiguous.
    Vector,
    /// One element for the whole row.
    Splat,
    /// They have a constant distance in bytes, which is an argument of the call.
    Stepped,
    /// So many contiguous elements in turn, a power of two from 16 to 2048, which are the row's result: what
    /// the code makes of an accumulator and an element replaces the accumulator.
    Accumulators(u32),
}

/// How the elements of a result are written; they are contiguous.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Write {
    /// To the cache.
    Cached,
    /// With non-temporal stores, where the result is aligned to its vectors. The caller makes them visible
    /// to other threads by a fence.
    NonTemporal,
}

/// A code for the elements of a row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    /// What is computed.
    pub code: Code,
    /// One for each input of the code. If one has accumulators, it is the last, and the code has one result,
    /// of the same type: a float, or a word of 32 or 64 bits.
    pub reads: Vec<Read>,
    /// One for each result of the code. A mask is written as a byte, 0 or 1.
    pub writes: Vec<Write>,
}

impl Row {
    /// A row whose inputs are all contiguous, and whose results go to the cache.
    pub fn contiguous(code: Code) -> Row {
        let (reads, writes) =
            (vec![Read::Vector; code.inputs().len()], vec![Write::Cached; code.results().len()]);
        Row { code, reads, writes }
    }

    /// Accumulators, if the row has some.
    pub fn accumulators(&self) -> Option<u32> {
        match self.reads.last() {
            Some(&Read::Accumulators(count)) => Some(count),
            _ => None,
        }
    }
}
