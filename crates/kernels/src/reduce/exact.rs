//! Owns the reductions whose results do not depend on the order of elements: of integers and truths. They need no tree, take
//! elements as they are stored, and stop where the result is known.

use std::any::Any;
use std::marker::PhantomData;

use bytemuck::{Pod, cast_slice, cast_slice_mut};
use zerostride_ops::DType;

use super::{Fold, LEAF, Panel};
use crate::cast::CastKernel;
use crate::isa::{Task, run_widest};

/// Places side by side that elements of few results are spread over.
const PLACES: usize = 64;

/// Bytes of accumulators whose rows are taken together: neighbours enough to be fetched ahead, in the nearest cache.
const ACROSS: usize = 16 << 10;

/// Rows that are taken together: with accumulators written after each, few elements are on their way from memory at a time.
const ROWS: usize = 4;

/// Bytes that rows are apart at least which are taken together: of nearer ones memory is read faster in order.
const FAR: usize = 4 << 10;

/// A reduction that may take elements in any order.
pub(super) trait Exact: Send + 'static {
    type Elem: Pod + Sync;
    type Acc: Pod + Send;
    /// The dtype of accumulators.
    const RESULT: DType;
    /// The accumulator of no elements.
    const EMPTY: Self::Acc;

    fn step(acc: Self::Acc, element: Self::Elem) -> Self::Acc;
    fn merge(left: Self::Acc, right: Self::Acc) -> Self::Acc;

    /// The accumulator of at most [`LEAF`] elements.
    #[inline(always)]
    fn all(elements: &[Self::Elem]) -> Self::Acc {
        elements.iter().fold(Self::EMPTY, |acc, &element| Self::step(acc, element))
    }

    /// Whether no further element changes it.
    #[inline(always)]
    fn is_known(_: Self::Acc) -> bool {
        false
    }
}

/// An integer that is stored.
pub(super) trait Integer: Pod + Ord + Send + Sync {
    const DTYPE: DType;
    const LEAST: Self;
    const GREATEST: Self;
    /// Modulo 2^64.
    fn wide(self) -> i64;
    /// The sum of at most [`LEAF`] numbers, modulo 2^64.
    fn sum(numbers: &[Self]) -> i64;
}

/// Integers, each with one that holds the sum of a leaf.
macro_rules! integers {
    ($($type:ty: $dtype:ident, $partial:ty;)*) => {
        $(impl Integer for $type {
            const DTYPE: DType = DType::$dtype;
            const LEAST: Self = <$type>::MIN;
            const GREATEST: Self = <$type>::MAX;
            #[inline(always)]
            fn wide(self) -> i64 { self as i64 }
            #[inline(always)]
            fn sum(numbers: &[Self]) -> i64 {
                numbers.iter().fold(0, |sum: $partial, &number| sum.wrapping_add(number as $partial)) as i64
            }
        })*
    };
}

integers! {
    u8: U8, u32;
    i8: I8, i32;
    u16: U16, u32;
    i16: I16, i32;
    u32: U32, i64;
    i32: I32, i64;
    u64: U64, i64;
    i64: I64, i64;
}

/// The sum, modulo 2^64.
pub(super) struct Sum<T>(PhantomData<fn(T)>);

impl<T: Integer> Exact for Sum<T> {
    type Elem = T;
    type Acc = i64;
    const RESULT: DType = DType::I64;
    const EMPTY: i64 = 0;

    #[inline(always)]
    fn step(acc: i64, element: T) -> i64 {
        acc.wrapping_add(element.wide())
    }

    #[inline(always)]
    fn merge(left: i64, right: i64) -> i64 {
        left.wrapping_add(right)
    }

    #[inline(always)]
    fn all(elements: &[T]) -> i64 {
        T::sum(elements)
    }
}

/// The product, modulo 2^64.
pub(super) struct Product<T>(PhantomData<fn(T)>);

impl<T: Integer> Exact for Product<T> {
    type Elem = T;
    type Acc = i64;
    const RESULT: DType = DType::I64;
    const EMPTY: i64 = 1;

    #[inline(always)]
    fn step(acc: i64, element: T) -> i64 {
        acc.wrapping_mul(element.wide())
    }

    #[inline(always)]
    fn merge(left: i64, right: i64) -> i64 {
        left.wrapping_mul(right)
    }
}

/// The largest, or the smallest.
pub(super) struct Extreme<T, const LARGEST: bool>(PhantomData<fn(T)>);

impl<T: Integer, const LARGEST: bool> Exact for Extreme<T, LARGEST> {
    type Elem = T;
    type Acc = T;
    const RESULT: DType = T::DTYPE;
    const EMPTY: T = if LARGEST { T::LEAST } else { T::GREATEST };

    #[inline(always)]
    fn step(acc: T, element: T) -> T {
        if LARGEST { acc.max(element) } else { acc.min(element) }
    }

    #[inline(always)]
    fn merge(left: T, right: T) -> T {
        Self::step(left, right)
    }
}

/// How many of some truths are, as [`Truth`] takes them.
pub(super) struct Count;

impl Exact for Count {
    type Elem = u8;
    type Acc = i64;
    const RESULT: DType = DType::I64;
    const EMPTY: i64 = 0;

    #[inline(always)]
    fn step(acc: i64, element: u8) -> i64 {
        acc + i64::from(element != 0)
    }

    #[inline(always)]
    fn merge(left: i64, right: i64) -> i64 {
        left + right
    }

    #[inline(always)]
    fn all(elements: &[u8]) -> i64 {
        // A byte holds those of its place.
        const { assert!(LEAF / PLACES <= u8::MAX as usize) };
        let (rows, last) = elements.as_chunks::<PLACES>();
        let mut counts = [0; PLACES];
        for row in rows {
            counts.iter_mut().zip(row).for_each(|(count, &element)| *count += u8::from(element != 0));
        }
        last.iter().fold(counts.into_iter().map(i64::from).sum(), |acc, &element| Self::step(acc, element))
    }
}

/// Whether any of some truths is, or all are. Every byte but 0 is true, as others may have stored it.
pub(super) struct Truth<const ANY: bool>;

impl<const ANY: bool> Exact for Truth<ANY> {
    type Elem = u8;
    type Acc = u8;
    const RESULT: DType = DType::Bool;
    const EMPTY: u8 = !ANY as u8;

    #[inline(always)]
    fn step(acc: u8, element: u8) -> u8 {
        let truth = u8::from(element != 0);
        if ANY { acc | truth } else { acc & truth }
    }

    #[inline(always)]
    fn merge(left: u8, right: u8) -> u8 {
        Self::step(left, right)
    }

    #[inline(always)]
    fn is_known(acc: u8) -> bool {
        acc != Self::EMPTY
    }
}

/// Such a reduction under way.
pub(super) struct Unordered<X: Exact> {
    /// One for each result of the largest block.
    accs: Vec<X::Acc>,
    /// Results of the block under way.
    columns: usize,
    /// From accumulators to the results that are wanted.
    cast: Option<CastKernel>,
}

impl<X: Exact> Unordered<X> {
    pub(super) fn new(columns: usize, cast: Option<CastKernel>) -> Self {
        Unordered { accs: vec![X::EMPTY; columns], columns, cast }
    }
}

impl<X: Exact> Fold for Unordered<X> {
    fn start(&mut self, columns: usize) {
        self.columns = columns;
        self.accs[..columns].fill(X::EMPTY);
    }

    fn rows(&mut self, elements: &[u8], rows: &[usize], _: usize, _: bool) {
        let accs = &mut self.accs[..self.columns];
        run_widest(TakeRows::<X> { accs, elements: cast_slice(elements), rows });
    }

    fn leaves(&mut self, elements: &[u8], panel: &Panel, _: usize) {
        assert_eq!(panel.columns * panel.width, self.columns);
        assert_eq!(panel.row_step, panel.width, "elements lie side by side");
        let accs = &mut self.accs[..self.columns];
        run_widest(TakeLeaves::<X> { accs, elements: cast_slice(elements), panel });
    }

    fn append(&mut self, other: Box<dyn Fold>) {
        let other = other.into_any().downcast::<Self>().expect("folds of one reduction are of one kind");
        let pairs = self.accs[..self.columns].iter_mut().zip(&other.accs);
        pairs.for_each(|(acc, &other)| *acc = X::merge(*acc, other));
    }

    fn finish(&mut self, out: &mut [u8]) {
        let accs = &self.accs[..self.columns];
        match self.cast {
            Some(cast) => cast(cast_slice(accs), out),
            None => cast_slice_mut(out).copy_from_slice(accs),
        }
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// Rows of an element of each result, to be compiled for each instruction set.
struct TakeRows<'a, X: Exact> {
    accs: &'a mut [X::Acc],
    elements: &'a [X::Elem],
    rows: &'a [usize],
}

impl<X: Exact> Task for TakeRows<'_, X> {
    #[inline(always)]
    fn run(self) {
        let together = const { ACROSS / size_of::<X::Acc>() };
        let apart = self.rows.get(1).map_or(0, |second| second.abs_diff(self.rows[0]));
        let far = apart * size_of::<X::Elem>() >= FAR;
        for (at, accs) in self.accs.chunks_mut(together).enumerate() {
            if accs.iter().all(|&acc| X::is_known(acc)) {
                continue;
            }
            let (begins, len) = (self.rows, accs.len());
            let row = |row: usize| &self.elements[begins[row] + at * together..][..len];
            step_all::<X>(accs, begins.len(), row, far);
        }
    }
}

/// Elements of each result by themselves, or of a few in turn, to be compiled for each instruction set.
struct TakeLeaves<'a, X: Exact> {
    accs: &'a mut [X::Acc],
    elements: &'a [X::Elem],
    panel: &'a Panel,
}

impl<X: Exact> Task for TakeLeaves<'_, X> {
    #[inline(always)]
    fn run(self) {
        let Panel { rows, width, column_step, .. } = *self.panel;
        for (column, accs) in self.accs.chunks_mut(width).enumerate() {
            let elements = &self.elements[column * column_step..][..rows * width];
            if let [acc] = accs {
                for leaf in elements.chunks(LEAF) {
                    if X::is_known(*acc) {
                        break;
                    }
                    *acc = X::merge(*acc, X::all(leaf));
                }
                continue;
            }
            // Whole rows together, so that registers are full.
            let len = PLACES.div_ceil(width) * width;
            let mut places = vec![X::EMPTY; len];
            let (whole, last) = elements.split_at(elements.len() / len * len);
            // Rows of wider elements would not be read in order then.
            let narrow = size_of::<X::Elem>() <= 2;
            step_all::<X>(&mut places, whole.len() / len, |row| &whole[row * len..][..len], narrow);
            step::<X>(&mut places, last);
            for row in places.chunks(width) {
                accs.iter_mut().zip(row).for_each(|(acc, &place)| *acc = X::merge(*acc, place));
            }
        }
    }
}

/// Takes an element each of so many rows, of several at once if they are worth it `together`.
#[inline(always)]
fn step_all<'a, X: Exact>(
    accs: &mut [X::Acc],
    count: usize,
    row: impl Fn(usize) -> &'a [X::Elem],
    together: bool,
) {
    let joined = if together { count / ROWS * ROWS } else { 0 };
    for first in (0..joined).step_by(ROWS) {
        let [a, b, c, d] = [row(first), row(first + 1), row(first + 2), row(first + 3)];
        for ((((acc, &a), &b), &c), &d) in accs.iter_mut().zip(a).zip(b).zip(c).zip(d) {
            *acc = [a, b, c, d].into_iter().fold(*acc, X::step);
        }
    }
    (joined..count).for_each(|at| step::<X>(accs, row(at)));
}

/// Takes one element each.
#[inline(always)]
fn step<X: Exact>(accs: &mut [X::Acc], elements: &[X::Elem]) {
    accs.iter_mut().zip(elements).for_each(|(acc, &element)| *acc = X::step(*acc, element));
}
