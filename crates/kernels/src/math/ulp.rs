//! Measures the exponential and logarithmic functions against correctly rounded answers (`spec/golden/math`,
//! where `explog.py` says what the files hold) and asserts how far off each may be, in units in the last
//! place.
//!
//! A bound covers every value tried, these and denser sweeps: 0.75 is what rounding a second time to a
//! subnormal number costs. The bounds may only shrink.

use std::path::Path;

use super::*;

/// An element type whose answers can be read and compared.
pub(super) trait Measured: Real<Elem = Self> + std::fmt::Debug {
    const NAME: &'static str;
    const BYTES: usize;

    fn read(bytes: &[u8]) -> Self;
    /// The distance from `got` to the true value, which is `missing` last places above `want`. Infinite where
    /// a special value is missed: NaN, an infinity, the sign of zero.
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
                // Among floats of one sign, the bits count the steps, also from the largest one to infinity.
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
    let bytes = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(file))
        .expect("the golden answers are there");
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
    ($($name:ident($($x:ident),+) $f32:literal $f64:literal;)*) => {$(
        #[test]
        fn $name() {
            let single = worst(stringify!($name), |[$($x),+]: [f32; bounds!(@count $($x)+)]| super::$name($($x),+));
            let double = worst(stringify!($name), |[$($x),+]: [f64; bounds!(@count $($x)+)]| super::$name($($x),+));
            assert!(single <= $f32 && double <= $f64, "{single} and {double} ULP");
        }
    )*};
    (@count $x:ident) => { 1 };
    (@count $x:ident $y:ident) => { 2 };
}

pub(super) use bounds;

bounds! {
    // name          f32   f64
    exp(x)           0.90  0.75;
    exp2(x)          0.88  0.75;
    expm1(x)         0.72  0.72;
    log(x)           0.92  0.51;
    log2(x)          0.80  0.51;
    log10(x)         0.51  0.51;
    log1p(x)         0.92  0.51;
    sinh(x)          0.54  0.56;
    cosh(x)          0.52  0.52;
    tanh(x)          0.96  0.55;
    sigmoid(x)       0.76  0.75;
    silu(x)          0.76  0.75;
    asinh(x)         0.51  0.51;
    acosh(x)         0.51  0.51;
    atanh(x)         0.51  0.51;
    logit(x)         0.51  0.51;
    rsqrt(x)         0.51  0.51;
    pow(x, y)        0.76  0.75;
    hypot(x, y)      0.51  0.51;
    xlogy(x, y)      0.75  0.75;
    logaddexp(x, y)  0.51  0.51;
    logaddexp2(x, y) 0.51  0.75;
}

#[test]
fn softplus() {
    let single = worst("softplus", |[x, beta]: [f32; 2]| super::softplus(x, beta, 20.0));
    let double = worst("softplus", |[x, beta]: [f64; 2]| super::softplus(x, beta, 20.0));
    assert!(single <= 0.75 && double <= 0.75, "{single} and {double} ULP");
}
