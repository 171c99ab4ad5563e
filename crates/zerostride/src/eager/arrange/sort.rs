//! Owns the order of elements: sorting, and the selection of elements by rank. It does not know how keys are
//! sorted (`entries.rs`).
//!
//! Every dtype is sorted by a key: an unsigned integer in the order of the values, in which all NaN are one,
//! the largest, and -0 is 0.

use bytemuck::{cast_slice, cast_slice_mut};
use zerostride_ops::{Category, DType, Element, bf16, f16};
use zerostride_shape::{ErrorClass, Shape};

use super::entries::{SHARE_ENTRIES, SortEntry, sort};
use super::{Results, access, named_dim, scratch};
use crate::interrupt::{self, STRIDE};
use crate::threads::parts;
use crate::{Error, Result, Tensor};

/// Entries among which one is selected without a check for interrupts: within some tens of milliseconds.
const UNINTERRUPTED_ENTRIES: usize = 1 << 22;

/// A dtype whose elements have an order, NaN last.
pub(super) trait Sortable: Element {
    /// Bits of a key.
    const KEY_BITS: u32;
    /// An integer in the order of the elements.
    fn key(stored: Self::Stored) -> u64;
}

macro_rules! ordered {
    ($($type:ty: $bits:literal, |$value:ident| $key:expr;)*) => {
        $(impl Sortable for $type {
            const KEY_BITS: u32 = $bits;
            #[inline(always)]
            fn key($value: Self::Stored) -> u64 { $key }
        })*
    };
}

ordered! {
    bool: 8, |value| u64::from(value != 0);
    u8: 8, |value| value.into();
    u16: 16, |value| value.into();
    u32: 32, |value| value.into();
    u64: 64, |value| value;
    i8: 8, |value| (value as u8 ^ 1 << 7).into();
    i16: 16, |value| (value as u16 ^ 1 << 15).into();
    i32: 32, |value| (value as u32 ^ 1 << 31).into();
    i64: 64, |value| value as u64 ^ 1 << 63;
    f16: 16, |value| if value.is_nan() { u16::MAX.into() } else { of_bits::<16>(value.to_bits().into()) };
    bf16: 16, |value| if value.is_nan() { u16::MAX.into() } else { of_bits::<16>(value.to_bits().into()) };
    f32: 32, |value| if value.is_nan() { u32::MAX.into() } else { of_bits::<32>(value.to_bits().into()) };
    f64: 64, |value| if value.is_nan() { u64::MAX } else { of_bits::<64>(value.to_bits()) };
}

/// The key of a float's bits: the order of negative numbers is reversed, and -0 is 0. Without a branch, which
/// would be mispredicted for every other element.
#[inline(always)]
fn of_bits<const BITS: u32>(bits: u64) -> u64 {
    let sign = 1 << (BITS - 1);
    let (unsigned, negative) = (bits & (sign - 1), (bits >> (BITS - 1)).wrapping_neg());
    // Negated where all bits of `negative` are ones.
    ((unsigned ^ negative).wrapping_sub(negative)).wrapping_add(sign)
}

/// Evaluates `$body` with `$type` standing for the Rust type of a dtype that has an order, or `$otherwise`.
macro_rules! with_ordered {
    (@arms $dtype:expr, $type:ident, $body:expr, $otherwise:expr; $($variant:ident $rust:ty;)*) => {
        match $dtype {
            $(DType::$variant => {
                type $type = $rust;
                $body
            })*
            DType::C64 | DType::C128 => $otherwise,
        }
    };
    ($dtype:expr, $type:ident => $body:expr, $otherwise:expr) => {
        with_ordered! { @arms $dtype, $type, $body, $otherwise;
            Bool bool; U8 u8; U16 u16; U32 u32; U64 u64; I8 i8; I16 i16; I32 i32; I64 i64;
            F16 zerostride_ops::f16; BF16 zerostride_ops::bf16; F32 f32; F64 f64;
        }
    };
}

pub(super) use with_ordered;

/// Which elements of a row are wanted.
#[derive(Clone, Copy)]
pub(super) enum Wanted {
    /// The first `count` in ascending order, NaN last, or in descending order, NaN first.
    First { count: usize, descending: bool },
    /// The one of a rank.
    One(Rank),
}

/// A rank among the sorted elements of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rank {
    /// The lower middle of all; NaN if one is there.
    Median,
    /// The lower middle of those that are not NaN.
    NanMedian,
    /// The one with this index.
    At(usize),
}

impl Wanted {
    /// The number of wanted elements.
    fn count(self) -> usize {
        match self {
            Wanted::First { count, .. } => count,
            Wanted::One(_) => 1,
        }
    }
}

impl Rank {
    /// The index among `n` sorted elements, of which so many are not NaN.
    fn index(self, n: usize, numbers: usize) -> usize {
        match self {
            Rank::Median if numbers == n => (n - 1) / 2,
            // The first NaN comes after all numbers.
            Rank::Median => numbers,
            Rank::NanMedian => numbers.saturating_sub(1) / 2,
            Rank::At(index) => index,
        }
    }
}

/// Moves the entry of an index in sorted order there, with smaller ones before it and larger ones after it.
fn select<E: SortEntry>(entries: &mut [E], index: usize) {
    if entries.len() <= UNINTERRUPTED_ENTRIES {
        entries.select_nth_unstable(index);
        return;
    }
    let mut compared = 0;
    entries.select_nth_unstable_by(index, |left, right| {
        compared += 1;
        if compared % STRIDE == 0 {
            interrupt::check();
        }
        left.cmp(right)
    });
}

/// Writes the `count` smallest of many entries, sorted, to the first places of as many. Only entries that are
/// smaller than `count` others are kept, until there are a few times as many.
fn smallest<E: SortEntry>(all: impl Iterator<Item = E>, count: usize, entries: &mut [E]) {
    let room = (4 * count).min(entries.len());
    let (mut held, mut end) = (0, None);
    for entry in all {
        if end.is_none_or(|end| entry < end) {
            entries[held] = entry;
            held += 1;
        }
        if held == room {
            select(&mut entries[..held], count);
            (held, end) = (count, Some(entries[count]));
        }
    }
    if held > count {
        select(&mut entries[..held], count);
    }
    entries[..count].sort_unstable();
}

/// Writes the indices of the wanted elements of a row, sorted; equal elements keep their order. Where only
/// some are wanted, only those are sorted.
fn order_row<T: Sortable, E: SortEntry>(
    row: &[T::Stored],
    wanted: Wanted,
    (entries, other): (&mut [E], &mut [E]),
    indices: &mut [i64],
) -> Result<()> {
    let largest = u64::MAX >> (64 - T::KEY_BITS);
    let flip = if let Wanted::First { descending: true, .. } = wanted { largest } else { 0 };
    let all = || {
        row.iter().enumerate().map(|(at, &stored)| {
            if at.is_multiple_of(STRIDE) {
                interrupt::check();
            }
            E::new(T::key(stored) ^ flip, at)
        })
    };
    let fill = |entries: &mut [E]| entries.iter_mut().zip(all()).for_each(|(to, entry)| *to = entry);
    match wanted {
        Wanted::First { count, .. } if 8 * count < entries.len().min(8 * UNINTERRUPTED_ENTRIES) => {
            smallest(all(), count, entries);
        }
        Wanted::First { .. } => {
            fill(entries);
            sort(entries, other)?;
        }
        Wanted::One(rank) => {
            let is_number =
                |stored: &&T::Stored| T::DTYPE.category() != Category::Float || T::key(**stored) != largest;
            let index = rank.index(row.len(), row.iter().filter(is_number).count());
            fill(entries);
            select(entries, index);
            entries.swap(0, index);
        }
    }
    indices.iter_mut().zip(entries).for_each(|(index, entry)| *index = entry.index() as i64);
    Ok(())
}

/// Sorts rows of `n` elements, and writes the indices of the wanted elements of each; neither number is 0.
fn order_rows<T: Sortable, E: SortEntry>(
    rows: &[T::Stored],
    n: usize,
    wanted: Wanted,
    indices: &mut [i64],
    shape: &Shape,
) -> Result<()> {
    let room = || -> Result<_> { Ok((scratch::<E>(n, shape)?, scratch::<E>(n, shape)?)) };
    // Threads share many rows; a single row is sorted by all of them.
    let many = SHARE_ENTRIES.div_ceil(n);
    let parts: Vec<_> = rows.chunks(many * n).zip(indices.chunks_mut(many * wanted.count())).collect();
    parts::for_each(parts.into_iter(), room, |room, (rows, indices)| {
        let (entries, other) = room.as_mut().map_err(|error| error.clone())?;
        let (entries, other) = (cast_slice_mut(entries.bytes_mut()), cast_slice_mut(other.bytes_mut()));
        rows.chunks(n).zip(indices.chunks_mut(wanted.count())).try_for_each(|(row, indices)| {
            order_row::<T, E>(row, wanted, (&mut *entries, &mut *other), indices)
        })
    })
}

/// The refusal of complex numbers, which have no order; PyTorch's message has the leading space.
fn unordered(what: &str) -> Error {
    let message = format!(" {what} does not support complex dtypes on CPU");
    Error::Argument { class: ErrorClass::Type, message }
}

impl Tensor {
    /// The tensor in contiguous rows along its last dimension, and the indices of the wanted elements of each
    /// row, sorted.
    pub(super) fn ordered(&self, wanted: Wanted) -> Result<(Tensor, Tensor)> {
        let rows = self.contiguous()?;
        let n = *rows.shape().last().expect("rows have a dimension");
        let mut sizes = rows.shape().to_vec();
        *sizes.last_mut().expect("rows have a dimension") = wanted.count();
        let shape = rows.shape_value();
        let indices = Tensor::build(DType::I64, Shape::new(&sizes)?, |bytes| {
            if bytes.is_empty() {
                return Ok(());
            }
            let indices = cast_slice_mut(bytes);
            access::read("sort", [&rows], |[elements]| {
                with_ordered!(rows.dtype(), T => {
                    let elements = cast_slice(elements);
                    if T::KEY_BITS <= 32 && u32::try_from(n).is_ok() {
                        order_rows::<T, u64>(elements, n, wanted, indices, shape)
                    } else {
                        order_rows::<T, u128>(elements, n, wanted, indices, shape)
                    }
                }, Err(unordered("Sort")))
            })
        })?;
        Ok((rows, indices))
    }

    /// The wanted elements along a dimension, sorted, and their indices, as views of rows.
    pub(super) fn ordered_along(&self, dim: Option<usize>, wanted: Wanted) -> Result<(Tensor, Tensor)> {
        let Some(dim) = dim.map(|dim| dim as isize) else {
            let indices = Tensor::full(&[], 0, DType::I64)?;
            return Ok((self.row_major()?, indices));
        };
        let (rows, indices) = self.movedim(&[dim], &[-1])?.ordered(wanted)?;
        let back = |tensor: Tensor| tensor.movedim(&[-1], &[dim]);
        Ok((back(rows.gather(-1, &indices)?)?, back(indices)?))
    }

    /// The elements along a dimension in ascending or descending order, and their indices: `torch.sort`.
    /// Equal elements keep their order; NaN counts as the largest. The dimensions of both results lie in the
    /// order of the tensor's.
    ///
    /// # Errors
    /// The dimension does not exist, the dtype is complex, or there is no memory.
    ///
    /// ```
    /// use zerostride::tensor;
    /// let (sorted, indices) = tensor![[3, 1, 2], [5, 4, 5]].sort(-1, false)?;
    /// assert_eq!(sorted.to_vec::<i64>()?, [1, 2, 3, 4, 5, 5]);
    /// assert_eq!(indices.to_vec::<i64>()?, [1, 2, 0, 1, 0, 2]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn sort(&self, dim: isize, descending: bool) -> Result<(Tensor, Tensor)> {
        Results::sort(self, dim, descending)?;
        let dim = named_dim(dim, self.ndim())?;
        let count = dim.map_or(1, |dim| self.shape()[dim]);
        let (sorted, indices) = self.ordered_along(dim, Wanted::First { count, descending })?;
        Ok((sorted.lying_as(self)?, indices.lying_as(self)?))
    }

    /// The indices that sort the elements along a dimension: the second part of [`Tensor::sort`].
    ///
    /// # Errors
    /// As [`Tensor::sort`].
    ///
    /// ```
    /// use zerostride::tensor;
    /// assert_eq!(tensor![3, 1, 2].argsort(0, true)?.to_vec::<i64>()?, [0, 2, 1]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn argsort(&self, dim: isize, descending: bool) -> Result<Tensor> {
        Ok(self.sort(dim, descending)?.1)
    }

    /// The `k` largest or smallest elements along a dimension, the most extreme first, and their indices:
    /// `torch.topk`. Of equal elements the first ones are taken.
    ///
    /// # Errors
    /// The dimension does not exist or has fewer than `k` elements, the dtype is bool or complex, or there is
    /// no memory.
    ///
    /// ```
    /// use zerostride::tensor;
    /// let (largest, indices) = tensor![3, 9, 4, 7].topk(2, 0, true)?;
    /// assert_eq!((largest.to_vec::<i64>()?, indices.to_vec::<i64>()?), (vec![9, 7], vec![1, 3]));
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn topk(&self, k: usize, dim: isize, largest: bool) -> Result<(Tensor, Tensor)> {
        Results::topk(self, k, dim, largest)?;
        let wanted = Wanted::First { count: k, descending: largest };
        let (found, indices) = self.ordered_along(named_dim(dim, self.ndim())?, wanted)?;
        Ok((found.contiguous()?, indices.contiguous()?))
    }
}

impl Results {
    pub(super) fn sort(tensor: &Tensor, dim: isize, _descending: bool) -> Result<Results> {
        named_dim(dim, tensor.ndim())?;
        if tensor.dtype().category() == Category::Complex {
            return Err(unordered("Sort"));
        }
        Ok(Results::ordered(tensor.shape_value().clone(), tensor.dtype()))
    }

    pub(super) fn argsort(tensor: &Tensor, dim: isize, descending: bool) -> Result<Results> {
        Results::sort(tensor, dim, descending).map(Results::last)
    }

    pub(super) fn topk(tensor: &Tensor, k: usize, dim: isize, _largest: bool) -> Result<Results> {
        let dim = named_dim(dim, tensor.ndim())?;
        if k > dim.map_or(1, |dim| tensor.shape()[dim]) {
            return Err(Error::runtime("selected index k out of range"));
        }
        match tensor.dtype().category() {
            Category::Complex => return Err(unordered("topk")),
            Category::Bool => {
                return Err(Error::Argument {
                    class: ErrorClass::NotImplemented,
                    message: "topk does not support bool dtypes on CPU".to_owned(),
                });
            }
            Category::Int | Category::Float => {}
        }
        let mut sizes = tensor.shape().to_vec();
        if let Some(dim) = dim {
            sizes[dim] = k;
        }
        Ok(Results::ordered(Shape::new(&sizes)?, tensor.dtype()))
    }

    /// Sorted elements, and their indices.
    fn ordered(shape: Shape, dtype: DType) -> Results {
        Results::of([(shape.clone(), dtype), (shape, DType::I64)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_of_any_order_are_found() {
        let orders: [fn(u64) -> u64; 4] = [|at| at, |at| 1000 - at, |at| at * 7919 % 1000, |at| at / 100];
        for key in orders {
            let all = (0..1000).map(|at| u64::new(key(at), at as usize));
            let mut sorted: Vec<u64> = all.clone().collect();
            sorted.sort_unstable();
            for count in [1, 2, 5, 124] {
                let mut entries = vec![0; 1000];
                smallest(all.clone(), count, &mut entries);
                assert_eq!(entries[..count], sorted[..count], "{count}");
            }
        }
    }

    #[test]
    fn keys_are_in_the_order_of_the_values() {
        let order = [f32::NEG_INFINITY, -3.0, -1e-40, 0.0, 1e-40, 2.0, f32::INFINITY, f32::NAN];
        assert!(order.map(<f32 as Sortable>::key).is_sorted_by(|a, b| a < b));
        assert_eq!(<f32 as Sortable>::key(-0.0), <f32 as Sortable>::key(0.0));
        assert_eq!(<f64 as Sortable>::key(-f64::NAN), <f64 as Sortable>::key(f64::NAN));
        assert!([i64::MIN, -1, 0, i64::MAX].map(<i64 as Sortable>::key).is_sorted_by(|a, b| a < b));
        assert!(<f64 as Sortable>::key(f64::INFINITY) < <f64 as Sortable>::key(f64::NAN));
        assert!((0..=u16::MAX).all(|bits| <f16 as Sortable>::key(f16::from_bits(bits)) <= 0xffff));
    }
}
