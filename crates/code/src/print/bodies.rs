//! Owns the bodies of a row: the steps that are done once, for each row, for several vectors side by side,
//! for one, and for the elements that are fewer than a vector, each with its registers and its places on the
//! stack. It does not know how they are written.

use super::order::{Level, Order, items};
use super::registers::{Placement, Values, place};
use super::steps::{Id, Make, NONE, Steps};
use crate::row::{Read, Row};

/// Bytes of stack that a function may take.
const MAX_STACK_BYTES: u32 = 64 << 10;

/// What bodies ask of a processor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Machine {
    /// Registers for vectors, and for masks that are no vectors.
    pub registers: [u8; 2],
    /// Bytes of a vector register.
    pub vector_bytes: u32,
    /// Whether the elements that are fewer than a vector pass through buffers on the stack; otherwise a mask
    /// selects them.
    pub has_buffers: bool,
}

/// How much of a vector a body has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    Whole,
    /// The same, with accumulators in registers that elements along a row enter.
    Turns,
    /// The elements that are left.
    Part,
    /// Before the loop over vectors.
    Before,
}

/// A sequence of instructions with its registers.
#[derive(Debug)]
pub(super) struct Body {
    pub level: Level,
    pub extent: Extent,
    pub copies: u32,
    pub placement: Placement,
    /// The place on the stack of each value that is there.
    pub slots: Vec<(Id, u32)>,
}

/// All bodies of a row.
#[derive(Debug)]
pub(super) struct Bodies {
    /// What is done before all rows, and before the vectors of each.
    pub once: Body,
    pub of_row: Body,
    /// What is done with vectors, in the order in which it stands.
    pub inside: Vec<Body>,
    pub order: Order,
    /// Bytes of stack: what is computed once, then what bodies keep, then buffers.
    pub stack: u32,
    /// Where the buffer of each operand begins on the stack, or [`NONE`].
    pub buffers: Vec<u32>,
}

impl Bodies {
    /// The bodies of steps of which at most so many vectors run side by side; `None` if they need too much
    /// stack.
    pub(super) fn new<M: Make>(steps: &Steps<M>, row: &Row, machine: Machine, most: u32) -> Option<Bodies> {
        let order = Order::new(&steps.steps, row, machine.registers, steps.lanes, most);
        let first = order.slots.iter().flatten().count() as u32;
        let mut slots = first;
        let is_across = row.accumulators() == Some(Read::Across);
        let mut body = |level: Level, copies: u32, extent: Extent| {
            let is_inside = level == Level::Vector;
            let has_accumulators = is_inside && (is_across || extent == Extent::Turns);
            let accumulators = order.accumulators.filter(|_| has_accumulators);
            let items = items(&steps.steps, &order.levels, level, (copies, order.together));
            let pinned: Vec<(Id, u8)> =
                order.pinned.iter().map(|&(step, register)| (step * copies, register)).collect();
            let values = Values {
                steps: &steps.steps,
                copies,
                levels: &order.levels,
                level,
                slots: &order.slots,
                // What stays in registers through the loop over vectors is there as a row begins.
                registers: if level == Level::Row { order.free } else { machine.registers },
                pinned: if is_inside { &pinned } else { &[] },
                accumulators: accumulators.map(|register| steps.accumulators(row, register)),
                reads_inputs: extent != Extent::Part || machine.has_buffers,
            };
            let placement = place(&values, &items);
            let (own, end) = placement.places(first);
            slots = slots.max(end);
            Body { level, extent, copies, placement, slots: own }
        };
        let is_along = matches!(row.accumulators(), Some(Read::Along(_)));
        let whole = if is_along { Extent::Turns } else { Extent::Whole };
        let [once, of_row] = [Level::Once, Level::Row].map(|level| body(level, 1, Extent::Before));
        let mut inside = vec![body(Level::Vector, order.copies, whole)];
        // A masked store takes several times as long as a whole one where its line is not in cache.
        let stores = row.accumulators().is_none();
        if (machine.has_buffers || stores) && (order.copies > 1 || is_along) {
            inside.push(body(Level::Vector, 1, Extent::Whole));
        }
        inside.push(body(Level::Vector, 1, Extent::Part));
        let mut stack = slots * machine.vector_bytes;
        let mut buffers = vec![NONE; row.reads.len() + row.writes.len()];
        for (operand, buffer) in buffers.iter_mut().enumerate() {
            let read = row.reads.get(operand);
            let is_one = matches!(read, Some(Read::Splat | Read::Number | Read::Across));
            if read.is_some_and(Read::is_stepped) || row.is_part(operand) || machine.has_buffers && !is_one {
                *buffer = stack;
                // No element has more than 8 bytes.
                stack += (order.copies * steps.lanes * 8).next_multiple_of(64);
            }
        }
        (stack <= MAX_STACK_BYTES).then_some(Bodies { once, of_row, inside, order, stack, buffers })
    }
}
