//! Owns the product of two matrices in memory, floats through the `gemm` crate. It does not know batches or shapes.

use std::ops::Range;

use bytemuck::{Pod, cast_slice, cast_slice_mut};
use num_complex::{Complex32, Complex64};
use zerostride_ops::{DType, bf16, f16};

use crate::bodies::integer::Integer;
use crate::isa::{self, Task};

/// A matrix in a slice of stored elements.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a> {
    /// The elements that the matrix is part of, aligned to their type.
    pub bytes: &'a [u8],
    /// The first element.
    pub offset: isize,
    /// Elements from one row to the next; 0 and negative steps are allowed.
    pub row_stride: isize,
    /// Elements from one column to the next.
    pub column_stride: isize,
}

/// The sizes of a product: `n` by `k` times `k` by `m`.
#[derive(Clone, Copy, Debug)]
pub struct ProductSizes {
    /// Rows of the left factor.
    pub n: usize,
    /// Columns of the left factor, rows of the right one.
    pub k: usize,
    /// Columns of the right factor.
    pub m: usize,
}

/// Bytes of the rows of a right factor's tiles, and how many rows they have. Halves and integers are copied tile by tile, so that however large a
/// stretched factor is, what a product takes besides is a few MiB.
const WIDTH: usize = 4096;
const DEPTH: usize = 1024;

/// A range in parts of a size.
fn parts(len: usize, size: usize) -> impl Iterator<Item = Range<usize>> {
    (0..len).step_by(size).map(move |first| first..len.min(first.saturating_add(size)))
}

impl Matrix<'_> {
    /// The elements of some rows and columns, row by row, instead of what was there.
    fn gather<T: Pod, R>(
        &self,
        rows: Range<usize>,
        columns: Range<usize>,
        convert: impl Fn(T) -> R,
        to: &mut Vec<R>,
    ) {
        let elements: &[T] = cast_slice(self.bytes);
        to.clear();
        to.reserve(rows.len() * columns.len());
        for row in rows {
            let index = |column: usize| {
                (self.offset + row as isize * self.row_stride + column as isize * self.column_stride) as usize
            };
            if self.column_stride == 1 {
                let row = &elements[index(columns.start)..][..columns.len()];
                to.extend(row.iter().map(|&element| convert(element)));
            } else {
                to.extend(columns.clone().map(|column| convert(elements[index(column)])));
            }
        }
    }

    /// The first element, if every element of the matrix lies in the slice.
    fn start<T: Pod>(&self, rows: usize, columns: usize) -> *const T {
        let elements: &[T] = cast_slice(self.bytes);
        let reach = |stride: isize, size: usize| (stride as i128).saturating_mul(size as i128 - 1);
        let (down, across) = (reach(self.row_stride, rows), reach(self.column_stride, columns));
        let low = (self.offset as i128).saturating_add(down.min(0)).saturating_add(across.min(0));
        let high = (self.offset as i128).saturating_add(down.max(0)).saturating_add(across.max(0));
        assert!(low >= 0 && high < elements.len() as i128, "the matrix is not inside its slice");
        elements.as_ptr().wrapping_offset(self.offset)
    }
}

/// Writes the product of `a` and `b` to `out`, row by row.
///
/// Shapes: `(n, k), (k, m) -> (n, m)`. Halves are multiplied and added in f32 and rounded once; integers wrap; a product
/// over no columns is 0.
///
/// # Panics
/// If a matrix does not lie in its slice, `out` has not `n * m` elements, or `dtype` is bool.
///
/// ```
/// use zerostride_kernels::{Matrix, ProductSizes, matmul};
/// use zerostride_ops::DType;
///
/// let a = Matrix { bytes: &[1, 2, 3, 4], offset: 0, row_stride: 2, column_stride: 1 };
/// let transposed = Matrix { row_stride: 1, column_stride: 2, ..a };
/// let mut out = [0; 4];
/// matmul(DType::U8, ProductSizes { n: 2, k: 2, m: 2 }, a, transposed, &mut out);
/// assert_eq!(out, [5, 11, 11, 25]);
/// ```
pub fn matmul(dtype: DType, sizes: ProductSizes, a: Matrix<'_>, b: Matrix<'_>, out: &mut [u8]) {
    let bytes = sizes.n.checked_mul(sizes.m).and_then(|numel| numel.checked_mul(dtype.item_size()));
    assert_eq!(Some(out.len()), bytes, "the product has another size");
    if out.is_empty() || sizes.k == 0 {
        out.fill(0);
        return;
    }
    match dtype {
        // The low bits of a product are the same with and without a sign.
        DType::U8 | DType::I8 => integers::<u8>(sizes, a, b, out),
        DType::U16 | DType::I16 => integers::<u16>(sizes, a, b, out),
        DType::U32 | DType::I32 => integers::<u32>(sizes, a, b, out),
        DType::U64 | DType::I64 => integers::<u64>(sizes, a, b, out),
        DType::F16 => halves(sizes, a, b, out, f16::to_f32, f16::from_f32),
        DType::BF16 => halves(sizes, a, b, out, bf16::to_f32, bf16::from_f32),
        DType::F32 => floats::<f32>(sizes, a, b, out, (0.0, 1.0, false)),
        DType::F64 => floats::<f64>(sizes, a, b, out, (0.0, 1.0, false)),
        DType::C64 => floats::<Complex32>(sizes, a, b, out, (Complex32::ZERO, Complex32::ONE, false)),
        DType::C128 => floats::<Complex64>(sizes, a, b, out, (Complex64::ZERO, Complex64::ONE, false)),
        DType::Bool => panic!("bool has no matrix product"),
    }
}

/// Writes the product, or adds it to what is there if it `adds`.
fn floats<T: Pod + Send + Sync>(
    ProductSizes { n, k, m }: ProductSizes,
    a: Matrix<'_>,
    b: Matrix<'_>,
    out: &mut [u8],
    (zero, one, adds): (T, T, bool),
) {
    let (a_start, b_start) = (a.start::<T>(n, k), b.start::<T>(k, m));
    let out: &mut [T] = cast_slice_mut(out);
    // SAFETY: `start` has seen that all elements that the strides reach lie in the slices, which are borrowed and
    // aligned; `out` holds n * m elements, is borrowed mutably and so overlaps neither.
    unsafe {
        gemm::gemm(
            n,
            m,
            k,
            out.as_mut_ptr(),
            1,
            m as isize,
            adds,
            a_start,
            a.column_stride,
            a.row_stride,
            b_start,
            b.column_stride,
            b.row_stride,
            if adds { one } else { zero },
            one,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

/// Rows of so many columns, one after the other.
fn dense(elements: &[f32], columns: usize) -> Matrix<'_> {
    Matrix { bytes: cast_slice(elements), offset: 0, row_stride: columns as isize, column_stride: 1 }
}

/// Products in f32: the factors, at their own size, are widened first, and the sums rounded once.
fn halves<T: Pod>(
    ProductSizes { n, k, m }: ProductSizes,
    a: Matrix<'_>,
    b: Matrix<'_>,
    out: &mut [u8],
    widen: fn(T) -> f32,
    narrow: fn(f32) -> T,
) {
    let out: &mut [T] = cast_slice_mut(out);
    let (mut wide_a, mut wide_b, mut sums) = (Vec::new(), Vec::new(), Vec::new());
    for columns in parts(m, WIDTH / size_of::<f32>()) {
        sums.clear();
        sums.resize(n * columns.len(), 0.0);
        for depth in parts(k, DEPTH) {
            a.gather(0..n, depth.clone(), widen, &mut wide_a);
            b.gather(depth.clone(), columns.clone(), widen, &mut wide_b);
            let sizes = ProductSizes { n, k: depth.len(), m: columns.len() };
            let (a, b) = (dense(&wide_a, depth.len()), dense(&wide_b, columns.len()));
            floats::<f32>(sizes, a, b, cast_slice_mut(&mut sums), (0.0, 1.0, depth.start > 0));
        }
        for (out, sums) in out.chunks_exact_mut(m).zip(sums.chunks_exact(columns.len())) {
            out[columns.clone()].iter_mut().zip(sums).for_each(|(out, &sum)| *out = narrow(sum));
        }
    }
}

fn integers<T: Integer + Pod>(
    ProductSizes { n, k, m }: ProductSizes,
    a: Matrix<'_>,
    b: Matrix<'_>,
    out: &mut [u8],
) {
    let out: &mut [T] = cast_slice_mut(out);
    out.fill(T::ZERO);
    let (mut own_a, mut own_b) = (Vec::new(), Vec::new());
    for columns in parts(m, WIDTH / size_of::<T>()) {
        for depth in parts(k, DEPTH) {
            a.gather(0..n, depth.clone(), |element: T| element, &mut own_a);
            b.gather(depth.clone(), columns.clone(), |element: T| element, &mut own_b);
            let (k, columns) = (depth.len(), columns.clone());
            isa::run_widest(Integers { k, m, columns, a: &own_a, b: &own_b, out });
        }
    }
}

/// The loops over elements in order, to be compiled for each instruction set.
struct Integers<'a, T> {
    k: usize,
    m: usize,
    /// Those of the result that are added to.
    columns: Range<usize>,
    a: &'a [T],
    b: &'a [T],
    out: &'a mut [T],
}

impl<T: Integer> Task for Integers<'_, T> {
    #[inline(always)]
    fn run(self) {
        let Integers { k, m, columns, a, b, out } = self;
        for (out, a) in out.chunks_exact_mut(m).zip(a.chunks_exact(k)) {
            let out = &mut out[columns.clone()];
            for (&a, b) in a.iter().zip(b.chunks_exact(columns.len())) {
                for (out, &b) in out.iter_mut().zip(b) {
                    *out = out.wrapping_add(a.wrapping_mul(b));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use bytemuck::{bytes_of, bytes_of_mut};

    use super::*;
    use crate::cast_kernel;

    fn one() -> Matrix<'static> {
        Matrix { bytes: bytes_of(&0f32), offset: 0, row_stride: 0, column_stride: 0 }
    }

    #[test]
    fn tiles_of_integers_and_halves_add_up() {
        let sizes = ProductSizes { n: 3, k: DEPTH + 5, m: WIDTH / 2 + 7 };
        let ProductSizes { n, k, m } = sizes;
        // Sums of up to 2048 are exact in every dtype.
        let [a, b] =
            [n * k, k * m].map(|len| (0..len).map(|i| i64::from(i * i % 7 == 1)).collect::<Vec<_>>());
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
            matmul(dtype, sizes, matrix(&a, k), matrix(&b, m), &mut out);
            assert!(out == stored(&expected), "{dtype}");
        }
    }

    #[test]
    #[should_panic(expected = "another size")]
    fn sizes_whose_product_wraps_around_are_refused() {
        let sizes = ProductSizes { n: (1 << 62) + 1, k: 1, m: 1 };
        matmul(DType::F32, sizes, one(), one(), bytes_of_mut(&mut 0f32));
    }

    #[test]
    #[should_panic(expected = "not inside its slice")]
    fn strides_that_wrap_around_are_refused() {
        let far = Matrix { row_stride: isize::MIN, ..one() };
        matmul(DType::F32, ProductSizes { n: 3, k: 1, m: 1 }, far, one(), bytes_of_mut(&mut [0f32; 3]));
    }
}
