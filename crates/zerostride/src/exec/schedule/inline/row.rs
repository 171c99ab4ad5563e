//! Owns the rows of the table as they run without a plan: what computes an operation, and in which dtypes. It
//! does not know where elements are.

use std::collections::HashMap;

use once_cell::race::{OnceBox, OnceRef};
use smallvec::SmallVec;
use zerostride_kernels::{MapKernel, StridedKernel, map_kernel, store_scalar, strided_kernel};
use zerostride_ops::{Bucket, DType, Effort, Inferred, Op, Typed};
use zerostride_shape::Strides;

use super::ready_operand::{AsReadyOperand, ReadyOperand};
use crate::exec::body::{Compiled, LoadKind};
use crate::exec::elements::ElementSlice;
use crate::fork::{Guarded, Lock};
use crate::plan::{ElementSource, Instruction, Load, Program};

/// The most operands of an operation.
const MOST_OPERANDS: usize = 3;

/// What computes an operation, and in which dtypes.
pub(super) struct Row {
    pub(super) op: Op,
    pub(super) inferred: Inferred,
    kernel: MapKernel,
    /// The kernel on strided elements, if there is one.
    pub(super) strided: Option<StridedKernel>,
    /// Elements from which on code is faster than the kernel, where that takes them one by one: functions,
    /// f16 and bf16.
    coded: Option<usize>,
    operands: usize,
    /// The operation as code, by the bits of the operands that are broadcast scalars.
    codes: OnceBox<[Compiled; 1 << MOST_OPERANDS]>,
}

impl Row {
    /// The row of an operation on operands that inference takes as they are. Where they are of one dtype, it
    /// is looked up.
    #[inline]
    pub(super) fn of<const N: usize>(op: Op, values: &[impl AsReadyOperand; N]) -> Option<&'static Row> {
        static UNIFORM: [[OnceRef<'_, Row>; DType::ALL.len()]; Op::ALL.len()] =
            [const { [const { OnceRef::new() }; DType::ALL.len()] }; Op::ALL.len()];
        let mut typed = [Typed::dimensioned(DType::Bool); N];
        for (typed, value) in typed.iter_mut().zip(values) {
            *typed = value.value().typed()?;
        }
        let first = typed[0];
        if first.bucket == Bucket::Dimensioned && typed.iter().all(|typed| *typed == first) {
            let row = &UNIFORM[op as usize][first.dtype as usize];
            return row.get_or_try_init(|| Row::infer(op, &typed).ok_or(())).ok();
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
        static ROWS: [[OnceBox<Option<Row>>; DType::ALL.len()]; Op::ALL.len()] =
            [const { [const { OnceBox::new() }; DType::ALL.len()] }; Op::ALL.len()];
        let row = &ROWS[op as usize][inferred.compute as usize];
        let row = row.get_or_init(|| Box::new(Row::make(op, inferred, operands))).as_ref();
        row.filter(|row| row.inferred == inferred)
    }

    fn make(op: Op, inferred: Inferred, operands: usize) -> Option<Row> {
        let compute = inferred.compute;
        let (kernel, codes) = (map_kernel(op, compute)?, OnceBox::new());
        let mut row = Row { op, inferred, kernel, strided: None, coded: None, operands, codes };
        // Kernels read a condition in the dtype that they compute in, code as bool.
        if (0..operands).all(|operand| read(op, inferred, operand) == compute) {
            let coded = match op.info().effort {
                Some(Effort::function) => Some(4),
                _ => compute.is_half().then_some(32),
            };
            row.strided = strided_kernel(op, compute);
            row.coded = coded.filter(|_| row.code(0).is_some_and(Compiled::has_code));
        }
        Some(row)
    }

    /// The operation as a program on operands of the dtypes that [`read`] says; those whose bits are set are
    /// broadcast scalars.
    pub(super) fn code(&self, splats: usize) -> Option<&Compiled> {
        let operands = self.operands;
        let make = || {
            let program = self.program();
            std::array::from_fn(|splats| {
                let kind =
                    |operand| if splats >> operand & 1 == 1 { LoadKind::Splat } else { LoadKind::Vector };
                Compiled::new(&program, &(0..operands).map(kind).collect::<Vec<_>>(), false)
            })
        };
        (operands <= MOST_OPERANDS).then(|| &self.codes.get_or_init(|| Box::new(make()))[splats])
    }

    /// The same on operands that are read as these kinds say; `None` where there is no code for it.
    pub(super) fn stepped_code(&'static self, kinds: &[LoadKind]) -> Option<&'static Compiled> {
        type Known = HashMap<(Op, DType, SmallVec<[LoadKind; MOST_OPERANDS]>), &'static Compiled>;
        static KNOWN: Lock<Option<Known>> = Lock::new(Guarded::Stepped, None);
        let key = (self.op, self.inferred.compute, kinds.into());
        let mut known = KNOWN.lock();
        let code = known
            .get_or_insert_default()
            .entry(key)
            .or_insert_with(|| Box::leak(Box::new(Compiled::new(&self.program(), kinds, false))));
        code.has_code().then_some(*code)
    }

    /// The operation on operands of the dtypes that [`read`] says.
    fn program(&self) -> Program {
        let &Row { op, inferred, operands, .. } = self;
        let mut program = Program::default();
        let load = |operand| load(operand, read(op, inferred, operand));
        let loads = (0..operands).map(|operand| {
            let load = program.push_load(load(operand));
            let is_read = read(op, inferred, operand) == inferred.compute;
            if is_read { load } else { program.push(Instruction::Cast(load), inferred.compute) }
        });
        let map = Instruction::Map { op, compute: inferred.compute, operands: loads.collect() };
        program.result = program.push(map, inferred.result);
        program
    }

    /// The dtype in which an operand's elements are there: a number's are as code reads them.
    #[inline(always)]
    pub(super) fn dtype(&self, operand: usize, value: ReadyOperand<'_>) -> Option<DType> {
        match value {
            ReadyOperand::Number(_) => Some(read(self.op, self.inferred, operand)),
            ReadyOperand::Tensor(tensor, _) => Some(tensor.dtype()),
            ReadyOperand::Other => None,
        }
    }

    /// Whether all values are there in the dtypes in which code reads operands.
    #[inline(always)]
    pub(super) fn reads<const N: usize>(&self, values: &[impl AsReadyOperand; N]) -> bool {
        let is_read = |(operand, value): (usize, &_)| {
            self.dtype(operand, AsReadyOperand::value(value)) == Some(read(self.op, self.inferred, operand))
        };
        values.iter().enumerate().all(is_read)
    }

    /// The elements of operands, numbers among them; none of a tensor without a storage.
    #[inline(always)]
    pub(super) fn slices<'a, const N: usize>(
        &self,
        values: &[impl AsReadyOperand; N],
        storages: [Option<&'a [u8]>; N],
        numbers: &'a mut [[u8; 16]; N],
    ) -> [Option<ElementSlice<'a>>; N] {
        let mut slices = [None; N];
        for (operand, (slice, bytes)) in slices.iter_mut().zip(numbers).enumerate() {
            *slice = match values[operand].value() {
                ReadyOperand::Number(number) => {
                    let dtype = read(self.op, self.inferred, operand);
                    let item = dtype.item_size();
                    store_scalar(number, dtype, &mut bytes[..item]);
                    Some(ElementSlice { bytes, item, first: 0 })
                }
                ReadyOperand::Tensor(tensor, _) => storages[operand].map(|bytes| {
                    let (item, first) = (tensor.dtype().item_size(), tensor.layout().offset());
                    ElementSlice { bytes, item, first }
                }),
                ReadyOperand::Other => None,
            };
        }
        slices
    }

    /// Computes results from contiguous elements, as many of each operand. `None` if the kernel refuses some
    /// value.
    pub(super) fn compute(&self, inputs: &[&[u8]], out: &mut [u8]) -> Option<()> {
        let len = out.len() / self.inferred.result.item_size();
        match self.coded.filter(|&few| len >= few).and_then(|_| self.code(0)) {
            Some(code) => code.run_in_order(inputs, out).ok(),
            None => (self.kernel)(inputs, out).ok(),
        }
    }

    /// Whether the kernel refuses no value, and is about as fast as code.
    pub(super) fn is_arithmetic(&self) -> bool {
        let is_float = matches!(self.inferred.compute, DType::F32 | DType::F64);
        is_float && matches!(self.op, Op::Add | Op::Sub | Op::Mul | Op::Div)
    }
}

/// The dtype in which code reads an operand: the one that it computes in, but bool for a condition.
pub(super) fn read(op: Op, inferred: Inferred, operand: usize) -> DType {
    if op == Op::Where && operand == 0 { DType::Bool } else { inferred.compute }
}

/// The load of an operand with contiguous elements.
pub(super) fn load(operand: usize, dtype: DType) -> Load {
    Load { source: ElementSource::Leaf(operand), dtype, strides: Strides::default(), offset: 0 }
}
