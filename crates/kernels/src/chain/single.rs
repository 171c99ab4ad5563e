//! Owns the fused loop of a single simple operation on two operands: sums, products, comparisons. It computes
//! what threaded code does, without the tail calls, which take as long as such an operation. It does not know
//! which processors gain (`tuning.rs`).
//!
//! In L1 it takes 0.6 to 0.8 of the time of threaded code on the processors that choose it. Comparisons of
//! 8-byte elements have no such loop: there it took 1.1 to 1.4 times as long.

use std::marker::PhantomData;

use zerostride_ops::{DType, Effort, Op, Rule};

use super::array::{self, OnElements};
use super::cast::CastFrom;
use super::code::{self, Entry, RUN_REGISTERS, RunSpan, Set, StorePrimitive, Word};
use super::float::{self, OnRegisters};
use super::memory::{Narrow, StoreRun};
use super::{ChainOperand, Link};
use crate::bodies::dispatch::{self, Body, VisitFloat, VisitInteger};
use crate::bodies::float::Floats;
use crate::bodies::integer::Integer;
use crate::tuning::Tuning;

/// The fused loop of a chain, if it has one: a simple operation on two contiguous or broadcast operands of
/// one dtype. Of i32 only comparisons have one.
pub(super) fn find<S: Set>(first: (ChainOperand, DType), links: &[Link], stored: DType) -> Option<Entry> {
    let [Link::Map { op, compute, place: 0, others }] = links else { return None };
    let lies_apart = |feed: &ChainOperand| matches!(feed, ChainOperand::Stepped(..));
    let result = if op.info().rule == Rule::bool { DType::Bool } else { *compute };
    if first.1 != *compute || stored != result || others.iter().chain([&first.0]).any(lies_apart) {
        return None;
    }
    match compute {
        _ if !Tuning::active().single_loops => None,
        DType::F32 => dispatch::float::<S::F32, _>(*op, Find::<S>(PhantomData))?,
        DType::F64 => dispatch::float::<S::F64s, _>(*op, Find::<S>(PhantomData))?,
        DType::I32 => dispatch::integer::<i32, _>(*op, Find::<S>(PhantomData))?,
        _ => None,
    }
}

/// Finds the loops of bodies.
struct Find<S>(PhantomData<S>);

/// Whether an operation on so many operands takes less time than a tail call.
const fn is_quick(op: Op, operands: usize) -> bool {
    operands == 2 && matches!(op.info().effort, Some(Effort::simple))
}

impl<S: Set, V: Floats> VisitFloat<V> for Find<S> {
    type Output = Option<Entry>;

    fn value<B: Body<N, V, Result = V>, const N: usize>(self) -> Option<Entry> {
        if const { is_quick(B::OP, N) } {
            Some(S::single::<V::Elem, OnRegisters<V, B, N, 0>, StoreRun<V::Elem>>())
        } else {
            None
        }
    }

    fn test<B: Body<N, V, Result = V::Mask>, const N: usize>(self) -> Option<Entry> {
        if const { is_quick(B::OP, N) && size_of::<V::Elem>() == size_of::<i32>() } {
            Some(S::single::<V::Elem, OnRegisters<V, float::FloatTest<B>, N, 0>, Narrow<i32, u8, bool>>())
        } else {
            None
        }
    }

    fn integer<B: Body<N, V, Result = V>, const N: usize>(self) -> Option<Entry> {
        None
    }

    fn pair<B: Body<N, V, Result = [V; 2]>, const N: usize>(self) -> Option<Entry> {
        None
    }
}

impl<S: Set, T: Integer + CastFrom> VisitInteger<T> for Find<S> {
    type Output = Option<Entry>;

    fn value<B: Body<N, T, Result = T>, const N: usize>(self) -> Option<Entry> {
        None
    }

    fn test<B: Body<N, T, Result = bool>, const N: usize>(self) -> Option<Entry> {
        if const { is_quick(B::OP, N) } {
            Some(S::single::<T, OnElements<T, T, array::IntegerTest<B>, N, 0>, Narrow<T, u8, bool>>())
        } else {
            None
        }
    }
}

/// Loads a run of type `T` by the first word, applies the operation, whose other operand is the second word,
/// and stores by the third.
///
/// # Safety
/// As for [`Entry`].
#[inline(always)]
pub(super) unsafe fn run<S: Set, T, B: code::Primitive<S>, K: StorePrimitive<S>>(
    words: &[Word],
    span: &RunSpan,
) {
    // SAFETY: as the caller says.
    unsafe {
        if words.iter().any(|word| word.prefetch_bytes.is_some()) {
            run_rows::<S, T, B, K, true>(words, span);
        } else {
            run_rows::<S, T, B, K, false>(words, span);
        }
    }
}

/// [`run`], prefetching where some word says so, or without any prefetch.
///
/// # Safety
/// As for [`run`].
#[inline(always)]
unsafe fn run_rows<S: Set, T, B: code::Primitive<S>, K: StorePrimitive<S>, const PREFETCHES: bool>(
    words: &[Word],
    span: &RunSpan,
) {
    let RunSpan { rows, from, to, by, last } = *span;
    let &[mut first, mut other, mut out] = words else { unreachable!("a load, an instruction and a store") };
    for _ in 0..rows {
        // SAFETY: as the caller says.
        unsafe {
            let mut at = from;
            while at < to {
                if PREFETCHES {
                    prefetch::<S, T, K>(&first, &other, &out, at);
                }
                pass::<S, T, B, K>(&first, &other, &out, at);
                at += by;
            }
            if let Some(at) = last {
                pass::<S, T, B, K>(&first, &other, &out, at);
            }
        }
        for word in [&mut first, &mut other, &mut out] {
            word.address = word.address.wrapping_offset(word.row);
        }
    }
}

/// Prefetches for the words that have a prefetch distance.
///
/// # Safety
/// As for [`pass`].
#[inline(always)]
unsafe fn prefetch<S: Set, T, K: StorePrimitive<S>>(first: &Word, other: &Word, out: &Word, offset: usize) {
    for (word, size) in [(first, size_of::<T>()), (other, size_of::<T>()), (out, K::ELEMENT_BYTES)] {
        let Some(prefetch_bytes) = word.prefetch_bytes else { continue };
        for register in 0..RUN_REGISTERS {
            // SAFETY: the run's own elements are there, the caller says. A prefetch reads nothing.
            S::fetch(unsafe { word.register(offset, size, register) }.wrapping_offset(prefetch_bytes));
        }
    }
}

/// One run of elements.
///
/// # Safety
/// The words' operands have elements for all of the run at `offset`, and there is room for as many.
#[inline(always)]
unsafe fn pass<S: Set, T, B: code::Primitive<S>, K: StorePrimitive<S>>(
    first: &Word,
    other: &Word,
    out: &Word,
    offset: usize,
) {
    // SAFETY: as the caller says.
    unsafe {
        let packed = K::pack(B::apply(first.load::<S, T>(offset), other, offset));
        code::put::<S, K>(out, offset, &packed);
    }
}
