//! Owns the modified Bessel function of the first kind and order 0, `i0`.
//!
//! The constants come from `coefficients/trig_special.py`.

use super::clamp;
use super::dw::{Dw, two_prod};
use super::exp::Exponential;
use super::horner::Polynomial;
use crate::lane::Lane;

/// I0(x) as a polynomial in x²/4 for |x| up to 12; all terms are positive, and many are of similar size.
const CENTRE: Polynomial<12, 11> = Polynomial {
    leading: [
        (1.0, 0.0),
        (1.0, -5.2632391559127916e-24),
        (0.25, 5.2768329151042396e-23),
        (0.027777777777777776, 1.5418000334118916e-18),
        (0.001736111111111111, 9.666135537129473e-20),
        (6.944444444444444e-05, -2.122831931787336e-22),
        (1.9290123456790124e-06, 1.2011739189690913e-22),
        (3.9367598891408345e-08, 1.6903679119899712e-24),
        (6.15118732678277e-10, 1.462409432248734e-27),
        (7.594058428122097e-12, 4.102275766890485e-28),
        (7.594058428202383e-14, -1.370743565150478e-30),
        (6.276081344580002e-16, 4.769942395192704e-32),
    ],
    rest: [
        4.358389833201817e-18,
        2.5789288106445316e-20,
        1.315780543843035e-22,
        5.847886368039834e-25,
        2.2844390957769457e-27,
        7.901227635324436e-30,
        2.446945340964658e-32,
        6.624888324258912e-35,
        1.8640442639987597e-37,
        2.281347112282989e-40,
        1.5949187643218313e-42,
    ],
};
/// exp(-x) · √x · I0(x) as a polynomial in 1/x for x from 12.
const TAIL: Polynomial<3, 15> = Polynomial {
    leading: [
        (0.39894228040143265, 1.966327780333596e-17),
        (0.04986778505020514, 9.322046499655136e-19),
        (0.028050629068898138, -5.286748268624663e-19),
    ],
    rest: [
        0.02921941429887493,
        0.0447400694078519,
        0.09092884826712752,
        0.19481786002858179,
        3.1362845630248546,
        -127.29665850328436,
        5101.83886886915,
        -149377.55640311612,
        3283178.968357096,
        -53646555.70098894,
        641029162.3841426,
        -5423772194.882311,
        30670060607.2445,
        -103512814657.00348,
        156966463581.2164,
    ],
};
const TAIL_FROM: f64 = 12.0;

/// The modified Bessel function I0; NaN at both infinities as in PyTorch, whose formula divides them.
#[inline(always)]
pub(crate) fn i0<V: Lane>(x: V) -> V {
    V::narrow(modified_bessel(x.widen()))
}

#[inline(always)]
fn modified_bessel<W: Lane<Elem = f64>>(x: W) -> W {
    let size = x.abs();
    let is_tail = size.gt(W::num(TAIL_FROM));
    let near = clamp(size, 0.0, TAIL_FROM);
    let centre = CENTRE.at(two_prod(near, near).scale(W::num(0.25)));

    // Past 720 the result overflows.
    let far = clamp(size, TAIL_FROM, 720.0);
    let e = Exponential::of(far.into());
    let tail = TAIL.at(Dw::from(W::num(1.0)).div(far.into()));
    let tail = (e.significand() * tail).div(Dw::from(far).sqrt());

    let result = W::select(is_tail, tail.hi.ldexp(e.n), centre.hi);
    W::select(size.lt(W::num(f64::INFINITY)), result, W::num(f64::NAN))
}
