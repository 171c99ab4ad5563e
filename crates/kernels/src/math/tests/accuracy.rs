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

/// Whether results of neighbours differ, and not as the true values do.
fn is_in_wrong_order(function: &Unary, bits: u32) -> bool {
    let [left, right] = [bits, bits + 1].map(f32::from_bits);
    let [true_left, true_right] = [left, right].map(|x| (function.double)(x.into()));
    let slope = if true_left < true_right {
        1.0
    } else if true_left > true_right {
        -1.0
    } else {
        0.0
    };
    let slope = known_slope(function.name, bits).unwrap_or(slope);
    let (left, right) = ((function.single)(left), (function.single)(right));
    (left < right && slope <= 0.0) || (left > right && slope >= 0.0)
}

/// Numbers after which some results once were in the wrong order: where `erf` is flat, where the polynomials
/// of exponentials have large arguments, and where `sigmoid` goes to the next number of its table.
const ONCE_WRONG: [f32; 16] = [
    0.02166, 0.0239227, 0.0248512, 0.0271941, 0.23150362, 0.24443568, 0.24742103, 0.2499877, 0.3466, 0.4375,
    0.49, 1.0, 1.9916855, 2.5, 3.2, 3.8,
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

/// Holds the largest error over all bit patterns, and the number of neighbours in the wrong order, to the
/// document.
#[cfg(not(debug_assertions))]
fn check<F: lanes::Function<1>>() {
    let function =
        FUNCTIONS.iter().find(|function| function.name == F::NAME).expect("the function is listed");
    let mut found = None;
    #[cfg(target_arch = "x86_64")]
    isa::run_on(
        Isa::Avx512,
        Search::<crate::lane::avx512::F32x16, F> { function, found: &mut found, lane: PhantomData },
    );
    if found.is_none() {
        Search::<f32, F> { function, found: &mut found, lane: PhantomData }.run();
    }
    let Found { error, at, wrong } = found.expect("a search ends");
    println!("{}: {error} at {at:?}, {wrong} pairs in the wrong order", F::NAME);
    let [bound, _, count] =
        row(EVERY, F::NAME).unwrap_or_else(|| [documented::<4>(UNARY, F::NAME)[0], 0.0, 0.0]);
    assert!(error <= bound, "{} at {at:?}", F::NAME);
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

/// Looks at all bit patterns, some thousand neighbours at a time.
#[cfg(not(debug_assertions))]
struct Search<'a, V, F> {
    function: &'a Unary,
    found: &'a mut Option<Found>,
    lane: PhantomData<(V, F)>,
}

#[cfg(not(debug_assertions))]
const NEIGHBOURS: usize = 4096;

#[cfg(not(debug_assertions))]
impl<V: Real<Elem = f32, Mask: AnyMask>, F: lanes::Function<1>> Task for Search<'_, V, F> {
    #[inline(always)]
    fn run(self) {
        let count = V::from_fn(|i| f32::from_bits(i as u32)).to_bits();
        let (mut worst, mut count_wrong) = ((0.5, 0.0), 0);
        let (mut single, mut double) = (vec![0f32; NEIGHBOURS + V::LEN], vec![0f64; NEIGHBOURS + V::LEN]);
        for start in (0..1 << 32).step_by(NEIGHBOURS) {
            // The results, and those of the next numbers for the pair at the end. After the last NaN is 0.
            for (place, first) in (start..).step_by(V::LEN).take(NEIGHBOURS / V::LEN + 1).enumerate() {
                let x = V::from_bits(count + V::Bits::splat(first));
                let (got, want) = (F::at([x]), F::at([x.widen()]));
                got.store(&mut single[place * V::LEN..]);
                want.store(&mut double[place * V::LEN..]);
                let nearest = V::narrow(want);
                let differs = !(got.to_bits().eq(nearest.to_bits()) | (got.is_nan() & nearest.is_nan()));
                // A result that is the nearest number needs no closer look.
                if !differs.any() {
                    continue;
                }
                // As in `error`, but to 2^-21. NaN here means that a special value is missed.
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
            let known = known_slope(F::NAME, start as u32);
            let (zero, one) = (<V::Wide as Lane>::num(0.0), <V::Wide as Lane>::num(1.0));
            for first in (0..NEIGHBOURS).step_by(V::LEN) {
                let (left, right) = (V::load(&single[first..]), V::load(&single[first + 1..]));
                let true_left = <V::Wide as Lane>::load(&double[first..]);
                let true_right = <V::Wide as Lane>::load(&double[first + 1..]);
                // As in `is_in_wrong_order`.
                let falls = Lane::select(true_right.lt(true_left), -one, zero);
                let slope = V::narrow(Lane::select(true_left.lt(true_right), one, falls));
                let slope = match known {
                    Some(slope) => V::num(slope.into()),
                    None => slope,
                };
                let zero = V::num(0.0);
                let is_wrong = (left.lt(right) & slope.le(zero)) | (right.lt(left) & zero.le(slope));
                if is_wrong.any() {
                    let wrong = V::select(is_wrong, V::num(1.0), zero);
                    for at in 0..V::LEN {
                        count_wrong += wrong.element(at) as u64;
                    }
                }
            }
        }
        *self.found = Some(Found { error: worst.0, at: worst.1, wrong: count_wrong });
    }
}
