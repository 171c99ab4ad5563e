//! Holds `frexp` and `ldexp` to their definitions.

use crate::math::{self, frexp, ldexp};

#[test]
fn significand_and_exponent_make_the_number_again() {
    for x in [1.0, -3.0, 0.1, f64::MAX, f64::MIN_POSITIVE, 5e-324, -1e-310] {
        let (significand, exponent) = frexp(x);
        assert!((0.5..1.0).contains(&significand.abs()), "{x:?}");
        assert_eq!(ldexp(significand, exponent), x);
    }
    for x in [0.0, -0.0, f64::INFINITY] {
        assert_eq!(frexp(x), (x, 0.0));
    }
}

#[test]
fn scaling_rounds_once_and_passes_the_range_of_powers() {
    assert_eq!(ldexp(1.5f32 * 2f32.powi(-100), 200.0), 1.5 * 2f32.powi(100));
    assert_eq!(ldexp(f32::from_bits(3), -1.0), f32::from_bits(2));
    assert_eq!(ldexp(5e-324, 2097.0), 2f64.powi(1023));
    assert_eq!(ldexp(1.0, 1024.0), f64::INFINITY);
    assert!(ldexp(-1.0f64, -1075.0).is_sign_negative());
    assert_eq!([1e9, -1e9].map(|n| ldexp(3.0, n)), [f64::INFINITY, 0.0]);
    for x in [0.0, f64::INFINITY] {
        assert_eq!([1e9, -1e9].map(|n| ldexp(x, n)), [x; 2]);
    }
    assert!(ldexp(f64::NAN, 2.0).is_nan() && ldexp(0.0, f64::NAN).is_nan());
}

#[test]
fn logarithms_of_powers_of_their_base_are_exact() {
    for n in -126i16..=127 {
        assert_eq!(math::log2(2f32.powi(n.into())), f32::from(n));
    }
    for n in 0i16..=10 {
        assert_eq!(math::log10(10f32.powi(n.into())), f32::from(n));
    }
}
