//! Holds the functions of one argument to `docs/accuracy.md`, on every number of f16 and bf16 and on a sample
//! of `f32`: their errors, that results of neighbours are in the order of the true values, and that odd and
//! even functions are exactly so. An ignored test looks at every `f32`; the worst numbers it found are tried
//! each time. This file also reads that document for the tests against MPFR (`ulp`, `special_ulp`).
//!
//! The reference is the same function in `f64`, which those tests hold below one ULP: 2^-29 of one in `f32`,
//! so that four decimals are certain.

use half::{bf16, f16};

use super::ulp::Measured;
use crate::math;
#[cfg(not(debug_assertions))]
use {
    crate::isa::{self, Task},
    crate::math::Real,
    std::marker::PhantomData,
    std::ops::Range,
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
                impl Function for Case {
                    const NAME: &str = stringify!($name);

                    #[inline(always)]
                    fn at<V: Real>(x: V) -> V {
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
        // A half stands where every result is the nearest number.
        let is_rounded_up = error <= worst && (worst < error + 1e-4 || worst == 0.5);
        assert!(
            is_rounded_up && worst <= bound,
            "{}({at:?}) is off by {error} ULP, not {worst}",
            function.name
        );
    }
}

/// What functions rise with at negative and at positive arguments, where 1 is the argument and -1 its
/// negative: those whose `f32` is the result of `f64` rounded, which says nothing of their order.
const ORDERS: [(&str, [Option<f32>; 2]); 3] =
    [("i0", [Some(-1.0), Some(1.0)]), ("i1", [Some(1.0), Some(1.0)]), ("trigamma", [None, Some(-1.0)])];

/// Whether a function rises (1) or falls (-1) from the number with some bits to the one with the next, where
/// that is not to be seen from `f64`.
fn known_slope(name: &str, bits: u32) -> Option<f32> {
    let is_negative = bits >> 31 == 1;
    let (_, orders) = ORDERS.iter().find(|(other, _)| *other == name)?;
    // Among negative numbers the next bits are those of the smaller one.
    orders[usize::from(!is_negative)].map(|order| if is_negative { -order } else { order })
}

/// Whether the results of the number with some bits and of the one with the next are in another order than
/// the true ones.
fn are_in_wrong_order(
    name: &str,
    bits: u32,
    [left, right]: [f32; 2],
    [true_left, true_right]: [f64; 2],
) -> bool {
    let slope = known_slope(name, bits).unwrap_or_else(|| {
        if true_left < true_right {
            1.0
        } else if true_left > true_right {
            -1.0
        } else {
            0.0
        }
    });
    (left < right && slope <= 0.0) || (left > right && slope >= 0.0)
}

/// The same of a function.
fn is_in_wrong_order(function: &Unary, bits: u32) -> bool {
    let arguments = [bits, bits + 1].map(f32::from_bits);
    let results = arguments.map(function.single);
    are_in_wrong_order(function.name, bits, results, arguments.map(|x| (function.double)(x.into())))
}

/// Numbers after which, or after whose negatives, some results once were in the wrong order: where `erf` is
/// flat, where the polynomials of exponentials have large arguments, where `sigmoid` goes to the next number
/// of its table, and around the minima of `gelu`, `gelu_tanh` and `silu`.
const ONCE_WRONG: [f32; 22] = [
    0.02166, 0.0239227, 0.0248512, 0.0271941, 0.23150362, 0.24443568, 0.24742103, 0.2499877, 0.3466, 0.4375,
    0.49, 0.751681, 0.7518671, 0.7523557, 0.7525144, 1.0, 1.2782737, 1.2785552, 1.9916855, 2.5, 3.2, 3.8,
];

#[test]
fn results_of_neighbours_are_in_the_order_of_the_true_values() {
    let spread = (0..=u32::MAX).step_by(0x1f_ffe1).map(|bits| (bits, 32));
    let once_wrong = ONCE_WRONG.iter().flat_map(|x| [*x, -x]).map(|x| (x.to_bits(), 512));
    let starts: Vec<(u32, u32)> = spread.chain(once_wrong).collect();
    for function in FUNCTIONS {
        let count = row::<3>(EVERY, function.name).map_or(0.0, |[_, _, count]| count);
        let mut wrong = Vec::new();
        for &(first, neighbours) in &starts {
            let pairs = first..first.saturating_add(neighbours);
            wrong.extend(pairs.filter(|&bits| is_in_wrong_order(function, bits)).map(f32::from_bits));
        }
        assert!(wrong.len() as f64 <= count, "{} after {wrong:?}", function.name);
    }
}

const ODD: [&str; 13] = [
    "asin", "asinh", "atan", "atanh", "deg2rad", "erf", "erfinv", "i1", "rad2deg", "sin", "sinh", "tan",
    "tanh",
];
const EVEN: [&str; 4] = ["cos", "cosh", "i0", "sinc"];

#[test]
fn odd_and_even_functions_are_so_in_every_bit() {
    for function in FUNCTIONS {
        let (odd, even) = (ODD.contains(&function.name), EVEN.contains(&function.name));
        for bits in (0..1 << 31).step_by(32_771).filter(|_| odd || even) {
            let x = f32::from_bits(bits);
            let [single, mirrored] = [x, -x].map(function.single);
            let is_so = single.to_bits() == if odd { -mirrored } else { mirrored }.to_bits();
            assert!(is_so || single.is_nan(), "{}({x:?}) is {single:?}, and {mirrored:?}", function.name);
            let x = f64::from_bits((u64::from(bits) << 32) + u64::from(bits.reverse_bits()));
            let [double, mirrored] = [x, -x].map(function.double);
            let is_so = double.to_bits() == if odd { -mirrored } else { mirrored }.to_bits();
            assert!(is_so || double.is_nan(), "{}({x:?}) is {double:?}, and {mirrored:?}", function.name);
        }
    }
}

/// A function as a type, whose calls are compiled with the instructions of their caller.
#[cfg(not(debug_assertions))]
trait Function {
    const NAME: &str;
    fn at<V: Real>(x: V) -> V;
}

/// Holds the largest error over all bit patterns, and the number of neighbours in the wrong order, against
/// the document.
#[cfg(not(debug_assertions))]
fn check<F: Function>() {
    let function =
        FUNCTIONS.iter().find(|function| function.name == F::NAME).expect("the function is listed");
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let share = ((1u64 << 32) / threads).next_multiple_of(NEIGHBOURS as u64);
    let shares = (0..threads).map(|share_of| share_of * share..(1 << 32).min((share_of + 1) * share));
    let found: Vec<Found> = std::thread::scope(|scope| {
        let searches: Vec<_> = shares
            .map(|patterns| {
                scope.spawn(move || {
                    let mut found = Found { error: 0.5, at: 0.0, wrong: 0 };
                    let kind = PhantomData::<F>;
                    isa::run_fused(Search { function, patterns, found: &mut found, kind });
                    found
                })
            })
            .collect();
        searches.into_iter().map(|search| search.join().expect("a search ends")).collect()
    });
    let wrong: u64 = found.iter().map(|found| found.wrong).sum();
    let worst = found.iter().max_by(|a, b| a.error.total_cmp(&b.error)).expect("there is a search");
    let Found { error, at, .. } = worst;
    println!("{}: {error} at {at:?}, {wrong} pairs in the wrong order", F::NAME);
    let [bound, _, count] = documented(EVERY, F::NAME);
    assert!(*error <= bound, "{} at {at:?}", F::NAME);
    assert_eq!(wrong as f64, count, "pairs of neighbours of {} in the wrong order", F::NAME);
}

/// What a search finds.
#[cfg(not(debug_assertions))]
struct Found {
    /// The largest error, and where it is; a half and 0 if every result is the nearest number.
    error: f64,
    at: f32,
    /// How many pairs of neighbouring arguments have results in the wrong order.
    wrong: u64,
}

/// Looks at bit patterns, some thousand neighbours at a time.
#[cfg(not(debug_assertions))]
struct Search<'a, F> {
    function: &'a Unary,
    patterns: Range<u64>,
    found: &'a mut Found,
    kind: PhantomData<F>,
}

#[cfg(not(debug_assertions))]
const NEIGHBOURS: usize = 4096;

#[cfg(not(debug_assertions))]
impl<F: Function> Task for Search<'_, F> {
    #[inline(always)]
    fn run(self) {
        let Search { function, patterns, found, .. } = self;
        let mut results = [(0f32, 0f64); NEIGHBOURS + 1];
        for first in patterns.step_by(NEIGHBOURS) {
            // With that of the next number, for the pair at the end. After the last NaN is 0.
            for (bits, result) in (first..).zip(&mut results) {
                let x = f32::from_bits(bits as u32);
                *result = (F::at(x), F::at(f64::from(x)));
            }
            for (bits, &(single, double)) in (first..).zip(&results[..NEIGHBOURS]) {
                // A result that is the nearest number needs no closer look.
                if single.to_bits() != (double as f32).to_bits() {
                    let x = f32::from_bits(bits as u32);
                    let error = error(function, x);
                    if error > found.error {
                        (found.error, found.at) = (error, x);
                    }
                }
            }
            for (bits, pair) in (first..).zip(results.windows(2)) {
                let [(left, true_left), (right, true_right)] = [pair[0], pair[1]];
                let is_wrong =
                    are_in_wrong_order(F::NAME, bits as u32, [left, right], [true_left, true_right]);
                found.wrong += u64::from(is_wrong);
            }
        }
    }
}
