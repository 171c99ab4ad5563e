//! Owns the text of a kernel while it is written: its registers, labels, arguments, tables and shared memory.
//! It does not know what a kernel computes.

use std::fmt::{self, Write};

use super::{Kernel, THREADS};
use crate::code::Type;
use crate::print::Unprintable;

/// Bytes of arguments that every driver passes to a kernel.
const MAX_ARGUMENT_BYTES: u32 = 4096;

/// Bytes of shared memory that a block has without asking for more.
const MAX_SHARED_BYTES: u32 = 48 << 10;

/// What a register holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Predicate,
    /// 16 bits: only halves.
    Half,
    /// 32 bits, also of narrower words, whose other bits are zero.
    Word,
    Long,
    Single,
    Double,
}

/// The letter and the type of the registers of each kind.
const KINDS: [(char, &str); 6] =
    [('p', "pred"), ('h', "b16"), ('r', "b32"), ('l', "b64"), ('f', "f32"), ('d', "f64")];

impl Kind {
    pub(super) fn of(ty: Type) -> Kind {
        match ty {
            Type::Mask => Kind::Predicate,
            Type::W8 | Type::W16 | Type::W32 => Kind::Word,
            Type::W64 => Kind::Long,
            Type::F16 | Type::BF16 => Kind::Half,
            Type::F32 => Kind::Single,
            Type::F64 => Kind::Double,
        }
    }

    /// The type with which its registers are moved.
    pub(super) fn moved(self) -> &'static str {
        KINDS[self as usize].1
    }
}

/// A type's name in instructions that read and write memory.
pub(super) fn stored(ty: Type) -> &'static str {
    match ty {
        Type::Mask | Type::W8 => "u8",
        Type::W16 => "u16",
        Type::W32 => "b32",
        Type::W64 => "b64",
        Type::F16 | Type::BF16 => "b16",
        Type::F32 => "f32",
        Type::F64 => "f64",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Register {
    pub kind: Kind,
    number: u32,
}

impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}{}", KINDS[self.kind as usize].0, self.number)
    }
}

/// A place that is jumped to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Label(u32);

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "$L{}", self.0)
    }
}

/// A kernel that is being written.
#[derive(Debug, Default)]
pub(super) struct KernelWriter {
    lines: String,
    registers: [u32; 6],
    labels: u32,
    arguments: u32,
    tables: Vec<[u64; 16]>,
    /// Bytes of shared memory besides the tables.
    shared_bytes: u32,
}

impl KernelWriter {
    pub(super) fn line(&mut self, line: fmt::Arguments<'_>) {
        writeln!(self.lines, "\t{line};").expect("a string takes everything");
    }

    /// A new register.
    pub(super) fn register(&mut self, kind: Kind) -> Register {
        let number = self.registers[kind as usize];
        self.registers[kind as usize] += 1;
        Register { kind, number }
    }

    /// The new register that an instruction writes.
    pub(super) fn make(&mut self, kind: Kind, instruction: &str, operands: fmt::Arguments<'_>) -> Register {
        let result = self.register(kind);
        self.line(format_args!("{instruction} {result}, {operands}"));
        result
    }

    /// A number by its bits.
    pub(super) fn constant(&mut self, ty: Type, bits: u64) -> Register {
        let kind = Kind::of(ty);
        let name = format!("mov.{}", kind.moved());
        match kind {
            Kind::Single => self.make(kind, &name, format_args!("0f{bits:08X}")),
            Kind::Double => self.make(kind, &name, format_args!("0d{bits:016X}")),
            _ => self.make(kind, &name, format_args!("{bits:#x}")),
        }
    }

    /// A copy of a register in one that may be written again.
    pub(super) fn copy(&mut self, from: Register) -> Register {
        self.make(from.kind, &format!("mov.{}", from.kind.moved()), format_args!("{from}"))
    }

    pub(super) fn assign(&mut self, to: Register, from: Register) {
        self.line(format_args!("mov.{} {to}, {from}", to.kind.moved()));
    }

    pub(super) fn label(&mut self) -> Label {
        self.labels += 1;
        Label(self.labels - 1)
    }

    pub(super) fn place(&mut self, label: Label) {
        writeln!(self.lines, "{label}:").expect("a string takes everything");
    }

    /// Jumps where a predicate holds.
    pub(super) fn jump_if(&mut self, predicate: Register, label: Label) {
        self.line(format_args!("@{predicate} bra {label}"));
    }

    /// Jumps where a predicate does not hold.
    pub(super) fn jump_unless(&mut self, predicate: Register, label: Label) {
        self.line(format_args!("@!{predicate} bra {label}"));
    }

    /// The lowest bits of the next argument, which has 64.
    pub(super) fn argument(&mut self, ty: Type) -> Register {
        self.arguments += 1;
        let at = 8 * (self.arguments - 1);
        self.make(Kind::of(ty), &format!("ld.param.{}", stored(ty)), format_args!("[arguments+{at}]"))
    }

    /// The upper 32 bits of the argument that was read last.
    pub(super) fn upper_argument(&mut self) -> Register {
        let at = 8 * self.arguments - 4;
        self.make(Kind::Word, "ld.param.b32", format_args!("[arguments+{at}]"))
    }

    /// The bytes from the first table to this one.
    pub(super) fn table(&mut self, table: &[u64; 16]) -> usize {
        let known = self.tables.iter().position(|other| other == table);
        8 * 16
            * known.unwrap_or_else(|| {
                self.tables.push(*table);
                self.tables.len() - 1
            })
    }

    /// Declares so many bytes of shared memory, `held`.
    pub(super) fn share(&mut self, bytes: u32) {
        self.shared_bytes = self.shared_bytes.max(bytes);
    }

    /// The module of one kernel.
    pub(super) fn finish(self, name: &'static str) -> Result<Kernel, Unprintable> {
        let entries = 16 * self.tables.len() as u32;
        if 8 * self.arguments > MAX_ARGUMENT_BYTES {
            return Err(Unprintable::Arguments);
        }
        if 8 * entries + self.shared_bytes > MAX_SHARED_BYTES {
            return Err(Unprintable::Shared);
        }
        let mut start =
            KernelWriter { registers: self.registers, labels: self.labels, ..KernelWriter::default() };
        if entries > 0 {
            start.share_tables(entries);
        }
        let mut text = String::from(".version 7.0\n.target sm_75\n.address_size 64\n\n");
        let out = &mut text;
        self.write_module(out, name, &start, entries).expect("a string takes everything");
        Ok(Kernel { name, text })
    }

    fn write_module(&self, out: &mut String, name: &str, start: &KernelWriter, entries: u32) -> fmt::Result {
        if entries > 0 {
            writeln!(out, ".global .align 8 .b64 tables[{entries}] = {{")?;
            for (nth, table) in self.tables.iter().enumerate() {
                let numbers: Vec<String> = table.iter().map(|bits| format!("{bits:#x}")).collect();
                let comma = if nth + 1 < self.tables.len() { "," } else { "" };
                writeln!(out, "\t{}{comma}", numbers.join(", "))?;
            }
            writeln!(out, "}};\n")?;
        }
        writeln!(out, ".visible .entry {name}(.param .align 8 .b8 arguments[{}])", 8 * self.arguments)?;
        writeln!(out, ".maxntid {THREADS}, 1, 1\n{{")?;
        for (&(letter, ty), count) in KINDS.iter().zip(start.registers).filter(|(_, count)| *count > 0) {
            writeln!(out, "\t.reg .{ty} %{letter}<{count}>;")?;
        }
        if entries > 0 {
            writeln!(out, "\t.shared .align 8 .b64 shared_tables[{entries}];")?;
        }
        if self.shared_bytes > 0 {
            writeln!(out, "\t.shared .align 8 .b64 held[{}];", self.shared_bytes / 8)?;
        }
        write!(out, "{}{}\tret;\n}}\n", start.lines, self.lines)
    }

    /// Copies the tables to shared memory, which threads read at different places at once: constant memory
    /// would serve them one after the other.
    fn share_tables(&mut self, entries: u32) {
        let thread = self.make(Kind::Word, "mov.u32", format_args!("%tid.x"));
        let bytes = self.make(Kind::Word, "shl.b32", format_args!("{thread}, 3"));
        let offset = self.make(Kind::Long, "cvt.u64.u32", format_args!("{bytes}"));
        let from = self.make(Kind::Long, "mov.u64", format_args!("tables"));
        let from = self.make(Kind::Long, "add.u64", format_args!("{from}, {offset}"));
        let to = self.make(Kind::Word, "mov.u32", format_args!("shared_tables"));
        let to = self.make(Kind::Word, "add.u32", format_args!("{to}, {bytes}"));
        for first in (0..entries).step_by(THREADS as usize) {
            let after = self.label();
            if entries - first < THREADS {
                let is_there =
                    self.make(Kind::Predicate, "setp.lt.u32", format_args!("{thread}, {}", entries - first));
                self.jump_unless(is_there, after);
            }
            let entry = self.make(Kind::Long, "ld.global.b64", format_args!("[{from}+{}]", 8 * first));
            self.line(format_args!("st.shared.b64 [{to}+{}], {entry}", 8 * first));
            self.place(after);
        }
        self.line(format_args!("bar.sync 0"));
    }
}
