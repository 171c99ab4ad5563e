//! Owns the rows of the table as they run without a plan: what computes an operation, and in which dtypes. It
//! does not know where elements lie.

use zerostride_kernels::{MapKernel, StridedKernel, map_kernel, strided_kernel};
use zerostride_ops::{Bucket, DType, Effort, Inferred, Op, Typed};

use super::direct;
use super::value::Value;
use crate::exec::body::Compiled;
use crate::fork::OnceLock;

/// What computes an operation, and in which dtypes.
#[derive(Clone, Copy)]
pub(super) struct Row {
    pub(super) op: Op,
    pub(super) inferred: Inferred,
    kernel: MapKernel,
    /// The kernel on strided elements, if there is one.
    pub(super) strided: Option<StridedKernel>,
    /// A chain for so many elements or more, where the kernel takes them one by one: functions, f16 and bf16.
    code: Option<(usize, &'static Compiled)>,
}

impl Row {
    /// The row of an operation on operands that inference takes as they are. Where they are of one dtype, it
    /// is looked up.
    #[inline]
    pub(super) fn of<const N: usize>(op: Op, values: &[impl Value; N]) -> Option<Row> {
        static UNIFORM: [[OnceLock<Option<Row>>; DType::ALL.len()]; Op::ALL.len()] =
            [const { [const { OnceLock::new() }; DType::ALL.len()] }; Op::ALL.len()];
        let mut typed = [Typed::dimensioned(DType::Bool); N];
        for (typed, value) in typed.iter_mut().zip(values) {
            *typed = value.typed()?;
        }
        let first = typed[0];
        if first.bucket == Bucket::Dimensioned && typed.iter().all(|typed| *typed == first) {
            let place = &UNIFORM[op as usize][first.dtype as usize];
            return *place.get_or_init(|| Row::infer(op, &typed));
        }
        Row::infer(op, &typed)
    }

    #[cold]
    fn infer(op: Op, typed: &[Typed]) -> Option<Row> {
        let inferred = op.infer(typed).ok()?;
        let plain = match op {
            // Numbers among their operands have rules of their own, and some are other operations
            // (`Expr::map`).
            Op::Pow | Op::Lerp | Op::Where => typed.iter().all(|typed| typed.bucket != Bucket::Number),
            Op::Ldexp => false,
            // So have operands of other dtypes where f16 or bf16 is computed in.
            _ => !inferred.compute.is_half() || typed.iter().all(|typed| typed.dtype == inferred.compute),
        };
        if plain { Row::new(op, inferred, typed.len()) } else { None }
    }

    pub(super) fn new(op: Op, inferred: Inferred, operands: usize) -> Option<Row> {
        let compute = inferred.compute;
        // Elements that a kernel has done before a chain has its addresses.
        let few = match op.info().effort {
            Some(Effort::function) => Some(4),
            _ => compute.is_half().then_some(32),
        };
        // Kernels read a condition in the dtype they compute in, chains as bool.
        let is_read = |operand| direct::read(op, inferred, operand) == compute;
        let few = few.filter(|_| (0..operands).all(is_read));
        let code = |few| Some((few, direct::code(op, inferred, operands, 0)?));
        Some(Row {
            op,
            inferred,
            kernel: map_kernel(op, compute)?,
            strided: strided_kernel(op, compute),
            code: few.and_then(code),
        })
    }

    /// Computes results from contiguous elements, as many of each operand. `None` if the kernel refuses some
    /// value.
    pub(super) fn compute(&self, inputs: &[&[u8]], out: &mut [u8]) -> Option<()> {
        let len = out.len() / self.inferred.result.item_size();
        match self.code {
            Some((few, code)) if len >= few => direct::run_dense(code, len, inputs, out),
            _ => (self.kernel)(inputs, out).ok()?,
        }
        Some(())
    }

    /// Whether the kernel refuses no value, and is about as fast as a chain.
    pub(super) fn is_arithmetic(&self) -> bool {
        let is_float = matches!(self.inferred.compute, DType::F32 | DType::F64);
        is_float && matches!(self.op, Op::Add | Op::Sub | Op::Mul | Op::Div)
    }
}
