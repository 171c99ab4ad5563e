//! Owns chains of a single instruction: sums, products, comparisons and the like of two operands, which have a loop of their own
//! instead of threaded code. It does the same, without the way from function to function, which takes as long as such an
//! instruction.

use std::marker::PhantomData;

use zerostride_ops::{DType, Effort, Op, Rule};

use super::array::{self, Elements};
use super::cast::Source;
use super::code::{self, Enter, REGISTERS, Set, Sink, Span, Word};
use super::float::{self, Registers};
use super::memory::{Narrow, Store};
use super::{Feed, Link};
use crate::bodies::dispatch::{self, Body, VisitFloat, VisitInteger};
use crate::bodies::float::Floats;
use crate::bodies::integer::Integer;
use crate::tuning::Tuning;

/// The loop of a chain of these instructions, if it has one: that of a quick instruction on two operands of one dtype, side by side
/// or the same in a row. Of integers these are comparisons.
pub(super) fn find<S: Set>(first: (Feed, DType), links: &[Link], stored: DType) -> Option<Enter> {
    let [Link::Map { op, compute, place: 0, others }] = links else { return None };
    let lies_apart = |feed: &Feed| matches!(feed, Feed::Stepped(..));
    let result = if op.info().rule == Rule::bool { DType::Bool } else { *compute };
    if first.1 != *compute || stored != result || others.iter().chain([&first.0]).any(lies_apart) {
        return None;
    }
    match compute {
        _ if !Tuning::active().single_loops => None,
        DType::F32 => dispatch::float::<S::F32, _>(*op, Find::<S, i32>(PhantomData))?,
        DType::F64 => dispatch::float::<S::F64s, _>(*op, Find::<S, i64>(PhantomData))?,
        DType::I32 => dispatch::integer::<i32, _>(*op, Find::<S, i32>(PhantomData))?,
        DType::I64 => dispatch::integer::<i64, _>(*op, Find::<S, i64>(PhantomData))?,
        _ => None,
    }
}

/// Finds the loops of bodies, whose truth values are integers of type `I`.
struct Find<S, I>(PhantomData<(S, I)>);

/// Whether an operation on so many operands takes less time than the way from function to function.
const fn is_quick(op: Op, operands: usize) -> bool {
    operands == 2 && matches!(op.info().effort, Some(Effort::simple))
}

impl<S: Set, V: Floats, I: Source> VisitFloat<V> for Find<S, I> {
    type Output = Option<Enter>;

    fn value<B: Body<N, V, Result = V>, const N: usize>(self) -> Option<Enter> {
        if const { is_quick(B::OP, N) } {
            Some(S::single::<V::Elem, Registers<V, B, N, 0>, Store<V::Elem>>())
        } else {
            None
        }
    }

    fn test<B: Body<N, V, Result = V::Mask>, const N: usize>(self) -> Option<Enter> {
        if const { is_quick(B::OP, N) } {
            Some(S::single::<V::Elem, Registers<V, float::Truth<B>, N, 0>, Narrow<I, u8, bool>>())
        } else {
            None
        }
    }

    fn integer<B: Body<N, V, Result = V>, const N: usize>(self) -> Option<Enter> {
        None
    }

    fn pair<B: Body<N, V, Result = [V; 2]>, const N: usize>(self) -> Option<Enter> {
        None
    }
}

impl<S: Set, T: Integer + Source> VisitInteger<T> for Find<S, T> {
    type Output = Option<Enter>;

    fn value<B: Body<N, T, Result = T>, const N: usize>(self) -> Option<Enter> {
        None
    }

    fn test<B: Body<N, T, Result = bool>, const N: usize>(self) -> Option<Enter> {
        if const { is_quick(B::OP, N) } {
            Some(S::single::<T, Elements<T, T, array::Truth<B>, N, 0>, Narrow<T, u8, bool>>())
        } else {
            None
        }
    }
}

/// Runs a function on the elements of the first word, of type `T`, and those of its own, which is the second, and stores what it
/// makes of them at the third.
///
/// # Safety
/// As for [`Enter`].
#[inline(always)]
pub(super) unsafe fn run<S: Set, T, B: code::Body<S>, K: Sink<S>>(words: &[Word], span: &Span) {
    // SAFETY: as the caller says.
    unsafe {
        if words.iter().any(|word| word.ahead.is_some()) {
            run_rows::<S, T, B, K, true>(words, span);
        } else {
            run_rows::<S, T, B, K, false>(words, span);
        }
    }
}

/// The same, where some word asks for what lies ahead, or none does.
///
/// # Safety
/// As for [`run`].
#[inline(always)]
unsafe fn run_rows<S: Set, T, B: code::Body<S>, K: Sink<S>, const ASKS: bool>(words: &[Word], span: &Span) {
    let Span { rows, from, to, by, last } = *span;
    let &[mut first, mut other, mut out] = words else { unreachable!("a load, an instruction and a store") };
    for _ in 0..rows {
        // SAFETY: as the caller says.
        unsafe {
            let mut at = from;
            while at < to {
                if ASKS {
                    ask::<S, T, K>(&first, &other, &out, at);
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

/// Asks for what lies ahead of a run where words say so.
///
/// # Safety
/// As for [`pass`].
#[inline(always)]
unsafe fn ask<S: Set, T, K: Sink<S>>(first: &Word, other: &Word, out: &Word, offset: usize) {
    for (word, size) in [(first, size_of::<T>()), (other, size_of::<T>()), (out, K::SIZE)] {
        let Some(ahead) = word.ahead else { continue };
        for register in 0..REGISTERS {
            // SAFETY: the run's own elements are there, the caller says. Nothing is read from what is ahead.
            S::fetch(unsafe { word.register(offset, size, register) }.wrapping_offset(ahead));
        }
    }
}

/// One run of elements.
///
/// # Safety
/// The words' operands have elements for all of the run at `offset`, and there is room for as many.
#[inline(always)]
unsafe fn pass<S: Set, T, B: code::Body<S>, K: Sink<S>>(
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
