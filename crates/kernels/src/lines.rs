//! Owns memory that begins at a cache line. Vectors that cross lines take twice as long where they are stored
//! and soon read again, as accumulators are. It does not know what is in the memory.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use bytemuck::{Pod, Zeroable, cast_slice, cast_slice_mut};

use crate::isa::CACHE_LINE_BYTES;

/// A cache line.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(64))]
pub(crate) struct Line(pub(crate) [u8; CACHE_LINE_BYTES]);

const _: () = assert!(align_of::<Line>() == CACHE_LINE_BYTES);

/// Elements from the start of a line on.
pub(crate) struct Aligned<T> {
    lines: Vec<Line>,
    len: usize,
    elements: PhantomData<T>,
}

impl<T: Pod> Aligned<T> {
    /// So many elements, all alike.
    pub(crate) fn filled(element: T, len: usize) -> Aligned<T> {
        let lines = vec![Line::zeroed(); (len * size_of::<T>()).div_ceil(CACHE_LINE_BYTES)];
        let mut aligned = Aligned { lines, len, elements: PhantomData };
        aligned.fill(element);
        aligned
    }
}

impl<T: Pod> Deref for Aligned<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        &cast_slice(&self.lines)[..self.len]
    }
}

impl<T: Pod> DerefMut for Aligned<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut cast_slice_mut(&mut self.lines)[..self.len]
    }
}
