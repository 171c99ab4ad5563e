//! Holds the division by a broadcast scalar (`chain/quotient.rs`) to the bits of the division.

use bytemuck::{Pod, cast_slice_mut};
use zerostride_kernels::{Chain, ChainOperand, Isa, Link, Slot, Stores};
use zerostride_ops::{DType, Op};

/// Every dividend by every divisor, against the division of the language.
fn divides<T: Pod + std::fmt::Debug>(
    dtype: DType,
    dividends: &[T],
    divisors: &[T],
    divide: impl Fn(T, T) -> T,
    bits: impl Fn(T) -> u64,
) {
    let link = |compute| Link::Map {
        op: Op::Div,
        compute,
        place: 0,
        others: [ChainOperand::Splat(1)].into_iter().collect(),
    };
    for isa in Isa::ALL {
        let Some(chain) = Chain::new(isa, (ChainOperand::Vector(0), dtype), &[link(dtype)], dtype) else {
            continue;
        };
        let mut quotients = vec![T::zeroed(); dividends.len()];
        let mut divide_rows = |rows: usize, len: usize, divisors: &[T]| {
            let slot = |first: *const T, len: usize| Slot {
                first: first.cast_mut().cast(),
                step: (len * size_of::<T>()) as isize,
                prefetch_bytes: 0,
            };
            let slots = [slot(dividends.as_ptr(), len), slot(divisors.as_ptr(), 1)];
            let out = Slot { first: cast_slice_mut::<T, u8>(&mut quotients).as_mut_ptr(), ..slots[0] };
            // SAFETY: the slots hold what the chain reads, and there is room for as many quotients.
            unsafe { chain.run(rows, len, &slots, out, Stores::Cached) };
            for at in 0..rows * len {
                let (dividend, divisor, quotient) = (dividends[at], divisors[at / len], quotients[at]);
                let wanted = divide(dividend, divisor);
                let same = bits(quotient) == bits(wanted);
                assert!(same, "{isa}: {dividend:?} / {divisor:?} = {quotient:?}, not {wanted:?}");
            }
        };
        divisors.chunks(1).for_each(|divisor| divide_rows(1, dividends.len(), divisor));
        // Two rows at a time, and one that is left.
        let half = chain.run_len() / 2;
        let rows = dividends.len() / half - 1;
        divisors.windows(rows).for_each(|divisors| divide_rows(rows, half, divisors));
    }
}

/// All NaN are one.
fn bits_f32(x: f32) -> u64 {
    if x.is_nan() { u64::MAX } else { u64::from(x.to_bits()) }
}

fn bits_f64(x: f64) -> u64 {
    if x.is_nan() { u64::MAX } else { x.to_bits() }
}

/// Numbers whose significands are hard to divide by, and random ones, of many magnitudes.
fn numbers(count: usize, significand: u32, exponents: std::ops::Range<i64>, seed: u64) -> Vec<f64> {
    let mut state = seed;
    let mut random = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state >> 11
    };
    let ones = (1u64 << significand) - 1;
    let number = |i: usize| {
        let fraction = match i % 4 {
            0 => random() % 8,
            1 => ones - random() % 8,
            _ => random() & ones,
        };
        let exponent = exponents.start + (random() % (exponents.end - exponents.start) as u64) as i64;
        let sign = if random() % 2 == 0 { 1.0 } else { -1.0 };
        sign * (1.0 + fraction as f64 / (ones + 1) as f64) * 2f64.powi(exponent as i32)
    };
    (0..count).map(number).collect()
}

#[test]
fn quotients_are_those_of_the_division() {
    // Runs of numbers near each other stay away from the division; runs of all magnitudes do not.
    for (exponents, others) in [(-10..10, -30..31), (-70..70, -40..40), (-149..128, -149..128)] {
        let f32s = |count, exponents, seed| -> Vec<f32> {
            numbers(count, 23, exponents, seed).into_iter().map(|x| x as f32).collect()
        };
        let (dividends, divisors) = (f32s(4096, exponents, 1), f32s(200, others, 2));
        divides(DType::F32, &dividends, &divisors, |a, b| a / b, bits_f32);
    }
    for (exponents, others) in [(-10..10, -250..250), (-600..600, -300..300), (-1074..1023, -1074..1023)] {
        let (dividends, divisors) = (numbers(2048, 52, exponents, 3), numbers(200, 52, others, 4));
        divides(DType::F64, &dividends, &divisors, |a, b| a / b, bits_f64);
    }
}

#[test]
fn what_is_no_usual_number_is_divided() {
    let special = [0.0, -0.0, f32::NAN, f32::INFINITY, -f32::INFINITY, 1e-40, f32::MAX, 3.0];
    let dividends: Vec<f32> = (0..special.len() * 128).map(|i| special[i / 128]).chain(special).collect();
    divides(DType::F32, &dividends, &special, |a, b| a / b, bits_f32);
}
