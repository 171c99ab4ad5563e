//! Owns the bodies on bool: false is 0, true is 1.

use crate::lane::Mask;

macro_rules! bodies {
    ($($name:ident($($arg:ident),+) => $body:expr;)*) => {
        $(#[inline(always)]
        pub(crate) fn $name<T: Mask>($($arg: T),+) -> T { $body })*
    };
}

bodies! {
    bitwise_not(a) => !a;
    conj_physical(a) => a;
    isfinite(a) => !never(a);
    isinf(a) => never(a);
    isnan(a) => never(a);
    isneginf(a) => never(a);
    isposinf(a) => never(a);
    logical_not(a) => !a;
    real(a) => a;
    sgn(a) => a;
    sign(a) => a;
    signbit(a) => never(a);

    add(a, b) => a | b;
    bitwise_and(a, b) => a & b;
    bitwise_or(a, b) => a | b;
    bitwise_xor(a, b) => a ^ b;
    eq(a, b) => !(a ^ b);
    fmax(a, b) => a | b;
    fmin(a, b) => a & b;
    ge(a, b) => a | !b;
    gt(a, b) => a & !b;
    heaviside(a, b) => a | b;
    le(a, b) => !a | b;
    logical_and(a, b) => a & b;
    logical_or(a, b) => a | b;
    logical_xor(a, b) => a ^ b;
    lt(a, b) => !a & b;
    maximum(a, b) => a | b;
    minimum(a, b) => a & b;
    mul(a, b) => a & b;
    ne(a, b) => a ^ b;
}

/// False, as no bool is a number that has to do with infinities or signs.
#[inline(always)]
fn never<T: Mask>(a: T) -> T {
    a & !a
}

#[inline(always)]
pub(crate) fn nan_to_num<T: Mask>([a, _nan, _posinf, _neginf]: [T; 4]) -> T {
    a
}

#[inline(always)]
pub(crate) fn where_<T: Mask>([condition, a, b]: [T; 3]) -> T {
    (condition & a) | (!condition & b)
}
