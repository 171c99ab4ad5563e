//! Owns the inverse of the error function.
//!
//! The quotient erfinv(x) / x is smooth in w = -log(1 - x²) around 0 and in √w farther out. The constants
//! come from `coefficients/trig_special.py`.

use super::dw::{Dw, fast_two_sum, two_prod};
use super::horner::Polynomial;
use super::log_table::log_of_sum;
use super::{is_short, short};
use crate::lane::{Element, Lane, rare};

/// erfinv(x) / x as a polynomial in w - 3, for w to 6.
const CENTRE: Polynomial<2, 22> = Polynomial {
    leading: [(1.6235420064648298, 9.779636471847188e-17), (0.2416304041661583, -9.794987229900204e-18)],
    rest: [
        -0.005738135221005929,
        -0.000836181776909359,
        0.00019506132441355465,
        -1.2716422638594603e-05,
        -1.7480020964018598e-06,
        4.4998542528499614e-07,
        -2.3688726533234722e-08,
        -5.4671788538615365e-09,
        1.1107975626104859e-09,
        -3.142561141850327e-11,
        -1.732858387552466e-11,
        2.698983009636438e-12,
        6.200167641379206e-15,
        -5.29331593396133e-14,
        6.337748986107058e-15,
        2.7449238381476377e-16,
        -1.6244341362518274e-16,
        1.2840215497596518e-17,
        2.036261157319292e-18,
        -3.9007779459558365e-19,
        -1.0110120460058478e-20,
        4.306500122994238e-21,
    ],
};
/// The same in √w - 13/4, for √w to 4.
const NEAR: Polynomial<2, 18> = Polynomial {
    leading: [(3.0838856104922203, 1.9983246211497778e-16), (1.0052589676941668, 1.0546939301392646e-16)],
    rest: [
        0.005370914553604633,
        -0.0037512085083693785,
        0.002491442095375949,
        -0.0016882755313667435,
        0.0009532893936163775,
        -0.0003550378662176776,
        2.403098053328425e-05,
        6.828748269370875e-05,
        -4.731755463047853e-05,
        1.2463530916983817e-05,
        2.9214072162733854e-06,
        -3.981990418568175e-06,
        1.5063007668708895e-06,
        -3.310643863966107e-08,
        -2.785068923461011e-07,
        1.3603036216020535e-07,
        3.5065154364113455e-09,
        -1.682322529096016e-08,
    ],
};
/// The same in √w - 5, for √w to 6.02, which is that of the largest `f64` below 1.
const FAR: Polynomial<2, 18> = Polynomial {
    leading: [(4.849906401408584, -8.060287736130728e-17), (1.0103004648645448, 3.033603908680694e-17)],
    rest: [
        -0.00013871931838011382,
        -0.00021503011979931563,
        7.59952780962498e-05,
        -1.9681771193332244e-05,
        4.526052527214639e-06,
        -9.93025520309731e-07,
        2.290528382797339e-07,
        -6.757260056713734e-08,
        2.9018504308248012e-08,
        -1.5214090980170316e-08,
        7.821831751195907e-09,
        -3.53336002148316e-09,
        1.315459616828719e-09,
        -3.816017667039803e-10,
        6.991973846776498e-11,
        1.5192723510174832e-11,
        -2.0481997781979715e-11,
        5.774439194268333e-12,
    ],
};

/// The inverse of the error function; infinite at ±1, NaN beyond.
#[inline(always)]
pub(crate) fn erfinv<V: Lane>(x: V) -> V {
    let (size, one) = (x.abs(), V::num(1.0));
    let end = V::select(size.eq(one), V::splat(V::Elem::INFINITY).mul_sign(x), V::splat(V::Elem::NAN));
    let inner = if is_short::<V>() { short::erfinv(x.widen()) } else { inverse(x.widen()) };
    V::select(size.lt(one), V::narrow(inner), end)
}

/// The same for |x| < 1.
#[inline(always)]
fn inverse<W: Lane<Elem = f64>>(x: W) -> W {
    let one = W::num(1.0);
    let log = log_of_sum(-two_prod(x, x) + one, W::num(0.0));
    let w = fast_two_sum(-log.hi, -log.lo);
    let near_0 = CENTRE.at(w + W::num(-3.0));
    let quotient = rare!(w.hi.gt(W::num(6.0)), near_0, {
        let root = w.sqrt();
        let near_1 = NEAR.at(root + W::num(-3.25));
        rare!(root.hi.gt(W::num(4.0)), near_1, FAR.at(root + W::num(-5.0)))
    });
    // So near 0 the quotient is constant, and the square of x has no low part.
    let tiny = x.abs().lt(W::num(f64::EPSILON));
    let quotient = Dw::select(tiny, Dw::splat((0.886226925452758, -3.8332932499128993e-17)), quotient);
    (quotient * x.abs()).hi.mul_sign(x)
}
