//! Owns the inverse trigonometric functions of `f32` in its own arithmetic: a polynomial, and a second word
//! where a root, a quotient or a difference from π/2 is rounded.
//!
//! The constants come from `coefficients/single.py`.

use super::dw::fast_two_sum;
use super::root::half_inverse_root;
use super::short_poly;
use crate::lane::Lane;

/// asin x = x + x³ · ASIN(x²) for |x| <= 1/2.
const ASIN: [f32; 5] = [0.16666752, 0.074953094, 0.04546916, 0.024184646, 0.042158704];
/// atan x = x + x³ · ATAN(x²) for |x| <= 5/8.
const ATAN: [f32; 6] = [-0.3333327, 0.19996671, -0.14227828, 0.10637146, -0.07031933, 0.0275377];
/// π/2 in two words.
const HALF_PI: (f64, f64) = (1.5707963705062866, -4.371138828673793e-8);

/// Whether the arc is measured from the end of the domain, and asin |x| or half its distance from π/2 in two
/// words.
#[inline(always)]
fn arc<V: Lane>(size: V) -> (V::Mask, V, V) {
    let half = V::num(0.5);
    let halved = size.gt(half);
    let z = V::select(halved, size.mul_add(-half, half), size * size);
    let root = z.sqrt();
    // What the root misses.
    let missing = root.mul_add(-root, z) * half_inverse_root(z);
    let (root, missing) = (V::select(halved, root, size), V::select(halved, missing, V::num(0.0)));
    (halved, root, (root * z).mul_add(short_poly(z, &ASIN), missing))
}

/// `count · π/2 + x + low`, rounded once, where `x` is the smaller part.
#[inline(always)]
fn quarters_and<V: Lane>(count: V, x: V, low: V) -> V {
    let (quarter, quarter_low) = (V::num(HALF_PI.0), V::num(HALF_PI.1));
    let sum = fast_two_sum(count * quarter, x);
    sum.hi + (sum.lo + count.mul_add(quarter_low, low))
}

/// asin x, NaN outside [-1, 1].
#[inline(always)]
pub(super) fn asin<V: Lane>(x: V) -> V {
    let (halved, root, rest) = arc(x.abs());
    let minus_two = V::num(-2.0);
    let far = quarters_and(V::num(1.0), root * minus_two, rest * minus_two);
    V::select(halved, far, root + rest).mul_sign(x)
}

/// acos x, NaN outside [-1, 1].
#[inline(always)]
pub(super) fn acos<V: Lane>(x: V) -> V {
    let (halved, root, rest) = arc(x.abs());
    let (zero, one, two) = (V::num(0.0), V::num(1.0), V::num(2.0));
    let negative = x.is_negative();
    let count = V::select(halved, V::select(negative, two, zero), one);
    let factor = V::select(halved, -two, one);
    let factor = factor.mul_sign(-x);
    quarters_and(count, root * factor, rest * factor)
}

/// atan x.
#[inline(always)]
pub(super) fn atan<V: Lane>(x: V) -> V {
    // As an angle from 0, π/4 or π/2; NaN stays in the first.
    let (size, zero, half, one) = (x.abs(), V::num(0.0), V::num(0.5), V::num(1.0));
    let (diagonal, steep) = (size.gt(V::num(0.625)), size.gt(V::num(1.6)));
    let n = V::select(steep, -one, V::select(diagonal, size - one, size));
    let d = V::select(steep, size, V::select(diagonal, size + one, one));
    let count = V::select(steep, one, V::select(diagonal, half, zero));
    let q = n / d;
    let z = q * q;
    quarters_and(count, q, q * z * short_poly(z, &ATAN)).mul_sign(x)
}
