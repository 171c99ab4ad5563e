//! Owns `lgamma`, the logarithm of the gamma function, `digamma`, its derivative, and `trigamma`, the
//! derivative of that.
//!
//! Each is a polynomial on [1, 2], where the zero of each function that has one is a factor of its own; below
//! 1 the recurrence leads there. From 2 on, `lgamma` from 3 on, it is the beginning of its asymptotic series
//! and a polynomial in 1/x². Negative arguments are reflected. Sums are double words. Near the zeros at
//! negative arguments the error is bounded relative to the terms that cancel there, not to the result. The
//! constants come from `coefficients/trig_special.py`.

use super::dw::{Dw, two_sum};
use super::horner::Polynomial;
use super::log_table::{log_in_two, log_of_sum};
use super::trig::{FRAC_1_PI, sin_cos_pi};
use super::{is_short, poly, short};
use crate::lane::{Lane, rare};

/// log Γ(t) / ((t - 1) (t - 2)) as a polynomial in t - 3/2, for t from 1 to 2.
const LGAMMA: Polynomial<3, 20> = Polynomial {
    leading: [
        (0.4831289505409809, 1.6702261445149956e-17),
        (-0.14595989591430608, -5.2119207961594435e-18),
        (0.06291140107456496, 4.633292934478938e-19),
    ],
    rest: [
        -0.03130848750100945,
        0.01679709863118332,
        -0.00942562244862974,
        0.00544645784481333,
        -0.0032120740695842425,
        0.0019229161302789977,
        -0.0011644146749387855,
        0.0007115224828415625,
        -0.00043799189112340406,
        0.0002712739102349678,
        -0.00016892755372480063,
        0.00010565331559187091,
        -6.609084657343929e-05,
        4.1593915867626015e-05,
        -2.736238805532497e-05,
        1.7465757745001205e-05,
        -8.068945563170739e-06,
        4.922062353823574e-06,
        -7.978949343617251e-06,
        5.255989190592577e-06,
    ],
};
/// (log Γ(x) - (x - ½) log x + x - ½ log 2π) · x as a polynomial in 1/x², for x from 3.
const STIRLING: [f64; 12] = [
    0.08333333333333301,
    -0.0027777777776075707,
    0.000793650760692819,
    -0.0005952347554006513,
    0.0008415449771062628,
    -0.0019091245143336784,
    0.006170102203228007,
    -0.024526463932894926,
    0.09904032151678388,
    -0.3330400118692211,
    0.7594998224261353,
    -0.8401092933302882,
];
/// ½ log 2π - ½.
const STIRLING_CONSTANT: (f64, f64) = (0.4189385332046727, 1.6728209650585413e-17);

/// digamma(t) / (t - DIGAMMA_ROOT) as a polynomial in t - 3/2, for t from 1 to 2.
const DIGAMMA: Polynomial<3, 19> = Polynomial {
    leading: [
        (0.951055876031833, -5.425785855556169e-17),
        (-0.4236274212814606, 1.2873855004450366e-17),
        (0.24054248424077396, -8.994132113309768e-18),
    ],
    rest: [
        -0.1484049230538902,
        0.09498872445497708,
        -0.06192213327468678,
        0.040760833810576186,
        -0.02697579669155744,
        0.0179072524875846,
        -0.011908219413801924,
        0.007926943925355836,
        -0.005279946319556522,
        0.00351901297435592,
        -0.00234542034641697,
        0.0015565946777125951,
        -0.0010368440096525766,
        0.0007234529313461732,
        -0.0004847254931580275,
        0.00022699497127563005,
        -0.00014698447818140014,
        0.00025987569825847883,
        -0.00017655908685310111,
    ],
};
/// (log x - 1/(2x) - digamma(x)) · x² as a polynomial in 1/x², for x from 2.
const DIGAMMA_SERIES: [f64; 18] = [
    0.08333333333333176,
    -0.008333333332478137,
    0.003968253796850929,
    -0.004166648562516982,
    0.007574573446484112,
    -0.021040052468917846,
    0.0816248846682616,
    -0.4008541413217356,
    2.2068404970304796,
    -12.078190885477369,
    59.88852028881709,
    -252.36201358278723,
    862.906099233043,
    -2299.0438593531794,
    4558.363373574207,
    -6297.437021945814,
    5392.531919223749,
    -2150.5554317552474,
];

/// trigamma(t) as a polynomial in t - 3/2, for t from 1 to 2.
const TRIGAMMA: Polynomial<5, 20> = Polynomial {
    leading: [
        (0.9348022005446793, -1.9981055629217412e-17),
        (-0.8287966442343199, -4.17860026788414e-17),
        (0.7045455170012188, -4.667228484177122e-17),
        (-0.5790416377779066, -4.8305674308489786e-17),
        (0.46306452510146406, 6.505116741618328e-18),
    ],
    rest: [
        -0.36214936502077444,
        0.27808081333056633,
        -0.2103098732765089,
        0.15705320188041433,
        -0.11604071827291323,
        0.08496879082403061,
        -0.06174051851349697,
        0.0445666280778966,
        -0.031984321091901066,
        0.022842016843178044,
        -0.01625943628469223,
        0.011513723475559087,
        -0.008020569394919214,
        0.005654841181495959,
        -0.004387034763616348,
        0.0030419937183628026,
        -0.001070427031744839,
        0.0007901743645543976,
        -0.0020845462991061483,
        0.00141813852013662,
    ],
};
/// (trigamma(x) - 1/x - 1/(2x²)) · x³ as a polynomial in 1/x², for x from 2.
const TRIGAMMA_SERIES: [f64; 19] = [
    0.1666666666666621,
    -0.033333333330026554,
    0.023809522963242985,
    -0.03333322200755386,
    0.07574865695256865,
    -0.2526326893498104,
    1.1479818358858118,
    -6.54005479849811,
    41.94565352607139,
    -270.7040476616799,
    1606.5337701433416,
    -8239.23864711753,
    34986.668074158115,
    -118907.13712329169,
    312696.3286389596,
    -609916.0444546397,
    827806.247623315,
    -696226.9299908215,
    272801.6570416929,
];
/// 1/√f64::MAX: the square of the reciprocal of a smaller number overflows.
const SQUARE_OVERFLOWS_BELOW: f64 = 7.458340731200207e-155;

/// Below, `lgamma` and `digamma` equal their pole at 0.
const POLE_TO: f64 = 8.673617379884035e-19;

/// log |Γ(x)|; infinite at 0, the negative integers and both infinities.
#[inline(always)]
pub(crate) fn lgamma<V: Lane>(x: V) -> V {
    if !is_short::<V>() {
        return V::narrow(log_gamma(x.widen()));
    }
    let is_ordinary = x.gt(V::num(0.0)) & x.is_finite();
    rare!(!is_ordinary, V::narrow(short::lgamma(x.widen())), V::narrow(log_gamma(x.widen())))
}

#[inline(always)]
fn log_gamma<W: Lane<Elem = f64>>(x: W) -> W {
    let (zero, one) = (W::num(0.0), W::num(1.0));
    let size = x.abs();
    let below_1 = size.lt(one);
    let series = size.ge(W::num(3.0));

    // log Γ(x) is log Γ(x + 1) - log x below 1, and log Γ(x - 1) + log(x - 1) from 2 on.
    let down = W::select(below_1, zero, W::select(size.lt(W::num(2.0)), one, W::num(2.0)));
    let u = size - down;
    let centre = LGAMMA.at(two_sum(u, W::num(-0.5))) * (two_sum(u, -one) * u);
    let l = log_in_two(W::select(series | below_1, size, one.max(size - one)));
    let near = centre + Dw::select(below_1, -l, l);

    let reciprocal = one / size;
    let rest = reciprocal * poly(reciprocal * reciprocal, &STIRLING);
    let far = (l + -one) * two_sum(size, W::num(-0.5)) + (Dw::splat(STIRLING_CONSTANT) + rest);
    let positive = Dw::select(series, far, near);

    let infinity = W::num(f64::INFINITY);
    // The largest argument whose result is finite is near 2.56e305; the intermediates are finite far beyond
    // it.
    let result = W::select(size.lt(W::num(2.6e305)), positive.hi, infinity);
    let negative = x.lt(zero);
    let result = rare!(negative, result, {
        // Γ(-x) Γ(x) = -π / (x sin πx); below 1 the factor 1 / x of Γ(x) cancels that of the right side.
        let (sin, _) = sin_cos_pi(size);
        let sin = Dw { hi: sin.hi.abs(), lo: sin.lo.mul_sign(sin.hi) } * Dw::splat(FRAC_1_PI);
        let argument = Dw::select(below_1, sin, sin * size);
        let argument = Dw::select(size.lt(W::num(POLE_TO)), size.into(), argument);
        let reflected = -(log_of_sum(argument, zero) + Dw::select(below_1, centre, positive)).hi;
        let reflected = W::select(sin.hi.eq(zero) & size.ge(one), infinity, reflected);
        W::select(size.lt(infinity), reflected, infinity)
    });
    let result = W::select(size.eq(zero), infinity, result);
    W::select(x.is_nan(), x, result)
}

/// The derivative of log Γ(x); infinite at 0 with the sign opposite to that of the zero, NaN at the negative
/// integers.
#[inline(always)]
pub(crate) fn digamma<V: Lane>(x: V) -> V {
    if !is_short::<V>() {
        return V::narrow(psi(x.widen()));
    }
    let is_ordinary = x.gt(V::num(0.0)) & x.is_finite();
    rare!(!is_ordinary, V::narrow(short::digamma(x.widen())), V::narrow(psi(x.widen())))
}

#[inline(always)]
fn psi<W: Lane<Elem = f64>>(x: W) -> W {
    let (zero, one) = (W::num(0.0), W::num(1.0));
    let size = x.abs();
    let below_1 = size.lt(one);
    let reciprocal = one / size;
    let reciprocal = Dw { hi: reciprocal, lo: reciprocal * size.mul_add(-reciprocal, one) };

    let u = W::select(below_1, size, size - one);
    let centre = DIGAMMA.at(two_sum(u, W::num(-0.5))) * (two_sum(u, one) - Dw::splat(short::DIGAMMA_ROOT));
    let near = Dw::select(below_1, centre - reciprocal, centre);

    let square = reciprocal.hi * reciprocal.hi;
    let rest = reciprocal.scale(W::num(-0.5)) + -(square * poly(square, &DIGAMMA_SERIES));
    let far = log_in_two(size) + rest;
    let positive = Dw::select(size.ge(W::num(2.0)), far, near);

    let infinity = W::num(f64::INFINITY);
    let result = W::select(size.lt(infinity), positive.hi, size);
    let negative = x.lt(zero);
    let result = rare!(negative, result, {
        // digamma(-x) = digamma(1 + x) + π cot πx.
        let (sin, cos) = sin_cos_pi(size);
        let cotangent = cos.div(sin * Dw::splat(FRAC_1_PI));
        let next = Dw::select(below_1, centre, positive + reciprocal);
        let reflected = (next + cotangent).hi;
        W::select(sin.hi.eq(zero), W::num(f64::NAN), reflected)
    });
    W::select(size.lt(W::num(POLE_TO)), -(one / x), result)
}

/// The derivative of digamma; infinite at 0 and the negative integers, where it has its poles.
#[inline(always)]
pub(crate) fn trigamma<V: Lane>(x: V) -> V {
    V::narrow(psi_1(x.widen()))
}

#[inline(always)]
fn psi_1<W: Lane<Elem = f64>>(x: W) -> W {
    let (zero, one) = (W::num(0.0), W::num(1.0));
    let infinity = W::num(f64::INFINITY);
    let size = x.abs();
    let below_1 = size.lt(one);

    let u = W::select(below_1, size, size - one);
    let centre = TRIGAMMA.at(two_sum(u, W::num(-0.5)));
    let reciprocal = Dw::from(one).div(size.into());
    let squared = reciprocal * reciprocal;
    let near = Dw::select(below_1, centre + squared, centre);

    let rest = squared.hi * reciprocal.hi * poly(squared.hi, &TRIGAMMA_SERIES);
    let far = reciprocal + squared.scale(W::num(0.5)) + rest;
    let positive = Dw::select(size.ge(W::num(2.0)), far, near);

    // Of the largest numbers the square of the reciprocal is 0 or subnormal: no part of the result.
    let is_far = size.gt(W::num(1e30));
    let result = W::select(is_far, one / size, positive.hi);
    let negative = x.lt(zero);
    let result = rare!(negative, result, {
        // trigamma(-x) = π² / sin² πx - trigamma(1 + x), and all of that is positive.
        let (sin, _) = sin_cos_pi(size);
        let cosecant = Dw::from(one).div(sin * Dw::splat(FRAC_1_PI));
        let next = Dw::select(below_1, centre, positive - squared);
        let reflected = (cosecant * cosecant - next).hi;
        let reflected = W::select(sin.hi.eq(zero), infinity, reflected);
        W::select(size.lt(infinity), reflected, W::num(f64::NAN))
    });
    let result = W::select(size.lt(W::num(SQUARE_OVERFLOWS_BELOW)), infinity, result);
    W::select(x.is_nan(), x, result)
}
