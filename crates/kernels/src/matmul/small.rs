//! Owns many products of small matrices, one after the other: what one product prepares takes longer than
//! such a product. The order of summation is that of `factor.rs`. It does not know batches of several
//! dimensions.

use bytemuck::{Pod, cast_slice, cast_slice_mut};
use num_complex::{Complex32, Complex64};
use zerostride_ops::{Category, DType};

use super::dots::Products;
use super::factor::{Accumulator, BLOCK_DEPTH, FactorElement, SumFloat};
use super::matrix::{Matrix, ProductSizes};
use crate::isa::{RegisterFloat, RegisterTask};
use crate::lane::Register;

/// Multiplications of a product up to which it is small.
///
/// Measured on 2026-11-27 (Zen 5, one thread, f32, ns a product of square matrices): as small ones 3 x 3 17,
/// 4 x 4 34, 6 x 6 100; by blocks 7 x 7 168, 8 x 8 163.
const SMALL_MULTIPLICATIONS: usize = 256;

/// Matrices at equal distances in memory.
#[derive(Clone, Copy, Debug)]
pub struct Matrices<'a> {
    /// The first one.
    pub first: Matrix<'a>,
    /// Elements from one to the next.
    pub apart: isize,
}

impl ProductSizes {
    /// Whether [`matmul_small`] multiplies such matrices: products of floats whose preparation would take
    /// longer than themselves.
    pub fn is_small(self, dtype: DType) -> bool {
        let multiplications = self.n.saturating_mul(self.k).saturating_mul(self.m);
        dtype.category() >= Category::Float
            && !dtype.is_half()
            && (1..=SMALL_MULTIPLICATIONS).contains(&multiplications)
            && self.k <= BLOCK_DEPTH
    }
}

/// Writes `count` small products, one after the other.
///
/// Shapes: `(count, n, k), (count, k, m) -> (count, n, m)`. The bits are those of
/// [`matmul`](super::matmul()).
///
/// # Panics
/// If the products are not small ([`ProductSizes::is_small`]), a matrix does not lie in its slice, or `out`
/// has not `count * n * m` elements.
///
/// ```
/// use zerostride_kernels::{Matrices, Matrix, ProductSizes, matmul_small};
/// use zerostride_ops::DType;
///
/// let elements = [1.0f32, 2.0, 3.0, 4.0].map(f32::to_ne_bytes).concat();
/// let first = Matrix { bytes: &elements, offset: 0, row_stride: 1, column_stride: 1 };
/// let (each, same) = (Matrices { first, apart: 1 }, Matrices { first, apart: 0 });
/// let mut out = [0; 16];
/// matmul_small(DType::F32, ProductSizes { n: 1, k: 1, m: 1 }, 4, each, same, &mut out);
/// assert_eq!(out[..], elements[..]);
/// ```
pub fn matmul_small(
    dtype: DType,
    sizes: ProductSizes,
    count: usize,
    a: Matrices<'_>,
    b: Matrices<'_>,
    out: &mut [u8],
) {
    assert!(sizes.is_small(dtype), "{sizes:?} of {dtype:?} is no small product");
    match dtype {
        DType::F32 => multiply::<f32>(sizes, count, a, b, out),
        DType::F64 => multiply::<f64>(sizes, count, a, b, out),
        DType::C64 => multiply::<Complex32>(sizes, count, a, b, out),
        DType::C128 => multiply::<Complex64>(sizes, count, a, b, out),
        _ => unreachable!("only floats have small products"),
    }
}

fn multiply<T: Accumulator + FactorElement<Sum = T>>(
    sizes: ProductSizes,
    count: usize,
    a: Matrices<'_>,
    b: Matrices<'_>,
    out: &mut [u8],
) {
    a.check::<T>(count, sizes.n, sizes.k);
    b.check::<T>(count, sizes.k, sizes.m);
    let out: &mut [T] = cast_slice_mut(out);
    assert_eq!(out.len(), count * sizes.n * sizes.m, "the products have another size");
    SumFloat::<T>::run_widest(SmallProducts { sizes, a, b, out });
}

impl Matrices<'_> {
    /// Asserts that every element of the matrices lies in their slice.
    fn check<T: Pod>(&self, count: usize, rows: usize, columns: usize) {
        let last = count.saturating_sub(1) as isize;
        let offset = last.checked_mul(self.apart).and_then(|moved| self.first.offset.checked_add(moved));
        self.first.check::<T>(rows, columns);
        Matrix { offset: offset.unwrap_or(isize::MIN), ..self.first }.check::<T>(rows, columns);
    }
}

/// The products, element by element, or those of lines and a vector by registers, compiled for each
/// instruction set: a chain of fused multiply-adds is an instruction each.
struct SmallProducts<'a, T> {
    sizes: ProductSizes,
    a: Matrices<'a>,
    b: Matrices<'a>,
    out: &'a mut [T],
}

impl<T: Accumulator> RegisterTask<T::SumFloat> for SmallProducts<'_, T> {
    #[inline(always)]
    fn run<L: Register<Elem = T::SumFloat>>(self) {
        let SmallProducts { sizes: ProductSizes { n, k, m }, a, b, out } = self;
        let (left, right): (&[T], &[T]) = (cast_slice(a.first.bytes), cast_slice(b.first.bytes));
        let (mut of_a, mut of_b) = (a.first.offset, b.first.offset);
        let are_lines = [a.first.column_stride, b.first.row_stride].iter().all(|&step| step == 1 || k == 1);
        let are_vectors = n > 1 && m == 1 && are_lines && a.first.row_stride >= 0;
        for product in out.chunks_exact_mut(n * m) {
            if are_vectors {
                let (one, others) = (&right[of_b as usize..][..k], &left[of_a as usize..]);
                Products { one, others, apart: a.first.row_stride as usize, out: product }.run::<L>();
            } else {
                for (row, out) in (0..).zip(product.chunks_exact_mut(m)) {
                    let of_row = of_a + row * a.first.row_stride;
                    for (column, out) in (0..).zip(out) {
                        let of_column = of_b + column * b.first.column_stride;
                        let extend = |chain, at: isize| {
                            let left = left[(of_row + at * a.first.column_stride) as usize];
                            T::extend(chain, left, right[(of_column + at * b.first.row_stride) as usize])
                        };
                        *out = T::end((0..k as isize).fold(T::START, extend));
                    }
                }
            }
            (of_a, of_b) = (of_a.wrapping_add(a.apart), of_b.wrapping_add(b.apart));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matmul::{ProductScratch, matmul};

    #[test]
    fn small_products_have_the_bits_of_others() {
        let numbers: Vec<f64> = (0..4000).map(|at| f64::from(at * 7919 % 1009) / 313.0 - 1.5).collect();
        let (count, bytes) = (5, cast_slice(&numbers));
        for (n, k, m) in
            [(1, 1, 1), (3, 3, 3), (2, 5, 1), (1, 7, 4), (4, 1, 6), (1, 128, 2), (16, 16, 1), (9, 20, 1)]
        {
            for (dtype, item) in [(DType::F32, 4), (DType::F64, 8), (DType::C64, 8), (DType::C128, 16)] {
                let sizes = ProductSizes { n, k, m };
                let across = [(1, n as isize), (-(m as isize), 2)];
                let along = [(k as isize, 1), (1, k as isize)];
                for [(a_row, a_column), (b_row, b_column)] in [across, along] {
                    let a = Matrix { bytes, offset: 9, row_stride: a_row, column_stride: a_column };
                    let b = Matrix { bytes, offset: 1500, row_stride: b_row, column_stride: b_column };
                    let (a, b) =
                        (Matrices { first: a, apart: (n * k) as isize }, Matrices { first: b, apart: 3 });
                    let mut found = vec![0; count * n * m * item];
                    assert!(sizes.is_small(dtype));
                    matmul_small(dtype, sizes, count, a, b, &mut found);
                    for (at, found) in (0..).zip(found.chunks(n * m * item)) {
                        let a = Matrix { offset: a.first.offset + at * a.apart, ..a.first };
                        let b = Matrix { offset: b.first.offset + at * b.apart, ..b.first };
                        let mut wanted = vec![0; n * m * item];
                        matmul(dtype, sizes, a, b, &mut wanted, &mut ProductScratch::default());
                        assert_eq!(found, wanted, "{dtype:?} {n} {k} {m} {at} {a_row}");
                    }
                }
            }
        }
    }

    #[test]
    fn large_products_and_those_of_integers_are_not_small() {
        let product = |dtype, n, k, m| ProductSizes { n, k, m }.is_small(dtype);
        assert!(!product(DType::I32, 2, 2, 2));
        assert!(!product(DType::F32, 1, 129, 1));
        assert!(!product(DType::F32, 17, 16, 1));
        assert!(product(DType::F32, 16, 16, 1));
    }

    #[test]
    #[should_panic(expected = "not inside its slice")]
    fn the_last_matrix_lies_in_the_slice() {
        let first = Matrix { bytes: cast_slice(&[0f32; 16]), offset: 0, row_stride: 2, column_stride: 1 };
        let all = Matrices { first, apart: 4 };
        matmul_small(
            DType::F32,
            ProductSizes { n: 2, k: 2, m: 2 },
            5,
            all,
            all,
            cast_slice_mut(&mut [0f32; 20]),
        );
    }
}
