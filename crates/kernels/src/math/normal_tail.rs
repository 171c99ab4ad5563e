//! Owns tails of the normal distribution: an exponential times a smooth ratio, for which `f32` has tables and
//! short polynomials, and `f64` a long polynomial. It does not know what is made of them.
//!
//! The tables come from `coefficients/gelu.py`, the polynomials from `coefficients/trig_special.py`.

use super::dw::{fast_two_sum, two_prod};
use super::erf_table::polynomial;
use super::power::Power;
use super::{Real, poly};
use crate::lane::{Element, Lane};

/// The ratios of an element type, and up to where its tails are normal numbers.
pub(crate) trait NormalTail: Element {
    /// The ratio of a tail and an exponential.
    type Ratio: 'static;
    /// That of Φ(-s) and exp(-s²/2).
    const MILLS: Self::Ratio;
    /// That of erfc s and exp(-s²).
    const COMPLEMENT: Self::Ratio;
    /// Up to the first number erfc is normal, and from the second on smaller than any float.
    const COMPLEMENT_RANGE: (f64, f64);
    /// Down to the first number x · Φ(x) is normal, and so are its low parts; below the second it is smaller
    /// than any float.
    const GELU_RANGE: (f64, f64);

    /// The tail that a ratio belongs to, from `s` on, which is not negative and no farther out than the
    /// ranges.
    fn tail<V: Real<Elem = Self>>(ratio: &Self::Ratio, s: V) -> Tail<V>;
}

/// A tail as 2^k times the sum of two words, of which the second is at most a fortieth of the first.
pub(crate) struct Tail<V: Lane> {
    pub(super) high: V,
    pub(super) low: V,
    power: Power<V>,
}

impl<V: Real> Tail<V> {
    /// 2^k, if that is normal.
    #[inline(always)]
    pub(super) fn unit(&self) -> V {
        self.power.words().2
    }

    /// A multiple of the tail, which may be subnormal.
    #[inline(always)]
    pub(super) fn times(&self, factor: V) -> V {
        let product = two_prod(self.high, factor);
        (product.hi + self.low.mul_add(factor, product.lo)).ldexp(self.power.exponent())
    }
}

/// A ratio near 16 numbers. A multiple of each, increased by 1, is in the middle of a quarter between two
/// powers of two: of 2, 4, 8 and 1.
pub(crate) struct Table {
    /// The factor of s² in the exponent.
    square: f32,
    multiple: f32,
    centres: [f32; 16],
    /// To 12 bits.
    values: [f32; 16],
    /// What is missing near each, in powers of the distance.
    rest: [[f32; 16]; 7],
}

#[rustfmt::skip]
impl NormalTail for f32 {
    type Ratio = Table;
    const MILLS: Table = Table {
        square: -0.5,
        multiple: 1.0,
        centres: [
            1.25, 1.75, 2.25, 2.75, 3.5, 4.5, 5.5, 6.5,
            8.0, 10.0, 12.0, 14.0, 0.125, 0.375, 0.625, 0.875,
        ],
        values: [
            0.23077393, 0.1852417, 0.15362549, 0.1307373, 0.10635376, 0.08480835, 0.07034302, 0.060012817,
            0.049118042, 0.039505005, 0.03302002, 0.02835083, 0.45373535, 0.37963867, 0.32336426, 0.27978516,
        ],
        rest: [
            [
                -1.3604467e-5, -1.0034539e-5, 2.6449143e-5, -1.25705865e-5, -8.606122e-6, -4.9575e-6, -3.235527e-7, 2.8579605e-6,
                4.5042225e-6, 1.6892188e-6, -1.048454e-6, 1.8304493e-6, 5.787048e-5, -3.4244007e-5, -8.089097e-6, -1.4585978e-5,
            ],
            [
                -0.11049189, -0.07478687, -0.05322542, -0.039449263, -0.026734248, -0.017327016, -0.012057464, -0.0088403905,
                -0.005961912, -0.0038753396, -0.0027146277, -0.002005033, -0.34221813, -0.25659063, -0.19684468, -0.15414304,
            ],
            [
                0.046322737, 0.027177325, 0.01694737, 0.011119633, 0.0063876524, 0.00341591, 0.0020133231, 0.0012765679,
                7.136304e-4, 3.7665013e-4, 2.2172071e-4, 1.4109912e-4, 0.20550798, 0.14169148, 0.10016413, 0.07244771,
            ],
            [
                -0.017528646, -0.009075115, -0.005031281, -0.0029566258, -0.0014589939, -6.517813e-4, -3.2805078e-4, -1.8090046e-4,
                -8.427683e-5, -3.6277095e-5, -1.799196e-5, -9.881816e-6, -0.10550871, -0.06781482, -0.04474543, -0.030249346,
            ],
            [
                0.0061025564, 0.0028237083, 0.0014067393, 7.47093e-4, 3.2013084e-4, 1.2069351e-4, 5.2242904e-5, 2.5180741e-5,
                9.827466e-6, 3.4637742e-6, 1.4508714e-6, 6.887909e-7, 0.048079375, 0.029063353, 0.018047677, 0.01149429,
            ],
            [
                -0.002002785, -8.3600765e-4, -3.747648e-4, -1.8275612e-4, -6.89643e-5, -2.1992802e-5, -8.2290435e-6, -3.4597201e-6,
                -1.1574962e-6, -3.328416e-7, -1.17974956e-7, -4.7954256e-8, -0.020006306, -0.011610465, -0.006805259, -0.0041010347,
            ],
            [
                6.1020954e-4, 2.3158493e-4, 9.4904266e-5, 4.2515607e-5, 1.40728025e-5, 3.8499766e-6, 1.2585368e-6, 4.645582e-7,
                1.3153988e-7, 3.123289e-8, 9.404339e-9, 3.3033223e-9, 0.0076395078, 0.00423039, 0.0023909158, 0.0013498628,
            ],
        ],
    };
    const COMPLEMENT: Table = Table {
        square: -1.0,
        multiple: 1.48,
        centres: [
            0.8445946, 1.1824324, 1.5202702, 1.8581082, 2.3648648, 3.0405405, 3.7162163, 4.391892,
            5.4054055, 6.756757, 8.1081085, 9.459459, 0.08445946, 0.2533784, 0.4222973, 0.5912162,
        ],
        values: [
            0.4741211, 0.3824463, 0.31835938, 0.27148438, 0.22131348, 0.17681885, 0.14685059, 0.12536621,
            0.10266113, 0.082611084, 0.06906128, 0.059310913, 0.91137695, 0.76782227, 0.65771484, 0.57177734,
        ],
        rest: [
            [
                -2.9810039e-5, -1.0257293e-5, -5.9615384e-5, -4.704245e-5, 1.5837928e-5, 3.8384974e-6, -1.902279e-5, -4.18392e-6,
                1.2486258e-5, 2.9976734e-6, 4.5176917e-6, 4.1532157e-6, 2.5138741e-5, 2.0098212e-5, 9.13034e-5, -2.2915347e-5,
            ],
            [
                -0.3275493, -0.22396965, -0.16057587, -0.11965932, -0.08155136, -0.053106107, -0.037063465, -0.027226212,
                -0.018394077, -0.011972655, -0.008393213, -0.0062022554, -0.9744261, -0.73926985, -0.5727996, -0.4523182,
            ],
            [
                0.19744492, 0.117607065, 0.07418104, 0.04909737, 0.028471407, 0.015351425, 0.009095717, 0.0057874504,
                0.0032461996, 0.0017177709, 0.001012715, 0.0006450836, 0.8291026, 0.58052737, 0.4159144, 0.30433658,
            ],
            [
                -0.1071883, -0.056603353, -0.03186735, -0.018954078, -0.009479309, -0.004286141, -0.002174445, -0.0012055367,
                -0.0005646151, -0.00024404809, -0.00012133636, -6.6741624e-5, -0.60294145, -0.3947772, -0.26478735, -0.18159668,
            ],
            [
                0.053454854, 0.025337078, 0.0128673855, 0.006939516, 0.0030258086, 0.0011593079, 0.000507318, 0.00024635365,
                9.687197e-5, 3.4347067e-5, 1.4438503e-5, 6.8696627e-6, 0.3890968, 0.24024463, 0.15206091, 0.09848948,
            ],
            [
                -0.025067022, -0.010749168, -0.0049345484, -0.0024316688, -0.0009455826, -0.00030812356, -0.00011705106, -4.9902872e-5,
                -1.6770033e-5, -4.859718e-6, -1.7242639e-6, -7.079568e-7, -0.22764903, -0.13464119, -0.07880783, -0.049011905,
            ],
            [
                0.010909565, 0.00428526, 0.0017964623, 0.0008102898, 0.00027986398, 7.869752e-5, 2.6050206e-5, 9.834153e-6,
                2.7977317e-6, 6.7142605e-7, 2.0259735e-7, 7.2078585e-8, 0.12262218, 0.069447376, 0.038240835, 0.022920674,
            ],
        ],
    };
    const COMPLEMENT_RANGE: (f64, f64) = (9.1, 10.1);
    const GELU_RANGE: (f64, f64) = (-12.5, -14.5);

    #[inline(always)]
    fn tail<V: Real<Elem = f32>>(ratio: &Table, s: V) -> Tail<V> {
        let place = s.mul_add(V::splat(ratio.multiple), V::num(1.0)).to_bits() >> (f32::SIGNIFICAND - 2);
        let value = V::lookup(&ratio.values, place);
        let rest = polynomial(&ratio.rest, place, s - V::lookup(&ratio.centres, place));
        let power = Power::of_product(s * V::splat(ratio.square), s);
        let (high, low, _) = power.words();
        let product = two_prod(high, value);
        let low = high.mul_add(rest, low.mul_add(value + rest, product.lo));
        Tail { high: product.hi, low, power }
    }
}

/// A ratio as a polynomial in (s - centre)/(s + centre), divided by s + divisor.
pub(crate) struct Quotient {
    /// The factor of s² in the exponent.
    square: f64,
    /// How fast the tail falls at `s`, as a multiple of the exponential.
    fall: f64,
    centre: f64,
    divisor: f64,
    /// The first coefficient in two words, and the second.
    leading: [f64; 3],
    rest: &'static [f64],
}

impl NormalTail for f64 {
    type Ratio = Quotient;
    const MILLS: Quotient = Quotient {
        square: -0.5,
        fall: 0.3989422804014327,
        centre: 5.5,
        divisor: 1.1875,
        leading: [0.47041676629304274, 6.455585433554913e-18, -0.11320750702489832],
        rest: &[
            0.05699527448896406,
            -0.013170978642647501,
            -0.01144338175830856,
            0.018721404782061593,
            -0.015591318521942444,
            0.009215440030070549,
            -0.003973426613742549,
            0.0011216672501173966,
            -9.159795048024803e-05,
            -8.381074107931053e-05,
            3.7919455250284296e-05,
            -9.692886622749464e-07,
            -4.479137530622869e-06,
            1.0766361411437293e-06,
            4.176503408322616e-07,
            -2.1255013416277992e-07,
            -3.747905285775473e-08,
            3.3656639275403944e-08,
            4.441894293562266e-09,
            -4.057607839138685e-09,
            -6.744136578678417e-10,
            1.4402073163961573e-10,
        ],
    };
    const COMPLEMENT: Quotient = Quotient {
        square: -1.0,
        fall: std::f64::consts::FRAC_2_SQRT_PI,
        centre: 4.25,
        divisor: 0.875,
        leading: [0.662894533278188, 5.0186440997596864e-18, -0.16145260156828317],
        rest: &[
            0.09189081244820368,
            -0.0338597363632054,
            -0.003572089762427908,
            0.020080249244391987,
            -0.021569664031767993,
            0.015814065819045174,
            -0.008902246820928087,
            0.003862579594235309,
            -0.0011966001198803473,
            0.0001838589443816976,
            4.4460503492021544e-05,
            -3.5820287680145974e-05,
            6.830997231671171e-06,
            2.1824456567276547e-06,
            -1.404718391409982e-06,
            4.2215557615989464e-08,
            1.7869253442409637e-07,
            -3.275283004296643e-08,
            -2.0825964758856545e-08,
            4.490992536079266e-09,
            2.1419729595139972e-09,
        ],
    };
    const COMPLEMENT_RANGE: (f64, f64) = (26.5, 27.3);
    const GELU_RANGE: (f64, f64) = (-37.4, -39.5);

    #[inline(always)]
    fn tail<V: Real<Elem = f64>>(ratio: &Quotient, s: V) -> Tail<V> {
        // The tail is that of a number near `s`, whose sums with the constants are exact, and what it rises
        // by on the way.
        let sum = s + V::num(ratio.centre);
        let near = sum - V::num(ratio.centre);
        let t = (sum - V::num(2.0 * ratio.centre)) / sum;
        let divisor = near + V::num(ratio.divisor);
        let inverse = V::num(1.0) / divisor;
        // The last steps of the polynomial, and what the last but one of them misses.
        let [first, first_low, second] = ratio.leading.map(V::num);
        let steep = poly(t, ratio.rest);
        let slope = t.mul_add(steep, second);
        let missed = t.mul_add(steep, second - slope);
        let smooth = fast_two_sum(first, t.mul_add(slope, t.mul_add(missed, first_low)));
        let power = Power::of_product(near * V::num(ratio.square), near);
        let (high, low, _) = power.words();
        let exponential = high + low;
        let product = two_prod(high, smooth.hi);
        let low = high.mul_add(smooth.lo, low.mul_add(smooth.hi, product.lo));
        let quotient = product.hi * inverse;
        let missed = quotient.mul_add(-divisor, product.hi);
        let rise = (near - s) * V::num(ratio.fall);
        let low = exponential.mul_add(rise, (missed + low) * inverse);
        Tail { high: quotient, low, power }
    }
}
