//! Owns matrix products: PyTorch's rank cases, batches in step with strides of 0 where they are stretched, threads. It
//! does not know how two matrices are multiplied (`kernels`).

use std::ops::Range;

use smallvec::SmallVec;
use zerostride_kernels::{Matrix, ProductSizes, matmul};
use zerostride_ops::{DType, Typed};
use zerostride_shape::{ErrorClass, Layout, Shape, Strides, broadcast_shape};

use super::join;
use crate::plan::{Factor, Source, Work};
use crate::{Error, Result};

/// Rows that are multiplied at a time: fixed, so that threads cannot change the bits.
const ROWS: usize = 128;

/// Multiplications below which a product is not worth dividing among threads.
const GRAIN: usize = 1 << 18;

/// A factor as matrices, and whether it was a vector.
struct Operand<'a> {
    batch: &'a [usize],
    rows: usize,
    columns: usize,
    vector: bool,
}

impl<'a> Operand<'a> {
    /// A vector is a row on the left and a column on the right.
    fn new(shape: &'a [usize], left: bool) -> Operand<'a> {
        match *shape {
            [size] => {
                let (rows, columns) = if left { (1, size) } else { (size, 1) };
                Operand { batch: &[], rows, columns, vector: true }
            }
            [ref batch @ .., rows, columns] => Operand { batch, rows, columns, vector: false },
            [] => unreachable!("scalars have been refused"),
        }
    }
}

/// Shape and dtype of a product.
pub(crate) fn infer(a: Typed, a_shape: &Shape, b: Typed, b_shape: &Shape) -> Result<(Shape, DType)> {
    if a_shape.ndim() == 0 || b_shape.ndim() == 0 {
        return Err(Error::runtime(format_args!(
            "both arguments to matmul need to be at least 1D, but they are {}D and {}D",
            a_shape.ndim(),
            b_shape.ndim()
        )));
    }
    let kind = Case::of(a_shape, b_shape);
    let names_both = !matches!(kind, Case::Batches) || is_multiplied(a.dtype);
    if a.dtype != b.dtype && names_both {
        return Err(kind.mixed(a.dtype, b.dtype));
    }
    if a.dtype != b.dtype || a.dtype == DType::Bool {
        let message = format!("\"{}\" not implemented for '{}'", kind.kernel(), a.dtype.scalar_name());
        return Err(Error::Argument { class: ErrorClass::NotImplemented, message });
    }
    let (left, right) = (Operand::new(a_shape, true), Operand::new(b_shape, false));
    // Folded cases check the inner sizes at once; batches are broadcast before.
    let batch = broadcast_shape(&[left.batch, right.batch])?;
    if left.columns != right.rows {
        return Err(kind.mismatch(&left, &right, &batch));
    }
    let rows = (!left.vector).then_some(left.rows);
    let columns = (!right.vector).then_some(right.columns);
    let sizes: SmallVec<[usize; 8]> = batch.iter().copied().chain(rows).chain(columns).collect();
    Ok((Shape::new(&sizes)?, a.dtype))
}

/// Whether PyTorch multiplies matrices of that dtype; its batched product asks before it compares dtypes.
fn is_multiplied(dtype: DType) -> bool {
    !matches!(dtype, DType::Bool | DType::U16 | DType::U32 | DType::U64)
}

/// The routine that PyTorch takes, which words the errors.
#[derive(Clone, Copy)]
enum Case {
    Dot,
    MatrixVector,
    VectorMatrix,
    Matrices,
    Batches,
}

impl Case {
    fn of(a: &Shape, b: &Shape) -> Case {
        match (a.ndim(), b.ndim()) {
            (1, 1) => Case::Dot,
            (_, 1) => Case::MatrixVector,
            (1, 2) | (2.., 2) => Case::Matrices,
            // One batch, or none: folded into a matrix that is multiplied by the vector.
            (1, _) if b.numel() == 0 || b[..b.ndim() - 2].iter().product::<usize>() == 1 => {
                Case::VectorMatrix
            }
            _ => Case::Batches,
        }
    }

    fn kernel(self) -> &'static str {
        match self {
            Case::Dot => "dot",
            Case::MatrixVector | Case::VectorMatrix => "addmv_impl_cpu",
            Case::Matrices => "addmm_impl_cpu_",
            Case::Batches => "bmm",
        }
    }

    fn mismatch(self, a: &Operand<'_>, b: &Operand<'_>, batch: &Shape) -> Error {
        let folded = |operand: &Operand<'_>, rows: usize| operand.batch.iter().product::<usize>() * rows;
        match self {
            Case::Dot => Error::runtime(format_args!(
                "inconsistent tensor size, expected tensor [{0}] and src [{1}] to have the same number of elements, but got {0} and {1} elements respectively",
                a.columns, b.rows
            )),
            Case::MatrixVector => {
                let rows = folded(a, a.rows);
                Error::runtime(format_args!(
                    "size mismatch, got input ({rows}), mat ({rows}x{}), vec ({})",
                    a.columns, b.rows
                ))
            }
            Case::VectorMatrix => {
                let rows = folded(b, b.columns);
                Error::runtime(format_args!(
                    "size mismatch, got input ({rows}), mat ({rows}x{}), vec ({})",
                    b.rows, a.columns
                ))
            }
            Case::Matrices => Error::runtime(format_args!(
                "mm: mat1 and mat2 shapes cannot be multiplied ({}x{} and {}x{})",
                folded(a, a.rows),
                a.columns,
                b.rows,
                b.columns
            )),
            Case::Batches => Error::runtime(format_args!(
                "Expected size for first two dimensions of batch2 tensor to be: [{batches}, {}] but got: [{batches}, {}].",
                a.columns,
                b.rows,
                batches = batch.numel()
            )),
        }
    }

    fn mixed(self, a: DType, b: DType) -> Error {
        match self {
            Case::Dot => Error::runtime(format_args!(
                "dot : expected both vectors to have same dtype, but found {} and {}",
                a.scalar_name(),
                b.scalar_name()
            )),
            Case::MatrixVector | Case::VectorMatrix => Error::runtime(format_args!(
                "addmv input tensors must have the same dtype, but got {b}, {a}, and {b}",
                a = a.scalar_name(),
                b = b.scalar_name()
            )),
            Case::Matrices => Error::runtime(format_args!(
                "expected m1 and m2 to have the same dtype, but got: {} != {}",
                a.cpp_name(),
                b.cpp_name()
            )),
            Case::Batches => Error::runtime(format_args!(
                "expected scalar type {} but found {}",
                a.scalar_name(),
                b.scalar_name()
            )),
        }
    }
}

/// The step of a product of two values in memory, which `infer` has accepted.
pub(crate) fn plan(dtype: DType, (a_source, a): (Source, &Layout), (b_source, b): (Source, &Layout)) -> Work {
    let (left, right) = (Operand::new(a.shape(), true), Operand::new(b.shape(), false));
    let batch = broadcast_shape(&[left.batch, right.batch]).unwrap_or_default();
    let sizes = ProductSizes { n: left.rows, k: left.columns, m: right.columns };
    let factor = |source, layout: &Layout, left: bool| {
        let strides = layout.strides();
        let (outer, rows, columns) = match (strides.len(), left) {
            (1, true) => (&strides[..0], 0, strides[0]),
            (1, false) => (&strides[..0], strides[0], 0),
            (ndim, _) => (&strides[..ndim - 2], strides[ndim - 2], strides[ndim - 1]),
        };
        let missing = batch.ndim() - outer.len();
        let own = &layout.shape()[..outer.len()];
        let stretched = (0..batch.ndim()).map(|dim| match dim.checked_sub(missing) {
            Some(dim) if own[dim] > 1 => outer[dim],
            _ => 0,
        });
        let batch = Strides::new(&stretched.collect::<SmallVec<[isize; 8]>>()).unwrap_or_default();
        Factor { source, batch, rows, columns, offset: layout.offset() }
    };
    let (a, b) = (factor(a_source, a, true), factor(b_source, b, false));
    Work::Matmul { dtype, a, b, batch, n: sizes.n, m: sizes.m, k: sizes.k }
}

/// The elements of a factor: bytes, and the index that their first element has in the factor's layout.
pub(super) struct Elements<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) first: usize,
}

/// Multiplies into `out`, in blocks of rows of each batch.
pub(super) fn run(work: &Work, a_elements: Elements<'_>, b_elements: Elements<'_>, out: &mut [u8]) {
    let Work::Matmul { dtype, a, b, batch, n, m, k } = work else {
        unreachable!("the step is a matrix product")
    };
    let sizes = ProductSizes { n: *n, k: *k, m: *m };
    let product = Product { dtype: *dtype, sizes, batch, a: (a, a_elements), b: (b, b_elements) };
    // However many rows there are, nothing is to be done for no columns.
    if !out.is_empty() {
        product.divide(0..batch.numel() * n, out);
    }
}

struct Product<'a> {
    dtype: DType,
    sizes: ProductSizes,
    batch: &'a Shape,
    a: (&'a Factor, Elements<'a>),
    b: (&'a Factor, Elements<'a>),
}

impl Product<'_> {
    /// Rows of all batches, divided at the borders of blocks.
    fn divide(&self, rows: Range<usize>, out: &mut [u8]) {
        let first_end = self.block_end(rows.start);
        if first_end >= rows.end {
            return self.block(rows, out);
        }
        let middle = Some(self.block_end(rows.start + rows.len() / 2))
            .filter(|&end| end < rows.end)
            .unwrap_or(first_end);
        let (left, right) = out.split_at_mut((middle - rows.start) * self.sizes.m * self.dtype.item_size());
        let work = rows.len().saturating_mul(self.sizes.m).saturating_mul(self.sizes.k);
        if work < GRAIN {
            self.divide(rows.start..middle, left);
            self.divide(middle..rows.end, right);
        } else {
            join(|| self.divide(rows.start..middle, left), || self.divide(middle..rows.end, right));
        }
    }

    /// The end of the block of rows that a row is in.
    fn block_end(&self, row: usize) -> usize {
        let in_batch = row % self.sizes.n.max(1);
        row - in_batch + (in_batch / ROWS * ROWS + ROWS).min(self.sizes.n)
    }

    /// Some rows of one batch.
    fn block(&self, rows: Range<usize>, out: &mut [u8]) {
        if rows.is_empty() || out.is_empty() {
            return;
        }
        let n = self.sizes.n;
        let (mut rest, mut a_offset, mut b_offset) = (rows.start / n, self.a.0.offset, self.b.0.offset);
        for (dim, &size) in self.batch.iter().enumerate().rev() {
            let index = (rest % size) as isize;
            rest /= size;
            a_offset += index * self.a.0.batch[dim];
            b_offset += index * self.b.0.batch[dim];
        }
        a_offset += (rows.start % n) as isize * self.a.0.rows;
        let sizes = ProductSizes { n: rows.len(), ..self.sizes };
        matmul(self.dtype, sizes, matrix_of(&self.a, a_offset), matrix_of(&self.b, b_offset), out);
    }
}

fn matrix_of<'a>((factor, elements): &(&Factor, Elements<'a>), offset: isize) -> Matrix<'a> {
    Matrix {
        bytes: elements.bytes,
        offset: offset - elements.first as isize,
        row_stride: factor.rows,
        column_stride: factor.columns,
    }
}
