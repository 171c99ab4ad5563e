//! Owns the product of two matrices in memory, and which dtype is multiplied how (`float.rs`, `integer.rs`).
//! It does not know batches or shapes.

mod dots;
mod factor;
mod float;
mod integer;
mod matrix;
mod scratch;
mod small;
#[cfg(test)]
mod tests;
mod tile;

use bytemuck::{Pod, cast_slice_mut};
use num_complex::{Complex32, Complex64};
use zerostride_ops::{DType, bf16, f16};

pub(crate) use factor::BLOCK_DEPTH;
use factor::FactorElement;
use float::multiply_floats;
use integer::multiply_integers;
use matrix::parts;
pub use matrix::{Matrix, ProductSizes};
pub use scratch::ProductScratch;
pub use small::{Matrices, matmul_small};

/// Writes the product of `a` and `b` to `out`, row by row.
///
/// Shapes: `(n, k), (k, m) -> (n, m)`. f16 and bf16 are multiplied and added in f32 and rounded once;
/// integers wrap; a product over no columns is 0. The bits of an element do not depend on layouts, nor on the
/// elements beside it.
///
/// # Panics
/// If a matrix does not lie in its slice, `out` has not `n * m` elements, or `dtype` is bool.
///
/// ```
/// use zerostride_kernels::{Matrix, ProductSizes, ProductScratch, matmul};
/// use zerostride_ops::DType;
///
/// let a = Matrix { bytes: &[1, 2, 3, 4], offset: 0, row_stride: 2, column_stride: 1 };
/// let transposed = Matrix { row_stride: 1, column_stride: 2, ..a };
/// let (mut out, mut scratch) = ([0; 4], ProductScratch::default());
/// matmul(DType::U8, ProductSizes { n: 2, k: 2, m: 2 }, a, transposed, &mut out, &mut scratch);
/// assert_eq!(out, [5, 11, 11, 25]);
/// ```
pub fn matmul(
    dtype: DType,
    sizes: ProductSizes,
    a: Matrix<'_>,
    b: Matrix<'_>,
    out: &mut [u8],
    scratch: &mut ProductScratch,
) {
    let bytes = sizes.n.checked_mul(sizes.m).and_then(|numel| numel.checked_mul(dtype.item_size()));
    assert_eq!(Some(out.len()), bytes, "the product has another size");
    if out.is_empty() || sizes.k == 0 {
        out.fill(0);
        return;
    }
    match dtype {
        // The low bits of a product are the same with and without a sign.
        DType::U8 | DType::I8 => in_place(multiply_integers::<u8>, sizes, (a, b), out, scratch),
        DType::U16 | DType::I16 => in_place(multiply_integers::<u16>, sizes, (a, b), out, scratch),
        DType::U32 | DType::I32 => in_place(multiply_integers::<u32>, sizes, (a, b), out, scratch),
        DType::U64 | DType::I64 => in_place(multiply_integers::<u64>, sizes, (a, b), out, scratch),
        DType::F16 => halves(f16::from_f32, sizes, (a, b), out, scratch),
        DType::BF16 => halves(bf16::from_f32, sizes, (a, b), out, scratch),
        DType::F32 => in_place(multiply_floats::<f32>, sizes, (a, b), out, scratch),
        DType::F64 => in_place(multiply_floats::<f64>, sizes, (a, b), out, scratch),
        DType::C64 => in_place(multiply_floats::<Complex32>, sizes, (a, b), out, scratch),
        DType::C128 => in_place(multiply_floats::<Complex64>, sizes, (a, b), out, scratch),
        DType::Bool => panic!("bool has no matrix product"),
    }
}

/// Multiplies two matrices that lie in their slices.
type Multiply<T> = fn(ProductSizes, Matrix<'_>, Matrix<'_>, &mut [T], &mut ProductScratch);

/// A product whose sums have the factors' dtype.
fn in_place<T: Pod>(
    multiply: Multiply<T>,
    sizes: ProductSizes,
    (a, b): (Matrix<'_>, Matrix<'_>),
    out: &mut [u8],
    scratch: &mut ProductScratch,
) {
    a.check::<T>(sizes.n, sizes.k);
    b.check::<T>(sizes.k, sizes.m);
    multiply(sizes, a, b, cast_slice_mut(out), scratch);
}

/// Rows and columns of a product of f16 or bf16 whose f32 sums are held at a time.
const HALF_BLOCK: [usize; 2] = [128, 512];

/// A product of f16 or bf16, summed in f32 and rounded once.
fn halves<T: FactorElement<Sum = f32>>(
    narrow: fn(f32) -> T,
    ProductSizes { n, k, m }: ProductSizes,
    (a, b): (Matrix<'_>, Matrix<'_>),
    out: &mut [u8],
    scratch: &mut ProductScratch,
) {
    a.check::<T>(n, k);
    b.check::<T>(k, m);
    let out: &mut [T] = cast_slice_mut(out);
    let mut sums = std::mem::take(&mut scratch.sums);
    for (rows, columns) in parts(n, HALF_BLOCK[0])
        .flat_map(|rows| parts(m, HALF_BLOCK[1]).map(move |columns| (rows.clone(), columns)))
    {
        let sizes = ProductSizes { n: rows.len(), k, m: columns.len() };
        sums.resize(sizes.n * sizes.m, 0.0);
        let a = Matrix { offset: a.offset + rows.start as isize * a.row_stride, ..a };
        let b = Matrix { offset: b.offset + columns.start as isize * b.column_stride, ..b };
        multiply_floats::<T>(sizes, a, b, &mut sums, scratch);
        for (row, sums) in rows.zip(sums.chunks_exact(sizes.m)) {
            let out = &mut out[row * m..][columns.clone()];
            out.iter_mut().zip(sums).for_each(|(out, &sum)| *out = narrow(sum));
        }
    }
    scratch.sums = sums;
}
