//! Holds the functions of one argument to `docs/accuracy.md`, on every number of f16 and bf16 and on a sample
//! of `f32`. An ignored test measures every `f32`; the worst numbers it found are tried each time. This file
//! also reads that document for the tests against MPFR (`ulp`, `special_ulp`).
//!
//! The reference is the same function in `f64`, which those tests hold below one ULP: 2^-29 of one in `f32`,
//! so that four decimals are certain.

use half::{bf16, f16};

use super::ulp::Measured;
use crate::math;
#[cfg(not(debug_assertions))]
use {
    super::lanes,
    crate::isa::{self, Isa, Task},
    crate::lane::{AnyMask, Bits, Lane},
    crate::math::Real,
    std::marker::PhantomData,
};

const DOCUMENT: &str = include_str!("../../../../../docs/accuracy.md");

/// The numbers of a function's row in the document, in the table whose heading starts with `heading`.
pub(super) fn documented<const N: usize>(heading: &str, name: &str) -> [f64; N] {
    row(heading, name).unwrap_or_else(|| panic!("docs/accuracy.md has no row for {name} under {heading}"))
}

fn row<const N: usize>(heading: &str, name: &str) -> Option<[f64; N]> {
    let table =
        DOCUMENT.split("\n\n").find(|table| table.starts_with(heading)).expect("the document has the table");
    let start = format!("| `{name}` |");
    let row = table.lines().find_map(|line| line.strip_prefix(&start))?;
    let mut cells = row.split('|').map(|cell| cell.trim().parse().expect("a cell is a number"));
    Some(std::array::from_fn(|_| cells.next().expect("the row has a number in each column")))
}

/// The headings of the document's tables: functions of one real argument, those measured on every `f32`,
/// functions of several arguments, and complex functions.
pub(super) const UNARY: &str = "| function | `f32` |";
const EVERY: &str = "| function over every `f32` |";
pub(super) const BINARY: &str = "| function of several arguments |";
pub(super) const COMPLEX: &str = "| complex function |";

/// A function of one argument in the types that it is measured in.
struct Unary {
    name: &'static str,
    single: fn(f32) -> f32,
    double: fn(f64) -> f64,
}

macro_rules! functions {
    (unary { $($name:ident)* } binary { $($binary:ident)* }) => {
        const FUNCTIONS: &[Unary] = &[$(Unary {
            name: stringify!($name),
            single: math::$name,
            double: math::$name,
        }),*];

        /// Each takes a minute, and is only built with optimisation: `cargo test --release -p
        /// zerostride-kernels --lib every_f32 -- --ignored --nocapture --test-threads 1`.
        #[cfg(not(debug_assertions))]
        mod every_f32_is_within_the_documented_error {
            use super::*;

            $(#[test]
            #[ignore = "looks at 2^32 numbers"]
            fn $name() {
                struct Case;
                impl lanes::Function<1> for Case {
                    const NAME: &str = stringify!($name);

                    #[inline(always)]
                    fn at<V: Real>([x]: [V; 1]) -> V {
                        math::$name(x)
                    }
                }
                check::<Case>();
            })*
        }
    };
}

math::for_each_function!(functions);

/// The distance to the true value in ULPs; infinite where a special value is missed.
fn error(function: &Unary, x: f32) -> f64 {
    let (got, want) = ((function.single)(x), (function.double)(x.into()));
    let nearest = want as f32;
    if !got.is_finite() || !nearest.is_finite() || got.is_sign_negative() != want.is_sign_negative() {
        return f32::ulps(got, nearest, 0.0);
    }
    let power = f64::from_bits(want.to_bits() & (0x7ff << 52)).max(f32::MIN_POSITIVE.into());
    (f64::from(got) - want).abs() / (power * f64::from(f32::EPSILON))
}

/// Whether a result of f16 or bf16 is the nearest number of its format, which has `digits` significant bits,
/// 2^`least` as its smallest last place, and `largest` as its largest number.
fn is_nearest(got: f64, want: f64, digits: i32, least: i32, largest: f64) -> bool {
    if want.is_nan() || got.is_nan() {
        return want.is_nan() && got.is_nan();
    }
    let exponent = math::frexp(want).1 as i32;
    let unit = 2f64.powi((exponent - digits).max(least));
    let nearest = (want / unit).round_ties_even() * unit;
    let nearest = if nearest.abs() > largest { f64::INFINITY.copysign(want) } else { nearest };
    got == nearest && got.is_sign_negative() == want.is_sign_negative()
}

/// How many numbers of f16 and bf16 have a result other than the nearest one.
fn misrounded(function: &Unary) -> [f64; 2] {
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
    let mut wrong = Vec::new();
    for function in FUNCTIONS {
        let [_, _, f16, bf16] = documented(UNARY, function.name);
        let counts = misrounded(function);
        if counts != [f16, bf16] {
            wrong.push((function.name, counts));
        }
    }
    assert!(wrong.is_empty(), "the document says otherwise of {wrong:?}");
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

#[test]
fn the_worst_f32_of_each_function_is_as_far_off_as_the_table_says() {
    for function in FUNCTIONS {
        let Some([worst, at]) = row(EVERY, function.name) else { continue };
        let [bound, ..] = documented::<4>(UNARY, function.name);
        let error = error(function, at as f32);
        let is_rounded_up = error <= worst && worst < error + 1e-4;
        assert!(
            is_rounded_up && worst <= bound,
            "{}({at:?}) is off by {error} ULP, not {worst}",
            function.name
        );
    }
}

/// Holds the largest error over all bit patterns against the document.
#[cfg(not(debug_assertions))]
fn check<F: lanes::Function<1>>() {
    let function =
        FUNCTIONS.iter().find(|function| function.name == F::NAME).expect("the function is listed");
    let mut worst = (0.0, f32::NAN);
    #[cfg(target_arch = "x86_64")]
    isa::run_on(
        Isa::Avx512,
        Search::<crate::lane::avx512::F32x16, F> { function, worst: &mut worst, lane: PhantomData },
    );
    if worst.0 == 0.0 {
        Search::<f32, F> { function, worst: &mut worst, lane: PhantomData }.run();
    }
    println!("{}: {} at {:?}", F::NAME, worst.0, worst.1);
    let bound =
        row::<2>(EVERY, F::NAME).map_or_else(|| documented::<4>(UNARY, F::NAME)[0], |[bound, _]| bound);
    assert!(worst.0 <= bound, "{} at {:?}", F::NAME, worst.1);
}

/// Finds the largest error over all bit patterns and where it is. It starts at a half: a result that is the
/// nearest number needs no closer look.
#[cfg(not(debug_assertions))]
struct Search<'a, V, F> {
    function: &'a Unary,
    worst: &'a mut (f64, f32),
    lane: PhantomData<(V, F)>,
}

#[cfg(not(debug_assertions))]
impl<V: Real<Elem = f32, Mask: AnyMask>, F: lanes::Function<1>> Task for Search<'_, V, F> {
    #[inline(always)]
    fn run(self) {
        let mut worst = (0.5, f32::NAN);
        let count = V::from_fn(|i| f32::from_bits(i as u32)).to_bits();
        for first in (0..1 << 32).step_by(V::LEN) {
            let x = V::from_bits(count + V::Bits::splat(first));
            let (got, want) = (F::at([x]), F::at([x.widen()]));
            let nearest = V::narrow(want);
            let differs = !(got.to_bits().eq(nearest.to_bits()) | (got.is_nan() & nearest.is_nan()));
            if !differs.any() {
                continue;
            }
            // As in `error`. NaN here means that a special value is missed, and needs a closer look, too.
            let exponent = want.to_bits() & (<V::Wide as Lane>::Bits::splat(0x7ff) << 52);
            let unit = <V::Wide as Lane>::num(2f64.powi(-126)).max(Lane::from_bits(exponent));
            let about = V::narrow((got.widen() - want).abs() / (unit * Lane::num(2f64.powi(-23))));
            if (differs & !about.le(V::num(worst.0 * 0.999_999))).any() {
                for x in (first..first + V::LEN as u64).map(|bits| f32::from_bits(bits as u32)) {
                    let error = error(self.function, x);
                    worst = if error > worst.0 { (error, x) } else { worst };
                }
            }
        }
        *self.worst = worst;
    }
}
