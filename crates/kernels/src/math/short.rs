//! Owns the shorter forms of functions for `f32`: computed in `f64` lanes with polynomials that suffice for
//! an `f32` result. The result is correctly rounded except for one case in thousands. Double words are not
//! needed, because the rounding errors of `f64` are far below the last place of an `f32`.
//!
//! The arguments are `f32` in `f64`, so that no result overflows or is subnormal before it is rounded. The
//! constants come from `coefficients/short.py`.

use std::f64::consts::{FRAC_PI_2, LN_2, LOG2_E, PI};

use super::exponent::power_near;
use super::log_table::short_log as log;
use super::{clamp, poly};
use crate::lane::{Lane, rare};

/// e^r for |r| <= ln(2)/2.
const EXP: [f64; 8] = [
    0.9999999999616543,
    1.0000000002433131,
    0.5000000104596615,
    0.1666666512466041,
    0.041666225246406674,
    0.008333561269661042,
    0.0013948195595313816,
    0.000197751222868253,
];
/// e^r - 1 = r · EXPM1(r) for |r| <= ln(2)/2.
const EXPM1: [f64; 8] = [
    0.9999999999955478,
    0.5000000000120762,
    0.16666666785745804,
    0.041666665951340276,
    0.008333283659698987,
    0.0013888978189215914,
    0.00019907504365279397,
    2.480169273736117e-05,
];
/// sinh r = r · SINH(r²) and cosh r = COSH(r²) there.
const SINH: [f64; 4] = [0.9999999999955478, 0.16666666785745807, 0.00833328365969855, 0.000199075043655447];
const COSH: [f64; 4] = [0.9999999999606919, 0.5000000106049681, 0.041666222014008075, 0.0013948375202795875];
/// 2 atanh s = s · TWICE_ATANH(s²) for |s| <= 1/5.
const TWICE_ATANH: [f64; 5] =
    [2.000000000041073, 0.6666666158069693, 0.4000100596895823, 0.2850204046645511, 0.2415759518737827];
/// atan q = q · ATAN(q²) for |q| <= 1.
const ATAN: [f64; 12] = [
    0.9999999999418184,
    -0.3333333158199428,
    0.19999912382491503,
    -0.1428398469557682,
    0.11093264813487039,
    -0.08980318460660873,
    0.07245874533517363,
    -0.05428083807327417,
    0.03421045611992067,
    -0.016111514590123523,
    0.004850568575931944,
    -0.0006846785351600582,
];
/// erfinv(x) / x as a polynomial in w - 3 for w = -log(1 - x²) to 6, and in √w - 13/4 for all others of
/// `f32`.
const ERFINV: [f64; 17] = [
    1.6235420064638724,
    0.24163040416174164,
    -0.005738135206299427,
    -0.0008361817520186198,
    0.00019506128686873356,
    -1.2716462927795203e-05,
    -1.7479648784479605e-06,
    4.500143939188805e-07,
    -2.3707367088393218e-08,
    -5.47812518267177e-09,
    1.1160961309016037e-09,
    -2.9103241329341297e-11,
    -1.8226948782814303e-11,
    2.4234062270882432e-12,
    9.753284563041805e-14,
    -3.6493806436424624e-14,
    9.8631353414191e-16,
];
const ERFINV_NEAR_1: [f64; 14] = [
    3.0838856104946113,
    1.0052589676781367,
    0.005370914143244611,
    -0.003751207707304994,
    0.002491453632129718,
    -0.0016882866149954576,
    0.0009531669217168831,
    -0.0003549752640081476,
    2.4657536083124186e-05,
    6.813101129811377e-05,
    -4.899949922518104e-05,
    1.2607962441423177e-05,
    5.2711492834341285e-06,
    -3.9776147263267126e-06,
];
/// log Γ(t) / ((t - 1) (t - 2)) as a polynomial in t - 3/2, for t from 1 to 2.
const LGAMMA: [f64; 12] = [
    0.48312895049560217,
    -0.14595989572392035,
    0.06291141399427919,
    -0.031308508543128444,
    0.016796504336924954,
    -0.009424960608525493,
    0.005456397820462378,
    -0.0032209385709907165,
    0.0018486695338809243,
    -0.0011074400818186347,
    0.0009593410512917685,
    -0.0006080387418779935,
];
/// (log Γ(x) - (x - ½) log x + x - ½ log 2π) · x as a polynomial in 1/x², for x from 3.
const STIRLING: [f64; 6] = [
    0.08333333328148991,
    -0.002777770217461212,
    0.0007932528183852503,
    -0.0005849377799725072,
    0.0006949611826892304,
    -0.0007012256671130577,
];
/// The positive zero of digamma.
pub(super) const DIGAMMA_ROOT: (f64, f64) = (1.4616321449683622, 9.549995429965697e-17);
/// digamma(t) / (t - DIGAMMA_ROOT) as a polynomial in t - 3/2, for t from 1 to 2.
const DIGAMMA: [f64; 14] = [
    0.9510558760497574,
    -0.42362742134535186,
    0.24054247726734432,
    -0.1484049125826842,
    0.09498916599826492,
    -0.06192261405791782,
    0.040750399189936885,
    -0.026966282633850154,
    0.018023737408814848,
    -0.012002930218763662,
    0.007269959658581988,
    -0.004787396357764941,
    0.005283887152746305,
    -0.003588984076245996,
];
/// (log x - 1/(2x) - digamma(x)) · x² as a polynomial in 1/x², for x from 2.
const DIGAMMA_SERIES: [f64; 8] = [
    0.08333333263604172,
    -0.008333250730295123,
    0.003964670916413533,
    -0.00408636765536288,
    0.006489422027600591,
    -0.011200848255213676,
    0.014755014235691375,
    -0.00972916888296004,
];
/// ½ log 2π - ½.
const STIRLING_CONSTANT: f64 = 0.4189385332046727;
/// Below, the functions that are x + O(x³) are x and one cubic term.
const NEAR_0: f64 = 1.0 / 1024.0;

/// x = n · ln 2 + r as n and r.
#[inline(always)]
fn reduced<W: Lane<Elem = f64>>(x: W) -> (W, W) {
    let n = x.exponent(LOG2_E);
    (n, n.mul_add(W::num(-LN_2), x))
}

/// e^x for |x| <= 700.
#[inline(always)]
fn exp<W: Lane<Elem = f64>>(x: W) -> W {
    let (n, r) = reduced(x);
    poly(r, &EXP).scale(n)
}

/// e^x - 1; 0 has no sign.
#[inline(always)]
pub(super) fn expm1<W: Lane<Elem = f64>>(x: W) -> W {
    let (n, r) = reduced(clamp(x, -64.0, 110.0));
    let power = W::exp2_int(n);
    power.mul_add(r * poly(r, &EXPM1), power - W::num(1.0))
}

/// 2 sinh r and 2 cosh r as factors of cosh(n·ln 2) and sinh(n·ln 2), which follow, for |x| = n · ln 2 + r.
#[inline(always)]
fn hyperbolic<W: Lane<Elem = f64>>(x: W) -> (W, W, W, W) {
    let (n, r) = reduced(W::num(110.0).min(x.abs()));
    let (grown, shrunk) = (W::exp2_int(n - W::num(1.0)), W::exp2_int(-n - W::num(1.0)));
    let square = r * r;
    (r * poly(square, &SINH), poly(square, &COSH), grown + shrunk, grown - shrunk)
}

/// sinh x.
#[inline(always)]
pub(super) fn sinh<W: Lane<Elem = f64>>(x: W) -> W {
    let (sinh, cosh, cosh_n, sinh_n) = hyperbolic(x);
    sinh.mul_add(cosh_n, cosh * sinh_n).mul_sign(x)
}

/// cosh x.
#[inline(always)]
pub(super) fn cosh<W: Lane<Elem = f64>>(x: W) -> W {
    let (sinh, cosh, cosh_n, sinh_n) = hyperbolic(x);
    cosh.mul_add(cosh_n, sinh * sinh_n)
}

/// x^y for finite numbers, of which x is positive.
#[inline(always)]
pub(super) fn pow_of_magnitude<W: Lane<Elem = f64>>(x: W, y: W) -> W {
    exp(clamp(log(x) * y, -200.0, 200.0))
}

/// An odd function: x + `cubic` · x³ near 0, elsewhere `y`, its value at |x|.
#[inline(always)]
fn odd<W: Lane<Elem = f64>>(x: W, cubic: f64, y: W) -> W {
    let size = x.abs();
    let near = (size * size * size).mul_add(W::num(cubic), size);
    W::select(size.lt(W::num(NEAR_0)), near, y).mul_sign(x)
}

/// asinh x for finite numbers.
#[inline(always)]
pub(super) fn asinh<W: Lane<Elem = f64>>(x: W) -> W {
    let root = x.mul_add(x, W::num(1.0)).sqrt();
    odd(x, -1.0 / 6.0, log(x.abs() + root))
}

/// acosh x for finite numbers from 1 on.
#[inline(always)]
pub(super) fn acosh<W: Lane<Elem = f64>>(x: W) -> W {
    log(x + x.mul_add(x, W::num(-1.0)).sqrt())
}

/// The logarithm of 2^k · (1 + s) / (1 - s) for |s| <= 1/5.
#[inline(always)]
fn log_of_ratio<W: Lane<Elem = f64>>(k: W, s: W) -> W {
    k.mul_add(W::num(LN_2), s * poly(s * s, &TWICE_ATANH))
}

/// log(1 + e^x) for negative `x`.
#[inline(always)]
fn log1p_of_exp<W: Lane<Elem = f64>>(x: W) -> W {
    let one = W::num(1.0);
    let sum = exp(W::num(-100.0).max(x)) + one;
    let (k, power) = power_near(sum, one);
    log_of_ratio(k, (sum - power) / (sum + power))
}

/// log(e^a + e^b) for finite numbers, to 2^-34 in absolute terms.
#[inline(always)]
pub(super) fn logaddexp<W: Lane<Elem = f64>>(a: W, b: W) -> W {
    let larger = a.max(b);
    larger + log1p_of_exp(b.min(a) - larger)
}

/// log2(2^a + 2^b), likewise.
#[inline(always)]
pub(super) fn logaddexp2<W: Lane<Elem = f64>>(a: W, b: W) -> W {
    let larger = a.max(b);
    log1p_of_exp((b.min(a) - larger) * W::num(LN_2)).mul_add(W::num(LOG2_E), larger)
}

/// atanh x for |x| < 1.
#[inline(always)]
pub(super) fn atanh<W: Lane<Elem = f64>>(x: W) -> W {
    let (one, size) = (W::num(1.0), x.abs());
    let (k, power) = power_near(one + size, one - size);
    // Of a small number nothing is lost.
    let (sum, difference) = (one + power, one - power);
    let s = size.mul_add(sum, difference) / size.mul_add(difference, sum);
    (log_of_ratio(k, s) * W::num(0.5)).mul_sign(x)
}

/// The angle in [0, π/2] whose tangent is `n / d`, neither of which is negative.
#[inline(always)]
fn first_quadrant<W: Lane<Elem = f64>>(n: W, d: W) -> W {
    // The maximum only prevents 0 / 0.
    let q = n.min(d) / n.max(d).max(W::num(f64::MIN_POSITIVE));
    let angle = q * poly(q * q, &ATAN);
    W::select(n.gt(d), W::num(FRAC_PI_2) - angle, angle)
}

/// The angle of the point (x, y), in [-π, π].
#[inline(always)]
pub(super) fn atan2<W: Lane<Elem = f64>>(y: W, x: W) -> W {
    // Larger than every f32, and finite in a quotient.
    let infinite = W::num(2f64.powi(300));
    let angle = first_quadrant(y.abs().min(infinite), x.abs().min(infinite));
    W::select(x.is_negative(), W::num(PI) - angle, angle).mul_sign(y)
}

/// erfinv x for |x| < 1.
#[inline(always)]
pub(super) fn erfinv<W: Lane<Elem = f64>>(x: W) -> W {
    let w = -log(x.mul_add(-x, W::num(1.0)));
    let quotient = poly(w - W::num(3.0), &ERFINV);
    let quotient = rare!(w.gt(W::num(6.0)), quotient, poly(w.sqrt() - W::num(3.25), &ERFINV_NEAR_1));
    quotient * x
}

/// digamma x for positive `x`.
#[inline(always)]
pub(super) fn digamma<W: Lane<Elem = f64>>(x: W) -> W {
    let (one, half) = (W::num(1.0), W::num(0.5));
    let (is_below_1, quotient) = (x.lt(one), one / x);
    // By the recurrence, digamma(x) = digamma(x + 1) - 1 / x.
    let u = W::select(is_below_1, x, x - one);
    let from_root = (u - W::num(DIGAMMA_ROOT.0 - 1.0)) - W::num(DIGAMMA_ROOT.1);
    let step = W::select(is_below_1, -quotient, W::num(0.0));
    let near = poly(u - half, &DIGAMMA).mul_add(from_root, step);
    let rest = quotient.mul_add(poly(quotient * quotient, &DIGAMMA_SERIES), half);
    W::select(x.ge(W::num(2.0)), rest.mul_add(-quotient, log(x)), near)
}

/// log Γ(x) for positive `x`.
#[inline(always)]
pub(super) fn lgamma<W: Lane<Elem = f64>>(x: W) -> W {
    let (zero, one, half, two) = (W::num(0.0), W::num(1.0), W::num(0.5), W::num(2.0));
    let (is_below_1, is_series) = (x.lt(one), x.ge(W::num(3.0)));
    // By the recurrence, log Γ(x) is log Γ(x + 1) - log x, and log Γ(x - 1) + log(x - 1).
    let u = x - W::select(is_below_1, zero, W::select(x.lt(two), one, two));
    let l = log(W::select(is_series | is_below_1, x, one.max(x - one)));
    let centre = poly(u - half, &LGAMMA) * ((u - one) * u);
    let near = centre + W::select(is_below_1, -l, l);
    let reciprocal = one / x;
    let rest = reciprocal.mul_add(poly(reciprocal * reciprocal, &STIRLING), W::num(STIRLING_CONSTANT));
    W::select(is_series, (l - one).mul_add(x - half, rest), near)
}
