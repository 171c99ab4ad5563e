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
fn vectors_of_integers_are_multiplied_in_every_layout() {
    // As rows, as columns, and both reversed, inside of more memory.
    let layouts = |rows: usize, columns: usize| {
        let (rows, columns) = (rows as isize, columns as isize);
        [
            (1, columns + 1, 1),
            (2, 1, rows + 2),
            (rows * columns - 1, -columns, -1),
            (rows * columns - 1, -1, -rows),
            (0, 2 * columns, 2),
        ]
    };
    for (n, k, m) in
        [(1, 5, 1), (7, 1, 1), (1, 1, 9), (3, 4099, 1), (1, 4099, 3), (1, 9000, 1), (200, 300, 1)]
    {
        let memory = |len: usize| (0..2 * len + 2 * k + 8).map(|i| (i * i % 251) as u8).collect::<Vec<_>>();
        let (own_a, own_b) = (memory(n * k), memory(k * m));
        for (offset, row_stride, column_stride) in layouts(n, k) {
            let a = Matrix { bytes: &own_a, offset, row_stride, column_stride };
            for (offset, row_stride, column_stride) in layouts(k, m) {
                let b = Matrix { bytes: &own_b, offset, row_stride, column_stride };
                let at = |of: &Matrix<'_>, row: usize, column: usize| {
                    let place = of.offset + row as isize * of.row_stride + column as isize * of.column_stride;
                    of.bytes[place as usize]
                };
                let product = |row: usize, column: usize| {
                    (0..k)
                        .fold(0u8, |sum, i| sum.wrapping_add(at(&a, row, i).wrapping_mul(at(&b, i, column))))
                };
                let expected: Vec<u8> = (0..n * m).map(|place| product(place / m, place % m)).collect();
                let mut out = vec![1; n * m];
                let sizes = ProductSizes { n, k, m };
                matmul(DType::U8, sizes, a, b, &mut out, &mut ProductScratch::default());
                assert_eq!(
                    out,
                    expected,
                    "{sizes:?}, strides {:?}",
                    [a.row_stride, a.column_stride, b.row_stride, b.column_stride]
                );
            }
        }
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
