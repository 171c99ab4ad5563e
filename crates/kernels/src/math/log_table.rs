//! Owns logarithms by tables. A significand is multiplied by a number r so that the product is near 1, which
//! leaves a short polynomial. One table has the numbers r, others the logarithms of 1 / r.
//!
//! The constants come from `coefficients/log.py`.

use std::f64::consts::{LN_2, LOG2_E, LOG10_E};

use super::dw::{Dw, fast_two_sum, two_sum};
use super::{is_short, poly};
use crate::lane::{Element, Lane};

/// Approximate reciprocals of the significands that share their first four bits after the point: exactly 1
/// and ½ at the ends, and so short elsewhere that a product with a significand, less 1, is exact.
#[rustfmt::skip]
const RECIPROCALS: [f64; 16] = [
    1.0, 0.90625, 0.875, 0.8125,
    0.78125, 0.75, 0.71875, 0.6875,
    0.65625, 0.625, 0.609375, 0.578125,
    0.5625, 0.546875, 0.53125, 0.5,
];

/// A base of logarithms. Each number is in two parts, the first a multiple of 2^-42 (2^-16 in `f32`), so that
/// sums of first parts are exact.
pub(crate) struct Base<T> {
    log_2: (T, T),
    /// Of 1 / r, for each r of `RECIPROCALS`.
    of_places: ([T; 16], [T; 16]),
    /// The factor of a natural logarithm.
    per_natural: Option<(T, T)>,
}

/// e.
#[rustfmt::skip]
const NATURAL: Base<f64> = Base {
    log_2: (0.6931471805598903, 5.497923018708371e-14),
    of_places: (
        [
            0.0, 0.09844007281321865, 0.13353139262449076, 0.20763936477828793,
            0.2468600779316148, 0.28768207245184385, 0.33024168687052224, 0.3746934494413381,
            0.4212134650763346, 0.4700036292456389, 0.4953214372301318, 0.5479651707155426,
            0.5753641449034603, 0.603535021870357, 0.6325225587434034, 0.6931471805598903,
        ],
        [
            0.0, 3.3871241029241416e-14, 3.1859736349078334e-14, -4.3425422595242564e-14,
            -8.899851356560444e-14, -6.292357389008195e-14, 5.4612144489920215e-14, 7.260466149925637e-14,
            -3.1063837541003616e-14, 9.667719603235566e-14, -1.0634899648532451e-13, -9.521443188786736e-14,
            1.0152652766306816e-13, -9.883674306179806e-14, 1.0711543657844876e-13, 5.497923018708371e-14,
        ],
    ),
    per_natural: None,
};

/// 2.
#[rustfmt::skip]
const BINARY: Base<f64> = Base {
    log_2: (1.0, 0.0),
    of_places: (
        [
            0.0, 0.14201900487250896, 0.1926450779424158, 0.29956028185893047,
            0.356143810225376, 0.41503749927892386, 0.47643804394306244, 0.5405683813626183,
            0.6076825772213397, 0.6780719051125743, 0.7145977811378543, 0.7905466343711396,
            0.8300749985576203, 0.8707169830549901, 0.9125371587497284, 1.0,
        ],
        [
            0.0, -8.107893466726174e-14, -1.9917399279874596e-14, -2.262651135603261e-14,
            -1.0069648492950886e-13, -8.00418555854124e-14, -7.531150579247643e-14, 8.443284155858175e-14,
            -9.995925486528699e-14, 6.33385952568616e-14, -1.02668366941445e-13, -8.937120568078598e-14,
            6.728996427240727e-14, 4.3421195976986995e-14, -6.781363655020842e-14, 0.0,
        ],
    ),
    per_natural: Some((LOG2_E, 2.0355273740931033e-17)),
};

/// 10.
#[rustfmt::skip]
const DECIMAL: Base<f64> = Base {
    log_2: (0.3010299956640665, -8.532344317057107e-14),
    of_places: (
        [
            0.0, 0.04275198042091688, 0.05799194697760868, 0.09017663034910584,
            0.10720996964778351, 0.12493873660832833, 0.14342214230237005, 0.16272729749766768,
            0.182930683585937, 0.20411998265581133, 0.21511536695743416, 0.2379782499169778,
            0.24987747321665665, 0.2621119296336474, 0.27470105694169433, 0.3010299956640665,
        ],
        [
            0.0, 3.300906980985312e-14, 7.807781277774597e-14, -1.78235453177227e-14,
            8.485692413569872e-14, -2.8373705641129622e-14, -5.695092715108574e-14, 3.206228782072406e-14,
            4.9704107136616343e-14, 1.1345357820417986e-13, -4.619725095885232e-14, -8.562758469916686e-14,
            -5.6747411282259244e-14, -3.584228446130624e-14, -6.22851074368937e-14, -8.532344317057107e-14,
        ],
    ),
    per_natural: Some((LOG10_E, 1.098319650216765e-17)),
};

/// The table of natural logarithms, rounded once.
const NATURAL_WHOLE: [f64; 16] = {
    let (mut whole, small) = NATURAL.of_places;
    let mut i = 0;
    while i < 16 {
        whole[i] += small[i];
        i += 1;
    }
    whole
};

/// log(1 + f) / f, to 2^-39.
const SHORT: [f64; 7] = [
    1.0000000000013407,
    -0.4999999999581508,
    0.33333331901014257,
    -0.2500000606055051,
    0.20002365077339732,
    -0.16680291317839413,
    0.13272327304603163,
];

/// The tables of an element type.
pub(crate) trait Tables: Element {
    const RECIPROCALS: [Self; 16];
    const NATURAL: Base<Self>;
    const BINARY: Base<Self>;
    const DECIMAL: Base<Self>;
    /// (log(1 + f) - f) / f² for the `f` that `RECIPROCALS` leaves, to 2^-28 in `f32` and 2^-61 in `f64`.
    const NEAR_1: &'static [Self];
}

impl Tables for f64 {
    const RECIPROCALS: [f64; 16] = RECIPROCALS;
    const NATURAL: Base<f64> = NATURAL;
    const BINARY: Base<f64> = BINARY;
    const DECIMAL: Base<f64> = DECIMAL;
    const NEAR_1: &'static [f64] = &[
        -0.49999999999999994,
        0.33333333333333104,
        -0.25000000000054257,
        0.20000000001537602,
        -0.16666666540472763,
        0.14285710742987465,
        -0.12500096528962082,
        0.11114394479322035,
        -0.09988501126964953,
        0.08058596996215031,
    ];
}

impl Tables for f32 {
    const RECIPROCALS: [f32; 16] = shortened(RECIPROCALS);
    const NATURAL: Base<f32> = NATURAL.shortened();
    const BINARY: Base<f32> = BINARY.shortened();
    const DECIMAL: Base<f32> = DECIMAL.shortened();
    const NEAR_1: &'static [f32] = &[-0.4999999, 0.33334517, -0.25024498, 0.1908786];
}

/// Each rounded to `f32`.
const fn shortened(numbers: [f64; 16]) -> [f32; 16] {
    let mut short = [0.0; 16];
    let mut i = 0;
    while i < 16 {
        short[i] = numbers[i] as f32;
        i += 1;
    }
    short
}

/// A number in two parts of `f64`, as two parts of `f32`.
const fn divided((hi, lo): (f64, f64)) -> (f32, f32) {
    // Adding it rounds to a multiple of 2^-16.
    const ROUNDER: f64 = 1.5 * (1u64 << 36) as f64;
    let first = (hi + ROUNDER) - ROUNDER;
    (first as f32, (hi - first + lo) as f32)
}

impl Base<f64> {
    const fn shortened(self) -> Base<f32> {
        let mut of_places = ([0.0; 16], [0.0; 16]);
        let mut i = 0;
        while i < 16 {
            (of_places.0[i], of_places.1[i]) = divided((self.of_places.0[i], self.of_places.1[i]));
            i += 1;
        }
        let per_natural = match self.per_natural {
            Some((hi, lo)) => Some((hi as f32, (hi - hi as f32 as f64 + lo) as f32)),
            None => None,
        };
        Base { log_2: divided(self.log_2), of_places, per_natural }
    }
}

/// Splits a positive finite number into 2^e · (1 + f) / r: e, the index of r in the table, and f.
#[inline(always)]
fn reduced<V: Lane<Elem: Tables>>(x: V) -> (V, V::Bits, V) {
    let (e, m) = x.binade();
    let place = m.to_bits() >> (V::Elem::SIGNIFICAND - 4);
    (e, place, m.mul_add(V::lookup(&V::Elem::RECIPROCALS, place), V::num(-1.0)))
}

/// The natural logarithm of 2^e · (1 + f) / r, as an unevaluated sum. The curvature of the logarithm of 1 + f
/// is at most a thirtieth of f, and so is the weight of its rounding errors.
#[inline(always)]
fn sum<V: Lane<Elem: Tables>>((e, place, f): (V, V::Bits, V)) -> Dw<V> {
    let base = V::Elem::NATURAL;
    let large = e.mul_add(V::splat(base.log_2.0), V::lookup(&base.of_places.0, place));
    let small = e.mul_add(V::splat(base.log_2.1), V::lookup(&base.of_places.1, place));
    let sum = fast_two_sum(large, f);
    Dw { hi: sum.hi, lo: sum.lo + (f * f).mul_add(poly(f, V::Elem::NEAR_1), small) }
}

/// The logarithm of a positive finite number.
#[inline(always)]
pub(super) fn log<V: Lane<Elem: Tables>>(x: V, base: &Base<V::Elem>) -> V {
    rounded(reduced(x), None, base)
}

/// The natural logarithm of a positive finite number, as an unevaluated sum.
#[inline(always)]
pub(super) fn log_in_two<V: Lane<Elem: Tables>>(x: V) -> Dw<V> {
    sum(reduced(x))
}

/// The logarithm of 2^e · (1 + f + low) / r, rounded, where `low` is far below the last place of `f`. Single
/// words suffice: beside a logarithm of the tables, f is small, and its rounding error smaller.
#[inline(always)]
fn rounded<V: Lane<Elem: Tables>>((e, place, f): (V, V::Bits, V), low: Option<V>, base: &Base<V::Elem>) -> V {
    let large = e.mul_add(V::splat(base.log_2.0), V::lookup(&base.of_places.0, place));
    let small = e.mul_add(V::splat(base.log_2.1), V::lookup(&base.of_places.1, place));
    let small = low.map_or(small, |low| small + low);
    let (square, curvature) = (f * f, poly(f, V::Elem::NEAR_1));
    large
        + match base.per_natural {
            Some((hi, lo)) => {
                let small = (square * curvature).mul_add(V::splat(hi), f.mul_add(V::splat(lo), small));
                f.mul_add(V::splat(hi), small)
            }
            None => f + square.mul_add(curvature, small),
        }
}

/// log(2^n · x) for a positive finite double word.
#[inline(always)]
pub(super) fn log_of_sum<V: Lane<Elem: Tables>>(x: Dw<V>, n: V) -> Dw<V> {
    let (e, place, f) = reduced(x.hi);
    let low = x.lo.ldexp(-e) * V::lookup(&V::Elem::RECIPROCALS, place);
    let y = sum((e + n, place, f));
    let s = fast_two_sum(y.hi, low);
    // log(1 + f + low) exceeds log(1 + f) by low · (1 - f + f² - low/2).
    let t = low.mul_add(V::num(0.5), f);
    Dw { hi: s.hi, lo: s.lo + t.mul_add(-f, t).mul_add(-low, y.lo) }
}

/// log x for a double word from 1 to 2, with a relative error a sixteenth of the last place of its high part.
#[inline(always)]
pub(super) fn log_from_1_to_2<V: Lane<Elem: Tables>>(x: Dw<V>) -> Dw<V> {
    let below_2 = V::num(2.0) - V::splat(V::Elem::EPSILON);
    let place = x.hi.min(below_2).to_bits() >> (V::Elem::SIGNIFICAND - 4);
    let reciprocal = V::lookup(&V::Elem::RECIPROCALS, place);
    let f = x.hi.mul_add(reciprocal, V::num(-1.0));
    let (large, small) = &V::Elem::NATURAL.of_places;
    let sum = fast_two_sum(V::lookup(large, place), f);
    // log(1 + f + low) exceeds log(1 + f) by about low · (1 - f).
    let small = x.lo.mul_add(reciprocal.mul_add(-f, reciprocal), V::lookup(small, place));
    Dw { hi: sum.hi, lo: sum.lo + (f * f).mul_add(poly(f, V::Elem::NEAR_1), small) }
}

/// log(1 + x) for finite `x` above -1.
#[inline(always)]
pub(super) fn log1p<V: Lane<Elem: Tables>>(x: V) -> V {
    let sum = two_sum(V::num(1.0), x);
    if !is_short::<V>() {
        return log_of_sum(sum, V::num(0.0)).round();
    }
    let (e, place, f) = reduced(sum.hi);
    // The exponent of a reciprocal is at least -126.
    let low = sum.lo.scale(-V::num(126.0).min(e)) * V::lookup(&V::Elem::RECIPROCALS, place);
    rounded((e, place, f), Some(low.mul_add(-f, low)), &V::Elem::NATURAL)
}

/// The natural logarithm of a positive finite number, to 2^-39.
#[inline(always)]
pub(super) fn short_log<W: Lane<Elem = f64>>(x: W) -> W {
    let (e, place, f) = reduced(x);
    f.mul_add(poly(f, &SHORT), e.mul_add(W::num(LN_2), W::lookup(&NATURAL_WHOLE, place)))
}
