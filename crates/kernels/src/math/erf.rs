//! Owns `erf`, `erfc` and the complement that `gelu` needs.
//!
//! The complement of `f64` is exp(-x²) times a smooth function of (x - 4)/(x + 4), that of `f32` comes from a
//! table (`normal_tail.rs`). The constants come from `coefficients/trig_special.py`.

use super::dw::{Dw, fast_two_sum, two_prod};
use super::erf_table::Erf;
use super::horner::Polynomial;
use super::normal_tail::COMPLEMENT;
use super::power::Power;
use super::{Real, clamp};
use crate::lane::{Element, Lane, rare};

/// (1 + x) · exp(x²) · erfc x as a polynomial in (x - 4)/(x + 4) for x from 0 to 28.
const TAIL: Polynomial<2, 21> = Polynomial {
    leading: [(0.6849972881253069, 3.7358028191322065e-17), (-0.19934458280036724, 1.6089313525681414e-18)],
    rest: [
        0.117049665510442,
        -0.04808038122128921,
        0.003962055681319153,
        0.015312509678640365,
        -0.01751565464727757,
        0.012161784763743175,
        -0.006068735209021563,
        0.002116421488280296,
        -0.0003897675793246467,
        -6.013626321065815e-05,
        6.403325823249122e-05,
        -1.3152815898875275e-05,
        -4.140381176237129e-06,
        2.653696000036219e-06,
        8.740060493253743e-09,
        -3.682351009620508e-07,
        4.437171076249575e-08,
        4.911559721699246e-08,
        -5.590165569021602e-09,
        -5.667831652402774e-09,
        -5.415437643460609e-10,
    ],
};

/// Beyond, the complement is smaller than any `f64`.
const TAIL_TO: f64 = 28.0;

/// erfc x for `x` from 0 to `TAIL_TO` as `2^n` times a double word, given `x` and its square.
#[inline(always)]
fn tail<W: Lane<Elem = f64>>(x: Dw<W>, square: Dw<W>) -> (Dw<W>, W) {
    let four = W::num(4.0);
    let smooth = TAIL.at((x + -four).div(x + four));
    let (e, n) = Power::of(-square.hi, Some(-square.lo)).parts();
    let divisor = x + W::num(1.0);
    ((e * smooth).div(divisor), n)
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
    let size = Dw { hi: x.hi.abs(), lo: x.lo.mul_sign(x.hi) };
    let (t, n) = tail(size, square);
    let mirrored = subtract_from(2.0, t, n);
    let is_negative = x.hi.lt(W::num(0.0));
    (Dw::select(is_negative, mirrored, t), W::select(is_negative, W::num(0.0), n))
}

/// The error function.
#[inline(always)]
pub(crate) fn erf<V: Real>(x: V) -> V {
    V::Elem::erf(x)
}

/// The complementary error function, 1 - erf x without the cancellation.
#[inline(always)]
pub(crate) fn erfc<V: Real>(x: V) -> V {
    V::Elem::erfc(x)
}

/// The function whose body depends on the element type.
pub(crate) trait Erfc: Element {
    fn erfc<V: Real<Elem = Self>>(x: V) -> V;
}

impl Erfc for f32 {
    #[inline(always)]
    fn erfc<V: Real<Elem = f32>>(x: V) -> V {
        // Up to here results are normal numbers.
        let ordinary = V::num(9.1);
        let size = ordinary.min(x.abs());
        let tail = COMPLEMENT.times_exponential(size, two_prod(-size, size));
        // Of a negative number, also of -0, the tail is what 2 loses.
        let unit = tail.unit().mul_sign(x);
        let whole = V::select(x.is_negative(), V::num(2.0), V::num(0.0));
        let sum = fast_two_sum(whole, tail.product.hi * unit);
        let y = sum.hi + tail.rest.mul_add(unit, sum.lo);
        rare!(x.gt(ordinary), y, {
            // Beyond, it is smaller than any `f32`.
            let size = V::num(10.1).min(x);
            COMPLEMENT.times_exponential(size, two_prod(-size, size)).times(V::num(1.0))
        })
    }
}

impl Erfc for f64 {
    #[inline(always)]
    fn erfc<V: Real<Elem = f64>>(x: V) -> V {
        let x = clamp(x, -TAIL_TO, TAIL_TO);
        let (y, n) = complement(x.into(), two_prod(x, x));
        y.hi.ldexp(n)
    }
}
