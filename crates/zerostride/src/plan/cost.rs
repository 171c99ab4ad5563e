//! Owns the estimate of how long one thread takes for a loop, and into how large parts it is worth dividing. The estimate
//! tells microseconds from milliseconds, no more. It does not divide anything (`exec/crew.rs`).

use zerostride_ops::{DType, Effort};

use super::program::{GRAIN, Instruction, Program, distinct};

/// Picoseconds for a byte on its way between the cache of a core and its registers; what is written goes both ways.
const BYTE: usize = 15;

/// Nanoseconds of the least work that is divided among threads that are awake: dividing takes one or two thousand.
const DIVIDED: usize = 8_000;

/// The most nanoseconds of a part of such work, and the most parts that are so short.
const PART: usize = 3_000;
const PARTS: usize = 64;

/// Nanoseconds from which on threads that sleep come in time to help.
const LONG: usize = 60_000;

/// The estimate for one loop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    elements: usize,
    nanos: usize,
}

impl Cost {
    /// The cost of a program for each element of a loop of these sizes.
    pub(crate) fn new(program: &Program, sizes: &[usize]) -> Cost {
        let elements = sizes.iter().fold(1usize, |count, &size| count.saturating_mul(size));
        let item = |register: usize| program.dtypes[register].item_size();
        let reads = distinct(program, sizes.iter().copied())
            .into_iter()
            .map(|(_, dtype, count)| count.saturating_mul(dtype.item_size() * BYTE));
        let operations: usize = program.instructions.iter().map(picoseconds).sum();
        let each = operations + item(program.result) * 2 * BYTE;
        let picos = reads.fold(elements.saturating_mul(each), usize::saturating_add);
        Cost { elements, nanos: picos / 1000 }
    }

    /// Elements of a part that is worth a thread's while: a power of two, as sizes often are, so that parts are even. All of
    /// a loop that is not worth dividing.
    pub(crate) fn grain(self) -> usize {
        if self.nanos < DIVIDED {
            return self.elements.clamp(1, GRAIN);
        }
        let most = (self.elements / self.nanos.div_ceil(PART).min(PARTS)).clamp(1, GRAIN);
        1 << most.ilog2()
    }

    /// Whether a part of that many elements is work enough for threads that sleep.
    pub(crate) fn is_long(self, elements: usize) -> bool {
        self.nanos / self.elements.div_ceil(elements.max(1)).max(1) >= LONG
    }
}

fn picoseconds(instruction: &Instruction) -> usize {
    let (one, dtype) = match instruction {
        Instruction::Load(_) | Instruction::Splat(_) => return 0,
        Instruction::Cast(_) => (operation(Effort::simple), DType::F32),
        Instruction::Map { op, compute, .. } => (op.info().effort.map_or(0, operation), *compute),
    };
    (one * dtype.item_size()).div_ceil(DType::F32.item_size())
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
        assert!(cost.is_long(1 << 20) && !cost.is_long(1 << 16));
    }
}
