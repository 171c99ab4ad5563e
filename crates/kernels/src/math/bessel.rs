//! Owns the modified Bessel functions of the first kind and orders 0 and 1, `i0` and `i1`.
//!
//! The constants come from `coefficients/trig_special.py`.

use super::clamp;
use super::dw::{Dw, two_prod};
use super::exp::Exponential;
use super::horner::Polynomial;
use crate::lane::{Arithmetic, Lane};

/// I0(x) as a polynomial in x²/4 for |x| up to 12; all terms are positive, and many are of similar size.
const I0: Polynomial<12, 11> = Polynomial {
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
const I0_TAIL: Polynomial<3, 15> = Polynomial {
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
/// I1(x) / (x/2) as a polynomial in x²/4 for |x| up to 12.
const I1: Polynomial<12, 11> = Polynomial {
    leading: [
        (1.0, 0.0),
        (0.5, -6.6291793264137355e-25),
        (0.08333333333333333, 4.6259350503224394e-18),
        (0.006944444444444444, 3.8547693754299435e-19),
        (0.00034722222222222224, -1.3226055177104431e-20),
        (1.1574074074074073e-05, 5.527964794445249e-22),
        (2.7557319223985894e-07, -1.6846360981710937e-23),
        (4.920949861426047e-09, -1.0792342343012603e-25),
        (6.834652585314096e-11, -6.018571591875218e-27),
        (7.594058428123819e-13, -3.8770966962705955e-29),
        (6.903689480159816e-15, 6.468914106443664e-32),
        (5.2300677874132003e-17, -2.9273741966274088e-33),
    ],
    rest: [
        3.352607561755762e-19,
        1.8420920227047127e-21,
        8.771869490188977e-24,
        3.6549323381069965e-26,
        1.3437766958038669e-28,
        4.389849843741138e-31,
        1.2873310247644715e-33,
        3.31994405889128e-36,
        8.803940641116154e-39,
        1.0800718860766275e-41,
        6.815566269287097e-44,
    ],
};
/// exp(-x) · √x · I1(x) as a polynomial in 1/x for x from 12.
const I1_TAIL: Polynomial<3, 15> = Polynomial {
    leading: [
        (0.3989422804014327, -7.605924791037699e-18),
        (-0.14960335515057382, -4.5332032026687165e-18),
        (-0.04675104845618339, 9.705065828967796e-19),
    ],
    rest: [
        -0.040907178537903315,
        -0.0575231444401354,
        -0.11111625395878406,
        -0.23157006950221992,
        -3.549539535020169,
        141.55299948272594,
        -5620.972185873926,
        163252.69657259076,
        -3563717.0893958225,
        57888969.81652368,
        -688188318.1661607,
        5796596501.582823,
        -32647260154.77515,
        109791017557.63675,
        -165947456016.7717,
    ],
};
const TAIL_FROM: f64 = 12.0;

/// The modified Bessel function I0; NaN at both infinities as in PyTorch, whose formula divides them.
#[inline(always)]
pub(crate) fn i0<V: Lane>(x: V) -> V {
    let x = x.widen();
    V::narrow(modified_bessel(x.abs(), <V::Wide as Arithmetic>::num(1.0), &I0, &I0_TAIL))
}

/// The modified Bessel function I1, the derivative of I0; NaN at both infinities as in PyTorch.
#[inline(always)]
pub(crate) fn i1<V: Lane>(x: V) -> V {
    let x = x.widen();
    let size = x.abs();
    let half = size * <V::Wide as Arithmetic>::num(0.5);
    V::narrow(modified_bessel(size, half, &I1, &I1_TAIL).mul_sign(x))
}

/// The function of a positive argument: `first` times the polynomial of the centre, or the tail.
#[inline(always)]
fn modified_bessel<W: Lane<Elem = f64>>(
    size: W,
    first: W,
    centre: &Polynomial<12, 11>,
    tail: &Polynomial<3, 15>,
) -> W {
    let is_tail = size.gt(W::num(TAIL_FROM));
    let near = clamp(size, 0.0, TAIL_FROM);
    let centre = centre.at(two_prod(near, near).scale(W::num(0.25))) * first;

    // Past 720 the result overflows.
    let far = clamp(size, TAIL_FROM, 720.0);
    let e = Exponential::of(far.into());
    let tail = tail.at(Dw::from(W::num(1.0)).div(far.into()));
    let tail = (e.significand() * tail).div(Dw::from(far).sqrt());

    let result = W::select(is_tail, tail.hi.ldexp(e.n), centre.hi);
    W::select(size.lt(W::num(f64::INFINITY)), result, W::num(f64::NAN))
}
