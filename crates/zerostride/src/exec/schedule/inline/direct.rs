//! Owns single operations on rows: the chain that a plan would run, on rows in place or on copies of a few
//! elements, without a plan and divided as that would be. It does not know who may touch the elements
//! (`mod.rs`).

use smallvec::SmallVec;
use zerostride_kernels::store_scalar;
use zerostride_ops::{DType, Inferred, Op};
use zerostride_shape::Strides;

use super::loops::Loops;
use super::{Row, Value, gather, share_out};
use crate::exec::body::{Compiled, LoadKind};
use crate::exec::cache;
use crate::exec::elements::{ElementSlice, Inside};
use crate::fork::OnceLock;
use crate::plan::{Cost, Instruction, Load, Program, Source};

/// Nanoseconds of work on few elements below which it is faster to copy them and to run a kernel.
const LEAST_NANOS: usize = 100;

/// Nanoseconds beyond which work must be interruptible and claim its operands: a plan does both.
const MOST_NANOS: usize = 1_000_000;

/// Bytes of a chain's run of registers. A row has at least as many elements where there are several rows, or
/// half of them where there are many; a part of a row is a multiple.
const REGISTERS_BYTES: usize = 512;

/// Rows that are many.
const MANY_ROWS: usize = 16;

/// The most operands.
const MOST_OPERANDS: usize = 3;

/// An operation by rows.
pub(super) struct Direct<const N: usize> {
    code: &'static Compiled,
    op: Op,
    inferred: Inferred,
    cost: Cost,
    /// Elements of a row, then how many rows, then what leads from rows to rows; with the operands' strides.
    dims: SmallVec<[(usize, [isize; N]); 3]>,
}

impl<const N: usize> Direct<N> {
    /// `None` where there is little to do, where the result would not stay in the caches, where elements do
    /// not lie in rows or are of other dtypes than the operation computes in, or where no chain has the
    /// operation.
    pub(super) fn new(
        Row { op, inferred, .. }: Row,
        cost: Cost,
        values: &[impl Value; N],
        loops: &Loops<N>,
    ) -> Option<Direct<N>> {
        let is_read = |operand: usize| {
            let value = &values[operand];
            value.number().is_some()
                || value.typed().is_some_and(|typed| typed.dtype == read(op, inferred, operand))
        };
        let is_little = loops.numel <= gather::GATHERED_ELEMENTS && cost.nanos() < LEAST_NANOS;
        let is_much = cost.nanos() > MOST_NANOS || cache::is_far(cost.bytes());
        if is_little || is_much || !(0..N).all(is_read) {
            return None;
        }
        let dims = loops.joined();
        let &(len, steps) = dims.first()?;
        if !steps.iter().all(|step| [0, 1].contains(step)) {
            return None;
        }
        let splats = (0..N).filter(|&operand| steps[operand] == 0).map(|operand| 1 << operand).sum();
        let code = code(op, inferred, N, splats)?;
        if let Some(&(rows, _)) = dims.get(1) {
            let full = REGISTERS_BYTES / inferred.compute.item_size();
            let least = if rows < MANY_ROWS { full } else { code.one_chain()?.0.least_len().max(full / 2) };
            if len < least {
                return None;
            }
        }
        Some(Direct { code, op, inferred, cost, dims })
    }

    /// Writes the result's elements; over those of the first operand, which have their dtype, if its storage
    /// is `None`.
    pub(super) fn run(&self, values: &[impl Value; N], storages: [Option<&[u8]>; N], out: &mut [u8]) {
        // A number is a broadcast scalar.
        let mut numbers = [[0; 16]; N];
        for (operand, (bytes, value)) in numbers.iter_mut().zip(values).enumerate() {
            if let Some(number) = value.number() {
                let dtype = read(self.op, self.inferred, operand);
                store_scalar(number, dtype, &mut bytes[..dtype.item_size()]);
            }
        }
        let operands: [Option<ElementSlice<'_>>; N] = std::array::from_fn(|operand| {
            let item = read(self.op, self.inferred, operand).item_size();
            let (bytes, first) = match values[operand].layout() {
                Some(layout) => (storages[operand]?, layout.offset()),
                None => (&numbers[operand][..], 0),
            };
            Some(ElementSlice { bytes, item, first })
        });
        let item = self.inferred.result.item_size();
        if self.cost.is_divided() {
            let (row, grain) = (self.dims[0].0, self.cost.grain());
            // Whole rows, or a part of the only one.
            let part = match self.dims.len() {
                1 => grain.next_multiple_of(REGISTERS_BYTES),
                _ => (grain / row).max(1) * row,
            };
            share_out(self.cost, (out, item), part, |first, out| self.run_part(&operands, first, out));
        } else {
            self.run_part(&operands, 0, out);
        }
    }

    /// Writes some of the result's elements, the first of which has that number.
    fn run_part(&self, operands: &[Option<ElementSlice<'_>>; N], first: usize, mut out: &mut [u8]) {
        let item = self.inferred.result.item_size();
        // A shift: a division would take as long as a hundred elements.
        let numel = |out: &[u8]| out.len() >> item.trailing_zeros();
        let (row, _) = self.dims[0];
        let Some(&(rows, steps)) = self.dims.get(1) else {
            return self.run_rows(operands, first, (1, numel(out), [0; N]), out);
        };
        let mut first = first;
        while !out.is_empty() {
            let count = (numel(out) / row).min(rows - first / row % rows);
            let own;
            (own, out) = out.split_at_mut(count * row * item);
            self.run_rows(operands, first, (count, row, steps), own);
            first += count * row;
        }
    }

    /// Writes some rows of the result's elements, the first of which has that number.
    fn run_rows(
        &self,
        operands: &[Option<ElementSlice<'_>>; N],
        first: usize,
        (count, len, steps): (usize, usize, [isize; N]),
        out: &mut [u8],
    ) {
        let (_, kinds) = self.dims[0];
        let load = |operand: usize| {
            let len = if kinds[operand] == 0 { 1 } else { len };
            Some(operands[operand]?.at(self.distance(operand, first)).rows(count, len, steps[operand]))
        };
        self.code.run_anywhere(count, len, &std::array::from_fn::<_, N, _>(load), out);
    }

    /// Elements of storage from an operand's first to one of a number.
    fn distance(&self, operand: usize, number: usize) -> isize {
        if let [(_, strides)] = self.dims[..] {
            return number as isize * strides[operand];
        }
        let mut rest = number;
        let step = |&(size, strides): &(usize, [isize; N])| {
            let index = rest % size;
            rest /= size;
            index as isize * strides[operand]
        };
        self.dims.iter().map(step).sum()
    }
}

/// The dtype in which a chain reads an operand: the one that it computes in, but bool for a condition.
pub(super) fn read(op: Op, inferred: Inferred, operand: usize) -> DType {
    if op == Op::Where && operand == 0 { DType::Bool } else { inferred.compute }
}

/// The chain of an operation on so many operands of the dtype it computes in. Those whose bits are set are
/// broadcast scalars.
pub(super) fn code(op: Op, inferred: Inferred, operands: usize, splats: usize) -> Option<&'static Compiled> {
    /// By the bits.
    type Codes = [Option<Box<Compiled>>; 1 << MOST_OPERANDS];
    static CODES: [[OnceLock<Codes>; DType::ALL.len()]; Op::ALL.len()] =
        [const { [const { OnceLock::new() }; DType::ALL.len()] }; Op::ALL.len()];
    if operands > MOST_OPERANDS {
        return None;
    }
    let make = || {
        let mut program = Program::default();
        let load = |place| load(place, read(op, inferred, place));
        let loads = (0..operands).map(|place| program.push_load(load(place))).collect();
        let map = Instruction::Map { op, compute: inferred.compute, operands: loads };
        program.result = program.push(map, inferred.result);
        std::array::from_fn(|splats| {
            let kind = |operand| if splats >> operand & 1 == 1 { LoadKind::Splat } else { LoadKind::Vector };
            let kinds: Vec<LoadKind> = (0..operands).map(kind).collect();
            compiled(&program, &kinds)
        })
    };
    CODES[op as usize][inferred.compute as usize].get_or_init(make)[splats].as_deref()
}

/// Runs a chain on contiguous elements, as many of each operand.
pub(super) fn run_dense(code: &Compiled, len: usize, inputs: &[&[u8]], out: &mut [u8]) {
    let loads: SmallVec<[_; MOST_OPERANDS]> = inputs.iter().map(|bytes| Some(Inside::one(bytes))).collect();
    code.run_anywhere(1, len, &loads, out);
}

/// The load of an operand with contiguous elements.
pub(super) fn load(place: usize, dtype: DType) -> Load {
    Load { source: Source::Leaf(place), dtype, strides: Strides::default(), offset: 0 }
}

/// The program's code, if it is one chain.
pub(super) fn compiled(program: &Program, kinds: &[LoadKind]) -> Option<Box<Compiled>> {
    Some(Compiled::new(program, kinds, false)).filter(Compiled::is_one_chain).map(Box::new)
}
