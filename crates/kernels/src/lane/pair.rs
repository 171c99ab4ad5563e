//! Owns two registers as one: `f64` registers with as many elements as one of `f32`.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Not, Sub};

use super::{AnyMask, Arithmetic, Register};

/// Two registers or masks, in the order of their elements.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Pair<T>(pub(crate) T, pub(crate) T);

/// Operators that are those of both.
macro_rules! operators {
    ($($trait:ident $method:ident),+) => {$(
        impl<T: $trait<Output = T>> $trait for Pair<T> {
            type Output = Self;

            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Pair(self.0.$method(other.0), self.1.$method(other.1))
            }
        }
    )+};
}

operators!(Add add, Sub sub, Mul mul, Div div, BitAnd bitand, BitOr bitor, BitXor bitxor);

impl<T: Not<Output = T>> Not for Pair<T> {
    type Output = Self;

    #[inline(always)]
    fn not(self) -> Self {
        Pair(!self.0, !self.1)
    }
}

impl<T: AnyMask> AnyMask for Pair<T> {
    #[inline(always)]
    fn any(self) -> bool {
        // One register after the other: LLVM turns two comparisons joined by `|` into one of a minimum, which
        // is wrong for signalling NaN.
        self.0.any() || self.1.any()
    }
}

/// Methods that are those of both.
macro_rules! methods {
    ($($method:ident($($other:ident),*) -> $result:ty;)+) => {$(
        #[inline(always)]
        fn $method(self, $($other: Self),*) -> $result {
            Pair(self.0.$method($($other.0),*), self.1.$method($($other.1),*))
        }
    )+};
}

impl<T: Arithmetic<Mask: AnyMask>> Arithmetic for Pair<T> {
    type Elem = T::Elem;
    type Mask = Pair<T::Mask>;

    #[inline(always)]
    fn splat(x: T::Elem) -> Self {
        Pair(T::splat(x), T::splat(x))
    }

    methods! {
        mul_add(a, b) -> Self;
        abs() -> Self;
        min(other) -> Self;
        max(other) -> Self;
        lt(other) -> Self::Mask;
        le(other) -> Self::Mask;
        eq(other) -> Self::Mask;
        are_numbers(other) -> Self::Mask;
    }

    #[inline(always)]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
        Pair(T::select(mask.0, yes.0, no.0), T::select(mask.1, yes.1, no.1))
    }
}

impl<T: Register<Elem = f64, Mask: AnyMask>> Register for Pair<T> {
    type Wide = Self;
    const LEN: usize = 2 * T::LEN;

    #[inline(always)]
    fn from_fn(mut element: impl FnMut(usize) -> f64) -> Self {
        Pair(T::from_fn(&mut element), T::from_fn(|i| element(T::LEN + i)))
    }

    #[inline(always)]
    fn load(from: &[f64]) -> Self {
        Pair(T::load(from), T::load(&from[T::LEN..]))
    }

    #[inline(always)]
    fn store(self, to: &mut [f64]) {
        self.0.store(to);
        self.1.store(&mut to[T::LEN..]);
    }

    #[inline(always)]
    fn element(self, index: usize) -> f64 {
        [self.0, self.1][index / T::LEN].element(index % T::LEN)
    }

    #[inline(always)]
    fn widen(self) -> Self {
        self
    }
}
