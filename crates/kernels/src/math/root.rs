//! Owns `rsqrt` and `hypot`.

use super::Real;
use super::dw::{fast_two_sum, two_prod};
use crate::lane::{Element, rare};

/// 1 / √x.
#[inline(always)]
pub(crate) fn rsqrt<V: Real>(x: V) -> V {
    let (y, corrected) = reciprocal_root(x);
    // Small arguments are scaled up first, or the residues would be subnormal.
    let up = V::num(V::Elem::SIGNIFICAND as f64 + 3.0);
    let small = V::splat(V::Elem::MIN_POSITIVE) * V::exp2_int(up);
    let is_ordinary = x.ge(small) & x.lt(V::splat(V::Elem::INFINITY));
    rare!(!is_ordinary, corrected, {
        let scale = V::exp2_int(up);
        let (_, corrected) = reciprocal_root(x * scale * scale);
        // At the ends of the domain the residues are NaN.
        V::select(x.gt(V::num(0.0)) & x.lt(small), corrected * scale, y)
    })
}

/// 1 / √x rounded twice, and corrected.
#[inline(always)]
fn reciprocal_root<V: Real>(x: V) -> (V, V) {
    let root = x.sqrt();
    let y = V::num(1.0) / root;
    // 1/√x = y - y · ((root · y - 1) + (x - root²) · y² / 2), which corrects both roundings.
    let division = root.mul_add(y, V::num(-1.0));
    let rest = root.mul_add(-root, x).mul_add(y * y * V::num(0.5), division);
    (y, rest.mul_add(-y, y))
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
    // The maximum only prevents 0 / 0.
    let root = (root + rest / V::splat(V::Elem::MIN_POSITIVE).max(root + root)) * back;

    let infinity = V::splat(V::Elem::INFINITY);
    let result = V::select(x.is_nan() | y.is_nan(), x + y, root);
    V::select(x.eq(infinity) | y.eq(infinity), infinity, result)
}
