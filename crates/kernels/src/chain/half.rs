//! Owns the functions on f16 that instruction sets have instructions for: its loads, stores and rounding. They compute
//! what [`cast`](super::cast) says, where the loops of conversions are long.

use super::code::{Body, HALF, REGISTER, REGISTERS, Run, Set, Sink, Word, each};

/// Bytes of an f16.
const SIZE: usize = 2;

/// The operand of a word as `f32`.
///
/// # Safety
/// The word's operand has an f16 for all of the run at `offset`, or one.
#[inline(always)]
unsafe fn widened<S: Set>(word: &Word, offset: usize) -> Run<S> {
    if word.is_splat() {
        // SAFETY: the element is there, the caller says.
        let near = unsafe { same::<S>(word.register(offset, SIZE, 0)) };
        // SAFETY: as above.
        let far = unsafe { same::<S>(word.register(offset, SIZE, HALF)) };
        return each::<S>(|i| if i < HALF { near } else { far });
    }
    // SAFETY: the elements are there, the caller says.
    each::<S>(|i| unsafe { S::widen_f16(word.register(offset, SIZE, i)) })
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
        S::widen_f16([half; REGISTER / 2 / SIZE].as_ptr().cast())
    }
}

/// A load of f16.
pub(super) struct LoadF16;

impl<S: Set> Body<S> for LoadF16 {
    const WORDS: usize = 1;

    #[inline(always)]
    unsafe fn apply(_: Run<S>, words: *const Word, offset: usize) -> Run<S> {
        // SAFETY: as the caller says.
        unsafe { widened::<S>(&*words, offset) }
    }
}

/// The conversion of an operand that is not the running value, into memory of a run.
pub(super) struct StageF16;

impl<S: Set> Body<S> for StageF16 {
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

impl<S: Set> Body<S> for RoundF16 {
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

impl<S: Set> Sink<S> for StoreF16 {
    const SIZE: usize = SIZE;
    const REGISTERS: usize = REGISTERS / 2;

    #[inline(always)]
    fn pack(value: Run<S>) -> Run<S> {
        let mut packed = value;
        let to = packed.as_mut_ptr().cast::<u8>();
        for (i, &register) in value.iter().enumerate() {
            // SAFETY: eight halves of registers fit into four; the set is the one that this is compiled for.
            unsafe { S::narrow_f16(register, to.add(i * size_of::<S::Register>() / 2)) };
        }
        packed
    }
}
