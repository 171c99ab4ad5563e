//! Owns the vectors that reductions accumulate in: registers of floats (`lane`), and arrays of other
//! elements, which the compiler vectorises. It does not know what is accumulated.

use std::marker::PhantomData;

use bytemuck::{Pod, Zeroable};
use half::{bf16, f16};
use num_complex::{Complex32, Complex64};

use crate::bodies::complex::Complex;
use crate::isa::{self, RegisterFloat, Task};
use crate::lane::{AnyMask, Arithmetic, AsBits, Bits, Element, Register};

/// The most elements of a vector.
pub(super) const MAX_VECTOR_LEN: usize = 16;

/// How a vector is loaded from contiguous elements.
pub(super) trait LoadVector: 'static {
    type Elem: Pod + Send + Sync;
    /// The vector.
    type Value: Vector;
    /// The same on single elements, for tails.
    type One: LoadVector<Elem = Self::Elem, Value = <Self::Value as Vector>::One>;

    /// The first elements, as many as the vector has.
    ///
    /// # Panics
    /// If there are fewer.
    fn values(from: &[Self::Elem]) -> Self::Value;

    /// At most that many elements; the remaining positions are unspecified.
    #[inline(always)]
    fn some_values(from: &[Self::Elem]) -> Self::Value {
        let mut elements = [Self::Elem::zeroed(); MAX_VECTOR_LEN];
        elements[..from.len()].copy_from_slice(from);
        Self::values(&elements)
    }
}

/// Elements of the vector's own type.
impl<V: Vector> LoadVector for V {
    type Elem = V::Elem;
    type Value = V;
    type One = V::One;

    #[inline(always)]
    fn values(from: &[V::Elem]) -> V {
        V::load(from)
    }
}

/// f16 or bf16, widened to vectors of `f32`.
pub(super) struct WidenedHalves<V, T>(PhantomData<(V, T)>);

macro_rules! halves {
    ($($type:ty: |$from:ident| $values:expr;)*) => {
        $(impl<V> LoadVector for WidenedHalves<V, $type>
        where
            V: Vector<One: Register<Elem = f32>> + Register<Elem = f32>,
        {
            type Elem = $type;
            type Value = V;
            type One = WidenedHalves<V::One, $type>;

            #[inline(always)]
            fn values($from: &[$type]) -> V { $values }
        })*
    };
}

halves! {
    f16: |from| V::load_f16(from);
    bf16: |from| V::load_bf16(from);
}

/// Elements that are reduced at once.
pub(super) trait Vector: Copy + 'static {
    type Elem: Pod + Send + Sync;
    /// The same on single elements, for tails.
    type One: Vector<Elem = Self::Elem, One = Self::One>;
    type Mask: Copy;
    /// A power of two, at most [`MAX_VECTOR_LEN`].
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
    /// The neutral element of multiplication.
    fn one() -> Self::Elem;
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;
    /// The mask of the first `count` elements.
    fn first(count: usize) -> Self::Mask;
    /// Two vectors in which elements that were `BY` apart now have the same position: those of `self` at
    /// positions without the bit `BY`, those of `other` at positions with it.
    fn crossed<const BY: usize>(self, other: Self) -> [Self; 2];
    /// Elements of `self` and `other` alternately: of the first halves, then of the second halves.
    fn interleaved(self, other: Self) -> [Self; 2];
    /// Runs a loop over such vectors, compiled for their instruction set.
    fn run(task: impl Task);

    #[inline(always)]
    fn splat(x: Self::Elem) -> Self {
        Self::from_fn(|_| x)
    }
}

/// Vectors whose elements can be compared, also as integers of the same bits.
pub(super) trait Ordered: Vector<Elem: Limits, Mask: AnyMask> {
    type Bits: Bits<Mask = Self::Mask>;

    /// Where `self` replaces `held`: it is greater, or less, or the first NaN.
    fn beats<const LARGEST: bool>(self, held: Self) -> Self::Mask;
    /// The greater of both, or the lesser; `held` where they are equal or one is NaN.
    fn of_two<const LARGEST: bool>(self, held: Self) -> Self;
    /// The same, but NaN where one is.
    fn extreme<const LARGEST: bool>(self, held: Self) -> Self;
    fn is_less(self, other: Self) -> Self::Mask;
    /// Where neither is NaN.
    fn are_numbers(self, other: Self) -> Self::Mask;
    fn to_bits(self) -> Self::Bits;
    fn from_bits(bits: Self::Bits) -> Self;
}

/// The neutral elements of minimum and maximum, and integers as the bits of elements.
pub(super) trait Limits: Pod {
    const LOWEST: Self;
    const HIGHEST: Self;
    /// The largest signed integer.
    const LAST: u64;
    /// The element with the lowest of these bits.
    fn from_bits(bits: u64) -> Self;
    fn to_bits(self) -> u64;
}

macro_rules! limits {
    ($($type:ident: $signed:ty;)*) => {
        $(impl Limits for $type {
            const LOWEST: Self = $type::NEG_INFINITY;
            const HIGHEST: Self = $type::INFINITY;
            const LAST: u64 = <$signed>::MAX as u64;
            #[inline(always)]
            fn from_bits(bits: u64) -> Self { bytemuck::cast(bits as $signed) }
            #[inline(always)]
            fn to_bits(self) -> u64 { $type::to_bits(self).into() }
        })*
    };
}

limits! {
    f32: i32;
    f64: i64;
}

impl<L> Vector for L
where
    L: Register<Elem: RegisterFloat + Pod + Send + Sync + Register<Elem = L::Elem>> + isa::Enter + 'static,
    L::Elem: isa::Enter,
{
    type Elem = L::Elem;
    type One = L::Elem;
    type Mask = L::Mask;
    const LEN: usize = L::LEN;

    #[inline(always)]
    fn from_fn(element: impl FnMut(usize) -> Self::Elem) -> Self {
        <L as Register>::from_fn(element)
    }

    #[inline(always)]
    fn splat(x: Self::Elem) -> Self {
        <L as Arithmetic>::splat(x)
    }

    #[inline(always)]
    fn load(from: &[Self::Elem]) -> Self {
        <L as Register>::load(from)
    }

    #[inline(always)]
    fn store(self, to: &mut [Self::Elem]) {
        <L as Register>::store(self, to);
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
        <L as Arithmetic>::select(mask, yes, no)
    }

    #[inline(always)]
    fn first(count: usize) -> Self::Mask {
        let number = |i: usize| <L::Elem as Element>::from_f64(i as f64);
        <L as Register>::from_fn(number).lt(<L as Arithmetic>::splat(number(count)))
    }

    #[inline(always)]
    fn crossed<const BY: usize>(self, other: Self) -> [Self; 2] {
        crossed::<L, BY>(self, other)
    }

    #[inline(always)]
    fn interleaved(self, other: Self) -> [Self; 2] {
        let from =
            |first: usize| move |i: usize| (if i & 1 == 0 { self } else { other }).element(first + i / 2);
        [<L as Register>::from_fn(from(0)), <L as Register>::from_fn(from(Self::LEN / 2))]
    }

    #[inline(always)]
    fn run(task: impl Task) {
        L::enter(task);
    }
}

/// [`Vector::crossed`], of registers.
#[inline(always)]
pub(super) fn crossed<L: Register, const BY: usize>(a: L, b: L) -> [L; 2] {
    [
        L::from_fn(|i| if i & BY == 0 { a.element(i) } else { b.element(i & !BY) }),
        L::from_fn(|i| if i & BY == 0 { a.element(i | BY) } else { b.element(i) }),
    ]
}

impl<L> Ordered for L
where
    L: Vector<Mask = <L as Arithmetic>::Mask, Elem = <L as Arithmetic>::Elem>
        + Register
        + AsBits<Elem: Limits, Mask: AnyMask>,
{
    type Bits = <L as AsBits>::Bits;

    #[inline(always)]
    fn beats<const LARGEST: bool>(self, held: Self) -> <L as Arithmetic>::Mask {
        let stays = if LARGEST { self.le(held) } else { self.ge(held) };
        !(held.is_nan() | stays)
    }

    #[inline(always)]
    fn of_two<const LARGEST: bool>(self, held: Self) -> Self {
        if LARGEST { self.max(held) } else { self.min(held) }
    }

    #[inline(always)]
    fn extreme<const LARGEST: bool>(self, held: Self) -> Self {
        if LARGEST { self.maximum(held) } else { self.minimum(held) }
    }

    #[inline(always)]
    fn is_less(self, other: Self) -> <L as Arithmetic>::Mask {
        self.lt(other)
    }

    #[inline(always)]
    fn are_numbers(self, other: Self) -> <L as Arithmetic>::Mask {
        <L as Arithmetic>::are_numbers(self, other)
    }

    #[inline(always)]
    fn to_bits(self) -> <L as AsBits>::Bits {
        <L as AsBits>::to_bits(self)
    }

    #[inline(always)]
    fn from_bits(bits: <L as AsBits>::Bits) -> Self {
        <L as AsBits>::from_bits(bits)
    }
}

/// Elements that no lane holds.
#[derive(Clone, Copy)]
pub(super) struct Array<T, const N: usize>([T; N]);

/// A type of elements in arrays.
pub(super) trait ArrayElement: Pod + Send + Sync {
    const ONE: Self;
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
}

macro_rules! scalars {
    ($($type:ty: $one:expr, $plus:path, $times:path;)*) => {
        $(impl ArrayElement for $type {
            const ONE: Self = $one;
            #[inline(always)]
            fn plus(self, other: Self) -> Self { $plus(self, other) }
            #[inline(always)]
            fn times(self, other: Self) -> Self { $times(self, other) }
        })*
    };
}

scalars! {
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

impl<T: ArrayElement, const N: usize> Vector for Array<T, N> {
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
    fn crossed<const BY: usize>(self, other: Self) -> [Self; 2] {
        [
            Array(std::array::from_fn(|i| if i & BY == 0 { self.0[i] } else { other.0[i & !BY] })),
            Array(std::array::from_fn(|i| if i & BY == 0 { self.0[i | BY] } else { other.0[i] })),
        ]
    }

    #[inline(always)]
    fn interleaved(self, other: Self) -> [Self; 2] {
        let from = |first: usize| move |i: usize| (if i & 1 == 0 { self } else { other }).0[first + i / 2];
        [Array(std::array::from_fn(from(0))), Array(std::array::from_fn(from(N / 2)))]
    }

    #[inline(always)]
    fn run(task: impl Task) {
        isa::run_widest(task);
    }
}
