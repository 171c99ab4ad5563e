//! Owns the short forms of functions built from exponentials: computed in `f64` lanes, but with polynomials no longer
//! than an `f32` result needs, which is then correctly rounded but for one case in thousands. Double words are not
//! needed, because what `f64` rounds away is far below the last place of an `f32`.
//!
//! The arguments are `f32` in `f64`, and so no result here overflows or is subnormal before it is rounded. The constants
//! come from `coefficients/short.py`.

use std::f64::consts::{FRAC_1_SQRT_2, LN_2, LOG2_E};

use super::{clamp, poly};
use crate::lane::Lane;

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
/// (1 + 2x) · exp(x²) · erfc x as a polynomial in (x - 3)/(x + 3) for x from 0 to `TAIL_TO`.
const TAIL: [f64; 13] = [
    1.253008058278304,
    -0.13562110720346676,
    -0.04756229579252675,
    0.12964521372948087,
    -0.11927360073795872,
    0.06830724636249527,
    -0.023771576633822362,
    0.002533765746627648,
    0.0018963652278531082,
    -0.0007888556475443302,
    -0.00012927387189221504,
    0.00012339994131195064,
    3.198640972477779e-05,
];
const TAIL_CENTRE: f64 = 3.0;
/// Beyond, the complement is smaller than any `f32`.
const TAIL_TO: f64 = 11.0;
/// erf x = x · ERF(x²) for |x| <= `ERF_TO`.
const ERF: [f64; 7] = [
    1.1283791670831498,
    -0.37612638664026465,
    0.11283784072966072,
    -0.02686526070246792,
    0.005218756789067874,
    -0.0008393090385586308,
    9.717958140623705e-05,
];
const ERF_TO: f64 = 0.6875;

/// e^x for |x| <= 700.
#[inline(always)]
fn exp<W: Lane<Elem = f64>>(x: W) -> W {
    let n = (x * W::num(LOG2_E)).round_ties_even();
    poly(n.mul_add(W::num(-LN_2), x), &EXP).scale(n)
}

/// 1 / (1 + e^-x).
#[inline(always)]
pub(super) fn sigmoid<W: Lane<Elem = f64>>(x: W) -> W {
    let one = W::num(1.0);
    one / (one + exp(-clamp(x, -110.0, 110.0)))
}

/// x / (1 + e^-x), 0 far down.
#[inline(always)]
pub(super) fn silu<W: Lane<Elem = f64>>(x: W) -> W {
    let x = W::num(-120.0).max(x);
    x / (W::num(1.0) + exp(-W::num(110.0).min(x)))
}

/// x / (1 + exp(-√(8/π) · (x + 0.044715 x³))), 0 far down.
#[inline(always)]
pub(super) fn gelu_tanh<W: Lane<Elem = f64>>(x: W) -> W {
    let x = W::num(-15.0).max(x);
    let t = W::num(15.0).min(x);
    let cubic = (t * t).mul_add(W::num(-0.07135481627260025), W::num(-1.5957691216057308));
    x / (W::num(1.0) + exp(t * cubic))
}

/// erfc x for `x` from 0 to `TAIL_TO`, given its square.
#[inline(always)]
fn tail<W: Lane<Elem = f64>>(x: W, square: W) -> W {
    let (below, above) = (x - W::num(TAIL_CENTRE), x + W::num(TAIL_CENTRE));
    let twice = (x + x) + W::num(1.0);
    // One division for the polynomial's argument and for the result.
    let reciprocal = W::num(1.0) / (above * twice);
    let smooth = poly(below * twice * reciprocal, &TAIL);
    exp(-square) * (smooth * (above * reciprocal))
}

/// erf x.
#[inline(always)]
pub(super) fn erf<W: Lane<Elem = f64>>(x: W) -> W {
    let size = x.abs();
    let near = size * poly(x * x, &ERF);
    let t = clamp(size, 0.0, TAIL_TO);
    let far = W::num(1.0) - tail(t, t * t);
    W::select(size.gt(W::num(ERF_TO)), far, near).mul_sign(x)
}

/// `low` below 0, and `sum - low` above.
#[inline(always)]
fn mirrored<W: Lane<Elem = f64>>(x: W, low: W, sum: f64) -> W {
    W::select(x.lt(W::num(0.0)), low, W::num(sum) - low)
}

/// erfc x.
#[inline(always)]
pub(super) fn erfc<W: Lane<Elem = f64>>(x: W) -> W {
    let size = clamp(x.abs(), 0.0, TAIL_TO);
    mirrored(-x, tail(size, size * size), 2.0)
}

/// x · Φ(x), Φ being the distribution function of the normal distribution, and 0 far down.
#[inline(always)]
pub(super) fn gelu<W: Lane<Elem = f64>>(x: W) -> W {
    let half = W::num(0.5);
    let x = W::num(-15.0).max(x);
    let size = x.abs().min(W::num(15.0));
    let low = tail(size * W::num(FRAC_1_SQRT_2), size * size * half) * half;
    x * mirrored(x, low, 1.0)
}
