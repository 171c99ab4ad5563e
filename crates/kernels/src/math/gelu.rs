//! Owns the two forms of the Gaussian error linear unit.
//!
//! Both are `x` times a probability, whose relative error is small even in the negative tail. The constants
//! of the table come from `coefficients/gelu.py`.

use super::dw::{Dw, fast_two_sum, two_prod, two_sum};
use super::erf::complement;
use super::erf_table::polynomial;
use super::exp::Exponential;
use super::power::Power;
use super::{Real, clamp, is_short, minimum};
use crate::lane::{Element, Lane, rare};

/// √½, √(8/π) and 0.044715 · √(8/π) as double words.
const SQRT_HALF: (f64, f64) = (std::f64::consts::FRAC_1_SQRT_2, -4.833646656726457e-17);
const LINEAR: (f64, f64) = (1.5957691216057308, -9.96930880911092e-17);
const CUBIC: (f64, f64) = (0.07135481627260025, -6.175149918155315e-19);

/// NaN at -∞ as in PyTorch, whose formula multiplies it by 0; `y` elsewhere.
#[inline(always)]
fn with_end<V: Lane>(x: V, y: V) -> V {
    V::select(x.eq(-V::splat(V::Elem::INFINITY)), V::splat(V::Elem::NAN), y)
}

/// From here on the functions are `x`.
const LARGE: f64 = 39.0;

/// The function whose body depends on the element type.
pub(crate) trait Gelu: Element {
    fn gelu<V: Real<Elem = Self>>(x: V) -> V;
}

/// x · Φ(x), Φ being the distribution function of the normal distribution.
#[inline(always)]
pub(crate) fn gelu<V: Real>(x: V) -> V {
    V::Elem::gelu(x)
}

impl Gelu for f64 {
    #[inline(always)]
    fn gelu<V: Real<Elem = f64>>(x: V) -> V {
        with_end(x, V::narrow(normal_product(x.widen())))
    }
}

/// Numbers of which four have one exponent if they are increased by 1: the exponents of 2, 4, 8 and 1.
#[rustfmt::skip]
const CENTRES: [f32; 16] = [
    1.25, 1.75, 2.25, 2.75, 3.5, 4.5, 5.5, 6.5,
    8.0, 10.0, 12.0, 14.0, 0.125, 0.375, 0.625, 0.875,
];
/// exp(s²/2) · Φ(-s) at these numbers, to 12 bits.
#[rustfmt::skip]
const MILLS: [f32; 16] = [
    0.23077393, 0.1852417, 0.15362549, 0.1307373, 0.10635376, 0.08480835, 0.07034302, 0.060012817,
    0.049118042, 0.039505005, 0.03302002, 0.02835083, 0.45373535, 0.37963867, 0.32336426, 0.27978516,
];
/// What is missing near each, in powers of the distance.
#[rustfmt::skip]
const MILLS_REST: [[f32; 16]; 7] = [
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
];

impl Gelu for f32 {
    #[inline(always)]
    fn gelu<V: Real<Elem = f32>>(x: V) -> V {
        // x · Φ(x) = max(x, 0) - s · Φ(-s) for s = |x|, and Φ(-s) = exp(-s²/2) · ratio. Above 13 it is x.
        let s = (-x).max(V::num(13.0).min(x));
        let place = (s + V::num(1.0)).to_bits() >> (f32::SIGNIFICAND - 2);
        let ratio = V::lookup(&MILLS, place);
        let rest = polynomial(&MILLS_REST, place, s - V::lookup(&CENTRES, place));
        let exponent = two_prod(s * V::num(-0.5), s);
        let power = Power::of(exponent.hi, Some(exponent.lo));
        let (high, low, unit) = power.words();
        let product = two_prod(high, ratio);
        let product_rest = high.mul_add(rest, low.mul_add(ratio + rest, product.lo));
        let scaled = s * unit;
        let less = two_prod(product.hi, scaled);
        let difference = fast_two_sum(V::num(0.0).max(x), -less.hi);
        let y = difference.hi + (difference.lo - product_rest.mul_add(scaled, less.lo));
        let y = minimum::GELU.or(x, y);
        // Below, products have subnormal low parts, and then are subnormal; from -14.5 on the result is -0.
        let is_ordinary = x.ge(V::num(-12.5)) & x.lt(V::num(f64::INFINITY));
        rare!(!is_ordinary, y.copysign(x), {
            let less = two_prod(product.hi, s);
            let small = -(less.hi + product_rest.mul_add(s, less.lo)).ldexp(power.exponent());
            let y = V::select(x.ge(V::num(-14.5)), small, V::num(-0.0));
            with_end(x, V::select(x.lt(V::num(0.0)), y, x))
        })
    }
}

#[inline(always)]
fn normal_product<W: Lane<Elem = f64>>(x: W) -> W {
    let t = clamp(x, -LARGE, LARGE);
    let half = W::num(0.5);
    let (probability, n) = complement(-(Dw::splat(SQRT_HALF) * t), two_prod(t, t).scale(half));
    let y = (probability.scale(half) * t.abs()).hi.ldexp(n).mul_sign(x);
    W::select(x.gt(W::num(LARGE)), x, y)
}

/// The form with a hyperbolic tangent: x / (1 + exp(-√(8/π) · (x + 0.044715 x³))).
#[inline(always)]
pub(crate) fn gelu_tanh<V: Real>(x: V) -> V {
    // Below, the result may be subnormal; above, 1 absorbs the exponential.
    let (bottom, top) = (if is_short::<V>() { -9.5 } else { -20.5 }, 8.0);
    let size = -clamp(x, bottom, top);
    // The exponent in two words.
    let square = two_prod(size, size);
    let (cubic, linear) = (Dw::<V>::constant(CUBIC), Dw::constant(LINEAR));
    let product = two_prod(square.hi, cubic.hi);
    let low = square.hi.mul_add(cubic.lo, square.lo.mul_add(cubic.hi, product.lo));
    let factor = two_sum(linear.hi, product.hi);
    let exponent = two_prod(factor.hi, size);
    let low = (factor.lo + (low + linear.lo)).mul_add(size, exponent.lo);
    let y = Power::of(exponent.hi, Some(low)).divide_by_one_plus(x);
    let y = if is_short::<V>() { minimum::GELU_TANH.or(x, y) } else { y };
    let is_ordinary = x.ge(V::num(bottom)) & x.lt(V::splat(V::Elem::INFINITY));
    rare!(!is_ordinary, y, with_end(x, V::select(x.gt(V::num(0.0)), x, power_product(x))))
}

/// The same for very negative numbers, whose exponential absorbs the 1.
#[inline(always)]
fn power_product<V: Real>(x: V) -> V {
    let bottom = if is_short::<V>() { -12.0 } else { -22.5 };
    let size = clamp(x, bottom, 0.0).abs();
    let exponent = (two_prod(size, size) * Dw::constant(CUBIC) + Dw::constant(LINEAR)) * size;
    let e = Exponential::of(-exponent);
    -(e.significand() * size).hi.ldexp(e.n)
}
