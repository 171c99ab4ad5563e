//! Owns the function around a row: arguments, stack, what is computed once, the loop over vectors, and the
//! elements that are fewer than a vector. It does not know what a step computes.

use iced_x86::{Code as Encoding, Register};

use super::assembler::{Assembler, Label, Operand, at};
use super::registers::{Item, Place, Placed, Placement, Values, place};
use super::steps::{Act, Id, NONE, Shape, Step, Steps};
use super::{Set, Unprintable};
use crate::row::{Read, Row, Write};

/// The addresses of operands, in registers that a function may overwrite; those of more stay in memory.
const POINTERS: [Register; 4] = [Register::RDX, Register::R8, Register::R9, Register::R10];
const ARGUMENTS: Register = Register::RDI;
const COUNT: Register = Register::RSI;
/// The elements behind.
const INDEX: Register = Register::RAX;
/// The last index of a loop over vectors, or the elements that are left.
const LIMIT: Register = Register::RCX;
const SCRATCH: Register = Register::R11;
/// What copies of elements need beyond.
const COPYING: [Register; 3] = [Register::RBX, Register::R12, Register::R13];
/// The elements that are left, as a mask.
const LEFT: Register = Register::K7;

/// Masks that values may have: not `k0`, which selects everything, nor [`LEFT`].
const MASKS: u8 = 6;

/// Bytes of stack that a function may take.
const MAX_STACK_BYTES: u32 = 64 << 10;

/// Instructions of the loop up to which several vectors run side by side.
const MAX_STEPS_OF_FOUR: usize = 64;
const MAX_STEPS_OF_TWO: usize = 400;

/// How much of a vector a body has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    Whole,
    /// The elements that are left.
    Part,
    /// Once, before the loop.
    Before,
}

/// The bytes of a row.
pub(super) fn write(steps: &Steps, row: &Row, set: Set) -> Result<Vec<u8>, Unprintable> {
    let varies = varying(&steps.steps);
    let (before, inside) = (items(&steps.steps, &varies, false, 1), items(&steps.steps, &varies, true, 1));
    let registers = [if set == Set::Avx512 { 32 } else { 16 }, MASKS];
    let live = live(&steps.steps, &varies, &inside);
    let ordinary = ordinary(&steps.steps, &varies);
    let wanted = wanted(&steps.steps, &varies);
    let fits = |copies: u32| copies * live[0] + 4 <= registers[0].into() && copies * live[1] <= MASKS.into();
    let copies = match ordinary {
        0..=MAX_STEPS_OF_FOUR if fits(4) => 4,
        0..=MAX_STEPS_OF_TWO if fits(2) => 2,
        _ => 1,
    };
    let pinned = pinned(&steps.steps, &wanted, live.map(|live| live * copies), registers);
    let mut writer = Writer {
        assembler: Assembler::new(),
        steps,
        row,
        set,
        permanent: vec![0; steps.steps.len()],
        slots: Vec::new(),
        copies: 1,
        extent: Extent::Before,
        buffers: vec![NONE; row.reads.len() + row.writes.len()],
        end: None,
    };
    // The stack has what is computed once, then what bodies keep, then buffers.
    let kept = kept(&steps.steps, &varies);
    let mut slots = 0;
    for (step, slot) in writer.permanent.iter_mut().enumerate() {
        if kept[step] {
            *slot = slots;
            slots += 1;
        }
    }
    let permanent = slots;
    let mut bodies: Vec<(u32, Extent)> = vec![(copies, Extent::Whole)];
    if set == Set::Avx2 && copies > 1 {
        bodies.push((1, Extent::Whole));
    }
    bodies.push((1, Extent::Part));
    let place_body = |copies: u32, extent: Extent| {
        let own = items(&steps.steps, &varies, extent != Extent::Before, copies);
        let pinned: Vec<(Id, u8)> =
            pinned.iter().map(|&(step, register)| (step * copies, register)).collect();
        let values = Values {
            steps: &steps.steps,
            copies,
            varies: &varies,
            registers,
            pinned: if extent == Extent::Before { &[] } else { &pinned },
            reads_inputs: extent == Extent::Whole || set == Set::Avx2,
        };
        place(&values, &own, (extent == Extent::Before).then_some(&kept[..]))
    };
    let first = (!before.is_empty()).then(|| place_body(1, Extent::Before));
    let placements: Vec<Placement> =
        bodies.iter().map(|&(copies, extent)| place_body(copies, extent)).collect();
    for placement in first.iter().chain(&placements) {
        slots = slots.max(slot_numbers(placement, permanent).1);
    }
    let vector = set.vector_bytes();
    let mut stack = slots * vector;
    for (operand, buffer) in writer.buffers.iter_mut().enumerate() {
        let is_stepped = row.reads.get(operand) == Some(&Read::Stepped);
        let is_splat = row.reads.get(operand) == Some(&Read::Splat);
        if is_stepped || set == Set::Avx2 && !is_splat {
            *buffer = stack;
            // No element has more than 8 bytes.
            stack += (copies * steps.lanes * 8).next_multiple_of(64);
        }
    }
    if stack > MAX_STACK_BYTES {
        return Err(Unprintable::Stack);
    }
    writer.function(stack, &bodies, first.as_ref(), &placements, &pinned, permanent);
    let align = vector as usize;
    Ok(writer.assembler.finish(&steps.pool, align))
}

/// Whether a step is in the loop: what no input's elements decide is computed before it, rare ways as a
/// whole.
fn varying(steps: &[Step]) -> Vec<bool> {
    let mut varies = vec![false; steps.len()];
    let mut at = 0;
    while at < steps.len() {
        let of = |varies: &[bool], step: &Step| {
            matches!(step.act, Act::Load { .. } | Act::Store { .. })
                || step.args().any(|arg| varies[arg as usize])
        };
        varies[at] = of(&varies, &steps[at]);
        let Act::Rare { count } = steps[at].act else {
            at += 1;
            continue;
        };
        let own = at + 1..at + 1 + count as usize;
        for inner in own.clone() {
            varies[inner] = of(&varies, &steps[inner]);
        }
        if varies[at] || own.clone().any(|inner| varies[inner]) {
            varies[at] = true;
            for inner in own.clone() {
                varies[inner] = !matches!(steps[inner].act, Act::Constant { .. });
            }
        }
        at = own.end;
    }
    varies
}

/// The steps inside or before the loop in order. Vectors of inputs are read where they are wanted, but for
/// those that are results: a result may be written over an input, and all is read before.
fn items(steps: &[Step], varies: &[bool], is_inside: bool, copies: u32) -> Vec<Item> {
    let mut items = Vec::with_capacity(steps.len() * copies as usize);
    let copies = if is_inside { copies } else { 1 };
    let all = |step: u32| (0..copies).map(move |copy| Item::Step { step, copy });
    for step in steps.iter().filter(|step| is_inside && matches!(step.act, Act::Store { .. })) {
        let is_read = |item: &Item| matches!(*item, Item::Step { step: other, .. } if other == step.args[0]);
        if matches!(steps[step.args[0] as usize].act, Act::Load { .. }) && !items.iter().any(is_read) {
            items.extend(all(step.args[0]));
        }
    }
    let mut ends: Vec<usize> = Vec::new();
    for (place, step) in steps.iter().enumerate() {
        while ends.last() == Some(&place) {
            ends.pop();
            items.push(Item::End);
        }
        if varies[place] != is_inside || matches!(step.act, Act::Constant { .. } | Act::Load { .. }) {
            continue;
        }
        if let Act::Rare { count } = step.act {
            items.push(Item::Begin { step: place as u32 });
            ends.push(place + 1 + count as usize);
        } else {
            items.extend(all(place as u32));
        }
    }
    items.extend(ends.iter().map(|_| Item::End));
    items
}

/// The most values of each kind that live at once outside of rare ways, without what is computed before.
fn live(steps: &[Step], varies: &[bool], items: &[Item]) -> [u32; 2] {
    let mut last = vec![0; steps.len()];
    for (place, item) in items.iter().enumerate() {
        if let Item::Step { step, .. } | Item::Begin { step } = *item {
            steps[step as usize].args().for_each(|arg| last[arg as usize] = place);
        }
    }
    let (mut now, mut most, mut depth) = ([0u32; 2], [0u32; 2], 0);
    let mut is_known = vec![false; steps.len()];
    for (place, item) in items.iter().enumerate() {
        match *item {
            Item::End => depth -= 1,
            Item::Begin { step } | Item::Step { step, .. } => {
                let step_args = steps[step as usize].args;
                for (nth, &arg) in step_args.iter().enumerate() {
                    if arg == NONE || !varies[arg as usize] || step_args[..nth].contains(&arg) {
                        continue;
                    }
                    let kind = usize::from(steps[arg as usize].is_mask);
                    // An input is known once it has been read.
                    now[kind] += u32::from(!std::mem::replace(&mut is_known[arg as usize], true));
                    now[kind] -= u32::from(last[arg as usize] == place);
                }
                if matches!(item, Item::Begin { .. }) {
                    depth += 1;
                } else if steps[step as usize].has_value() && last[step as usize] > place {
                    is_known[step as usize] = true;
                    now[usize::from(steps[step as usize].is_mask)] += 1;
                }
            }
        }
        if depth == 0 {
            most = [most[0].max(now[0]), most[1].max(now[1])];
        }
    }
    most
}

/// How many instructions of the loop are in no rare way.
fn ordinary(steps: &[Step], varies: &[bool]) -> usize {
    outside(steps).filter(|&step| varies[step]).count()
}

/// The steps in no rare way.
fn outside(steps: &[Step]) -> impl Iterator<Item = usize> {
    let mut end = 0;
    (0..steps.len()).filter(move |&place| {
        if place < end {
            return false;
        }
        if let Act::Rare { count } = steps[place].act {
            end = place + 1 + count as usize;
        }
        true
    })
}

/// How often the loop reads, outside of rare ways, what is computed before it.
fn wanted(steps: &[Step], varies: &[bool]) -> Vec<u32> {
    let mut wanted = vec![0; steps.len()];
    for step in outside(steps).filter(|&step| varies[step]) {
        for arg in steps[step].args().filter(|&arg| !varies[arg as usize]) {
            wanted[arg as usize] += 1;
        }
    }
    wanted
}

/// Which steps before the loop have values that the loop reads.
fn kept(steps: &[Step], varies: &[bool]) -> Vec<bool> {
    let mut kept = vec![false; steps.len()];
    for (step, _) in steps.iter().zip(varies).filter(|&(_, &varies)| varies) {
        for arg in step.args().filter(|&arg| !varies[arg as usize]) {
            kept[arg as usize] = !matches!(steps[arg as usize].act, Act::Constant { .. });
        }
    }
    kept
}

/// What the loop reads most often of what is computed before it stays in the last registers, as far as the
/// most values of the loop leave some.
fn pinned(steps: &[Step], wanted: &[u32], live: [u32; 2], registers: [u8; 2]) -> Vec<(Id, u8)> {
    // Two operands may have to be brought into registers besides.
    let mut free: [u32; 2] =
        std::array::from_fn(|kind| u32::from(registers[kind]).saturating_sub(live[kind] + 2));
    let mut order: Vec<usize> = (0..steps.len()).filter(|&step| wanted[step] > 0).collect();
    order.sort_by_key(|&step| std::cmp::Reverse(wanted[step]));
    let mut taken = registers;
    let mut pinned = Vec::new();
    for step in order {
        let kind = usize::from(steps[step].is_mask);
        if free[kind] > 0 {
            free[kind] -= 1;
            taken[kind] -= 1;
            pinned.push((step as Id, taken[kind]));
        }
    }
    pinned
}

/// Where a body's values stay on the stack, and how many places that takes with those before.
fn slot_numbers(placement: &Placement, permanent: u32) -> (Vec<(Id, u32)>, u32) {
    let mut spans = placement.spans.clone();
    spans.sort_by_key(|&(_, start, _)| start);
    // For each place the end of what is there.
    let mut ends: Vec<u32> = Vec::new();
    let mut slots = Vec::new();
    for (id, start, end) in spans {
        let free = ends.iter().position(|&end| end < start).unwrap_or(ends.len());
        if free == ends.len() {
            ends.push(end);
        } else {
            ends[free] = end;
        }
        slots.push((id, permanent + free as u32));
    }
    (slots, permanent + ends.len() as u32)
}

struct Writer<'a> {
    assembler: Assembler,
    steps: &'a Steps,
    row: &'a Row,
    set: Set,
    /// The place on the stack of what is computed before the loop, by its step.
    permanent: Vec<u32>,
    /// The place on the stack of values of the body in hand.
    slots: Vec<u32>,
    copies: u32,
    extent: Extent,
    /// Where the buffer of an operand is, or [`NONE`].
    buffers: Vec<u32>,
    end: Option<Label>,
}

fn register(register: Register) -> Operand {
    Operand::Register(register)
}

impl Writer<'_> {
    fn function(
        &mut self,
        stack: u32,
        bodies: &[(u32, Extent)],
        first: Option<&Placement>,
        placements: &[Placement],
        pinned: &[(Id, u8)],
        permanent: u32,
    ) {
        let end = self.assembler.label();
        self.end = Some(end);
        let nothing = self.assembler.label();
        self.assembler.put(Encoding::Test_rm64_r64, &[register(COUNT), register(COUNT)]);
        self.assembler.jump(Encoding::Je_rel32_64, nothing);
        let has_buffers = self.buffers.iter().any(|&buffer| buffer != NONE);
        self.enter(stack, has_buffers);
        for (operand, pointer) in POINTERS.into_iter().enumerate().take(self.buffers.len()) {
            self.assembler.put(Encoding::Mov_r64_rm64, &[register(pointer), self.argument(operand)]);
        }
        if let Some(first) = first {
            self.body(first, 1, Extent::Before, permanent);
        }
        self.copies = 1;
        for &(step, to) in pinned {
            self.load(step, to);
        }
        self.assembler.put(Encoding::Xor_r32_rm32, &[register(Register::EAX), register(Register::EAX)]);
        let part = self.assembler.label();
        self.align_results(part);
        let start = self.assembler.label();
        self.assembler.bind(start);
        for (&(copies, extent), placement) in bodies.iter().zip(placements) {
            if extent == Extent::Whole {
                self.whole(placement, copies, permanent);
            } else {
                self.left(placement, part, start, permanent);
            }
        }
        self.assembler.bind(end);
        self.leave(stack, has_buffers);
        self.assembler.put(Encoding::VEX_Vzeroupper, &[]);
        self.assembler.bind(nothing);
        self.assembler.put(Encoding::Retnq, &[]);
    }

    fn enter(&mut self, stack: u32, has_buffers: bool) {
        if stack == 0 {
            return;
        }
        self.assembler.put(Encoding::Push_r64, &[register(Register::RBP)]);
        self.assembler.put(Encoding::Mov_r64_rm64, &[register(Register::RBP), register(Register::RSP)]);
        if has_buffers {
            COPYING.iter().for_each(|&saved| self.assembler.put(Encoding::Push_r64, &[register(saved)]));
        }
        // Each page is touched, so that the one that guards the stack is.
        let mut left = stack;
        while left > 4096 {
            self.assembler.put_number(Encoding::Sub_rm64_imm32, Register::RSP, 4096);
            self.assembler.put(Encoding::Mov_rm64_r64, &[at(Register::RSP, 0), register(Register::RSP)]);
            left -= 4096;
        }
        self.assembler.put_number(Encoding::Sub_rm64_imm32, Register::RSP, left as i32);
        self.assembler.put_number(Encoding::And_rm64_imm32, Register::RSP, -64);
    }

    fn leave(&mut self, stack: u32, has_buffers: bool) {
        if stack == 0 {
            return;
        }
        let saved: &[Register] = if has_buffers { &COPYING } else { &[] };
        self.assembler.put(Encoding::Mov_r64_rm64, &[register(Register::RSP), register(Register::RBP)]);
        if !saved.is_empty() {
            self.assembler.put_number(Encoding::Sub_rm64_imm32, Register::RSP, 8 * saved.len() as i32);
        }
        for &saved in saved.iter().rev() {
            self.assembler.put(Encoding::Pop_r64, &[register(saved)]);
        }
        self.assembler.put(Encoding::Pop_r64, &[register(Register::RBP)]);
    }

    fn argument(&self, index: usize) -> Operand {
        at(ARGUMENTS, 8 * index as u32)
    }

    /// The register with the address of an operand.
    fn pointer(&mut self, operand: usize) -> Register {
        if let Some(&pointer) = POINTERS.get(operand) {
            return pointer;
        }
        self.assembler.put(Encoding::Mov_r64_rm64, &[register(SCRATCH), self.argument(operand)]);
        SCRATCH
    }

    /// If a result is written with non-temporal stores, first as many elements as are before its first whole
    /// vector.
    fn align_results(&mut self, part: Label) {
        let Some((result, bytes, register_bytes)) = self.steps.steps.iter().find_map(|step| match step.act {
            Act::Store { result, bytes, register_bytes, .. } if self.is_non_temporal(result, bytes) => {
                Some((result, bytes, register_bytes))
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

    /// A loop over whole vectors.
    fn whole(&mut self, placement: &Placement, copies: u32, permanent: u32) {
        let elements = (copies * self.steps.lanes) as i32;
        let (top, done) = (self.assembler.label(), self.assembler.label());
        self.assembler.put(Encoding::Mov_r64_rm64, &[register(LIMIT), register(COUNT)]);
        self.assembler.put_number(Encoding::Sub_rm64_imm32, LIMIT, elements);
        self.assembler.put(Encoding::Cmp_r64_rm64, &[register(INDEX), register(LIMIT)]);
        self.assembler.jump(Encoding::Jg_rel32_64, done);
        self.assembler.bind(top);
        for (operand, bytes) in self.loaded() {
            if self.row.reads[operand] == Read::Stepped {
                self.copy(operand, bytes, Some(elements), true);
            }
        }
        self.body(placement, copies, Extent::Whole, permanent);
        self.assembler.put_number(Encoding::Add_rm64_imm32, INDEX, elements);
        self.assembler.put(Encoding::Cmp_r64_rm64, &[register(INDEX), register(LIMIT)]);
        self.assembler.jump(Encoding::Jle_rel32_64, top);
        self.assembler.bind(done);
    }

    /// At most a vector of the elements that are left. `part` has their number already.
    fn left(&mut self, placement: &Placement, part: Label, start: Label, permanent: u32) {
        let lanes = self.steps.lanes;
        self.assembler.put(Encoding::Mov_r64_rm64, &[register(LIMIT), register(COUNT)]);
        self.assembler.put(Encoding::Sub_r64_rm64, &[register(LIMIT), register(INDEX)]);
        let end = self.end.unwrap_or(start);
        self.assembler.jump(Encoding::Je_rel32_64, end);
        self.assembler.put_number(Encoding::Mov_rm64_imm32, SCRATCH, lanes as i32);
        self.assembler.put(Encoding::Cmp_r64_rm64, &[register(LIMIT), register(SCRATCH)]);
        self.assembler.put(Encoding::Cmova_r64_rm64, &[register(LIMIT), register(SCRATCH)]);
        self.assembler.bind(part);
        if self.set == Set::Avx512 {
            let bits = Register::R11D;
            self.assembler.put(Encoding::Xor_r32_rm32, &[register(bits), register(bits)]);
            self.assembler.put(Encoding::Bts_rm32_r32, &[register(bits), register(Register::ECX)]);
            self.assembler.put_number(Encoding::Sub_rm32_imm32, bits, 1);
            self.assembler.put(Encoding::VEX_Kmovw_kr_r32, &[register(LEFT), register(bits)]);
        }
        for (operand, bytes) in self.loaded() {
            if self.buffers[operand] != NONE {
                self.copy(operand, bytes, None, true);
            }
        }
        self.body(placement, 1, Extent::Part, permanent);
        for step in &self.steps.steps {
            if let Act::Store { result, bytes, .. } = step.act {
                let operand = self.row.reads.len() + result as usize;
                if self.buffers[operand] != NONE {
                    self.copy(operand, bytes, None, false);
                }
            }
        }
        self.assembler.put(Encoding::Add_r64_rm64, &[register(INDEX), register(LIMIT)]);
        self.assembler.jump(Encoding::Jmp_rel32_64, start);
    }

    /// The inputs whose vectors are read, and the bytes of their elements.
    fn loaded(&self) -> Vec<(usize, u32)> {
        let loaded = self.steps.steps.iter().filter_map(|step| match step.act {
            Act::Load { input, bytes, .. } => Some((input as usize, bytes)),
            _ => None,
        });
        loaded.collect()
    }

    /// Copies elements between an operand and its buffer: so many, or those that are left.
    fn copy(&mut self, operand: usize, bytes: u32, elements: Option<i32>, is_in: bool) {
        let [step, index, element] = COPYING;
        let buffer =
            Operand::Memory { base: Register::RSP, index, scale: bytes, offset: self.buffers[operand] };
        self.assembler.put(Encoding::Mov_r64_rm64, &[register(SCRATCH), self.argument(operand)]);
        if self.row.reads.get(operand) == Some(&Read::Stepped) {
            let stepped = |&read: &Read| read == Read::Stepped;
            let before = self.row.reads[..operand].iter().copied().filter(|read| stepped(read)).count();
            let argument = self.argument(self.buffers.len() + before);
            self.assembler.put(Encoding::Mov_r64_rm64, &[register(step), argument]);
        } else {
            self.assembler.put_number(Encoding::Mov_rm64_imm32, step, bytes as i32);
        }
        self.assembler.put(Encoding::Mov_r64_rm64, &[register(index), register(step)]);
        self.assembler.put(Encoding::Imul_r64_rm64, &[register(index), register(INDEX)]);
        self.assembler.put(Encoding::Add_r64_rm64, &[register(SCRATCH), register(index)]);
        self.assembler.put(Encoding::Xor_r32_rm32, &[register(Register::R12D), register(Register::R12D)]);
        let (from, to) = if is_in { (at(SCRATCH, 0), buffer) } else { (buffer, at(SCRATCH, 0)) };
        let top = self.assembler.label();
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
    }

    /// The instructions of a body.
    fn body(&mut self, placement: &Placement, copies: u32, extent: Extent, permanent: u32) {
        (self.copies, self.extent) = (copies, extent);
        self.slots = vec![NONE; self.steps.steps.len() * copies as usize];
        for (id, slot) in slot_numbers(placement, permanent).0 {
            self.slots[id as usize] = slot;
        }
        let mut ends: Vec<Label> = Vec::new();
        for placed in &placement.placed {
            match *placed {
                Placed::Step { step, copy, args, to } => self.step(step, copy, args, to),
                Placed::MulAdd { step, args, to, tied } => self.mul_add(step, args, to, tied),
                Placed::Move { is_mask: true, from, to } => {
                    let operands = [register(mask(to)), register(mask(from))];
                    self.assembler.put(Encoding::VEX_Kmovw_kr_km16, &operands);
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
                Placed::Begin { masks, block } => {
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
                    }
                }
            }
        }
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
            (Act::Load { input, bytes, .. }, _) => self.elements(input as usize, bytes, id % self.copies),
            _ => at(Register::RSP, self.permanent[step] * self.set.vector_bytes()),
        }
    }

    fn load(&mut self, id: Id, to: u8) {
        let step = *self.step_of(id);
        let has_slot = self.slots.get(id as usize).is_some_and(|&slot| slot != NONE);
        if matches!(step.act, Act::Load { .. }) && !has_slot {
            return self.step(id / self.copies, id % self.copies, [Place::Register(0); 3], to);
        }
        let memory = self.memory(id);
        if step.is_mask {
            return self.assembler.put(Encoding::VEX_Kmovw_kr_km16, &[register(mask(to)), memory]);
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
            return self.assembler.put(Encoding::VEX_Kmovw_m16_kr, &[memory, register(mask(from))]);
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

    fn step(&mut self, number: u32, copy: u32, args: [Place; 3], to: u8) {
        let step = self.steps.steps[number as usize];
        match step.act {
            Act::Load { input, encoding, bytes, register_bytes } => {
                let memory = self.elements(input as usize, bytes, copy);
                let (mask, is_zeroing) = self.tail_mask();
                self.assembler.put_masked(
                    encoding,
                    &[register(sized(to, register_bytes)), memory],
                    mask,
                    is_zeroing,
                );
            }
            Act::Splat { input, bytes } => self.splat(input as usize, bytes, to),
            Act::Store { result, encoding, bytes, register_bytes } => {
                let from = self.operand(args[0], false, register_bytes);
                self.store(result, encoding, bytes, copy, from);
            }
            Act::Make { encoding, shape, immediate, sizes } => {
                let target = if step.is_mask { register(mask(to)) } else { register(sized(to, sizes.0)) };
                let mut of = Vec::with_capacity(3);
                for (arg, place) in step.args().zip(args) {
                    let is_mask = self.steps.steps[arg as usize].is_mask;
                    of.push(self.operand(place, is_mask, sizes.1));
                }
                let mut operands = vec![target];
                match shape {
                    Shape::Select if self.set == Set::Avx512 => {
                        let Operand::Register(mask) = of[0] else { return };
                        return self.assembler.put_masked(encoding, &[target, of[2], of[1]], mask, false);
                    }
                    Shape::Select => operands.extend([of[2], of[1], of[0]]),
                    Shape::MaskSelect => return self.mask_select(target, [of[0], of[1], of[2]]),
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
        self.assembler.put(Encoding::VEX_Kandw_kr_kr_kr, &[scratch, mask, yes]);
        self.assembler.put(Encoding::VEX_Kandnw_kr_kr_kr, &[target, mask, no]);
        self.assembler.put(Encoding::VEX_Korw_kr_kr_kr, &[target, target, scratch]);
    }

    fn tail_mask(&self) -> (Register, bool) {
        if self.set == Set::Avx512 && self.extent == Extent::Part {
            (LEFT, true)
        } else {
            (Register::None, false)
        }
    }

    /// A vector of an operand.
    fn elements(&mut self, operand: usize, bytes: u32, copy: u32) -> Operand {
        let offset = copy * self.steps.lanes * bytes;
        let is_buffered = self.row.reads.get(operand) == Some(&Read::Stepped)
            || self.set == Set::Avx2 && self.extent == Extent::Part;
        if is_buffered {
            return at(Register::RSP, self.buffers[operand] + offset);
        }
        Operand::Memory { base: self.pointer(operand), index: INDEX, scale: bytes, offset }
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

    fn store(&mut self, result: u32, encoding: Encoding, bytes: u32, copy: u32, from: Operand) {
        let memory = self.elements(self.row.reads.len() + result as usize, bytes, copy);
        let total = bytes * self.steps.lanes;
        if self.extent != Extent::Whole || !self.is_non_temporal(result, bytes) {
            let (mask, _) = self.tail_mask();
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
        let Act::Make { encoding, sizes, .. } = step.act else { return };
        let of = args.map(|place| self.operand(place, false, sizes.1));
        let is_memory = |nth: usize| matches!(args[nth], Place::Memory(_));
        // Of the two other operands, the last one of the instruction may be in memory. The encoding is that
        // of `to = second · to + third`.
        let (form, second, third) = match tied {
            2 if is_memory(0) => (FORM_231, 1, 0),
            2 => (FORM_231, 0, 1),
            _ => {
                let factor = 1 - usize::from(tied);
                if is_memory(factor) { (FORM_132, 2, factor) } else { (FORM_213, factor, 2) }
            }
        };
        let encoding =
            Encoding::try_from((encoding as isize + form) as usize).expect("forms follow each other");
        let operands = [register(sized(to, sizes.0)), of[second], of[third]];
        self.assembler.put(encoding, &operands);
    }
}

/// From `to = second · to + third` to `to = to · third + second` and to `to = second · third + to`: the
/// distance is the same for all lengths and types.
const FORM_132: isize =
    Encoding::VEX_Vfmadd132ps_xmm_xmm_xmmm128 as isize - Encoding::VEX_Vfmadd213ps_xmm_xmm_xmmm128 as isize;
const FORM_213: isize = 0;
const FORM_231: isize =
    Encoding::VEX_Vfmadd231ps_xmm_xmm_xmmm128 as isize - Encoding::VEX_Vfmadd213ps_xmm_xmm_xmmm128 as isize;

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
