//! Owns how elements get from memory into lanes and back: as they are, some elements apart, or converted from and to a narrower
//! dtype. It does not know dtypes, only the scalar types that they are made of.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::RangeInclusive;

use super::cast::{Source, Target};
use super::code::{Body, HALF, REGISTER, REGISTERS, Run, Set, Sink, Word, each};

/// A load of elements as wide as the lanes.
pub(super) struct Load<T>(PhantomData<T>);

impl<S: Set, T> Body<S> for Load<T> {
    const WORDS: usize = 1;

    #[inline(always)]
    unsafe fn apply(_: Run<S>, words: *const Word, offset: usize) -> Run<S> {
        // SAFETY: as the caller says.
        unsafe { (*words).load::<S>(offset, size_of::<T>()) }
    }
}

/// The same, which also fetches what will be loaded later.
pub(super) struct LoadAhead<T>(PhantomData<T>);

impl<S: Set, T> Body<S> for LoadAhead<T> {
    const WORDS: usize = 1;

    #[inline(always)]
    unsafe fn apply(_: Run<S>, words: *const Word, offset: usize) -> Run<S> {
        // SAFETY: as the caller says. Nothing is read from what is ahead.
        unsafe {
            let ahead = (*words).ahead.unwrap_or(0);
            for i in 0..REGISTERS {
                S::fetch((*words).register(offset, size_of::<T>(), i).wrapping_offset(ahead));
            }
            (*words).load::<S>(offset, size_of::<T>())
        }
    }
}

/// The converted operand of a word.
///
/// # Safety
/// The word's operand has elements of type `A` for all of the run at `offset`, or one.
#[inline(always)]
unsafe fn widened<S: Set, A: Source, R: Copy, T: Target<R>>(word: &Word, offset: usize) -> Run<S> {
    let bytes = size_of::<S::Register>() / size_of::<R>() * size_of::<A>();
    let mut elements = MaybeUninit::<Run<S>>::uninit();
    let narrow = elements.as_mut_ptr().cast::<u8>();
    let mut result = MaybeUninit::<Run<S>>::uninit();
    let to = result.as_mut_ptr().cast::<R>();
    let len = size_of::<Run<S>>() / size_of::<R>();
    // SAFETY: narrower elements fit into the space of a run; each is written before it is read, and so is the result.
    unsafe {
        if word.is_splat() {
            let near = T::of(word.register(offset, size_of::<A>(), 0).cast::<A>().read_unaligned());
            let far = T::of(word.register(offset, size_of::<A>(), HALF).cast::<A>().read_unaligned());
            for i in 0..len {
                to.add(i).write(if i < len / 2 { near } else { far });
            }
            return result.assume_init();
        }
        for i in 0..REGISTERS {
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

impl<S: Set, A: Source, R: Copy, T: Target<R>> Body<S> for Widen<A, R, T> {
    const WORDS: usize = 1;

    #[inline(always)]
    unsafe fn apply(_: Run<S>, words: *const Word, offset: usize) -> Run<S> {
        // SAFETY: as the caller says.
        unsafe { widened::<S, A, R, T>(&*words, offset) }
    }
}

/// The conversion of an operand that is not the running value: it goes into memory of a run, where the next function
/// finds it.
pub(super) struct Stage<A, R, T>(PhantomData<(A, R, T)>);

impl<S: Set, A: Source, R: Copy, T: Target<R>> Body<S> for Stage<A, R, T> {
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

/// An operand becomes the running value, which goes into memory of a run.
pub(super) struct Exchange<T>(PhantomData<T>);

impl<S: Set, T> Body<S> for Exchange<T> {
    const WORDS: usize = 2;

    #[inline(always)]
    unsafe fn apply(value: Run<S>, words: *const Word, offset: usize) -> Run<S> {
        // SAFETY: as the caller says; the second word has room for a run of lanes.
        unsafe {
            let operand = (*words).load::<S>(offset, size_of::<T>());
            (*words.add(1)).keep::<S>(value);
            operand
        }
    }
}

/// Bytes of what is picked at once: half of some elements.
const LANE: usize = size_of::<u32>();

/// A register's lanes, at most.
const LANES: usize = REGISTER / LANE;

/// The lanes of two registers one after the other that another one gets.
pub(super) type Picks = [u32; LANES];

/// The distances of elements that there are loads for, in elements; those of neighbours have their own.
pub(super) const STEPS: RangeInclusive<isize> = -(MOST as isize)..=MOST as isize;

/// Registers that the elements of one are in, at most.
pub(super) const MOST: usize = 4;

/// A load of elements that are `STEP` elements of type `T` apart, as wide as the lanes: of whole registers, with what lies between
/// the elements, which are picked from them. Nothing before the first or behind the last element is read.
pub(super) struct Stepped<T, const STEP: isize>(PhantomData<T>);

impl<T, const STEP: isize> Stepped<T, STEP> {
    /// Registers that the elements of one are in.
    const SOURCES: usize = STEP.unsigned_abs();

    /// The element from the lowest on which a source begins, of registers of so many: the last one ends with the highest.
    const fn start(source: usize, len: usize) -> usize {
        let (next, last) = (source * len, (Self::SOURCES - 1) * (len - 1));
        if next < last { next } else { last }
    }

    /// What is picked from what has been picked, which is the first source at first, and from another source.
    const fn picks(source: usize, len: usize) -> Picks {
        let (width, mut picks, mut lane) = (size_of::<T>() / LANE, [0; LANES], 0);
        while lane < len * width {
            let element = if STEP < 0 { len - 1 - lane / width } else { lane / width };
            let own = element * Self::SOURCES / len;
            let at = (element * Self::SOURCES - Self::start(own, len)) * width + lane % width;
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

    /// The same of all sources but the first.
    const fn all_picks(len: usize) -> [Picks; MOST - 1] {
        let (mut all, mut source) = ([[0; LANES]; MOST - 1], 1);
        while source < MOST {
            all[source - 1] = Self::picks(source, len);
            source += 1;
        }
        all
    }

    /// The elements of a register, from the first one's address on.
    ///
    /// # Safety
    /// As many elements as a register has are readable, and so is what lies between them.
    #[inline(always)]
    unsafe fn register<S: Set>(first: *const u8) -> S::Register {
        let len = size_of::<S::Register>() / size_of::<T>();
        let all = const { &Self::all_picks(size_of::<S::Register>() / size_of::<T>()) };
        let low = if STEP < 0 { (len as isize - 1) * STEP } else { 0 };
        let load = |source: usize| {
            let start = low + Self::start(source, len) as isize;
            // SAFETY: each source begins and ends between the lowest and the highest element.
            unsafe { first.cast::<T>().offset(start).cast::<S::Register>().read_unaligned() }
        };
        let mut value = load(0);
        // Whatever is not a plain loop is not unrolled, and then picks by what it finds in memory.
        for source in 1..Self::SOURCES.max(2) {
            let other = if source < Self::SOURCES { load(source) } else { value };
            // SAFETY: this is compiled for the set.
            value = unsafe { S::pick(value, other, &all[source - 1]) };
        }
        value
    }

    /// The elements of a run.
    ///
    /// # Safety
    /// The word's operand has elements, so many apart, for all of the run at `offset`, and what lies between them is readable.
    #[inline(always)]
    unsafe fn run<S: Set>(word: &Word, offset: usize) -> Run<S> {
        let before = offset as isize * STEP * size_of::<T>() as isize;
        each::<S>(|i| {
            let (far, near) = if i < HALF { (0, i) } else { (word.far, i - HALF) };
            // SAFETY: the elements are there, the caller says.
            unsafe { Self::register::<S>(word.address.offset(before + far + near as isize * word.step)) }
        })
    }
}

impl<S: Set, T, const STEP: isize> Body<S> for Stepped<T, STEP> {
    const WORDS: usize = 1;

    #[inline(always)]
    unsafe fn apply(_: Run<S>, words: *const Word, offset: usize) -> Run<S> {
        // SAFETY: as the caller says.
        unsafe { Self::run::<S>(&*words, offset) }
    }
}

/// The same for an operand that is not the running value: it goes into memory of a run, where the next function finds it.
pub(super) struct StageStepped<T, const STEP: isize>(PhantomData<T>);

impl<S: Set, T, const STEP: isize> Body<S> for StageStepped<T, STEP> {
    const WORDS: usize = 2;

    #[inline(always)]
    unsafe fn apply(value: Run<S>, words: *const Word, offset: usize) -> Run<S> {
        // SAFETY: as the caller says; the second word has room for a run of lanes.
        unsafe { (*words.add(1)).keep::<S>(Stepped::<T, STEP>::run::<S>(&*words, offset)) };
        value
    }
}

/// A store of elements as wide as the lanes.
pub(super) struct Store<T>(PhantomData<T>);

impl<S: Set, T> Sink<S> for Store<T> {
    const SIZE: usize = size_of::<T>();
    const REGISTERS: usize = REGISTERS;

    #[inline(always)]
    fn pack(value: Run<S>) -> Run<S> {
        value
    }
}

/// A store of narrower elements.
pub(super) struct Narrow<A, R, T>(PhantomData<(A, R, T)>);

impl<S: Set, A: Source, R, T: Target<R>> Sink<S> for Narrow<A, R, T> {
    const SIZE: usize = size_of::<R>();
    const REGISTERS: usize = REGISTERS * size_of::<R>() / size_of::<A>();

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
