//! Owns double-word arithmetic: a number as an unevaluated sum of two floats, with twice the precision.
//! Infinities and NaN are not handled: callers select around them.
//!
//! Source: Dekker, "A floating-point technique for extending the available precision", 1971; Joldes, Muller
//! and Popescu, "Tight and rigorous error bounds for basic building blocks of double-word arithmetic", 2017.
//! The error of a product comes from a fused multiply-add.

use std::ops::{Add, Mul, Neg, Sub};

use super::is_short;
use crate::lane::{Element, Lane, Select};

/// The sum `hi + lo`, with `hi` equal to that sum rounded.
#[derive(Clone, Copy)]
pub(super) struct Dw<V> {
    pub(super) hi: V,
    pub(super) lo: V,
}

/// `a + b` exactly.
#[inline(always)]
pub(super) fn two_sum<V: Lane>(a: V, b: V) -> Dw<V> {
    let hi = a + b;
    let b_part = hi - a;
    Dw { hi, lo: (a - (hi - b_part)) + (b - b_part) }
}

/// `a + b` exactly, if `|a| >= |b|` or `a` is zero or a multiple of `b`'s last place.
#[inline(always)]
pub(super) fn fast_two_sum<V: Lane>(a: V, b: V) -> Dw<V> {
    let hi = a + b;
    Dw { hi, lo: b - (hi - a) }
}

/// `a - b` exactly, under the condition of [`fast_two_sum`].
#[inline(always)]
pub(super) fn fast_two_difference<V: Lane>(a: V, b: V) -> Dw<V> {
    let hi = a - b;
    Dw { hi, lo: (a - hi) - b }
}

/// `a · b` exactly, unless the low part is subnormal.
#[inline(always)]
pub(super) fn two_prod<V: Lane>(a: V, b: V) -> Dw<V> {
    let hi = a * b;
    Dw { hi, lo: a.mul_add(b, -hi) }
}

/// `x · (hi + lo)` in `f32`, for numbers below 2^-70 in magnitude, rounded once even where that is subnormal.
#[inline(always)]
pub(super) fn tiny_product<V: Lane>(x: V, (hi, lo): (f64, f64)) -> V {
    // Times 2^100 nothing is subnormal; what will be must be a multiple of the unit.
    let (up, down) = (V::num(2f64.powi(100)), V::num(2f64.powi(-100)));
    let (least, unit, half) = (V::num(2f64.powi(-26)), V::num(2f64.powi(-49)), V::num(2f64.powi(-50)));
    let (size, hi, lo) = (x.abs() * up, V::num(hi), V::num(lo));
    let product = two_prod(size, hi);
    let low = size.mul_add(lo, product.lo);
    let multiple = (product.hi + least) - least;
    let rest = product.hi - multiple;
    // Halfway between two multiples the low part decides.
    let less = V::select(low.lt(-half - rest), -unit, V::num(0.0));
    let missing = V::select(low.gt(half - rest), unit, less);
    let y = V::select(product.hi.lt(least), multiple + missing, size.mul_add(hi, size * lo));
    (y * down).mul_sign(x)
}

impl<V: Lane> Dw<V> {
    /// A constant given as its two parts.
    #[inline(always)]
    pub(super) fn splat((hi, lo): (V::Elem, V::Elem)) -> Self {
        Dw { hi: V::splat(hi), lo: V::splat(lo) }
    }

    /// A constant given as a double word of `f64`, rounded to one of the lane's elements.
    #[inline(always)]
    pub(super) fn constant((hi, lo): (f64, f64)) -> Self {
        let first = if is_short::<V>() { f64::from(hi as f32) } else { hi };
        Dw { hi: V::num(first), lo: V::num(hi - first + lo) }
    }

    /// The nearest single float.
    #[inline(always)]
    pub(super) fn round(self) -> V {
        self.hi + self.lo
    }

    /// Multiplies by a power of two.
    #[inline(always)]
    pub(super) fn scale(self, factor: V) -> Self {
        Dw { hi: self.hi * factor, lo: self.lo * factor }
    }

    /// `self · 2^n` as [`Lane::ldexp`] does it.
    #[inline(always)]
    pub(super) fn ldexp(self, n: V) -> Self {
        Dw { hi: self.hi.ldexp(n), lo: self.lo.ldexp(n) }
    }

    /// The square root; 0 for 0.
    #[inline(always)]
    pub(super) fn sqrt(self) -> Self {
        let hi = self.hi.sqrt();
        let rest = hi.mul_add(-hi, self.hi) + self.lo;
        // The maximum only prevents 0 / 0.
        fast_two_sum(hi, rest / V::splat(V::Elem::MIN_POSITIVE).max(hi + hi))
    }

    /// `self / other`; the relative error is a few units in the last place of the low part.
    #[inline(always)]
    pub(super) fn div(self, other: Self) -> Self {
        let reciprocal = V::num(1.0) / other.hi;
        let hi = self.hi * reciprocal;
        let rest = hi.mul_add(-other.hi, self.hi) + hi.mul_add(-other.lo, self.lo);
        fast_two_sum(hi, rest * reciprocal)
    }

    /// `self / other` rounded to one float.
    #[inline(always)]
    pub(super) fn quotient(self, other: Self) -> V {
        let reciprocal = V::num(1.0) / other.hi;
        let hi = self.hi * reciprocal;
        let rest = hi.mul_add(-other.hi, self.hi) + hi.mul_add(-other.lo, self.lo);
        rest.mul_add(reciprocal, hi)
    }

    /// `yes` where the mask holds, `no` elsewhere.
    #[inline(always)]
    pub(super) fn select(mask: V::Mask, yes: Self, no: Self) -> Self {
        Dw { hi: V::select(mask, yes.hi, no.hi), lo: V::select(mask, yes.lo, no.lo) }
    }
}

impl<V: Lane> Select<V::Mask> for Dw<V> {
    #[inline(always)]
    fn select(mask: V::Mask, yes: Self, no: Self) -> Self {
        Dw::select(mask, yes, no)
    }
}

impl<V: Lane> From<V> for Dw<V> {
    #[inline(always)]
    fn from(x: V) -> Self {
        Dw { hi: x, lo: V::num(0.0) }
    }
}

impl<V: Lane> Add for Dw<V> {
    type Output = Self;

    /// Accurate also when the high parts cancel.
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        let s = two_sum(self.hi, other.hi);
        let t = two_sum(self.lo, other.lo);
        let s = fast_two_sum(s.hi, s.lo + t.hi);
        fast_two_sum(s.hi, s.lo + t.lo)
    }
}

impl<V: Lane> Sub for Dw<V> {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl<V: Lane> Neg for Dw<V> {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        Dw { hi: -self.hi, lo: -self.lo }
    }
}

impl<V: Lane> Mul for Dw<V> {
    type Output = Self;

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        let p = two_prod(self.hi, other.hi);
        let cross = self.lo.mul_add(other.hi, self.hi * other.lo);
        fast_two_sum(p.hi, p.lo + cross)
    }
}

/// `self + b` for a single float: cheaper than widening it.
impl<V: Lane> Add<V> for Dw<V> {
    type Output = Self;

    #[inline(always)]
    fn add(self, b: V) -> Self {
        let s = two_sum(self.hi, b);
        fast_two_sum(s.hi, s.lo + self.lo)
    }
}

/// `self · b` for a single float: cheaper than widening it.
impl<V: Lane> Mul<V> for Dw<V> {
    type Output = Self;

    #[inline(always)]
    fn mul(self, b: V) -> Self {
        let p = two_prod(self.hi, b);
        fast_two_sum(p.hi, self.lo.mul_add(b, p.lo))
    }
}
