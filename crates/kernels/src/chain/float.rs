//! Owns the primitives whose body works on registers of floats. It does not know an operation.

use std::marker::PhantomData;

use zerostride_ops::Op;

use super::code::{self, RUN_REGISTERS, Run, Set, Word};
use crate::bodies::dispatch::Body;
use crate::lane::{Bits, Lane};

/// The body applied to the running value, operand `PLACE`, and to the others from memory. A lane is one
/// register, or several, whose instructions the body interleaves.
pub(super) struct OnRegisters<V, B, const N: usize, const PLACE: usize>(PhantomData<(V, B)>);

impl<S: Set, V: Lane, B: Body<N, V, Result = V>, const N: usize, const PLACE: usize> code::Primitive<S>
    for OnRegisters<V, B, N, PLACE>
{
    const WORDS: usize = if N == 1 { 1 } else { N - 1 };

    #[inline(always)]
    unsafe fn apply(value: Run<S>, words: *const Word, offset: usize) -> Run<S> {
        let together = const {
            let together = size_of::<V>() / size_of::<S::Register>();
            assert!(
                together * size_of::<S::Register>() == size_of::<V>()
                    && RUN_REGISTERS.is_multiple_of(together)
            );
            together
        };
        // SAFETY: as the caller says.
        let runs: [Run<S>; N] = unsafe { code::operands::<S, V::Elem, N>(value, PLACE, words, offset) };
        let mut result = value;
        for first in (0..RUN_REGISTERS).step_by(together) {
            let mut operands = [lane::<S, V>(&runs[0], first); N];
            for place in 1..N {
                operands[place] = lane::<S, V>(&runs[place], first);
            }
            let to = result[first..first + together].as_mut_ptr().cast::<V>();
            // SAFETY: a lane is as many registers by another name.
            unsafe { to.write_unaligned(B::call(operands)) };
        }
        result
    }
}

/// The registers of a lane, from the given one on.
#[inline(always)]
pub(super) fn lane<S: Set, V: Lane>(run: &Run<S>, first: usize) -> V {
    let registers = &run[first..first + size_of::<V>() / size_of::<S::Register>()];
    // SAFETY: a lane is as many registers by another name.
    unsafe { registers.as_ptr().cast::<V>().read_unaligned() }
}

/// The register that a lane is.
#[inline(always)]
pub(super) fn register<S: Set, V: Lane>(lane: V) -> S::Register {
    const { assert!(size_of::<V>() == size_of::<S::Register>()) };
    // SAFETY: a lane is a register by another name.
    unsafe { std::ptr::from_ref(&lane).cast::<S::Register>().read_unaligned() }
}

/// The body whose bools are the integers 0 and 1.
pub(super) struct FloatTest<B>(PhantomData<B>);

impl<V: Lane, B: Body<N, V, Result = V::Mask>, const N: usize> Body<N, V> for FloatTest<B> {
    const OP: Op = B::OP;
    type Result = V;

    #[inline(always)]
    fn call(operands: [V; N]) -> V {
        V::from_bits(V::Bits::select(B::call(operands), V::Bits::splat(1), V::Bits::splat(0)))
    }
}

/// The body whose integral floats become integers.
pub(super) struct IntegralFloat<B>(PhantomData<B>);

impl<V: Lane, B: Body<N, V, Result = V>, const N: usize> Body<N, V> for IntegralFloat<B> {
    const OP: Op = B::OP;
    type Result = V;

    #[inline(always)]
    fn call(operands: [V; N]) -> V {
        V::from_bits(B::call(operands).to_int())
    }
}
