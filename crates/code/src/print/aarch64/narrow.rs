//! Owns the choice of instructions for codes that have no words but of 8 and 16 bits: a register has as many
//! elements as it has bytes, or half as many if some have 16 bits. What has no instruction here makes the
//! code one of 32 bits (`wide.rs`).

use super::steps::{Act, Listing, Make, Shape, Steps, VECTOR_BYTES};
use super::words;
use crate::code::{Binary, Code, Compare, Operation, Type, Unary, Value};
use crate::print::steps::{Id, NONE};
use crate::row::{Read, Row};

/// The steps of a row; `None` if its code needs wider words.
pub(super) fn steps(row: &Row) -> Option<Steps> {
    let code = &row.code;
    let widest = code.instructions.iter().map(|instruction| instruction.ty.bytes()).max()?;
    if widest > 2 {
        return None;
    }
    let mut selection = Selection {
        code,
        lanes: VECTOR_BYTES / widest,
        list: Listing::default(),
        values: vec![NONE; code.instructions.len()],
        widths: vec![1; code.instructions.len()],
    };
    for (place, instruction) in code.instructions.iter().enumerate() {
        // Comparisons are made where they are read: some become a part of what reads them.
        if !matches!(instruction.operation, Operation::Compare(..)) {
            selection.values[place] = selection.value(row, Value(place as u32))?;
        }
    }
    // What is read has been read before anything is written over it.
    let results: Option<Vec<Id>> = code.results.iter().map(|&value| selection.result(value)).collect();
    for (result, (id, &value)) in (0..).zip(results?.into_iter().zip(&code.results)) {
        let bytes = code.ty(value).bytes();
        let make = selection.moved(words::STR, bytes);
        selection.list.push(Act::Store { result, bytes, offset: 0, make }, &[id]);
    }
    Some(selection.list.finish(selection.lanes))
}

struct Selection<'a> {
    code: &'a Code,
    lanes: u32,
    list: Listing,
    /// The step of each value.
    values: Vec<Id>,
    /// Bytes of an element of each mask, which is a vector of zeros and ones.
    widths: Vec<u32>,
}

impl Selection<'_> {
    fn of(&self, value: Value) -> Id {
        self.values[value.index()]
    }

    fn operation(&self, value: Value) -> Operation {
        self.code.instructions[value.index()].operation
    }

    /// An instruction on elements of so many bytes.
    fn make(&mut self, word: u32, bytes: u32, args: &[Id]) -> Id {
        self.list.raw(words::narrow(word, bytes, self.lanes * bytes), args)
    }

    /// An instruction on the bits of a vector whose elements have so many bytes.
    fn on_bits(&mut self, word: u32, bytes: u32, args: &[Id]) -> Id {
        self.list.raw(words::sized(word, false, self.lanes * bytes), args)
    }

    fn moved(&self, by_bytes: [u32; 4], bytes: u32) -> Make {
        Make { word: words::of_bytes(by_bytes, self.lanes * bytes), shape: Shape::Plain }
    }

    fn value(&mut self, row: &Row, value: Value) -> Option<Id> {
        let ty = self.code.ty(value);
        let bytes = ty.bytes();
        Some(match self.operation(value) {
            Operation::Input(input) => match row.reads[input as usize] {
                Read::Splat | Read::Number => self.list.push(Act::Splat { input, bytes }, &[]),
                _ => self
                    .list
                    .push(Act::Load { input, bytes, offset: 0, make: self.moved(words::LDR, bytes) }, &[]),
            },
            Operation::Constant(bits) if ty == Type::Mask => self.list.constant(bits.wrapping_neg(), 1),
            Operation::Constant(bits) => self.list.constant(bits, bytes as usize),
            Operation::Unary(Unary::Not, a) if ty == Type::Mask => {
                let (mask, bytes) = self.inner(value, a)?;
                self.on_bits(words::MVN, bytes, &[mask])
            }
            Operation::Unary(Unary::Not, a) => self.on_bits(words::MVN, bytes, &[self.of(a)]),
            Operation::Binary(binary, a, b) if ty == Type::Mask => {
                let (a, bytes) = self.inner(value, a)?;
                let b = self.mask(b, bytes)?;
                self.on_bits(bits_word(binary), bytes, &[a, b])
            }
            Operation::Binary(binary, a, b) => self.binary(binary, bytes, [self.of(a), self.of(b)])?,
            Operation::Select(mask, yes, no) if ty == Type::Mask => {
                let (mask, bytes) = self.inner(value, mask)?;
                let args = [mask, self.mask(yes, bytes)?, self.mask(no, bytes)?];
                self.blend(bytes, args)
            }
            Operation::Select(mask, yes, no) => self.select(bytes, mask, yes, no)?,
            Operation::Bits(a) => self.of(a),
            _ => return None,
        })
    }

    fn binary(&mut self, binary: Binary, bytes: u32, [a, b]: [Id; 2]) -> Option<Id> {
        let word = match binary {
            Binary::Add => words::ADD,
            Binary::Sub => words::SUB,
            Binary::Mul => words::MUL,
            Binary::And | Binary::Or | Binary::Xor => {
                return Some(self.on_bits(bits_word(binary), bytes, &[a, b]));
            }
            Binary::ShiftLeft => words::USHL,
            Binary::ShiftRight | Binary::ShiftRightSigned => {
                let towards_low = self.make(words::NEG, bytes, &[b]);
                let word = if binary == Binary::ShiftRight { words::USHL } else { words::SSHL };
                return Some(self.make(word, bytes, &[a, towards_low]));
            }
            _ => return None,
        };
        Some(self.make(word, bytes, &[a, b]))
    }

    fn blend(&mut self, bytes: u32, args: [Id; 3]) -> Id {
        self.list.shaped(words::sized(words::BSL, false, self.lanes * bytes), Shape::Select, &args)
    }

    /// `yes` where the mask holds.
    fn select(&mut self, bytes: u32, mask: Value, yes: Value, no: Value) -> Option<Id> {
        let [chosen, other] = [yes, no].map(|value| self.of(value));
        if let Operation::Compare(compare @ (Compare::Lt | Compare::Below), a, b) = self.operation(mask)
            && ([yes, no] == [a, b] || [yes, no] == [b, a])
        {
            let word = match (yes == b, compare) {
                (true, Compare::Lt) => words::SMAX,
                (true, _) => words::UMAX,
                (false, Compare::Lt) => words::SMIN,
                (false, _) => words::UMIN,
            };
            return Some(self.make(word, bytes, &[chosen, other]));
        }
        let mask = self.mask(mask, bytes)?;
        if self.operation(no) == Operation::Constant(0) {
            return Some(self.on_bits(words::AND, bytes, &[chosen, mask]));
        }
        Some(self.blend(bytes, [mask, chosen, other]))
    }

    /// What is stored for a result: of a mask 1 or 0.
    fn result(&mut self, value: Value) -> Option<Id> {
        if self.code.ty(value) != Type::Mask {
            return Some(self.of(value));
        }
        let (mask, one) = (self.mask(value, 1)?, self.list.constant(1, 1));
        Some(self.on_bits(words::AND, 1, &[mask, one]))
    }

    /// A mask for elements of so many bytes.
    fn mask(&mut self, value: Value, bytes: u32) -> Option<Id> {
        let (id, own) = self.own_mask(value)?;
        Some(match (own, bytes) {
            (1, 2) => self.list.raw(words::SSHLL_8, &[id]),
            (2, 1) => self.list.raw(words::XTN_16, &[id]),
            _ => id,
        })
    }

    /// A mask, and the bytes of an element that it has.
    fn own_mask(&mut self, value: Value) -> Option<(Id, u32)> {
        if let Operation::Compare(compare, a, b) = self.operation(value)
            && self.of(value) == NONE
        {
            self.widths[value.index()] = self.code.ty(a).bytes();
            self.values[value.index()] = self.compare(compare, a, b)?;
        }
        Some((self.of(value), self.widths[value.index()]))
    }

    /// The first operand of a mask, which has its bytes.
    fn inner(&mut self, value: Value, a: Value) -> Option<(Id, u32)> {
        let own = self.own_mask(a)?;
        self.widths[value.index()] = own.1;
        Some(own)
    }

    fn compare(&mut self, compare: Compare, a: Value, b: Value) -> Option<Id> {
        let ty = self.code.ty(a);
        let [a, b] = [a, b].map(|value| self.of(value));
        let (word, args) = match compare {
            _ if !ty.is_word() => return None,
            Compare::Eq => (words::CMEQ, [a, b]),
            Compare::Lt => (words::CMGT, [b, a]),
            Compare::Le => (words::CMGE, [b, a]),
            Compare::Below => (words::CMHI, [b, a]),
        };
        Some(self.make(word, ty.bytes(), &args))
    }
}

fn bits_word(binary: Binary) -> u32 {
    match binary {
        Binary::And => words::AND,
        Binary::Or => words::ORR,
        Binary::Xor => words::EOR,
        other => unreachable!("{other:?} is not done bit by bit"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Builder;

    #[test]
    fn a_register_has_as_many_elements_as_fit() {
        for (ty, lanes) in [(Type::W8, 16), (Type::W16, 8)] {
            let mut builder = Builder::new();
            let (a, b) = (builder.input(ty), builder.input(ty));
            let result = builder.compare(Compare::Below, a, b);
            let row = Row::contiguous(builder.finish(&[result]));
            assert_eq!(steps(&row).map(|steps| steps.lanes), Some(lanes));
        }
    }
}
