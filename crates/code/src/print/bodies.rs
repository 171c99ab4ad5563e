//! Owns the bodies of a row: the same steps once before the loop, for several vectors side by side, for one,
//! and for the elements that are fewer than a vector, each with its registers and its places on the stack. It
//! does not know how they are written.

use super::order::{Order, items, places};
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
    /// The same, with accumulators in registers.
    Turns,
    /// The elements that are left.
    Part,
    /// Once, before the loop.
    Before,
}

/// A sequence of instructions with its registers.
#[derive(Debug)]
pub(super) struct Body {
    pub extent: Extent,
    pub copies: u32,
    pub placement: Placement,
    /// The place on the stack of each value that is there.
    pub slots: Vec<(Id, u32)>,
}

/// All bodies of a row in the order in which they stand.
#[derive(Debug)]
pub(super) struct Bodies {
    pub bodies: Vec<Body>,
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
        let turns = row.accumulators().map(|count| count / steps.lanes);
        let order = Order::new(&steps.steps, machine.registers, most, turns);
        let first = order.slots.iter().flatten().count() as u32;
        let mut slots = first;
        let mut body = |copies: u32, extent: Extent| {
            let is_before = extent == Extent::Before;
            let accumulators = order.accumulators.filter(|_| extent == Extent::Turns);
            let items = items(&steps.steps, &order.varies, !is_before, copies);
            let pinned: Vec<(Id, u8)> =
                order.pinned.iter().map(|&(step, register)| (step * copies, register)).collect();
            let values = Values {
                steps: &steps.steps,
                copies,
                varies: &order.varies,
                registers: machine.registers,
                pinned: if is_before { &[] } else { &pinned },
                accumulators: accumulators.map(|register| steps.accumulators(row, register)),
                reads_inputs: extent != Extent::Part || machine.has_buffers,
            };
            let placement = place(&values, &items, is_before.then_some(&order.slots[..]));
            let (own, end) = places(&placement, first);
            slots = slots.max(end);
            Body { extent, copies, placement, slots: own }
        };
        let whole = if order.accumulators.is_some() { Extent::Turns } else { Extent::Whole };
        let mut bodies = vec![body(1, Extent::Before), body(order.copies, whole)];
        if machine.has_buffers && (order.copies > 1 || whole == Extent::Turns) {
            bodies.push(body(1, Extent::Whole));
        }
        bodies.push(body(1, Extent::Part));
        let mut stack = slots * machine.vector_bytes;
        let mut buffers = vec![NONE; row.reads.len() + row.writes.len()];
        for (operand, buffer) in buffers.iter_mut().enumerate() {
            let read = row.reads.get(operand);
            if read == Some(&Read::Stepped) || machine.has_buffers && read != Some(&Read::Splat) {
                *buffer = stack;
                // No element has more than 8 bytes.
                stack += (order.copies * steps.lanes * 8).next_multiple_of(64);
            }
        }
        (stack <= MAX_STACK_BYTES).then_some(Bodies { bodies, order, stack, buffers })
    }
}
