//! Owns the lanes of several registers: `f64` lanes with as many elements as an `f32` register, and lanes
//! that interleave the instructions of a long body.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Shl, Shr, Sub};

use super::{AnyMask, Bits, Lane};

/// An operator that a group applies to each register.
macro_rules! operator {
    ($group:ident [$($i:tt)+] $trait:ident $method:ident) => {
        impl<T: $trait<Output = T>> $trait for $group<T> {
            type Output = Self;

            #[inline(always)]
            fn $method(self) -> Self {
                $group($(self.$i.$method()),+)
            }
        }
    };
    ($group:ident [$($i:tt)+] $trait:ident $method:ident $other:ident) => {
        impl<T: $trait<Output = T>> $trait for $group<T> {
            type Output = Self;

            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                $group($(self.$i.$method(other.$i)),+)
            }
        }
    };
    ($group:ident [$($i:tt)+] $trait:ident $method:ident by $count:ident) => {
        impl<T: $trait<$count, Output = T>> $trait<$count> for $group<T> {
            type Output = Self;

            #[inline(always)]
            fn $method(self, count: $count) -> Self {
                $group($(self.$i.$method(count)),+)
            }
        }
    };
}

/// A method that a group calls on each register.
macro_rules! method {
    ($group:ident [$($i:tt)+] $method:ident -> $result:ty) => {
        #[inline(always)]
        fn $method(self) -> $result {
            $group($(self.$i.$method()),+)
        }
    };
    ($group:ident [$($i:tt)+] $method:ident $other:ident -> $result:ty) => {
        #[inline(always)]
        fn $method(self, $other: Self) -> $result {
            $group($(self.$i.$method($other.$i)),+)
        }
    };
}

/// A lane of several registers. Every method is unrolled: closures or nested groups would multiply what has
/// to be inlined.
macro_rules! group {
    ($(#[$doc:meta])* $group:ident $count:literal: $($T:ident $i:tt),+) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        #[repr(C)]
        pub(crate) struct $group<T>($(pub(crate) $T),+);

        operator!($group [$($i)+] Neg neg);
        operator!($group [$($i)+] Not not);
        operator!($group [$($i)+] Add add other);
        operator!($group [$($i)+] Sub sub other);
        operator!($group [$($i)+] Mul mul other);
        operator!($group [$($i)+] Div div other);
        operator!($group [$($i)+] BitAnd bitand other);
        operator!($group [$($i)+] BitOr bitor other);
        operator!($group [$($i)+] BitXor bitxor other);
        operator!($group [$($i)+] Shl shl by usize);
        operator!($group [$($i)+] Shr shr by usize);

        impl<T: AnyMask> AnyMask for $group<T> {
            #[inline(always)]
            fn any(self) -> bool {
                // One register after the other: LLVM turns two comparisons joined by `|` into one of a
                // minimum, which is wrong for signalling NaN.
                $(self.$i.any())||+
            }
        }

        impl<T: Bits<Mask: AnyMask>> Bits for $group<T> {
            type Mask = $group<T::Mask>;

            #[inline(always)]
            fn splat(x: u64) -> Self {
                let all = [T::splat(x); $count];
                $group($(all[$i]),+)
            }

            method!($group [$($i)+] eq other -> Self::Mask);
            method!($group [$($i)+] signed_lt other -> Self::Mask);

            #[inline(always)]
            fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
                $group($(T::select(mask.$i, yes.$i, no.$i)),+)
            }
        }

        impl<T: Lane<Mask: AnyMask, Wide: Lane<Mask: AnyMask>>> Lane for $group<T> {
            type Elem = T::Elem;
            type Mask = $group<T::Mask>;
            type Bits = $group<T::Bits>;
            type Wide = $group<T::Wide>;
            const LEN: usize = $count * T::LEN;

            #[inline(always)]
            fn from_fn(mut element: impl FnMut(usize) -> T::Elem) -> Self {
                $group($(T::from_fn(|i| element($i * T::LEN + i))),+)
            }

            #[inline(always)]
            fn load(from: &[T::Elem]) -> Self {
                $group($(T::load(&from[$i * T::LEN..])),+)
            }

            #[inline(always)]
            fn store(self, to: &mut [T::Elem]) {
                $(self.$i.store(&mut to[$i * T::LEN..]);)+
            }

            #[inline(always)]
            fn element(self, index: usize) -> T::Elem {
                [$(self.$i),+][index / T::LEN].element(index % T::LEN)
            }

            #[inline(always)]
            fn splat(x: T::Elem) -> Self {
                let all = [T::splat(x); $count];
                $group($(all[$i]),+)
            }

            #[inline(always)]
            fn narrow(x: Self::Wide) -> Self {
                $group($(T::narrow(x.$i)),+)
            }

            #[inline(always)]
            fn from_bits(bits: Self::Bits) -> Self {
                $group($(T::from_bits(bits.$i)),+)
            }

            #[inline(always)]
            fn lookup(table: &[T::Elem; 16], index: Self::Bits) -> Self {
                $group($(T::lookup(table, index.$i)),+)
            }

            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                $group($(self.$i.mul_add(a.$i, b.$i)),+)
            }

            method!($group [$($i)+] sqrt -> Self);
            method!($group [$($i)+] round_ties_even -> Self);
            method!($group [$($i)+] floor -> Self);
            method!($group [$($i)+] ceil -> Self);
            method!($group [$($i)+] trunc -> Self);
            method!($group [$($i)+] abs -> Self);
            method!($group [$($i)+] widen -> Self::Wide);
            method!($group [$($i)+] to_bits -> Self::Bits);
            method!($group [$($i)+] min other -> Self);
            method!($group [$($i)+] max other -> Self);
            method!($group [$($i)+] scale n -> Self);
            method!($group [$($i)+] ldexp n -> Self);
            method!($group [$($i)+] lt other -> Self::Mask);
            method!($group [$($i)+] le other -> Self::Mask);
            method!($group [$($i)+] eq other -> Self::Mask);
            method!($group [$($i)+] are_numbers other -> Self::Mask);

            #[inline(always)]
            fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
                $group($(T::select(mask.$i, yes.$i, no.$i)),+)
            }

            #[inline(always)]
            fn exp2_int(n: Self) -> Self {
                $group($(T::exp2_int(n.$i)),+)
            }

            #[inline(always)]
            fn binade(self) -> (Self, Self) {
                let parts = ($(self.$i.binade(),)+);
                ($group($(parts.$i.0),+), $group($(parts.$i.1),+))
            }

            #[inline(always)]
            fn split_exponent(self) -> (Self, Self) {
                let parts = ($(self.$i.split_exponent(),)+);
                ($group($(parts.$i.0),+), $group($(parts.$i.1),+))
            }
        }
    };
}

group! {
    /// Two registers, masks or registers of bits, in the order of their elements.
    Pair 2: T 0, T 1
}
