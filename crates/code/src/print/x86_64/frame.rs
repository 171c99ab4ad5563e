//! Owns the function around rows: arguments, stack, what is computed once, the loops over rows and vectors,
//! and the elements that are fewer than a vector. It does not know what a step computes.

use iced_x86::{Code as Encoding, Register};

use super::Unprintable;
use super::assembler::{Assembler, Label, Operand, at};
use super::encodings::{Form, mul_add, pair};
use super::near::{self, Near};
use super::set::Set;
use super::steps::{Act, Make, Shape, Step, Steps};
use crate::print::bodies::{Bodies, Body, Extent, Machine};
use crate::print::order::Order;
use crate::print::registers::{Place, Placed};
use crate::print::steps::{Id, NONE, OPERANDS};
use crate::row::{ELEMENT_BYTES_OF_PARTS, Read, Row, Write};

/// The addresses of operands; those of more stay in memory.
const POINTERS: [Register; 4] = [Register::R8, Register::R9, Register::R10, Register::R14];
const ARGUMENTS: Register = Register::RDI;
const COUNT: Register = Register::RSI;
/// The rows, or those that are left.
const ROWS: Register = Register::RDX;
/// The rows that are left where the loop over vectors is around them.
const ROWS_LEFT: Register = Register::R15;
/// The elements behind.
const INDEX: Register = Register::RAX;
/// The last index of a loop over vectors, or the elements that are left.
const LIMIT: Register = Register::RCX;
const SCRATCH: Register = Register::R11;
/// What copies of elements need beyond: a distance, an index, and an element.
const COPYING: [Register; 3] = [Register::RBX, Register::R12, Register::R13];
/// Twice the index, where elements are too long for an index of them.
const DOUBLE_INDEX: Register = COPYING[1];
/// The addresses of what is fetched from tables.
const FETCHING: [Register; 2] = [SCRATCH, COPYING[0]];
/// Accumulators, or where they would be if the first of them were for the first element: the last of the
/// pointers.
const TURNS: Register = POINTERS[3];
/// The elements that are left, as a mask.
const LEFT: Register = Register::K7;

const CACHE_LINE_BYTES: usize = 64;

/// Bytes up to which what is asked for stays in L1 until it is read; what is farther is brought to L2.
const NEAR_BYTES: u32 = 16 << 10;

/// Bytes from which on nothing is asked for: addresses have no room for them.
const FARTHEST_BYTES: u32 = 1 << 30;
const PAGE_BYTES: u32 = 4 << 10;

/// Bytes of the longest vector, to which the stack is aligned.
const VECTOR_BYTES: u32 = 64;

/// Masks that values may have: not `k0`, which selects everything, nor [`LEFT`].
const MASKS: u8 = 6;

/// The bytes of a row.
pub(super) fn write(steps: &Steps, row: &Row, set: Set) -> Result<Vec<u8>, Unprintable> {
    let machine = Machine {
        registers: [if set == Set::Avx512 { 32 } else { 16 }, MASKS],
        vector_bytes: set.vector_bytes(),
        has_buffers: set == Set::Avx2,
    };
    // Where the values of several vectors take too much stack, one at a time may not.
    let bodies = [u32::MAX, 1].into_iter().find_map(|most| Bodies::new(steps, row, machine, most));
    let bodies = bodies.ok_or(Unprintable::Stack)?;
    let mut writer = Writer {
        assembler: Assembler::new(),
        steps,
        row,
        set,
        order: &bodies.order,
        slots: Vec::new(),
        copies: 1,
        extent: Extent::Before,
        buffers: &bodies.buffers,
        pool: steps.pool.clone(),
    };
    writer.function(&bodies);
    Ok(writer.assembler.finish(&writer.pool, set.vector_bytes() as usize))
}

struct Writer<'a> {
    assembler: Assembler,
    steps: &'a Steps,
    row: &'a Row,
    set: Set,
    order: &'a Order,
    /// The place on the stack of values of the body in hand.
    slots: Vec<u32>,
    copies: u32,
    extent: Extent,
    /// Where the buffer of an operand is, or [`NONE`].
    buffers: &'a [u32],
    /// What stands behind the code.
    pool: Vec<u8>,
}

fn register(register: Register) -> Operand {
    Operand::Register(register)
}

/// The register of a mask, which no instruction reads in memory.
fn as_register(operand: Operand) -> Register {
    match operand {
        Operand::Register(register) => register,
        _ => unreachable!("a mask is in a register"),
    }
}

impl Writer<'_> {
    fn function(&mut self, bodies: &Bodies) {
        let Bodies { once, of_row, inside, stack, .. } = bodies;
        let nothing = self.assembler.label();
        for count in [COUNT, ROWS] {
            self.assembler.put(Encoding::Test_rm64_r64, &[register(count), register(count)]);
            self.assembler.jump(Encoding::Je_rel32_64, nothing);
        }
        let saved = self.saved();
        self.enter(*stack, &saved);
        for operand in 0..self.operands() {
            self.point(operand);
        }
        self.before(once);
        if self.is_across() {
            self.rows_inside(of_row, inside);
        } else {
            self.rows_outside(of_row, inside);
        }
        self.leave(*stack, &saved);
        self.assembler.put(Encoding::VEX_Vzeroupper, &[]);
        self.assembler.bind(nothing);
        self.assembler.put(Encoding::Retnq, &[]);
    }

    /// Row after row, the vectors of each.
    fn rows_outside(&mut self, of_row: &Body, inside: &[Body]) {
        let [top, start, part, end] = [(); 4].map(|()| self.assembler.label());
        self.assembler.bind(top);
        self.before(of_row);
        self.begin();
        self.align_results(part);
        if self.row.accumulators().is_none() {
            self.assembler.bind(start);
        }
        for body in inside {
            match body.extent {
                Extent::Turns => {
                    self.turns(body);
                    self.assembler.bind(start);
                }
                Extent::Whole => self.whole(body),
                _ => self.left(body, start, part, end),
            }
        }
        self.assembler.bind(end);
        for operand in 0..self.operands() {
            self.advance(operand);
        }
        self.assembler.put_number(Encoding::Sub_rm64_imm32, ROWS, 1);
        self.assembler.jump(Encoding::Jne_rel32_64, top);
    }

    /// Some vectors of accumulators after the other, the elements of all rows that enter them.
    fn rows_inside(&mut self, of_row: &Body, inside: &[Body]) {
        self.begin();
        for body in inside {
            let [top, done] = [(); 2].map(|()| self.assembler.label());
            let whole = (body.extent == Extent::Whole).then_some((body.copies * self.steps.lanes) as i32);
            self.assembler.bind(top);
            match whole {
                Some(whole) => {
                    self.limit(whole);
                    self.assembler.jump(Encoding::Jg_rel32_64, done);
                }
                None => {
                    self.limit_left(done);
                    self.select_left();
                }
            }
            self.accumulate_rows(of_row, body, whole);
            match whole {
                Some(whole) => self.assembler.put_number(Encoding::Add_rm64_imm32, INDEX, whole),
                None => self.assembler.put(Encoding::Add_r64_rm64, &[register(INDEX), register(LIMIT)]),
            }
            self.assembler.jump(Encoding::Jmp_rel32_64, top);
            self.assembler.bind(done);
        }
    }

    /// Accumulators from the index on, as many as a body has or are left, and all that enters them.
    fn accumulate_rows(&mut self, of_row: &Body, body: &Body, whole: Option<i32>) {
        let (Some(accumulators), Some(first)) = (self.accumulators(), self.order.accumulators) else {
            return;
        };
        let bytes = self.row.code.inputs()[accumulators].bits() / 8;
        for copy in 0..body.copies as u8 {
            self.splat(accumulators, bytes, first + copy);
        }
        let top = self.assembler.label();
        self.assembler.put(Encoding::Mov_r64_rm64, &[register(ROWS_LEFT), register(ROWS)]);
        self.assembler.align();
        self.assembler.bind(top);
        self.before(of_row);
        self.copy_inputs(whole);
        self.body(body);
        for operand in 0..accumulators {
            self.advance(operand);
        }
        self.assembler.put_number(Encoding::Sub_rm64_imm32, ROWS_LEFT, 1);
        self.assembler.jump(Encoding::Jne_rel32_64, top);
        for operand in 0..accumulators {
            self.rewind(operand);
        }
        self.move_accumulators(body, (first, bytes), false);
        if whole.is_none() && self.set == Set::Avx2 {
            self.copy(self.row.reads.len(), bytes, None, false);
        }
    }

    /// The index is that of the first element.
    fn begin(&mut self) {
        let index = register(Register::EAX);
        self.assembler.put(Encoding::Xor_r32_rm32, &[index, index]);
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

    /// The registers that are the caller's.
    fn saved(&self) -> Vec<Register> {
        let has_buffers = self.buffers.iter().any(|&buffer| buffer != NONE);
        let fetches = |step: &Step| matches!(step.act, Act::Make(Make { shape: Shape::Fetch { .. }, .. }));
        let fetches = self.steps.steps.iter().any(fetches);
        let copying = COPYING.into_iter().filter(|own| has_buffers || fetches && FETCHING.contains(own));
        let pointer = (0..self.operands()).any(|operand| self.own_pointer(operand) == Some(TURNS));
        let pointer = pointer.then_some(TURNS);
        copying.chain(pointer).chain(self.is_across().then_some(ROWS_LEFT)).collect()
    }

    fn enter(&mut self, stack: u32, saved: &[Register]) {
        saved.iter().for_each(|&saved| self.assembler.put(Encoding::Push_r64, &[register(saved)]));
        if stack == 0 {
            return;
        }
        self.assembler.put(Encoding::Push_r64, &[register(Register::RBP)]);
        self.assembler.put(Encoding::Mov_r64_rm64, &[register(Register::RBP), register(Register::RSP)]);
        // Each page is touched, so that the one that guards the stack is.
        let mut left = stack;
        while left > PAGE_BYTES - VECTOR_BYTES {
            self.assembler.put_number(Encoding::Sub_rm64_imm32, Register::RSP, PAGE_BYTES as i32);
            self.assembler.put(Encoding::Mov_rm64_r64, &[at(Register::RSP, 0), register(Register::RSP)]);
            left = left.saturating_sub(PAGE_BYTES);
        }
        self.assembler.put_number(Encoding::Sub_rm64_imm32, Register::RSP, left as i32);
        self.assembler.put_number(Encoding::And_rm64_imm32, Register::RSP, -(VECTOR_BYTES as i32));
    }

    fn leave(&mut self, stack: u32, saved: &[Register]) {
        if stack > 0 {
            self.assembler.put(Encoding::Mov_r64_rm64, &[register(Register::RSP), register(Register::RBP)]);
            self.assembler.put(Encoding::Pop_r64, &[register(Register::RBP)]);
        }
        saved.iter().rev().for_each(|&saved| self.assembler.put(Encoding::Pop_r64, &[register(saved)]));
    }

    /// Inputs and results.
    fn operands(&self) -> usize {
        self.buffers.len()
    }

    fn argument(&self, index: usize) -> Operand {
        at(ARGUMENTS, 8 * index as u32)
    }

    /// The input that has accumulators, or what they begin with.
    fn accumulators(&self) -> Option<usize> {
        self.row.accumulators().map(|_| self.row.reads.len() - 1)
    }

    /// Whether rows go across accumulators.
    fn is_across(&self) -> bool {
        self.row.accumulators() == Some(Read::Across)
    }

    /// Where the distance from row to row of an operand is.
    fn row_step(&self, operand: usize) -> Operand {
        self.argument(self.operands() + operand)
    }

    /// The register that holds the address of an operand, if it has one.
    fn own_pointer(&self, operand: usize) -> Option<Register> {
        match self.accumulators() {
            // Accumulators are the result, and the last input where a row goes along them.
            Some(input) if operand > input => Some(TURNS),
            Some(input) if operand == input => Some(TURNS).filter(|_| !self.is_across()),
            Some(_) => POINTERS[..POINTERS.len() - 1].get(operand).copied(),
            None => POINTERS.get(operand).copied(),
        }
    }

    /// Reads the address of an operand that has a register.
    fn point(&mut self, operand: usize) {
        if let Some(pointer) = self.own_pointer(operand)
            && self.accumulators().is_none_or(|input| operand <= input || self.is_across())
        {
            self.assembler.put(Encoding::Mov_r64_rm64, &[register(pointer), self.argument(operand)]);
        }
    }

    /// The register with the address of an operand.
    fn pointer(&mut self, operand: usize) -> Register {
        self.own_pointer(operand).unwrap_or_else(|| {
            self.assembler.put(Encoding::Mov_r64_rm64, &[register(SCRATCH), self.argument(operand)]);
            SCRATCH
        })
    }

    /// The address of an operand becomes that of its next row.
    fn advance(&mut self, operand: usize) {
        let is_same = self.row.reads.get(operand) == Some(&Read::Number);
        // Accumulators are two operands.
        if is_same || self.accumulators().is_some_and(|input| operand > input) {
            return;
        }
        let step = self.row_step(operand);
        match self.own_pointer(operand) {
            // It moved along the row.
            Some(TURNS) if self.accumulators().is_some() => {
                self.assembler.put(Encoding::Mov_r64_rm64, &[register(TURNS), step]);
                self.assembler.put(Encoding::Add_r64_rm64, &[register(TURNS), self.argument(operand)]);
                self.assembler.put(Encoding::Mov_rm64_r64, &[self.argument(operand), register(TURNS)]);
            }
            Some(pointer) => self.assembler.put(Encoding::Add_r64_rm64, &[register(pointer), step]),
            None => {
                self.assembler.put(Encoding::Mov_r64_rm64, &[register(SCRATCH), step]);
                self.assembler.put(Encoding::Add_rm64_r64, &[self.argument(operand), register(SCRATCH)]);
            }
        }
    }

    /// The address of an operand, which is behind all rows, becomes that of the first again.
    fn rewind(&mut self, operand: usize) {
        if self.own_pointer(operand).is_some() {
            return self.point(operand);
        }
        self.assembler.put(Encoding::Mov_r64_rm64, &[register(SCRATCH), self.row_step(operand)]);
        self.assembler.put(Encoding::Imul_r64_rm64, &[register(SCRATCH), register(ROWS)]);
        self.assembler.put(Encoding::Sub_rm64_r64, &[self.argument(operand), register(SCRATCH)]);
    }

    /// If a result is written with non-temporal stores, first as many elements as are before its first whole
    /// vector.
    fn align_results(&mut self, part: Label) {
        let Some((result, bytes, register_bytes)) = self.steps.steps.iter().find_map(|step| match step.act {
            Act::Store { result, bytes, make, .. } if self.is_non_temporal(result, bytes) => {
                Some((result, bytes, make.sizes.0))
            }
            _ => None,
        }) else {
            return;
        };
        let aligned = self.assembler.label();
        let pointer = self.pointer(self.row.reads.len() + result as usize);
        self.assembler.put(Encoding::Mov_r64_rm64, &[register(LIMIT), register(pointer)]);
        self.assembler.put(Encoding::Neg_rm64, &[register(LIMIT)]);
        self.assembler.put_number(Encoding::And_rm64_imm32, LIMIT, register_bytes as i32 - 1);
        let bits = Operand::Immediate(bytes.trailing_zeros() as u8);
        self.assembler.put(Encoding::Shr_rm64_imm8, &[register(LIMIT), bits]);
        self.assembler.put(Encoding::Test_rm64_r64, &[register(LIMIT), register(LIMIT)]);
        self.assembler.jump(Encoding::Je_rel32_64, aligned);
        self.assembler.put(Encoding::Cmp_r64_rm64, &[register(LIMIT), register(COUNT)]);
        self.assembler.put(Encoding::Cmova_r64_rm64, &[register(LIMIT), register(COUNT)]);
        self.assembler.jump(Encoding::Jmp_rel32_64, part);
        self.assembler.bind(aligned);
    }

    fn is_non_temporal(&self, result: u32, bytes: u32) -> bool {
        self.row.writes[result as usize] == Write::NonTemporal && bytes * self.steps.lanes >= 16
    }

    /// The last index from which so many elements are there, compared with the index.
    fn limit(&mut self, elements: i32) {
        self.assembler.put(Encoding::Mov_r64_rm64, &[register(LIMIT), register(COUNT)]);
        self.assembler.put_number(Encoding::Sub_rm64_imm32, LIMIT, elements);
        self.assembler.put(Encoding::Cmp_r64_rm64, &[register(INDEX), register(LIMIT)]);
    }

    /// A loop over whole vectors.
    fn whole(&mut self, body: &Body) {
        let elements = (body.copies * self.steps.lanes) as i32;
        let (top, done) = (self.assembler.label(), self.assembler.label());
        self.limit(elements);
        self.assembler.jump(Encoding::Jg_rel32_64, done);
        self.assembler.align();
        self.assembler.bind(top);
        self.prefetch(body.copies);
        self.copy_inputs(Some(elements));
        self.body(body);
        self.assembler.put_number(Encoding::Add_rm64_imm32, INDEX, elements);
        self.assembler.put(Encoding::Cmp_r64_rm64, &[register(INDEX), register(LIMIT)]);
        self.assembler.jump(Encoding::Jle_rel32_64, top);
        self.assembler.bind(done);
        if body.copies == 1 {
            self.last_vector(top);
        }
    }

    /// The elements that are left become the last whole vector of the row, if it has one: the elements before
    /// them are computed again. Not where an input is overwritten.
    fn last_vector(&mut self, top: Label) {
        let Row { reads, writes, .. } = self.row;
        let is_read = |read: &Read| matches!(read, Read::Vector | Read::Splat | Read::Number);
        if !reads.iter().all(is_read) || !writes.iter().all(|&write| write == Write::Cached) {
            return;
        }
        let left = self.assembler.label();
        self.assembler.put(Encoding::Test_rm64_r64, &[register(LIMIT), register(LIMIT)]);
        self.assembler.jump(Encoding::Js_rel32_64, left);
        self.assembler.put(Encoding::Cmp_r64_rm64, &[register(INDEX), register(COUNT)]);
        self.assembler.jump(Encoding::Jae_rel32_64, left);
        for result in reads.len()..self.operands() {
            let result = self.pointer(result);
            for input in (0..reads.len()).filter(|&input| reads[input] == Read::Vector) {
                let input = self.own_pointer(input).map_or(self.argument(input), register);
                self.assembler.put(Encoding::Cmp_r64_rm64, &[register(result), input]);
                self.assembler.jump(Encoding::Je_rel32_64, left);
            }
        }
        self.assembler.put(Encoding::Mov_r64_rm64, &[register(INDEX), register(LIMIT)]);
        self.assembler.jump(Encoding::Jmp_rel32_64, top);
        self.assembler.bind(left);
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
        let own = (body.copies * self.steps.lanes) as i32;
        let [outer, top, done] = [(); 3].map(|()| self.assembler.label());
        self.assembler.put(Encoding::Mov_r64_rm64, &[register(LIMIT), register(COUNT)]);
        self.assembler.put_number(Encoding::And_rm64_imm32, LIMIT, -(count as i32));
        self.assembler.bind(outer);
        self.move_accumulators(body, (first, bytes), true);
        self.assembler.put(Encoding::Cmp_r64_rm64, &[register(INDEX), register(LIMIT)]);
        self.assembler.jump(Encoding::Jae_rel32_64, done);
        self.assembler.align();
        self.assembler.bind(top);
        self.prefetch(body.copies);
        self.copy_inputs(Some(own));
        self.body(body);
        self.assembler.put_number(Encoding::Add_rm64_imm32, INDEX, count as i32);
        self.assembler.put(Encoding::Cmp_r64_rm64, &[register(INDEX), register(LIMIT)]);
        self.assembler.jump(Encoding::Jb_rel32_64, top);
        self.assembler.bind(done);
        self.assembler.put_number(Encoding::And_rm64_imm32, INDEX, count as i32 - 1);
        self.move_accumulators(body, (first, bytes), false);
        self.assembler.put_number(Encoding::Add_rm64_imm32, INDEX, own);
        self.assembler.put_number(Encoding::Cmp_rm64_imm32, INDEX, count as i32);
        self.assembler.jump(Encoding::Jb_rel32_64, outer);
        // The next element is for the first accumulator.
        self.assembler.put(Encoding::Mov_r64_rm64, &[register(INDEX), register(LIMIT)]);
        let bits = Operand::Immediate(bytes.trailing_zeros() as u8);
        self.assembler.put(Encoding::Shl_rm64_imm8, &[register(LIMIT), bits]);
        self.assembler.put(Encoding::Sub_r64_rm64, &[register(TURNS), register(LIMIT)]);
    }

    /// Asks for contiguous elements that later vectors read.
    fn prefetch(&mut self, copies: u32) {
        let row = self.row;
        let inputs = row.code.inputs().iter().zip(&row.reads).zip(&row.prefetch_bytes).enumerate();
        let is_asked = |distance: u32| (1..FARTHEST_BYTES).contains(&distance);
        let asked = inputs.filter(|&(_, ((_, &read), &distance))| is_asked(distance) && read == Read::Vector);
        for (operand, ((input, _), &distance)) in asked {
            let bytes = input.bits() / 8;
            let into = if distance > NEAR_BYTES { Encoding::Prefetcht1_m8 } else { Encoding::Prefetcht0_m8 };
            for ahead in (0..copies * self.steps.lanes * bytes).step_by(CACHE_LINE_BYTES) {
                let (base, offset) = (self.pointer(operand), distance + ahead);
                let memory = Operand::Memory { base, index: INDEX, scale: bytes, offset };
                self.assembler.put(into, &[memory]);
            }
        }
    }

    /// Loads or stores the accumulators of a body from the index on.
    fn move_accumulators(&mut self, body: &Body, (first, bytes): (u8, u32), is_load: bool) {
        (self.copies, self.extent) = (body.copies, body.extent);
        let (vector, operand) = (self.steps.lanes * bytes, self.row.reads.len());
        let (mask, is_zeroing) = self.tail_mask(bytes);
        for copy in 0..body.copies {
            let memory = self.elements(operand, bytes, 0, copy);
            let own = register(sized(first + copy as u8, vector));
            let (load, store) = match (self.set, vector) {
                (Set::Avx2, 16) => (Encoding::VEX_Vmovups_xmm_xmmm128, Encoding::VEX_Vmovups_xmmm128_xmm),
                (Set::Avx2, _) => (Encoding::VEX_Vmovups_ymm_ymmm256, Encoding::VEX_Vmovups_ymmm256_ymm),
                (_, 32) if bytes == 4 => {
                    (Encoding::EVEX_Vmovups_ymm_k1z_ymmm256, Encoding::EVEX_Vmovups_ymmm256_k1z_ymm)
                }
                _ if bytes == 4 => {
                    (Encoding::EVEX_Vmovups_zmm_k1z_zmmm512, Encoding::EVEX_Vmovups_zmmm512_k1z_zmm)
                }
                _ => (Encoding::EVEX_Vmovupd_zmm_k1z_zmmm512, Encoding::EVEX_Vmovupd_zmmm512_k1z_zmm),
            };
            if is_load {
                self.assembler.put_masked(load, &[own, memory], mask, is_zeroing);
            } else {
                self.assembler.put_masked(store, &[memory, own], mask, false);
            }
        }
    }

    /// The elements that are left, at most a vector; jumps where there are none.
    fn limit_left(&mut self, end: Label) {
        let lanes = self.steps.lanes as i32;
        self.assembler.put(Encoding::Mov_r64_rm64, &[register(LIMIT), register(COUNT)]);
        self.assembler.put(Encoding::Sub_r64_rm64, &[register(LIMIT), register(INDEX)]);
        self.assembler.jump(Encoding::Je_rel32_64, end);
        self.assembler.put_number(Encoding::Mov_rm64_imm32, SCRATCH, lanes);
        self.assembler.put(Encoding::Cmp_r64_rm64, &[register(LIMIT), register(SCRATCH)]);
        self.assembler.put(Encoding::Cmova_r64_rm64, &[register(LIMIT), register(SCRATCH)]);
    }

    /// The elements that are left, at least one and at most 64, become a mask.
    fn select_left(&mut self) {
        if self.set == Set::Avx512 {
            // All ones, shifted by what the number lacks of 64, which is what its opposite has below 64.
            self.assembler.put_number(Encoding::Mov_rm64_imm32, SCRATCH, -1);
            self.assembler.put(Encoding::Neg_rm64, &[register(LIMIT)]);
            self.assembler.put(Encoding::Shr_rm64_CL, &[register(SCRATCH), register(Register::CL)]);
            self.assembler.put(Encoding::Neg_rm64, &[register(LIMIT)]);
            self.assembler.put(Encoding::VEX_Kmovq_kr_r64, &[register(LEFT), register(SCRATCH)]);
        }
    }

    /// At most a vector of the elements that are left. `part` has their number already.
    fn left(&mut self, body: &Body, start: Label, part: Label, end: Label) {
        self.limit_left(end);
        self.assembler.bind(part);
        self.select_left();
        self.copy_inputs(None);
        self.body(body);
        for (result, bytes) in self.steps.stored() {
            let operand = self.row.reads.len() + result;
            if self.buffers[operand] != NONE {
                self.copy(operand, bytes, None, false);
            }
        }
        self.assembler.put(Encoding::Add_r64_rm64, &[register(INDEX), register(LIMIT)]);
        self.assembler.jump(Encoding::Jmp_rel32_64, start);
    }

    /// Copies to their buffers so many elements of the inputs that are stepped, or those that are left of all
    /// inputs that have one. Accumulators that elements of all rows enter stay where they are.
    fn copy_inputs(&mut self, elements: Option<i32>) {
        for (operand, bytes) in self.steps.loaded() {
            let is_copied = match self.row.reads[operand] {
                Read::Stepped(_) => true,
                Read::Across => false,
                _ => elements.is_none() && self.buffers[operand] != NONE,
            };
            if is_copied {
                self.copy(operand, bytes, elements, true);
            }
        }
        if (0..self.operands()).any(|operand| self.row.is_part(operand)) {
            let double = Operand::Memory { base: INDEX, index: INDEX, scale: 1, offset: 0 };
            self.assembler.put(Encoding::Lea_r64_m, &[register(DOUBLE_INDEX), double]);
        }
    }

    /// Copies elements between an operand and its buffer: so many, or those that are left.
    fn copy(&mut self, operand: usize, bytes: u32, elements: Option<i32>, is_in: bool) {
        if bytes == ELEMENT_BYTES_OF_PARTS {
            return self.copy_parts(operand, is_in);
        }
        let [step, index, element] = COPYING;
        let buffer =
            Operand::Memory { base: Register::RSP, index, scale: bytes, offset: self.buffers[operand] };
        let first = self.own_pointer(operand).map_or(self.argument(operand), register);
        self.assembler.put(Encoding::Mov_r64_rm64, &[register(SCRATCH), first]);
        let is_stepped = self.row.reads.get(operand).is_some_and(Read::is_stepped);
        if is_in && bytes >= 4 && !is_stepped && !self.is_narrow() {
            return self.load_left(bytes, self.buffers[operand]);
        }
        if is_stepped {
            let before = self.row.reads[..operand].iter().filter(|read| read.is_stepped()).count();
            let argument = self.argument(2 * self.operands() + before);
            self.assembler.put(Encoding::Mov_r64_rm64, &[register(step), argument]);
        } else {
            self.assembler.put_number(Encoding::Mov_rm64_imm32, step, bytes as i32);
        }
        self.assembler.put(Encoding::Mov_r64_rm64, &[register(index), register(step)]);
        self.assembler.put(Encoding::Imul_r64_rm64, &[register(index), register(INDEX)]);
        self.assembler.put(Encoding::Add_r64_rm64, &[register(SCRATCH), register(index)]);
        if let Some(&Read::Stepped(Some(step))) = self.row.reads.get(operand)
            && (elements.is_some() || self.set == Set::Avx512)
            && let Some(near) = Near::new(step, self.steps.lanes, bytes, self.set)
        {
            return self.copy_near(near, elements, bytes, self.buffers[operand]);
        }
        self.assembler.put(Encoding::Xor_r32_rm32, &[register(Register::R12D), register(Register::R12D)]);
        let (from, to) = if is_in { (at(SCRATCH, 0), buffer) } else { (buffer, at(SCRATCH, 0)) };
        let (top, done) = (self.assembler.label(), self.assembler.label());
        if self.is_narrow() && elements.is_none() && !is_stepped {
            self.copy_words(bytes, from, to);
            self.assembler.put(Encoding::Cmp_r64_rm64, &[register(index), register(LIMIT)]);
            self.assembler.jump(Encoding::Jae_rel32_64, done);
        }
        self.assembler.bind(top);
        let (read, write, narrow, stored) = match bytes {
            1 => (Encoding::Movzx_r32_rm8, Encoding::Mov_rm8_r8, Register::R13D, Register::R13L),
            2 => (Encoding::Movzx_r32_rm16, Encoding::Mov_rm16_r16, Register::R13D, Register::R13W),
            4 => (Encoding::Mov_r32_rm32, Encoding::Mov_rm32_r32, Register::R13D, Register::R13D),
            _ => (Encoding::Mov_r64_rm64, Encoding::Mov_rm64_r64, element, element),
        };
        self.assembler.put(read, &[register(narrow), from]);
        self.assembler.put(write, &[to, register(stored)]);
        self.assembler.put(Encoding::Add_r64_rm64, &[register(SCRATCH), register(step)]);
        self.assembler.put_number(Encoding::Add_rm64_imm32, index, 1);
        match elements {
            Some(elements) => self.assembler.put_number(Encoding::Cmp_rm64_imm32, index, elements),
            None => self.assembler.put(Encoding::Cmp_r64_rm64, &[register(index), register(LIMIT)]),
        }
        self.assembler.jump(Encoding::Jb_rel32_64, top);
        self.assembler.bind(done);
    }

    /// Copies the elements of parts that are left, both of each, between an operand and its buffer. Around a
    /// body, the first register has no value.
    fn copy_parts(&mut self, operand: usize, is_in: bool) {
        let [end, index, _] = COPYING;
        let first = self.own_pointer(operand).map_or(self.argument(operand), register);
        self.assembler.put(Encoding::Mov_r64_rm64, &[register(SCRATCH), register(INDEX)]);
        self.assembler.put(Encoding::Shl_rm64_imm8, &[register(SCRATCH), Operand::Immediate(4)]);
        self.assembler.put(Encoding::Add_r64_rm64, &[register(SCRATCH), first]);
        let double = Operand::Memory { base: LIMIT, index: LIMIT, scale: 1, offset: 0 };
        self.assembler.put(Encoding::Lea_r64_m, &[register(end), double]);
        self.assembler.put(Encoding::Xor_r32_rm32, &[register(Register::R12D), register(Register::R12D)]);
        let top = self.assembler.label();
        self.assembler.bind(top);
        let memory = Operand::Memory { base: SCRATCH, index, scale: 8, offset: 0 };
        let buffer = Operand::Memory { base: Register::RSP, index, scale: 8, offset: self.buffers[operand] };
        let (from, to) = if is_in { (memory, buffer) } else { (buffer, memory) };
        let element = register(sized(0, ELEMENT_BYTES_OF_PARTS));
        self.assembler.put(Encoding::VEX_Vmovups_xmm_xmmm128, &[element, from]);
        self.assembler.put(Encoding::VEX_Vmovups_xmmm128_xmm, &[to, element]);
        self.assembler.put_number(Encoding::Add_rm64_imm32, index, 2);
        self.assembler.put(Encoding::Cmp_r64_rm64, &[register(index), register(end)]);
        self.assembler.jump(Encoding::Jb_rel32_64, top);
    }

    /// Copies the contiguous elements that are left of the operand at [`SCRATCH`] to a buffer, those of a
    /// vector at once: what is written one by one would be read as a vector with a delay. Before a body, the
    /// first registers have no values.
    fn load_left(&mut self, bytes: u32, buffer: u32) {
        let ([end, left, _], vector_bytes) = (COPYING, self.set.vector_bytes());
        let [chosen, own] = [0, 1].map(|number| self.vector(number));
        let first = Operand::Memory { base: SCRATCH, index: INDEX, scale: bytes, offset: 0 };
        self.assembler.put(Encoding::Lea_r64_m, &[register(SCRATCH), first]);
        // So many bytes before the end of all ones a mask begins with as many.
        let masks = self.places(&[[u32::MAX; 16], [0; 16]].concat(), 4);
        self.assembler.put(Encoding::Lea_r64_m, &[register(end), masks]);
        self.assembler.put(Encoding::Mov_r64_rm64, &[register(left), register(LIMIT)]);
        let shift = Operand::Immediate(bytes.trailing_zeros() as u8);
        self.assembler.put(Encoding::Shl_rm64_imm8, &[register(left), shift]);
        self.assembler.put(Encoding::Sub_r64_rm64, &[register(end), register(left)]);
        for offset in (0..self.steps.lanes * bytes).step_by(vector_bytes as usize) {
            let [mask, memory] = [at(end, 64 + offset), at(SCRATCH, offset)];
            self.assembler.put(Encoding::VEX_Vmovups_ymm_ymmm256, &[chosen, mask]);
            self.assembler.put(Encoding::VEX_Vmaskmovps_ymm_ymm_m256, &[own, chosen, memory]);
            let buffer = at(Register::RSP, buffer + offset);
            self.assembler.put(Encoding::VEX_Vmovups_ymmm256_ymm, &[buffer, own]);
        }
    }

    /// Copies words of 8 bytes while as many contiguous elements are left.
    fn copy_words(&mut self, bytes: u32, from: Operand, to: Operand) {
        let [_, index, word] = COPYING.map(register);
        let (top, done) = (self.assembler.label(), self.assembler.label());
        self.assembler.bind(top);
        self.assembler.put(Encoding::Mov_r64_rm64, &[word, index]);
        self.assembler.put_number(Encoding::Add_rm64_imm32, COPYING[2], 8 / bytes as i32);
        self.assembler.put(Encoding::Cmp_r64_rm64, &[word, register(LIMIT)]);
        self.assembler.jump(Encoding::Ja_rel32_64, done);
        self.assembler.put(Encoding::Mov_r64_rm64, &[word, from]);
        self.assembler.put(Encoding::Mov_rm64_r64, &[to, word]);
        self.assembler.put_number(Encoding::Add_rm64_imm32, SCRATCH, 8);
        self.assembler.put_number(Encoding::Add_rm64_imm32, COPYING[1], 8 / bytes as i32);
        self.assembler.jump(Encoding::Jmp_rel32_64, top);
        self.assembler.bind(done);
    }

    /// Copies vectors of elements that lie a few apart, from [`SCRATCH`] on, to a buffer: so many elements,
    /// or those that are left. Before a body, the first registers have no values.
    fn copy_near(&mut self, near: Near, elements: Option<i32>, bytes: u32, buffer: u32) {
        let lanes = self.steps.lanes;
        let (vector, vectors) = (lanes * bytes, elements.map_or(1, |elements| elements as u32 / lanes));
        let apart = (near.step() * bytes) as i32;
        if near.is_reversed() {
            let behind = (vectors * lanes) as i32 - 1;
            self.assembler.put_number(Encoding::Sub_rm64_imm32, SCRATCH, apart * behind);
        }
        let [load, store] = match (self.set, vector) {
            (Set::Avx2, _) => [Encoding::VEX_Vmovups_ymm_ymmm256, Encoding::VEX_Vmovups_ymmm256_ymm],
            (_, 64) if bytes == 4 => {
                [Encoding::EVEX_Vmovups_zmm_k1z_zmmm512, Encoding::EVEX_Vmovups_zmmm512_k1z_zmm]
            }
            (_, 64) => [Encoding::EVEX_Vmovupd_zmm_k1z_zmmm512, Encoding::EVEX_Vmovupd_zmmm512_k1z_zmm],
            _ => [Encoding::EVEX_Vmovups_ymm_k1z_ymmm256, Encoding::EVEX_Vmovups_ymmm256_k1z_ymm],
        };
        let [own, order, next] = [0, 1, 2].map(|number| register(sized(number, vector)));
        for copy in 0..vectors {
            let nth = if near.is_reversed() { vectors - 1 - copy } else { copy };
            let first = nth * vector * near.step();
            let memory = |chunk: u32| at(SCRATCH, first + near.start(chunk) * bytes);
            for chunk in 0..near.step() {
                let to = if chunk == 0 { own } else { next };
                match (self.set, elements) {
                    (Set::Avx2, _) if chunk > 0 => {
                        let mask = Operand::Immediate(near.taken(chunk, bytes / 4));
                        let operands = [own, own, memory(chunk), mask];
                        self.assembler.put(Encoding::VEX_Vblendps_ymm_ymm_ymmm256_imm8, &operands);
                    }
                    (_, Some(_)) => self.assembler.put(load, &[to, memory(chunk)]),
                    (_, None) => {
                        self.select_near(near, chunk);
                        self.assembler.put_masked(load, &[to, memory(chunk)], mask(0), true);
                    }
                }
                let is_alone = chunk == 0 && near.step() == 1;
                if self.set == Set::Avx512 && (chunk > 0 || is_alone) {
                    let places = self.places(&near.permutation(chunk), bytes);
                    self.assembler.put(load, &[order, places]);
                    let operands = [own, order, if is_alone { own } else { next }];
                    self.assembler.put(near::permute(is_alone, bytes, vector), &operands);
                }
            }
            if self.set == Set::Avx2 {
                let places = self.places(&near.order(bytes / 4), 4);
                self.assembler.put(load, &[order, places]);
                self.assembler.put(Encoding::VEX_Vpermps_ymm_ymm_ymmm256, &[own, order, own]);
            }
            self.assembler.put(store, &[at(Register::RSP, buffer + copy * vector), own]);
        }
    }

    /// Which elements of a vector of memory are there where only some are left, as the first mask, which has
    /// no value before a body.
    fn select_near(&mut self, near: Near, chunk: u32) {
        let [_, count, bits] = COPYING;
        let (step, start) = (near.step() as i32, near.start(chunk) as i32);
        self.assembler.put(Encoding::Xor_r32_rm32, &[register(Register::R12D), register(Register::R12D)]);
        for _ in 0..step {
            self.assembler.put(Encoding::Add_r64_rm64, &[register(count), register(LIMIT)]);
        }
        if near.is_reversed() {
            // All up to the first one that is left are not.
            self.assembler.put(Encoding::Neg_rm64, &[register(count)]);
            let all = step * self.steps.lanes as i32;
            self.assembler.put_number(Encoding::Add_rm64_imm32, count, all - start);
        } else {
            self.assembler.put_number(Encoding::Sub_rm64_imm32, count, step - 1 + start);
        }
        self.assembler.put(Encoding::Xor_r32_rm32, &[register(Register::R13D), register(Register::R13D)]);
        self.assembler.put(Encoding::Test_rm64_r64, &[register(count), register(count)]);
        self.assembler.put(Encoding::Cmovs_r64_rm64, &[register(count), register(bits)]);
        self.assembler.put(Encoding::Bts_rm64_r64, &[register(bits), register(count)]);
        self.assembler.put_number(Encoding::Sub_rm64_imm32, bits, 1);
        if near.is_reversed() {
            self.assembler.put(Encoding::Not_rm64, &[register(bits)]);
        }
        self.assembler.put(Encoding::VEX_Kmovw_kr_r32, &[register(mask(0)), register(Register::R13D)]);
    }

    /// Places in vectors, as elements of so many bytes behind the code.
    fn places(&mut self, places: &[u32], bytes: u32) -> Operand {
        let all: Vec<u8> = places
            .iter()
            .flat_map(|&place| u64::from(place).to_le_bytes()[..bytes as usize].to_vec())
            .collect();
        let known = self.pool.chunks(all.len()).position(|known| known == all);
        let offset = known.map(|known| known * all.len()).unwrap_or_else(|| {
            self.pool.resize(self.pool.len().next_multiple_of(all.len()), 0);
            self.pool.extend_from_slice(&all);
            self.pool.len() - all.len()
        });
        Operand::Pool { offset: offset as u32, is_broadcast: false }
    }

    /// The instructions of a body.
    fn body(&mut self, body: &Body) {
        (self.copies, self.extent) = (body.copies, body.extent);
        self.slots = vec![NONE; self.steps.steps.len() * body.copies as usize];
        for &(id, slot) in &body.slots {
            self.slots[id as usize] = slot;
        }
        let placement = &body.placement;
        let mut ends: Vec<Label> = Vec::new();
        for placed in &placement.placed {
            match *placed {
                Placed::Step { step, copy, args, to } => self.step(step, copy, args, to),
                Placed::Overwriting { step, args, to, tied } => self.mul_add(step, args, to, tied),
                Placed::Move { is_mask: true, from, to } => {
                    let operands = [register(mask(to)), register(mask(from))];
                    self.assembler.put(Encoding::VEX_Kmovq_kr_km64, &operands);
                }
                Placed::Move { is_mask: false, from, to } => {
                    let operands = [self.vector(to), self.vector(from)];
                    let encoding = self
                        .of_set(Encoding::VEX_Vmovaps_ymm_ymmm256, Encoding::EVEX_Vmovaps_zmm_k1z_zmmm512);
                    self.assembler.put(encoding, &operands);
                }
                Placed::Load { id, to } => self.load(id, to),
                Placed::Keep { id, from } if placement.is_kept[id as usize] => self.keep(id, from),
                Placed::Keep { .. } => {}
                Placed::Begin { masks, block, is_inverted } => {
                    let end = self.assembler.label();
                    ends.push(end);
                    let masks = &placement.masks[masks as usize];
                    if is_inverted {
                        self.ask_not(masks, end)
                    } else {
                        self.ask(masks, end)
                    }
                    for &(id, from) in &placement.entries[block as usize] {
                        self.keep(id, from);
                    }
                }
                Placed::End => {
                    if let Some(end) = ends.pop() {
                        self.assembler.bind(end);
                    }
                }
            }
        }
    }

    /// Jumps where all masks of AVX-512 hold for all elements.
    fn ask_not(&mut self, masks: &[u8], end: Label) {
        let is_16 = self.steps.lanes == 16;
        let (and, test) = if is_16 {
            (Encoding::VEX_Kandw_kr_kr_kr, Encoding::VEX_Kortestw_kr_kr)
        } else {
            (Encoding::VEX_Kandb_kr_kr_kr, Encoding::VEX_Kortestb_kr_kr)
        };
        let all = masks[1..].iter().fold(mask(masks[0]), |all, &other| {
            self.assembler.put(and, &[register(Register::K0), register(all), register(mask(other))]);
            Register::K0
        });
        self.assembler.put(test, &[register(all), register(all)]);
        self.assembler.jump(Encoding::Jb_rel32_64, end);
    }

    /// Jumps where no element asks.
    fn ask(&mut self, masks: &[u8], end: Label) {
        let go = self.assembler.label();
        let per_test = if self.set == Set::Avx512 { 2 } else { 1 };
        let mut tests = masks.chunks(per_test).peekable();
        while let Some(test) = tests.next() {
            let (a, b) = (test[0], test[test.len() - 1]);
            if self.set == Set::Avx512 {
                let is_16 = self.steps.lanes == 16;
                let encoding =
                    if is_16 { Encoding::VEX_Kortestw_kr_kr } else { Encoding::VEX_Kortestb_kr_kr };
                self.assembler.put(encoding, &[register(mask(a)), register(mask(b))]);
            } else {
                let operands = [self.vector(a), self.vector(a)];
                self.assembler.put(Encoding::VEX_Vptest_ymm_ymmm256, &operands);
            }
            match tests.peek() {
                Some(_) => self.assembler.jump(Encoding::Jne_rel32_64, go),
                None => self.assembler.jump(Encoding::Je_rel32_64, end),
            }
        }
        self.assembler.bind(go);
    }

    fn of_set<T>(&self, avx2: T, avx512: T) -> T {
        if self.set == Set::Avx2 { avx2 } else { avx512 }
    }

    fn vector(&self, number: u8) -> Operand {
        register(sized(number, self.set.vector_bytes()))
    }

    fn step_of(&self, id: Id) -> &Step {
        &self.steps.steps[(id / self.copies) as usize]
    }

    /// Where a value is in memory.
    fn memory(&mut self, id: Id) -> Operand {
        let step = (id / self.copies) as usize;
        match (self.steps.steps[step].act, self.slots.get(id as usize)) {
            (Act::Constant { offset, element_bytes }, _) => {
                Operand::Pool { offset, is_broadcast: element_bytes != 0 }
            }
            (_, Some(&slot)) if slot != NONE => at(Register::RSP, slot * self.set.vector_bytes()),
            (Act::Load { input, bytes, offset, .. }, _) => {
                self.elements(input as usize, bytes, offset, id % self.copies)
            }
            _ => {
                let slot = self.order.slots[step].expect("a value that stays on the stack");
                at(Register::RSP, slot * self.set.vector_bytes())
            }
        }
    }

    fn load(&mut self, id: Id, to: u8) {
        let step = *self.step_of(id);
        let has_slot = self.slots.get(id as usize).is_some_and(|&slot| slot != NONE);
        if matches!(step.act, Act::Load { .. }) && !has_slot {
            return self.step(id / self.copies, id % self.copies, [Place::Register(0); OPERANDS], to);
        }
        let memory = self.memory(id);
        if step.is_mask {
            return self.assembler.put(Encoding::VEX_Kmovq_kr_km64, &[register(mask(to)), memory]);
        }
        let (encoding, memory) = match step.act {
            Act::Constant { offset, element_bytes: 4 } => {
                (Encoding::EVEX_Vbroadcastss_zmm_k1z_xmmm32, Operand::Pool { offset, is_broadcast: false })
            }
            Act::Constant { offset, element_bytes: 8 } => {
                (Encoding::EVEX_Vbroadcastsd_zmm_k1z_xmmm64, Operand::Pool { offset, is_broadcast: false })
            }
            _ => (
                self.of_set(Encoding::VEX_Vmovups_ymm_ymmm256, Encoding::EVEX_Vmovups_zmm_k1z_zmmm512),
                memory,
            ),
        };
        let operands = [self.vector(to), memory];
        self.assembler.put(encoding, &operands);
    }

    fn keep(&mut self, id: Id, from: u8) {
        let memory = self.memory(id);
        if self.step_of(id).is_mask {
            return self.assembler.put(Encoding::VEX_Kmovq_m64_kr, &[memory, register(mask(from))]);
        }
        let encoding = self.of_set(Encoding::VEX_Vmovups_ymmm256_ymm, Encoding::EVEX_Vmovups_zmmm512_k1z_zmm);
        let operands = [memory, self.vector(from)];
        self.assembler.put(encoding, &operands);
    }

    /// An operand, a vector of which is in a register of so many bytes.
    fn operand(&mut self, place: Place, is_mask: bool, bytes: u32) -> Operand {
        match place {
            Place::Memory(id) => self.memory(id),
            Place::Register(number) if is_mask => register(mask(number)),
            Place::Register(number) => register(sized(number, bytes)),
        }
    }

    fn step(&mut self, number: u32, copy: u32, args: [Place; OPERANDS], to: u8) {
        let step = self.steps.steps[number as usize];
        match step.act {
            Act::Load { input, bytes, offset, make } => {
                let memory = self.elements(input as usize, bytes, offset, copy);
                let (mask, is_zeroing) = self.tail_mask(bytes);
                let operands = [register(sized(to, make.sizes.0)), memory];
                self.assembler.put_masked(make.encoding, &operands, mask, is_zeroing);
            }
            Act::Splat { input, bytes } => self.splat(input as usize, bytes, to),
            Act::Store { result, bytes, offset, make } => {
                let from = self.operand(args[0], false, make.sizes.0);
                let memory = self.elements(self.row.reads.len() + result as usize, bytes, offset, copy);
                self.store(result, make.encoding, bytes, memory, from);
            }
            Act::Make(Make { encoding, shape, immediate, sizes }) => {
                let target = if step.is_mask { register(mask(to)) } else { register(sized(to, sizes.0)) };
                let mut of = Vec::with_capacity(OPERANDS);
                for (arg, place) in step.args().zip(args) {
                    let is_mask = self.steps.steps[arg as usize].is_mask;
                    of.push(self.operand(place, is_mask, sizes.1));
                }
                let mut operands = vec![target];
                match shape {
                    Shape::Select if self.set == Set::Avx512 => {
                        let mask = as_register(of[0]);
                        return self.assembler.put_masked(encoding, &[target, of[2], of[1]], mask, false);
                    }
                    Shape::MaskedCompare => {
                        let mut operands = vec![target, of[1], of[2]];
                        operands.extend(immediate.map(Operand::Immediate));
                        return self.assembler.put_masked(encoding, &operands, as_register(of[0]), false);
                    }
                    Shape::Masked => {
                        let mask = as_register(of[0]);
                        return self.assembler.put_masked(encoding, &[target, of[1], of[2]], mask, false);
                    }
                    Shape::Select => operands.extend([of[2], of[1], of[0]]),
                    Shape::MaskSelect => return self.mask_select(target, [of[0], of[1], of[2]]),
                    Shape::Pool => return self.pool_address(to),
                    Shape::Fetch { table, is_odd } => return self.fetch(table, is_odd, [of[0], of[1]], to),
                    Shape::Overwriting => operands.extend(&of[1..]),
                    _ => operands.extend(&of),
                }
                operands.extend(immediate.map(Operand::Immediate));
                self.assembler.put(encoding, &operands);
            }
            Act::Constant { .. } | Act::Rare { .. } => {}
        }
    }

    fn mask_select(&mut self, target: Operand, [mask, yes, no]: [Operand; 3]) {
        let scratch = register(Register::K0);
        self.assembler.put(Encoding::VEX_Kandq_kr_kr_kr, &[scratch, mask, yes]);
        self.assembler.put(Encoding::VEX_Kandnq_kr_kr_kr, &[target, mask, no]);
        self.assembler.put(Encoding::VEX_Korq_kr_kr_kr, &[target, target, scratch]);
    }

    fn pool_address(&mut self, to: u8) {
        let pool = Operand::Pool { offset: 0, is_broadcast: false };
        let low = register(sized(to, 16));
        self.assembler.put(Encoding::Lea_r64_m, &[register(SCRATCH), pool]);
        self.assembler.put(Encoding::VEX_Vmovq_xmm_rm64, &[low, register(SCRATCH)]);
        self.assembler.put(Encoding::VEX_Vpbroadcastq_ymm_xmmm64, &[register(sized(to, 32)), low]);
    }

    fn fetch(&mut self, table: u32, is_odd: bool, addresses: [Operand; 2], to: u8) {
        let [low, whole] = [16, 32].map(|bytes| register(sized(to, bytes)));
        // Both addresses are known before their registers may be written over.
        for (own, address) in FETCHING.into_iter().zip(addresses) {
            if is_odd {
                let operands = [register(own), address, Operand::Immediate(1)];
                self.assembler.put(Encoding::VEX_Vpextrq_rm64_xmm_imm8, &operands);
            } else {
                self.assembler.put(Encoding::VEX_Vmovq_rm64_xmm, &[register(own), address]);
            }
        }
        let [first, second] = FETCHING.map(|own| at(own, table));
        self.assembler.put(Encoding::VEX_Vmovupd_xmm_xmmm128, &[low, first]);
        let operands = [whole, whole, second, Operand::Immediate(1)];
        self.assembler.put(Encoding::VEX_Vinsertf128_ymm_ymm_xmmm128_imm8, &operands);
    }

    /// What selects the elements that are left: nothing where they have a buffer.
    fn tail_mask(&self, bytes: u32) -> (Register, bool) {
        if self.set == Set::Avx512 && self.extent == Extent::Part && bytes < ELEMENT_BYTES_OF_PARTS {
            (LEFT, true)
        } else {
            (Register::None, false)
        }
    }

    /// A vector of an operand, from a byte on.
    fn elements(&mut self, operand: usize, bytes: u32, offset: u32, copy: u32) -> Operand {
        let offset = offset + copy * self.steps.lanes * bytes;
        let is_part = self.row.is_part(operand);
        let is_buffered = self.row.reads.get(operand).is_some_and(Read::is_stepped)
            || (is_part || self.set == Set::Avx2) && self.extent == Extent::Part;
        if is_buffered {
            return at(Register::RSP, self.buffers[operand] + offset);
        }
        if is_part {
            let base = self.pointer(operand);
            return Operand::Memory { base, index: DOUBLE_INDEX, scale: bytes / 2, offset };
        }
        Operand::Memory { base: self.pointer(operand), index: INDEX, scale: bytes, offset }
    }

    /// Whether vectors have more elements than words of 32 bits.
    fn is_narrow(&self) -> bool {
        4 * self.steps.lanes > self.set.vector_bytes()
    }

    fn splat(&mut self, input: usize, bytes: u32, to: u8) {
        let memory = at(self.pointer(input), 0);
        let vector = self.vector(to);
        match bytes {
            4 => {
                let encoding = self
                    .of_set(Encoding::VEX_Vbroadcastss_ymm_m32, Encoding::EVEX_Vbroadcastss_zmm_k1z_xmmm32);
                self.assembler.put(encoding, &[vector, memory]);
            }
            8 => {
                let encoding = self
                    .of_set(Encoding::VEX_Vbroadcastsd_ymm_m64, Encoding::EVEX_Vbroadcastsd_zmm_k1z_xmmm64);
                self.assembler.put(encoding, &[vector, memory]);
            }
            _ if self.is_narrow() => {
                let pair = match bytes {
                    1 => pair!(VEX_Vpbroadcastb_xmm_xmmm8, EVEX_Vpbroadcastb_xmm_k1z_xmmm8),
                    _ => pair!(VEX_Vpbroadcastw_xmm_xmmm16, EVEX_Vpbroadcastw_xmm_k1z_xmmm16),
                };
                let encoding = pair.encoding(self.set, self.set.vector_bytes());
                self.assembler.put(encoding, &[vector, memory]);
            }
            _ => {
                let element = register(Register::R11D);
                let read = if bytes == 1 { Encoding::Movzx_r32_rm8 } else { Encoding::Movzx_r32_rm16 };
                self.assembler.put(read, &[element, memory]);
                if self.set == Set::Avx512 {
                    self.assembler.put(Encoding::EVEX_Vpbroadcastd_zmm_k1z_r32, &[vector, element]);
                } else {
                    let low = register(sized(to, 16));
                    self.assembler.put(Encoding::VEX_Vmovd_xmm_rm32, &[low, element]);
                    self.assembler.put(Encoding::VEX_Vpbroadcastd_ymm_xmmm32, &[vector, low]);
                }
            }
        }
    }

    fn store(&mut self, result: u32, encoding: Encoding, bytes: u32, memory: Operand, from: Operand) {
        let total = bytes * self.steps.lanes;
        if self.extent != Extent::Whole || !self.is_non_temporal(result, bytes) {
            let (mask, _) = self.tail_mask(bytes);
            return self.assembler.put_masked(encoding, &[memory, from], mask, false);
        }
        // A non-temporal store wants an aligned address.
        let (cached, done) = (self.assembler.label(), self.assembler.label());
        self.assembler.put(Encoding::Lea_r64_m, &[register(SCRATCH), memory]);
        let memory = at(SCRATCH, 0);
        self.assembler.put_number(Encoding::Test_rm32_imm32, Register::R11D, total as i32 - 1);
        self.assembler.jump(Encoding::Jne_rel32_64, cached);
        let non_temporal = match total {
            16 => self.of_set(Encoding::VEX_Vmovntps_m128_xmm, Encoding::EVEX_Vmovntps_m128_xmm),
            32 => self.of_set(Encoding::VEX_Vmovntps_m256_ymm, Encoding::EVEX_Vmovntps_m256_ymm),
            _ => Encoding::EVEX_Vmovntps_m512_zmm,
        };
        self.assembler.put(non_temporal, &[memory, from]);
        self.assembler.jump(Encoding::Jmp_rel32_64, done);
        self.assembler.bind(cached);
        self.assembler.put(encoding, &[memory, from]);
        self.assembler.bind(done);
    }

    fn mul_add(&mut self, number: u32, args: [Place; 3], to: u8, tied: u8) {
        let step = self.steps.steps[number as usize];
        let Act::Make(Make { shape: Shape::MulAdd { is_64, signs }, sizes, .. }) = step.act else {
            unreachable!("it was placed for its shape")
        };
        let of = args.map(|place| self.operand(place, false, sizes.1));
        let is_memory = |nth: usize| matches!(args[nth], Place::Memory(_));
        // Of the two other operands, the last one of the instruction may be in memory.
        let (form, second, third) = match tied {
            2 if is_memory(0) => (Form::F231, 1, 0),
            2 => (Form::F231, 0, 1),
            _ => {
                let factor = 1 - usize::from(tied);
                if is_memory(factor) { (Form::F132, 2, factor) } else { (Form::F213, factor, 2) }
            }
        };
        let encoding = mul_add(form, is_64, signs, self.set, sizes.0);
        let operands = [register(sized(to, sizes.0)), of[second], of[third]];
        self.assembler.put(encoding, &operands);
    }
}

/// A vector register of so many bytes.
fn sized(number: u8, bytes: u32) -> Register {
    let first = match bytes {
        16 => Register::XMM0,
        32 => Register::YMM0,
        _ => Register::ZMM0,
    };
    first + u32::from(number)
}

/// A mask register: the first is `k1`.
fn mask(number: u8) -> Register {
    Register::K1 + u32::from(number)
}
