//! Owns the bodies on bool: false is 0, true is 1.

use zerostride_ops::Op;

macro_rules! bodies {
    ($($name:ident($($arg:ident),+) => $body:expr;)*) => {
        $(#[inline(always)]
        pub(crate) fn $name($($arg: bool),+) -> bool { $body })*
    };
}

bodies! {
    bitwise_not(a) => !a;
    conj_physical(a) => a;
    isfinite(_a) => true;
    isinf(_a) => false;
    isnan(_a) => false;
    isneginf(_a) => false;
    isposinf(_a) => false;
    logical_not(a) => !a;
    real(a) => a;
    sgn(a) => a;
    sign(a) => a;
    signbit(_a) => false;

    add(a, b) => a | b;
    bitwise_and(a, b) => a & b;
    bitwise_or(a, b) => a | b;
    bitwise_xor(a, b) => a ^ b;
    eq(a, b) => a == b;
    fmax(a, b) => a | b;
    fmin(a, b) => a & b;
    ge(a, b) => a >= b;
    gt(a, b) => a & !b;
    heaviside(a, b) => a | b;
    le(a, b) => a <= b;
    logical_and(a, b) => a & b;
    logical_or(a, b) => a | b;
    logical_xor(a, b) => a ^ b;
    lt(a, b) => !a & b;
    maximum(a, b) => a | b;
    minimum(a, b) => a & b;
    mul(a, b) => a & b;
    ne(a, b) => a != b;
}

/// Whether the result is false where all operands are.
pub(crate) const fn keeps_false(op: Op) -> bool {
    use Op::*;
    !matches!(op, BitwiseNot | Eq | Ge | Isfinite | Le | LogicalNot)
}

#[inline(always)]
pub(crate) fn nan_to_num([a, _nan, _posinf, _neginf]: [bool; 4]) -> bool {
    a
}

#[inline(always)]
pub(crate) fn where_([condition, a, b]: [bool; 3]) -> bool {
    if condition { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bodies::dispatch::{self, Body, VisitBoolean};

    /// Says what a body makes of operands that are all false.
    struct OfFalse;

    impl VisitBoolean for OfFalse {
        type Output = bool;

        fn value<B: Body<N, bool, Result = bool>, const N: usize>(self) -> bool {
            B::call([false; N])
        }
    }

    #[test]
    fn what_keeps_false_does() {
        let bodies = Op::ALL.iter().filter_map(|&op| Some((op, dispatch::boolean(op, OfFalse)?)));
        for (op, result) in bodies {
            assert_eq!(keeps_false(op), !result, "{op:?}");
        }
    }
}
