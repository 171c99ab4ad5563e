//! Owns the inference of matrix products: PyTorch's combinations of ranks, and the messages of each. It does
//! not know how products are planned or run.

use smallvec::SmallVec;
use zerostride_ops::{DType, Typed};
use zerostride_shape::{Shape, broadcast_shape};

use crate::{Error, Result};

/// A factor as a batch of matrices, and whether it was a vector.
pub(crate) struct MatrixOperand<'a> {
    pub(crate) batch: &'a [usize],
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    vector: bool,
}

impl<'a> MatrixOperand<'a> {
    /// A vector is a row on the left and a column on the right.
    pub(crate) fn new(shape: &'a [usize], left: bool) -> MatrixOperand<'a> {
        match *shape {
            [size] => {
                let (rows, columns) = if left { (1, size) } else { (size, 1) };
                MatrixOperand { batch: &[], rows, columns, vector: true }
            }
            [ref batch @ .., rows, columns] => MatrixOperand { batch, rows, columns, vector: false },
            [] => unreachable!("scalars have been refused"),
        }
    }
}

/// Shape and dtype of a product.
pub(super) fn infer(a: Typed, a_shape: &Shape, b: Typed, b_shape: &Shape) -> Result<(Shape, DType)> {
    if a_shape.ndim() == 0 || b_shape.ndim() == 0 {
        return Err(Error::runtime(format_args!(
            "both arguments to matmul need to be at least 1D, but they are {}D and {}D",
            a_shape.ndim(),
            b_shape.ndim()
        )));
    }
    let kind = Case::of(a_shape, b_shape);
    kind.check_dtypes(a.dtype, b.dtype)?;
    let (left, right) = (MatrixOperand::new(a_shape, true), MatrixOperand::new(b_shape, false));
    // PyTorch broadcasts batches before it compares the inner sizes.
    let batch = broadcast_shape(&[left.batch, right.batch])?;
    if left.columns != right.rows {
        return Err(kind.mismatch(&left, &right, &batch));
    }
    let rows = (!left.vector).then_some(left.rows);
    let columns = (!right.vector).then_some(right.columns);
    let sizes: SmallVec<[usize; 8]> = batch.iter().copied().chain(rows).chain(columns).collect();
    Ok((Shape::new(&sizes)?, a.dtype))
}

/// Refuses dtypes that PyTorch's batched product does not have.
pub(super) fn check_batches(a: DType, b: DType) -> Result<()> {
    Case::Batches.check_dtypes(a, b)
}

/// Whether PyTorch has matrix products for that dtype; its batched product checks this before it compares
/// dtypes.
fn is_multiplied(dtype: DType) -> bool {
    !matches!(dtype, DType::Bool | DType::U16 | DType::U32 | DType::U64)
}

/// The routine that PyTorch dispatches to: it decides the messages.
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
            // One batch, or an empty factor: PyTorch folds it into a matrix and multiplies that by the
            // vector.
            (1, _) if b.numel() == 0 || b[..b.ndim() - 2].iter().product::<usize>() == 1 => {
                Case::VectorMatrix
            }
            _ => Case::Batches,
        }
    }

    fn check_dtypes(self, a: DType, b: DType) -> Result<()> {
        let names_both = !matches!(self, Case::Batches) || is_multiplied(a);
        if a != b && names_both {
            return Err(self.mixed(a, b));
        }
        if a != b || a == DType::Bool {
            return Err(Error::not_implemented(self.kernel(), a));
        }
        Ok(())
    }

    fn kernel(self) -> &'static str {
        match self {
            Case::Dot => "dot",
            Case::MatrixVector | Case::VectorMatrix => "addmv_impl_cpu",
            Case::Matrices => "addmm_impl_cpu_",
            Case::Batches => "bmm",
        }
    }

    fn mismatch(self, a: &MatrixOperand<'_>, b: &MatrixOperand<'_>, batch: &Shape) -> Error {
        let folded =
            |operand: &MatrixOperand<'_>, rows: usize| operand.batch.iter().product::<usize>() * rows;
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
