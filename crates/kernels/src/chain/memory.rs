//! Owns the primitives between memory and lanes: loads and stores of elements as wide as the lanes, at a
//! small distance, or converted from and to a narrower dtype. It does not know dtypes, only scalar types.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::RangeInclusive;

use super::cast::{CastFrom, CastTo};
use super::code::{HALF_REGISTERS, Primitive, REGISTER_BYTES, RUN_REGISTERS, Run, Set, StorePrimitive, Word};

/// A load of elements as wide as the lanes.
pub(super) struct LoadRun<T>(PhantomData<T>);

impl<S: Set, T> Primitive<S> for LoadRun<T> {
    const WORDS: usize = 1;

    #[inline(always)]
    unsafe fn apply(_: Run<S>, words: *const Word, offset: usize) -> Run<S> {
        // SAFETY: as the caller says.
        unsafe { (*words).load::<S, T>(offset) }
    }
}

/// The same with a prefetch.
pub(super) struct LoadPrefetching<T>(PhantomData<T>);

impl<S: Set, T> Primitive<S> for LoadPrefetching<T> {
    const WORDS: usize = 1;

    #[inline(always)]
    unsafe fn apply(_: Run<S>, words: *const Word, offset: usize) -> Run<S> {
        // SAFETY: as the caller says. Nothing is read from what is ahead.
        unsafe {
            let prefetch_bytes = (*words).prefetch_bytes.unwrap_or(0);
            for i in 0..RUN_REGISTERS {
                S::fetch((*words).register(offset, size_of::<T>(), i).wrapping_offset(prefetch_bytes));
            }
            (*words).load::<S, T>(offset)
        }
    }
}

/// The converted operand of a word.
///
/// # Safety
/// The word's operand has elements of type `A` for all of the run at `offset`, or one.
#[inline(always)]
unsafe fn widened<S: Set, A: CastFrom, R: Copy, T: CastTo<R>>(word: &Word, offset: usize) -> Run<S> {
    let bytes = size_of::<S::Register>() / size_of::<R>() * size_of::<A>();
    let mut elements = MaybeUninit::<Run<S>>::uninit();
    let narrow = elements.as_mut_ptr().cast::<u8>();
    let mut result = MaybeUninit::<Run<S>>::uninit();
    let to = result.as_mut_ptr().cast::<R>();
    let len = size_of::<Run<S>>() / size_of::<R>();
    // SAFETY: narrower elements fit into the space of a run; each is written before it is read, and so is the
    // result.
    unsafe {
        if word.is_splat() {
            let near = T::of(word.register(offset, size_of::<A>(), 0).cast::<A>().read_unaligned());
            let far =
                T::of(word.register(offset, size_of::<A>(), HALF_REGISTERS).cast::<A>().read_unaligned());
            for i in 0..len {
                to.add(i).write(if i < len / 2 { near } else { far });
            }
            return result.assume_init();
        }
        for i in 0..RUN_REGISTERS {
            let from = word.register(offset, size_of::<A>(), i);
            narrow.add(i * bytes).copy_from_nonoverlapping(from, bytes);
        }
        for i in 0..len {
            to.add(i).write(T::of(narrow.cast::<A>().add(i).read()));
        }
        result.assume_init()
    }
}

/// A load of narrower elements.
pub(super) struct Widen<A, R, T>(PhantomData<(A, R, T)>);

impl<S: Set, A: CastFrom, R: Copy, T: CastTo<R>> Primitive<S> for Widen<A, R, T> {
    const WORDS: usize = 1;

    #[inline(always)]
    unsafe fn apply(_: Run<S>, words: *const Word, offset: usize) -> Run<S> {
        // SAFETY: as the caller says.
        unsafe { widened::<S, A, R, T>(&*words, offset) }
    }
}

/// The conversion of an operand that is not the running value. It goes to a buffer, where the next primitive
/// loads it.
pub(super) struct StageOperand<A, R, T>(PhantomData<(A, R, T)>);

impl<S: Set, A: CastFrom, R: Copy, T: CastTo<R>> Primitive<S> for StageOperand<A, R, T> {
    const WORDS: usize = 2;

    #[inline(always)]
    unsafe fn apply(value: Run<S>, words: *const Word, offset: usize) -> Run<S> {
        // SAFETY: as the caller says; the second word has room for a run of lanes.
        unsafe {
            let converted = widened::<S, A, R, T>(&*words, offset);
            (*words.add(1)).keep::<S>(converted);
        }
        value
    }
}

/// Makes an operand the running value, and the running value an operand in a buffer.
pub(super) struct Exchange<T>(PhantomData<T>);

impl<S: Set, T> Primitive<S> for Exchange<T> {
    const WORDS: usize = 2;

    #[inline(always)]
    unsafe fn apply(value: Run<S>, words: *const Word, offset: usize) -> Run<S> {
        // SAFETY: as the caller says; the second word has room for a run of lanes.
        unsafe {
            let operand = (*words).load::<S, T>(offset);
            (*words.add(1)).keep::<S>(value);
            operand
        }
    }
}

/// Bytes of the lanes that are permuted: half of an 8-byte element.
const PICK_BYTES: usize = size_of::<u32>();

/// Such lanes of the largest register.
const REGISTER_PICKS: usize = REGISTER_BYTES / PICK_BYTES;

/// For each lane of the result, its index among the lanes of two registers, one after the other.
pub(super) type Picks = [u32; REGISTER_PICKS];

/// The distances that a strided load may have, in elements; 0 and 1 have loads of their own.
pub(super) const STEPS: RangeInclusive<isize> = -(MAX_STEP as isize)..=MAX_STEP as isize;

/// The largest distance, and the registers that one register's elements are spread over.
pub(super) const MAX_STEP: usize = 4;

/// A load of elements of type `T` at a distance of `STEP`, as wide as the lanes. It loads whole registers and
/// permutes their lanes. Nothing before the first or after the last element is read.
pub(super) struct LoadStepped<T, const STEP: isize>(PhantomData<T>);

impl<T, const STEP: isize> LoadStepped<T, STEP> {
    /// Registers that are loaded for one register of elements.
    const SOURCES: usize = STEP.unsigned_abs();

    /// The element, counted from the lowest, at which a source of `len` elements begins. If it `ends`, the
    /// last source is moved back so that it ends with the highest element.
    const fn start(source: usize, len: usize, ends: bool) -> usize {
        let (next, last) = (source * len, (Self::SOURCES - 1) * (len - 1));
        if ends && last < next { last } else { next }
    }

    /// The permutation that takes lanes from what has been picked so far (the first source at first) and from
    /// the next source.
    const fn picks(source: usize, len: usize, ends: bool) -> Picks {
        let (width, mut picks, mut lane) = (size_of::<T>() / PICK_BYTES, [0; REGISTER_PICKS], 0);
        while lane < len * width {
            let element = if STEP < 0 { len - 1 - lane / width } else { lane / width };
            let own = element * Self::SOURCES / len;
            let at = (element * Self::SOURCES - Self::start(own, len, ends)) * width + lane % width;
            picks[lane] = if own == source {
                (len * width + at) as u32
            } else if own == 0 && source == 1 {
                at as u32
            } else {
                lane as u32
            };
            lane += 1;
        }
        picks
    }

    /// The permutations for all sources but the first.
    const fn all_picks(len: usize, ends: bool) -> [Picks; MAX_STEP - 1] {
        [Self::picks(1, len, ends), Self::picks(2, len, ends), Self::picks(3, len, ends)]
    }

    /// Loads a source.
    ///
    /// # Safety
    /// As for `register`; there is such a source.
    #[inline(always)]
    unsafe fn source<S: Set>(first: *const u8, source: usize, ends: bool) -> S::Register {
        let len = size_of::<S::Register>() / size_of::<T>();
        let low = if STEP < 0 { (len as isize - 1) * STEP } else { 0 };
        let start = low + Self::start(source, len, ends) as isize;
        // SAFETY: no source begins before the lowest element; if the last one ends after the highest, the
        // caller says that it may.
        unsafe { first.cast::<T>().offset(start).cast::<S::Register>().read_unaligned() }
    }

    /// The elements of a register, given the address of the first. Nothing here is a loop, which might not be
    /// unrolled, or a closure, which might not be inlined into code of an instruction set.
    ///
    /// # Safety
    /// The register's elements are readable, and the bytes between them. Unless the sources are to end with
    /// the highest element, so are the bytes up to where one more would be.
    #[inline(always)]
    unsafe fn register<S: Set>(first: *const u8, ends: bool) -> S::Register {
        let picks = const {
            let len = size_of::<S::Register>() / size_of::<T>();
            &[Self::all_picks(len, false), Self::all_picks(len, true)]
        };
        let picks = &picks[ends as usize];
        // SAFETY: as the caller says; this is compiled for the set.
        unsafe {
            let low = Self::source::<S>(first, 0, ends);
            let high = if Self::SOURCES > 1 { Self::source::<S>(first, 1, ends) } else { low };
            let mut value = S::pick(low, high, &picks[0]);
            if Self::SOURCES > 2 {
                value = S::pick(value, Self::source::<S>(first, 2, ends), &picks[1]);
            }
            if Self::SOURCES > 3 {
                value = S::pick(value, Self::source::<S>(first, 3, ends), &picks[2]);
            }
            value
        }
    }

    /// The elements of one register of a run that begins so many bytes after the word's first element.
    ///
    /// # Safety
    /// As for `run`.
    #[inline(always)]
    unsafe fn nth<S: Set>(word: &Word, before: isize, register: usize) -> S::Register {
        let (far, near) =
            if register < HALF_REGISTERS { (0, register) } else { (word.far, register - HALF_REGISTERS) };
        // Nothing need follow the highest element of a half.
        let ends = near == if STEP < 0 { 0 } else { HALF_REGISTERS - 1 };
        // SAFETY: the elements are there, the caller says, and those of the half's other registers.
        unsafe { Self::register::<S>(word.address.offset(before + far + near as isize * word.step), ends) }
    }

    /// The elements of a run.
    ///
    /// # Safety
    /// The word's operand has elements at this distance for all of the run at `offset`, and the bytes between
    /// them are readable.
    #[inline(always)]
    unsafe fn run<S: Set>(word: &Word, offset: usize) -> Run<S> {
        let before = offset as isize * STEP * size_of::<T>() as isize;
        // SAFETY: as the caller says.
        unsafe {
            [
                Self::nth::<S>(word, before, 0),
                Self::nth::<S>(word, before, 1),
                Self::nth::<S>(word, before, 2),
                Self::nth::<S>(word, before, 3),
                Self::nth::<S>(word, before, 4),
                Self::nth::<S>(word, before, 5),
                Self::nth::<S>(word, before, 6),
                Self::nth::<S>(word, before, 7),
            ]
        }
    }
}

impl<S: Set, T, const STEP: isize> Primitive<S> for LoadStepped<T, STEP> {
    const WORDS: usize = 1;

    #[inline(always)]
    unsafe fn apply(_: Run<S>, words: *const Word, offset: usize) -> Run<S> {
        // SAFETY: as the caller says.
        unsafe { Self::run::<S>(&*words, offset) }
    }
}

/// The same for an operand that is not the running value. It goes to a buffer, where the next primitive loads
/// it.
pub(super) struct StageStepped<T, const STEP: isize>(PhantomData<T>);

impl<S: Set, T, const STEP: isize> Primitive<S> for StageStepped<T, STEP> {
    const WORDS: usize = 2;

    #[inline(always)]
    unsafe fn apply(value: Run<S>, words: *const Word, offset: usize) -> Run<S> {
        // SAFETY: as the caller says; the second word has room for a run of lanes.
        unsafe { (*words.add(1)).keep::<S>(LoadStepped::<T, STEP>::run::<S>(&*words, offset)) };
        value
    }
}

/// A store of elements as wide as the lanes.
pub(super) struct StoreRun<T>(PhantomData<T>);

impl<S: Set, T> StorePrimitive<S> for StoreRun<T> {
    const ELEMENT_BYTES: usize = size_of::<T>();
    const PACKED_REGISTERS: usize = RUN_REGISTERS;

    #[inline(always)]
    fn pack(value: Run<S>) -> Run<S> {
        value
    }
}

/// A store of narrower elements.
pub(super) struct Narrow<A, R, T>(PhantomData<(A, R, T)>);

impl<S: Set, A: CastFrom, R, T: CastTo<R>> StorePrimitive<S> for Narrow<A, R, T> {
    const ELEMENT_BYTES: usize = size_of::<R>();
    const PACKED_REGISTERS: usize = RUN_REGISTERS * size_of::<R>() / size_of::<A>();

    #[inline(always)]
    fn pack(value: Run<S>) -> Run<S> {
        let from = value.as_ptr().cast::<A>();
        let mut packed = value;
        let to = packed.as_mut_ptr().cast::<R>();
        for i in 0..size_of::<Run<S>>() / size_of::<A>() {
            // SAFETY: a run is that many elements of type A, and has room for as many narrower ones.
            unsafe { to.add(i).write(T::of(from.add(i).read())) };
        }
        packed
    }
}
