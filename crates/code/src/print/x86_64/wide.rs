//! Owns the choice of instructions for lowered codes, whose words have 32 or 64 bits. It does not know
//! registers or loops.

use std::collections::HashMap;

use iced_x86::Code as Encoding;

use super::encodings::{Pair, Signs, at_length, binary_pair, by_width, pair, predicate};
use super::parts::{self, Parts};
use super::readers::{inverted, masked, paired_lookups};
use super::set::Set;
use super::steps::{Act, Listing, Make, Shape, Steps, moved};
use crate::code::{Binary, Code, Compare, Instruction, Operation, Type, Unary, Value};
use crate::print::readers::{Widths, mask_widths, read_elsewhere};
use crate::print::steps::{Id, NONE, OPERANDS};
use crate::row::{Read, Row, Write};

/// The steps of a lowered code.
pub(super) fn steps(code: &Code, row: &Row, set: Set) -> Steps {
    let wide = wide(code);
    let is_split = wide == Wide::Rare;
    let lanes = set.vector_bytes() / if wide == Wide::Anywhere { 8 } else { 4 };
    let mut selection = Selection {
        code,
        row,
        set,
        lanes,
        is_split,
        part: 0,
        list: Listing::default(),
        patterns: HashMap::new(),
        values: vec![[NONE; 2]; code.instructions.len()],
        narrow: vec![NONE; if set == Set::Avx2 { code.instructions.len() } else { 0 }],
        widths: Vec::new(),
        needs_negated: read_elsewhere(code, true),
        is_masked: vec![false; code.instructions.len()],
        is_inverted: vec![false; code.instructions.len()],
        paired: Vec::new(),
        shared: Vec::new(),
        elements: Parts::default(),
    };
    if set == Set::Avx2 {
        selection.widths = mask_widths(code, is_split);
        selection.paired = paired_lookups(code);
    } else {
        selection.is_inverted = inverted(code);
        selection.is_masked = masked(code, &selection.is_inverted, is_split);
    }
    selection.all();
    selection.list.finish(lanes)
}

/// Where a code has values of 64 bits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wide {
    Nowhere,
    /// In rare ways alone.
    Rare,
    Anywhere,
}

fn wide(code: &Code) -> Wide {
    let is_64 = |value: Value| code.ty(value).bits() == 64;
    if code.results.iter().copied().any(is_64) {
        return Wide::Anywhere;
    }
    let (mut wide, mut end) = (Wide::Nowhere, 0);
    for (place, &Instruction { ty, operation }) in code.instructions.iter().enumerate() {
        match operation {
            Operation::Rare { count, .. } => end = end.max(place + 1 + count as usize),
            // They stand before all others, and count where they are read.
            Operation::Constant(_) => {}
            _ if ty.bits() < 64 && !operation.operands().any(is_64) => {}
            _ if place < end => wide = Wide::Rare,
            _ => return Wide::Anywhere,
        }
    }
    wide
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
    set: Set,
    lanes: u32,
    /// Whether values of 64 bits have two registers each, which is where rare ways alone have some: the
    /// others fill theirs.
    is_split: bool,
    /// Which of the two is meant.
    part: usize,
    list: Listing,
    /// Where patterns stand in the pool.
    patterns: HashMap<(u64, u32), Id>,
    /// The steps of each value of the code, one of which has two if it is split; of masks of AVX2 that have a
    /// width of 64 bits, those.
    values: Vec<[Id; 2]>,
    /// The step of each mask of AVX2 whose elements have 32 bits.
    narrow: Vec<Id>,
    widths: Vec<Widths>,
    /// Which negated values are read by others than `a · b + c`, whose instructions negate by themselves.
    needs_negated: Vec<bool>,
    /// Which results of two operands are only computed where a mask selects them, by instructions of
    /// AVX-512.
    is_masked: Vec<bool>,
    /// Which masks of AVX-512 are only read by what can as well read their opposite.
    is_inverted: Vec<bool>,
    /// With which other look-up one of AVX2 for 64 bits is done.
    paired: Vec<Option<Value>>,
    /// Instructions that may be wanted again, and where each open rare way begins among them.
    shared: Vec<(Encoding, Option<u8>, [Id; OPERANDS], Id)>,
    /// Inputs that are parts of elements.
    elements: Parts,
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
                let (mask, is_inverted) = self.asked(mask);
                self.list.push(Act::Rare { count: 0, is_inverted }, [mask, NONE, NONE, NONE], false);
                continue;
            }
            self.value(Value(place as u32));
        }
        self.close(&mut open, self.code.instructions.len());
        // What is read has been read before anything is written over it.
        let code = self.code;
        let stores: Vec<(Act, Id)> = if self.row.writes_parts() {
            let parts = [0, 1].map(|part| self.of(code.results[part]));
            parts::write(&mut self.list, self.set, parts).into()
        } else {
            (0..).zip(&code.results).map(|(index, &value)| self.store(index, value)).collect()
        };
        for (store, id) in stores {
            self.list.push(store, [id, NONE, NONE, NONE], false);
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

    /// Bytes of the register that has a type's elements.
    fn bytes(&self, ty: Type) -> u32 {
        self.bytes_of(ty.bits() == 64)
    }

    /// The same for elements of 32 or 64 bits.
    fn bytes_of(&self, is_64: bool) -> u32 {
        self.lanes * if is_64 && !self.is_split { 8 } else { 4 }
    }

    /// Bytes of the elements of 32 bits that become those of a register with 64, or the other way round.
    fn bytes_beside_64(&self) -> u32 {
        self.bytes_of(true) / 2
    }

    /// The registers of elements of 32 or 64 bits.
    fn parts(&self, is_64: bool) -> std::ops::Range<usize> {
        0..if is_64 && self.is_split { 2 } else { 1 }
    }

    fn encoding(&self, pair: Pair, bytes: u32) -> Encoding {
        pair.encoding(self.set, bytes)
    }

    fn make(&mut self, pair: Pair, bytes: u32, shape: Shape, args: &[Id]) -> Id {
        let encoding = self.encoding(pair, bytes);
        self.list.make(encoding, shape, None, args, (bytes, bytes))
    }

    /// As [`Selection::make`], of one operand in a register of another length; the longer decides about the
    /// encoding.
    fn resize(&mut self, pair: Pair, shape: Shape, a: Id, immediate: Option<u8>, to: u32, from: u32) -> Id {
        let encoding = self.encoding(pair, to.max(from));
        self.list.make(encoding, shape, immediate, &[a], (to.max(16), from.max(16)))
    }

    fn make_with(&mut self, pair: Pair, bytes: u32, shape: Shape, args: &[Id], immediate: u8) -> Id {
        let encoding = self.encoding(pair, bytes);
        self.list.make(encoding, shape, Some(immediate), args, (bytes, bytes))
    }

    /// A pattern in all elements of a register.
    fn constant(&mut self, bits: u64, element_bytes: u32) -> Id {
        if let Some(&id) = self.patterns.get(&(bits, element_bytes)) {
            return id;
        }
        let element = &bits.to_le_bytes()[..element_bytes as usize];
        let id = if self.set == Set::Avx512 {
            let offset = self.list.in_pool(element, element_bytes as usize);
            self.list.push(Act::Constant { offset, element_bytes }, [NONE; OPERANDS], false)
        } else {
            self.list.whole(&element.repeat(32 / element_bytes as usize))
        };
        self.patterns.insert((bits, element_bytes), id);
        id
    }

    fn of(&self, value: Value) -> Id {
        let part = if self.code.ty(value).bits() == 64 { self.part } else { 0 };
        self.values[value.index()][part]
    }

    fn value(&mut self, value: Value) {
        let instruction = self.code.instructions[value.index()];
        if instruction.ty == Type::Mask {
            return self.mask(value, instruction.operation);
        }
        for part in self.parts(instruction.ty.bits() == 64) {
            self.part = part;
            self.part_of(value, instruction);
        }
        self.part = 0;
    }

    fn part_of(&mut self, value: Value, Instruction { ty, operation }: Instruction) {
        let bytes = self.bytes(ty);
        let is_64 = ty.bits() == 64;
        let id = match operation {
            Operation::Input(index) => self.input(index, ty),
            Operation::Constant(bits) => self.constant(bits, if is_64 { 8 } else { 4 }),
            Operation::Unary(Unary::Neg, _) if !self.needs_negated[value.index()] => return,
            Operation::Unary(unary, a) => self.unary(unary, is_64, bytes, self.of(a)),
            Operation::Binary(..) if self.is_masked[value.index()] => return,
            Operation::Binary(binary, a, b) => self.binary(binary, ty, a, b),
            Operation::MulAdd(a, b, c) => {
                let [(a, is_a), (b, is_b), (c, summand)] = [a, b, c].map(|factor| self.unsigned(factor));
                let shape = Shape::MulAdd { is_64, signs: Signs { product: is_a != is_b, summand } };
                self.list.make(Encoding::INVALID, shape, None, &[a, b, c], (bytes, bytes))
            }
            Operation::Select(mask, yes, no) if self.is_inverted[mask.index()] => {
                let (mask, _) = self.asked(mask);
                let mask = self.part_of_mask(mask, is_64);
                self.select(is_64, bytes, mask, self.of(no), self.of(yes))
            }
            Operation::Select(mask, yes, no) => {
                let mask = self.mask_of(mask, is_64);
                match self.code.instructions[yes.index()].operation {
                    Operation::Binary(binary, a, b) if self.is_masked[yes.index()] => {
                        let args = [mask, self.of(a), self.of(b), self.of(no)];
                        self.make(binary_pair(binary, ty).0, bytes, Shape::Masked, &args)
                    }
                    _ => self.select(is_64, bytes, mask, self.of(yes), self.of(no)),
                }
            }
            Operation::Convert(a) => self.convert(a, ty, true),
            Operation::ConvertUnsigned(a) => self.convert(a, ty, false),
            Operation::Bits(a) => self.of(a),
            Operation::Lookup { table, index } if is_64 && self.set == Set::Avx2 => {
                // The one that it goes with has been first.
                if self.values[value.index()][self.part] != NONE {
                    return;
                }
                self.fetch(value, table, self.of(index))
            }
            Operation::Lookup { table, index } => self.lookup(is_64, table as usize, self.of(index)),
            Operation::Compare(..) | Operation::Rare { .. } => unreachable!("they have masks"),
        };
        self.values[value.index()][self.part] = id;
    }

    fn input(&mut self, input: u32, ty: Type) -> Id {
        let bytes = ty.bits() / 8;
        if matches!(self.row.reads[input as usize], Read::Splat | Read::Number) {
            return self.list.push(Act::Splat { input, bytes }, [NONE; OPERANDS], false);
        }
        if let Some((first, is_second)) = self.row.part(input) {
            return self.elements.read(&mut self.list, self.set, first, is_second);
        }
        let pair = match bytes {
            1 => pair!(VEX_Vpmovzxbd_xmm_xmmm32, EVEX_Vpmovzxbd_xmm_k1z_xmmm32),
            2 => pair!(VEX_Vpmovzxwd_xmm_xmmm64, EVEX_Vpmovzxwd_xmm_k1z_xmmm64),
            4 => pair!(VEX_Vmovups_xmm_xmmm128, EVEX_Vmovups_xmm_k1z_xmmm128),
            _ => pair!(VEX_Vmovupd_xmm_xmmm128, EVEX_Vmovupd_xmm_k1z_xmmm128),
        };
        let register_bytes = self.bytes(ty);
        let encoding = self.encoding(pair, register_bytes);
        let make = moved(encoding, register_bytes);
        self.list.push(Act::Load { input, bytes, offset: 0, make }, [NONE; OPERANDS], false)
    }

    /// The step of a value but for its sign, and whether that is flipped.
    fn unsigned(&self, value: Value) -> (Id, bool) {
        match self.code.instructions[value.index()].operation {
            Operation::Unary(Unary::Neg, a) => (self.of(a), true),
            _ => (self.of(value), false),
        }
    }

    fn unary(&mut self, unary: Unary, is_64: bool, bytes: u32, a: Id) -> Id {
        let round = by_width(
            is_64,
            pair!(VEX_Vroundps_xmm_xmmm128_imm8, EVEX_Vrndscaleps_xmm_k1z_xmmm128b32_imm8),
            pair!(VEX_Vroundpd_xmm_xmmm128_imm8, EVEX_Vrndscalepd_xmm_k1z_xmmm128b64_imm8),
        );
        let (pair, immediate) = match unary {
            Unary::Neg => {
                let sign = if is_64 { self.constant(1 << 63, 8) } else { self.constant(1 << 31, 4) };
                let pair = by_width(
                    is_64,
                    pair!(VEX_Vpxor_xmm_xmm_xmmm128, EVEX_Vpxord_xmm_k1z_xmm_xmmm128b32),
                    pair!(VEX_Vpxor_xmm_xmm_xmmm128, EVEX_Vpxorq_xmm_k1z_xmm_xmmm128b64),
                );
                return self.make(pair, bytes, Shape::Binary { commutes: true }, &[a, sign]);
            }
            Unary::Sqrt => {
                let single = pair!(VEX_Vsqrtps_xmm_xmmm128, EVEX_Vsqrtps_xmm_k1z_xmmm128b32);
                let double = pair!(VEX_Vsqrtpd_xmm_xmmm128, EVEX_Vsqrtpd_xmm_k1z_xmmm128b64);
                (by_width(is_64, single, double), None)
            }
            Unary::InverseRoot => {
                let single = pair!(-, EVEX_Vrsqrt14ps_xmm_k1z_xmmm128b32);
                let double = pair!(-, EVEX_Vrsqrt14pd_xmm_k1z_xmmm128b64);
                (by_width(is_64, single, double), None)
            }
            // Bit 3: without exceptions.
            Unary::RoundTiesEven => (round, Some(8)),
            Unary::Floor => (round, Some(9)),
            Unary::Ceil => (round, Some(10)),
            Unary::Trunc => (round, Some(11)),
            Unary::Exponent => {
                let single = pair!(-, EVEX_Vgetexpps_xmm_k1z_xmmm128b32);
                let double = pair!(-, EVEX_Vgetexppd_xmm_k1z_xmmm128b64);
                (by_width(is_64, single, double), None)
            }
            Unary::Significand => {
                let single = pair!(-, EVEX_Vgetmantps_xmm_k1z_xmmm128b32_imm8);
                let double = pair!(-, EVEX_Vgetmantpd_xmm_k1z_xmmm128b64_imm8);
                (by_width(is_64, single, double), Some(0))
            }
            Unary::Abs | Unary::Not => unreachable!("it is lowered, or has a mask"),
        };
        let encoding = self.encoding(pair, bytes);
        self.list.make(encoding, Shape::Unary, immediate, &[a], (bytes, bytes))
    }

    fn binary(&mut self, binary: Binary, ty: Type, a: Value, b: Value) -> Id {
        let (bytes, is_64) = (self.bytes(ty), ty.bits() == 64);
        if let Some(immediate) = self.shift_count(binary, b) {
            return self.shift(binary, is_64, bytes, self.of(a), immediate);
        }
        let args = [self.of(a), self.of(b)];
        if ty == Type::W64 && binary == Binary::Mul && self.set == Set::Avx2 {
            return self.product_64(bytes, args);
        }
        let (pair, commutes) = binary_pair(binary, ty);
        self.make(pair, bytes, Shape::Binary { commutes }, &args)
    }

    /// The constant by which a word is shifted.
    fn shift_count(&self, binary: Binary, b: Value) -> Option<u8> {
        match self.code.instructions[b.index()].operation {
            Operation::Constant(count)
                if matches!(binary, Binary::ShiftLeft | Binary::ShiftRight | Binary::ShiftRightSigned) =>
            {
                Some(count.min(255) as u8)
            }
            _ => None,
        }
    }

    fn shift(&mut self, binary: Binary, is_64: bool, bytes: u32, a: Id, count: u8) -> Id {
        let pair = match binary {
            Binary::ShiftLeft => by_width(
                is_64,
                pair!(VEX_Vpslld_xmm_xmm_imm8, EVEX_Vpslld_xmm_k1z_xmmm128b32_imm8),
                pair!(VEX_Vpsllq_xmm_xmm_imm8, EVEX_Vpsllq_xmm_k1z_xmmm128b64_imm8),
            ),
            Binary::ShiftRight => by_width(
                is_64,
                pair!(VEX_Vpsrld_xmm_xmm_imm8, EVEX_Vpsrld_xmm_k1z_xmmm128b32_imm8),
                pair!(VEX_Vpsrlq_xmm_xmm_imm8, EVEX_Vpsrlq_xmm_k1z_xmmm128b64_imm8),
            ),
            _ => by_width(
                is_64,
                pair!(VEX_Vpsrad_xmm_xmm_imm8, EVEX_Vpsrad_xmm_k1z_xmmm128b32_imm8),
                pair!(-, EVEX_Vpsraq_xmm_k1z_xmmm128b64_imm8),
            ),
        };
        let shape = if self.set == Set::Avx2 { Shape::Register } else { Shape::Unary };
        let encoding = self.encoding(pair, bytes);
        self.shared(encoding, shape, Some(count), &[a], (bytes, bytes))
    }

    /// The same, once for all who want it: what look-ups and products of long words are made of.
    fn shared(
        &mut self,
        encoding: Encoding,
        shape: Shape,
        immediate: Option<u8>,
        args: &[Id],
        sizes: (u32, u32),
    ) -> Id {
        let mut all = [NONE; OPERANDS];
        all[..args.len()].copy_from_slice(args);
        let is_same = |&&(e, i, a, _): &&(Encoding, Option<u8>, [Id; OPERANDS], Id)| {
            e == encoding && i == immediate && a == all
        };
        if let Some(&(.., id)) = self.shared.iter().find(is_same) {
            return id;
        }
        let id = self.list.make(encoding, shape, immediate, args, sizes);
        self.shared.push((encoding, immediate, all, id));
        id
    }

    /// A product of words of 64 bits from products of their halves.
    fn product_64(&mut self, bytes: u32, [a, b]: [Id; 2]) -> Id {
        let multiply = pair!(VEX_Vpmuludq_xmm_xmm_xmmm128, EVEX_Vpmuludq_xmm_k1z_xmm_xmmm128b64);
        let add = pair!(VEX_Vpaddq_xmm_xmm_xmmm128, EVEX_Vpaddq_xmm_k1z_xmm_xmmm128b64);
        let commutes = Shape::Binary { commutes: true };
        let high_a = self.shift(Binary::ShiftRight, true, bytes, a, 32);
        let high_b = self.shift(Binary::ShiftRight, true, bytes, b, 32);
        let first = self.make(multiply, bytes, commutes, &[high_a, b]);
        let second = self.make(multiply, bytes, commutes, &[high_b, a]);
        let high = self.make(add, bytes, commutes, &[first, second]);
        let high = self.shift(Binary::ShiftLeft, true, bytes, high, 32);
        let low = self.make(multiply, bytes, commutes, &[a, b]);
        self.make(add, bytes, commutes, &[low, high])
    }

    /// `yes` where the mask holds.
    fn select(&mut self, is_64: bool, bytes: u32, mask: Id, yes: Id, no: Id) -> Id {
        let pair = by_width(
            is_64,
            pair!(VEX_Vblendvps_xmm_xmm_xmmm128_xmm, EVEX_Vblendmps_xmm_k1z_xmm_xmmm128b32),
            pair!(VEX_Vblendvpd_xmm_xmm_xmmm128_xmm, EVEX_Vblendmpd_xmm_k1z_xmm_xmmm128b64),
        );
        self.make(pair, bytes, Shape::Select, &[mask, yes, no])
    }

    fn convert(&mut self, value: Value, to: Type, is_signed: bool) -> Id {
        if !self.is_split || to.bits() == 64 || self.code.ty(value).bits() < 64 {
            return self.converted(value, to, is_signed);
        }
        let [low, high] = [0, 1].map(|part| {
            self.part = part;
            self.converted(value, to, is_signed)
        });
        self.part = 0;
        self.joined(low, high)
    }

    /// One register of the same.
    fn converted(&mut self, value: Value, to: Type, is_signed: bool) -> Id {
        let (from, mut a) = (self.code.ty(value), self.of(value));
        if self.part == 1 && from.bits() < 64 {
            a = self.upper_half(a);
        }
        let bytes = self.bytes(Type::F32);
        let pair = match (from, to) {
            (Type::W16, Type::W32) if self.is_packed(value) => {
                let pair = pair!(VEX_Vpmovzxwd_xmm_xmmm64, EVEX_Vpmovzxwd_xmm_k1z_xmmm64);
                return self.resize(pair, Shape::Register, a, None, bytes, bytes / 2);
            }
            // Inputs have been widened, and results are stored without what they lack.
            (Type::W8 | Type::W16, _) | (_, Type::W8 | Type::W16) => return a,
            (Type::F16, _) => {
                let pair = pair!(VEX_Vcvtph2ps_xmm_xmmm64, EVEX_Vcvtph2ps_xmm_k1z_xmmm64);
                if let Act::Load { input, bytes: own, offset, make } = self.list.steps[a as usize].act {
                    let make = Make { encoding: self.encoding(pair, bytes), ..make };
                    return self.list.push(
                        Act::Load { input, bytes: own, offset, make },
                        [NONE; OPERANDS],
                        false,
                    );
                }
                let halves = if self.is_packed(value) { a } else { self.packed_words(bytes, a) };
                return self.resize(pair, Shape::Register, halves, None, bytes, bytes / 2);
            }
            (_, Type::F16) => {
                let pair = pair!(VEX_Vcvtps2ph_xmmm64_xmm_imm8, EVEX_Vcvtps2ph_xmmm64_k1z_xmm_imm8);
                return self.resize(pair, Shape::Register, a, Some(0), bytes / 2, bytes);
            }
            (Type::F32, Type::F64) => pair!(VEX_Vcvtps2pd_xmm_xmmm64, EVEX_Vcvtps2pd_xmm_k1z_xmmm64b32),
            (Type::F64, Type::F32) => pair!(VEX_Vcvtpd2ps_xmm_xmmm128, EVEX_Vcvtpd2ps_xmm_k1z_xmmm128b64),
            (Type::F32, Type::W32) => pair!(VEX_Vcvttps2dq_xmm_xmmm128, EVEX_Vcvttps2dq_xmm_k1z_xmmm128b32),
            (Type::F64, Type::W32) => pair!(VEX_Vcvttpd2dq_xmm_xmmm128, EVEX_Vcvttpd2dq_xmm_k1z_xmmm128b64),
            (Type::F32, Type::W64) => pair!(-, EVEX_Vcvttps2qq_xmm_k1z_xmmm64b32),
            (Type::F64, Type::W64) => pair!(-, EVEX_Vcvttpd2qq_xmm_k1z_xmmm128b64),
            (Type::W32, Type::F32) if is_signed => {
                pair!(VEX_Vcvtdq2ps_xmm_xmmm128, EVEX_Vcvtdq2ps_xmm_k1z_xmmm128b32)
            }
            (Type::W32, Type::F64) if is_signed => {
                pair!(VEX_Vcvtdq2pd_xmm_xmmm64, EVEX_Vcvtdq2pd_xmm_k1z_xmmm64b32)
            }
            (Type::W64, Type::F32) if is_signed => pair!(-, EVEX_Vcvtqq2ps_xmm_k1z_xmmm128b64),
            (Type::W64, Type::F64) if is_signed => pair!(-, EVEX_Vcvtqq2pd_xmm_k1z_xmmm128b64),
            (Type::W32, Type::F32) => pair!(-, EVEX_Vcvtudq2ps_xmm_k1z_xmmm128b32),
            (Type::W32, Type::F64) => pair!(-, EVEX_Vcvtudq2pd_xmm_k1z_xmmm64b32),
            (Type::W64, Type::F32) => pair!(-, EVEX_Vcvtuqq2ps_xmm_k1z_xmmm128b64),
            (Type::W64, Type::F64) => pair!(-, EVEX_Vcvtuqq2pd_xmm_k1z_xmmm128b64),
            (Type::W32, Type::W64) if is_signed => {
                pair!(VEX_Vpmovsxdq_xmm_xmmm64, EVEX_Vpmovsxdq_xmm_k1z_xmmm64)
            }
            (Type::W32, Type::W64) => pair!(VEX_Vpmovzxdq_xmm_xmmm64, EVEX_Vpmovzxdq_xmm_k1z_xmmm64),
            (Type::W64, Type::W32) => return self.low_halves(a),
            _ => unreachable!("the verifier knows no other conversion"),
        };
        let is_resized = (from.bits() == 64) != (to.bits() == 64);
        let size = |ty: Type| {
            if is_resized && ty.bits() < 64 { self.bytes_beside_64() } else { self.bytes(ty) }
        };
        self.resize(pair, Shape::Unary, a, None, size(to), size(from))
    }

    /// The elements of two registers' lower halves, in one.
    fn joined(&mut self, low: Id, high: Id) -> Id {
        let (encoding, immediate) = match self.set {
            Set::Avx2 => (Encoding::VEX_Vperm2i128_ymm_ymm_ymmm256_imm8, 0x20),
            Set::Avx512 => (Encoding::EVEX_Vshufi64x2_zmm_k1z_zmm_zmmm512b64_imm8, 0x44),
        };
        let bytes = self.set.vector_bytes();
        let shape = Shape::Binary { commutes: false };
        self.list.make(encoding, shape, Some(immediate), &[low, high], (bytes, bytes))
    }

    /// Whether a register has words of 16 bits side by side: those that an instruction has made `f16`.
    fn is_packed(&self, value: Value) -> bool {
        match self.code.instructions[value.index()].operation {
            Operation::Bits(a) => self.is_packed(a),
            Operation::Convert(_) => self.code.ty(value) == Type::F16,
            _ => false,
        }
    }

    /// The low halves of elements of 64 bits.
    fn low_halves(&mut self, a: Id) -> Id {
        if self.set == Set::Avx512 {
            return self.resize(pair!(-, EVEX_Vpmovqd_xmmm64_k1z_xmm), Shape::Register, a, None, 32, 64);
        }
        let high = self.upper_half(a);
        let shuffle = Encoding::VEX_Vshufps_xmm_xmm_xmmm128_imm8;
        self.list.make(shuffle, Shape::Binary { commutes: false }, Some(0x88), &[a, high], (16, 16))
    }

    /// The upper half of a whole register.
    fn upper_half(&mut self, a: Id) -> Id {
        let encoding = match self.set {
            Set::Avx2 => Encoding::VEX_Vextracti128_xmmm128_ymm_imm8,
            Set::Avx512 => Encoding::EVEX_Vextracti64x4_ymmm256_k1z_zmm_imm8,
        };
        let bytes = self.set.vector_bytes();
        self.list.make(encoding, Shape::Register, Some(1), &[a], (bytes / 2, bytes))
    }

    /// The low halves of elements of 32 bits, in a register of this length.
    fn packed_words(&mut self, bytes: u32, a: Id) -> Id {
        if self.set == Set::Avx512 {
            let pair = pair!(-, EVEX_Vpmovdw_xmmm64_k1z_xmm);
            return self.resize(pair, Shape::Register, a, None, bytes / 2, bytes);
        }
        let packed = self.shuffled(bytes, a, [0, 1, 4, 5, 8, 9, 12, 13]);
        if bytes == 16 {
            return packed;
        }
        self.list.make(Encoding::VEX_Vpermq_ymm_ymmm256_imm8, Shape::Register, Some(8), &[packed], (32, 32))
    }

    /// The lowest bytes of elements of 32 bits, in AVX2.
    fn packed_bytes(&mut self, bytes: u32, a: Id) -> Id {
        let packed = self.shuffled(bytes, a, [0, 4, 8, 12, 255, 255, 255, 255]);
        if bytes == 16 {
            return packed;
        }
        let high = self.upper_half(packed);
        let join = Encoding::VEX_Vpunpckldq_xmm_xmm_xmmm128;
        self.list.make(join, Shape::Binary { commutes: false }, None, &[packed, high], (16, 16))
    }

    /// Moves bytes within each 16; those beyond the eight become zero.
    fn shuffled(&mut self, bytes: u32, a: Id, from: [u8; 8]) -> Id {
        let mut order = [255; 16];
        order[..8].copy_from_slice(&from);
        let order = self.list.whole(&order.repeat(2));
        let pair = pair!(VEX_Vpshufb_xmm_xmm_xmmm128, EVEX_Vpshufb_xmm_k1z_xmm_xmmm128);
        self.make(pair, bytes, Shape::Binary { commutes: false }, &[a, order])
    }

    fn lookup(&mut self, is_64: bool, table: usize, index: Id) -> Id {
        let element = |bits: &u64| bits.to_le_bytes()[..if is_64 { 8 } else { 4 }].to_vec();
        let table: Vec<u8> = self.code.tables[table].iter().flat_map(element).collect();
        let registers = table.chunks(self.set.vector_bytes() as usize);
        let registers: Vec<Id> = registers.map(|part| self.list.whole(part)).collect();
        let binary = Shape::Binary { commutes: false };
        match (self.set, is_64) {
            (Set::Avx512, false) => {
                let permute = Encoding::EVEX_Vpermps_zmm_k1z_zmm_zmmm512b32;
                self.list.make(permute, binary, None, &[index, registers[0]], (64, 64))
            }
            (Set::Avx512, true) => {
                let permute = Encoding::EVEX_Vpermi2pd_zmm_k1z_zmm_zmmm512b64;
                let args = [index, registers[0], registers[1]];
                self.list.make(permute, Shape::Overwriting, None, &args, (64, 64))
            }
            (Set::Avx2, _) => {
                let permute = Encoding::VEX_Vpermps_ymm_ymm_ymmm256;
                let [low, high] = [0, 1]
                    .map(|half| self.list.make(permute, binary, None, &[index, registers[half]], (32, 32)));
                // Permutations know three bits of the index; the fourth chooses among their answers.
                let bytes = self.bytes_of(false);
                let sign = self.shift(Binary::ShiftLeft, false, bytes, index, 28);
                self.select(false, bytes, sign, high, low)
            }
        }
    }

    /// A look-up of 64 bits by AVX2, and the one that is done with it: the numbers that two tables have at a
    /// place stand side by side in memory, and are read together.
    fn fetch(&mut self, value: Value, table: u32, index: Id) -> Id {
        let second = self.paired[value.index()];
        let other = match second.map(|second| self.code.instructions[second.index()].operation) {
            Some(Operation::Lookup { table, .. }) => table,
            _ => table,
        };
        let [table, other] = [table, other].map(|table| &self.code.tables[table as usize]);
        let pairs: Vec<u8> =
            table.iter().zip(other).flat_map(|(a, b)| [a, b]).flat_map(|bits| bits.to_le_bytes()).collect();
        let table = self.list.in_pool(&pairs, 16);
        let bytes = self.set.vector_bytes();
        let (whole, half) = ((bytes, bytes), (bytes / 2, bytes));
        // The four lowest bits of the index, times the bytes of two numbers.
        let place = self.shift(Binary::ShiftLeft, true, bytes, index, 60);
        let place = self.shift(Binary::ShiftRight, true, bytes, place, 56);
        let pool = self.shared(Encoding::INVALID, Shape::Pool, None, &[], whole);
        let (add, sum) = (Encoding::VEX_Vpaddq_ymm_ymm_ymmm256, Shape::Binary { commutes: true });
        let low = self.shared(add, sum, None, &[place, pool], whole);
        let extract = Encoding::VEX_Vextracti128_xmmm128_ymm_imm8;
        let high = self.shared(extract, Shape::Register, Some(1), &[low], half);
        let [even, odd] = [false, true].map(|is_odd| {
            let shape = Shape::Fetch { table, is_odd };
            self.list.make(Encoding::INVALID, shape, None, &[low, high], (bytes, bytes / 2))
        });
        let mut unpacked =
            |encoding| self.list.make(encoding, Shape::Binary { commutes: false }, None, &[even, odd], whole);
        let own = unpacked(Encoding::VEX_Vunpcklpd_ymm_ymm_ymmm256);
        if let Some(second) = second {
            self.values[second.index()][self.part] = unpacked(Encoding::VEX_Vunpckhpd_ymm_ymm_ymmm256);
        }
        own
    }

    /// The mask as selections of elements of 32 or 64 bits want it.
    fn mask_of(&mut self, mask: Value, is_64: bool) -> Id {
        match self.set {
            Set::Avx512 => self.part_of_mask(self.of(mask), is_64),
            Set::Avx2 if is_64 => self.values[mask.index()][self.part],
            Set::Avx2 => self.narrow[mask.index()],
        }
    }

    /// The bits of a mask of AVX-512 for the elements of a register.
    fn part_of_mask(&mut self, mask: Id, is_64: bool) -> Id {
        if is_64 && self.part == 1 {
            self.shared(Encoding::VEX_Kshiftrw_kr_kr_imm8, Shape::Register, Some(8), &[mask], (0, 0))
        } else {
            mask
        }
    }

    /// The mask that a rare way asks, in a width that it has, and whether it asks for the opposite.
    fn asked(&self, mask: Value) -> (Id, bool) {
        match self.code.instructions[mask.index()].operation {
            Operation::Unary(_, a) if self.is_inverted[mask.index()] => (self.of(a), true),
            _ if self.set == Set::Avx2 && (self.is_split || self.of(mask) == NONE) => {
                (self.narrow[mask.index()], false)
            }
            _ => (self.of(mask), false),
        }
    }

    fn mask(&mut self, value: Value, operation: Operation) {
        if self.set == Set::Avx512 {
            if !self.is_masked[value.index()] && !self.is_inverted[value.index()] {
                self.values[value.index()][0] = self.mask_register(operation);
            }
            return;
        }
        let widths = self.widths[value.index()];
        let is_64 = match operation {
            Operation::Compare(_, a, _) => self.code.ty(a).bits() == 64,
            _ => widths.own() == 64,
        };
        let mut own = [NONE; 2];
        for part in self.parts(is_64) {
            self.part = part;
            own[part] = match operation {
                Operation::Compare(compare, a, b) => {
                    self.compare_vectors(compare, self.code.ty(a), self.of(a), self.of(b))
                }
                operation => self.mask_vector(operation, is_64),
            };
        }
        self.part = 0;
        let (mut wide, mut narrow) = if is_64 { (own, NONE) } else { ([NONE; 2], own[0]) };
        if widths.is_64 && !is_64 {
            let extend = pair!(VEX_Vpmovsxdq_xmm_xmmm64, EVEX_Vpmovsxdq_xmm_k1z_xmmm64);
            for part in self.parts(true) {
                let half = if part == 1 { self.upper_half(own[0]) } else { own[0] };
                let (to, from) = (self.bytes_of(true), self.bytes_beside_64());
                wide[part] = self.resize(extend, Shape::Register, half, None, to, from);
            }
        }
        if widths.is_32 && is_64 {
            narrow = self.low_halves(own[0]);
            if self.is_split {
                let high = self.low_halves(own[1]);
                narrow = self.joined(narrow, high);
            }
        }
        self.values[value.index()] = wide;
        self.narrow[value.index()] = narrow;
    }

    /// The encoding of a comparison of AVX-512, and bytes of its operands' registers.
    fn comparison(&self, compare: Compare, ty: Type) -> (Encoding, u32) {
        let is_64 = ty.bits() == 64;
        let encoding = match compare {
            _ if ty.is_float() && is_64 => Encoding::EVEX_Vcmppd_kr_k1_xmm_xmmm128b64_imm8,
            _ if ty.is_float() => Encoding::EVEX_Vcmpps_kr_k1_xmm_xmmm128b32_imm8,
            Compare::Below if is_64 => Encoding::EVEX_Vpcmpuq_kr_k1_xmm_xmmm128b64_imm8,
            Compare::Below => Encoding::EVEX_Vpcmpud_kr_k1_xmm_xmmm128b32_imm8,
            _ if is_64 => Encoding::EVEX_Vpcmpq_kr_k1_xmm_xmmm128b64_imm8,
            _ => Encoding::EVEX_Vpcmpd_kr_k1_xmm_xmmm128b32_imm8,
        };
        (at_length(encoding, self.bytes(ty)), self.bytes(ty))
    }

    /// A mask of AVX-512.
    fn mask_register(&mut self, operation: Operation) -> Id {
        let is_16 = self.lanes == 16;
        match operation {
            Operation::Compare(compare, a, b) => {
                let ty = self.code.ty(a);
                let (encoding, size) = self.comparison(compare, ty);
                let immediate = predicate(compare, ty.is_float());
                let shape = Shape::Binary { commutes: compare == Compare::Eq };
                let mut masks = [NONE; 2];
                for part in self.parts(ty.bits() == 64) {
                    self.part = part;
                    let args = [self.of(a), self.of(b)];
                    masks[part] = self.list.make(encoding, shape, Some(immediate), &args, (0, size));
                }
                self.part = 0;
                match masks {
                    [mask, NONE] => mask,
                    [low, high] => {
                        let unpack = Encoding::VEX_Kunpckbw_kr_kr_kr;
                        self.list.make(unpack, Shape::Masks, None, &[high, low], (0, 0))
                    }
                }
            }
            Operation::Binary(Binary::And, a, b)
                if self.is_masked[a.index()] || self.is_masked[b.index()] =>
            {
                let (mask, compared) = if self.is_masked[b.index()] { (a, b) } else { (b, a) };
                let Operation::Compare(compare, a, b) = self.code.instructions[compared.index()].operation
                else {
                    unreachable!("it is a comparison that is masked")
                };
                let (encoding, size) = self.comparison(compare, self.code.ty(a));
                let immediate = predicate(compare, self.code.ty(a).is_float());
                let args = [self.of(mask), self.of(a), self.of(b)];
                self.list.make(encoding, Shape::MaskedCompare, Some(immediate), &args, (0, size))
            }
            Operation::Constant(bits) => {
                // Equal to itself, or never.
                let zero = self.constant(0, 4);
                let encoding = at_length(Encoding::EVEX_Vpcmpd_kr_k1_xmm_xmmm128b32_imm8, self.lanes * 4);
                let immediate = if bits == 0 { 3 } else { 0 };
                let shape = Shape::Binary { commutes: true };
                self.list.make(encoding, shape, Some(immediate), &[zero, zero], (0, self.lanes * 4))
            }
            Operation::Unary(_, a) => {
                let encoding = if is_16 { Encoding::VEX_Knotw_kr_kr } else { Encoding::VEX_Knotb_kr_kr };
                self.list.make(encoding, Shape::Register, None, &[self.of(a)], (0, 0))
            }
            Operation::Binary(binary, a, b) => {
                let encoding = match (binary, is_16) {
                    (Binary::And, true) => Encoding::VEX_Kandw_kr_kr_kr,
                    (Binary::And, false) => Encoding::VEX_Kandb_kr_kr_kr,
                    (Binary::Or, true) => Encoding::VEX_Korw_kr_kr_kr,
                    (Binary::Or, false) => Encoding::VEX_Korb_kr_kr_kr,
                    (_, true) => Encoding::VEX_Kxorw_kr_kr_kr,
                    (_, false) => Encoding::VEX_Kxorb_kr_kr_kr,
                };
                self.list.make(encoding, Shape::Masks, None, &[self.of(a), self.of(b)], (0, 0))
            }
            Operation::Select(mask, yes, no) => {
                let args = [self.of(mask), self.of(yes), self.of(no)];
                self.list.make(Encoding::INVALID, Shape::MaskSelect, None, &args, (0, 0))
            }
            _ => unreachable!("the verifier knows no other mask"),
        }
    }

    /// A mask of AVX2 from others of the same width.
    fn mask_vector(&mut self, operation: Operation, is_64: bool) -> Id {
        let bytes = self.bytes_of(is_64);
        let commutes = Shape::Binary { commutes: true };
        match operation {
            Operation::Constant(bits) => self.constant(if bits == 0 { 0 } else { u32::MAX.into() }, 4),
            Operation::Unary(_, a) => {
                let ones = self.constant(u32::MAX.into(), 4);
                let xor = pair!(VEX_Vpxor_xmm_xmm_xmmm128, EVEX_Vpxord_xmm_k1z_xmm_xmmm128b32);
                let mask = self.mask_of(a, is_64);
                self.make(xor, bytes, commutes, &[mask, ones])
            }
            Operation::Binary(binary, a, b) => {
                let pair = match binary {
                    Binary::And => pair!(VEX_Vpand_xmm_xmm_xmmm128, EVEX_Vpandd_xmm_k1z_xmm_xmmm128b32),
                    Binary::Or => pair!(VEX_Vpor_xmm_xmm_xmmm128, EVEX_Vpord_xmm_k1z_xmm_xmmm128b32),
                    _ => pair!(VEX_Vpxor_xmm_xmm_xmmm128, EVEX_Vpxord_xmm_k1z_xmm_xmmm128b32),
                };
                let masks = [a, b].map(|mask| self.mask_of(mask, is_64));
                self.make(pair, bytes, commutes, &masks)
            }
            Operation::Select(mask, yes, no) => {
                let [mask, yes, no] = [mask, yes, no].map(|value| self.mask_of(value, is_64));
                self.select(is_64, bytes, mask, yes, no)
            }
            _ => unreachable!("the verifier knows no other mask"),
        }
    }

    /// A comparison of AVX2.
    fn compare_vectors(&mut self, compare: Compare, ty: Type, a: Id, b: Id) -> Id {
        let (is_64, bytes) = (ty.bits() == 64, self.bytes(ty));
        if ty.is_float() {
            let pair = by_width(
                is_64,
                pair!(VEX_Vcmpps_xmm_xmm_xmmm128_imm8, EVEX_Vcmpps_kr_k1_xmm_xmmm128b32_imm8),
                pair!(VEX_Vcmppd_xmm_xmm_xmmm128_imm8, EVEX_Vcmppd_kr_k1_xmm_xmmm128b64_imm8),
            );
            let shape = Shape::Binary { commutes: compare == Compare::Eq };
            return self.make_with(pair, bytes, shape, &[a, b], predicate(compare, true));
        }
        if compare == Compare::Eq {
            let pair = by_width(
                is_64,
                pair!(VEX_Vpcmpeqd_xmm_xmm_xmmm128, EVEX_Vpcmpeqd_kr_k1_xmm_xmmm128b32),
                pair!(VEX_Vpcmpeqq_xmm_xmm_xmmm128, EVEX_Vpcmpeqq_kr_k1_xmm_xmmm128b64),
            );
            return self.make(pair, bytes, Shape::Binary { commutes: true }, &[a, b]);
        }
        let pair = by_width(
            is_64,
            pair!(VEX_Vpcmpgtd_xmm_xmm_xmmm128, EVEX_Vpcmpgtd_kr_k1_xmm_xmmm128b32),
            pair!(VEX_Vpcmpgtq_xmm_xmm_xmmm128, EVEX_Vpcmpgtq_kr_k1_xmm_xmmm128b64),
        );
        self.make(pair, bytes, Shape::Binary { commutes: false }, &[b, a])
    }

    /// The writing of a result, and what is written: the value as memory has it.
    fn store(&mut self, result: u32, value: Value) -> (Act, Id) {
        let (id, ty) = (self.of(value), self.code.ty(value));
        let (own, bytes) = (self.bytes(ty), ty.bits() / 8);
        let is_non_temporal = self.row.writes[result as usize] == Write::NonTemporal;
        let total = bytes * self.lanes;
        let has_words = self.is_packed(value);
        let is_packed = self.set == Set::Avx2 || is_non_temporal && total >= 16 || has_words;
        let packed = match bytes {
            _ if has_words => id,
            1 if self.set == Set::Avx2 => self.packed_bytes(own, id),
            1 if is_packed => {
                let pair = pair!(-, EVEX_Vpmovdb_xmmm32_k1z_xmm);
                self.resize(pair, Shape::Register, id, None, own / 4, own)
            }
            2 if is_packed => self.packed_words(own, id),
            _ => id,
        };
        let encoding = match (self.set, bytes) {
            (Set::Avx2, _) if total == 4 => Encoding::VEX_Vmovd_rm32_xmm,
            (Set::Avx2, _) if total == 8 => Encoding::VEX_Vmovq_xmmm64_xmm,
            (Set::Avx2, _) => at_length(Encoding::VEX_Vmovups_xmmm128_xmm, total),
            (_, 1) if is_packed => at_length(Encoding::EVEX_Vmovdqu8_xmmm128_k1z_xmm, total),
            (_, 2) if is_packed => at_length(Encoding::EVEX_Vmovdqu16_xmmm128_k1z_xmm, total),
            (_, 1) => at_length(Encoding::EVEX_Vpmovdb_xmmm32_k1z_xmm, own),
            (_, 2) => at_length(Encoding::EVEX_Vpmovdw_xmmm64_k1z_xmm, own),
            (_, 4) => at_length(Encoding::EVEX_Vmovups_xmmm128_k1z_xmm, own),
            _ => at_length(Encoding::EVEX_Vmovupd_xmmm128_k1z_xmm, own),
        };
        let register_bytes = if is_packed { total.max(16) } else { own };
        (Act::Store { result, bytes, offset: 0, make: moved(encoding, register_bytes) }, packed)
    }
}
