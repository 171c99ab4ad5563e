//! Owns the lane of two registers: `f64` lanes as many as there are `f32` in one, and lanes that two registers go through
//! side by side.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Shl, Shr, Sub};

use super::{Bits, Lane, Mask};

/// Two registers, masks or registers of bits: the first elements and the last.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Pair<T>(pub(crate) T, pub(crate) T);

macro_rules! both {
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

both!(Add add, Sub sub, Mul mul, Div div, BitAnd bitand, BitOr bitor, BitXor bitxor);

impl<T: Neg<Output = T>> Neg for Pair<T> {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        Pair(self.0.neg(), self.1.neg())
    }
}

impl<T: Not<Output = T>> Not for Pair<T> {
    type Output = Self;

    #[inline(always)]
    fn not(self) -> Self {
        Pair(self.0.not(), self.1.not())
    }
}

impl<T: Shl<usize, Output = T>> Shl<usize> for Pair<T> {
    type Output = Self;

    #[inline(always)]
    fn shl(self, count: usize) -> Self {
        Pair(self.0.shl(count), self.1.shl(count))
    }
}

impl<T: Shr<usize, Output = T>> Shr<usize> for Pair<T> {
    type Output = Self;

    #[inline(always)]
    fn shr(self, count: usize) -> Self {
        Pair(self.0.shr(count), self.1.shr(count))
    }
}

impl<T: Mask> Mask for Pair<T> {
    #[inline(always)]
    fn any(self) -> bool {
        // Each on its own: of two comparisons joined by `|`, LLVM makes one of a minimum, which is NaN for NaN that signal.
        self.0.any() || self.1.any()
    }
}

impl<T: Bits> Bits for Pair<T> {
    type Mask = Pair<T::Mask>;

    #[inline(always)]
    fn splat(x: u64) -> Self {
        Pair(T::splat(x), T::splat(x))
    }

    #[inline(always)]
    fn eq(self, other: Self) -> Self::Mask {
        Pair(self.0.eq(other.0), self.1.eq(other.1))
    }

    #[inline(always)]
    fn signed_lt(self, other: Self) -> Self::Mask {
        Pair(self.0.signed_lt(other.0), self.1.signed_lt(other.1))
    }

    #[inline(always)]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
        Pair(T::select(mask.0, yes.0, no.0), T::select(mask.1, yes.1, no.1))
    }
}

impl<T: Lane> Lane for Pair<T> {
    type Elem = T::Elem;
    type Mask = Pair<T::Mask>;
    type Bits = Pair<T::Bits>;
    type Wide = Pair<T::Wide>;
    const LEN: usize = 2 * T::LEN;

    #[inline(always)]
    fn from_fn(mut element: impl FnMut(usize) -> T::Elem) -> Self {
        Pair(T::from_fn(&mut element), T::from_fn(|i| element(T::LEN + i)))
    }

    #[inline(always)]
    fn load(from: &[T::Elem]) -> Self {
        Pair(T::load(from), T::load(&from[T::LEN..]))
    }

    #[inline(always)]
    fn store(self, to: &mut [T::Elem]) {
        self.0.store(to);
        self.1.store(&mut to[T::LEN..]);
    }

    #[inline(always)]
    fn element(self, index: usize) -> T::Elem {
        if index < T::LEN { self.0.element(index) } else { self.1.element(index - T::LEN) }
    }

    #[inline(always)]
    fn splat(x: T::Elem) -> Self {
        Pair(T::splat(x), T::splat(x))
    }

    #[inline(always)]
    fn widen(self) -> Self::Wide {
        Pair(self.0.widen(), self.1.widen())
    }

    #[inline(always)]
    fn narrow(x: Self::Wide) -> Self {
        Pair(T::narrow(x.0), T::narrow(x.1))
    }

    #[inline(always)]
    fn to_bits(self) -> Self::Bits {
        Pair(self.0.to_bits(), self.1.to_bits())
    }

    #[inline(always)]
    fn from_bits(bits: Self::Bits) -> Self {
        Pair(T::from_bits(bits.0), T::from_bits(bits.1))
    }

    #[inline(always)]
    fn lookup(table: &[T::Elem; 16], index: Self::Bits) -> Self {
        Pair(T::lookup(table, index.0), T::lookup(table, index.1))
    }

    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        Pair(self.0.mul_add(a.0, b.0), self.1.mul_add(a.1, b.1))
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        Pair(self.0.sqrt(), self.1.sqrt())
    }

    #[inline(always)]
    fn round_ties_even(self) -> Self {
        Pair(self.0.round_ties_even(), self.1.round_ties_even())
    }

    #[inline(always)]
    fn floor(self) -> Self {
        Pair(self.0.floor(), self.1.floor())
    }

    #[inline(always)]
    fn ceil(self) -> Self {
        Pair(self.0.ceil(), self.1.ceil())
    }

    #[inline(always)]
    fn trunc(self) -> Self {
        Pair(self.0.trunc(), self.1.trunc())
    }

    #[inline(always)]
    fn abs(self) -> Self {
        Pair(self.0.abs(), self.1.abs())
    }

    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Pair(self.0.min(other.0), self.1.min(other.1))
    }

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Pair(self.0.max(other.0), self.1.max(other.1))
    }

    #[inline(always)]
    fn lt(self, other: Self) -> Self::Mask {
        Pair(self.0.lt(other.0), self.1.lt(other.1))
    }

    #[inline(always)]
    fn le(self, other: Self) -> Self::Mask {
        Pair(self.0.le(other.0), self.1.le(other.1))
    }

    #[inline(always)]
    fn eq(self, other: Self) -> Self::Mask {
        Pair(self.0.eq(other.0), self.1.eq(other.1))
    }

    #[inline(always)]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
        Pair(T::select(mask.0, yes.0, no.0), T::select(mask.1, yes.1, no.1))
    }

    #[inline(always)]
    fn exp2_int(n: Self) -> Self {
        Pair(T::exp2_int(n.0), T::exp2_int(n.1))
    }

    #[inline(always)]
    fn scale(self, n: Self) -> Self {
        Pair(self.0.scale(n.0), self.1.scale(n.1))
    }

    #[inline(always)]
    fn binade(self) -> (Self, Self) {
        let ((e0, m0), (e1, m1)) = (self.0.binade(), self.1.binade());
        (Pair(e0, e1), Pair(m0, m1))
    }

    #[inline(always)]
    fn split_exponent(self) -> (Self, Self) {
        let ((e0, m0), (e1, m1)) = (self.0.split_exponent(), self.1.split_exponent());
        (Pair(e0, e1), Pair(m0, m1))
    }

    #[inline(always)]
    fn ldexp(self, n: Self) -> Self {
        Pair(self.0.ldexp(n.0), self.1.ldexp(n.1))
    }
}
