//! Owns how a thread finds its elements: indices from its number, addresses from indices, and the arguments
//! that both read. It does not know what is computed of them.

use std::fmt::Display;

use super::writer::{KernelWriter, Kind, Register, stored};
use crate::code::Type;

/// Where an operand is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// In the arguments: the bits of one element that is used everywhere.
    Number(u64),
    /// In memory.
    Elements {
        /// The address of the first element, or of where it would be.
        address: u64,
        /// Bytes from an element to the next one along each dimension of the loop; 0 where it is stretched.
        strides: Vec<i64>,
    },
}

/// How an operand is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OperandForm {
    /// It is a number.
    Number,
    /// Its elements along the innermost dimension have any distance.
    Strided,
    /// They are contiguous, and aligned to four of them or 16 bytes.
    Contiguous,
    /// There is only one of them.
    Stretched,
}

/// A divisor of numbers below 2^31, as a multiplier and a shift.
///
/// Source: Granlund and Montgomery, "Division by invariant integers using multiplication", PLDI 1994.
fn multiplier(divisor: u32) -> (u32, u32) {
    let shift = divisor.next_power_of_two().ilog2();
    let above = (1u64 << shift) - u64::from(divisor);
    (((above << 32) / u64::from(divisor) + 1) as u32, shift)
}

/// Appends a divisor to arguments.
pub(super) fn push_divisor(arguments: &mut Vec<u64>, divisor: u32) {
    let (multiplier, shift) = multiplier(divisor.max(1));
    arguments.extend([u64::from(multiplier) | u64::from(shift) << 32, divisor.into()]);
}

/// Appends the sizes by which an index is divided: all but the first.
pub(super) fn push_sizes(arguments: &mut Vec<u64>, sizes: impl IntoIterator<Item = u32>) {
    sizes.into_iter().skip(1).for_each(|size| push_divisor(arguments, size));
}

/// Appends where an operand is.
pub(super) fn push_operand(arguments: &mut Vec<u64>, operand: &Argument) {
    match operand {
        Argument::Number(bits) => arguments.push(*bits),
        Argument::Elements { address, strides } => {
            arguments.push(*address);
            arguments.extend(strides.iter().map(|&stride| stride as u64));
        }
    }
}

/// A divisor in registers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Divisor {
    multiplier: Register,
    shift: Register,
    divisor: Register,
}

impl Divisor {
    pub(super) fn read(writer: &mut KernelWriter) -> Divisor {
        let multiplier = writer.argument(Type::W32);
        let shift = writer.upper_argument();
        Divisor { multiplier, shift, divisor: writer.argument(Type::W32) }
    }

    /// Quotient and remainder of a number below 2^31.
    pub(super) fn divide(self, writer: &mut KernelWriter, number: Register) -> (Register, Register) {
        let Divisor { multiplier, shift, divisor } = self;
        let high = writer.make(Kind::Word, "mul.hi.u32", format_args!("{number}, {multiplier}"));
        let sum = writer.make(Kind::Word, "add.u32", format_args!("{high}, {number}"));
        let quotient = writer.make(Kind::Word, "shr.u32", format_args!("{sum}, {shift}"));
        let whole = writer.make(Kind::Word, "mul.lo.u32", format_args!("{quotient}, {divisor}"));
        (quotient, writer.make(Kind::Word, "sub.u32", format_args!("{number}, {whole}")))
    }
}

/// The sizes of some dimensions but the first, in registers.
#[derive(Debug)]
pub(super) struct Sizes(Vec<Divisor>);

impl Sizes {
    pub(super) fn read(writer: &mut KernelWriter, dims: usize) -> Sizes {
        Sizes((1..dims).map(|_| Divisor::read(writer)).collect())
    }

    /// The index along each dimension of the element with a number in row-major order.
    pub(super) fn indices(&self, writer: &mut KernelWriter, number: Register) -> Vec<Register> {
        let mut rest = number;
        let mut indices = Vec::new();
        for size in self.0.iter().rev() {
            let (quotient, index) = size.divide(writer, rest);
            indices.push(index);
            rest = quotient;
        }
        indices.push(rest);
        indices.reverse();
        indices
    }
}

/// An operand in registers.
#[derive(Clone, Debug)]
pub(super) enum RegisterOperand {
    Number(Register),
    Elements { address: Register, strides: Vec<Register> },
}

impl RegisterOperand {
    pub(super) fn read(writer: &mut KernelWriter, ty: Type, is_number: bool, dims: usize) -> RegisterOperand {
        if is_number {
            return RegisterOperand::Number(writer.argument(ty));
        }
        let address = writer.argument(Type::W64);
        RegisterOperand::Elements {
            address,
            strides: (0..dims).map(|_| writer.argument(Type::W64)).collect(),
        }
    }

    /// The same from an element on, by its indices along the first dimensions.
    pub(super) fn at(&self, writer: &mut KernelWriter, indices: &[Register]) -> RegisterOperand {
        let RegisterOperand::Elements { address, strides } = self else { return self.clone() };
        let (own, rest) = strides.split_at(indices.len());
        let mut address = *address;
        for (&index, stride) in indices.iter().zip(own) {
            address = element_at(writer, index, stride, address);
        }
        RegisterOperand::Elements { address, strides: rest.to_vec() }
    }

    /// The element that it is, once it is known by all its indices.
    pub(super) fn load(&self, writer: &mut KernelWriter, ty: Type) -> Register {
        match self {
            RegisterOperand::Number(number) => *number,
            RegisterOperand::Elements { address, .. } => load(writer, ty, *address, 0),
        }
    }
}

/// The address of an element by its number, from the first one and the bytes from one to the next.
pub(super) fn element_at(
    writer: &mut KernelWriter,
    number: Register,
    stride: impl Display,
    first: Register,
) -> Register {
    let number = writer.make(Kind::Long, "cvt.u64.u32", format_args!("{number}"));
    writer.make(Kind::Long, "mad.lo.s64", format_args!("{number}, {stride}, {first}"))
}

/// An element in memory.
pub(super) fn load(writer: &mut KernelWriter, ty: Type, address: Register, offset: u32) -> Register {
    writer.make(Kind::of(ty), &format!("ld.global.{}", stored(ty)), format_args!("[{address}+{offset}]"))
}

pub(super) fn store(writer: &mut KernelWriter, ty: Type, address: Register, from: Register) {
    writer.line(format_args!("st.global.{} [{address}], {from}", stored(ty)));
}

/// The elements of dimensions; the most that can be counted if there are more.
pub(super) fn elements(sizes: &[u32]) -> u64 {
    sizes.iter().fold(1, |count: u64, &size| count.saturating_mul(size.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_31_bits_are_divided_by_any() {
        let near = |x: u32| [x.saturating_sub(1), x, x.saturating_add(1)];
        let powers = (0..31).flat_map(|place| near(1 << place));
        let all: Vec<u32> = powers.chain([3, 7, 10, 641, 65_537, 1_000_003, 2_147_483_629]).collect();
        for &divisor in all.iter().filter(|&&divisor| divisor > 0) {
            let (multiplier, shift) = multiplier(divisor);
            for number in all.iter().chain(&[i32::MAX as u32]).flat_map(|&n| near(n - n % divisor)) {
                if number <= i32::MAX as u32 {
                    let high = (u64::from(number) * u64::from(multiplier)) >> 32;
                    assert_eq!((high + u64::from(number)) >> shift, u64::from(number / divisor));
                }
            }
        }
    }
}
