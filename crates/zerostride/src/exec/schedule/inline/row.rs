//! Owns the rows of the table as they run without a plan: what computes an operation, and in which dtypes. It
//! does not know where elements are.

use zerostride_kernels::{MapKernel, StridedKernel, map_kernel, store_scalar, strided_kernel};
use zerostride_ops::{Bucket, DType, Effort, Inferred, Op, Typed};

use super::direct;
use super::loops::Loops;
use super::value::{AsValue, Value};
use crate::exec::body::Compiled;
use crate::exec::elements::ElementSlice;
use crate::fork::OnceLock;

/// What computes an operation, and in which dtypes.
pub(super) struct Row {
    pub(super) op: Op,
    pub(super) inferred: Inferred,
    kernel: MapKernel,
    /// The kernel on strided elements, if there is one.
    pub(super) strided: Option<StridedKernel>,
    /// A chain for so many elements or more, where the kernel takes them one by one: functions, f16 and bf16.
    chain: Option<(usize, &'static Compiled)>,
}

impl Row {
    /// The row of an operation on operands that inference takes as they are. Where they are of one dtype, it
    /// is looked up.
    #[inline]
    pub(super) fn of<const N: usize>(op: Op, values: &[impl AsValue; N]) -> Option<&'static Row> {
        static UNIFORM: [[OnceLock<Option<&Row>>; DType::ALL.len()]; Op::ALL.len()] =
            [const { [const { OnceLock::new() }; DType::ALL.len()] }; Op::ALL.len()];
        let mut typed = [Typed::dimensioned(DType::Bool); N];
        for (typed, value) in typed.iter_mut().zip(values) {
            *typed = value.value().typed()?;
        }
        let first = typed[0];
        if first.bucket == Bucket::Dimensioned && typed.iter().all(|typed| *typed == first) {
            let row = &UNIFORM[op as usize][first.dtype as usize];
            return *row.get_or_init(|| Row::infer(op, &typed));
        }
        Row::infer(op, &typed)
    }

    #[cold]
    fn infer(op: Op, typed: &[Typed]) -> Option<&'static Row> {
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

    /// The row of an operation that computes in these dtypes; `None` where no kernel does.
    #[inline]
    pub(super) fn new(op: Op, inferred: Inferred, operands: usize) -> Option<&'static Row> {
        static ROWS: [[OnceLock<Option<Row>>; DType::ALL.len()]; Op::ALL.len()] =
            [const { [const { OnceLock::new() }; DType::ALL.len()] }; Op::ALL.len()];
        let row = &ROWS[op as usize][inferred.compute as usize];
        let row = row.get_or_init(|| Row::make(op, inferred, operands)).as_ref();
        row.filter(|row| row.inferred == inferred)
    }

    fn make(op: Op, inferred: Inferred, operands: usize) -> Option<Row> {
        let compute = inferred.compute;
        // Elements that a kernel has done before a chain has its addresses.
        let few = match op.info().effort {
            Some(Effort::function) => Some(4),
            _ => compute.is_half().then_some(32),
        };
        let mut row = Row { op, inferred, kernel: map_kernel(op, compute)?, strided: None, chain: None };
        // Kernels read a condition in the dtype that they compute in, chains as bool.
        if (0..operands).all(|operand| row.read(operand) == compute) {
            let chain = || direct::code(op, inferred, operands, 0).filter(|code| code.is_one_chain());
            row.strided = strided_kernel(op, compute);
            row.chain = few.and_then(|few| Some((few, chain()?)));
        }
        Some(row)
    }

    /// The code of the operation where these operands are contiguous, or broadcast scalars.
    pub(super) fn code<const N: usize>(&self, loops: &Loops<N>) -> Option<&'static Compiled> {
        let splats = (0..N).filter(|&operand| loops.is_one(operand)).map(|operand| 1 << operand).sum();
        direct::code(self.op, self.inferred, N, splats)
    }

    /// Whether values are numbers, or of the dtypes in which code reads operands.
    pub(super) fn reads<const N: usize>(&self, values: &[impl AsValue; N]) -> bool {
        let is_read = |(operand, value): (usize, Value<'_>)| {
            value.number().is_some() || value.typed().is_some_and(|typed| typed.dtype == self.read(operand))
        };
        values.iter().map(AsValue::value).enumerate().all(is_read)
    }

    /// The dtype in which code reads an operand: the one that the operation computes in, but bool for a
    /// condition.
    fn read(&self, operand: usize) -> DType {
        direct::read(self.op, self.inferred, operand)
    }

    /// The elements of operands as chains and strided kernels read them, numbers among them; none of a tensor
    /// without a storage.
    #[inline(always)]
    pub(super) fn slices<'a, const N: usize>(
        &self,
        values: &[impl AsValue; N],
        storages: [Option<&'a [u8]>; N],
        numbers: &'a mut [[u8; 16]; N],
    ) -> [Option<ElementSlice<'a>>; N] {
        let mut slices = [None; N];
        for (operand, (slice, bytes)) in slices.iter_mut().zip(numbers).enumerate() {
            let (value, dtype) = (values[operand].value(), self.read(operand));
            let item = dtype.item_size();
            *slice = match value.number() {
                Some(number) => {
                    store_scalar(number, dtype, &mut bytes[..item]);
                    Some(ElementSlice { bytes, item, first: 0 })
                }
                None => storages[operand].zip(value.layout()).map(|(bytes, layout)| ElementSlice {
                    bytes,
                    item,
                    first: layout.offset(),
                }),
            };
        }
        slices
    }

    /// Computes results from contiguous elements, as many of each operand. `None` if the kernel refuses some
    /// value.
    pub(super) fn compute(&self, inputs: &[&[u8]], out: &mut [u8]) -> Option<()> {
        let len = out.len() / self.inferred.result.item_size();
        match self.chain {
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
