//! Owns `lgamma`, the logarithm of the gamma function, `digamma`, its derivative, and `trigamma`, the
//! derivative of that.
//!
//! From 8 on they are asymptotic series. Below, the recurrence moves the argument to [1, 2], where the zero
//! of each function that has one is a factor of its own. Negative arguments are reflected. Sums are double
//! words. Near the zeros at negative arguments the error is bounded relative to the terms that cancel there,
//! not to the result. The constants come from `coefficients/trig_special.py`.

use super::dw::{Dw, fast_two_sum, two_prod, two_sum};
use super::horner::Polynomial;
use super::log::Logarithm;
use super::log_table::log_of_sum;
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
/// (log Γ(x) - (x - ½) log x + x - ½ log 2π) · x as a polynomial in 1/x², for x from 8.
const STIRLING: [f64; 8] = [
    0.08333333333333333,
    -0.002777777777776852,
    0.000793650793041878,
    -0.0005952378966368047,
    0.0008417142993888163,
    -0.0019135310470832958,
    0.006149777621644072,
    -0.019896916041610434,
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
/// (log x - 1/(2x) - digamma(x)) · x² as a polynomial in 1/x², for x from 8.
const DIGAMMA_SERIES: [f64; 8] = [
    0.08333333333333333,
    -0.008333333333319978,
    0.003968253959212234,
    -0.0041666636488705035,
    0.007575191408201613,
    -0.02102979407577152,
    0.07915429152382229,
    -0.2850911582016785,
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
/// (trigamma(x) - 1/x - 1/(2x²)) · x³ as a polynomial in 1/x², for x from 8.
const TRIGAMMA_SERIES: [f64; 8] = [
    0.16666666666666657,
    -0.03333333333315537,
    0.023809523680563712,
    -0.03333328803268768,
    0.07574872401516533,
    -0.2520943733017553,
    1.0969557931823435,
    -4.368969240224664,
];
/// 1/√f64::MAX: the square of the reciprocal of a smaller number overflows.
const SQUARE_OVERFLOWS_BELOW: f64 = 7.458340731200207e-155;

/// From here on the asymptotic series are accurate.
const SERIES_FROM: f64 = 8.0;
/// Below, `lgamma` and `digamma` equal their pole at 0.
const POLE_TO: f64 = 8.673617379884035e-19;

/// A positive argument below `SERIES_FROM` as `floor + fraction`, with the fraction in [0, 1]; the functions
/// at `1 + fraction` are known.
#[derive(Clone, Copy)]
struct Moved<W> {
    floor: W,
    fraction: W,
}

impl<W: Lane<Elem = f64>> Moved<W> {
    #[inline(always)]
    fn of(x: W) -> Self {
        let floor = (x - W::num(0.5)).round_ties_even();
        Moved { floor, fraction: x - floor }
    }

    /// The factor x - i of Γ(x) / Γ(1 + fraction) = (x - 1) (x - 2) ... (1 + fraction), and whether it is
    /// one.
    #[inline(always)]
    fn factor(self, x: W, i: u32) -> (W, W::Mask) {
        let i = W::num(f64::from(i));
        (x - i, i.lt(self.floor))
    }

    /// Whether the argument is below 1, and the factor is 1 / x.
    #[inline(always)]
    fn is_below_1(self) -> W::Mask {
        self.floor.lt(W::num(0.5))
    }
}

/// The logarithm of a positive double word.
#[inline(always)]
fn log<W: Lane<Elem = f64>>(x: Dw<W>) -> Dw<W> {
    let log = log_of_sum(x, W::num(0.0));
    fast_two_sum(log.hi, log.lo)
}

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
    let moved = Moved::of(size);
    let below_1 = moved.is_below_1();
    let series = size.ge(W::num(SERIES_FROM));

    let mut product = Dw::from(one);
    for i in 1..SERIES_FROM as u32 {
        let (factor, used) = moved.factor(size, i);
        product = product * W::select(used, factor, one);
    }
    let u = moved.fraction;
    let centre = LGAMMA.at(two_sum(u, W::num(-0.5))) * (two_sum(u, -one) * u);
    let l = log(Dw::select(series | below_1, size.into(), product));
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
        let reflected = -(log(argument) + Dw::select(below_1, centre, positive)).hi;
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
    let moved = Moved::of(size);
    let below_1 = moved.is_below_1();
    let series = size.ge(W::num(SERIES_FROM));

    // The sum of the reciprocals of the factors, as one fraction.
    let (mut numerator, mut denominator) = (Dw::from(zero), Dw::from(one));
    for i in 1..SERIES_FROM as u32 {
        let (factor, used) = moved.factor(size, i);
        numerator = Dw::select(used, numerator * factor + denominator, numerator);
        denominator = Dw::select(used, denominator * factor, denominator);
    }
    let u = moved.fraction;
    let centre = DIGAMMA.at(two_sum(u, W::num(-0.5))) * (two_sum(u, one) - Dw::splat(short::DIGAMMA_ROOT));
    let numerator = Dw::select(below_1, (-one).into(), numerator);
    let denominator = Dw::select(below_1, size.into(), denominator);
    let near = centre + numerator.div(denominator);

    let reciprocal = one / size;
    let square = reciprocal * reciprocal;
    let rest = two_sum(reciprocal * W::num(-0.5), -(square * poly(square, &DIGAMMA_SERIES)));
    let far = Logarithm::of(size).natural() + rest;
    let positive = Dw::select(series, far, near);

    let infinity = W::num(f64::INFINITY);
    let result = W::select(size.lt(infinity), positive.hi, size);
    let negative = x.lt(zero);
    let result = rare!(negative, result, {
        // digamma(-x) = digamma(1 + x) + π cot πx.
        let (sin, cos) = sin_cos_pi(size);
        let cotangent = cos.div(sin * Dw::splat(FRAC_1_PI));
        let next = Dw::select(below_1, centre, positive + Dw::from(one).div(size.into()));
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
    let moved = Moved::of(size);
    let below_1 = moved.is_below_1();
    let series = size.ge(W::num(SERIES_FROM));

    // The sum of the squared reciprocals of the factors, as one fraction.
    let (mut numerator, mut denominator) = (Dw::from(zero), Dw::from(one));
    for i in 1..SERIES_FROM as u32 {
        let (factor, used) = moved.factor(size, i);
        let square = two_prod(factor, factor);
        numerator = Dw::select(used, numerator * square + denominator, numerator);
        denominator = Dw::select(used, denominator * square, denominator);
    }
    let u = moved.fraction;
    let centre = TRIGAMMA.at(two_sum(u, W::num(-0.5)));
    let reciprocal = Dw::from(one).div(size.into());
    let squared = reciprocal * reciprocal;
    // From 1 to 2 the fraction is 0.
    let near = Dw::select(below_1, centre + squared, centre - numerator.div(denominator));

    let rest = squared.hi * reciprocal.hi * poly(squared.hi, &TRIGAMMA_SERIES);
    let far = reciprocal + squared.scale(W::num(0.5)) + rest;
    let positive = Dw::select(series, far, near);

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
