//! Owns bytes: instructions one after the other, jumps to labels, and what stands behind the code. It does
//! not know what is computed.

use iced_x86::{Code as Encoding, Encoder, Instruction, OpKind, Register};

/// An operand of an instruction.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operand {
    Register(Register),
    /// At `base + index · scale + offset`.
    Memory {
        base: Register,
        index: Register,
        scale: u32,
        offset: u32,
    },
    /// What stands behind the code, one element of it for all if `is_broadcast`.
    Pool {
        offset: u32,
        is_broadcast: bool,
    },
    Immediate(u8),
}

/// At `base + offset`.
pub(super) fn at(base: Register, offset: u32) -> Operand {
    Operand::Memory { base, index: Register::None, scale: 1, offset }
}

/// A place in the code.
#[derive(Clone, Copy, Debug)]
pub(super) struct Label(usize);

pub(super) struct Assembler {
    encoder: Encoder,
    length: usize,
    labels: Vec<usize>,
    /// Ends of jumps, whose last four bytes are the distance to a label.
    jumps: Vec<(usize, Label)>,
    /// Distances to the pool: where they stand, the end of the instruction, and the place in the pool.
    uses: Vec<(usize, usize, u32)>,
}

impl Assembler {
    pub(super) fn new() -> Assembler {
        let encoder = Encoder::try_with_capacity(64, 4096).expect("64 bits");
        Assembler { encoder, length: 0, labels: Vec::new(), jumps: Vec::new(), uses: Vec::new() }
    }

    pub(super) fn label(&mut self) -> Label {
        self.labels.push(usize::MAX);
        Label(self.labels.len() - 1)
    }

    /// The label is here.
    pub(super) fn bind(&mut self, label: Label) {
        self.labels[label.0] = self.length;
    }

    fn encode(&mut self, instruction: &Instruction) {
        let length = self.encoder.encode(instruction, self.length as u64);
        self.length += length.unwrap_or_else(|error| panic!("{instruction:?}: {error}"));
    }

    /// An instruction.
    pub(super) fn put(&mut self, encoding: Encoding, operands: &[Operand]) {
        self.put_masked(encoding, operands, Register::None, false);
    }

    /// An instruction for those elements alone that a mask register selects.
    pub(super) fn put_masked(
        &mut self,
        encoding: Encoding,
        operands: &[Operand],
        mask: Register,
        is_zeroing: bool,
    ) {
        let mut instruction = Instruction::new();
        instruction.set_code(encoding);
        let mut pool = None;
        for (nth, operand) in (0..).zip(operands) {
            match *operand {
                Operand::Register(register) => instruction.set_op_register(nth, register),
                Operand::Memory { base, index, scale, offset } => {
                    instruction.set_op_kind(nth, OpKind::Memory);
                    instruction.set_memory_base(base);
                    instruction.set_memory_index(index);
                    instruction.set_memory_index_scale(scale);
                    instruction.set_memory_displacement64(offset.into());
                    instruction.set_memory_displ_size(if offset == 0 { 0 } else { 1 });
                }
                Operand::Pool { offset, is_broadcast } => {
                    instruction.set_op_kind(nth, OpKind::Memory);
                    instruction.set_memory_base(Register::RIP);
                    instruction.set_memory_displacement64(self.length as u64);
                    instruction.set_memory_displ_size(8);
                    instruction.set_is_broadcast(is_broadcast);
                    pool = Some(offset);
                }
                Operand::Immediate(value) => {
                    instruction.set_op_kind(nth, OpKind::Immediate8);
                    instruction.set_immediate8(value);
                }
            }
        }
        instruction.set_op_mask(mask);
        instruction.set_zeroing_masking(is_zeroing);
        let start = self.length;
        self.encode(&instruction);
        if let Some(offset) = pool {
            let place = start + self.encoder.get_constant_offsets().displacement_offset();
            self.uses.push((place, self.length, offset));
        }
    }

    /// An instruction with a general register and a number.
    pub(super) fn put_number(&mut self, encoding: Encoding, register: Register, number: i32) {
        let instruction = Instruction::with2(encoding, register, number).expect("a register and a number");
        self.encode(&instruction);
    }

    /// A jump.
    pub(super) fn jump(&mut self, encoding: Encoding, label: Label) {
        let instruction = Instruction::with_branch(encoding, self.length as u64).expect("a jump");
        self.encode(&instruction);
        self.jumps.push((self.length, label));
    }

    /// The code and what stands behind it, at a multiple of `align` bytes.
    pub(super) fn finish(mut self, pool: &[u8], align: usize) -> Vec<u8> {
        let mut bytes = self.encoder.take_buffer();
        let origin = if pool.is_empty() { bytes.len() } else { bytes.len().next_multiple_of(align) };
        let mut write = |place: usize, distance: usize| {
            bytes[place..place + 4].copy_from_slice(&(distance as u32).to_le_bytes());
        };
        for &(end, label) in &self.jumps {
            write(end - 4, self.labels[label.0].wrapping_sub(end));
        }
        for &(place, end, offset) in &self.uses {
            write(place, origin + offset as usize - end);
        }
        bytes.resize(origin, 0xcc);
        bytes.extend_from_slice(pool);
        bytes
    }
}
