//! Owns the functions whose body is a scalar one: it is applied to every element of the eight registers, in a loop that
//! the compiler turns into instructions on whole registers, where there are any. It does not know an operation.

use std::marker::PhantomData;

use super::code::{Body, Run, Set, Word};

/// A function of `N` elements, known by its type, because threaded code has no place for a value.
pub(super) trait Function<T, const N: usize, R = T> {
    fn call(operands: [T; N]) -> R;
}

/// The function applied to the running value, operand `PLACE`, and to the others from memory.
pub(super) struct Array<T, R, F, const N: usize, const PLACE: usize>(PhantomData<(T, R, F)>);

impl<S: Set, T: Copy, R: Copy, F: Function<T, N, R>, const N: usize, const PLACE: usize> Body<S>
    for Array<T, R, F, N, PLACE>
{
    const WORDS: usize = if N == 1 { 1 } else { N - 1 };

    #[inline(always)]
    unsafe fn apply(value: Run<S>, words: *const Word, offset: usize) -> Run<S> {
        const { assert!(size_of::<T>() == size_of::<R>() && PLACE < N) };
        let mut operands = [value; N];
        for place in (0..N).filter(|&place| place != PLACE) {
            let other = if place < PLACE { place } else { place - 1 };
            // SAFETY: as the caller says, the word has an operand for all of the run.
            operands[place] = unsafe { (*words.add(other)).load::<S>(offset, size_of::<T>()) };
        }
        let mut result = value;
        let to = result.as_mut_ptr().cast::<R>();
        let from = operands.each_ref().map(|run| run.as_ptr().cast::<T>());
        for i in 0..size_of::<Run<S>>() / size_of::<T>() {
            // SAFETY: a run is that many elements; any bits are a number, and registers are aligned to their lanes.
            unsafe { to.add(i).write(F::call(from.map(|from| from.add(i).read()))) };
        }
        result
    }
}
