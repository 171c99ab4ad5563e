//! Owns the function around rows: arguments, stack, what is computed once, the loops over rows and vectors,
//! and the elements that are fewer than a vector. It does not know what a step computes.

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
/// The elements behind; the rows at first.
const INDEX: u8 = 2;
/// The last index of a loop over vectors, or the elements that are left.
const LIMIT: u8 = 3;
const SCRATCH: u8 = 4;
/// What copies of elements need: a step, an address, a place in a buffer.
const COPYING: [u8; 3] = [5, 6, 7];
/// The addresses of operands; those of more stay in memory.
const POINTERS: [u8; 4] = [8, 9, 10, 11];
/// The addresses of their elements at the index.
const ADDRESSES: [u8; 4] = [12, 13, 14, 15];
/// The rows, or those that are left.
const ROWS: u8 = 16;
/// The rows that are left where the loop over vectors is around them.
const ROWS_LEFT: u8 = 17;
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
        writer.function(&bodies);
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
    fn function(&mut self, bodies: &Bodies) {
        let Bodies { once, of_row, inside, stack, .. } = bodies;
        let nothing = self.assembler.label();
        self.assembler.jump_if_zero(COUNT, nothing);
        self.assembler.jump_if_zero(INDEX, nothing);
        self.assembler.put_with(words::MOV, ROWS, 0, INDEX);
        let kept = self.kept([once, of_row].into_iter().chain(inside));
        self.enter(*stack, &kept);
        for operand in 0..self.buffers.len() {
            self.point(operand);
        }
        self.before(once);
        if self.is_across() {
            self.rows_inside(of_row, inside);
        } else {
            self.rows_outside(of_row, inside);
        }
        self.leave(*stack, &kept);
        self.assembler.bind(nothing);
        self.assembler.put(words::RET);
    }

    /// Row after row, the vectors of each.
    fn rows_outside(&mut self, of_row: &Body, inside: &[Body]) {
        let (top, end) = (self.assembler.here(), self.assembler.label());
        self.before(of_row);
        self.first();
        for body in inside {
            match body.extent {
                Extent::Turns => self.turns(body),
                Extent::Whole => self.whole(body),
                _ => self.left(body, end),
            }
        }
        self.assembler.bind(end);
        for operand in 0..self.buffers.len() {
            self.advance(operand);
        }
        self.next(ROWS, top);
    }

    /// Some vectors of accumulators after the other, the elements of all rows that enter them.
    fn rows_inside(&mut self, of_row: &Body, inside: &[Body]) {
        self.first();
        for body in inside {
            let done = self.assembler.label();
            if body.extent == Extent::Whole {
                let elements = i64::from(body.copies * self.steps.lanes);
                self.limit(elements, done);
                let top = self.assembler.here();
                self.accumulate_rows(of_row, body);
                self.go_on(elements, top);
            } else {
                self.limit_left(done);
                self.accumulate_rows(of_row, body);
            }
            self.assembler.bind(done);
        }
    }

    /// Accumulators from the index on, as many as a body has or are left, and all that enters them.
    fn accumulate_rows(&mut self, of_row: &Body, body: &Body) {
        let (Some(accumulators), Some(first)) = (self.accumulators(), self.order.accumulators) else {
            return;
        };
        let bytes = self.row.code.inputs()[accumulators].bits() / 8;
        for copy in 0..body.copies as u8 {
            self.splat(accumulators, bytes, first + copy);
        }
        self.assembler.put_with(words::MOV, ROWS_LEFT, 0, ROWS);
        self.assembler.align();
        let top = self.assembler.here();
        self.before(of_row);
        self.begin(body);
        self.body(body);
        for operand in 0..accumulators {
            self.advance(operand);
        }
        self.next(ROWS_LEFT, top);
        for operand in 0..accumulators {
            self.rewind(operand);
        }
        self.move_accumulators(body, (first, bytes), words::STR);
        if body.extent == Extent::Part {
            self.copy(self.row.reads.len(), bytes, None, false);
        }
    }

    /// The index is that of the first element.
    fn first(&mut self) {
        self.assembler.put(with(words::MOV_NUMBER, INDEX, 0, 0));
    }

    /// One row less is left; jumps unless it was the last.
    fn next(&mut self, rows: u8, top: Label) {
        self.assembler.add(rows, rows, -1);
        self.assembler.put(with(words::CMP_NUMBER, ZERO, rows, 0) | words::number(0));
        self.assembler.jump_if(Condition::NotEqual, top);
    }

    /// What is done before the loop over vectors, some of which stays in registers.
    fn before(&mut self, body: &Body) {
        self.body(body);
        for &(step, to) in &self.order.pinned {
            if self.order.levels[step as usize] == body.level {
                self.load(step, to);
            }
        }
    }

    /// The pairs of registers that bodies write and a function has to keep.
    fn kept<'b>(&self, bodies: impl Iterator<Item = &'b Body>) -> Vec<u8> {
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

    /// The input that has accumulators, or what they begin with.
    fn accumulators(&self) -> Option<usize> {
        self.row.accumulators().map(|_| self.row.reads.len() - 1)
    }

    /// Whether rows go across accumulators.
    fn is_across(&self) -> bool {
        self.row.accumulators() == Some(Read::Across)
    }

    /// Where among the pointers that of an operand is, if it is among them.
    fn place(&self, operand: usize) -> Option<usize> {
        match self.accumulators() {
            // Accumulators are the result, and the last input where a row goes along them.
            Some(input) if operand > input => Some(TURNS),
            Some(input) if operand == input => Some(TURNS).filter(|_| !self.is_across()),
            Some(_) => Some(operand).filter(|&operand| operand < TURNS),
            None => Some(operand).filter(|&operand| operand < POINTERS.len()),
        }
    }

    /// Where the distance from row to row of an operand is among the arguments.
    fn row_step(&self, operand: usize) -> usize {
        self.buffers.len() + operand
    }

    /// Reads the address of an operand that has a register.
    fn point(&mut self, operand: usize) {
        if let Some(place) = self.place(operand)
            && self.accumulators().is_none_or(|input| operand <= input || self.is_across())
        {
            self.argument(POINTERS[place], operand);
        }
    }

    /// The address of an operand becomes that of its next row.
    fn advance(&mut self, operand: usize) {
        let is_same = self.row.reads.get(operand) == Some(&Read::Number);
        // Accumulators are two operands.
        if is_same || self.accumulators().is_some_and(|input| operand > input) {
            return;
        }
        let step = COPYING[0];
        self.argument(step, self.row_step(operand));
        match self.place(operand) {
            // It moved along the row.
            Some(TURNS) if self.accumulators().is_some() => {
                self.argument(POINTERS[TURNS], operand);
                self.assembler.put_with(words::ADD_SHIFTED, POINTERS[TURNS], POINTERS[TURNS], step);
                self.set_argument(POINTERS[TURNS], operand);
            }
            Some(place) => {
                self.assembler.put_with(words::ADD_SHIFTED, POINTERS[place], POINTERS[place], step);
            }
            None => self.move_argument(operand, words::ADD_SHIFTED, step),
        }
    }

    /// The address of an operand, which is behind all rows, becomes that of the first again.
    fn rewind(&mut self, operand: usize) {
        if self.place(operand).is_some() {
            return self.point(operand);
        }
        let step = COPYING[0];
        self.argument(step, self.row_step(operand));
        self.assembler.put(with(words::MADD, step, step, ROWS) | words::number(ZERO.into()));
        self.move_argument(operand, words::SUB_SHIFTED, step);
    }

    /// An argument becomes its sum with a register, or the difference.
    fn move_argument(&mut self, index: usize, word: u32, by: u8) {
        let address = COPYING[1];
        self.argument(address, index);
        self.assembler.put_with(word, address, address, by);
        self.set_argument(address, index);
    }

    fn set_argument(&mut self, from: u8, index: usize) {
        let (base, place) = self.near(ARGUMENTS, 8 * index as u32, 8);
        self.assembler.put(with(words::STORE[3], from, base, 0) | place);
    }

    /// The register with the address of an operand.
    fn pointer(&mut self, operand: usize) -> u8 {
        if let Some(place) = self.place(operand) {
            return POINTERS[place];
        }
        self.argument(SCRATCH, operand);
        SCRATCH
    }

    /// The last index from which so many elements are there; jumps if the index is behind it.
    fn limit(&mut self, elements: i64, done: Label) {
        self.assembler.add(LIMIT, COUNT, -elements);
        self.assembler.put_with(words::CMP, ZERO, INDEX, LIMIT);
        self.assembler.jump_if(Condition::Greater, done);
    }

    /// So many elements are behind; jumps unless the index is behind its last one.
    fn go_on(&mut self, elements: i64, top: Label) {
        self.assembler.add(INDEX, INDEX, elements);
        self.assembler.put_with(words::CMP, ZERO, INDEX, LIMIT);
        self.assembler.jump_if(Condition::LessOrEqual, top);
    }

    /// A loop over whole vectors.
    fn whole(&mut self, body: &Body) {
        let elements = i64::from(body.copies * self.steps.lanes);
        let done = self.assembler.label();
        self.limit(elements, done);
        self.assembler.align();
        let top = self.assembler.here();
        self.begin(body);
        self.body(body);
        self.go_on(elements, top);
        self.assembler.bind(done);
    }

    /// Loops over whole turns of all accumulators: each takes as many of them as vectors run side by side.
    /// The index is theirs at its beginning. In the end, elements are left that are less than a turn.
    fn turns(&mut self, body: &Body) {
        let (Some(Read::Along(count)), Some(input), Some(first)) =
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
        self.move_accumulators(body, (first, bytes), words::LDR);
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
        self.move_accumulators(body, (first, bytes), words::STR);
        self.assembler.add(INDEX, INDEX, own.into());
        self.assembler.put(with(words::CMP_NUMBER, ZERO, INDEX, 0) | words::number(count));
        self.assembler.jump_if(Condition::Below, outer);
        // The next element is for the first accumulator.
        self.assembler.put_with(words::MOV, INDEX, 0, LIMIT);
        let turns = POINTERS[TURNS];
        self.assembler
            .put(with(words::SUB_SHIFTED, turns, turns, LIMIT) | words::number(bytes.trailing_zeros()));
    }

    /// One element of an input in a whole register.
    fn splat(&mut self, input: usize, bytes: u32, to: u8) {
        let pointer = self.pointer(input);
        let word = match bytes {
            1 => words::LD1R_8,
            2 => words::LD1R_16,
            4 => words::LD1R_32,
            _ => words::LD1R_64,
        };
        self.assembler.put_with(word, vector(to), pointer, 0);
    }

    /// Loads or stores the accumulators of a body from the index on, or in their buffer.
    fn move_accumulators(&mut self, body: &Body, (first, bytes): (u8, u32), by_bytes: [u32; 4]) {
        let (address, operand) = (ADDRESSES[TURNS], self.row.reads.len());
        if body.extent == Extent::Part {
            self.assembler.add(address, STACK, self.buffers[operand].into());
        } else {
            self.at_index(address, POINTERS[TURNS], bytes);
        }
        let total = self.steps.lanes * bytes;
        for copy in 0..body.copies {
            let to = vector(first + copy as u8);
            self.assembler.put(with(words::of_bytes(by_bytes, total), to, address, 0) | words::number(copy));
        }
    }

    /// The address of the element at the index.
    fn at_index(&mut self, to: u8, pointer: u8, bytes: u32) {
        let shift = words::number(bytes.trailing_zeros());
        self.assembler.put(with(words::ADD_SHIFTED, to, pointer, INDEX) | shift);
    }

    /// How many elements are left; jumps if none are.
    fn limit_left(&mut self, end: Label) {
        self.assembler.put_with(words::SUB_SHIFTED, LIMIT, COUNT, INDEX);
        self.assembler.jump_if_zero(LIMIT, end);
    }

    /// The elements that are left, which are less than a vector.
    fn left(&mut self, body: &Body, end: Label) {
        self.limit_left(end);
        self.begin(body);
        self.body(body);
        for (result, bytes) in self.steps.stored() {
            self.copy(self.row.reads.len() + result, bytes, None, false);
        }
    }

    /// What a round of a loop begins with: copies of the elements of stepped inputs, and the addresses of
    /// those of other operands; or copies of all that are left. Accumulators that a loop goes around stay in
    /// registers.
    fn begin(&mut self, body: &Body) {
        let is_part = body.extent == Extent::Part;
        let elements = (!is_part).then_some(body.copies * self.steps.lanes);
        let stay = self.is_across() || body.extent == Extent::Turns;
        let mut widths = [None; ADDRESSES.len()];
        for (result, bytes) in self.steps.stored() {
            if let Some(place) = self.place(self.row.reads.len() + result) {
                widths[place] = Some(bytes);
            }
        }
        for (operand, bytes) in self.steps.loaded() {
            if stay && self.accumulators() == Some(operand) {
                continue;
            }
            if is_part || self.row.reads[operand].is_stepped() {
                self.copy(operand, bytes, elements, true);
            } else if let Some(place) = self.place(operand) {
                widths[place] = Some(bytes);
            }
        }
        if stay {
            widths[TURNS] = None;
        }
        for (place, bytes) in widths.into_iter().enumerate().filter(|_| !is_part) {
            if let Some(bytes) = bytes {
                self.at_index(ADDRESSES[place], POINTERS[place], bytes);
            }
        }
    }

    /// Copies elements between an operand and its buffer: so many, or those that are left.
    fn copy(&mut self, operand: usize, bytes: u32, elements: Option<u32>, is_in: bool) {
        let [step, address, place] = COPYING;
        // Elements of two parts are twice as many words.
        let (end, word_bytes) = (ADDRESSES[0], bytes.min(8));
        match self.place(operand) {
            Some(place) => self.assembler.put_with(words::MOV, address, 0, POINTERS[place]),
            None => self.argument(address, operand),
        }
        if self.row.reads.get(operand).is_some_and(Read::is_stepped) {
            let before = self.row.reads[..operand].iter().filter(|read| read.is_stepped()).count();
            self.argument(step, 2 * self.buffers.len() + before);
        } else {
            self.assembler.put(with(words::MOV_NUMBER, step, 0, 0) | bytes << 5);
        }
        let index = words::number(address.into());
        self.assembler.put(with(words::MADD, address, step, INDEX) | index);
        if word_bytes < bytes {
            self.assembler.put(with(words::MOV_NUMBER, step, 0, 0) | word_bytes << 5);
        }
        self.assembler.add(place, STACK, self.buffers[operand].into());
        match elements {
            Some(elements) => self.assembler.add(end, place, (elements * bytes).into()),
            None => {
                let size = words::number(bytes.trailing_zeros());
                self.assembler.put(with(words::ADD_SHIFTED, end, place, LIMIT) | size);
            }
        }
        let top = self.assembler.here();
        let size = word_bytes.trailing_zeros() as usize;
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
            Act::Load { input, bytes, offset, make } => {
                self.elements(make, (input as usize, bytes, offset), copy, vector(to))
            }
            Act::Store { result, bytes, offset, make } => {
                let operand = self.row.reads.len() + result as usize;
                self.elements(make, (operand, bytes, offset), copy, register(args[0]));
            }
            Act::Splat { input, bytes } => self.splat(input as usize, bytes, to),
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

    /// Moves a vector of an operand, whose elements have so many bytes, from a byte on.
    fn elements(&mut self, make: Make, (operand, bytes, offset): (usize, u32, u32), copy: u32, own: u8) {
        let total = self.steps.lanes * bytes;
        let is_buffered =
            self.row.reads.get(operand).is_some_and(Read::is_stepped) || self.extent == Extent::Part;
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
        let (base, place) = self.near(base, buffer + copy * total + offset, total.min(VECTOR_BYTES));
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
