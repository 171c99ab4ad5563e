//! Owns the primitives whose body works on one element: it is applied to every element of the eight
//! registers, in a loop that the compiler vectorises. It does not know an operation.

use std::marker::PhantomData;

use zerostride_ops::Op;

use super::code::{self, Run, Set, Word};
use crate::bodies::dispatch::Body;
use crate::bodies::integer::Integer;

/// The body applied to the running value, operand `PLACE`, and to the others from memory; `T` is the type of
/// a lane before, `R` after.
pub(super) struct OnElements<T, R, B, const N: usize, const PLACE: usize>(PhantomData<(T, R, B)>);

impl<S: Set, T: Copy, R, B: Body<N, T, Result = R>, const N: usize, const PLACE: usize> code::Primitive<S>
    for OnElements<T, R, B, N, PLACE>
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
            // SAFETY: a run is that many elements; any bits are a number, and registers are aligned to their
            // lanes.
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

/// The body on integers whose bools are the integers 0 and 1.
pub(super) struct IntegerTest<B>(PhantomData<B>);

impl<T: Integer, B: Body<N, T, Result = bool>, const N: usize> Body<N, T> for IntegerTest<B> {
    const OP: Op = B::OP;
    type Result = T;

    #[inline(always)]
    fn call(operands: [T; N]) -> T {
        if B::call(operands) { T::ONE } else { T::ZERO }
    }
}

/// The body on bools in wider lanes, where any other value than 0 is true. The body is only called on
/// constants: LLVM would pack a vector of bools into bits and unpack them again.
pub(super) struct BoolsInLanes<B>(PhantomData<B>);

impl<T: Integer, B: Body<N, bool, Result = bool>, const N: usize> Body<N, T> for BoolsInLanes<B> {
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
