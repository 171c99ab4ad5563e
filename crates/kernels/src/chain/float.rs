//! Owns the functions whose body works on a register of floats at a time. It does not know an operation.

use std::marker::PhantomData;
use std::mem::transmute_copy;

use zerostride_ops::Op;

use super::code::{self, Run, Set, Word};
use crate::bodies::dispatch::Body;
use crate::lane::{Bits, Lane};

/// The body applied to the running value, operand `PLACE`, and to the others from memory.
pub(super) struct Registers<V, B, const N: usize, const PLACE: usize>(PhantomData<(V, B)>);

impl<S: Set, V: Lane, B: Body<N, V, Result = V>, const N: usize, const PLACE: usize> code::Body<S>
    for Registers<V, B, N, PLACE>
{
    const WORDS: usize = if N == 1 { 1 } else { N - 1 };

    #[inline(always)]
    unsafe fn apply(value: Run<S>, words: *const Word, offset: usize) -> Run<S> {
        const { assert!(size_of::<V>() == size_of::<S::Register>()) };
        // SAFETY: as the caller says.
        let runs: [Run<S>; N] =
            unsafe { code::operands::<S, N>(value, PLACE, words, offset, size_of::<V::Elem>()) };
        let mut result = value;
        for (i, register) in result.iter_mut().enumerate() {
            let mut operands = [lane::<S, V>(*register); N];
            for (operand, run) in operands.iter_mut().zip(&runs) {
                *operand = lane::<S, V>(run[i]);
            }
            let lane = B::call(operands);
            // SAFETY: a lane is a register by another name.
            *register = unsafe { transmute_copy::<V, S::Register>(&lane) };
        }
        result
    }
}

#[inline(always)]
fn lane<S: Set, V: Lane>(register: S::Register) -> V {
    // SAFETY: a lane is a register by another name, of the same size.
    unsafe { transmute_copy::<S::Register, V>(&register) }
}

/// The body whose truth values are the integers 0 and 1.
pub(super) struct Truth<B>(PhantomData<B>);

impl<V: Lane, B: Body<N, V, Result = V::Mask>, const N: usize> Body<N, V> for Truth<B> {
    const OP: Op = B::OP;
    type Result = V;

    #[inline(always)]
    fn call(operands: [V; N]) -> V {
        V::from_bits(V::Bits::select(B::call(operands), V::Bits::splat(1), V::Bits::splat(0)))
    }
}

/// The body whose integral values are integers.
pub(super) struct Whole<B>(PhantomData<B>);

impl<V: Lane, B: Body<N, V, Result = V>, const N: usize> Body<N, V> for Whole<B> {
    const OP: Op = B::OP;
    type Result = V;

    #[inline(always)]
    fn call(operands: [V; N]) -> V {
        V::from_bits(B::call(operands).to_int())
    }
}
