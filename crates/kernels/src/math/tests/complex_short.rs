//! Holds the quotients of numbers whose parts are `f32` to those of their `f64` neighbours.

use num_complex::{Complex32, Complex64};

use crate::math::complex::{self, short};

const SPECIAL: [f32; 12] = [
    0.0,
    -0.0,
    1.0,
    -1.5,
    3.0e38,
    -2.0e-45,
    1.2e-38,
    7.1e19,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
    0.1,
];

/// Pairs of special numbers, and of products that nearly cancel.
fn pairs() -> impl Iterator<Item = [Complex32; 2]> {
    let count = SPECIAL.len();
    let special = move |i: usize, place: u32| SPECIAL[i / count.pow(place) % count];
    let near = |i: usize, place: usize| 1.0 + ((i * (place + 7) * 48_271) % 65_537) as f32 * 2f32.powi(-23);
    let all = (0..count.pow(4)).map(move |i| [0, 1, 2, 3].map(|place| special(i, place)));
    let cancelling = (0..20_000).map(move |i| [0, 1, 2, 3].map(|place| near(i, place)));
    all.chain(cancelling).map(|[a, b, c, d]| [Complex32::new(a, b), Complex32::new(c, d)])
}

/// NaN for NaN, signs of zeros included, and at most a neighbour.
fn agree(got: f32, want: f32) -> bool {
    let same = got == want && got.is_sign_negative() == want.is_sign_negative();
    (got.is_nan() && want.is_nan()) || same || got.next_up() == want || got.next_down() == want
}

#[test]
fn quotients_are_those_of_f64() {
    for [a, b] in pairs() {
        let [wide_a, wide_b] = [a, b].map(|z| Complex64::new(z.re.into(), z.im.into()));
        let (got, want) = (short::div(a, b), complex::div(wide_a, wide_b));
        let want = Complex32::new(want.re as f32, want.im as f32);
        assert!(agree(got.re, want.re) && agree(got.im, want.im), "{a} / {b} is {want}, not {got}");
    }
}
