//! Holds the errors of real functions, in ULPs, to `docs/accuracy.md`, against correctly rounded results
//! (`spec/golden/math`, where `explog.py` describes the files).

use std::path::Path;

use super::accuracy::{BINARY, UNARY, documented};
use crate::math::{self, Real};

/// An element type whose results can be read and compared.
pub(super) trait Measured: Real<Elem = Self> + std::fmt::Debug {
    const NAME: &'static str;
    const BYTES: usize;

    fn read(bytes: &[u8]) -> Self;
    /// The distance from `got` to the true value, which is `missing` ULPs above `want`. Infinite where a
    /// special value is missed: NaN, an infinity, the sign of zero.
    fn ulps(got: Self, want: Self, missing: f64) -> f64;
}

macro_rules! measured {
    ($float:ident, $bits:ident) => {
        impl Measured for $float {
            const NAME: &'static str = stringify!($float);
            const BYTES: usize = size_of::<$float>();

            fn read(bytes: &[u8]) -> Self {
                $float::from_le_bytes(bytes.try_into().expect("a chunk of one element"))
            }

            fn ulps(got: Self, want: Self, missing: f64) -> f64 {
                if want.is_nan() || got.is_nan() {
                    return if want.is_nan() && got.is_nan() { 0.0 } else { f64::INFINITY };
                }
                if want.is_sign_negative() != got.is_sign_negative() {
                    return f64::INFINITY;
                }
                // Among floats of one sign, the bits count the steps, even from the largest one to infinity.
                let steps = got.to_bits().abs_diff(want.to_bits());
                if steps > 1 << 20 {
                    return f64::INFINITY;
                }
                let sign = if want.is_sign_negative() { -1.0 } else { 1.0 };
                let signed = if got.to_bits() < want.to_bits() { -(steps as f64) } else { steps as f64 };
                if want.is_infinite() { steps as f64 } else { (signed * sign - missing).abs() }
            }
        }
    };
}

measured!(f32, u32);
measured!(f64, u64);

/// The largest error of `function` over the rows of its file, printed with where it is.
pub(super) fn worst<T: Measured, const N: usize>(name: &str, function: impl Fn([T; N]) -> T) -> f64 {
    let file = format!("../../spec/golden/math/{name}.{}.bin", T::NAME);
    let bytes = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(&file))
        .unwrap_or_else(|error| panic!("{file}: {error}; `cargo xtask golden math` writes it"));
    let rows = bytes.len() / ((N + 1) * T::BYTES + 1);
    assert_eq!(bytes.len(), rows * ((N + 1) * T::BYTES + 1));
    let (values, missing) = bytes.split_at(rows * (N + 1) * T::BYTES);
    let values: Vec<T> = values.chunks_exact(T::BYTES).map(T::read).collect();

    let mut worst = (0.0, None);
    for row in 0..rows {
        let arguments: [T; N] = std::array::from_fn(|i| values[i * rows + row]);
        let (got, want) = (function(arguments), values[N * rows + row]);
        let error = T::ulps(got, want, f64::from(missing[row] as i8) / 254.0);
        if error > worst.0 {
            worst = (error, Some((arguments, got, want)));
        }
    }
    match worst.1 {
        Some((arguments, got, want)) => {
            println!("{name:<10} {} {:.3} at {arguments:?}: {got:?}, not {want:?}", T::NAME, worst.0);
        }
        None => println!("{name:<10} {} exact", T::NAME),
    }
    worst.0
}

macro_rules! bounds {
    ($heading:expr; $($name:ident($($x:ident),+))*) => {$(
        #[test]
        fn $name() {
            let single = worst(stringify!($name), |[$($x),+]: [f32; bounds!(@count $($x)+)]| $crate::math::$name($($x),+));
            let double = worst(stringify!($name), |[$($x),+]: [f64; bounds!(@count $($x)+)]| $crate::math::$name($($x),+));
            let [f32, f64] = documented($heading, stringify!($name));
            assert!(single <= f32 && double <= f64, "{single} and {double} ULP");
        }
    )*};
    (@count $x:ident) => { 1 };
    (@count $x:ident $y:ident) => { 2 };
}

/// The functions of one argument.
macro_rules! unary_bounds {
    (unary { $($unary:ident)* } binary { $($binary:ident)* }) => {
        bounds! { UNARY; $($unary(x))* }
    };
}

math::for_each_function!(unary_bounds);

bounds! {
    BINARY;
    atan2(y, x) pow(x, y) hypot(x, y) xlogy(x, y) logaddexp(x, y) logaddexp2(x, y)
}

#[test]
fn softplus() {
    let single = worst("softplus", |[x, beta]: [f32; 2]| math::softplus(x, beta, 20.0));
    let double = worst("softplus", |[x, beta]: [f64; 2]| math::softplus(x, beta, 20.0));
    let [f32, f64] = documented(BINARY, "softplus");
    assert!(single <= f32 && double <= f64, "{single} and {double} ULP");
}
