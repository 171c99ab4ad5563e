//! Owns sine, cosine, tangent and `sinc`, and the reduction of their arguments to an eighth of a turn: Cody
//! and Waite's with three words of π/2, and Payne and Hanek's for huge arguments.
//!
//! Sine, cosine and tangent are computed in the arithmetic of their elements, with a second word of the
//! reduced argument; huge arguments of `f32` are reduced in `f64`, in which `sinc` is computed. The constants
//! come from `coefficients/trig_special.py`, those of `f32` from `coefficients/single.py`.
//!
//! Source: Payne and Hanek, "Radian reduction for trigonometric functions", 1983.

use super::dw::{Dw, fast_two_difference, fast_two_sum, two_prod, two_sum};
use super::{Real, poly};
use crate::lane::{Arithmetic, Bits, Element, Lane, Select, rare};

/// π as a double word.
pub(super) const PI: (f64, f64) = (std::f64::consts::PI, 1.2246467991473532e-16);
/// 1/π as a double word.
pub(super) const FRAC_1_PI: (f64, f64) = (std::f64::consts::FRAC_1_PI, -1.9678676675182486e-17);

/// What sine, cosine and tangent of an element type are made of.
pub(crate) trait Trig: Element {
    /// π/2 as three words.
    const HALF_PI: [Self; 3];
    /// From here on the multiple of π/2 has too many bits for these.
    const FAR: f64;
    /// sin x = x + x³ · SIN(x²), where `x` is at most an eighth of a turn.
    const SIN: &'static [Self];
    /// cos x = 1 - x²/2 + x⁴ · COS(x²).
    const COS: &'static [Self];
    /// tan x = x + x³ · TAN(x²).
    const TAN: &'static [Self];

    /// The angle of so many radians from `FAR` on.
    fn far_angle<V: Lane<Elem = Self>>(x: V) -> Angle<V>;
}

impl Trig for f32 {
    const HALF_PI: [f32; 3] = [std::f32::consts::FRAC_PI_2, -4.371139e-8, -1.7151245e-15];
    const FAR: f64 = 65_536.0;
    const SIN: &'static [f32] = &[-0.16666655, 0.00833219, -0.00019518404];
    const COS: &'static [f32] = &[0.041666646, -0.0013887301, 2.4430668e-5];
    const TAN: &'static [f32] =
        &[0.3333335, 0.13332672, 0.054059435, 0.021282896, 0.010837199, 8.470915e-05, 0.0043798536];

    #[inline(always)]
    fn far_angle<V: Lane<Elem = f32>>(x: V) -> Angle<V> {
        let Angle { quarters, rest } = Angle::of(x.widen());
        let hi = V::narrow(rest.hi);
        let lo = V::narrow(rest.hi - hi.widen());
        let quarters = V::narrow(Lane::from_int(quarters & Bits::splat(3))).to_int();
        Angle { quarters, rest: Dw { hi, lo } }
    }
}

impl Trig for f64 {
    const HALF_PI: [f64; 3] = [std::f64::consts::FRAC_PI_2, 6.123233995736766e-17, -1.4973849048591698e-33];
    const FAR: f64 = 1_073_741_824.0;
    const SIN: &'static [f64] = &[
        -0.1666666666666663,
        0.008333333333322118,
        -0.00019841269829586603,
        2.755731361957913e-06,
        -2.5050747374751565e-08,
        1.589620261271233e-10,
    ];
    const COS: &'static [f64] = &[
        0.041666666666666595,
        -0.001388888888887305,
        2.4801587288845378e-05,
        -2.755731417720551e-07,
        2.087570053459464e-09,
        -1.135851975723724e-11,
    ];
    const TAN: &'static [f64] = &[
        0.33333333333333376,
        0.13333333333325792,
        0.053968253972656886,
        0.021869488406112296,
        0.008863237811514107,
        0.0035921020486191506,
        0.0014560371872967145,
        0.0005889065612397334,
        0.00024360077908635789,
        8.394477214994433e-05,
        6.651689031235948e-05,
        -2.473904379416557e-05,
        4.788648553569975e-05,
        -2.390148371392073e-05,
        9.715893222500695e-06,
    ];

    #[inline(always)]
    fn far_angle<V: Lane<Elem = f64>>(x: V) -> Angle<V> {
        Angle::of_huge(x)
    }
}

/// 2^200 keeps the last words of 2/π out of the subnormal range.
const HUGE_SCALE: f64 = 1.6069380442589903e60;
/// 2/π · 2^200, up to the last bit that the largest `f64` can multiply to an integer, and 100 bits more.
const FRAC_2_PI: [f64; 22] = [
    1.0230085319449648e+60,
    -6.324482842004551e+43,
    -3.4457367704158925e+27,
    258831565310.31793,
    -5.014535626267144e-06,
    9.117811236248668e-23,
    -5.037369145632017e-39,
    -1.2264945888709022e-55,
    4.1009408480626873e-72,
    -3.717045330974261e-89,
    -1.2673846491349446e-105,
    8.700169335005081e-122,
    2.0058290641750436e-138,
    -2.1577480916209722e-156,
    -6.799058443450071e-173,
    1.7633572788609285e-189,
    7.565765484993056e-207,
    -3.467277254380248e-223,
    -3.014658147279026e-240,
    -1.7606681983174652e-257,
    -9.331587619471956e-274,
    1.2780914982458864e-291,
];

/// An angle as a number of quarter turns, modulo 4 in its last bits, and a remainder of at most an eighth of
/// a turn.
#[derive(Clone, Copy)]
pub(crate) struct Angle<V: Lane> {
    quarters: V::Bits,
    rest: Dw<V>,
}

impl<V: Real> Angle<V> {
    /// The angle of so many radians, which are not negative.
    #[inline(always)]
    fn of(x: V) -> Self {
        rare!(x.ge(V::num(V::Elem::FAR)), Angle::near(x), V::Elem::far_angle(x))
    }

    /// The same for numbers below `FAR`.
    #[inline(always)]
    fn near(x: V) -> Self {
        let rounder = V::splat(V::Elem::ROUNDER);
        let rounded = x.mul_add(V::num(std::f64::consts::FRAC_2_PI), rounder);
        let (k, [first, second, third]) = (rounded - rounder, V::Elem::HALF_PI.map(V::splat));
        // Exact: the difference is a multiple of half the last place of 1, or of the last place of x, and
        // smaller than 1.
        let difference = k.mul_add(-first, x);
        // Exact, too: the last place of the product is below that.
        let product = two_prod(k, second);
        let Dw { hi, lo } = fast_two_difference(difference, product.hi);
        Angle { quarters: rounded.to_bits(), rest: Dw { hi, lo: k.mul_add(-third, lo - product.lo) } }
    }

    /// The angle `quarters` quarter turns further.
    #[inline(always)]
    fn further(self, quarters: u64) -> Self {
        Angle { quarters: self.quarters + Bits::splat(quarters), ..self }
    }

    /// Whether sine and cosine are exchanged.
    #[inline(always)]
    fn is_odd(self) -> V::Mask {
        V::from_bits(self.quarters << sign_place::<V>()).is_negative()
    }

    /// A float with the sign of the sine.
    #[inline(always)]
    fn sign(self) -> V {
        V::from_bits(self.quarters << (sign_place::<V>() - 1))
    }

    /// The sine, rounded.
    #[inline(always)]
    fn sine(self) -> V {
        let Dw { hi: rest, lo: low } = self.rest;
        let (one, square) = (V::num(1.0), rest * rest);
        let half = square * V::num(0.5);
        let whole = one - half;
        let sin = rest + low.mul_add(whole, rest * square * poly(square, V::Elem::SIN));
        let lost = low.mul_add(-rest, (one - whole) - half);
        let cos = whole + (square * square).mul_add(poly(square, V::Elem::COS), lost);
        V::select(self.is_odd(), cos, sin).mul_sign(self.sign())
    }

    /// The tangent, rounded.
    #[inline(always)]
    fn tangent(self) -> V {
        let Dw { hi: rest, lo: low } = self.rest;
        let (square, cube) = (rest * rest, rest * (rest * rest));
        // What the angle, its square and its cube miss, times the slopes near an eighth of a turn, where that
        // counts.
        let missed = rest.mul_add(rest.mul_add(rest, -square), rest.mul_add(square, -cube));
        let low = (low * V::num(1.5)).mul_add(square, missed.mul_add(V::num(0.5), low));
        let cubic = cube.mul_add(poly(square, V::Elem::TAN), low);
        let tan = fast_two_sum(rest, cubic);
        let quotient = -V::num(1.0) / tan.hi;
        let missing = quotient.mul_add(tan.hi, V::num(1.0));
        let far = quotient.mul_add(quotient.mul_add(tan.lo, missing), quotient);
        V::select(self.is_odd(), far, tan.hi)
    }
}

impl<W: Lane<Elem = f64>> Angle<W> {
    /// The angle `x >= FAR`, by multiplication with all the bits of 2/π that matter. Whole turns are dropped
    /// from every partial product before the sum, so that the sum is exact to 150 bits.
    #[inline(always)]
    fn of_huge(x: W) -> Self {
        let x = x * W::num(HUGE_SCALE.recip());
        let four = W::num(4.0);
        let zero = W::num(0.0);
        let (mut a, mut b, mut c) = (zero, zero, zero);
        for word in FRAC_2_PI {
            let product = two_prod(x, W::splat(word));
            for part in [product.hi, product.lo] {
                let turns = (part * W::num(0.25)).round_ties_even();
                let s = two_sum(a, turns.mul_add(-four, part));
                let t = two_sum(b, s.lo);
                (a, b, c) = (s.hi, t.hi, c + t.lo);
            }
        }
        let k = a.round_ties_even();
        let s = two_sum(a - k, b);
        let t = two_sum(s.lo, c);
        let s = fast_two_sum(s.hi, t.hi);
        let fraction = fast_two_sum(s.hi, s.lo + t.lo);
        Angle { quarters: k.to_int(), rest: fraction * Dw::splat((f64::HALF_PI[0], f64::HALF_PI[1])) }
    }

    /// The angle π·x for `x >= 0`.
    #[inline(always)]
    fn of_half_turns(x: W) -> Self {
        // From 2^53 on all numbers are whole turns.
        let x = x.min(W::num(9_007_199_254_740_992.0));
        let k = (x + x).round_ties_even();
        let rest = k.mul_add(W::num(-0.5), x);
        let turns = (k * W::num(0.25)).round_ties_even();
        Angle { quarters: turns.mul_add(W::num(-4.0), k).to_int(), rest: Dw::splat(PI) * rest }
    }

    /// The sine and the cosine of the remainder, as double words with an error below 2^-55.
    #[inline(always)]
    fn sin_cos_of_rest(self) -> (Dw<W>, Dw<W>) {
        let Dw { hi: r, lo } = self.rest;
        let z = two_prod(r, r);
        let half = W::num(0.5);
        let s = r * z.hi * poly(z.hi, f64::SIN);
        let sin = fast_two_sum(r, lo.mul_add(z.hi.mul_add(-half, W::num(1.0)), s));
        let c = fast_two_difference(W::num(1.0), z.hi * half);
        let low = (z.hi * z.hi).mul_add(poly(z.hi, f64::COS), -(z.lo.mul_add(half, r * lo)));
        (sin, fast_two_sum(c.hi, c.lo + low))
    }

    #[inline(always)]
    fn sin(self) -> Dw<W> {
        let (sin, cos) = self.sin_cos_of_rest();
        let size = Dw::select(self.is_odd(), cos, sin);
        let sign = self.sign();
        Dw { hi: size.hi.mul_sign(sign), lo: size.lo.mul_sign(sign) }
    }
}

/// The place of the sign in the bits of an element.
#[inline(always)]
fn sign_place<V: Lane>() -> usize {
    8 * size_of::<V::Elem>() - 1
}

impl<W: Lane> Select<W::Mask> for Angle<W> {
    #[inline(always)]
    fn select(mask: W::Mask, yes: Self, no: Self) -> Self {
        Angle {
            quarters: W::Bits::select(mask, yes.quarters, no.quarters),
            rest: Dw::select(mask, yes.rest, no.rest),
        }
    }
}

/// A function of the angle of so many radians, which are not negative. One result is selected, not three
/// parts of an angle.
#[inline(always)]
fn of_angle<V: Real>(x: V, function: impl Fn(Angle<V>) -> V) -> V {
    rare!(x.ge(V::num(V::Elem::FAR)), function(Angle::near(x)), function(V::Elem::far_angle(x)))
}

/// sin x.
#[inline(always)]
pub(crate) fn sin<V: Real>(x: V) -> V {
    of_angle(x.abs(), Angle::sine).mul_sign(x)
}

/// cos x.
#[inline(always)]
pub(crate) fn cos<V: Real>(x: V) -> V {
    of_angle(x.abs(), |angle| angle.further(1).sine())
}

/// sin x and cos x, of one reduced angle.
#[inline(always)]
pub(super) fn sin_cos<V: Real>(x: V) -> (V, V) {
    let angle = Angle::of(x.abs());
    (angle.sine().mul_sign(x), angle.further(1).sine())
}

/// tan x.
#[inline(always)]
pub(crate) fn tan<V: Real>(x: V) -> V {
    of_angle(x.abs(), Angle::tangent).mul_sign(x)
}

/// sin πx / πx, 1 at 0 and 0 at the other integers.
#[inline(always)]
pub(crate) fn sinc<V: Lane>(x: V) -> V {
    let x = x.widen().abs();
    let quotient = (Angle::of_half_turns(x).sin() * Dw::splat(FRAC_1_PI)).div(x.into());
    // Near 0 the quotient is 0/0; far from it all numbers are integers, and infinity times 0 is NaN.
    let far = Arithmetic::select(
        x.lt(Arithmetic::num(4_503_599_627_370_496.0)),
        quotient.hi,
        x * Arithmetic::num(0.0),
    );
    V::narrow(Arithmetic::select(x.lt(Arithmetic::num(f64::EPSILON)), Arithmetic::num(1.0), far))
}

/// sin πx and cos πx for `x >= 0` as double words, for the reflection formulas.
#[inline(always)]
pub(super) fn sin_cos_pi<W: Lane<Elem = f64>>(x: W) -> (Dw<W>, Dw<W>) {
    let angle = Angle::of_half_turns(x);
    (angle.sin(), angle.further(1).sin())
}
