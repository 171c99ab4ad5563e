//! Owns logarithms of sums of exponentials: `logaddexp`, `logaddexp2`, `softplus`.
//!
//! Where the two terms of `logaddexp` nearly cancel (a sum of exponentials close to 1), the absolute error is
//! near 2^-58, that of the double words of `f64`, and there is no relative bound. That suffices for `f32`.

use super::dw::{Dw, fast_two_sum, two_prod, two_sum};
use super::exp::{ExpConstants, Exponential};
use super::log::LogConstants;
use super::log_table::log_of_sum;
use super::power::{Power, PowerConstants};
use super::{Real, is_short, short};
use crate::lane::{Lane, rare};

/// Logarithms of sums of powers, for a base: the range of its powers, the power by tables and in double
/// words, and what a natural logarithm becomes.
macro_rules! sums_of_powers {
    ($($(#[$doc:meta])* $name:ident: $range:ident, $power:ident, $powers:ident, $log:ident;)*) => {
        $($(#[$doc])*
        #[inline(always)]
        pub(crate) fn $name<V: Real>(a: V, b: V) -> V {
            #[inline(always)]
            fn by_tables<V: Real>(a: V, b: V) -> V {
                // NaN is one of them.
                let (larger, smaller) = (a.max(b), b.min(a));
                let distance = two_sum(smaller, -larger);
                let bottom = V::num(V::Elem::LOGISTIC_RANGE.0);
                let low = V::select(distance.hi.lt(bottom), V::num(0.0), distance.lo);
                let (power, lowest) = Power::$power(bottom.max(distance.hi), low);
                let l = $log(power.log1p_with(lowest));
                let s = two_sum(larger, l.hi);
                s.hi + (s.lo + l.lo)
            }

            #[inline(always)]
            fn exact<W: Lane<Elem = f64> + Real>(a: W, b: W) -> W {
                let (bottom, _) = f64::$range;
                let power = Exponential::$powers(minus_distance(a, b, bottom));
                add_to_larger(a, b, $log(log1p(power.significand().ldexp(power.n))))
            }

            let y = by_tables(a, b);
            rare!(is_uncertain(y, CERTAIN_FROM), y, {
                let (a, b) = (a.widen(), b.widen());
                V::narrow(if is_short::<V>() {
                    let y = short::$name(a, b);
                    rare!(is_uncertain(y, CERTAIN_FROM_AS_SHORT), y, exact(a, b))
                } else {
                    exact(a, b)
                })
            })
        })*
    };
}

sums_of_powers! {
    /// log(e^a + e^b).
    logaddexp: EXP_RANGE, in_three, of, natural;
    /// log2(2^a + 2^b).
    logaddexp2: EXP2_RANGE, in_three_of_base_2, of_base_2, binary;
}

#[inline(always)]
fn natural<V: Lane>(log: Dw<V>) -> Dw<V> {
    log
}

#[inline(always)]
fn binary<V: Real>(log: Dw<V>) -> Dw<V> {
    scaled(log, V::Elem::INV_LN2)
}

/// From here on the errors of the tables, about 2^-30 (2^-59 in `f64`), are small beside a result's last
/// place; and those of shorter forms beside that of an `f32`.
const CERTAIN_FROM: f64 = 1.0 / 64.0;
const CERTAIN_FROM_AS_SHORT: f64 = 1.0 / 512.0;

/// Whether a result is too small, infinite or NaN.
#[inline(always)]
fn is_uncertain<V: Lane>(y: V, from: f64) -> V::Mask {
    !(y.abs().ge(V::num(from)) & y.is_finite())
}

/// `-|a - b|`, but at least `bottom`, and `bottom` where infinities leave no distance.
#[inline(always)]
fn minus_distance<V: Real>(a: V, b: V, bottom: f64) -> Dw<V> {
    let bottom = V::num(bottom);
    let d = two_sum(a, -b);
    let d = Dw::select(a.lt(b), d, -d);
    Dw::select(d.hi.gt(bottom), d, bottom.into())
}

/// log(1 + x) for a positive double word.
#[inline(always)]
fn log1p<V: Real>(x: Dw<V>) -> Dw<V> {
    log_of_sum(x + V::num(1.0), V::num(0.0))
}

/// The product with a constant, as an unevaluated sum.
#[inline(always)]
fn scaled<V: Lane>(x: Dw<V>, (hi, lo): (V::Elem, V::Elem)) -> Dw<V> {
    let product = two_prod(x.hi, V::splat(hi));
    Dw { hi: product.hi, lo: x.lo.mul_add(V::splat(hi), x.hi.mul_add(V::splat(lo), product.lo)) }
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
    let product = two_prod(x, beta);
    let size = product.hi.abs();
    // log(1 + e^z) = max(z, 0) + log(1 + e^-|z|).
    let positive = product.hi.gt(V::num(0.0));
    let l = log1p_of_any(Power::of(-size, Some(-product.lo.mul_sign(product.hi))));
    let larger = Dw::select(positive, product, V::num(0.0).into());
    let s = two_sum(larger.hi, l.hi);
    let sum = Dw { hi: s.hi, lo: s.lo + (larger.lo + l.lo) };
    let y = rare!(!beta.eq(V::num(1.0)), sum.round(), divided(sum, beta));
    let (bottom, _) = V::Elem::LOGISTIC_RANGE;
    let y = rare!(!product.hi.gt(V::num(bottom)), y, softplus_in_two_words(x, beta));
    V::select(product.hi.ge(V::num(SOFTPLUS_TO)) | product.hi.gt(threshold), x, y)
}

/// The logarithm of one more than a power of at most 1, accurate relative to itself.
#[inline(always)]
fn log1p_of_any<V: Real>(power: Power<V>) -> Dw<V> {
    let (high, low, unit) = power.words();
    // Beside 1 the last places of a small power would be lost.
    let x = fast_two_sum(high * unit, low * unit);
    let series = x.hi.mul_add(V::num(1.0 / 3.0), V::num(-0.5));
    let small = Dw { hi: x.hi, lo: (x.hi * x.hi).mul_add(series, x.lo) };
    Dw::select(x.hi.lt(V::num(2f64.powi(-20))), small, power.log1p())
}

/// The quotient, rounded once.
#[inline(always)]
fn divided<V: Real>(l: Dw<V>, beta: V) -> V {
    let l = fast_two_sum(l.hi, l.lo);
    let quotient = l.hi / beta;
    let refined = quotient + (quotient.mul_add(-beta, l.hi) + l.lo) / beta;
    // With a beta of 0 or infinity there is no residue.
    V::select(refined.is_nan(), quotient, refined)
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
    let l = Dw::select(tiny, s, log1p(s.ldexp(e.n)));
    divided(l, beta).ldexp(V::select(tiny, e.n, V::num(0.0)))
}
