//! Owns the estimate of how long one thread takes for a loop, and of how large the parts must be that are
//! worth a thread. The estimate tells microseconds from milliseconds, no more. It does not divide anything
//! (`threads/parts.rs`).

use smallvec::SmallVec;
use zerostride_ops::{DType, Effort, Inferred, Op};

use super::program::{GRAIN_ELEMENTS, Instruction, Program, Work, distinct};
use crate::{num_threads, threads};

/// Picoseconds to move a byte between a core's cache and its registers; written bytes count twice, since they
/// go both ways.
const BYTE_PICOS: usize = 15;

/// Nanoseconds of the least work that is divided among threads that are awake: the division itself takes 1000
/// to 2000.
const DIVIDED_NANOS: usize = 8_000;

/// Nanoseconds of a part of such work, and the most parts that are so short: each part pays its set-up.
const PART_NANOS: usize = 3_000;
const MOST_SHORT_PARTS: usize = 16;

/// Nanoseconds of a part of longer work, and the most parts.
const LONG_PART_NANOS: usize = 20_000;
const MOST_LONG_PARTS: usize = 64;

/// Nanoseconds from which on sleeping threads wake in time to help.
const LONG_NANOS: usize = 60_000;

/// The estimate for one loop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    elements: usize,
    nanos: usize,
    /// Bytes read and written, stretched elements counted once.
    bytes: usize,
}

impl Cost {
    /// The cost of a program for each element of a loop of these sizes.
    pub(crate) fn new(program: &Program, sizes: &[usize]) -> Cost {
        let elements = sizes.iter().fold(1usize, |count, &size| count.saturating_mul(size));
        let reads = distinct(program, sizes.iter().copied()).into_iter();
        let read = reads.map(|(_, dtype, count)| count.saturating_mul(dtype.item_size()));
        let operations = program.instructions.iter().map(picoseconds).sum();
        let written = program.dtypes[program.result].item_size();
        Cost::of(elements, operations, read.fold(0, usize::saturating_add), written)
    }

    /// The cost of an operation of the table on so many operands, none of them stretched.
    pub(crate) fn of_operation(
        op: Op,
        Inferred { compute, result }: Inferred,
        operands: usize,
        elements: usize,
    ) -> Cost {
        let read = elements.saturating_mul(operands * compute.item_size());
        Cost::of(elements, one(op, compute), read, result.item_size())
    }

    /// The cost of reading elements whose results stay in registers.
    pub(crate) fn of_reading(dtype: DType, elements: usize) -> Cost {
        Cost::of(elements, 0, elements.saturating_mul(dtype.item_size()), 0)
    }

    /// The cost of copying elements.
    pub(crate) fn of_copying(dtype: DType, elements: usize) -> Cost {
        Cost::of(elements, 0, elements.saturating_mul(dtype.item_size()), dtype.item_size())
    }

    /// The cost of results that take `operations` picoseconds and `item` bytes each, with `read` bytes of
    /// operands in all.
    fn of(elements: usize, operations: usize, read: usize, item: usize) -> Cost {
        let written = elements.saturating_mul(item);
        let moved = read.saturating_add(written.saturating_mul(2)).saturating_mul(BYTE_PICOS);
        let picos = elements.saturating_mul(operations).saturating_add(moved);
        Cost { elements, nanos: picos / 1000, bytes: read.saturating_add(written) }
    }

    /// How long one thread takes.
    pub(crate) fn nanos(self) -> usize {
        self.nanos
    }

    /// Bytes that are read and written, stretched elements once.
    pub(crate) fn bytes(self) -> usize {
        self.bytes
    }

    /// Whether it is worth dividing among threads.
    pub(crate) fn is_divided(self) -> bool {
        self.nanos >= DIVIDED_NANOS
    }

    /// Elements of a part that is worth a thread: a power of two, as sizes often are, so that parts are
    /// equal. A loop that is not worth dividing is one part.
    pub(crate) fn grain(self) -> usize {
        if !self.is_divided() {
            return self.elements.clamp(1, GRAIN_ELEMENTS);
        }
        let parts = (self.nanos / LONG_PART_NANOS)
            .clamp(MOST_SHORT_PARTS, MOST_LONG_PARTS)
            .min(self.nanos.div_ceil(PART_NANOS));
        1 << (self.elements / parts).clamp(1, GRAIN_ELEMENTS).ilog2()
    }

    /// Elements of a panel of an element-wise loop. Each panel pays its set-up, so panels are large where
    /// they are not what threads share: in windows, which are divided themselves, and on one thread.
    pub(crate) fn panel(self, in_windows: bool) -> usize {
        if in_windows || num_threads() == 1 { GRAIN_ELEMENTS } else { self.grain() }
    }

    /// How much work a part of that many elements is for threads.
    pub(crate) fn effort(self, elements: usize) -> threads::WorkSize {
        let nanos = self.nanos / self.elements.div_ceil(elements.max(1)).max(1);
        if nanos >= LONG_NANOS { threads::WorkSize::Long } else { threads::WorkSize::Short }
    }
}

impl Work {
    /// How long one thread takes for a step; products, which every plan for an expression has, are left out.
    pub(super) fn nanos(&self) -> usize {
        match self {
            Work::Map { shape, program, .. } => Cost::new(program, shape).nanos(),
            Work::Reduce { kept, reduced, program, .. } => {
                let sizes: SmallVec<[usize; 8]> = kept.iter().chain(&**reduced).copied().collect();
                Cost::new(program, &sizes).nanos()
            }
            Work::Matmul { .. } => 0,
        }
    }
}

fn picoseconds(instruction: &Instruction) -> usize {
    match instruction {
        Instruction::Load(_) | Instruction::Splat(_) => 0,
        Instruction::Cast(_) => operation(Effort::simple),
        Instruction::Map { op, compute, .. } => one(*op, *compute),
    }
}

/// Picoseconds of an operation on one element.
fn one(op: Op, compute: DType) -> usize {
    let picos = op.info().effort.map_or(0, operation);
    (picos * compute.item_size()).div_ceil(DType::F32.item_size())
}

/// Picoseconds of an operation on one element of 32 bits, in full registers.
const fn operation(effort: Effort) -> usize {
    match effort {
        Effort::simple => 25,
        Effort::division => 150,
        Effort::function => 1000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Plan, Work};
    use crate::{Expr, Tensor};

    fn cost(expr: &Expr) -> Cost {
        let plan = Plan::new(expr).unwrap();
        let Work::Map { shape, program, .. } = &plan.passes.steps.last().unwrap().work else {
            panic!("a map")
        };
        Cost::new(program, shape)
    }

    #[test]
    fn what_is_divided_follows_from_the_work_and_not_from_the_elements_alone() {
        let x = |n: usize| Tensor::ones(&[n]).unwrap();
        let sum = |n: usize| cost(&(&x(n) + &x(n)));
        let gelu = |n: usize| cost(&Expr::from(&x(n)).gelu_tanh());
        assert_eq!([sum(4000).grain(), gelu(4000).grain()], [4000, 4000]);
        assert_eq!(sum(1 << 14).grain(), 1 << 14);
        assert!(gelu(1 << 14).grain() < 1 << 14);
        assert!(gelu(1 << 16).grain() < sum(1 << 16).grain() && sum(1 << 16).grain() < 1 << 16);
    }

    #[test]
    fn sleeping_threads_are_called_for_long_work() {
        let x = Tensor::ones(&[1 << 20]).unwrap();
        let cost = cost(&(&x + &x));
        let efforts = [1 << 20, 1 << 16].map(|elements| cost.effort(elements));
        assert_eq!(efforts, [threads::WorkSize::Long, threads::WorkSize::Short]);
    }
}
