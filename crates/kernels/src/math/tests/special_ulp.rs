//! Holds the errors of complex functions, and of the gamma functions at negative arguments, to
//! `docs/accuracy.md`, against correctly rounded results (`spec/golden/math`, where `special.py` describes
//! the files).

use std::path::Path;

use num_complex::Complex;

use super::accuracy::{COMPLEX, UNARY, documented};
use super::ulp::Measured;
use crate::math::{self, complex, ldexp};

/// The columns of numbers of a golden file, and the errors of the last ones in ULPs.
fn columns<T: Measured + Into<f64>>(
    file: &str,
    numbers: usize,
    results: usize,
) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/golden/math").join(file);
    let bytes = std::fs::read(path).expect("the golden answers are there");
    let rows = bytes.len() / (numbers * T::BYTES + results);
    assert_eq!(bytes.len(), rows * (numbers * T::BYTES + results));
    let (values, missing) = bytes.split_at(rows * numbers * T::BYTES);
    let values: Vec<f64> = values.chunks_exact(T::BYTES).map(|bytes| T::read(bytes).into()).collect();
    let missing: Vec<f64> = missing.iter().map(|&byte| f64::from(byte as i8) / 254.0).collect();
    (values.chunks(rows).map(<[f64]>::to_vec).collect(), missing.chunks(rows).map(<[f64]>::to_vec).collect())
}

/// The last place of a number in the format of so many bytes.
fn last_place(x: f64, bytes: usize) -> f64 {
    let (digits, least) = if bytes == 4 { (23, -149) } else { (52, -1074) };
    let exponent = if x == 0.0 { i32::MIN / 2 } else { math::frexp(x).1 as i32 - 1 };
    ldexp(1.0, f64::from((exponent - digits).max(least)))
}

/// How many units `got` is from the true value `want + missing`; infinite next to an infinity.
fn off_by(got: f64, want: f64, missing: f64, unit: f64) -> f64 {
    let difference = if got == want { 0.0 } else { got - want };
    difference / unit - missing / unit
}

/// The largest error at negative arguments, in ULPs of the result, or of 1 if that is larger: near a zero,
/// the terms that cancel have that size.
fn reflected<T: Measured + Into<f64>>(name: &str, function: impl Fn(f64) -> f64) -> f64 {
    let (values, missing) = columns::<T>(&format!("{name}_reflected.{}.bin", T::NAME), 2, 1);
    let mut worst = (0.0, 0.0);
    for (row, (&x, &want)) in values[0].iter().zip(&values[1]).enumerate() {
        let unit = last_place(want.abs().max(1.0), T::BYTES);
        let got = function(x);
        let error = off_by(got, want, missing[0][row] * last_place(want, T::BYTES), unit).abs();
        assert!(error.is_finite(), "{name} at {x:?}: {got:?}, not {want:?}");
        if error > worst.0 {
            worst = (error, x);
        }
    }
    println!("{name:<10} {} {:.3} at {:?}", T::NAME, worst.0, worst.1);
    worst.0
}

#[test]
fn lgamma_of_negative_arguments() {
    let single = reflected::<f32>("lgamma", |x| math::lgamma(x as f32).into());
    let double = reflected::<f64>("lgamma", math::lgamma);
    let [f32, f64] = documented(UNARY, "lgamma");
    assert!(single <= f32 && double <= f64, "{single} and {double} ULP");
}

#[test]
fn digamma_of_negative_arguments() {
    let single = reflected::<f32>("digamma", |x| math::digamma(x as f32).into());
    let double = reflected::<f64>("digamma", math::digamma);
    let [f32, f64] = documented(UNARY, "digamma");
    assert!(single <= f32 && double <= f64, "{single} and {double} ULP");
}

/// The largest distance in the complex plane, in ULPs of the larger part of the result.
fn worst_complex<T: Measured + Into<f64>>(
    name: &str,
    dtype: &str,
    arguments: usize,
    function: impl Fn(&[Complex<f64>]) -> Complex<f64>,
) -> f64 {
    let (values, missing) = columns::<T>(&format!("{name}.{dtype}.bin"), 2 * arguments + 2, 2);
    let mut worst = (0.0, None);
    for row in 0..values[0].len() {
        let at = |pair: usize| Complex::new(values[2 * pair][row], values[2 * pair + 1][row]);
        let z: Vec<_> = (0..arguments).map(at).collect();
        let (got, want) = (function(&z), at(arguments));
        let unit = last_place(want.re.abs().max(want.im.abs()), T::BYTES);
        let part = |got, want, missing| off_by(got, want, missing * last_place(want, T::BYTES), unit);
        let error = part(got.re, want.re, missing[0][row]).hypot(part(got.im, want.im, missing[1][row]));
        assert!(error.is_finite(), "{name} at {z:?}: {got:?}, not {want:?}");
        if error > worst.0 {
            worst = (error, Some((z, got, want)));
        }
    }
    println!("{name:<10} {dtype} {:.3} at {:?}", worst.0, worst.1);
    worst.0
}

macro_rules! complex_bounds {
    ($($name:ident($($x:ident),+))*) => {
        mod complex_functions {
            use super::*;

            $(#[test]
            fn $name() {
                let count = [$(stringify!($x)),+].len();
                let single = worst_complex::<f32>(stringify!($name), "c64", count, |z| {
                    let [$($x),+] = *z else { unreachable!("the rows have that many arguments") };
                    let w = complex::$name($($x),+);
                    Complex::new((w.re as f32).into(), (w.im as f32).into())
                });
                let double = worst_complex::<f64>(stringify!($name), "c128", count, |z| {
                    let [$($x),+] = *z else { unreachable!("the rows have that many arguments") };
                    complex::$name($($x),+)
                });
                let [c64, c128] = documented(COMPLEX, stringify!($name));
                assert!(single <= c64 && double <= c128, "{single} and {double} ULP");
            })*
        }
    };
}

complex_bounds! {
    sgn(z) reciprocal(z) sqrt(z) rsqrt(z) exp(z) exp2(z) expm1(z) log(z) log2(z) log10(z) log1p(z)
    sigmoid(z) silu(z) sin(z) cos(z) tan(z) sinh(z) cosh(z) tanh(z) sinc(z) asin(z) acos(z) atan(z) asinh(z)
    acosh(z) atanh(z) mul(a, b) div(a, b) pow(a, b) logaddexp(a, b)
}

/// Products and quotients of c64 have shorter forms than those above.
#[test]
fn short_products_and_quotients() {
    for (name, function) in [("mul", complex::mul as fn(_, _) -> _), ("div", complex::short::div)] {
        let error = worst_complex::<f32>(name, "c64", 2, |z| {
            let [a, b] = [z[0], z[1]].map(|z| Complex::new(z.re as f32, z.im as f32));
            let result: Complex<f32> = function(a, b);
            Complex::new(result.re.into(), result.im.into())
        });
        let [c64, _] = documented(COMPLEX, name);
        assert!(error <= c64, "{name}: {error} ULP");
    }
}
