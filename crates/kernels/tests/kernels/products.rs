//! Owns the tests of matrix products of integers, f16 and bf16, and of refused arguments (`matmul/mod.rs`).

use bytemuck::{bytes_of, bytes_of_mut, cast_slice};
use zerostride_kernels::{Matrix, ProductScratch, ProductSizes, cast_kernel, matmul};
use zerostride_ops::DType;

fn one() -> Matrix<'static> {
    Matrix { bytes: bytes_of(&0f32), offset: 0, row_stride: 0, column_stride: 0 }
}

#[test]
fn tiles_of_integers_and_halves_add_up() {
    let sizes = ProductSizes { n: 3, k: 133, m: 2055 };
    let ProductSizes { n, k, m } = sizes;
    // Sums of up to 2048 are exact in every dtype.
    let [a, b] = [n * k, k * m].map(|len| (0..len).map(|i| i64::from(i * i % 7 == 1)).collect::<Vec<_>>());
    let expected: Vec<i64> =
        (0..n * m).map(|at| (0..k).map(|i| a[at / m * k + i] * b[i * m + at % m]).sum()).collect();
    for dtype in [DType::I64, DType::U16, DType::F16] {
        let stored = |values: &[i64]| {
            let mut bytes = vec![0; values.len() * dtype.item_size()];
            cast_kernel(DType::I64, dtype)(cast_slice(values), &mut bytes);
            bytes
        };
        let (a, b) = (stored(&a), stored(&b));
        let matrix = |bytes, columns: usize| Matrix {
            bytes,
            offset: 0,
            row_stride: columns as isize,
            column_stride: 1,
        };
        let mut out = stored(&vec![0; n * m]);
        matmul(dtype, sizes, matrix(&a, k), matrix(&b, m), &mut out, &mut ProductScratch::default());
        assert!(out == stored(&expected), "{dtype}");
    }
}

#[test]
#[should_panic(expected = "another size")]
fn sizes_whose_product_wraps_around_are_refused() {
    let sizes = ProductSizes { n: (1 << 62) + 1, k: 1, m: 1 };
    matmul(DType::F32, sizes, one(), one(), bytes_of_mut(&mut 0f32), &mut ProductScratch::default());
}

#[test]
#[should_panic(expected = "not inside its slice")]
fn strides_that_wrap_around_are_refused() {
    let far = Matrix { row_stride: isize::MIN, ..one() };
    matmul(
        DType::F32,
        ProductSizes { n: 3, k: 1, m: 1 },
        far,
        one(),
        bytes_of_mut(&mut [0f32; 3]),
        &mut ProductScratch::default(),
    );
}
