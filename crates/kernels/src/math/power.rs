//! Owns e^x by a table: 2^k · 2^(j/16) · (1 + p), where k and j are integers and |p| is below a fortieth,
//! which leaves a short polynomial; and what the logistic functions and logarithms of sums need of it.
//!
//! The constants come from `coefficients/power.py`.

use super::Real;
use super::dw::{Dw, fast_two_sum, two_prod};
use super::exp::ExpConstants;
use super::log_table::log_from_1_to_2;
use crate::lane::{Bits, Element, Lane};

/// The constants of an element type.
pub(crate) trait PowerConstants: Element {
    /// 16 / ln 2.
    const STEPS: Self;
    /// ln 2 / 16 in two parts, of which the first has an exact product with the number of steps.
    const STEP: (Self, Self);
    /// 2^(j/16) in two parts.
    const POWERS: ([Self; 16], [Self; 16]);
    /// (e^r - 1 - r) / r² for |r| <= ln 2 / 32.
    const REST: &'static [Self];
    /// The same with an error that is negligible beside those of double words.
    const LONG_REST: &'static [Self];
    /// Of these numbers the logistic function is a normal number, and e^-x absorbed by 1 at the second.
    const LOGISTIC_RANGE: (f64, f64);
}

/// A power of two times `high + low`.
#[derive(Clone, Copy)]
pub(super) struct Power<V: Lane> {
    /// 16 · k + j in the last bits.
    steps: V::Bits,
    /// A number of the table.
    high: V,
    /// At most a fortieth of it.
    low: V,
}

impl<V: Real> Power<V> {
    /// e^(x + low). Unless only `scaled_far` is asked for, 2^k and its reciprocal are normal
    /// numbers.
    #[inline(always)]
    pub(super) fn of(x: V, low: Option<V>) -> Self {
        let rounder = V::splat(V::Elem::ROUNDER);
        let steps = x.mul_add(V::splat(V::Elem::STEPS), rounder);
        let n = steps - rounder;
        let rest = n.mul_add(-V::splat(V::Elem::STEP.0), x);
        Self::near(steps.to_bits(), n.mul_add(-V::splat(V::Elem::STEP.1), with_low(rest, low)))
    }

    /// e^(a · b), likewise.
    #[inline(always)]
    pub(super) fn of_product(a: V, b: V) -> Self {
        let product = two_prod(a, b);
        Self::of(product.hi, Some(product.lo))
    }

    /// e^(x + low) as this and a third part, in the same range.
    #[inline(always)]
    pub(super) fn in_three(x: V, low: V) -> (Self, V) {
        let rounder = V::splat(V::Elem::ROUNDER);
        let steps = x.mul_add(V::splat(V::Elem::STEPS), rounder);
        let n = steps - rounder;
        let rest = n.mul_add(-V::splat(V::Elem::STEP.0), x);
        let low = n.mul_add(-V::splat(V::Elem::STEP.1), low);
        Self::near_in_three(steps.to_bits(), fast_two_sum(rest, low))
    }

    /// 2^x, in the same range.
    #[inline(always)]
    pub(super) fn of_base_2(x: V) -> Self {
        let rounder = V::splat(V::Elem::ROUNDER);
        let steps = x.mul_add(V::num(16.0), rounder);
        let rest = (steps - rounder).mul_add(V::num(-1.0 / 16.0), x);
        Self::near(steps.to_bits(), rest * V::num(std::f64::consts::LN_2))
    }

    /// 2^(x + low), likewise.
    #[inline(always)]
    pub(super) fn in_three_of_base_2(x: V, low: V) -> (Self, V) {
        let rounder = V::splat(V::Elem::ROUNDER);
        let steps = x.mul_add(V::num(16.0), rounder);
        let rest = (steps - rounder).mul_add(V::num(-1.0 / 16.0), x);
        let (ln2, ln2_low) = V::Elem::LN2;
        let product = two_prod(rest, V::splat(ln2));
        let low = low.mul_add(V::splat(ln2), rest.mul_add(V::splat(ln2_low), product.lo));
        Self::near_in_three(steps.to_bits(), fast_two_sum(product.hi, low))
    }

    #[inline(always)]
    fn near_in_three(steps: V::Bits, rest: Dw<V>) -> (Self, V) {
        let curved = (rest.hi * rest.hi).mul_add(super::poly(rest.hi, V::Elem::LONG_REST), rest.lo);
        let high = V::lookup(&V::Elem::POWERS.0, steps);
        let low = two_prod(high, rest.hi);
        let lowest = high.mul_add(curved, low.lo + V::lookup(&V::Elem::POWERS.1, steps));
        (Power { steps, high, low: low.hi }, lowest)
    }

    #[inline(always)]
    fn near(steps: V::Bits, rest: V) -> Self {
        let p = (rest * rest).mul_add(super::poly(rest, V::Elem::REST), rest);
        let high = V::lookup(&V::Elem::POWERS.0, steps);
        let low = high.mul_add(p, V::lookup(&V::Elem::POWERS.1, steps));
        Power { steps, high, low }
    }

    /// k in the place of an exponent.
    #[inline(always)]
    fn exponent_bits(self) -> V::Bits {
        (self.steps & !V::Bits::splat(15)) << (V::Elem::SIGNIFICAND - 4)
    }

    /// The whole number, if that is normal.
    #[inline(always)]
    pub(super) fn scaled(self) -> V {
        V::from_bits((self.high + self.low).to_bits() + self.exponent_bits())
    }

    /// The whole number; where that is subnormal, it is rounded once more.
    #[inline(always)]
    pub(super) fn scaled_far(self) -> V {
        (self.high + self.low).ldexp(self.exponent())
    }

    /// k, which may be any exponent.
    #[inline(always)]
    pub(super) fn exponent(self) -> V {
        ((V::from_bits(self.steps) - V::splat(V::Elem::ROUNDER)) * V::num(1.0 / 16.0)).floor()
    }

    /// A number of the table, the rest, which is at most a fortieth of it, and 2^k.
    #[inline(always)]
    pub(super) fn words(self) -> (V, V, V) {
        (self.high, self.low, V::from_bits(self.exponent_bits() + V::num(1.0).to_bits()))
    }

    /// The logarithm of one more than this, which is at most 1.
    #[inline(always)]
    pub(super) fn log1p(self) -> Dw<V> {
        let (high, low, unit) = self.words();
        let sum = fast_two_sum(V::num(1.0), high * unit);
        log_from_1_to_2(fast_two_sum(sum.hi, low.mul_add(unit, sum.lo)))
    }

    /// The same with a third part.
    #[inline(always)]
    pub(super) fn log1p_with(self, lowest: V) -> Dw<V> {
        let (high, low, unit) = self.words();
        let first = fast_two_sum(V::num(1.0), high * unit);
        let sum = fast_two_sum(first.hi, low * unit);
        log_from_1_to_2(fast_two_sum(sum.hi, lowest.mul_add(unit, first.lo) + sum.lo))
    }

    /// `x` divided by one more than this.
    #[inline(always)]
    pub(super) fn divide_by_one_plus(self, x: V) -> V {
        // x / (1 + 2^k · m) = 2^-k · x / (2^-k + m), whose divisor is made two words first: the residue is
        // then exact, and the quotient rises and falls with the divisor.
        let unit = V::from_bits(V::num(1.0).to_bits() - self.exponent_bits());
        let near = fast_two_sum(self.high, self.low);
        let sum = fast_two_sum(unit.max(near.hi), unit.min(near.hi));
        let reciprocal = V::num(1.0) / sum.hi;
        let y = x * reciprocal;
        // Of this sign, a -0 stays.
        let excess = y.mul_add(sum.lo + near.lo, y.mul_add(sum.hi, -x));
        (-excess).mul_add(reciprocal, y) * unit
    }
}

#[inline(always)]
fn with_low<V: Lane>(x: V, low: Option<V>) -> V {
    match low {
        Some(low) => x + low,
        None => x,
    }
}

impl PowerConstants for f32 {
    const STEPS: f32 = 23.08312;
    const STEP: (f32, f32) = (0.043319702, 1.9966365e-6);
    #[rustfmt::skip]
    const POWERS: ([f32; 16], [f32; 16]) = (
        [
            1.0, 1.0442737, 1.0905077, 1.1387886, 1.1892071, 1.2418578, 1.2968396, 1.3542556,
            std::f32::consts::SQRT_2, 1.4768262, 1.5422108, 1.6104903, 1.6817929, 1.7562522, 1.8340081, 1.9152066,
        ],
        [
            0.0, 4.83347e-8, -1.307754e-8, 5.3862223e-8, 3.7976353e-8, 4.496838e-8, -4.0189995e-8, -1.0123349e-8,
            2.4203235e-8, -4.500899e-8, 8.070905e-9, 9.836217e-9, -2.4755327e-8, -9.23577e-9, -1.1239278e-8, 9.845328e-9,
        ],
    );
    const LOGISTIC_RANGE: (f64, f64) = (-87.0, 60.0);
    const REST: &'static [f32] = &[0.5000162, 0.16667053];
    const LONG_REST: &'static [f32] = &[0.5, 0.16667007, 0.041667316];
}

impl PowerConstants for f64 {
    const STEPS: f64 = 23.083120654223414;
    const STEP: (f64, f64) = (0.04332169878489367, 1.0291218489310676e-13);
    #[rustfmt::skip]
    const POWERS: ([f64; 16], [f64; 16]) = (
        [
            1.0, 1.0442737824274138, 1.0905077326652577, 1.1387886347566916,
            1.189207115002721, 1.241857812073484, 1.2968395546510096, 1.3542555469368927,
            std::f64::consts::SQRT_2, 1.4768261459394993, 1.5422108254079407, 1.6104903319492543,
            1.681792830507429, 1.7562521603732995, 1.8340080864093424, 1.9152065613971474,
        ],
        [
            0.0, 8.551889705537965e-17, -3.046782079812471e-17, 8.912812676025408e-17,
            3.982015231465646e-17, 4.658027591836937e-17, 2.5382502794888315e-17, 7.70094837980299e-17,
            -9.667293313452913e-17, -3.483994556892796e-17, 7.949834809697621e-17, 2.4707192569797888e-17,
            8.199010020581497e-17, 2.960140695448873e-17, 3.283107224245627e-17, -1.0619946056195963e-16,
        ],
    );
    const LOGISTIC_RANGE: (f64, f64) = (-708.0, 60.0);
    const REST: &'static [f64] = &[
        0.5000000000000004,
        0.1666666666666668,
        0.04166666666073276,
        0.008333333332202403,
        0.001388911050081118,
        0.00019841581491667927,
    ];
    const LONG_REST: &'static [f64] = Self::REST;
}
