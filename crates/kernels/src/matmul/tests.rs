//! Holds products of floats to the definition of their order of summation, bit by bit.

use std::ops::Range;

use bytemuck::cast_slice;
use num_complex::{Complex32, Complex64};
use zerostride_ops::{bf16, f16};

use super::factor::{Accumulator, BLOCK_DEPTH, FactorElement};
use super::float::multiply_floats;
use super::{Matrix, ProductScratch, ProductSizes, parts};

/// An element of a product by definition.
fn defined<F: FactorElement>(depth: usize, a: impl Fn(usize) -> F, b: impl Fn(usize) -> F) -> F::Sum {
    let extend = |chain, at| F::Sum::extend(chain, a(at).widen(), b(at).widen());
    let block = |depth: Range<usize>| F::Sum::end(depth.fold(F::Sum::START, extend));
    parts(depth, BLOCK_DEPTH).map(block).reduce(|sum, block| sum + block).expect("there are products")
}

/// A matrix with arbitrary strides in memory that it does not fill.
fn matrix(rows: usize, columns: usize, layout: usize, bytes: &[u8]) -> Matrix<'_> {
    let (rows, columns) = (rows as isize, columns as isize);
    let (offset, row_stride, column_stride) = match layout % 6 {
        0 => (0, columns, 1),
        1 => (3, 1, rows),
        2 => ((rows - 1) * (columns + 2), -columns - 2, 1),
        3 => (columns - 1, columns, -1),
        4 => (rows - 1, -1, rows),
        _ => (1, 2 * columns, 2),
    };
    Matrix { bytes, offset, row_stride, column_stride }
}

fn check<F: FactorElement>(sizes: ProductSizes, layouts: [usize; 2], from: fn(f32) -> F) {
    let ProductSizes { n, k, m } = sizes;
    let memory = |len: usize, seed: u32| -> Vec<F> {
        let mut state = seed;
        let mut random = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            from((state >> 8) as f32 / (1 << 23) as f32 - 1.0)
        };
        (0..len).map(|_| random()).collect()
    };
    let (own_a, own_b) = (memory(2 * n * k + 2 * n + 4, 1), memory(2 * k * m + 2 * k + 4, 2));
    let (a, b) = (matrix(n, k, layouts[0], cast_slice(&own_a)), matrix(k, m, layouts[1], cast_slice(&own_b)));
    let mut found = vec![F::Sum::end(F::Sum::START); n * m];
    multiply_floats::<F>(sizes, a, b, &mut found, &mut ProductScratch::default());
    for (at, found) in found.iter().enumerate() {
        let (row, column) = ((at / m) as isize, (at % m) as isize);
        let left = |k: usize| own_a[(a.offset + row * a.row_stride + k as isize * a.column_stride) as usize];
        let right =
            |k: usize| own_b[(b.offset + k as isize * b.row_stride + column * b.column_stride) as usize];
        let wanted = defined(k, left, right);
        assert!(bytemuck::bytes_of(found) == bytemuck::bytes_of(&wanted), "{sizes:?} {layouts:?} {at}");
    }
}

#[test]
fn every_layout_and_size_has_the_bits_of_the_definition() {
    let sizes = [1, 2, 3, 5, 8, 17, 50, 133, 300];
    for (case, n) in sizes.into_iter().enumerate() {
        for (other, m) in sizes.into_iter().enumerate() {
            let k = [1, 3, 7, 127, 128, 129, 300, 1030, 1500][(case * 4 + other * 7) % 9];
            let (k, layouts) = (k.min(3_000_000 / (n * m)), [case * 9 + other, (case * 9 + other) / 6]);
            let sizes = ProductSizes { n, k, m };
            check::<f32>(sizes, layouts, |x| x);
            check::<f64>(sizes, layouts, f64::from);
            check::<Complex32>(sizes, layouts, |x| Complex32::new(x, x * x - 0.3));
            check::<Complex64>(sizes, layouts, |x| Complex64::new(f64::from(x), 0.1 - f64::from(x)));
            check::<bf16>(sizes, layouts, bf16::from_f32);
        }
    }
}

#[test]
fn vectors_of_every_length_by_any_number_of_lines_or_columns_have_the_bits_of_the_definition() {
    for (case, k) in [5, 17, 65, 128, 133, 255, 256, 300, 512, 1027, 2050, 4100, 9000].into_iter().enumerate()
    {
        for (other, m) in [1, 2, 7, 8, 15, 16, 17, 33, 70].into_iter().enumerate() {
            // Lines along which the depth is contiguous, in order and reversed, and sometimes any layout.
            let any = [case, other];
            let by_lines = (ProductSizes { n: 1, k, m }, if other % 3 == 2 { any } else { [0, 1] });
            let of_lines = (ProductSizes { n: m, k, m: 1 }, [[0, 0], [2, 0], any][(case + other) % 3]);
            // Columns side by side, which registers read beyond the last one, and beside others.
            let by_columns = (ProductSizes { n: 1, k, m }, [[0, 0], [1, 0], [5, 0]][other % 3]);
            for (sizes, layouts) in [by_lines, of_lines, by_columns] {
                check::<f32>(sizes, layouts, |x| x);
                check::<f64>(sizes, layouts, f64::from);
                check::<Complex32>(sizes, layouts, |x| Complex32::new(x, x * x - 0.3));
                check::<Complex64>(sizes, layouts, |x| Complex64::new(f64::from(x), 0.1 - f64::from(x)));
                check::<f16>(sizes, layouts, f16::from_f32);
            }
        }
    }
}

#[test]
fn short_lines_by_a_few_columns_have_the_bits_of_the_definition() {
    for k in 1..=9 {
        for m in [1, 2, 3, 4, 7, 8, 9] {
            for (case, n) in [1, 15, 63, 64, 65, 79, 80, 300].into_iter().enumerate() {
                // Lines next to each other, and with something between them, at the end of memory, too.
                for layouts in [[0, 0], [0, 1], [2, 3], [5, case]] {
                    check::<f32>(ProductSizes { n, k, m }, layouts, |x| x);
                    check::<f64>(ProductSizes { n, k, m }, layouts, f64::from);
                }
                let lines: Vec<f32> = (0..n * k).map(|at| at as f32 / 7.0 - 3.0).collect();
                let columns: Vec<f32> = (0..k * m).map(|at| 1.0 - at as f32 / 5.0).collect();
                let a = matrix(n, k, 0, cast_slice(&lines));
                let b = matrix(k, m, 0, cast_slice(&columns));
                let mut found = vec![0.0; n * m];
                multiply_floats::<f32>(
                    ProductSizes { n, k, m },
                    a,
                    b,
                    &mut found,
                    &mut ProductScratch::default(),
                );
                for (at, found) in found.into_iter().enumerate() {
                    let (row, column) = (at / m, at % m);
                    let wanted: f32 = defined(k, |at| lines[row * k + at], |at| columns[at * m + column]);
                    assert_eq!(found.to_bits(), wanted.to_bits(), "{n} {k} {m} {at}");
                }
            }
        }
    }
}
