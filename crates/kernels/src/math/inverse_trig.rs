//! Owns the inverse trigonometric functions `asin`, `acos`, `atan`, `atan2`, and the two conversions of
//! angles.
//!
//! All are computed in `f64` with the leading terms as double words, and those of `f32` in shorter forms, and
//! rounded once. The constants come from `coefficients/trig_special.py`.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4};

use super::dw::{Dw, fast_two_difference, fast_two_sum, tiny_product, two_sum};
use super::root::half_inverse_root;
use super::trig::PI;
use super::{is_short, poly, short, single};
use crate::lane::{Arithmetic, Element, Lane, rare};

/// The low part of π/2.
const HALF_PI_LOW: f64 = 6.123233995736766e-17;

/// atan x = x + x³ · ATAN(x²) for |x| <= tan(π/8).
const ATAN: [f64; 12] = [
    -0.33333333333333326,
    0.19999999999997647,
    -0.14285714285385634,
    0.11111111088048965,
    -0.09090908140499335,
    0.07692282680104047,
    -0.066662257639584,
    0.05877013542868807,
    -0.05218359836627712,
    0.04503400029054077,
    -0.033471654034395844,
    0.015192935385755547,
];
/// The same for |x| < 0.1263.
const ATAN_NEAR: [f64; 6] = [
    -0.3333333333333247,
    0.19999999998946194,
    -0.14285713856975138,
    0.11111030849195914,
    -0.09083298570046049,
    0.07335592667148974,
];
/// Numbers, by the last two bits of the exponent and the first two of the significand of `PLACES · x + 1` up
/// to 16, and their angles, whose low words are below 2^-62 of them.
#[rustfmt::skip]
const CENTRES: [f64; 16] = [
    0.6241771803457711, 0.8759702091156312, 1.1284841140174957, 1.3813464610560156,
    1.7404532574001625, 2.2492616261424185, 2.7574807749447965, 3.2650664491902326,
    3.9809812255290207, 5.00193995946619, 6.019641741744006, 13.207052741131696,
    0.0, 0.18866847211814133, 0.3145167968631803, 0.44045111475943627,
];
#[rustfmt::skip]
const ANGLES: [f64; 16] = [
    0.5580074059828108, 0.7193792344560379, 0.8456891448569466, 0.944188961306761,
    1.04929054550461, 1.1524501702053322, 1.222896896108934, 1.2735949437514122,
    1.3246938837780349, 1.3734753529447663, 1.4061768217238255, 1.4952234083717582,
    0.0, 0.1864764988210367, 0.3047211784799183, 0.4148847563978022,
];
/// So that the angle of the first number that is measured from another than 0 is above 1/8, where the last
/// place doubles.
const PLACES: f64 = 1.98;
/// tan(π/8) and tan(3π/8), which divide the angles that are measured from 0, π/4 and π/2.
const BORDERS: (f64, f64) = (0.41421356237309503, 2.414213562373095);

/// asin x = x + x³ · ASIN(x²) for |x| <= 1/2.
const ASIN: [f64; 12] = [
    0.16666666666665408,
    0.07500000000336952,
    0.0446428568283648,
    0.030381959135749464,
    0.022371758076767383,
    0.017359704375936084,
    0.01388523937634063,
    0.01216918483724207,
    0.006528096939058938,
    0.019527916656440596,
    -0.01622368352667229,
    0.03191186632306687,
];

/// asin of the argument if it is at most 1/2, asin √((1 - x)/2) otherwise, which is half the angle from π/2.
struct Arc<W: Lane> {
    /// Whether the angle is the second kind.
    halved: W::Mask,
    /// The leading term, and the rest of the sum.
    root: W,
    rest: W,
}

impl<W: Lane<Elem = f64>> Arc<W> {
    #[inline(always)]
    fn of(size: W) -> Self {
        let half = W::num(0.5);
        let halved = size.gt(half);
        let z = W::select(halved, W::num(-0.5).mul_add(size, half), size * size);
        let root = W::select(halved, z.sqrt(), size);
        // The rounding error of the square root.
        let left = W::select(halved, root.mul_add(-root, z) * half_inverse_root(z), W::num(0.0));
        let rest = (root * z).mul_add(poly(z, &ASIN), left.mul_add(z * half, left));
        Arc { halved, root, rest }
    }

    /// `count · π/2` and `factor` times the sum, which is the smaller part.
    #[inline(always)]
    fn with_quarters(&self, count: W, factor: W) -> W {
        let s = fast_two_sum(count * W::num(FRAC_PI_2), self.root * factor);
        s.hi + self.rest.mul_add(factor, count.mul_add(W::num(HALF_PI_LOW), s.lo))
    }
}

/// asin x, NaN outside [-1, 1].
#[inline(always)]
pub(crate) fn asin<V: Lane>(x: V) -> V {
    if is_short::<V>() {
        return single::asin(x);
    }
    let x = x.widen();
    let arc = Arc::of(x.abs());
    let large = arc.with_quarters(Arithmetic::num(1.0), Arithmetic::num(-2.0));
    V::narrow(Arithmetic::select(arc.halved, large, arc.root + arc.rest).mul_sign(x))
}

/// acos x, NaN outside [-1, 1].
#[inline(always)]
pub(crate) fn acos<V: Lane>(x: V) -> V {
    if is_short::<V>() {
        return single::acos(x);
    }
    let x = x.widen();
    let arc = Arc::of(x.abs());
    let (zero, one, two) = (V::Wide::num(0.0), V::Wide::num(1.0), V::Wide::num(2.0));
    let behind = V::Wide::select(x.is_negative(), two, zero);
    let count = V::Wide::select(arc.halved, behind, one);
    let factor = V::Wide::select(arc.halved, -two, one).mul_sign(-x);
    V::narrow(arc.with_quarters(count, factor))
}

/// The angle in [0, π/2] whose tangent is `n / d`, as a double word; neither is negative, and the larger one
/// is far from overflow and underflow.
#[inline(always)]
fn first_quadrant<W: Lane<Elem = f64>>(n: W, d: W) -> Dw<W> {
    let diagonal = n.gt(d * W::num(BORDERS.0));
    let steep = n.gt(d * W::num(BORDERS.1));
    let numerator = Dw::select(steep, (-d).into(), Dw::select(diagonal, two_sum(n, -d), n.into()));
    let denominator = Dw::select(steep, n.into(), Dw::select(diagonal, two_sum(n, d), d.into()));
    let zero = W::num(0.0);
    let base = W::select(steep, W::num(FRAC_PI_2), W::select(diagonal, W::num(FRAC_PI_4), zero));
    let base_low =
        W::select(steep, W::num(HALF_PI_LOW), W::select(diagonal, W::num(HALF_PI_LOW / 2.0), zero));
    let q = numerator.div(denominator);
    let z = q.hi * q.hi;
    let rest = (q.hi * z).mul_add(poly(z, &ATAN), q.lo.mul_add(-z, q.lo));
    let s = two_sum(base, q.hi);
    fast_two_sum(s.hi, s.lo + (base_low + rest))
}

/// atan x.
#[inline(always)]
pub(crate) fn atan<V: Lane>(x: V) -> V {
    if is_short::<V>() {
        return single::atan(x);
    }
    V::narrow(long_atan(x.widen()))
}

#[inline(always)]
fn long_atan<W: Lane<Elem = f64>>(x: W) -> W {
    let one = W::num(1.0);
    // Beyond 2^100 the angle is π/2 to the last bit; NaN stays.
    let size = W::num(1.2676506002282294e30).min(x.abs());
    let place = W::num(15.9).min(size.mul_add(W::num(PLACES), one)).to_bits() >> (f64::SIGNIFICAND - 2);
    let (centre, angle) = (W::lookup(&CENTRES, place), W::lookup(&ANGLES, place));
    let q = (size - centre) / size.mul_add(centre, one);
    let z = q * q;
    let sum = fast_two_sum(angle, q);
    (sum.hi + (q * z).mul_add(poly(z, &ATAN_NEAR), sum.lo)).mul_sign(x)
}

/// The angle of the point (x, y), in [-π, π].
#[inline(always)]
pub(crate) fn atan2<V: Lane>(y: V, x: V) -> V {
    let (y, x) = (y.widen(), x.widen());
    if is_short::<V>() {
        return V::narrow(Arithmetic::select(x.is_nan() | y.is_nan(), x + y, short::atan2(y, x)));
    }
    V::narrow(angle_of(y, x).hi)
}

/// [`atan2`] with a low word.
#[inline(always)]
pub(super) fn angle_of<W: Lane<Elem = f64>>(y: W, x: W) -> Dw<W> {
    let (zero, one) = (W::num(0.0), W::num(1.0));
    let (n, d) = (y.abs(), x.abs());
    // Only the quotient counts: infinities become 1 beside a finite 0, and 0 / 0 becomes 0 / 1.
    let infinity = W::num(f64::INFINITY);
    let (n_infinite, d_infinite) = (n.eq(infinity), d.eq(infinity));
    let infinite = n_infinite | d_infinite;
    let n = W::select(infinite, W::select(n_infinite, one, zero), n);
    let d = W::select(infinite, W::select(d_infinite, one, zero), d);
    let d = W::select(n.eq(zero) & d.eq(zero), one, d);
    // 2^600 brings every extreme pair into the middle of the range.
    let (up, down) = (W::num(4.149515568880993e180), W::num(2.409919865102884e-181));
    let largest = n.max(d);
    let small = largest.lt(down);
    let large = largest.gt(up);
    let scale = W::select(small, up, W::select(large, down, one));
    let angle = first_quadrant(n * scale, d * scale);
    // Scaling may have rounded a tiny numerator; the unscaled quotient is exact there.
    let tiny = n.lt(d * W::num(f64::EPSILON * f64::EPSILON));
    let front = Dw::select(tiny, (n / d).into(), angle);
    let pi = Dw::<W>::splat(PI);
    let behind = fast_two_difference(pi.hi, angle.hi);
    let behind = fast_two_sum(behind.hi, behind.lo + (pi.lo - angle.lo));
    let result = Dw::select(x.is_negative(), behind, front);
    let result = Dw { hi: result.hi.mul_sign(y), lo: result.lo.mul_sign(y) };
    Dw::select(x.is_nan() | y.is_nan(), (x + y).into(), result)
}

/// Multiplies by a constant of two positive words, so that no infinity is added to its negative; it is given
/// in words of `f64` and of `f32`.
#[inline(always)]
fn convert<V: Lane>(x: V, long: (f64, f64), short: (f64, f64)) -> V {
    if !is_short::<V>() {
        return multiply(x, long);
    }
    // The low word of a small product would be subnormal.
    rare!(x.abs().lt(V::num(2f64.powi(-80))), multiply(x, short), tiny_product(x, short))
}

#[inline(always)]
fn multiply<V: Lane>(x: V, (hi, lo): (f64, f64)) -> V {
    x.mul_add(V::num(hi), x * V::num(lo))
}

/// Degrees to radians: x · π/180.
#[inline(always)]
pub(crate) fn deg2rad<V: Lane>(x: V) -> V {
    let long = (0.017453292519943295, 2.9486522708701687e-19);
    convert(x, long, (0.01745329238474369, 1.3519960527851425e-10))
}

/// Radians to degrees: x · 180/π.
#[inline(always)]
pub(crate) fn rad2deg<V: Lane>(x: V) -> V {
    let long = (57.295779513082316, 5.117577790543373e-15);
    convert(x, long, (57.2957763671875, 3.1458948207416e-6))
}
