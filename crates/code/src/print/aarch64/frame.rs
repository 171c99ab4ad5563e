//! Owns the function around a row: arguments, stack, what is computed once, the loop over vectors, and the
//! elements that are fewer than a vector. It does not know what a step computes.

use super::assembler::{Assembler, Label};
use super::steps::{Act, Make, Shape, Step, Steps, VECTOR_BYTES};
use super::words::{self, Condition, with};
use crate::print::Unprintable;
use crate::print::bodies::{Bodies, Body, Extent, Machine};
use crate::print::order::Order;
use crate::print::registers::{Place, Placed};
use crate::print::steps::{Id, NONE, OPERANDS};
use crate::row::{Read, Row};

// General registers, all of which a function may overwrite.
const ARGUMENTS: u8 = 0;
const COUNT: u8 = 1;
/// The elements behind.
const INDEX: u8 = 2;
/// The last index of a loop over vectors, or the elements that are left.
const LIMIT: u8 = 3;
const SCRATCH: u8 = 4;
/// What copies of elements need: a step, an address, a place in a buffer.
const COPYING: [u8; 3] = [5, 6, 7];
/// The addresses of operands; those of more stay in memory.
const POINTERS: [u8; 5] = [8, 9, 10, 11, 12];
/// The addresses of their elements at the index.
const ADDRESSES: [u8; 5] = [13, 14, 15, 16, 17];
/// The last of the pointers is where accumulators are, or would be if the first of them were for the first
/// element.
const TURNS: usize = POINTERS.len() - 1;
/// The stack as a base, and zero as an operand.
const STACK: u8 = 31;
const ZERO: u8 = 31;

/// The vector registers of values: behind those that are taken first, those that a function has to keep, at
/// the end those of [`BLOCK`]. What stays in registers through a loop is in the last ones.
const VECTORS: [u8; 31] = [
    0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 8, 9, 10, 11, 12, 13, 14, 15, 26, 27, 28,
    29, 30,
];
/// The first of four registers for a table, in codes with tables.
const BLOCK: u8 = 27;
const BLOCK_REGISTERS: u8 = 4;
/// A vector register that no value has.
const VECTOR_SCRATCH: u8 = 31;
/// The vector registers whose lower halves a function has to keep.
const KEPT: std::ops::RangeInclusive<u8> = 8..=15;

/// The bytes of a row.
pub(super) fn write(steps: &Steps, row: &Row) -> Result<Vec<u8>, Unprintable> {
    let is_lookup = |step: &Step| matches!(step.act, Act::Make(Make { shape: Shape::Lookup { .. }, .. }));
    let block = if steps.steps.iter().any(is_lookup) { BLOCK_REGISTERS } else { 0 };
    let registers = [VECTORS.len() as u8 - block, 0];
    let machine = Machine { registers, vector_bytes: VECTOR_BYTES, has_buffers: true };
    let mut problem = Unprintable::Stack;
    // Where several vectors take too much stack, or too many instructions, one at a time may not.
    for most in [u32::MAX, 1] {
        let Some(bodies) = Bodies::new(steps, row, machine, most) else { continue };
        let mut writer = Writer {
            assembler: Assembler::new(),
            steps,
            row,
            order: &bodies.order,
            slots: Vec::new(),
            copies: 1,
            extent: Extent::Before,
            buffers: &bodies.buffers,
            block: None,
        };
        writer.function(bodies.stack, &bodies.bodies);
        match writer.assembler.finish(&steps.pool) {
            Some(bytes) => return Ok(bytes),
            None => problem = Unprintable::Length,
        }
    }
    Err(problem)
}

struct Writer<'a> {
    assembler: Assembler,
    steps: &'a Steps,
    row: &'a Row,
    order: &'a Order,
    /// The place on the stack of values of the body in hand.
    slots: Vec<u32>,
    copies: u32,
    extent: Extent,
    /// Where the buffer of an operand is, or [`NONE`].
    buffers: &'a [u32],
    /// The table that is in the registers for one.
    block: Option<u32>,
}

/// The register with this number.
fn vector(number: u8) -> u8 {
    VECTORS[usize::from(number)]
}

/// The register of an operand: no instruction has one in memory.
fn register(place: Place) -> u8 {
    match place {
        Place::Register(number) => vector(number),
        Place::Memory(_) => unreachable!("instructions have their operands in registers"),
    }
}

impl Writer<'_> {
    fn function(&mut self, stack: u32, bodies: &[Body]) {
        let [nothing, end] = [(); 2].map(|()| self.assembler.label());
        self.assembler.jump_if_zero(COUNT, nothing);
        let kept = self.kept(bodies);
        self.enter(stack, &kept);
        for (place, pointer) in POINTERS.into_iter().enumerate() {
            let operand = match self.accumulators() {
                Some(accumulators) if place == TURNS => accumulators,
                _ if place < self.buffers.len() => place,
                _ => continue,
            };
            self.argument(pointer, operand);
        }
        for body in bodies {
            match body.extent {
                Extent::Before => {
                    self.body(body);
                    for &(step, to) in &self.order.pinned {
                        self.load(step, to);
                    }
                    self.assembler.put(with(words::MOV_NUMBER, INDEX, 0, 0));
                }
                Extent::Turns => self.turns(body),
                Extent::Whole => self.whole(body),
                Extent::Part => self.left(body, end),
            }
        }
        self.assembler.bind(end);
        self.leave(stack, &kept);
        self.assembler.bind(nothing);
        self.assembler.put(words::RET);
    }

    /// The pairs of registers that bodies write and a function has to keep.
    fn kept(&self, bodies: &[Body]) -> Vec<u8> {
        let mut is_written = [false; 32];
        let mut write = |number: u8| {
            if let Some(&register) = VECTORS.get(usize::from(number)) {
                is_written[usize::from(register)] = true;
            }
        };
        self.order.pinned.iter().for_each(|&(_, number)| write(number));
        for body in bodies {
            if let Some(first) = self.order.accumulators {
                (0..body.copies).for_each(|copy| write(first + copy as u8));
            }
            for placed in &body.placement.placed {
                match *placed {
                    Placed::Step { to, .. } | Placed::Overwriting { to, .. } => write(to),
                    Placed::Move { to, .. } | Placed::Load { to, .. } => write(to),
                    Placed::Keep { .. } | Placed::Begin { .. } | Placed::End => {}
                }
            }
        }
        KEPT.step_by(2)
            .filter(|&first| is_written[usize::from(first)] || is_written[usize::from(first) + 1])
            .collect()
    }

    fn enter(&mut self, stack: u32, kept: &[u8]) {
        if !kept.is_empty() {
            self.assembler.add(STACK, STACK, -16 * kept.len() as i64);
        }
        self.pairs(words::STP, kept);
        // Each page is touched, so that the one that guards the stack is.
        let mut left = stack;
        while left > 4096 {
            self.assembler.add(STACK, STACK, -4096);
            self.assembler.put_with(words::STORE[3], ZERO, STACK, 0);
            left -= 4096;
        }
        if left > 0 {
            self.assembler.add(STACK, STACK, -i64::from(left));
        }
    }

    fn leave(&mut self, stack: u32, kept: &[u8]) {
        if stack > 0 {
            self.assembler.add(STACK, STACK, stack.into());
        }
        self.pairs(words::LDP, kept);
        if !kept.is_empty() {
            self.assembler.add(STACK, STACK, 16 * kept.len() as i64);
        }
    }

    /// Pairs of registers at the stack's end.
    fn pairs(&mut self, word: u32, kept: &[u8]) {
        for (place, &first) in (0..).zip(kept) {
            let second = u32::from(first) + 1;
            self.assembler.put(with(word, first, STACK, 0) | words::number(second) | (2 * place) << 15);
        }
    }

    /// An argument by its index.
    fn argument(&mut self, to: u8, index: usize) {
        let (base, place) = self.near(ARGUMENTS, 8 * index as u32, 8);
        self.assembler.put(with(words::LOAD[3], to, base, 0) | place);
    }

    /// A base and the bits of a distance from it, for a place in memory and an instruction that counts so
    /// many bytes as one.
    fn near(&mut self, base: u8, offset: u32, bytes: u32) -> (u8, u32) {
        debug_assert!(offset.is_multiple_of(bytes), "{offset} of {bytes}");
        if offset / bytes < 1 << 12 {
            return (base, words::number(offset / bytes));
        }
        self.assembler.add(SCRATCH, base, offset.into());
        (SCRATCH, 0)
    }

    /// The input that has accumulators.
    fn accumulators(&self) -> Option<usize> {
        self.row.accumulators().map(|_| self.row.reads.len() - 1)
    }

    /// Where among the pointers that of an operand is, if it is among them.
    fn place(&self, operand: usize) -> Option<usize> {
        match self.accumulators() {
            // Accumulators are the last input and the result.
            Some(input) if operand >= input => Some(TURNS),
            Some(_) => Some(operand).filter(|&operand| operand < TURNS),
            None => Some(operand).filter(|&operand| operand < POINTERS.len()),
        }
    }

    /// The register with the address of an operand.
    fn pointer(&mut self, operand: usize) -> u8 {
        if let Some(place) = self.place(operand) {
            return POINTERS[place];
        }
        self.argument(SCRATCH, operand);
        SCRATCH
    }

    /// A loop over whole vectors.
    fn whole(&mut self, body: &Body) {
        let elements = i64::from(body.copies * self.steps.lanes);
        let done = self.assembler.label();
        self.assembler.add(LIMIT, COUNT, -elements);
        self.assembler.put_with(words::CMP, ZERO, INDEX, LIMIT);
        self.assembler.jump_if(Condition::Greater, done);
        self.assembler.align();
        let top = self.assembler.here();
        self.begin(body);
        self.body(body);
        self.assembler.add(INDEX, INDEX, elements);
        self.assembler.put_with(words::CMP, ZERO, INDEX, LIMIT);
        self.assembler.jump_if(Condition::LessOrEqual, top);
        self.assembler.bind(done);
    }

    /// Loops over whole turns of all accumulators: each takes as many of them as vectors run side by side.
    /// The index is theirs at its beginning. In the end, elements are left that are less than a turn.
    fn turns(&mut self, body: &Body) {
        let (Some(count), Some(input), Some(first)) =
            (self.row.accumulators(), self.accumulators(), self.order.accumulators)
        else {
            return;
        };
        let bytes = self.row.code.inputs()[input].bits() / 8;
        let own = body.copies * self.steps.lanes;
        let done = self.assembler.label();
        for word in words::without_low_bits(LIMIT, COUNT, count.ilog2()) {
            self.assembler.put(word);
        }
        let outer = self.assembler.here();
        self.move_accumulators(body.copies, (first, bytes), words::LDR);
        self.assembler.put_with(words::CMP, ZERO, INDEX, LIMIT);
        self.assembler.jump_if(Condition::NotBelow, done);
        self.assembler.align();
        let top = self.assembler.here();
        self.begin(body);
        self.body(body);
        self.assembler.add(INDEX, INDEX, count.into());
        self.assembler.put_with(words::CMP, ZERO, INDEX, LIMIT);
        self.assembler.jump_if(Condition::Below, top);
        self.assembler.bind(done);
        self.assembler.put(words::low_bits(INDEX, INDEX, count.ilog2()));
        self.move_accumulators(body.copies, (first, bytes), words::STR);
        self.assembler.add(INDEX, INDEX, own.into());
        self.assembler.put(with(words::CMP_NUMBER, ZERO, INDEX, 0) | words::number(count));
        self.assembler.jump_if(Condition::Below, outer);
        // The next element is for the first accumulator.
        self.assembler.put_with(words::MOV, INDEX, 0, LIMIT);
        let turns = POINTERS[TURNS];
        self.assembler
            .put(with(words::SUB_SHIFTED, turns, turns, LIMIT) | words::number(bytes.trailing_zeros()));
    }

    /// Loads or stores the accumulators from the index on.
    fn move_accumulators(&mut self, copies: u32, (first, bytes): (u8, u32), by_bytes: [u32; 4]) {
        let address = ADDRESSES[TURNS];
        self.at_index(address, POINTERS[TURNS], bytes);
        let total = self.steps.lanes * bytes;
        for copy in 0..copies {
            let to = vector(first + copy as u8);
            self.assembler.put(with(word_for(by_bytes, total), to, address, 0) | words::number(copy));
        }
    }

    /// The address of the element at the index.
    fn at_index(&mut self, to: u8, pointer: u8, bytes: u32) {
        let shift = words::number(bytes.trailing_zeros());
        self.assembler.put(with(words::ADD_SHIFTED, to, pointer, INDEX) | shift);
    }

    /// The elements that are left, which are less than a vector.
    fn left(&mut self, body: &Body, end: Label) {
        self.assembler.put_with(words::SUB_SHIFTED, LIMIT, COUNT, INDEX);
        self.assembler.jump_if_zero(LIMIT, end);
        for (operand, bytes) in self.steps.loaded() {
            self.copy(operand, bytes, None, true);
        }
        self.body(body);
        for (result, bytes) in self.steps.stored() {
            self.copy(self.row.reads.len() + result, bytes, None, false);
        }
    }

    /// What a round of a loop begins with: copies of the elements of stepped inputs, and the addresses of
    /// those of other operands.
    fn begin(&mut self, body: &Body) {
        let elements = body.copies * self.steps.lanes;
        let mut widths = [None; ADDRESSES.len()];
        let mut address = |place: Option<usize>, bytes: u32| {
            if let Some(place) = place {
                widths[place] = Some(bytes);
            }
        };
        for (result, bytes) in self.steps.stored() {
            address(self.place(self.row.reads.len() + result), bytes);
        }
        for (operand, bytes) in self.steps.loaded() {
            if self.row.reads[operand] == Read::Stepped {
                self.copy(operand, bytes, Some(elements), true);
            } else {
                address(self.place(operand), bytes);
            }
        }
        if body.extent == Extent::Turns {
            // They are in registers.
            widths[TURNS] = None;
        }
        for (place, bytes) in widths.into_iter().enumerate() {
            if let Some(bytes) = bytes {
                self.at_index(ADDRESSES[place], POINTERS[place], bytes);
            }
        }
    }

    /// Copies elements between an operand and its buffer: so many, or those that are left.
    fn copy(&mut self, operand: usize, bytes: u32, elements: Option<u32>, is_in: bool) {
        let [step, address, place] = COPYING;
        let (end, size) = (ADDRESSES[0], bytes.trailing_zeros());
        match self.place(operand) {
            Some(place) => self.assembler.put_with(words::MOV, address, 0, POINTERS[place]),
            None => self.argument(address, operand),
        }
        if self.row.reads.get(operand) == Some(&Read::Stepped) {
            let before = self.row.reads[..operand].iter().filter(|&&read| read == Read::Stepped).count();
            self.argument(step, self.buffers.len() + before);
        } else {
            self.assembler.put(with(words::MOV_NUMBER, step, 0, 0) | bytes << 5);
        }
        let index = words::number(address.into());
        self.assembler.put(with(words::MADD, address, step, INDEX) | index);
        self.assembler.add(place, STACK, self.buffers[operand].into());
        match elements {
            Some(elements) => self.assembler.add(end, place, (elements * bytes).into()),
            None => {
                self.assembler.put(with(words::ADD_SHIFTED, end, place, LIMIT) | words::number(size));
            }
        }
        let top = self.assembler.here();
        let size = size as usize;
        if is_in {
            self.assembler.put_with(words::LOAD[size], SCRATCH, address, 0);
            self.assembler.put_with(words::STORE_NEXT[size], SCRATCH, place, 0);
        } else {
            self.assembler.put_with(words::LOAD_NEXT[size], SCRATCH, place, 0);
            self.assembler.put_with(words::STORE[size], SCRATCH, address, 0);
        }
        self.assembler.put_with(words::ADD_SHIFTED, address, address, step);
        self.assembler.put_with(words::CMP, ZERO, place, end);
        self.assembler.jump_if(Condition::NotEqual, top);
    }

    /// The instructions of a body.
    fn body(&mut self, body: &Body) {
        (self.copies, self.extent, self.block) = (body.copies, body.extent, None);
        self.slots = vec![NONE; self.steps.steps.len() * body.copies as usize];
        for &(id, slot) in &body.slots {
            self.slots[id as usize] = slot;
        }
        let placement = &body.placement;
        let mut ends: Vec<Label> = Vec::new();
        for placed in &placement.placed {
            match *placed {
                Placed::Step { step, copy, args, to } => self.step(step, copy, args, to),
                Placed::Overwriting { step, args, to, tied } => self.select(step, args, to, tied),
                Placed::Move { is_mask, from, to } => {
                    debug_assert!(!is_mask, "masks are vectors");
                    self.assembler.put_with(words::ORR, vector(to), vector(from), vector(from));
                }
                Placed::Load { id, to } => self.load(id, to),
                Placed::Keep { id, from } if placement.is_kept[id as usize] => self.keep(id, from),
                Placed::Keep { .. } => {}
                Placed::Begin { masks, block, is_inverted } => {
                    debug_assert!(!is_inverted, "no step asks for the opposite");
                    let end = self.assembler.label();
                    ends.push(end);
                    self.ask(&placement.masks[masks as usize], end);
                    for &(id, from) in &placement.entries[block as usize] {
                        self.keep(id, from);
                    }
                }
                Placed::End => {
                    if let Some(end) = ends.pop() {
                        self.assembler.bind(end);
                        self.block = None;
                    }
                }
            }
        }
    }

    /// Jumps where no element asks.
    fn ask(&mut self, masks: &[u8], end: Label) {
        let any = masks[1..].iter().fold(vector(masks[0]), |any, &mask| {
            self.assembler.put_with(words::ORR, VECTOR_SCRATCH, any, vector(mask));
            VECTOR_SCRATCH
        });
        self.assembler.put_with(words::UMAXP, VECTOR_SCRATCH, any, any);
        self.assembler.put_with(words::FMOV, SCRATCH, VECTOR_SCRATCH, 0);
        self.assembler.jump_if_zero(SCRATCH, end);
    }

    /// The place of a value on the stack, if it has one.
    fn slot(&self, id: Id) -> Option<u32> {
        let own = self.slots.get(id as usize).copied().filter(|&slot| slot != NONE);
        own.or(self.order.slots[(id / self.copies) as usize])
    }

    fn load(&mut self, id: Id, to: u8) {
        let step = self.steps.steps[(id / self.copies) as usize];
        match (step.act, self.slot(id)) {
            (Act::Constant { offset, .. }, _) => self.assembler.load_pool(vector(to), offset),
            (_, Some(slot)) => self.on_stack(words::LDR[3], slot, to),
            _ => self.step(id / self.copies, id % self.copies, [Place::Register(0); OPERANDS], to),
        }
    }

    fn keep(&mut self, id: Id, from: u8) {
        let slot = self.slot(id).expect("a value that stays on the stack");
        self.on_stack(words::STR[3], slot, from);
    }

    fn on_stack(&mut self, word: u32, slot: u32, number: u8) {
        let (base, place) = self.near(STACK, slot * VECTOR_BYTES, VECTOR_BYTES);
        self.assembler.put(with(word, vector(number), base, 0) | place);
    }

    fn step(&mut self, number: u32, copy: u32, args: [Place; OPERANDS], to: u8) {
        let step = self.steps.steps[number as usize];
        let count = step.args().count();
        match step.act {
            Act::Load { input, bytes, make } => self.elements(make, input as usize, bytes, copy, vector(to)),
            Act::Store { result, bytes, make } => {
                let operand = self.row.reads.len() + result as usize;
                self.elements(make, operand, bytes, copy, register(args[0]));
            }
            Act::Splat { input, bytes } => {
                let pointer = self.pointer(input as usize);
                let word = match bytes {
                    1 => words::LD1R_8,
                    2 => words::LD1R_16,
                    4 => words::LD1R_32,
                    _ => words::LD1R_64,
                };
                self.assembler.put_with(word, vector(to), pointer, 0);
            }
            Act::Make(Make { word, shape }) => {
                let [first, second] = [0, 1].map(|nth| if nth < count { Some(args[nth]) } else { None });
                match shape {
                    Shape::Plain | Shape::Accumulate => {
                        let (first, second) = (first.map_or(0, register), second.map_or(0, register));
                        self.assembler.put_with(word, vector(to), first, second);
                    }
                    Shape::Lookup { table } | Shape::NextLookup { table } => {
                        self.take(table);
                        self.assembler.put_with(word, vector(to), BLOCK, register(args[0]));
                    }
                    Shape::Select => unreachable!("it was placed for its shape"),
                }
            }
            Act::Constant { .. } | Act::Rare { .. } => {}
        }
    }

    /// Brings a table into the registers for one.
    fn take(&mut self, table: u32) {
        if self.block != Some(table) {
            self.assembler.pool_address(SCRATCH, table);
            self.assembler.put_with(words::LD1, BLOCK, SCRATCH, 0);
            self.block = Some(table);
        }
    }

    /// Moves a vector of an operand.
    fn elements(&mut self, make: Make, operand: usize, bytes: u32, copy: u32, own: u8) {
        let total = self.steps.lanes * bytes;
        let is_buffered = self.row.reads.get(operand) == Some(&Read::Stepped) || self.extent == Extent::Part;
        let base = match self.place(operand) {
            _ if is_buffered => STACK,
            Some(place) => ADDRESSES[place],
            None => {
                self.argument(SCRATCH, operand);
                self.at_index(SCRATCH, SCRATCH, bytes);
                SCRATCH
            }
        };
        let buffer = if is_buffered { self.buffers[operand] } else { 0 };
        let (base, place) = self.near(base, buffer + copy * total, total);
        self.assembler.put(with(make.word, own, base, 0) | place);
    }

    /// A selection in the form that overwrites one of its operands.
    fn select(&mut self, number: u32, args: [Place; 3], to: u8, tied: u8) {
        let Act::Make(Make { word, .. }) = self.steps.steps[number as usize].act else {
            unreachable!("it was placed for its shape")
        };
        let of = |nth: usize| register(args[nth]);
        // The instructions differ by the one that they overwrite alone: a mask, the first or the second.
        let (other, first, second) = match tied {
            0 => (words::BSL, 1, 2),
            1 => (words::BIF, 2, 0),
            _ => (words::BIT, 1, 0),
        };
        let word = word ^ words::BSL ^ other;
        self.assembler.put_with(word, vector(to), of(first), of(second));
    }
}

/// The instruction that moves a vector of so many bytes.
fn word_for(by_bytes: [u32; 4], bytes: u32) -> u32 {
    by_bytes[bytes.ilog2() as usize - 1]
}
