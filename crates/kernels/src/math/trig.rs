//! Owns sine, cosine, tangent and `sinc`, and the reduction of their arguments to an eighth of a turn: Cody
//! and Waite's with three words of π/2, and Payne and Hanek's for huge arguments.
//!
//! Sine, cosine and tangent of an `f32` are computed in its arithmetic, with a second word of the reduced
//! argument; all others in `f64`, for huge `f32` with shorter polynomials, and rounded once. The constants
//! come from `coefficients/trig_special.py`, those of `f32` from `coefficients/single.py`.
//!
//! Source: Payne and Hanek, "Radian reduction for trigonometric functions", 1983.

use super::dw::{Dw, fast_two_sum, two_prod, two_sum};
use super::{is_short, poly, short_poly};
use crate::lane::{Arithmetic, Bits, Element, Lane, Select, rare};

/// π/2 as three words.
const HALF_PI: [f64; 3] = [std::f64::consts::FRAC_PI_2, 6.123233995736766e-17, -1.4973849048591698e-33];
/// π as a double word.
pub(super) const PI: (f64, f64) = (std::f64::consts::PI, 1.2246467991473532e-16);
/// 1/π as a double word.
pub(super) const FRAC_1_PI: (f64, f64) = (std::f64::consts::FRAC_1_PI, -1.9678676675182486e-17);

/// sin x = x + x³ · SIN(x²).
const SIN: [f64; 6] = [
    -0.1666666666666663,
    0.008333333333322118,
    -0.00019841269829586603,
    2.755731361957913e-06,
    -2.5050747374751565e-08,
    1.589620261271233e-10,
];
/// cos x = 1 - x²/2 + x⁴ · COS(x²).
const COS: [f64; 6] = [
    0.041666666666666595,
    -0.001388888888887305,
    2.4801587288845378e-05,
    -2.755731417720551e-07,
    2.087570053459464e-09,
    -1.135851975723724e-11,
];
/// The same, with the accuracy of `f32`.
const SIN_SHORT: [f64; 4] =
    [-0.16666666640819316, 0.008333329305489145, -0.00019839312032028078, 2.7181166525424557e-06];
const COS_SHORT: [f64; 4] =
    [0.04166666661945838, -0.0013888883496847072, 2.4799459259473154e-05, -2.720567864963899e-07];

/// The same for the arithmetic of `f32`.
const SIN_SHORTEST: [f32; 3] = [-0.16666655, 0.00833219, -0.00019518404];
const COS_SHORTEST: [f32; 3] = [0.041666646, -0.0013887301, 2.4430668e-5];
/// tan x = x + x³ · TAN(x²).
const TAN_SHORTEST: [f32; 7] =
    [0.3333335, 0.13332672, 0.054059435, 0.021282896, 0.010837199, 8.470915e-05, 0.0043798536];
/// π/2 as three words of `f32`.
const SHORT_HALF_PI: [f64; 3] = [1.5707963705062866, -4.371138828673793e-8, -1.7151245100058819e-15];
/// From here on arguments of `f32` are reduced in `f64`.
const SHORT_TO: f64 = 65_536.0;
/// The place of the sign of an `f32`.
const SHORT_SIGN: usize = 31;

/// From here on the multiple of π/2 has too many bits for three words.
const HUGE: f64 = 1_073_741_824.0;
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
struct Angle<W: Lane> {
    quarters: W::Bits,
    rest: Dw<W>,
}

impl<W: Lane<Elem = f64>> Angle<W> {
    /// The angle `x >= 0` in radians. If it is `short`, an `f32`, the remainder needs no low part.
    #[inline(always)]
    fn of(x: W, short: bool) -> Self {
        let k = (x * W::num(std::f64::consts::FRAC_2_PI)).round_ties_even();
        // Exact: the difference is a multiple of 2^-52, or of the last place of x, and smaller than 1.
        let difference = k.mul_add(-W::splat(HALF_PI[0]), x);
        let rest = if short {
            // No f32 below HUGE comes nearer to a multiple of π/2 than 2^-28; the third word would add 2^-79.
            k.mul_add(-W::splat(HALF_PI[1]), difference).into()
        } else {
            let product = two_prod(k, W::splat(HALF_PI[1]));
            let s = two_sum(difference, -product.hi);
            fast_two_sum(s.hi, k.mul_add(-W::splat(HALF_PI[2]), s.lo - product.lo))
        };
        let near = Angle { quarters: k.to_int(), rest };
        let huge = x.ge(W::splat(HUGE));
        rare!(huge, near, Self::of_huge(x))
    }

    /// The angle `x >= HUGE`, by multiplication with all the bits of 2/π that matter. Whole turns are dropped
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
        Angle { quarters: k.to_int(), rest: fraction * Dw::splat((HALF_PI[0], HALF_PI[1])) }
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

    /// Whether sine and cosine are exchanged.
    #[inline(always)]
    fn is_odd(self) -> W::Mask {
        (self.quarters & W::Bits::splat(1)).eq(W::Bits::splat(1))
    }

    /// A float with the sign of the sine; one quarter further it is the cosine's.
    #[inline(always)]
    fn sign(quarters: W::Bits) -> W {
        W::from_bits(quarters << 62)
    }

    /// The sine and the cosine of the remainder, as double words with an error below 2^-55.
    #[inline(always)]
    fn sin_cos_of_rest(self) -> (Dw<W>, Dw<W>) {
        let Dw { hi: r, lo } = self.rest;
        let z = two_prod(r, r);
        let half = W::num(0.5);
        let s = r * z.hi * poly(z.hi, &SIN);
        let sin = fast_two_sum(r, lo.mul_add(z.hi.mul_add(-half, W::num(1.0)), s));
        let c = fast_two_sum(W::num(1.0), -(z.hi * half));
        let low = (z.hi * z.hi).mul_add(poly(z.hi, &COS), -(z.lo.mul_add(half, r * lo)));
        (sin, fast_two_sum(c.hi, c.lo + low))
    }

    #[inline(always)]
    fn sin(self) -> Dw<W> {
        let (sin, cos) = self.sin_cos_of_rest();
        let size = Dw::select(self.is_odd(), cos, sin);
        let sign = Self::sign(self.quarters);
        Dw { hi: size.hi.mul_sign(sign), lo: size.lo.mul_sign(sign) }
    }
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

/// The sine and the cosine of a remainder, with the accuracy of `f32`.
#[inline(always)]
fn short_sin_cos<W: Lane<Elem = f64>>(rest: W) -> (W, W) {
    let z = rest * rest;
    let sin = (rest * z).mul_add(poly(z, &SIN_SHORT), rest);
    (sin, (z * z).mul_add(poly(z, &COS_SHORT), z.mul_add(W::num(-0.5), W::num(1.0))))
}

/// The sine of the angle, with the accuracy of `f64` or, if `short`, of `f32`.
#[inline(always)]
fn sine<W: Lane<Elem = f64>>(angle: Angle<W>, short: bool) -> W {
    let Dw { hi: r, lo } = angle.rest;
    let (sin, cos) = if short {
        short_sin_cos(r)
    } else {
        let z = r * r;
        let half_z = z * W::num(0.5);
        let one = W::num(1.0);
        let sin = r + lo.mul_add(one - half_z, r * z * poly(z, &SIN));
        let c = fast_two_sum(one, -half_z);
        (sin, c.hi + (c.lo + (z * z).mul_add(poly(z, &COS), -(r * lo))))
    };
    W::select(angle.is_odd(), cos, sin).mul_sign(Angle::<W>::sign(angle.quarters))
}

/// The angle `x` from 0 to `SHORT_TO`, an `f32`, as quarter turns in the last bits, and a remainder.
#[inline(always)]
fn short_angle<V: Lane>(x: V) -> (V::Bits, Dw<V>) {
    let rounder = V::splat(V::Elem::ROUNDER);
    let rounded = x.mul_add(V::num(std::f64::consts::FRAC_2_PI), rounder);
    let k = rounded - rounder;
    // Exact: the difference is a multiple of 2^-24, or of the last place of x, as no product's last place is.
    let difference = k.mul_add(-V::num(SHORT_HALF_PI[0]), x);
    let product = two_prod(k, V::num(SHORT_HALF_PI[1]));
    let Dw { hi, lo } = fast_two_sum(difference, -product.hi);
    (rounded.to_bits(), Dw { hi, lo: k.mul_add(-V::num(SHORT_HALF_PI[2]), lo - product.lo) })
}

/// Whether a number of quarter turns is odd.
#[inline(always)]
fn short_is_odd<V: Lane>(quarters: V::Bits) -> V::Mask {
    V::from_bits(quarters << SHORT_SIGN).is_negative()
}

/// The sine of `x >= 0`, an `f32`, `further` quarter turns on.
#[inline(always)]
fn short_sine<V: Lane>(x: V, further: u64) -> V {
    let (quarters, Dw { hi: rest, lo: low }) = short_angle(x);
    let (one, square) = (V::num(1.0), rest * rest);
    let half = square * V::num(0.5);
    let whole = one - half;
    let sin = rest + low.mul_add(whole, rest * square * short_poly(square, &SIN_SHORTEST));
    let lost = low.mul_add(-rest, (one - whole) - half);
    let cos = whole + (square * square).mul_add(short_poly(square, &COS_SHORTEST), lost);
    let quarters = quarters + V::Bits::splat(further);
    let sign = V::from_bits(quarters << (SHORT_SIGN - 1));
    let near = V::select(short_is_odd::<V>(quarters), cos, sin).mul_sign(sign);
    rare!(x.ge(V::num(SHORT_TO)), near, {
        let Angle { quarters, rest } = Angle::of(x.widen(), true);
        V::narrow(sine(Angle { quarters: quarters + Bits::splat(further), rest }, true))
    })
}

/// The tangent of `x >= 0`, an `f32`.
#[inline(always)]
fn short_tangent<V: Lane>(x: V) -> V {
    let (quarters, Dw { hi: rest, lo: low }) = short_angle(x);
    let square = rest * rest;
    // What the angle and its square miss, times the slopes near an eighth of a turn, where that counts.
    let low = (low * V::num(1.5)).mul_add(square, low);
    let low = (rest * V::num(0.6)).mul_add(rest.mul_add(rest, -square), low);
    let cubic = (rest * square).mul_add(short_poly(square, &TAN_SHORTEST), low);
    let tan = fast_two_sum(rest, cubic);
    let quotient = -V::num(1.0) / tan.hi;
    let missing = quotient.mul_add(tan.hi, V::num(1.0));
    let far = quotient.mul_add(quotient.mul_add(tan.lo, missing), quotient);
    let near = V::select(short_is_odd::<V>(quarters), far, tan.hi);
    rare!(x.ge(V::num(SHORT_TO)), near, {
        let angle = Angle::of(x.widen(), true);
        let (sin, cos) = short_sin_cos(angle.rest.hi);
        let odd = angle.is_odd();
        V::narrow(Arithmetic::select(odd, -cos, sin) / Arithmetic::select(odd, sin, cos))
    })
}

/// sin x.
#[inline(always)]
pub(crate) fn sin<V: Lane>(x: V) -> V {
    if is_short::<V>() {
        return short_sine(x.abs(), 0).mul_sign(x);
    }
    let wide = x.widen();
    V::narrow(sine(Angle::of(wide.abs(), false), false).mul_sign(wide))
}

/// cos x.
#[inline(always)]
pub(crate) fn cos<V: Lane>(x: V) -> V {
    if is_short::<V>() {
        return short_sine(x.abs(), 1);
    }
    let Angle { quarters, rest } = Angle::of(x.widen().abs(), false);
    V::narrow(sine(Angle { quarters: quarters + Bits::splat(1), rest }, false))
}

/// sin x and cos x, of one reduced angle.
#[inline(always)]
pub(super) fn sin_cos<W: Lane<Elem = f64>>(x: W) -> (W, W) {
    let angle = Angle::of(x.abs(), false);
    let further = Angle { quarters: angle.quarters + Bits::splat(1), ..angle };
    (sine(angle, false).mul_sign(x), sine(further, false))
}

/// tan x.
#[inline(always)]
pub(crate) fn tan<V: Lane>(x: V) -> V {
    if is_short::<V>() {
        return short_tangent(x.abs()).mul_sign(x);
    }
    let wide = x.widen();
    let angle = Angle::of(wide.abs(), false);
    let odd = angle.is_odd();
    let (sin, cos) = angle.sin_cos_of_rest();
    let quotient = Dw::select(odd, -cos, sin).div(Dw::select(odd, sin, cos)).hi;
    V::narrow(quotient.mul_sign(wide))
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
    (angle.sin(), Angle { quarters: angle.quarters + Bits::splat(1), ..angle }.sin())
}
