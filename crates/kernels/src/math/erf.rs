//! Owns `erf` and `erfc`.

use super::Real;
use super::dw::fast_two_sum;
use super::erf_table::Erf;
use super::normal_tail::NormalTail;
use crate::lane::rare;

/// The error function.
#[inline(always)]
pub(crate) fn erf<V: Real>(x: V) -> V {
    V::Elem::erf(x)
}

/// The complementary error function, 1 - erf x without the cancellation.
#[inline(always)]
pub(crate) fn erfc<V: Real>(x: V) -> V {
    let (ordinary, end) = V::Elem::COMPLEMENT_RANGE;
    let ordinary = V::num(ordinary);
    let size = ordinary.min(x.abs());
    let tail = V::Elem::tail(&V::Elem::COMPLEMENT, size);
    // Of a negative number, also of -0, the tail is what 2 loses.
    let unit = tail.unit().mul_sign(x);
    let whole = V::select(x.is_negative(), V::num(2.0), V::num(0.0));
    let sum = fast_two_sum(whole, tail.high * unit);
    let y = sum.hi + tail.low.mul_add(unit, sum.lo);
    rare!(x.gt(ordinary), y, {
        let size = V::num(end).min(x);
        V::Elem::tail(&V::Elem::COMPLEMENT, size).times(V::num(1.0))
    })
}
