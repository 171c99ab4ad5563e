//! Owns the form of threaded code: a word of it, what an instruction set must provide, and the contract of a
//! primitive between the registers it receives and those it passes on. It does not know any operation.

use std::fmt::Debug;

use super::Slot;
use super::float::register;
use super::memory::Picks;
use crate::bodies::float::Floats;
use crate::lane::{AnyMask, Bits as _, Lane};

/// Registers that hold the running value: as many as the calling conventions pass.
pub(super) const RUN_REGISTERS: usize = 8;

/// The first half of them holds the beginning of a row. The second half holds what follows, or the end of a
/// row shorter than a run, or the next row.
pub(super) const HALF_REGISTERS: usize = RUN_REGISTERS / 2;

/// The running value.
pub(super) type Run<S> = [<S as Set>::Register; RUN_REGISTERS];

/// A run, register by register. A loop might not be unrolled, and the run would leave the registers.
#[inline(always)]
pub(super) fn each<S: Set>(register: impl Fn(usize) -> S::Register) -> Run<S> {
    [register(0), register(1), register(2), register(3), register(4), register(5), register(6), register(7)]
}

/// A function of threaded code; its true type depends on the instruction set.
pub(super) type Code = unsafe extern "C" fn();

/// Runs code on rows of elements. Splats are a pointer and not a borrow, because words point into them.
///
/// # Safety
/// The words are code of this instruction set, and their operands have elements for all runs of the span. The
/// splats exist, each with an element for every row, and nothing else changes them meanwhile.
pub(super) type Entry = unsafe fn(&mut [Word], *mut [PreparedSplat], &RunSpan);

/// The runs of elements that code handles.
pub(super) struct RunSpan {
    pub(super) rows: usize,
    /// Runs begin at these offsets of each row, in elements.
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) by: usize,
    /// One more offset.
    pub(super) last: Option<usize>,
}

/// One word of code. After the word of a primitive with several operands in memory come words whose functions
/// are not called.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word {
    pub(super) code: Code,
    /// The address of the operand's first element.
    pub(super) address: *mut u8,
    /// All ones if the operand advances with the offset, else 0.
    pub(super) mask: usize,
    /// Bytes from the elements of one register to those of the next; 0 for a broadcast scalar.
    pub(super) step: isize,
    /// Bytes from the first half of the registers to the second.
    pub(super) far: isize,
    /// Bytes from the row or two rows that are run at once to the next.
    pub(super) row: isize,
    /// Bytes from an element to the one that is prefetched with it, if any is.
    pub(super) prefetch_bytes: Option<isize>,
}

/// The largest register of any instruction set, in bytes.
pub(super) const REGISTER_BYTES: usize = 64;

/// The bytes of one register.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct RegisterBytes(
    #[expect(dead_code, reason = "what is in it is read as a register of an instruction set")]
    [u8; REGISTER_BYTES],
);

/// A broadcast scalar as a register, and what a primitive has prepared from it.
#[repr(C)]
pub(super) struct PreparedSplat {
    register: RegisterBytes,
    prepared: [RegisterBytes; PREPARED_REGISTERS],
    prepare: Prepare,
    /// The element of each row.
    pub(super) from: Slot,
    /// Bytes of an element.
    size: usize,
}

/// Registers that a primitive may prepare from a splat, once a row; they follow it in memory.
pub(super) const PREPARED_REGISTERS: usize = 2;

/// Prepares them.
///
/// # Safety
/// The processor has the instruction set. There is a register to read, and room after it for the prepared
/// ones.
pub(super) type Prepare = unsafe fn(*mut RegisterBytes);

impl PreparedSplat {
    pub(super) fn new(size: usize, prepare: Prepare) -> PreparedSplat {
        let from = Slot { first: std::ptr::null_mut(), step: 0, prefetch_bytes: 0 };
        let empty = RegisterBytes([0; REGISTER_BYTES]);
        PreparedSplat { register: empty, prepared: [empty; PREPARED_REGISTERS], prepare, from, size }
    }

    /// Prepares the scalar of a row and advances to the next row.
    ///
    /// # Safety
    /// The row has an element, of 4 or 8 bytes.
    #[inline(always)]
    pub(super) unsafe fn next<S: Set>(&mut self) {
        let at = self.from.first;
        self.from = self.from.from(1);
        let to = std::ptr::from_mut(self).cast::<RegisterBytes>();
        // SAFETY: the element is readable, the caller says; there is room for a register at the beginning,
        // aligned.
        unsafe {
            to.cast::<S::Register>().write(if self.size == 4 {
                same::<S, u32>(at)
            } else {
                same::<S, u64>(at)
            });
            (self.prepare)(to);
        }
    }
}

/// A register of one element of type `T`, which has 1, 2, 4 or 8 bytes. Nothing here is a closure, which
/// would not be inlined into code of an instruction set.
///
/// # Safety
/// The element is readable.
#[inline(always)]
unsafe fn same<S: Set, T>(at: *const u8) -> S::Register {
    // SAFETY: the element is readable, the caller says.
    unsafe {
        match const { size_of::<T>() } {
            1 => narrow::<S>(u64::from(*at) * 0x0101_0101),
            2 => narrow::<S>(u64::from(at.cast::<u16>().read_unaligned()) * 0x0001_0001),
            4 => narrow::<S>(u64::from(at.cast::<u32>().read_unaligned())),
            _ => {
                let bits = <S::F64 as Lane>::Bits::splat(at.cast::<u64>().read_unaligned());
                register::<S, S::F64>(S::F64::from_bits(bits))
            }
        }
    }
}

/// A register of 32 bits.
#[inline(always)]
fn narrow<S: Set>(bits: u64) -> S::Register {
    register::<S, S::F32>(S::F32::from_bits(<S::F32 as Lane>::Bits::splat(bits)))
}

/// A register from memory.
///
/// # Safety
/// It is readable.
#[inline(always)]
unsafe fn read<S: Set>(at: *const u8) -> S::Register {
    // SAFETY: as the caller says; any bits are a register.
    unsafe { at.cast::<S::Register>().read_unaligned() }
}

impl Word {
    /// Whether the operand is a broadcast scalar.
    #[inline(always)]
    pub(super) fn is_splat(&self) -> bool {
        self.step == 0
    }

    /// The address of the elements of one register, `size` bytes an element.
    ///
    /// # Safety
    /// The word's operand has elements of that size for all of the run at `offset`.
    #[inline(always)]
    pub(super) unsafe fn register(&self, offset: usize, size: usize, register: usize) -> *mut u8 {
        let (far, near) =
            if register < HALF_REGISTERS { (0, register) } else { (self.far, register - HALF_REGISTERS) };
        // SAFETY: the elements are there, the caller says.
        unsafe { self.address.add((offset & self.mask) * size).offset(far + near as isize * self.step) }
    }

    /// The address of a packed register; of a single one, of its first half.
    ///
    /// # Safety
    /// There is room for the elements at `offset`.
    #[inline(always)]
    pub(super) unsafe fn packed<S: Set, K: StorePrimitive<S>>(
        &self,
        offset: usize,
        register: usize,
    ) -> *mut S::Register {
        let half = K::PACKED_REGISTERS.div_ceil(2);
        let (far, near) = if register < half { (0, register) } else { (self.far, register - half) };
        // SAFETY: there is room, the caller says.
        unsafe { self.address.add(offset * K::ELEMENT_BYTES).offset(far).cast::<S::Register>().add(near) }
    }

    /// An operand whose elements, of type `T`, are as wide as the lanes. Unrolled by hand, because every
    /// function on several operands contains it.
    ///
    /// # Safety
    /// As for [`register`](Word::register), or it has one element.
    #[inline(always)]
    pub(super) unsafe fn load<S: Set, T>(&self, offset: usize) -> Run<S> {
        // SAFETY: the caller says that the elements exist, or the scalar, and the other row's if there are
        // two rows.
        unsafe {
            let (near, far) = (
                self.register(offset, size_of::<T>(), 0),
                self.register(offset, size_of::<T>(), HALF_REGISTERS),
            );
            if self.is_splat() {
                // One load and a broadcast, not a load for each register: the cache ports are busy with the
                // other operands.
                let (near, far) = (same::<S, T>(near), same::<S, T>(far));
                return [near, near, near, near, far, far, far, far];
            }
            let step = self.step;
            [
                read::<S>(near),
                read::<S>(near.offset(step)),
                read::<S>(near.offset(2 * step)),
                read::<S>(near.offset(3 * step)),
                read::<S>(far),
                read::<S>(far.offset(step)),
                read::<S>(far.offset(2 * step)),
                read::<S>(far.offset(3 * step)),
            ]
        }
    }

    /// Puts a run of lanes into the word's memory.
    ///
    /// # Safety
    /// There is room, aligned to registers.
    #[inline(always)]
    pub(super) unsafe fn keep<S: Set>(&self, value: Run<S>) {
        for (i, register) in value.iter().enumerate() {
            // SAFETY: there is room, the caller says.
            unsafe { self.address.cast::<S::Register>().add(i).write(*register) };
        }
    }
}

/// Writes a packed run: what comes from either half of the registers to its place.
///
/// # Safety
/// There is room for the elements at `offset`.
#[inline(always)]
pub(super) unsafe fn put<S: Set, K: StorePrimitive<S>>(out: &Word, offset: usize, packed: &Run<S>) {
    // SAFETY: there is room, the caller says; a register is as many bytes.
    unsafe {
        if const { K::PACKED_REGISTERS == 1 } {
            let (from, half) = (packed.as_ptr().cast::<u8>(), size_of::<S::Register>() / 2);
            let to = out.packed::<S, K>(offset, 0).cast::<u8>();
            to.copy_from_nonoverlapping(from, half);
            to.offset(out.far).copy_from_nonoverlapping(from.add(half), half);
        } else {
            for (i, register) in packed.iter().enumerate().take(K::PACKED_REGISTERS) {
                out.packed::<S, K>(offset, i).write_unaligned(*register);
            }
        }
    }
}

/// The operands of an operation: the running value at its place, the others from the words, of type `T` and
/// as wide as the lanes.
///
/// # Safety
/// There is a word for each other operand, which has elements for all of the run at `offset`.
#[inline(always)]
pub(super) unsafe fn operands<S: Set, T, const N: usize>(
    value: Run<S>,
    place: usize,
    words: *const Word,
    offset: usize,
) -> [Run<S>; N] {
    let mut operands = [value; N];
    // Without `const`, the loop would be compiled for unary operations, too.
    if const { N > 1 } {
        for word in 0..N - 1 {
            // SAFETY: as the caller says.
            operands[word + usize::from(word >= place)] = unsafe { (*words.add(word)).load::<S, T>(offset) };
        }
    }
    operands
}

/// An instruction set: its registers, and the functions of threaded code that are compiled for it.
pub(super) trait Set: Sized + 'static {
    /// Any bits, passed in a register by the calling convention.
    type Register: Copy + Debug;
    /// The same register as floats.
    type F32: Floats<Mask: AnyMask>;
    type F64: Floats<Mask: AnyMask>;
    /// As many registers of `f64` in one lane as hide the latency of long bodies.
    type F64s: Floats;
    const ENTRY: Entry;
    /// Prefetches a line into the core's cache; nothing where there is no such instruction.
    fn fetch(at: *const u8);
    /// A register of `f32` from as many f16.
    ///
    /// # Safety
    /// The processor has the set, and `from` half a register to read.
    unsafe fn widen_f16(from: *const u8) -> Self::Register;
    /// As many f16 from a register of `f32`, rounded to nearest even.
    ///
    /// # Safety
    /// The processor has the set, and `to` room for half a register.
    unsafe fn narrow_f16(register: Self::Register, to: *mut u8);
    /// The upper 16 bits of every 32-bit lane of two registers.
    ///
    /// # Safety
    /// The processor has the set.
    unsafe fn upper_halves(low: Self::Register, high: Self::Register) -> Self::Register;
    /// A permutation of the 32-bit lanes of two registers.
    ///
    /// # Safety
    /// The processor has the set, and both registers together have the lanes.
    unsafe fn pick(low: Self::Register, high: Self::Register, lanes: &Picks) -> Self::Register;
    /// The first function of code: a primitive that takes nothing from registers, then a tail call.
    fn start<B: Primitive<Self>>() -> Code;
    /// The function of a primitive, which ends with a tail call.
    fn step<B: Primitive<Self>>() -> Code;
    /// The fused loop that loads elements of type `T`, applies a primitive, and stores with a sink.
    fn single<T, B: Primitive<Self>, K: StorePrimitive<Self>>() -> Entry;
    /// The function that prepares registers from a splat.
    fn prepare<B: Prepared<Self>>() -> Prepare;
    /// The last function of code, which stores with a sink and returns.
    fn store<B: StorePrimitive<Self>>() -> Code;
    /// The same with non-temporal stores, to addresses aligned to registers.
    fn stream<B: StorePrimitive<Self>>() -> Code;
}

/// What a function of threaded code does to the running value. It is inlined into a function with the
/// features of the set.
pub(super) trait Primitive<S: Set> {
    /// Words of the primitive.
    const WORDS: usize;

    /// # Safety
    /// `words` are the primitive's, and their operands have elements for all of the run at `offset`.
    unsafe fn apply(value: Run<S>, words: *const Word, offset: usize) -> Run<S>;
}

/// A primitive on a splat and the registers prepared from it.
pub(super) trait Prepared<S: Set>: Primitive<S> {
    /// # Safety
    /// As for [`Prepare`].
    unsafe fn prepare(splat: *mut RegisterBytes);
}

/// What the last function does to the running value before it stores.
pub(super) trait StorePrimitive<S: Set> {
    /// Bytes of an element.
    const ELEMENT_BYTES: usize;
    /// Registers of a run once it is packed.
    const PACKED_REGISTERS: usize;

    /// The elements, contiguous in the first registers.
    fn pack(value: Run<S>) -> Run<S>;
}
