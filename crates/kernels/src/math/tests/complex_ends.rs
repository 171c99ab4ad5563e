//! Holds the complex functions to PyTorch's results on zeros, infinities and NaN (`spec/golden/math`, where
//! `complex_ends.py` describes the files).

use std::path::Path;

use num_complex::Complex64;

use crate::math::complex;

/// The rows of a file as complex numbers: the arguments, then the result.
fn rows(name: &str, arguments: usize) -> Vec<Vec<Complex64>> {
    let file = format!("../../spec/golden/math/{name}.ends.bin");
    let bytes = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(file))
        .expect("the golden answers are there");
    let values: Vec<f64> = bytes
        .chunks_exact(8)
        .map(|chunk| f64::from_le_bytes(chunk.try_into().expect("eight bytes")))
        .collect();
    let count = values.len() / (2 * arguments + 2);
    let number = |row, pair: usize| {
        Complex64::new(values[2 * pair * count + row], values[(2 * pair + 1) * count + row])
    };
    (0..count).map(|row| (0..=arguments).map(|pair| number(row, pair)).collect()).collect()
}

/// NaN for NaN, signs of zeros included; finite values are tested elsewhere.
fn agree(got: f64, want: f64) -> bool {
    let near = got.is_finite()
        && want.is_finite()
        && want != 0.0
        && (got - want).abs() < 1e-12 * want.abs().max(1.0);
    (got.is_nan() && want.is_nan())
        || (got == want && got.is_sign_negative() == want.is_sign_negative())
        || near
}

/// Where PyTorch is not followed.
fn is_exception(name: &str, z: Complex64, got: Complex64) -> bool {
    match name {
        // Its complex128 drops the sign of a zero imaginary part; its complex64 and C99 keep it.
        "acos" => z.im == 0.0 && got.im == 0.0,
        // It rounds πz first, so that it is not 0 at integers.
        "sinc" => z.im == 0.0 && z.re.fract() == 0.0,
        // Its division loses the sign that this zero takes.
        "silu" => z.re == 0.0 && z.im == 0.0,
        _ => false,
    }
}

macro_rules! ends {
    ($($name:ident($($x:ident),+);)*) => {$(
        #[test]
        fn $name() {
            for row in rows(stringify!($name), [$(stringify!($x)),+].len()) {
                let [$($x),+, want] = row[..] else { unreachable!("the rows have that many numbers") };
                let got = complex::$name($($x),+);
                assert!(
                    (agree(got.re, want.re) && agree(got.im, want.im)) || is_exception(stringify!($name), row[0], got),
                    "{}: {row:?}, not {got:?}", stringify!($name),
                );
            }
        }
    )*};
}

ends! {
    sgn(z); reciprocal(z); sqrt(z); rsqrt(z); exp(z); exp2(z); expm1(z); log(z); log2(z); log10(z); log1p(z);
    sigmoid(z); silu(z); sin(z); cos(z); tan(z); sinh(z); cosh(z); tanh(z); sinc(z); asin(z); acos(z); atan(z);
    asinh(z); acosh(z); atanh(z); mul(a, b); div(a, b); logaddexp(a, b);
}

#[test]
fn the_zero_of_tanh_has_its_sign_where_twice_the_argument_is_infinite() {
    // PyTorch 2.15's signs.
    for (y, is_negative) in
        [(f64::MAX, true), (1.6e308, false), (1e308, true), (9.5e307, true), (1e300, false)]
    {
        for x in [f64::INFINITY, f64::NEG_INFINITY] {
            for (y, is_negative) in [(y, is_negative), (-y, !is_negative)] {
                let got = complex::tanh(Complex64::new(x, y));
                assert!(got.im == 0.0 && got.im.is_sign_negative() == is_negative, "{x} {y}: {got:?}");
            }
        }
    }
}

#[test]
fn a_power_of_zero_has_the_same_signs_on_every_processor() {
    // The angle of the power is 0 times infinity, a NaN whose sign is the processor's.
    for exponent in [2.0, 0.5, 3.0] {
        let got = complex::pow(Complex64::new(0.0, 0.0), Complex64::new(exponent, 0.0));
        assert_eq!([got.re, got.im].map(f64::to_bits), [0.0, -0.0].map(f64::to_bits), "{exponent}: {got:?}");
    }
}
