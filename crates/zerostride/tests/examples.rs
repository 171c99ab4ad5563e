//! The programs of `examples/` run, and compute what NumPy computes (`examples/data/make.py`).

#![cfg(feature = "io")]

use std::path::PathBuf;

use zerostride::{Op, Tensor, io, set_num_threads};

#[path = "../../../examples/digits.rs"]
mod digits;
#[path = "../../../examples/photo.rs"]
mod photo;
#[path = "../../../examples/rbf.rs"]
mod rbf;
#[path = "../../../examples/wine.rs"]
mod wine;

fn load(name: &str) -> Tensor {
    io::load([env!("CARGO_MANIFEST_DIR"), "../../examples/data", name].iter().collect::<PathBuf>()).unwrap()
}

#[test]
fn every_program_runs() {
    photo::main().unwrap();
    wine::main().unwrap();
    digits::main().unwrap();
    rbf::main().unwrap();
}

#[test]
fn a_regression_by_gradient_descent_learns_as_in_pytorch() {
    // By the same program in PyTorch: before the first step and before the hundred and first.
    let (first, last) = rbf::fit(101).unwrap();
    assert!((first - 1.0).abs() < 1e-12 && (last - 0.349532614).abs() < 1e-8, "{first} and {last}");
}

#[test]
fn every_pixel_has_the_bits_that_numpy_gives_its_value_in_its_channel() {
    let img = load("photo.npy");
    let normalised = photo::normalise(&img);
    assert_eq!(normalised.plan().unwrap().passes(), 1);

    let (pixels, expected) =
        (img.to_vec::<u8>().unwrap(), load("photo_expected.npy").to_vec::<f32>().unwrap());
    let found = normalised.eval().unwrap();
    assert_eq!(found.shape(), [214, 320, 3]);
    for (index, (pixel, found)) in pixels.iter().zip(found.iter::<f32>().unwrap()).enumerate() {
        let expected = expected[usize::from(*pixel) * 3 + index % 3];
        assert_eq!(found.to_bits(), expected.to_bits(), "element {index}, value {pixel}");
    }
}

#[test]
fn standardised_columns_are_numpys() {
    let standardised = wine::standardise(&load("wine.npy"));
    // Once per column, not once per element.
    assert_eq!(standardised.plan().unwrap().operations(Op::Sqrt), 13);

    let found = standardised.eval().unwrap();
    let expected = load("wine_expected.npy");
    assert_eq!(found.shape(), [178, 13]);
    // NumPy sums in another order, so that its last bits differ.
    for (found, expected) in found.iter::<f64>().unwrap().zip(expected.iter::<f64>().unwrap()) {
        assert!((found - expected).abs() <= 1e-13 * expected.abs().max(1.0), "{found} is not {expected}");
    }
}

#[test]
fn distances_are_numpys_and_the_stretched_array_never_exists() {
    let squared = digits::distances(&load("digits.npy"));
    // Each has tiles of its own.
    set_num_threads(4);
    let plan = squared.plan().unwrap();
    assert_eq!(plan.output_bytes(), 1797 * 1797 * 4);
    assert!(plan.scratch_bytes() <= 1 << 20, "{plan}");

    let found = squared.eval().unwrap();
    let rows = load("digits_expected_rows.npy");
    for (at, row) in [0, 1, 898, 1796].into_iter().enumerate() {
        let found = found.select(0, row).unwrap().to_vec::<f32>().unwrap();
        assert_eq!(found, rows.select(0, at as isize).unwrap().to_vec::<f32>().unwrap(), "row {row}");
    }
    // Integers throughout: every order of summation is exact in f64.
    let sums = found.to_dtype(zerostride::DType::F64).unwrap().sum(1).unwrap();
    assert_eq!(sums.to_vec::<f64>().unwrap(), load("digits_expected_sums.npy").to_vec::<f64>().unwrap());
}
