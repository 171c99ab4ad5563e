//! Owns chains: straight-line programs whose running value stays in eight SIMD registers from the load to the
//! store, as threaded code. This file is the interface; it does not know an instruction set (`set.rs`), how a
//! chain becomes code (`build.rs`) or how code gets addresses (`run.rs`).
//!
//! There is one function for each primitive, compiled for each instruction set. It receives the running value
//! in registers, loads its other operands from memory, and tail-calls the function of the next word of code;
//! the last function stores. A simple operation on two operands may be one fused loop instead (`single.rs`).
//! All lanes of a chain have one width, of 1, 2, 4 or 8 bytes, and one pass over the code handles a run: as
//! many elements as eight registers hold. Narrower dtypes are widened without loss: integers and bools to
//! integers, f16 and bf16 to `f32`, rounded after each operation.
//!
//! The bits are those of [`map_kernel`](crate::map_kernel) and [`cast_kernel`](crate::cast_kernel), on every
//! instruction set.
//!
//! Source: Bell, "Threaded code", Communications of the ACM 16, 1973.

mod array;
mod build;
mod cast;
mod code;
mod float;
mod half;
mod memory;
mod quotient;
mod run;
mod set;
mod single;
mod table;

use std::ops::RangeInclusive;

use smallvec::SmallVec;
use zerostride_ops::{DType, Op};

use crate::Isa;
use code::{Code, Entry, Prepare};

/// Where an operand of a chain comes from: an index into the slots that [`Chain::run`] is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainOperand {
    /// Contiguous elements, one for each element of the result.
    Vector(usize),
    /// Elements at this distance, in elements, which is one of [`Chain::STEPS`].
    Stepped(usize, isize),
    /// A broadcast scalar: one element for each row.
    Splat(usize),
}

/// Rows of elements at even distances.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// The first element of the first row; operands are only read.
    pub first: *mut u8,
    /// Bytes from one row to the next.
    pub step: isize,
    /// Bytes from an element to one that will be read a little later and is prefetched; 0 for no prefetch.
    /// The address need not be readable.
    pub prefetch_bytes: isize,
}

impl Slot {
    /// The same slot from a later row on.
    #[inline(always)]
    pub fn from(self, row: isize) -> Slot {
        Slot { first: self.first.wrapping_offset(row * self.step), ..self }
    }
}

/// An instruction of a chain after the first load.
#[derive(Clone, Debug, PartialEq)]
pub enum Link {
    /// The running value converted.
    Cast(DType),
    /// An element-wise operation of the table.
    Map {
        /// The operation.
        op: Op,
        /// The dtype of the running value, of the operands in memory and of the arithmetic. Only the
        /// condition of `where` may also be bool, if it is the running value.
        compute: DType,
        /// Which operand the running value is.
        place: usize,
        /// The remaining operands, in order.
        others: SmallVec<[ChainOperand; 3]>,
    },
}

/// How results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stores {
    /// To the cache.
    Cached,
    /// To the cache, where the lines are probably not in it: they are prefetched.
    Far,
    /// With non-temporal stores, for results that would leave the cache before they are read. A [`fence`]
    /// must follow before another thread may read them.
    Streaming,
}

/// Waits until non-temporal stores are visible to other threads.
pub fn fence() {
    // SAFETY: every x86-64 has the instruction.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

/// A load, instructions on the loaded value, and a store.
#[derive(Debug)]
pub struct Chain {
    /// The threaded code before its addresses are known.
    code: SmallVec<[CodeWord; 8]>,
    /// The function that stores non-temporally.
    streaming: Code,
    /// The function that loads and prefetches, if there is one.
    fetching: Option<Code>,
    enter: Entry,
    /// The fused loop of a single operation, for runs that are loaded and stored in place.
    single: Option<Entry>,
    /// Bytes of a register.
    register: usize,
    /// Lanes of a register.
    lanes: usize,
    /// Bytes of an element of the result.
    stored: usize,
}

/// One word of code: a function, and what it or the function before it reads or writes.
#[derive(Clone, Copy, Debug)]
struct CodeWord {
    code: Code,
    place: WordOperand,
}

impl CodeWord {
    /// The bytes of an element of an operand that advances, and the distance of its elements, in elements.
    fn vector(&self) -> Option<(usize, isize)> {
        match self.place {
            WordOperand::Memory(ChainOperand::Vector(_), size) => Some((size, 1)),
            WordOperand::Memory(ChainOperand::Stepped(_, step), size) => Some((size, step)),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum WordOperand {
    /// Registers alone.
    Registers,
    /// An operand in memory, with the bytes of an element.
    Memory(ChainOperand, usize),
    /// A broadcast scalar from which registers are prepared once a row: its slot, with the bytes of an
    /// element.
    Prepared(usize, usize, Prepare),
    /// A run of converted elements, by its index among the operands of one primitive.
    Stage(usize),
    /// The result.
    Out,
}

impl Chain {
    /// The most instructions after the load. Without optimisation each is a stack frame.
    pub const MAX_LINKS: usize = 48;

    /// The distances of a [`ChainOperand::Stepped`], except 0 and 1, which the other feeds have.
    pub const STEPS: RangeInclusive<isize> = memory::STEPS;

    /// The chain of these instructions. `None` where the instruction set has no such chain; then block
    /// kernels ([`map_kernel`](crate::map_kernel), [`cast_kernel`](crate::cast_kernel)) do the work, or
    /// several chains do.
    ///
    /// There is a chain if all operations compute in dtypes of one lane width (the dtype's size; 4 bytes for
    /// f16 and bf16; bool has any width), no other dtype in it is wider, and every operation has a primitive.
    /// Without one are operations on complex numbers, except the simplest on c64; integer division and
    /// remainders, which can fail; `complex` and `polar`; and `nextafter` of f16 and bf16, which is no
    /// function of their values as `f32`. If a prefix of a program is no chain, no longer prefix is, so a
    /// prefix can be grown until there is none.
    ///
    /// ```
    /// use zerostride_kernels::{Chain, ChainOperand, Isa, Link, Slot, Stores};
    /// use zerostride_ops::{DType, Op};
    ///
    /// let others = [ChainOperand::Splat(1)].into_iter().collect();
    /// let add = Link::Map { op: Op::Add, compute: DType::F32, place: 0, others };
    /// let first = (ChainOperand::Vector(0), DType::F32);
    /// if let Some(chain) = Chain::new(Isa::active(), first, &[add], DType::F32) {
    ///     let (x, one, mut sum) = ([1.0f32, 2.0, 3.0], 1.0f32, [0.0f32; 3]);
    ///     let row = |first: *const f32| Slot { first: first.cast_mut().cast(), step: 0, prefetch_bytes: 0 };
    ///     let (slots, out) = ([row(x.as_ptr()), row(&one)], row(sum.as_mut_ptr()));
    ///     // SAFETY: a row of slot 0 has three numbers, one of slot 1 has one, and `sum` has room for three.
    ///     unsafe { chain.run(1, 3, &slots, out, Stores::Cached) };
    ///     assert_eq!(sum, [2.0, 3.0, 4.0]);
    /// }
    /// ```
    pub fn new(isa: Isa, first: (ChainOperand, DType), links: &[Link], stored: DType) -> Option<Chain> {
        if !isa.is_supported() || links.len() > Chain::MAX_LINKS {
            return None;
        }
        match isa {
            _ if cfg!(unoptimised) => None,
            // The divider is no wider than a register of AVX2 (Cascade Lake), and the clock is higher without
            // registers of 64 bytes.
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 if divides(links) => build::chain::<set::Avx2>(first, links, stored),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => build::chain::<set::Avx512>(first, links, stored),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => build::chain::<set::Avx2>(first, links, stored),
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => build::chain::<set::Neon>(first, links, stored),
            _ => None,
        }
    }

    /// The elements that one pass over the code handles; `run` takes any number.
    pub fn run_len(&self) -> usize {
        code::RUN_REGISTERS * self.lanes
    }

    /// The fewest elements of a row that are read and written in place: half a run. Shorter rows go through a
    /// buffer.
    pub fn least_len(&self) -> usize {
        self.run_len() / 2
    }
}

/// Whether all operations are divisions and roots. Division by a broadcast scalar is not counted: it
/// multiplies by the reciprocal.
#[cfg(target_arch = "x86_64")]
fn divides(links: &[Link]) -> bool {
    let mut operations = links.iter().filter_map(|link| match link {
        Link::Map { op, place, others, .. } => Some((op, *place, &others[..])),
        Link::Cast(_) => None,
    });
    let divides = |(op, place, others): (&Op, usize, &[ChainOperand])| {
        op.info().effort == Some(zerostride_ops::Effort::division)
            && !matches!((op, place, others), (Op::Div, 0, [ChainOperand::Splat(_)]))
    };
    operations.next().is_some_and(divides) && operations.all(divides)
}
