//! Holds the quotients of numbers whose parts are `f32` to those of their `f64` neighbours, and their
//! products to PyTorch's bits.

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

#[test]
fn products_have_the_bits_of_pytorch() {
    // Products of PyTorch 2.15, of 32 numbers at once. Those of f64, rounded, differ in both parts.
    let cancelling = [
        ([0x3f80_cfbf, 0x3f80_15ed, 0x3f80_2df0, 0x3f80_3c9f], [0x3bab_6400, 0x4000_a852]),
        ([0x3f80_0a16, 0x3f80_1818, 0x3f80_550b, 0x3f80_6ee1], [0xba9f_9800, 0x4000_731a]),
        ([0x3f80_b101, 0x3f80_bc0d, 0x3f80_085e, 0x3f80_1d19], [0xba7f_3000, 0x4000_c95c]),
        ([0x3f80_850b, 0x3f80_5fce, 0x3f80_40ef, 0x3f80_1742], [0x3b1e_3800, 0x4000_9eaa]),
    ];
    for (parts, want) in cancelling {
        let [a, b, c, d] = parts.map(f32::from_bits);
        let got = complex::mul(Complex32::new(a, b), Complex32::new(c, d));
        assert_eq!([got.re, got.im].map(f32::to_bits), want);
    }
    let square = |z| complex::mul(z, z);
    let beyond = square(Complex32::new(1e30, 1e30));
    assert!(beyond.re.is_nan() && beyond.im == f32::INFINITY, "{beyond}");
    assert_eq!(square(Complex32::new(1e-30, 1e-30)), Complex32::new(0.0, 0.0));
}
