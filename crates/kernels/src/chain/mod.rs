//! Owns chains: runs of instructions whose running value stays in eight SIMD registers from the first load to the
//! store, as threaded code. This file is what callers see; it does not know an instruction set (`set.rs`), how a
//! chain becomes code (`build.rs`) or how code meets memory (`run.rs`).
//!
//! There is one function for each instruction, compiled for each instruction set. It receives the running value in
//! registers, takes its other operands from memory, and tail-calls the next function through the code; the last one
//! stores. One quick instruction alone may have a loop of its own instead (`single.rs`). A chain has one lane width of
//! 1, 2, 4 or 8 bytes, and a run of it handles as many elements as eight registers hold. Values of a narrower dtype
//! live in wider lanes without loss: integers and bools as integers, halves as `f32`, rounded after each operation.
//!
//! The bits are those of [`map_kernel`](crate::map_kernel) and [`cast_kernel`](crate::cast_kernel), whatever the
//! instruction set.

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
use code::{Code, Enter, Prepare};

/// Where an operand of a chain comes from: one of the slots that [`Chain::run`] is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feed {
    /// One element for each element of the result, side by side.
    Vector(usize),
    /// The same at this distance, in elements, which is one of [`Chain::STEPS`].
    Stepped(usize, isize),
    /// One element for all of a row.
    Splat(usize),
}

/// Slot of elements at even distances.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// The first element of the first row; those of operands are only read.
    pub first: *mut u8,
    /// Bytes from one row to the next.
    pub step: isize,
    /// Bytes from an element to one that will be read a little later, and is to be in the caches then; 0 if nothing is known. There
    /// need be nothing.
    pub ahead: isize,
}

impl Slot {
    /// The rows from the given one on.
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
        /// The dtype it computes in: that of the running value and of the operands in memory. Only the condition of
        /// `where` may also be bool, if it is the running value.
        compute: DType,
        /// Which operand the running value is.
        place: usize,
        /// The remaining operands, in order.
        others: SmallVec<[Feed; 3]>,
    },
}

/// How results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stores {
    /// Through the caches.
    Cached,
    /// Through the caches, to lines that have probably left them.
    Far,
    /// Past the caches, for results that will have left them before they are read. A [`fence`] must follow before
    /// another thread may read them.
    Streaming,
}

/// Waits until streaming stores are visible to other threads.
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
    code: SmallVec<[Part; 8]>,
    /// The function that stores past the caches.
    streaming: Code,
    /// The function that loads, and fetches what is ahead, if there is one.
    fetching: Option<Code>,
    enter: Enter,
    /// The loop of a single instruction, for runs that only load and store.
    single: Option<Enter>,
    /// Bytes of a register.
    register: usize,
    /// Lanes of a register.
    lanes: usize,
    /// Bytes of an element of the result.
    stored: usize,
}

/// One word of code: a function, and what it or the function before it reads or writes.
#[derive(Clone, Copy, Debug)]
struct Part {
    code: Code,
    place: Place,
}

impl Part {
    /// The bytes of the elements of an operand that has one for each element of the result, and their distance in elements.
    fn vector(&self) -> Option<(usize, isize)> {
        match self.place {
            Place::Feed(Feed::Vector(_), size) => Some((size, 1)),
            Place::Feed(Feed::Stepped(_, step), size) => Some((size, step)),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Place {
    /// Registers alone.
    Registers,
    /// An operand in memory, with the bytes of its elements.
    Feed(Feed, usize),
    /// An element for all of a row, from which more is prepared: its slot, with the bytes of its elements.
    Prepared(usize, usize, Prepare),
    /// A run of converted elements, by its index among the operands of one instruction.
    Stage(usize),
    /// The result.
    Out,
}

impl Chain {
    /// The most instructions after the load. Without optimisation each is a stack frame.
    pub const MAX_LINKS: usize = 48;

    /// The distances of a [`Feed::Stepped`], but for 0 and 1, which other feeds have.
    pub const STEPS: RangeInclusive<isize> = memory::STEPS;

    /// The chain of these instructions. `None` where the instruction set has no such chain; then block kernels
    /// ([`map_kernel`](crate::map_kernel), [`cast_kernel`](crate::cast_kernel)) do the work, or several chains do.
    ///
    /// There is a chain if all operations compute in dtypes of one lane width (the dtype's size; 4 bytes for halves;
    /// bool has any), no other dtype in it is wider, and no operation is without a function: those on complex numbers,
    /// which have two parts, but for the quickest ones on c64; integer division and remainders, which can fail; `complex` and `polar`; and `nextafter`
    /// of halves, which is no function of their values as `f32`. Longer prefixes of a program are chains only if
    /// shorter ones are, so that one may be grown until there is none.
    ///
    /// ```
    /// use zerostride_kernels::{Chain, Feed, Isa, Link, Slot, Stores};
    /// use zerostride_ops::{DType, Op};
    ///
    /// let add = Link::Map { op: Op::Add, compute: DType::F32, place: 0, others: [Feed::Splat(1)].into_iter().collect() };
    /// if let Some(chain) = Chain::new(Isa::active(), (Feed::Vector(0), DType::F32), &[add], DType::F32) {
    ///     let (x, one, mut sum) = ([1.0f32, 2.0, 3.0], 1.0f32, [0.0f32; 3]);
    ///     let row = |first: *const f32| Slot { first: first.cast_mut().cast(), step: 0, ahead: 0 };
    ///     let (slots, out) = ([row(x.as_ptr()), row(&one)], row(sum.as_mut_ptr()));
    ///     // SAFETY: one row of slot 0 holds three numbers, of slot 1 one, and there is room for three in `sum`.
    ///     unsafe { chain.run(1, 3, &slots, out, Stores::Cached) };
    ///     assert_eq!(sum, [2.0, 3.0, 4.0]);
    /// }
    /// ```
    pub fn new(isa: Isa, first: (Feed, DType), links: &[Link], stored: DType) -> Option<Chain> {
        if !isa.is_supported() || links.len() > Chain::MAX_LINKS {
            return None;
        }
        match isa {
            // The unit that divides is no wider than registers of AVX2, and the clock is higher without wider ones.
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

    /// The elements that one pass over the code handles; any number may be run.
    pub fn run_len(&self) -> usize {
        code::REGISTERS * self.lanes
    }

    /// The fewest elements of a row that are handled where they lie: half of what one pass does. Those of shorter rows are copied.
    pub fn least_len(&self) -> usize {
        self.run_len() / 2
    }
}

/// Whether instructions do nothing but divide and take roots; what is divided by one number for all is multiplied.
#[cfg(target_arch = "x86_64")]
fn divides(links: &[Link]) -> bool {
    let mut operations = links.iter().filter_map(|link| match link {
        Link::Map { op, place, others, .. } => Some((op, *place, &others[..])),
        Link::Cast(_) => None,
    });
    let divides = |(op, place, others): (&Op, usize, &[Feed])| {
        op.info().effort == Some(zerostride_ops::Effort::division)
            && !matches!((op, place, others), (Op::Div, 0, [Feed::Splat(_)]))
    };
    operations.next().is_some_and(divides) && operations.all(divides)
}
