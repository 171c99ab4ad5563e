//! Owns the primitives on f16 and bf16 that take fewer instructions than generic conversions: loads, stores
//! and rounding of f16, stores and rounding of bf16. They compute what [`cast`](super::cast) defines.

use zerostride_ops::Op;

use super::code::{
    self, HALF_REGISTERS, REGISTER_BYTES, RUN_REGISTERS, Run, Set, StorePrimitive, Word, each,
};
use super::float::{lane, register};
use crate::bodies::dispatch::Body;
use crate::lane::{Bits, Lane};

/// Bytes of an f16 or bf16.
const HALF_BYTES: usize = 2;

/// The operand of a word as `f32`.
///
/// # Safety
/// The word's operand has an f16 for all of the run at `offset`, or one.
#[inline(always)]
unsafe fn widened<S: Set>(word: &Word, offset: usize) -> Run<S> {
    if word.is_splat() {
        // SAFETY: the element is there, the caller says.
        let near = unsafe { same::<S>(word.register(offset, HALF_BYTES, 0)) };
        // SAFETY: as above.
        let far = unsafe { same::<S>(word.register(offset, HALF_BYTES, HALF_REGISTERS)) };
        return each::<S>(|i| if i < HALF_REGISTERS { near } else { far });
    }
    // SAFETY: the elements are there, the caller says.
    each::<S>(|i| unsafe { S::widen_f16(word.register(offset, HALF_BYTES, i)) })
}

/// A register of one f16 as `f32`.
///
/// # Safety
/// The element is readable.
#[inline(always)]
unsafe fn same<S: Set>(at: *const u8) -> S::Register {
    // SAFETY: the element is readable, the caller says, and half a register of it is.
    unsafe {
        let half = at.cast::<u16>().read_unaligned();
        S::widen_f16([half; REGISTER_BYTES / 2 / HALF_BYTES].as_ptr().cast())
    }
}

/// A load of f16.
pub(super) struct LoadF16;

impl<S: Set> code::Primitive<S> for LoadF16 {
    const WORDS: usize = 1;

    #[inline(always)]
    unsafe fn apply(_: Run<S>, words: *const Word, offset: usize) -> Run<S> {
        // SAFETY: as the caller says.
        unsafe { widened::<S>(&*words, offset) }
    }
}

/// The conversion of an operand that is not the running value, into a buffer.
pub(super) struct StageF16;

impl<S: Set> code::Primitive<S> for StageF16 {
    const WORDS: usize = 2;

    #[inline(always)]
    unsafe fn apply(value: Run<S>, words: *const Word, offset: usize) -> Run<S> {
        // SAFETY: as the caller says; the second word has room for a run of lanes.
        unsafe { (*words.add(1)).keep::<S>(widened::<S>(&*words, offset)) };
        value
    }
}

/// The rounding of `f32` to the precision and range of f16.
pub(super) struct RoundF16;

impl<S: Set> code::Primitive<S> for RoundF16 {
    const WORDS: usize = 1;

    #[inline(always)]
    unsafe fn apply(value: Run<S>, _: *const Word, _: usize) -> Run<S> {
        each::<S>(|i| {
            let mut halves = value[i];
            let memory = (&raw mut halves).cast::<u8>();
            // SAFETY: half a register is written and read; the set is the one that this is compiled for.
            unsafe {
                S::narrow_f16(value[i], memory);
                S::widen_f16(memory)
            }
        })
    }
}

/// A store of f16.
pub(super) struct StoreF16;

impl<S: Set> StorePrimitive<S> for StoreF16 {
    const ELEMENT_BYTES: usize = HALF_BYTES;
    const PACKED_REGISTERS: usize = RUN_REGISTERS / 2;

    #[inline(always)]
    fn pack(value: Run<S>) -> Run<S> {
        let mut packed = value;
        let to = packed.as_mut_ptr().cast::<u8>();
        for (i, &register) in value.iter().enumerate() {
            // SAFETY: eight half registers fit into four registers; the set is the one that this is compiled
            // for.
            unsafe { S::narrow_f16(register, to.add(i * size_of::<S::Register>() / 2)) };
        }
        packed
    }
}

/// Floats whose upper 16 bits are the nearest bf16; NaN becomes quiet.
#[inline(always)]
fn rounded<V: Lane>(value: V) -> V::Bits {
    let (bits, odd) = (value.to_bits(), value.to_bits() >> 16 & V::Bits::splat(1));
    let nearest = bits + V::Bits::splat(0x7fff) + odd;
    V::Bits::select(value.is_nan(), bits | V::Bits::splat(0x0040_0000), nearest)
}

/// The rounding of `f32` to the precision of bf16.
pub(super) struct RoundBF16;

impl<V: Lane> Body<1, V> for RoundBF16 {
    /// The value stays.
    const OP: Op = Op::Positive;
    type Result = V;

    #[inline(always)]
    fn call([value]: [V; 1]) -> V {
        V::from_bits(rounded(value) & V::Bits::splat(0xffff_0000))
    }
}

/// A store of bf16, rounding first unless the floats are bf16 values already.
pub(super) struct StoreBF16<const ROUNDS: bool>;

impl<S: Set, const ROUNDS: bool> StorePrimitive<S> for StoreBF16<ROUNDS> {
    const ELEMENT_BYTES: usize = HALF_BYTES;
    const PACKED_REGISTERS: usize = RUN_REGISTERS / 2;

    #[inline(always)]
    fn pack(value: Run<S>) -> Run<S> {
        let mut packed = value;
        for i in 0..RUN_REGISTERS / 2 {
            let (mut low, mut high) = (value[2 * i], value[2 * i + 1]);
            if ROUNDS {
                low = nearest::<S>(lane::<S, S::F32>(&value, 2 * i));
                high = nearest::<S>(lane::<S, S::F32>(&value, 2 * i + 1));
            }
            // SAFETY: the set is the one that this is compiled for.
            packed[i] = unsafe { S::upper_halves(low, high) };
        }
        packed
    }
}

/// A rounded register.
#[inline(always)]
fn nearest<S: Set>(value: S::F32) -> S::Register {
    register::<S, S::F32>(S::F32::from_bits(rounded(value)))
}
