//! Owns logarithms of sums of exponentials: `logaddexp`, `logaddexp2`, `softplus`.
//!
//! Where the two terms of `logaddexp` nearly cancel (a sum of exponentials close to 1), the absolute error is
//! near 2^-58, that of the double words, and there is no relative bound. That suffices for `f32`, which is
//! computed in `f64`, in single words where they suffice.

use super::dw::{Dw, two_prod, two_sum};
use super::exp::{ExpConstants, Exponential, exp, exp2};
use super::log::Logarithm;
use super::log_table::{self, Tables};
use super::{Real, is_short, short};
use crate::lane::{Element, Lane, rare};

/// Logarithms of sums of powers, for a base: the range of its powers, the power and the logarithm in single
/// words, and both in double words.
macro_rules! sums_of_powers {
    ($($(#[$doc:meta])* $name:ident: $range:ident, $power:ident $log:ident, $powers:ident $logs:ident;)*) => {
        $($(#[$doc])*
        #[inline(always)]
        pub(crate) fn $name<V: Real>(a: V, b: V) -> V {
            #[inline(always)]
            fn exact<W: Real>(a: W, b: W, distance: Dw<W>) -> W {
                add_to_larger(a, b, one_plus(Exponential::$powers(distance)).$logs())
            }

            let (bottom, _) = f64::$range;
            let (a, b) = (a.widen(), b.widen());
            let distance = minus_distance(a, b, bottom);
            V::narrow(if is_short::<V>() {
                let l = log_table::log($power(distance.hi) + V::Wide::num(1.0), &f64::$log);
                let y = add_to_larger(a, b, l.into());
                rare!(is_uncertain(y), y, exact(a, b, distance))
            } else {
                exact(a, b, distance)
            })
        })*
    };
}

sums_of_powers! {
    /// log(e^a + e^b).
    logaddexp: EXP_RANGE, exp NATURAL, of natural;
    /// log2(2^a + 2^b).
    logaddexp2: EXP2_RANGE, exp2 BINARY, of_base_2 binary;
}

/// Where the rounding errors of single words of `f64`, about 2^-52, could change the result as an `f32`.
#[inline(always)]
fn is_uncertain<W: Lane<Elem = f64>>(y: W) -> W::Mask {
    y.abs().lt(W::num(2f64.powi(-20)))
}

/// `-|a - b|`, but at least `bottom`, and `bottom` where infinities leave no distance.
#[inline(always)]
fn minus_distance<V: Real>(a: V, b: V, bottom: f64) -> Dw<V> {
    let bottom = V::num(bottom);
    let d = two_sum(a, -b);
    let d = Dw::select(a.lt(b), d, -d);
    Dw::select(d.hi.gt(bottom), d, bottom.into())
}

/// The logarithm of `1 + x` for an exponential `x` of at most 1.
#[inline(always)]
fn one_plus<V: Real>(x: Exponential<V>) -> Logarithm<V> {
    let x = x.significand().ldexp(x.n);
    let mut l = Logarithm::of_one_plus(x);
    // An x this small equals log(1 + x); the kernel would halve it, which rounds subnormal numbers.
    let tiny = x.hi.lt(V::splat(V::Elem::EPSILON) * V::splat(V::Elem::EPSILON));
    l.m = Dw::select(tiny, x, l.m);
    l
}

/// `max(a, b) + l`; an infinite maximum stays, and NaN is propagated.
#[inline(always)]
fn add_to_larger<V: Real>(a: V, b: V, l: Dw<V>) -> V {
    let larger = a.max(b);
    let y = V::select(larger.is_finite(), (l + larger).round(), larger);
    V::select(a.is_nan() | b.is_nan(), a + b, y)
}

/// From here on softplus is its argument, by PyTorch's threshold or to the last bit.
const SOFTPLUS_TO: f64 = 64.0;

/// log(1 + e^(beta · x)) / beta, and `x` where `beta · x` exceeds the threshold.
#[inline(always)]
pub(crate) fn softplus<V: Real>(x: V, beta: V, threshold: V) -> V {
    let product = x * beta;
    let y = if is_short::<V>() {
        V::narrow(short::softplus(x.widen(), beta.widen()))
    } else {
        softplus_in_two_words(x, beta)
    };
    V::select(product.ge(V::num(SOFTPLUS_TO)) | product.gt(threshold), x, y)
}

/// log(1 + e^(beta · x)) / beta for products below `SOFTPLUS_TO`.
#[inline(always)]
fn softplus_in_two_words<V: Real>(x: V, beta: V) -> V {
    let (bottom, _) = V::Elem::EXP_RANGE;
    // Below where e^x underflows, because a small beta makes the quotient larger again.
    let (bottom, top) = (V::num(1.6 * bottom), V::num(SOFTPLUS_TO));
    let product = x * beta;
    let exact = two_prod(x, beta);
    let inside = product.gt(bottom) & product.lt(top);
    let clamped = Dw::select(inside, exact, top.min(bottom.max(product)).into());

    let e = Exponential::of(clamped);
    let s = e.significand();
    // Small exponentials equal their log1p, and are scaled last, so that a subnormal result is rounded once.
    let tiny = e.n.lt(V::num(-64.0));
    let l = Logarithm::of_one_plus(s.ldexp(e.n)).natural();
    let l = Dw::select(tiny, s, l);
    let quotient = l.hi / beta;
    let refined = quotient + (quotient.mul_add(-beta, l.hi) + l.lo) / beta;
    // With a beta of 0 or infinity there is no residue.
    V::select(refined.is_nan(), quotient, refined).ldexp(V::select(tiny, e.n, V::num(0.0)))
}
