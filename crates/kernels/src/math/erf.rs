//! Owns `erf`, `erfc` and the complement that `gelu` needs.
//!
//! The complement is exp(-x²) times a smooth function of (x - 4)/(x + 4), except for small `x`, where it is 1
//! less an odd polynomial. The constants come from `coefficients/trig_special.py`.

use super::dw::{Dw, fast_two_sum, two_prod};
use super::erf_table::{erf as long_erf, short_erf};
use super::exp::Exponential;
use super::horner::Polynomial;
use super::{clamp, is_short, poly, short};
use crate::lane::Lane;

/// erf x = x · (FIRST + x² · ERF(x²)) for |x| <= `CENTRE_TO`.
const FIRST: (f64, f64) = (std::f64::consts::FRAC_2_SQRT_PI, 1.5201783193494323e-17);
const ERF: [f64; 10] = [
    -0.3761263890318375,
    0.11283791670954556,
    -0.026866170644944336,
    0.005223977622290052,
    -0.0008548326712791987,
    0.0001205531385517476,
    -1.4924892005281789e-05,
    1.6442715111452672e-06,
    -1.6055188867797243e-07,
    1.1940566512212334e-08,
];
/// Beyond, the second term would round too much away.
const CENTRE_TO: f64 = 0.6875;

/// (1 + 2x) · exp(x²) · erfc x as a polynomial in (x - 4)/(x + 4) for x from 0.46875 to 28.
const TAIL: Polynomial<3, 19> = Polynomial {
    leading: [
        (1.2329951186255526, -4.3334200587797864e-17),
        (-0.1396211168405625, -2.773377360433497e-18),
        (0.015379652102618822, -8.122571886735076e-20),
    ],
    rest: [
        0.06809705425469084,
        -0.10103906603624085,
        0.09373283499842909,
        -0.06633036581391807,
        0.03716751553585572,
        -0.016197734034502996,
        0.005031969996814387,
        -0.0007577734745874179,
        -0.0001992568296384927,
        0.00015062260292385098,
        -2.4398583289724032e-05,
        -1.1225008123985148e-05,
        5.707767852315934e-06,
        2.999823898334311e-07,
        -8.213833813688513e-07,
        6.666444459890195e-08,
        1.0479209110598066e-07,
        -1.2094685263967264e-08,
        -1.018824427826882e-08,
    ],
};

/// From here on the complement is the tail; below it is 1 less the error function.
const TAIL_FROM: f64 = 0.46875;
/// Beyond, the complement is smaller than any `f64`.
const TAIL_TO: f64 = 28.0;

/// erf x for |x| <= `CENTRE_TO`.
#[inline(always)]
fn centre<W: Lane<Elem = f64>>(x: Dw<W>) -> Dw<W> {
    let z = x.hi * x.hi;
    let product = x * Dw::splat(FIRST);
    fast_two_sum(product.hi, (x.hi * z).mul_add(poly(z, &ERF), product.lo))
}

/// erfc x for `x` from `TAIL_FROM` to `TAIL_TO` as `2^n` times a double word, given `x` and its square.
#[inline(always)]
fn tail<W: Lane<Elem = f64>>(x: Dw<W>, square: Dw<W>) -> (Dw<W>, W) {
    let four = W::num(4.0);
    let smooth = TAIL.at((x + -four).div(x + four));
    let e = Exponential::of(-square);
    let divisor = x.scale(W::num(2.0)) + W::num(1.0);
    ((e.significand() * smooth).div(divisor), e.n)
}

/// `constant - 2^n · x`, where `n` is at most 0 and the constant larger than the rest.
#[inline(always)]
fn subtract_from<W: Lane<Elem = f64>>(constant: f64, x: Dw<W>, n: W) -> Dw<W> {
    let n = n.max(W::num(-200.0));
    let s = fast_two_sum(W::num(constant), -x.hi.ldexp(n));
    fast_two_sum(s.hi, s.lo - x.lo.ldexp(n))
}

/// erfc x as `2^n` times a double word, given `x` and its square; `|x|` is at most `TAIL_TO`.
#[inline(always)]
pub(super) fn complement<W: Lane<Elem = f64>>(x: Dw<W>, square: Dw<W>) -> (Dw<W>, W) {
    let zero = W::num(0.0);
    let e = centre(x);
    let near = subtract_from(1.0, e, zero);
    let size = Dw { hi: x.hi.abs(), lo: x.lo.mul_sign(x.hi) };
    let (t, n) = tail(size, square);
    let mirrored = subtract_from(2.0, t, n);
    let is_tail = x.hi.ge(W::num(TAIL_FROM));
    let is_mirrored = x.hi.lt(W::num(-CENTRE_TO));
    (Dw::select(is_tail, t, Dw::select(is_mirrored, mirrored, near)), W::select(is_tail, n, zero))
}

/// The error function.
#[inline(always)]
pub(crate) fn erf<V: Lane>(x: V) -> V {
    V::narrow(if is_short::<V>() { short_erf(x.widen()) } else { long_erf(x.widen()) })
}

/// The complementary error function, 1 - erf x without the cancellation.
#[inline(always)]
pub(crate) fn erfc<V: Lane>(x: V) -> V {
    if is_short::<V>() {
        return V::narrow(short::erfc(x.widen()));
    }
    let x = clamp(x.widen(), -TAIL_TO, TAIL_TO);
    let (y, n) = complement(x.into(), two_prod(x, x));
    V::narrow(y.hi.ldexp(n))
}
