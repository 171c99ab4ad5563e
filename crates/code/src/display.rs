//! Owns the text of a code, one line an instruction, as `%2 = f32 add %0 %1`; what is in a rare way is
//! indented.

use std::fmt;

use crate::code::{Code, Operation, Type, Value};

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Type::Mask => "mask",
            Type::W8 => "w8",
            Type::W16 => "w16",
            Type::W32 => "w32",
            Type::W64 => "w64",
            Type::F16 => "f16",
            Type::BF16 => "bf16",
            Type::F32 => "f32",
            Type::F64 => "f64",
        })
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.0)
    }
}

/// `RoundTiesEven` as `round_ties_even`.
fn snake(name: impl fmt::Debug) -> String {
    let mut text = String::new();
    for letter in format!("{name:?}").chars() {
        if letter.is_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.extend(letter.to_lowercase());
    }
    text
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ends: Vec<usize> = Vec::new();
        for (at, instruction) in self.instructions.iter().enumerate() {
            ends.retain(|&end| at < end);
            f.write_str(&"  ".repeat(ends.len()))?;
            if let Operation::Rare { mask, count } = instruction.operation {
                writeln!(f, "where {mask}:")?;
                ends.push(at + 1 + count as usize);
                continue;
            }
            write!(f, "%{at} = {} ", instruction.ty)?;
            match instruction.operation {
                Operation::Input(index) => write!(f, "input {index}")?,
                Operation::Constant(bits) => match instruction.ty {
                    Type::F32 => write!(f, "constant {:?}", f32::from_bits(bits as u32))?,
                    Type::F64 => write!(f, "constant {:?}", f64::from_bits(bits))?,
                    _ => write!(f, "constant {bits:#x}")?,
                },
                Operation::Unary(unary, _) => f.write_str(&snake(unary))?,
                Operation::Binary(binary, ..) => f.write_str(&snake(binary))?,
                Operation::Compare(compare, a, _) => write!(f, "{} {}", snake(compare), self.ty(a))?,
                Operation::MulAdd(..) => f.write_str("mul_add")?,
                Operation::Select(..) => f.write_str("select")?,
                Operation::Convert(a) => write!(f, "convert {}", self.ty(a))?,
                Operation::ConvertUnsigned(a) => write!(f, "convert_unsigned {}", self.ty(a))?,
                Operation::Bits(a) => write!(f, "bits {}", self.ty(a))?,
                Operation::Lookup { table, .. } => write!(f, "lookup {table}")?,
                Operation::Rare { .. } => {}
            }
            instruction.operation.operands().try_for_each(|value| write!(f, " {value}"))?;
            writeln!(f)?;
        }
        self.results.iter().try_for_each(|value| writeln!(f, "result {value}"))
    }
}
