//! Owns the choice of instructions for lowered codes, whose words have 32 or 64 bits. It does not know
//! registers or loops.
//!
//! A mask is a vector whose elements are all ones or zeros. What is in a register beyond the elements of a
//! mask is zero. Words of 8 and 16 bits, and halves, are side by side in registers as they are in memory.

use std::collections::HashMap;

use super::steps::{Act, Listing, Make, Shape, Steps, VECTOR_BYTES};
use super::words::{self, sized};
use crate::code::{Binary, Code, Compare, Operation, Type, Unary, Value};
use crate::print::readers::{Widths, mask_widths, read_elsewhere};
use crate::print::steps::{Id, NONE, OPERANDS};
use crate::row::{ELEMENT_BYTES_OF_PARTS, Read, Row};

/// The steps of a lowered code.
pub(super) fn steps(code: &Code, row: &Row) -> Steps {
    let is_wide = |ty: Type| ty.bits() == 64;
    let widest = if code.instructions.iter().any(|instruction| is_wide(instruction.ty)) { 8 } else { 4 };
    let mut selection = Selection {
        code,
        row,
        lanes: VECTOR_BYTES / widest,
        list: Listing::default(),
        values: vec![NONE; code.instructions.len()],
        narrow: vec![NONE; code.instructions.len()],
        widths: mask_widths(code, false),
        needs_negated: read_elsewhere(code, false),
        shared: Vec::new(),
        elements: HashMap::new(),
    };
    selection.all();
    selection.list.finish(selection.lanes)
}

/// A rare way whose end has not come.
struct Open {
    /// Its first step.
    start: usize,
    /// The instruction of the code before which it ends.
    end: usize,
    /// How many instructions were shared before.
    shared: usize,
}

struct Selection<'a> {
    code: &'a Code,
    row: &'a Row,
    lanes: u32,
    list: Listing,
    /// The step of each value of the code; of masks that have a width of 64 bits, that.
    values: Vec<Id>,
    /// The step of each mask whose elements have 32 bits.
    narrow: Vec<Id>,
    widths: Vec<Widths>,
    /// Which negated values are read by others than the factors of `a · b + c`.
    needs_negated: Vec<bool>,
    /// Instructions that may be wanted again, and where each open rare way begins among them.
    shared: Vec<(Make, [Id; OPERANDS], Id)>,
    /// Vectors that have both parts of elements, by the input of the first parts.
    elements: HashMap<u32, [Id; 2]>,
}

impl Selection<'_> {
    fn all(&mut self) {
        let mut open: Vec<Open> = Vec::new();
        for place in 0..self.code.instructions.len() {
            self.close(&mut open, place);
            let instruction = self.code.instructions[place];
            if let Operation::Rare { mask, count } = instruction.operation {
                let end = place + 1 + count as usize;
                open.push(Open { start: self.list.steps.len(), end, shared: self.shared.len() });
                let mask = self.asked(mask);
                self.list.push(Act::Rare { count: 0, is_inverted: false }, &[mask]);
                continue;
            }
            self.value(Value(place as u32));
        }
        self.close(&mut open, self.code.instructions.len());
        let code = self.code;
        if self.row.writes_parts() {
            return self.store_elements();
        }
        for (result, &value) in (0..).zip(&code.results) {
            let bytes = code.ty(value).bits() / 8;
            let make = self.moved(words::STR, bytes);
            self.list.push(Act::Store { result, bytes, offset: 0, make }, &[self.of(value)]);
        }
    }

    fn close(&mut self, open: &mut Vec<Open>, place: usize) {
        while let Some(way) = open.pop_if(|way| way.end == place) {
            let own = (self.list.steps.len() - way.start - 1) as u32;
            if let Act::Rare { count, .. } = &mut self.list.steps[way.start].act {
                *count = own;
            }
            self.shared.truncate(way.shared);
        }
    }

    /// Bytes of a vector of a type's elements in a register.
    fn bytes(&self, is_64: bool) -> u32 {
        self.lanes * if is_64 { 8 } else { 4 }
    }

    /// An instruction on elements of 32 or of 64 bits.
    fn make(&mut self, word: u32, is_64: bool, args: &[Id]) -> Id {
        self.list.raw(sized(word, is_64, self.bytes(is_64)), args)
    }

    /// An instruction on the bits of elements of 32 or of 64 bits.
    fn on_bits(&mut self, word: u32, is_64: bool, args: &[Id]) -> Id {
        self.list.raw(sized(word, false, self.bytes(is_64)), args)
    }

    /// As [`Listing::raw`], once for all who want it: what look-ups and products of long words are made of.
    fn shared(&mut self, word: u32, args: &[Id]) -> Id {
        let make = Make { word, shape: Shape::Plain };
        let mut all = [NONE; OPERANDS];
        all[..args.len()].copy_from_slice(args);
        let known = self.shared.iter().find(|&&(other, args, _)| other == make && args == all);
        if let Some(&(.., id)) = known {
            return id;
        }
        let id = self.list.raw(word, args);
        self.shared.push((make, all, id));
        id
    }

    /// A vector between memory and a register, of elements of so many bytes in both.
    fn moved(&self, by_bytes: [u32; 4], bytes: u32) -> Make {
        Make { word: words::of_bytes(by_bytes, self.lanes * bytes), shape: Shape::Plain }
    }

    fn of(&self, value: Value) -> Id {
        self.values[value.index()]
    }

    fn is_64(&self, value: Value) -> bool {
        self.code.ty(value).bits() == 64
    }

    fn value(&mut self, value: Value) {
        let instruction = self.code.instructions[value.index()];
        let ty = instruction.ty;
        let is_64 = ty.bits() == 64;
        if ty == Type::Mask {
            return self.mask(value, instruction.operation);
        }
        let id = match instruction.operation {
            Operation::Input(index) => self.input(index, ty),
            Operation::Constant(bits) => self.list.constant(bits, ty.bits() as usize / 8),
            Operation::Unary(Unary::Neg, _) if !self.needs_negated[value.index()] => return,
            Operation::Unary(unary, a) => self.unary(unary, is_64, self.of(a)),
            Operation::Binary(binary, a, b) => self.binary(binary, ty, a, b),
            Operation::MulAdd(a, b, c) => {
                let [(a, is_a), (b, is_b)] = [a, b].map(|factor| self.unsigned(factor));
                let word = if is_a == is_b { words::FMLA } else { words::FMLS };
                let word = sized(word, is_64, self.bytes(is_64));
                self.list.shaped(word, Shape::Accumulate, &[a, b, self.of(c)])
            }
            Operation::Select(mask, yes, no) => {
                let mask = self.mask_of(mask, is_64);
                match (self.code.instructions[yes.index()].operation, self.known_bits(no)) {
                    (Operation::Constant(0), _) => self.on_bits(words::BIC, is_64, &[self.of(no), mask]),
                    (_, Some(0)) => self.on_bits(words::AND, is_64, &[self.of(yes), mask]),
                    _ => self.select(is_64, mask, self.of(yes), self.of(no)),
                }
            }
            Operation::Convert(a) => self.convert(a, ty, true),
            Operation::ConvertUnsigned(a) => self.convert(a, ty, false),
            Operation::Bits(a) => self.of(a),
            Operation::Lookup { table, index } => self.lookup(is_64, table as usize, self.of(index)),
            Operation::Compare(..) | Operation::Rare { .. } => unreachable!("they have masks"),
        };
        self.values[value.index()] = id;
    }

    fn known_bits(&self, value: Value) -> Option<u64> {
        match self.code.instructions[value.index()].operation {
            Operation::Constant(bits) => Some(bits),
            _ => None,
        }
    }

    fn input(&mut self, input: u32, ty: Type) -> Id {
        let bytes = ty.bits() / 8;
        if matches!(self.row.reads[input as usize], Read::Splat | Read::Number) {
            return self.list.push(Act::Splat { input, bytes }, &[]);
        }
        if let Some((first, is_second)) = self.row.part(input) {
            return self.part_of_elements(first, is_second);
        }
        let make = self.moved(words::LDR, bytes);
        self.list.push(Act::Load { input, bytes, offset: 0, make }, &[])
    }

    /// The first or the second parts of contiguous elements of which an input has the first ones.
    fn part_of_elements(&mut self, first: u32, is_second: bool) -> Id {
        let make = self.moved(words::LDR, 8);
        let list = &mut self.list;
        let both = *self.elements.entry(first).or_insert_with(|| {
            [0, VECTOR_BYTES].map(|offset| {
                list.push(Act::Load { input: first, bytes: ELEMENT_BYTES_OF_PARTS, offset, make }, &[])
            })
        });
        list.raw(if is_second { words::UZP2 } else { words::UZP1 }, &both)
    }

    /// Writes the elements whose parts the results are.
    fn store_elements(&mut self) {
        let make = self.moved(words::STR, 8);
        let parts = [0, 1].map(|part| self.of(self.code.results[part]));
        let halves = [words::ZIP1, words::ZIP2].map(|word| self.list.raw(word, &parts));
        for (half, offset) in halves.into_iter().zip([0, VECTOR_BYTES]) {
            self.list.push(Act::Store { result: 0, bytes: ELEMENT_BYTES_OF_PARTS, offset, make }, &[half]);
        }
    }

    /// The step of a value but for its sign, and whether that is flipped.
    fn unsigned(&self, value: Value) -> (Id, bool) {
        match self.code.instructions[value.index()].operation {
            Operation::Unary(Unary::Neg, a) => (self.of(a), true),
            _ => (self.of(value), false),
        }
    }

    fn unary(&mut self, unary: Unary, is_64: bool, a: Id) -> Id {
        let word = match unary {
            Unary::Neg => words::FNEG,
            Unary::Sqrt => words::FSQRT,
            Unary::RoundTiesEven => words::FRINTN,
            Unary::Floor => words::FRINTM,
            Unary::Ceil => words::FRINTP,
            Unary::Trunc => words::FRINTZ,
            Unary::Abs | Unary::InverseRoot | Unary::Exponent | Unary::Significand | Unary::Not => {
                unreachable!("it is lowered")
            }
        };
        self.make(word, is_64, &[a])
    }

    fn binary(&mut self, binary: Binary, ty: Type, a: Value, b: Value) -> Id {
        let (is_float, is_64) = (ty.is_float(), ty.bits() == 64);
        let (word, args) = match binary {
            Binary::Add => (if is_float { words::FADD } else { words::ADD }, [self.of(a), self.of(b)]),
            Binary::Sub => (if is_float { words::FSUB } else { words::SUB }, [self.of(a), self.of(b)]),
            Binary::Mul if ty == Type::W64 => return self.product_64([self.of(a), self.of(b)]),
            Binary::Mul => (if is_float { words::FMUL } else { words::MUL }, [self.of(a), self.of(b)]),
            Binary::Div => (words::FDIV, [self.of(a), self.of(b)]),
            // The instructions for these have another answer where one is NaN or both are zero.
            Binary::Min | Binary::Max => {
                let (a, b) = (self.of(a), self.of(b));
                let args = if binary == Binary::Min { [b, a] } else { [a, b] };
                let mask = self.make(words::FCMGT, is_64, &args);
                return self.select(is_64, mask, a, b);
            }
            Binary::And => return self.on_bits(words::AND, is_64, &[self.of(a), self.of(b)]),
            Binary::Or => return self.on_bits(words::ORR, is_64, &[self.of(a), self.of(b)]),
            Binary::Xor => return self.on_bits(words::EOR, is_64, &[self.of(a), self.of(b)]),
            Binary::ShiftLeft | Binary::ShiftRight | Binary::ShiftRightSigned => {
                return self.shift(binary, is_64, a, b);
            }
            Binary::Ldexp | Binary::Scale => unreachable!("it is lowered"),
        };
        self.make(word, is_64, &args)
    }

    fn shift(&mut self, binary: Binary, is_64: bool, a: Value, b: Value) -> Id {
        if let Some(count) = self.known_bits(b) {
            // A count that is too large makes any word.
            return self.shift_by(binary, is_64, self.of(a), count as u32 % if is_64 { 64 } else { 32 });
        }
        let (a, b) = (self.of(a), self.of(b));
        if binary == Binary::ShiftLeft {
            return self.make(words::USHL, is_64, &[a, b]);
        }
        let towards_low = self.make(words::NEG, is_64, &[b]);
        let word = if binary == Binary::ShiftRight { words::USHL } else { words::SSHL };
        self.make(word, is_64, &[a, towards_low])
    }

    fn shift_by(&mut self, binary: Binary, is_64: bool, a: Id, count: u32) -> Id {
        let bytes = self.bytes(is_64);
        let word = match binary {
            _ if count == 0 => return a,
            Binary::ShiftLeft => words::shift_left(is_64, bytes, count),
            Binary::ShiftRight => words::shift_right(words::USHR, is_64, bytes, count),
            _ => words::shift_right(words::SSHR, is_64, bytes, count),
        };
        self.shared(word, &[a])
    }

    /// A product of words of 64 bits from products of their halves.
    fn product_64(&mut self, [a, b]: [Id; 2]) -> Id {
        let turned = self.shared(words::REV64, &[b]);
        let crossed = self.list.raw(words::MUL, &[turned, a]);
        let high = self.list.raw(words::UADDLP, &[crossed]);
        let high = self.shift_by(Binary::ShiftLeft, true, high, 32);
        let [a, b] = [a, b].map(|word| self.shared(words::XTN_64, &[word]));
        self.list.shaped(words::UMLAL, Shape::Accumulate, &[a, b, high])
    }

    /// `yes` where the mask holds.
    fn select(&mut self, is_64: bool, mask: Id, yes: Id, no: Id) -> Id {
        let word = sized(words::BSL, false, self.bytes(is_64));
        self.list.shaped(word, Shape::Select, &[mask, yes, no])
    }

    fn convert(&mut self, value: Value, to: Type, is_signed: bool) -> Id {
        let (from, a) = (self.code.ty(value), self.of(value));
        let extend = if is_signed { words::SSHLL_32 } else { words::USHLL_32 };
        let to_float = if is_signed { words::SCVTF } else { words::UCVTF };
        match (from, to) {
            (Type::W8, Type::W32) => {
                let words = self.list.raw(words::USHLL_8, &[a]);
                self.list.raw(words::USHLL_16, &[words])
            }
            (Type::W16, Type::W32) => self.list.raw(words::USHLL_16, &[a]),
            (Type::W32, Type::W8) => {
                let words = self.list.raw(words::XTN_32, &[a]);
                self.list.raw(words::XTN_16, &[words])
            }
            (Type::W32, Type::W16) => self.list.raw(words::XTN_32, &[a]),
            (Type::F16, Type::F32) => self.list.raw(words::FCVTL, &[a]),
            (Type::F32, Type::F16) => self.list.raw(words::FCVTN, &[a]),
            (Type::F32, Type::F64) => self.list.raw(words::FCVTL | words::WIDE, &[a]),
            (Type::F64, Type::F32) => self.list.raw(words::FCVTN | words::WIDE, &[a]),
            (Type::F32, Type::W32) => self.word_of(false, a, 2f32.powi(31).to_bits().into()),
            (Type::F64, Type::W64) => self.word_of(true, a, 2f64.powi(63).to_bits()),
            (Type::F64, Type::W32) => {
                let word = self.word_of(true, a, 2f64.powi(31).to_bits());
                self.list.raw(words::SQXTN_64, &[word])
            }
            (Type::F32, Type::W64) => {
                let double = self.list.raw(words::FCVTL | words::WIDE, &[a]);
                self.word_of(true, double, 2f64.powi(63).to_bits())
            }
            (Type::W32, Type::F32) => self.make(to_float, false, &[a]),
            (Type::W64, Type::F64) => self.make(to_float, true, &[a]),
            (Type::W32, Type::F64) => {
                let word = self.list.raw(extend, &[a]);
                self.make(to_float, true, &[word])
            }
            (Type::W32, Type::W64) => self.list.raw(extend, &[a]),
            (Type::W64, Type::W32) => self.list.raw(words::XTN_64, &[a]),
            _ => unreachable!("it is lowered, or the verifier does not know it"),
        }
    }

    /// A float towards zero as a word of as many bits, the least where it is not below a bound: the
    /// instruction has the nearest word, and zero of NaN.
    fn word_of(&mut self, is_64: bool, a: Id, bound: u64) -> Id {
        let (bytes, least) = if is_64 { (8, 1 << 63) } else { (4, 1 << 31) };
        let (bound, least) = (self.list.constant(bound, bytes), self.list.constant(least, bytes));
        let fits = self.make(words::FCMGT, is_64, &[bound, a]);
        let word = self.make(words::FCVTZS, is_64, &[a]);
        self.select(is_64, fits, word, least)
    }

    /// Numbers of a table, whose bytes are looked up by bytes.
    fn lookup(&mut self, is_64: bool, table: usize, index: Id) -> Id {
        let element_bytes = if is_64 { 8 } else { 4 };
        let numbers = &self.code.tables[table];
        let bytes: Vec<u8> =
            numbers.iter().flat_map(|bits| bits.to_le_bytes().into_iter().take(element_bytes)).collect();
        let offset = self.list.pool.len() as u32;
        self.list.pool.extend_from_slice(&bytes);
        // The place of each byte of a number: that of the first, and its own among them.
        let (low_bits, copies, own) = (
            self.list.constant(15, element_bytes),
            self.list.constant(0x0101_0101 * element_bytes as u64, 4),
            [0x0302_0100, 0x0706_0504_0302_0100],
        );
        let own = self.list.constant(own[usize::from(is_64)], element_bytes);
        let size = self.bytes(is_64);
        let first = self.shared(sized(words::AND, false, size), &[index, low_bits]);
        let first = if is_64 { self.shared(sized(words::TRN1, false, size), &[first, first]) } else { first };
        let first = self.shared(sized(words::MUL, false, size), &[first, copies]);
        let places = self.shared(sized(words::ORR, false, size), &[first, own]);
        let found = self.list.shaped(words::TBL, Shape::Lookup { table: offset }, &[places]);
        if !is_64 {
            return found;
        }
        // Places in the other half of the table become places of that, and those in this one become too
        // large.
        let half = self.list.constant(0x40, 1);
        let places = self.shared(sized(words::EOR, false, size), &[places, half]);
        self.list.shaped(words::TBX, Shape::NextLookup { table: offset + 64 }, &[places, found])
    }

    /// The mask as selections of elements of 32 or 64 bits want it.
    fn mask_of(&self, mask: Value, is_64: bool) -> Id {
        let values = if is_64 { &self.values } else { &self.narrow };
        values[mask.index()]
    }

    /// The mask that a rare way asks, in a width that it has.
    fn asked(&self, mask: Value) -> Id {
        let wide = self.of(mask);
        if wide == NONE { self.narrow[mask.index()] } else { wide }
    }

    fn mask(&mut self, value: Value, operation: Operation) {
        let widths = self.widths[value.index()];
        let (id, is_64) = match operation {
            Operation::Compare(compare, a, b) => (self.compare(compare, a, b), self.is_64(a)),
            operation => {
                let is_64 = widths.own() == 64;
                (self.mask_vector(operation, is_64), is_64)
            }
        };
        let (mut wide, mut narrow) = if is_64 { (id, NONE) } else { (NONE, id) };
        if widths.is_64 && !is_64 {
            wide = self.list.raw(words::SSHLL_32, &[id]);
        }
        if widths.is_32 && is_64 {
            narrow = self.list.raw(words::XTN_64, &[id]);
        }
        self.values[value.index()] = wide;
        self.narrow[value.index()] = narrow;
    }

    /// A mask from others of the same width.
    fn mask_vector(&mut self, operation: Operation, is_64: bool) -> Id {
        match operation {
            Operation::Constant(bits) => {
                let own = self.bytes(is_64) as usize;
                let byte = if bits == 0 { 0 } else { 0xff };
                self.list.whole(std::array::from_fn(|at| if at < own { byte } else { 0 }))
            }
            Operation::Unary(_, a) => self.on_bits(words::MVN, is_64, &[self.mask_of(a, is_64)]),
            Operation::Binary(binary, a, b) => {
                let word = match binary {
                    Binary::And => words::AND,
                    Binary::Or => words::ORR,
                    _ => words::EOR,
                };
                self.on_bits(word, is_64, &[self.mask_of(a, is_64), self.mask_of(b, is_64)])
            }
            Operation::Select(mask, yes, no) => {
                let [mask, yes, no] = [mask, yes, no].map(|value| self.mask_of(value, is_64));
                self.select(is_64, mask, yes, no)
            }
            _ => unreachable!("the verifier knows no other mask"),
        }
    }

    fn compare(&mut self, compare: Compare, a: Value, b: Value) -> Id {
        let is_float = self.code.ty(a).is_float();
        let (is_64, args) = (self.is_64(a), [self.of(a), self.of(b)]);
        let turned = [args[1], args[0]];
        let (word, args) = match compare {
            Compare::Eq => (if is_float { words::FCMEQ } else { words::CMEQ }, args),
            Compare::Lt => (if is_float { words::FCMGT } else { words::CMGT }, turned),
            Compare::Le => (if is_float { words::FCMGE } else { words::CMGE }, turned),
            Compare::Below => (words::CMHI, turned),
        };
        self.make(word, is_64, &args)
    }
}
