//! Owns the bodies of c64 on lanes of `f32`, for operations that take little time beside widening to `f64` in
//! memory. It does not know loops, nor the other bodies of complex numbers (`complex.rs`).

use num_complex::Complex as Pair;
use zerostride_ops::Op;

use super::dispatch::Body;
use super::float::Floats;
use crate::math::complex::{self as math, short};

macro_rules! bodies {
    ($($op:ident($($arg:ident),+) -> $result:ty => $body:expr;)*) => {
        $(pub(crate) struct $op;

        impl<V: Floats<Elem = f32>> Body<{ [$(stringify!($arg)),+].len() }, Pair<V>> for $op {
            const OP: Op = Op::$op;
            type Result = $result;

            #[inline(always)]
            fn call([$($arg),+]: [Pair<V>; { [$(stringify!($arg)),+].len() }]) -> $result {
                $body
            }
        })*
    };
}

bodies! {
    Abs(z) -> V => math::abs(z);
    Add(a, b) -> Pair<V> => math::add(a, b);
    Angle(z) -> V => math::angle(z);
    Div(a, b) -> Pair<V> => short::div(a, b);
    Mul(a, b) -> Pair<V> => math::mul(a, b);
    Neg(z) -> Pair<V> => math::neg(z);
    Reciprocal(z) -> Pair<V> => short::div(Pair::new(V::num(1.0), V::num(0.0)), z);
    Square(z) -> Pair<V> => math::mul(z, z);
    Sub(a, b) -> Pair<V> => math::sub(a, b);
}
