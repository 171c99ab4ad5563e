//! Owns the reductions of integers and bools, whose results do not depend on the order of elements. They need
//! no tree, read elements in their stored dtype, and stop as soon as the result is known. It does not know
//! where the elements come from.

use std::any::Any;
use std::marker::PhantomData;

use bytemuck::{Pod, Zeroable, cast_slice, cast_slice_mut};
use zerostride_ops::DType;

use super::fold::{Fold, LEAF_ELEMENTS, ReducePanel};
use crate::cast::CastKernel;
use crate::isa::{Task, run_widest};
use crate::lines::{Aligned, Line};

/// Accumulators side by side that the elements of few results are spread over.
const SPREAD_ELEMENTS: usize = 64;

/// Bytes of accumulators that rows are taken for at once: they fit into L1, and a row is long enough for the
/// hardware to prefetch.
const ACCUMULATOR_BYTES: usize = 16 << 10;

/// Rows that are taken at once. Writing accumulators after each row would leave few loads in flight.
const ROWS_AT_ONCE: usize = 4;

/// The least distance of rows that are taken at once; nearer rows are read faster in order.
const FAR_ROW_BYTES: usize = 4 << 10;

/// Bytes of elements that take longer to be widened than to be read, in any order.
const NARROW_BYTES: usize = 2;

/// Elements of the vectors that accumulators are whole numbers of.
const VECTOR_ELEMENTS: usize = 16;

/// A reduction that takes elements in any order.
pub(super) trait Exact: Send + 'static {
    type Elem: Pod + Sync;
    type Acc: Pod + Send;
    /// The dtype of accumulators.
    const RESULT: DType;
    /// The accumulator of no elements.
    const EMPTY: Self::Acc;

    fn step(acc: Self::Acc, element: Self::Elem) -> Self::Acc;
    fn merge(left: Self::Acc, right: Self::Acc) -> Self::Acc;

    /// The accumulator of at most [`LEAF_ELEMENTS`] elements.
    #[inline(always)]
    fn all(elements: &[Self::Elem]) -> Self::Acc {
        elements.iter().fold(Self::EMPTY, |acc, &element| Self::step(acc, element))
    }

    /// The accumulator of a few elements.
    #[inline(always)]
    fn few(elements: [Self::Elem; ROWS_AT_ONCE]) -> Self::Acc {
        elements.into_iter().fold(Self::EMPTY, Self::step)
    }

    /// Whether no further element can change it.
    #[inline(always)]
    fn is_known(_: Self::Acc) -> bool {
        false
    }
}

/// An integer as it is stored.
pub(super) trait StoredInteger: Pod + Ord + Send + Sync {
    const DTYPE: DType;
    const LEAST: Self;
    const GREATEST: Self;
    /// Modulo 2^64.
    fn wide(self) -> i64;
    /// The sum of at most [`LEAF_ELEMENTS`] numbers, modulo 2^64.
    fn sum(numbers: &[Self]) -> i64;
}

/// Integers, each with a type that holds the sum of a leaf.
macro_rules! integers {
    ($($type:ty: $dtype:ident, $partial:ty;)*) => {
        $(impl StoredInteger for $type {
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
pub(super) struct IntegerSum<T>(PhantomData<fn(T)>);

impl<T: StoredInteger> Exact for IntegerSum<T> {
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

    #[inline(always)]
    fn few(elements: [T; ROWS_AT_ONCE]) -> i64 {
        T::sum(&elements)
    }
}

/// The product, modulo 2^64.
pub(super) struct IntegerProduct<T>(PhantomData<fn(T)>);

impl<T: StoredInteger> Exact for IntegerProduct<T> {
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

/// The maximum, or the minimum.
pub(super) struct IntegerExtreme<T, const LARGEST: bool>(PhantomData<fn(T)>);

impl<T: StoredInteger, const LARGEST: bool> Exact for IntegerExtreme<T, LARGEST> {
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

/// How many of some bools are true.
pub(super) struct CountTrue;

impl Exact for CountTrue {
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
        // The count of one position fits into a byte.
        const { assert!(LEAF_ELEMENTS / SPREAD_ELEMENTS <= u8::MAX as usize) };
        let (rows, last) = elements.as_chunks::<SPREAD_ELEMENTS>();
        let mut counts = Line::zeroed();
        for row in rows {
            counts.0.iter_mut().zip(row).for_each(|(count, &element)| *count += u8::from(element != 0));
        }
        last.iter().fold(counts.0.into_iter().map(i64::from).sum(), |acc, &element| Self::step(acc, element))
    }
}

/// Whether any of some bools is true, or all are. Every byte but 0 is true, as another program may have
/// stored it.
pub(super) struct AllOrAny<const ANY: bool>;

impl<const ANY: bool> Exact for AllOrAny<ANY> {
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

/// An order-free reduction in progress.
pub(super) struct Unordered<X: Exact> {
    /// One accumulator for each result of the largest block.
    accs: Aligned<X::Acc>,
    /// Results of the current block.
    columns: usize,
    /// From the accumulators' dtype to that of the results.
    cast: Option<CastKernel>,
}

impl<X: Exact> Unordered<X> {
    pub(super) fn new(columns: usize, cast: Option<CastKernel>) -> Self {
        Unordered { accs: Aligned::filled(X::EMPTY, columns), columns, cast }
    }
}

impl<X: Exact> Fold for Unordered<X> {
    fn start(&mut self, columns: usize) {
        self.columns = columns;
        self.accs[..columns].fill(X::EMPTY);
    }

    fn rows(&mut self, elements: &[u8], rows: &[usize], _: usize, _: bool) {
        let accs = &mut self.accs[..self.columns];
        run_widest(ExactRows::<X> { accs, elements: cast_slice(elements), rows });
    }

    fn leaves(&mut self, elements: &[u8], panel: &ReducePanel, _: usize) {
        assert_eq!(panel.columns * panel.width, self.columns);
        assert_eq!(panel.row_step, panel.width, "elements lie side by side");
        let accs = &mut self.accs[..self.columns];
        run_widest(ExactLeaves::<X> { accs, elements: cast_slice(elements), panel });
    }

    fn append(&mut self, other: Box<dyn Fold>) {
        let other = other.into_any().downcast::<Self>().expect("folds of one reduction are of one kind");
        let pairs = self.accs[..self.columns].iter_mut().zip(&*other.accs);
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

/// Rows with an element for each result, compiled for each instruction set.
struct ExactRows<'a, X: Exact> {
    accs: &'a mut [X::Acc],
    elements: &'a [X::Elem],
    rows: &'a [usize],
}

impl<X: Exact> Task for ExactRows<'_, X> {
    #[inline(always)]
    fn run(self) {
        let most = const { ACCUMULATOR_BYTES / size_of::<X::Acc>() };
        let apart = self.rows.get(1).map_or(0, |second| second.abs_diff(self.rows[0]));
        let together = size_of::<X::Elem>() <= NARROW_BYTES || apart * size_of::<X::Elem>() >= FAR_ROW_BYTES;
        for (at, accs) in self.accs.chunks_mut(most).enumerate() {
            if accs.iter().all(|&acc| X::is_known(acc)) {
                continue;
            }
            let (begins, len) = (self.rows, accs.len());
            let row = |row: usize| &self.elements[begins[row] + at * most..][..len];
            step_all::<X>(accs, begins.len(), row, together);
        }
    }
}

/// Elements of one result, or of a few alternately, compiled for each instruction set.
struct ExactLeaves<'a, X: Exact> {
    accs: &'a mut [X::Acc],
    elements: &'a [X::Elem],
    panel: &'a ReducePanel,
}

impl<X: Exact> Task for ExactLeaves<'_, X> {
    #[inline(always)]
    fn run(self) {
        let ReducePanel { rows: count, width, column_step, .. } = *self.panel;
        for (column, accs) in self.accs.chunks_mut(width).enumerate() {
            let elements = &self.elements[column * column_step..][..count * width];
            if let [acc] = accs {
                for leaf in elements.chunks(LEAF_ELEMENTS) {
                    if X::is_known(*acc) {
                        break;
                    }
                    *acc = X::merge(*acc, X::all(leaf));
                }
                continue;
            }
            // Several rows at once fill the registers.
            let rows = VECTOR_ELEMENTS >> width.trailing_zeros().min(VECTOR_ELEMENTS.ilog2());
            let len = SPREAD_ELEMENTS.div_ceil(width).next_multiple_of(rows) * width;
            let mut places = Aligned::filled(X::EMPTY, len);
            let (whole, last) = elements.split_at(elements.len() / len * len);
            // Rows of wider elements would not be read in order.
            let together = size_of::<X::Elem>() <= 4;
            step_all::<X>(&mut places, whole.len() / len, |row| &whole[row * len..][..len], together);
            step::<X>(&mut places, last);
            for row in places.chunks(width) {
                accs.iter_mut().zip(row).for_each(|(acc, &place)| *acc = X::merge(*acc, place));
            }
        }
    }
}

/// Takes one element for each accumulator from each of some rows, several rows at once if `together`.
#[inline(always)]
fn step_all<'a, X: Exact>(
    accs: &mut [X::Acc],
    count: usize,
    row: impl Fn(usize) -> &'a [X::Elem],
    together: bool,
) {
    let joined = if together { count / ROWS_AT_ONCE * ROWS_AT_ONCE } else { 0 };
    for first in (0..joined).step_by(ROWS_AT_ONCE) {
        let [a, b, c, d]: [_; ROWS_AT_ONCE] = std::array::from_fn(|at| row(first + at));
        for ((((acc, &a), &b), &c), &d) in accs.iter_mut().zip(a).zip(b).zip(c).zip(d) {
            *acc = X::merge(*acc, X::few([a, b, c, d]));
        }
    }
    (joined..count).for_each(|at| step::<X>(accs, row(at)));
}

/// Takes one element for each accumulator.
#[inline(always)]
fn step<X: Exact>(accs: &mut [X::Acc], elements: &[X::Elem]) {
    accs.iter_mut().zip(elements).for_each(|(acc, &element)| *acc = X::step(*acc, element));
}
