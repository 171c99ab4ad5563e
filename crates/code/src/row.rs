//! Owns what is printed: a code, and how the elements of rows reach it and leave it. It does not know where
//! they are.

use crate::code::Code;

/// How the elements of an input are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Read {
    /// They are contiguous.
    Vector,
    /// One element for the whole row.
    Splat,
    /// One element for all rows.
    Number,
    /// They have a constant distance in bytes, which is an argument of the call. If it is known to be that of
    /// so many elements, also the bytes between them may be read.
    Stepped(Option<i8>),
    /// Parts of contiguous elements, of 64 bits each. Such inputs come two by two: one has the first parts,
    /// the next one the second ones, which follow them.
    Part,
    /// Accumulators: what the code makes of one and an element replaces it. The elements along a row enter so
    /// many contiguous ones in turn, a power of two from 16 to 2048, which are the row's.
    Along(u32),
    /// One element, with which accumulators begin: one for each element of a row, which the elements of all
    /// rows enter.
    Across,
}

impl Read {
    /// Whether their distance is an argument.
    pub fn is_stepped(&self) -> bool {
        matches!(self, Read::Stepped(_))
    }

    /// Whether these are accumulators, or what they begin with.
    pub fn is_accumulators(&self) -> bool {
        matches!(self, Read::Along(_) | Read::Across)
    }
}

/// How the elements of a result are written; they are contiguous, unless they are parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Write {
    /// To the cache.
    Cached,
    /// With non-temporal stores, where the result is aligned to its vectors. The caller makes them visible
    /// to other threads by a fence.
    NonTemporal,
    /// They alternate with those of the other result: one has the first parts of elements, the other the
    /// second ones, which follow them. The results are these two, of 64 bits each.
    Part,
}

/// Bytes of an element that has two parts.
pub(crate) const ELEMENT_BYTES_OF_PARTS: u32 = 16;

/// A code for the elements of rows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    /// What is computed.
    pub code: Code,
    /// One for each input of the code. If one has accumulators, it is the last, and the code has one result,
    /// of the same type: a float, or a word of 32 or 64 bits.
    pub reads: Vec<Read>,
    /// One for each result of the code. A mask is written as a byte, 0 or 1.
    pub writes: Vec<Write>,
    /// How many bytes before they are read contiguous elements are asked for, one for each of the first
    /// inputs; 0 where the processor sees itself what comes next. No printer but that for x86-64 asks.
    pub prefetch_bytes: Vec<u32>,
}

impl Row {
    /// A row whose inputs are all contiguous, and whose results go to the cache.
    pub fn contiguous(code: Code) -> Row {
        let (reads, writes) =
            (vec![Read::Vector; code.inputs().len()], vec![Write::Cached; code.results().len()]);
        Row { code, reads, writes, prefetch_bytes: Vec::new() }
    }

    /// Whether the results are the two parts of elements.
    pub fn writes_parts(&self) -> bool {
        self.writes.contains(&Write::Part)
    }

    /// Whether an input is the second parts of elements, and which one is the first ones; `None` if it is no
    /// part.
    pub(crate) fn part(&self, input: u32) -> Option<(u32, bool)> {
        let (before, own) = self.reads.split_at(input as usize);
        let is_second = before.iter().filter(|&&read| read == Read::Part).count() % 2 == 1;
        (own[0] == Read::Part).then_some((input - u32::from(is_second), is_second))
    }

    /// Whether an operand, inputs and then results, has parts of elements.
    pub(crate) fn is_part(&self, operand: usize) -> bool {
        self.reads.get(operand).map_or(self.writes_parts(), |read| *read == Read::Part)
    }

    /// How accumulators are read, if the row has some.
    pub fn accumulators(&self) -> Option<Read> {
        self.reads.last().copied().filter(Read::is_accumulators)
    }
}
