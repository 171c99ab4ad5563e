//! Owns the functions whose body is a scalar one: it is applied to every element of the eight registers, in a loop that
//! the compiler turns into instructions on whole registers, where there are any. It does not know an operation.

use std::marker::PhantomData;

use zerostride_ops::Op;

use super::code::{self, Run, Set, Word};
use crate::bodies::dispatch::Body;
use crate::bodies::integer::Integer;

/// The body applied to the running value, operand `PLACE`, and to the others from memory; `T` is the type of a lane
/// before, `R` after.
pub(super) struct Elements<T, R, B, const N: usize, const PLACE: usize>(PhantomData<(T, R, B)>);

impl<S: Set, T: Copy, R, B: Body<N, T, Result = R>, const N: usize, const PLACE: usize> code::Body<S>
    for Elements<T, R, B, N, PLACE>
{
    const WORDS: usize = if N == 1 { 1 } else { N - 1 };

    #[inline(always)]
    unsafe fn apply(value: Run<S>, words: *const Word, offset: usize) -> Run<S> {
        const { assert!(size_of::<T>() == size_of::<R>()) };
        // SAFETY: as the caller says.
        let operands: [Run<S>; N] = unsafe { code::operands::<S, T, N>(value, PLACE, words, offset) };
        let mut result = value;
        let to = result.as_mut_ptr().cast::<R>();
        for i in 0..size_of::<Run<S>>() / size_of::<T>() {
            // SAFETY: a run is that many elements; any bits are a number, and registers are aligned to their lanes.
            unsafe {
                let mut elements = [operands[0].as_ptr().cast::<T>().add(i).read(); N];
                for place in 1..N {
                    elements[place] = operands[place].as_ptr().cast::<T>().add(i).read();
                }
                to.add(i).write(B::call(elements));
            }
        }
        result
    }
}

/// The body on integers whose truth values are the integers 0 and 1.
pub(super) struct Truth<B>(PhantomData<B>);

impl<T: Integer, B: Body<N, T, Result = bool>, const N: usize> Body<N, T> for Truth<B> {
    const OP: Op = B::OP;
    type Result = T;

    #[inline(always)]
    fn call(operands: [T; N]) -> T {
        if B::call(operands) { T::ONE } else { T::ZERO }
    }
}

/// The body on bools that lie in wider lanes, as 0 or anything else. It is asked about constants alone: bools side by side are one
/// integer to the compiler, which puts them together and takes them apart in registers.
pub(super) struct Bools<B>(PhantomData<B>);

impl<T: Integer, B: Body<N, bool, Result = bool>, const N: usize> Body<N, T> for Bools<B> {
    const OP: Op = B::OP;
    type Result = T;

    #[inline(always)]
    fn call(operands: [T; N]) -> T {
        let mut truth = false;
        for case in 0..1usize << N {
            let (mut bools, mut is_case) = ([false; N], true);
            for (place, bool) in bools.iter_mut().enumerate() {
                *bool = case >> place & 1 == 1;
                is_case &= (operands[place] != T::ZERO) == *bool;
            }
            truth |= is_case & B::call(bools);
        }
        if truth { T::ONE } else { T::ZERO }
    }
}
