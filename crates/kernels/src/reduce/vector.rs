//! Owns what reductions accumulate in: the registers of floats (`lane`), and arrays of other elements, of which the
//! compiler makes registers. It does not know what is accumulated.

use bytemuck::{Pod, Zeroable};
use num_complex::{Complex32, Complex64};

use crate::bodies::complex::Complex;
use crate::isa::{self, Registers, Task};
use crate::lane::{Bits, Element, Lane};

/// Neighbours that are worked on together.
pub(super) trait Vector: Copy + 'static {
    type Elem: Pod + Send + Sync;
    /// One element, for what is left of a row.
    type One: Vector<Elem = Self::Elem, One = Self::One>;
    type Mask: Copy;
    /// A power of two, at most 16.
    const LEN: usize;

    /// The vector whose element `i` is `element(i)`.
    fn from_fn(element: impl FnMut(usize) -> Self::Elem) -> Self;
    /// The first `LEN` elements.
    ///
    /// # Panics
    /// If there are fewer.
    fn load(from: &[Self::Elem]) -> Self;
    /// Writes to the first `LEN` elements.
    ///
    /// # Panics
    /// If there are fewer.
    fn store(self, to: &mut [Self::Elem]);
    /// The element that changes nothing in a product.
    fn one() -> Self::Elem;
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;
    /// The mask of the first `count` elements.
    fn first(count: usize) -> Self::Mask;
    /// The vector whose element `i` is element `i + BY`, around the end.
    fn turned<const BY: usize>(self) -> Self;
    /// Runs a loop over such vectors, compiled for their instruction set.
    fn run(task: impl Task);

    #[inline(always)]
    fn splat(x: Self::Elem) -> Self {
        Self::from_fn(|_| x)
    }

    /// The elements that there are, then anything.
    #[inline(always)]
    fn load_some(from: &[Self::Elem]) -> Self {
        Self::from_fn(|i| from.get(i).copied().unwrap_or(Self::Elem::zeroed()))
    }
}

/// Vectors of elements that can be compared.
pub(super) trait Ordered: Vector<Elem: Limits> {
    /// Where `self` takes the place of `held`: it is larger, or smaller, or the first NaN.
    fn beats<const LARGEST: bool>(self, held: Self) -> Self::Mask;

    /// Compares the bits of elements as signed integers.
    fn earlier(self, other: Self) -> Self::Mask;
    /// Adds the bits of elements as integers.
    fn plus_bits(self, other: Self) -> Self;
}

/// What every element is compared with first, and numbers as the bits of elements.
pub(super) trait Limits: Pod {
    const LOWEST: Self;
    const HIGHEST: Self;
    /// The largest number that bits are, as signed integers.
    const NOWHERE: usize;
    fn from_index(index: usize) -> Self;
    fn to_index(self) -> i64;
}

macro_rules! limits {
    ($($type:ty, $bits:ty, $signed:ty: $lowest:expr, $highest:expr;)*) => {
        $(impl Limits for $type {
            const LOWEST: Self = $lowest;
            const HIGHEST: Self = $highest;
            const NOWHERE: usize = <$signed>::MAX as usize;
            #[inline(always)]
            fn from_index(index: usize) -> Self { bytemuck::cast(index as $bits) }
            #[inline(always)]
            fn to_index(self) -> i64 { bytemuck::cast::<Self, $bits>(self) as i64 }
        })*
    };
}

limits! {
    i32, u32, i32: i32::MIN, i32::MAX;
    i64, u64, i64: i64::MIN, i64::MAX;
    u64, u64, i64: u64::MIN, u64::MAX;
    f32, u32, i32: f32::NEG_INFINITY, f32::INFINITY;
    f64, u64, i64: f64::NEG_INFINITY, f64::INFINITY;
}

impl<L> Vector for L
where
    L: Lane<Elem: Registers + Pod + Send + Sync + Lane<Elem = L::Elem>> + isa::Enter + 'static,
    L::Elem: isa::Enter,
{
    type Elem = L::Elem;
    type One = L::Elem;
    type Mask = L::Mask;
    const LEN: usize = L::LEN;

    #[inline(always)]
    fn from_fn(element: impl FnMut(usize) -> Self::Elem) -> Self {
        <L as Lane>::from_fn(element)
    }

    #[inline(always)]
    fn load(from: &[Self::Elem]) -> Self {
        <L as Lane>::load(from)
    }

    #[inline(always)]
    fn store(self, to: &mut [Self::Elem]) {
        <L as Lane>::store(self, to);
    }

    #[inline(always)]
    fn one() -> Self::Elem {
        Element::from_f64(1.0)
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self + other
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        self * other
    }

    #[inline(always)]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
        <L as Lane>::select(mask, yes, no)
    }

    #[inline(always)]
    fn first(count: usize) -> Self::Mask {
        let number = |i: usize| <L::Elem as Element>::from_f64(i as f64);
        <L as Lane>::from_fn(number).lt(<L as Lane>::splat(number(count)))
    }

    #[inline(always)]
    fn turned<const BY: usize>(self) -> Self {
        turned::<L, BY>(self)
    }

    #[inline(always)]
    fn run(task: impl Task) {
        L::enter(task);
    }
}

/// The register whose element `i` is element `i + BY`, around the end.
#[inline(always)]
pub(super) fn turned<L: Lane, const BY: usize>(lane: L) -> L {
    L::from_fn(|i| lane.element((i + BY) % L::LEN))
}

impl<L> Ordered for L
where
    L: Vector<Mask = <L as Lane>::Mask, Elem = <L as Lane>::Elem> + Lane<Elem: Limits>,
{
    #[inline(always)]
    fn beats<const LARGEST: bool>(self, held: Self) -> <L as Lane>::Mask {
        let stays = if LARGEST { self.le(held) } else { self.ge(held) };
        !(held.is_nan() | stays)
    }

    #[inline(always)]
    fn earlier(self, other: Self) -> <L as Lane>::Mask {
        self.to_bits().signed_lt(other.to_bits())
    }

    #[inline(always)]
    fn plus_bits(self, other: Self) -> Self {
        L::from_bits(self.to_bits() + other.to_bits())
    }
}

/// Elements that no register of `lane` holds.
#[derive(Clone, Copy)]
pub(super) struct Array<T, const N: usize>([T; N]);

/// A dtype of elements in arrays.
pub(super) trait Scalar: Pod + Send + Sync {
    const ONE: Self;
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
}

macro_rules! scalars {
    ($($type:ty: $one:expr, $plus:path, $times:path;)*) => {
        $(impl Scalar for $type {
            const ONE: Self = $one;
            #[inline(always)]
            fn plus(self, other: Self) -> Self { $plus(self, other) }
            #[inline(always)]
            fn times(self, other: Self) -> Self { $times(self, other) }
        })*
    };
}

scalars! {
    i32: 1, i32::wrapping_add, i32::wrapping_mul;
    i64: 1, i64::wrapping_add, i64::wrapping_mul;
    u64: 1, u64::wrapping_add, u64::wrapping_mul;
    Complex32: Complex32::ONE, Complex::plus, Complex::times;
    Complex64: Complex64::ONE, Complex::plus, Complex::times;
}

impl<T, const N: usize> Array<T, N> {
    #[inline(always)]
    fn zip<R>(self, other: Self, f: impl Fn(T, T) -> R) -> [R; N]
    where
        T: Copy,
    {
        std::array::from_fn(|i| f(self.0[i], other.0[i]))
    }
}

impl<T: Scalar, const N: usize> Vector for Array<T, N> {
    type Elem = T;
    type One = Array<T, 1>;
    type Mask = [bool; N];
    const LEN: usize = N;

    #[inline(always)]
    fn from_fn(element: impl FnMut(usize) -> T) -> Self {
        Array(std::array::from_fn(element))
    }

    #[inline(always)]
    fn load(from: &[T]) -> Self {
        Array(*from.first_chunk().expect("as many elements as a vector has"))
    }

    #[inline(always)]
    fn store(self, to: &mut [T]) {
        *to.first_chunk_mut().expect("room for a vector") = self.0;
    }

    #[inline(always)]
    fn one() -> T {
        T::ONE
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Array(self.zip(other, T::plus))
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        Array(self.zip(other, T::times))
    }

    #[inline(always)]
    fn select(mask: [bool; N], yes: Self, no: Self) -> Self {
        Array(std::array::from_fn(|i| if mask[i] { yes.0[i] } else { no.0[i] }))
    }

    #[inline(always)]
    fn first(count: usize) -> [bool; N] {
        std::array::from_fn(|i| i < count)
    }

    #[inline(always)]
    fn turned<const BY: usize>(self) -> Self {
        Array(std::array::from_fn(|i| self.0[(i + BY) % N]))
    }

    #[inline(always)]
    fn run(task: impl Task) {
        isa::run_widest(task);
    }
}

impl<T: Scalar + Limits + PartialOrd, const N: usize> Ordered for Array<T, N> {
    #[inline(always)]
    fn beats<const LARGEST: bool>(self, held: Self) -> [bool; N] {
        self.zip(held, |value, held| if LARGEST { value > held } else { value < held })
    }

    #[inline(always)]
    fn earlier(self, other: Self) -> [bool; N] {
        self.zip(other, |a, b| a.to_index() < b.to_index())
    }

    #[inline(always)]
    fn plus_bits(self, other: Self) -> Self {
        Array(self.zip(other, T::plus))
    }
}
