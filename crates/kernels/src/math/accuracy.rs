//! Measures the functions of one argument on every number of `f16` and `bf16` and on a sample of `f32`, and holds the
//! results to what `docs/accuracy.md` says; an ignored test measures every `f32`. Reads that document for the tests
//! against MPFR, too (`ulp`, `special_ulp`).
//!
//! The measure here is the same function in `f64`, which those tests hold below one unit in the last place: 2^-29 of one
//! in `f32`, so that four decimals are certain.

use half::{bf16, f16};

use super::ulp::Measured;
#[cfg(not(debug_assertions))]
use crate::{
    isa::{self, Isa},
    lane::{Bits, Lane, Mask, avx512},
    math::Real,
};

const DOCUMENT: &str = include_str!("../../../../docs/accuracy.md");

/// The numbers of a function's row in the document, in the table whose heading starts with `heading`.
pub(super) fn documented<const N: usize>(heading: &str, name: &str) -> [f64; N] {
    let table =
        DOCUMENT.split("\n\n").find(|table| table.starts_with(heading)).expect("the document has the table");
    let row = format!("| `{name}` |");
    let row =
        table.lines().find_map(|line| line.strip_prefix(&row)).expect("the table has a row for the function");
    let mut cells = row.split('|').map(|cell| cell.trim().parse().expect("a cell is a number"));
    std::array::from_fn(|_| cells.next().expect("the row has a number in each column"))
}

/// The headings of the document's tables: of functions of one real argument, of several, and of complex ones.
pub(super) const UNARY: &str = "| function | `f32` |";
pub(super) const BINARY: &str = "| function of several arguments |";
pub(super) const COMPLEX: &str = "| complex function |";

/// One function, alone and in registers.
struct Function {
    name: &'static str,
    single: fn(f32) -> f32,
    double: fn(f64) -> f64,
}

macro_rules! functions {
    ($($name:ident)*) => {
        const FUNCTIONS: &[Function] = &[$(Function {
            name: stringify!($name),
            single: super::$name,
            double: super::$name,
        }),*];

        /// Each takes a minute, and is only built with optimisation:
        /// `cargo test --release -p zerostride-kernels --lib every_f32 -- --ignored --nocapture --test-threads 1`.
        #[cfg(not(debug_assertions))]
        mod every_f32_is_within_the_documented_error_and_one_has_it {
            use super::super as math;
            use super::*;

            $(#[test]
            #[ignore = "looks at 2^32 numbers"]
            fn $name() {
                let mut worst = None;
                #[cfg(target_arch = "x86_64")]
                isa::run_on(Isa::Avx512, || {
                    worst = Some(search::<avx512::F32x16>(stringify!($name), |x| math::$name(x), |x| math::$name(x)));
                });
                check(stringify!($name), worst.unwrap_or_else(|| search::<f32>(stringify!($name), math::$name, math::$name)));
            })*
        }
    };
}

functions! {
    acos acosh asin asinh atan atanh cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 gelu gelu_tanh i0 lgamma log
    log10 log1p log2 logit rad2deg rsqrt sigmoid silu sin sinc sinh tan tanh
}

/// The true value as the nearest number of a format and what that misses in units in the last place.
fn error(function: &Function, x: f32) -> f64 {
    let want = (function.double)(x.into());
    let nearest = want as f32;
    let missing = if nearest.is_finite() && want.is_finite() {
        (want - f64::from(nearest)) / last_place(nearest)
    } else {
        0.0
    };
    f32::ulps((function.single)(x), nearest, missing)
}

/// The distance to the next number from zero.
fn last_place(x: f32) -> f64 {
    f64::from(f32::from_bits(x.abs().to_bits() + 1)) - f64::from(x.abs())
}

/// An error as the document writes it.
#[cfg(not(debug_assertions))]
fn rounded_up(error: f64) -> f64 {
    (error * 1000.0).ceil() / 1000.0
}

/// Whether a result of a half type is the nearest number of its format, which has `digits` significant bits and whose
/// last place is 2^`least` at the smallest; `largest` is its largest number.
fn is_nearest(got: f64, want: f64, digits: i32, least: i32, largest: f64) -> bool {
    if want.is_nan() || got.is_nan() {
        return want.is_nan() && got.is_nan();
    }
    let exponent = super::frexp(want).1 as i32;
    let unit = 2f64.powi((exponent - digits).max(least));
    let nearest = (want / unit).round_ties_even() * unit;
    let nearest = if nearest.abs() > largest { f64::INFINITY.copysign(want) } else { nearest };
    got == nearest && got.is_sign_negative() == want.is_sign_negative()
}

/// How many numbers of a half type have a result other than the nearest one.
fn misrounded(function: &Function) -> [f64; 2] {
    let mut counts = [0.0; 2];
    for bits in 0..=u16::MAX {
        let x = f16::from_bits(bits).to_f32();
        let (got, want) = (f16::from_f32((function.single)(x)), (function.double)(x.into()));
        if !is_nearest(got.into(), want, 11, -24, f16::MAX.into()) {
            counts[0] += 1.0;
        }
        let x = bf16::from_bits(bits).to_f32();
        let (got, want) = (bf16::from_f32((function.single)(x)), (function.double)(x.into()));
        if !is_nearest(got.into(), want, 8, -133, bf16::MAX.into()) {
            counts[1] += 1.0;
        }
    }
    counts
}

#[test]
fn results_in_f16_and_bf16_are_the_nearest_but_for_the_documented_count() {
    for function in FUNCTIONS {
        let [_, _, f16, bf16] = documented(UNARY, function.name);
        assert_eq!(misrounded(function), [f16, bf16], "{}", function.name);
    }
}

#[test]
fn a_sample_of_all_f32_is_within_the_documented_error() {
    for function in FUNCTIONS {
        let [bound, ..] = documented::<4>(UNARY, function.name);
        for bits in (0..=u32::MAX).step_by(65_537) {
            let x = f32::from_bits(bits);
            let error = error(function, x);
            assert!(error <= bound, "{}({x:?}) is off by {error} ULP", function.name);
        }
    }
}

/// Holds the largest error that a search found, and where, against the document.
#[cfg(not(debug_assertions))]
fn check(name: &str, (worst, at): (f64, f32)) {
    println!("{name}: {worst} at {at:?}");
    let [documented, ..] = documented::<4>(UNARY, name);
    assert_eq!(documented, rounded_up(worst), "{name} at {at:?}");
}

/// The largest error over all bit patterns and where it is, given the function on registers of `f32` and of `f64`. It is
/// at least a half: results that are the nearest numbers are not looked at more closely.
#[cfg(not(debug_assertions))]
#[inline(always)]
fn search<V: Real<Elem = f32>>(
    name: &str,
    single: impl Fn(V) -> V,
    double: impl Fn(V::Wide) -> V::Wide,
) -> (f64, f32) {
    let function = FUNCTIONS.iter().find(|function| function.name == name).expect("the function is listed");
    let mut worst = (0.5, f32::NAN);
    for first in (0..1 << 32).step_by(V::LEN) {
        let number = |i: usize| f32::from_bits((first + i as u64) as u32);
        let x = V::from_fn(number);
        let (got, want) = (single(x), double(x.widen()));
        let nearest = V::narrow(want);
        let differs = !(got.to_bits().eq(nearest.to_bits()) | (got.is_nan() & nearest.is_nan()));
        if !differs.any() {
            continue;
        }
        // In units of the last place of the true value, which is that of its nearest number or half of it: too large at
        // times, never too small. What is no number here is a special value missed, and is looked at too.
        let exponent = want.to_bits() & (<V::Wide as Lane>::Bits::splat(0x7ff) << 52);
        let unit = <V::Wide as Lane>::num(2f64.powi(-126)).max(Lane::from_bits(exponent))
            * Lane::num(2f64.powi(-23));
        let about = V::narrow((got.widen() - want).abs() / unit);
        if (differs & !about.le(V::num(worst.0 * 0.999_999))).any() {
            let errors = (0..V::LEN).map(|i| (error(function, number(i)), number(i)));
            worst = errors.fold(worst, |worst, one| if one.0 > worst.0 { one } else { worst });
        }
    }
    worst
}
