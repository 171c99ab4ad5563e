//! Owns the product of two matrices in memory, floats through the `gemm` crate. It does not know batches or shapes.

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

impl Matrix<'_> {
    /// The elements, row by row.
    fn gather<T: Pod, R>(&self, rows: usize, columns: usize, convert: impl Fn(T) -> R) -> Vec<R> {
        let elements: &[T] = cast_slice(self.bytes);
        let mut gathered = Vec::with_capacity(rows * columns);
        for row in 0..rows as isize {
            let first = self.offset + row * self.row_stride;
            if self.column_stride == 1 {
                gathered
                    .extend(elements[first as usize..][..columns].iter().map(|&element| convert(element)));
            } else {
                let index = |column: usize| (first + column as isize * self.column_stride) as usize;
                gathered.extend((0..columns).map(|column| convert(elements[index(column)])));
            }
        }
        gathered
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
        DType::F32 => floats::<f32>(sizes, a, b, out, (0.0, 1.0)),
        DType::F64 => floats::<f64>(sizes, a, b, out, (0.0, 1.0)),
        DType::C64 => floats::<Complex32>(sizes, a, b, out, (Complex32::ZERO, Complex32::ONE)),
        DType::C128 => floats::<Complex64>(sizes, a, b, out, (Complex64::ZERO, Complex64::ONE)),
        DType::Bool => panic!("bool has no matrix product"),
    }
}

fn floats<T: Pod + Send + Sync>(
    ProductSizes { n, k, m }: ProductSizes,
    a: Matrix<'_>,
    b: Matrix<'_>,
    out: &mut [u8],
    (zero, one): (T, T),
) {
    let (a_start, b_start) = (a.start::<T>(n, k), b.start::<T>(k, m));
    let out: &mut [T] = cast_slice_mut(out);
    // SAFETY: `start` has seen that all elements that the strides reach lie in the slices, which are borrowed and
    // aligned; `out` holds n * m elements, is borrowed mutably and so overlaps neither. `read_dst` is false.
    unsafe {
        gemm::gemm(
            n,
            m,
            k,
            out.as_mut_ptr(),
            1,
            m as isize,
            false,
            a_start,
            a.column_stride,
            a.row_stride,
            b_start,
            b.column_stride,
            b.row_stride,
            zero,
            one,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

/// Products in f32: the factors, at their own size, are widened first.
fn halves<T: Pod>(
    sizes: ProductSizes,
    a: Matrix<'_>,
    b: Matrix<'_>,
    out: &mut [u8],
    widen: fn(T) -> f32,
    narrow: fn(f32) -> T,
) {
    let wide_a = a.gather(sizes.n, sizes.k, widen);
    let wide_b = b.gather(sizes.k, sizes.m, widen);
    let mut wide_out = vec![0f32; sizes.n * sizes.m];
    let matrix = |elements, columns: usize| Matrix {
        bytes: cast_slice::<f32, u8>(elements),
        offset: 0,
        row_stride: columns as isize,
        column_stride: 1,
    };
    floats::<f32>(
        sizes,
        matrix(&wide_a, sizes.k),
        matrix(&wide_b, sizes.m),
        cast_slice_mut(&mut wide_out),
        (0.0, 1.0),
    );
    for (out, wide) in cast_slice_mut::<u8, T>(out).iter_mut().zip(wide_out) {
        *out = narrow(wide);
    }
}

fn integers<T: Integer + Pod>(
    ProductSizes { n, k, m }: ProductSizes,
    a: Matrix<'_>,
    b: Matrix<'_>,
    out: &mut [u8],
) {
    let a = a.gather(n, k, |element: T| element);
    let b = b.gather(k, m, |element: T| element);
    isa::run_widest(Integers { k, m, a: &a, b: &b, out: cast_slice_mut(out) });
}

/// The loops over elements in order, to be compiled for each instruction set.
struct Integers<'a, T> {
    k: usize,
    m: usize,
    a: &'a [T],
    b: &'a [T],
    out: &'a mut [T],
}

impl<T: Integer> Task for Integers<'_, T> {
    #[inline(always)]
    fn run(self) {
        let Integers { k, m, a, b, out } = self;
        out.fill(T::ZERO);
        for (out, a) in out.chunks_exact_mut(m).zip(a.chunks_exact(k)) {
            for (&a, b) in a.iter().zip(b.chunks_exact(m)) {
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

    fn one() -> Matrix<'static> {
        Matrix { bytes: bytes_of(&0f32), offset: 0, row_stride: 0, column_stride: 0 }
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
