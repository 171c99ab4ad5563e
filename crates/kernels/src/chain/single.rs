//! Owns chains of a single instruction: sums, products and the like of two operands, which have a loop of their own instead of
//! threaded code. It does the same, without the way from function to function, which takes as long as such an instruction.

use std::marker::PhantomData;

use zerostride_ops::{DType, Effort};

use super::code::{self, Enter, Set, Span, Word};
use super::float::Registers;
use super::{Feed, Link};
use crate::bodies::dispatch::{self, Body, VisitFloat};
use crate::bodies::float::Floats;
use crate::isa::is_amd;

/// The loop of a chain of these instructions, if it has one: that of a quick instruction on two operands of one dtype of floats,
/// side by side or the same in a row.
pub(super) fn find<S: Set>(first: (Feed, DType), links: &[Link], stored: DType) -> Option<Enter> {
    let [Link::Map { op, compute, place: 0, others }] = links else { return None };
    let lies_apart = |feed: &Feed| matches!(feed, Feed::Stepped(..));
    if first.1 != *compute || stored != *compute || others.iter().chain([&first.0]).any(lies_apart) {
        return None;
    }
    // Where stores ask for the lines of the next run, the loop has not been measured.
    match compute {
        _ if !is_amd() => None,
        DType::F32 => dispatch::float::<S::F32, _>(*op, Find::<S>(PhantomData))?,
        DType::F64 => dispatch::float::<S::F64s, _>(*op, Find::<S>(PhantomData))?,
        _ => None,
    }
}

/// Finds the loops of bodies.
struct Find<S>(PhantomData<S>);

impl<S: Set, V: Floats> VisitFloat<V> for Find<S> {
    type Output = Option<Enter>;

    fn value<B: Body<N, V, Result = V>, const N: usize>(self) -> Option<Enter> {
        if const { N == 2 && matches!(B::OP.info().effort, Some(Effort::simple)) } {
            Some(S::single::<V::Elem, Registers<V, B, N, 0>>())
        } else {
            None
        }
    }

    fn test<B: Body<N, V, Result = V::Mask>, const N: usize>(self) -> Option<Enter> {
        None
    }

    fn integer<B: Body<N, V, Result = V>, const N: usize>(self) -> Option<Enter> {
        None
    }

    fn pair<B: Body<N, V, Result = [V; 2]>, const N: usize>(self) -> Option<Enter> {
        None
    }
}

/// Runs a function on the elements of the first word, of type `T`, and those of its own, which is the second, and writes what it
/// makes of them to the third.
///
/// # Safety
/// As for [`Enter`].
#[inline(always)]
pub(super) unsafe fn run<S: Set, T, B: code::Body<S>>(words: &[Word], span: &Span) {
    let Span { rows, from, to, by, last } = *span;
    let &[mut first, mut other, mut out] = words else { unreachable!("a load, an instruction and a store") };
    for _ in 0..rows {
        // SAFETY: as the caller says.
        unsafe {
            let mut at = from;
            while at < to {
                pass::<S, T, B>(&first, &other, &out, at);
                at += by;
            }
            if let Some(at) = last {
                pass::<S, T, B>(&first, &other, &out, at);
            }
        }
        for word in [&mut first, &mut other, &mut out] {
            word.address = word.address.wrapping_offset(word.row);
        }
    }
}

/// One run of elements.
///
/// # Safety
/// The words' operands have elements for all of the run at `offset`, and there is room for as many.
#[inline(always)]
unsafe fn pass<S: Set, T, B: code::Body<S>>(first: &Word, other: &Word, out: &Word, offset: usize) {
    // SAFETY: as the caller says.
    unsafe {
        let value = B::apply(first.load::<S, T>(offset), other, offset);
        for (i, register) in value.iter().enumerate() {
            out.register(offset, size_of::<T>(), i).cast::<S::Register>().write_unaligned(*register);
        }
    }
}
