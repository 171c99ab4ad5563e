//! Owns how elements get from memory into lanes and back: as they are, or converted from and to a narrower dtype. It
//! does not know dtypes, only the scalar types that they are made of.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use super::cast::{Source, Target};
use super::code::{Body, HALF, REGISTERS, Run, Set, Sink, Word};

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
