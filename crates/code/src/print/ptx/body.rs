//! Owns the instructions of PTX for those of a code, on registers: each float operation is rounded to nearest
//! even by name (`.rn`), which binds the assembler, and keeps subnormal numbers. It does not know where
//! elements are.
//!
//! A rare way is a branch of each thread. Nothing in it is done by several threads together, and no selection
//! reads what a thread has in the registers of a way that it left out, so threads may part and meet again.

use super::writer::{KernelWriter, Kind, Label, Register, stored};
use crate::code::{Binary, Code, Compare, Operation, Type, Unary, Value};
use crate::lower::{Has, lower};
use crate::print::readers::read_elsewhere;

/// A code that is written as often as a kernel has copies of it.
#[derive(Debug)]
pub(super) struct KernelBody {
    code: Code,
    /// Which values are read by other operations than `a · b + c`, where the sign of a NaN makes no
    /// difference.
    read_elsewhere: Vec<bool>,
}

impl KernelBody {
    pub(super) fn new(code: &Code) -> KernelBody {
        let code =
            lower(code, Has { scaling: false, words: true, long_to_single: true, inverse_roots: false });
        let read_elsewhere = read_elsewhere(&code, true);
        KernelBody { code, read_elsewhere }
    }

    /// The type of each result: that of the code, or a byte.
    pub(super) fn result_types(&self) -> Vec<Type> {
        self.code.results.iter().map(|&value| self.code.ty(value)).collect()
    }

    /// Writes the code on registers of its inputs, and returns those of its results.
    pub(super) fn write(&self, writer: &mut KernelWriter, inputs: &[Register]) -> Vec<Register> {
        let mut writing = Writing { body: self, writer, inputs, values: Vec::new() };
        let mut ends: Vec<(usize, Label)> = Vec::new();
        for (place, instruction) in self.code.instructions.iter().enumerate() {
            while let Some((_, label)) = ends.pop_if(|(end, _)| *end == place) {
                writing.writer.place(label);
            }
            let register = writing.value(Value(place as u32), instruction.ty, instruction.operation);
            writing.values.push(register);
            if let Operation::Rare { mask, count } = instruction.operation {
                let after = writing.writer.label();
                writing.writer.jump_unless(writing.of(mask), after);
                ends.push((place + 1 + count as usize, after));
            }
        }
        while let Some((_, label)) = ends.pop() {
            writing.writer.place(label);
        }
        self.code.results.iter().map(|&value| writing.of(value)).collect()
    }
}

struct Writing<'a> {
    body: &'a KernelBody,
    writer: &'a mut KernelWriter,
    inputs: &'a [Register],
    /// The register of each value.
    values: Vec<Register>,
}

/// The type of an instruction on words of so many bits, as bits, without a sign and with one.
fn word(bits: u32, letter: char) -> String {
    format!("{letter}{}", bits.max(32))
}

impl Writing<'_> {
    fn of(&self, value: Value) -> Register {
        self.values[value.index()]
    }

    fn ty(&self, value: Value) -> Type {
        self.body.code.ty(value)
    }

    fn make(&mut self, ty: Type, instruction: &str, operands: &[Register]) -> Register {
        let operands: Vec<String> = operands.iter().map(Register::to_string).collect();
        self.writer.make(Kind::of(ty), instruction, format_args!("{}", operands.join(", ")))
    }

    fn value(&mut self, value: Value, ty: Type, operation: Operation) -> Register {
        match operation {
            Operation::Input(index) => self.inputs[index as usize],
            Operation::Constant(bits) => self.writer.constant(ty, bits),
            Operation::Unary(unary, a) => self.unary(value, ty, unary, self.of(a)),
            Operation::Binary(binary, a, b) => self.binary(ty, binary, self.of(a), self.of(b)),
            Operation::Compare(compare, a, b) => {
                let from = self.ty(a);
                let ty = match compare {
                    _ if from.is_float() => stored(from).to_string(),
                    Compare::Eq | Compare::Below => word(from.bits(), 'u'),
                    Compare::Lt | Compare::Le => word(from.bits(), 's'),
                };
                let name = match compare {
                    Compare::Eq => "eq",
                    Compare::Lt | Compare::Below => "lt",
                    Compare::Le => "le",
                };
                self.make(Type::Mask, &format!("setp.{name}.{ty}"), &[self.of(a), self.of(b)])
            }
            Operation::MulAdd(a, b, c) => {
                let name = format!("fma.rn.{}", stored(ty));
                self.make(ty, &name, &[self.of(a), self.of(b), self.of(c)])
            }
            Operation::Select(mask, yes, no) => self.select(ty, self.of(mask), self.of(yes), self.of(no)),
            Operation::Convert(a) => self.convert(self.ty(a), ty, self.of(a)),
            Operation::ConvertUnsigned(a) => self.convert_unsigned(self.ty(a), ty, self.of(a)),
            Operation::Bits(a) => match (Kind::of(self.ty(a)), Kind::of(ty)) {
                (Kind::Word, Kind::Half) => self.make(ty, "cvt.u16.u32", &[self.of(a)]),
                (Kind::Half, Kind::Word) => self.make(ty, "cvt.u32.u16", &[self.of(a)]),
                _ => self.make(ty, &format!("mov.b{}", ty.bits()), &[self.of(a)]),
            },
            Operation::Lookup { table, index } => {
                let from = self.writer.table(&self.body.code.tables[table as usize]);
                let index = match self.ty(index) {
                    Type::W64 => self.make(Type::W32, "cvt.u32.u64", &[self.of(index)]),
                    _ => self.of(index),
                };
                let writer = &mut *self.writer;
                let place = writer.make(Kind::Word, "and.b32", format_args!("{index}, 15"));
                let place = writer.make(Kind::Word, "shl.b32", format_args!("{place}, 3"));
                let tables = writer.make(Kind::Word, "mov.u32", format_args!("shared_tables"));
                let place = writer.make(Kind::Word, "add.u32", format_args!("{place}, {tables}"));
                let name = format!("ld.shared.{}", stored(ty));
                writer.make(Kind::of(ty), &name, format_args!("[{place}+{from}]"))
            }
            // It has no value that could be read.
            Operation::Rare { mask, .. } => self.of(mask),
        }
    }

    fn unary(&mut self, value: Value, ty: Type, unary: Unary, a: Register) -> Register {
        let rounded = |how: &str| format!("cvt.{how}.{0}.{0}", stored(ty));
        match unary {
            // `neg` may return any NaN for a NaN.
            Unary::Neg if self.body.read_elsewhere[value.index()] => {
                let (word, bits) = if ty == Type::F32 { (Type::W32, "b32") } else { (Type::W64, "b64") };
                let from = self.make(word, &format!("mov.{bits}"), &[a]);
                let sign = self.writer.constant(word, 1 << (ty.bits() - 1));
                let flipped = self.make(word, &format!("xor.{bits}"), &[from, sign]);
                self.make(ty, &format!("mov.{bits}"), &[flipped])
            }
            Unary::Neg => self.make(ty, &format!("neg.{}", stored(ty)), &[a]),
            Unary::Sqrt => self.make(ty, &format!("sqrt.rn.{}", stored(ty)), &[a]),
            Unary::RoundTiesEven => self.make(ty, &rounded("rni"), &[a]),
            Unary::Floor => self.make(ty, &rounded("rmi"), &[a]),
            Unary::Ceil => self.make(ty, &rounded("rpi"), &[a]),
            Unary::Trunc => self.make(ty, &rounded("rzi"), &[a]),
            Unary::Not if ty == Type::Mask => self.make(ty, "not.pred", &[a]),
            Unary::Not | Unary::Abs | Unary::InverseRoot | Unary::Exponent | Unary::Significand => {
                unreachable!("it is lowered")
            }
        }
    }

    fn binary(&mut self, ty: Type, binary: Binary, a: Register, b: Register) -> Register {
        let bits = if ty == Type::Mask { "pred".to_owned() } else { word(ty.bits(), 'b') };
        let name = match binary {
            Binary::Add if ty.is_float() => format!("add.rn.{}", stored(ty)),
            Binary::Sub if ty.is_float() => format!("sub.rn.{}", stored(ty)),
            Binary::Mul if ty.is_float() => format!("mul.rn.{}", stored(ty)),
            Binary::Div => format!("div.rn.{}", stored(ty)),
            Binary::Add => format!("add.{}", word(ty.bits(), 'u')),
            Binary::Sub => format!("sub.{}", word(ty.bits(), 'u')),
            Binary::Mul => format!("mul.lo.{}", word(ty.bits(), 'u')),
            Binary::Min | Binary::Max => {
                let name = if binary == Binary::Min { "lt" } else { "gt" };
                let is_first = self.make(Type::Mask, &format!("setp.{name}.{}", stored(ty)), &[a, b]);
                return self.select(ty, is_first, a, b);
            }
            Binary::And => format!("and.{bits}"),
            Binary::Or => format!("or.{bits}"),
            Binary::Xor => format!("xor.{bits}"),
            Binary::ShiftLeft | Binary::ShiftRight | Binary::ShiftRightSigned => {
                let count = if ty == Type::W64 { self.make(Type::W32, "cvt.u32.u64", &[b]) } else { b };
                let name = match binary {
                    Binary::ShiftLeft => format!("shl.{bits}"),
                    Binary::ShiftRight => format!("shr.{}", word(ty.bits(), 'u')),
                    _ => format!("shr.{}", word(ty.bits(), 's')),
                };
                return self.make(ty, &name, &[a, count]);
            }
            Binary::Ldexp | Binary::Scale => unreachable!("it is lowered"),
        };
        self.make(ty, &name, &[a, b])
    }

    fn select(&mut self, ty: Type, mask: Register, yes: Register, no: Register) -> Register {
        if ty != Type::Mask {
            let name = format!("selp.{}", Kind::of(ty).moved());
            return self.make(ty, &name, &[yes, no, mask]);
        }
        let yes = self.make(ty, "and.pred", &[mask, yes]);
        let opposite = self.make(ty, "not.pred", &[mask]);
        let no = self.make(ty, "and.pred", &[opposite, no]);
        self.make(ty, "or.pred", &[yes, no])
    }

    fn convert(&mut self, from: Type, to: Type, a: Register) -> Register {
        match (from, to) {
            (Type::F16, Type::F32) => {
                // A NaN may lose its sign on the way.
                let single = self.make(to, "cvt.f32.f16", &[a]);
                let (bits, half) =
                    (self.make(Type::W32, "mov.b32", &[single]), self.make(Type::W32, "cvt.u32.u16", &[a]));
                let writer = &mut *self.writer;
                let high = writer.make(Kind::Word, "shl.b32", format_args!("{half}, 16"));
                let sign = writer.make(Kind::Word, "and.b32", format_args!("{high}, 0x80000000"));
                let magnitude = writer.make(Kind::Word, "and.b32", format_args!("{bits}, 0x7fffffff"));
                let both = writer.make(Kind::Word, "or.b32", format_args!("{sign}, {magnitude}"));
                writer.make(Kind::Single, "mov.b32", format_args!("{both}"))
            }
            (Type::F32, Type::F16) => self.make(to, "cvt.rn.f16.f32", &[a]),
            (Type::F32, Type::F64) => self.make(to, "cvt.f64.f32", &[a]),
            (Type::F64, Type::F32) => self.make(to, "cvt.rn.f32.f64", &[a]),
            (Type::F32 | Type::F64, Type::W32 | Type::W64) => {
                let float = stored(from);
                let whole = self.make(to, &format!("cvt.rzi.s{}.{float}", to.bits()), &[a]);
                // What is too small is the least word already.
                let bound = match from {
                    Type::F32 => u64::from((to.bits() as f32 - 1.0).exp2().to_bits()),
                    _ => (f64::from(to.bits()) - 1.0).exp2().to_bits(),
                };
                let bound = self.writer.constant(from, bound);
                let is_below = self.make(Type::Mask, &format!("setp.lt.{float}"), &[a, bound]);
                let least = self.writer.constant(to, 1 << (to.bits() - 1));
                self.select(to, is_below, whole, least)
            }
            (Type::W32 | Type::W64, Type::F32 | Type::F64) => {
                let name = format!("cvt.rn.{}.s{}", stored(to), from.bits());
                self.make(to, &name, &[a])
            }
            (Type::W32, Type::W64) => self.make(to, "cvt.s64.s32", &[a]),
            (Type::W64, Type::W32) => self.make(to, "cvt.u32.u64", &[a]),
            (Type::W32, Type::W8 | Type::W16) => {
                self.writer.make(Kind::Word, "and.b32", format_args!("{a}, {:#x}", (1 << to.bits()) - 1))
            }
            _ => unreachable!("it is lowered, or the verifier does not know it"),
        }
    }

    fn convert_unsigned(&mut self, from: Type, to: Type, a: Register) -> Register {
        match (from, to) {
            // Their other bits are zero.
            (Type::W8 | Type::W16, Type::W16 | Type::W32) => a,
            (Type::W32, Type::W64) => self.make(to, "cvt.u64.u32", &[a]),
            (Type::W32 | Type::W64, Type::F32 | Type::F64) => {
                let name = format!("cvt.rn.{}.u{}", stored(to), from.bits());
                self.make(to, &name, &[a])
            }
            _ => unreachable!("it is lowered, or the verifier does not know it"),
        }
    }
}
