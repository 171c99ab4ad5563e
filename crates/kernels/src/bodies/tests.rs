//! Holds the remainders of floats and the quotients of integers, which use no division of the processor, to
//! the language's.

use super::division::Quotient;
use super::float::short_remainder;

/// Numbers of every magnitude and their neighbours, special ones included.
macro_rules! remainders {
    ($($name:ident $float:ident $bits:ident;)*) => {
        $(#[test]
        fn $name() {
            let step = $bits::MAX / 331;
            let spread = (0..331).map(|i| $float::from_bits(i * step));
            let near = [1.0, 3.0, 7.5, 1e6, $float::MIN_POSITIVE, $float::MAX, $float::EPSILON].into_iter();
            let near = near.flat_map(|x: $float| [x.next_down(), x, x.next_up(), -x]);
            let special = [0.0, -0.0, $float::INFINITY, $float::NEG_INFINITY, $float::NAN, $float::from_bits(1)];
            let numbers: Vec<$float> = spread.chain(near).chain(special).collect();
            for &b in &numbers {
                let whole = numbers.iter().map(|&x| x.abs().min(1e7).trunc());
                let multiples = whole.flat_map(|n| [n * b, (n * b).next_down(), (n * b).next_up()]);
                for a in numbers.iter().copied().chain(multiples) {
                    let ((found, is_known), expected) = (short_remainder(a, b), a % b);
                    assert!(
                        !is_known || found.to_bits() == expected.to_bits(),
                        "{a:e} % {b:e} is {expected:e}, not {found:e}"
                    );
                    assert!(is_known || !((a / b).abs() < 1e6 && b.is_finite()), "{a:e} % {b:e}");
                }
            }
        }
        )*
    };
}

remainders! {
    remainders_of_f32_are_exact f32 u32;
    remainders_of_f64_are_exact f64 u64;
}

macro_rules! compare {
    ($($name:ident: $integer:ident;)*) => {
        $(#[test]
        fn $name() {
            let ends = [0, 1, 2, 3, 7, $integer::MAX / 3, $integer::MAX / 2, $integer::MAX - 1, $integer::MAX];
            let mut state = 1u64;
            let random = (0..500).map(|i| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                ((state >> 8 ^ state << 40) as $integer) >> (i % $integer::BITS)
            });
            let powers = (0..$integer::BITS).map(|bit| (1 as $integer) << bit);
            let near = powers.flat_map(|power| [power.wrapping_sub(1), power, power.wrapping_add(1)]);
            let values: Vec<$integer> =
                ends.into_iter().chain(near).flat_map(|x| [x, (0 as $integer).wrapping_sub(x)]).chain(random).collect();
            let floored = |a: $integer, b: $integer| {
                let (a, b) = (i128::from(a), i128::from(b));
                let is_above = a % b != 0 && (a % b < 0) != (b < 0);
                (a / b - i128::from(is_above)) as $integer
            };
            let check = |a: $integer, b: $integer| {
                assert_eq!(a.quotient(b), a.wrapping_div(b), "{a} / {b}");
                assert_eq!(a.floored_quotient(b), floored(a, b), "{a} // {b}");
            };
            for &a in &values {
                for &b in values.iter().filter(|&&b| b != 0) {
                    check(a, b);
                    // A float may round across the multiples of a divisor.
                    let multiple = a.wrapping_div(b).wrapping_mul(b);
                    for a in [multiple.wrapping_sub(1), multiple, multiple.wrapping_add(1)] {
                        check(a, b);
                    }
                }
            }
        }
        )*
    };
}

compare! {
    quotients_of_u8: u8;
    quotients_of_i8: i8;
    quotients_of_u16: u16;
    quotients_of_i16: i16;
    quotients_of_u32: u32;
    quotients_of_i32: i32;
    quotients_of_u64: u64;
    quotients_of_i64: i64;
}
