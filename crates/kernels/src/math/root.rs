//! Owns `rsqrt` and `hypot`.

use super::dw::{fast_two_sum, two_prod};
use super::{Real, is_short};
use crate::lane::{Bits, Element, Lane, rare};

/// 1 / √x.
#[inline(always)]
pub(crate) fn rsqrt<V: Real>(x: V) -> V {
    let least = V::splat(V::Elem::MIN_POSITIVE);
    let is_ordinary = x.ge(least) & x.lt(V::splat(V::Elem::INFINITY));
    rare!(!is_ordinary, inverse_root(x), {
        let up = V::exp2_int(V::num(V::Elem::SIGNIFICAND as f64 + 1.0));
        let is_subnormal = x.gt(V::num(0.0)) & x.lt(least);
        V::select(is_subnormal, inverse_root(x * up * up) * up, V::num(1.0) / x.sqrt())
    })
}

/// 1 / √x of a positive normal number: a guess whose bits are the negated half of those of `x`, and steps of
/// third order from it, which cost less than a root and a division.
#[inline(always)]
fn inverse_root<V: Real>(x: V) -> V {
    let (bits, steps) = if is_short::<V>() { (0x5f37_59df, 1) } else { (0x5fe6_eb50_c7b5_37a9, 2) };
    let one = V::num(1.0);
    let mut y = V::from_bits(V::Bits::splat(bits) - (x.to_bits() >> 1));
    for _ in 0..steps {
        y = with_excess(y, (x * y).mul_add(-y, one));
    }
    let product = two_prod(x, y);
    with_excess(y, product.lo.mul_add(-y, product.hi.mul_add(-y, one)))
}

/// `y / √(1 - e)` for a small `e`.
#[inline(always)]
fn with_excess<V: Lane>(y: V, e: V) -> V {
    (y * e).mul_add(e.mul_add(V::num(0.375), V::num(0.5)), y)
}

/// About 1 / (2 √x), off by at most 3.5%, for what a root misses: a guess by bits as above, finite at 0.
#[inline(always)]
pub(super) fn half_inverse_root<V: Lane>(x: V) -> V {
    let bits = if is_short::<V>() { 0x5eb7_59df } else { 0x5fd6_eb50_c7b5_37a9 };
    V::from_bits(V::Bits::splat(bits) - (x.to_bits() >> 1))
}

/// √(x² + y²) without undue overflow; infinite if either is, even beside NaN.
#[inline(always)]
pub(crate) fn hypot<V: Real>(x: V, y: V) -> V {
    let (x, y) = (x.abs(), y.abs());
    let (larger, smaller) = (x.max(y), x.min(y));
    // Powers of two that scale the larger side so that its square, and the low part of that, are normal.
    let bias = V::Elem::BIAS as f64;
    let (edge, down, up) = ((bias * 0.4) as i32, (bias * 0.625) as i32, (bias * 0.8) as i32);
    let (one, big) = (V::num(1.0), larger.gt(V::num(2f64.powi(edge))));
    let small = larger.lt(V::num(2f64.powi(-edge)));
    let scale = V::select(big, V::num(2f64.powi(-down)), V::select(small, V::num(2f64.powi(up)), one));
    let back = V::select(big, V::num(2f64.powi(down)), V::select(small, V::num(2f64.powi(-up)), one));
    let (a, b) = (two_prod(larger * scale, larger * scale), two_prod(smaller * scale, smaller * scale));
    let square = fast_two_sum(a.hi, b.hi);
    let root = square.hi.sqrt();
    // The rounding errors of the squares, of their sum and of the root.
    let rest = root.mul_add(-root, square.hi) + (square.lo + (a.lo + b.lo));
    let root = rest.mul_add(half_inverse_root(square.hi), root) * back;

    let infinity = V::splat(V::Elem::INFINITY);
    let result = V::select(x.is_nan() | y.is_nan(), x + y, root);
    V::select(x.eq(infinity) | y.eq(infinity), infinity, result)
}
