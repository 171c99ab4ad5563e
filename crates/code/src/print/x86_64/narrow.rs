//! Owns the choice of instructions for codes that have no words but of 8 and 16 bits: a register has as many
//! elements as it has bytes, or half as many if some have 16 bits. What has no instruction here makes the
//! code one of 32 bits (`wide.rs`).

use iced_x86::Code as Encoding;

use super::Set;
use super::encodings::{Pair, at_length, pair, predicate};
use super::steps::{Act, Listing, Shape, Steps, moved};
use crate::code::{Binary, Code, Compare, Operation, Type, Unary, Value};
use crate::print::steps::{Id, NONE, OPERANDS};
use crate::row::{Read, Row};

const COMMUTES: Shape = Shape::Binary { commutes: true };
const IN_ORDER: Shape = Shape::Binary { commutes: false };

/// The steps of a row; `None` if its code needs wider words.
pub(super) fn steps(row: &Row, set: Set) -> Option<Steps> {
    let code = &row.code;
    let widest = code.instructions.iter().map(|instruction| instruction.ty.bytes()).max()?;
    if widest > 2 {
        return None;
    }
    let mut selection = Selection {
        code,
        set,
        lanes: set.vector_bytes() / widest,
        list: Listing::default(),
        values: vec![NONE; code.instructions.len()],
        widths: vec![0; code.instructions.len()],
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
        let total = bytes * selection.lanes;
        let moves = pair!(VEX_Vmovdqu_xmmm128_xmm, EVEX_Vmovdqu8_xmmm128_k1z_xmm);
        let words = pair!(VEX_Vmovdqu_xmmm128_xmm, EVEX_Vmovdqu16_xmmm128_k1z_xmm);
        let encoding = if bytes == 1 { moves } else { words }.encoding(set, total);
        let store = Act::Store { result, bytes, offset: 0, make: moved(encoding, total) };
        selection.list.push(store, [id, NONE, NONE, NONE], false);
    }
    Some(selection.list.finish(selection.lanes))
}

struct Selection<'a> {
    code: &'a Code,
    set: Set,
    lanes: u32,
    list: Listing,
    /// The step of each value.
    values: Vec<Id>,
    /// Bytes of an element of each mask of AVX2, which is a vector of zeros and ones.
    widths: Vec<u32>,
}

impl Selection<'_> {
    fn of(&self, value: Value) -> Id {
        self.values[value.index()]
    }

    fn operation(&self, value: Value) -> Operation {
        self.code.instructions[value.index()].operation
    }

    /// An instruction on registers that have elements of so many bytes.
    fn make(&mut self, pair: Pair, shape: Shape, args: &[Id], bytes: u32) -> Id {
        let size = self.lanes * bytes;
        self.list.make(pair.encoding(self.set, size), shape, None, args, (size, size))
    }

    /// A pattern in all elements of a register.
    fn constant(&mut self, bits: u64, bytes: u32) -> Id {
        let element = &bits.to_le_bytes()[..bytes as usize];
        self.list.whole(&element.repeat((self.set.vector_bytes() / bytes) as usize))
    }

    fn value(&mut self, row: &Row, value: Value) -> Option<Id> {
        let ty = self.code.ty(value);
        let bytes = ty.bytes();
        Some(match self.operation(value) {
            Operation::Input(input) => self.input(row, input, bytes),
            Operation::Constant(bits) if ty == Type::Mask => self.known_mask(value, bits),
            Operation::Constant(bits) => self.constant(bits, bytes),
            Operation::Unary(Unary::Not, a) if ty == Type::Mask => self.opposite(value, a)?,
            Operation::Unary(Unary::Not, a) => {
                let ones = self.constant(u64::MAX, bytes);
                self.make(bits_pair(Binary::Xor), COMMUTES, &[self.of(a), ones], bytes)
            }
            Operation::Binary(binary, a, b) if ty == Type::Mask => self.of_masks(value, binary, [a, b])?,
            Operation::Binary(binary, a, b) => self.binary(binary, [self.of(a), self.of(b)], bytes)?,
            Operation::Select(mask, yes, no) if ty == Type::Mask => {
                self.mask_select(value, [mask, yes, no])?
            }
            Operation::Select(mask, yes, no) => self.select(mask, yes, no)?,
            Operation::Bits(a) => self.of(a),
            _ => return None,
        })
    }

    fn input(&mut self, row: &Row, input: u32, bytes: u32) -> Id {
        if matches!(row.reads[input as usize], Read::Splat | Read::Number) {
            return self.list.push(Act::Splat { input, bytes }, [NONE; OPERANDS], false);
        }
        let moves = pair!(VEX_Vmovdqu_xmm_xmmm128, EVEX_Vmovdqu8_xmm_k1z_xmmm128);
        let words = pair!(VEX_Vmovdqu_xmm_xmmm128, EVEX_Vmovdqu16_xmm_k1z_xmmm128);
        let size = self.lanes * bytes;
        let encoding = if bytes == 1 { moves } else { words }.encoding(self.set, size);
        self.list.push(
            Act::Load { input, bytes, offset: 0, make: moved(encoding, size) },
            [NONE; OPERANDS],
            false,
        )
    }

    fn binary(&mut self, binary: Binary, args: [Id; 2], bytes: u32) -> Option<Id> {
        let (pair, shape) = match (binary, bytes) {
            (Binary::And | Binary::Or | Binary::Xor, _) => (bits_pair(binary), COMMUTES),
            (Binary::Add, 1) => {
                (pair!(VEX_Vpaddb_xmm_xmm_xmmm128, EVEX_Vpaddb_xmm_k1z_xmm_xmmm128), COMMUTES)
            }
            (Binary::Add, _) => {
                (pair!(VEX_Vpaddw_xmm_xmm_xmmm128, EVEX_Vpaddw_xmm_k1z_xmm_xmmm128), COMMUTES)
            }
            (Binary::Sub, 1) => {
                (pair!(VEX_Vpsubb_xmm_xmm_xmmm128, EVEX_Vpsubb_xmm_k1z_xmm_xmmm128), IN_ORDER)
            }
            (Binary::Sub, _) => {
                (pair!(VEX_Vpsubw_xmm_xmm_xmmm128, EVEX_Vpsubw_xmm_k1z_xmm_xmmm128), IN_ORDER)
            }
            (Binary::Mul, 1) => return Some(self.product_of_bytes(args)),
            (Binary::Mul, _) => (PRODUCT, COMMUTES),
            (Binary::ShiftLeft, 2) if self.set == Set::Avx512 => {
                (pair!(-, EVEX_Vpsllvw_xmm_k1z_xmm_xmmm128), IN_ORDER)
            }
            (Binary::ShiftRight, 2) if self.set == Set::Avx512 => {
                (pair!(-, EVEX_Vpsrlvw_xmm_k1z_xmm_xmmm128), IN_ORDER)
            }
            (Binary::ShiftRightSigned, 2) if self.set == Set::Avx512 => {
                (pair!(-, EVEX_Vpsravw_xmm_k1z_xmm_xmmm128), IN_ORDER)
            }
            _ => return None,
        };
        Some(self.make(pair, shape, &args, bytes))
    }

    /// A product of bytes from those of words: of their lower bytes, and of their upper ones alone.
    fn product_of_bytes(&mut self, [a, b]: [Id; 2]) -> Id {
        let [high_a, high_b] = [a, b].map(|of| self.shifted(Binary::ShiftRight, of));
        let high = self.make(PRODUCT, COMMUTES, &[high_a, high_b], 1);
        let high = self.shifted(Binary::ShiftLeft, high);
        let low = self.make(PRODUCT, COMMUTES, &[a, b], 1);
        let is_low = self.constant(0xff, 2);
        let low = self.make(bits_pair(Binary::And), COMMUTES, &[low, is_low], 1);
        self.make(bits_pair(Binary::Or), COMMUTES, &[low, high], 1)
    }

    /// Words of 16 bits shifted by a byte.
    fn shifted(&mut self, way: Binary, a: Id) -> Id {
        let pair = match way {
            Binary::ShiftLeft => pair!(VEX_Vpsllw_xmm_xmm_imm8, EVEX_Vpsllw_xmm_k1z_xmmm128_imm8),
            _ => pair!(VEX_Vpsrlw_xmm_xmm_imm8, EVEX_Vpsrlw_xmm_k1z_xmmm128_imm8),
        };
        let size = self.lanes;
        let encoding = pair.encoding(self.set, size);
        self.list.make(encoding, Shape::Register, Some(8), &[a], (size, size))
    }

    /// `yes` where the mask holds.
    fn select(&mut self, mask: Value, yes: Value, no: Value) -> Option<Id> {
        let bytes = self.code.ty(yes).bytes();
        let [chosen, other] = [yes, no].map(|value| self.of(value));
        if let Operation::Compare(compare @ (Compare::Lt | Compare::Below), a, b) = self.operation(mask)
            && ([yes, no] == [a, b] || [yes, no] == [b, a])
        {
            return Some(self.make(extreme(yes == b, compare, bytes), COMMUTES, &[chosen, other], bytes));
        }
        let mask = self.mask(mask, bytes)?;
        if self.set == Set::Avx2 && self.operation(no) == Operation::Constant(0) {
            return Some(self.make(bits_pair(Binary::And), COMMUTES, &[mask, chosen], bytes));
        }
        let blend = match bytes {
            1 => pair!(VEX_Vpblendvb_xmm_xmm_xmmm128_xmm, EVEX_Vpblendmb_xmm_k1z_xmm_xmmm128),
            _ => pair!(VEX_Vpblendvb_xmm_xmm_xmmm128_xmm, EVEX_Vpblendmw_xmm_k1z_xmm_xmmm128),
        };
        Some(self.make(blend, Shape::Select, &[mask, chosen, other], bytes))
    }

    /// What is stored for a result: of a mask 1 or 0.
    fn result(&mut self, value: Value) -> Option<Id> {
        if self.code.ty(value) != Type::Mask {
            return Some(self.of(value));
        }
        let mask = self.mask(value, 1)?;
        let one = self.constant(1, 1);
        if self.set == Set::Avx2 {
            return Some(self.make(bits_pair(Binary::And), COMMUTES, &[mask, one], 1));
        }
        let zero = self.constant(0, 1);
        Some(self.make(pair!(-, EVEX_Vpblendmb_xmm_k1z_xmm_xmmm128), Shape::Select, &[mask, one, zero], 1))
    }

    /// A mask for elements of so many bytes.
    fn mask(&mut self, value: Value, bytes: u32) -> Option<Id> {
        let ((id, own), size) = (self.own_mask(value)?, |bytes: u32| self.lanes * bytes);
        Some(match (self.set, own, bytes) {
            (Set::Avx2, 1, 2) => {
                let extend = at_length(Encoding::VEX_Vpmovsxbw_xmm_xmmm64, size(2));
                self.list.make(extend, Shape::Register, None, &[id], (size(2), size(1)))
            }
            (Set::Avx2, 2, 1) => {
                let upper = Encoding::VEX_Vextracti128_xmmm128_ymm_imm8;
                let high = self.list.make(upper, Shape::Register, Some(1), &[id], (16, 32));
                self.list.make(Encoding::VEX_Vpacksswb_xmm_xmm_xmmm128, IN_ORDER, None, &[id, high], (16, 16))
            }
            _ => id,
        })
    }

    /// A mask, and the bytes of an element that it has in AVX2.
    fn own_mask(&mut self, value: Value) -> Option<(Id, u32)> {
        if let Operation::Compare(compare, a, b) = self.operation(value)
            && self.of(value) == NONE
        {
            self.widths[value.index()] = self.code.ty(a).bytes();
            self.values[value.index()] = self.compare(compare, [a, b])?;
        }
        Some((self.of(value), self.widths[value.index()]))
    }

    fn compare(&mut self, compare: Compare, operands: [Value; 2]) -> Option<Id> {
        let ty = self.code.ty(operands[0]);
        let (bytes, [a, b]) = (ty.bytes(), operands.map(|value| self.of(value)));
        if !ty.is_word() {
            return None;
        }
        if self.set == Set::Avx512 {
            let encoding = match (compare, bytes) {
                (Compare::Below, 1) => Encoding::EVEX_Vpcmpub_kr_k1_xmm_xmmm128_imm8,
                (Compare::Below, _) => Encoding::EVEX_Vpcmpuw_kr_k1_xmm_xmmm128_imm8,
                (_, 1) => Encoding::EVEX_Vpcmpb_kr_k1_xmm_xmmm128_imm8,
                _ => Encoding::EVEX_Vpcmpw_kr_k1_xmm_xmmm128_imm8,
            };
            let (size, shape) = (self.lanes * bytes, Shape::Binary { commutes: compare == Compare::Eq });
            let immediate = Some(predicate(compare, false));
            return Some(self.list.make(at_length(encoding, size), shape, immediate, &[a, b], (0, size)));
        }
        let above = match bytes {
            1 => pair!(VEX_Vpcmpgtb_xmm_xmm_xmmm128, EVEX_Vpcmpgtb_kr_k1_xmm_xmmm128),
            _ => pair!(VEX_Vpcmpgtw_xmm_xmm_xmmm128, EVEX_Vpcmpgtw_kr_k1_xmm_xmmm128),
        };
        Some(match compare {
            Compare::Eq => {
                let equal = match bytes {
                    1 => pair!(VEX_Vpcmpeqb_xmm_xmm_xmmm128, EVEX_Vpcmpeqb_kr_k1_xmm_xmmm128),
                    _ => pair!(VEX_Vpcmpeqw_xmm_xmm_xmmm128, EVEX_Vpcmpeqw_kr_k1_xmm_xmmm128),
                };
                self.make(equal, COMMUTES, &[a, b], bytes)
            }
            Compare::Lt => self.make(above, IN_ORDER, &[b, a], bytes),
            Compare::Le => {
                let (is_above, ones) =
                    (self.make(above, IN_ORDER, &[a, b], bytes), self.constant(u64::MAX, bytes));
                self.make(bits_pair(Binary::Xor), COMMUTES, &[is_above, ones], bytes)
            }
            Compare::Below => {
                // The order without a sign is that of numbers whose high bit is flipped.
                let high = self.constant(1 << (8 * bytes - 1), bytes);
                let [a, b] = [a, b].map(|of| self.make(bits_pair(Binary::Xor), COMMUTES, &[of, high], bytes));
                self.make(above, IN_ORDER, &[b, a], bytes)
            }
        })
    }

    fn known_mask(&mut self, value: Value, bits: u64) -> Id {
        self.widths[value.index()] = 1;
        if self.set == Set::Avx2 {
            return self.constant(if bits == 0 { 0 } else { u64::MAX }, 1);
        }
        // Equal to itself, or never.
        let (zero, immediate) = (self.constant(0, 1), if bits == 0 { 3 } else { 0 });
        let encoding = at_length(Encoding::EVEX_Vpcmpb_kr_k1_xmm_xmmm128_imm8, self.lanes);
        self.list.make(encoding, COMMUTES, Some(immediate), &[zero, zero], (0, self.lanes))
    }

    fn opposite(&mut self, value: Value, a: Value) -> Option<Id> {
        let (mask, bytes) = self.inner(value, a)?;
        if self.set == Set::Avx512 {
            return Some(self.list.make(Encoding::VEX_Knotq_kr_kr, Shape::Register, None, &[mask], (0, 0)));
        }
        let ones = self.constant(u64::MAX, bytes);
        Some(self.make(bits_pair(Binary::Xor), COMMUTES, &[mask, ones], bytes))
    }

    /// The first operand of a mask, which has its bytes.
    fn inner(&mut self, value: Value, a: Value) -> Option<(Id, u32)> {
        let own = self.own_mask(a)?;
        self.widths[value.index()] = own.1;
        Some(own)
    }

    fn of_masks(&mut self, value: Value, binary: Binary, [a, b]: [Value; 2]) -> Option<Id> {
        let (a, bytes) = self.inner(value, a)?;
        let b = self.mask(b, bytes)?;
        if self.set == Set::Avx2 {
            return Some(self.make(bits_pair(binary), COMMUTES, &[a, b], bytes));
        }
        let encoding = match binary {
            Binary::And => Encoding::VEX_Kandq_kr_kr_kr,
            Binary::Or => Encoding::VEX_Korq_kr_kr_kr,
            _ => Encoding::VEX_Kxorq_kr_kr_kr,
        };
        Some(self.list.make(encoding, Shape::Masks, None, &[a, b], (0, 0)))
    }

    fn mask_select(&mut self, value: Value, [mask, yes, no]: [Value; 3]) -> Option<Id> {
        let (mask, bytes) = self.inner(value, mask)?;
        let args = [mask, self.mask(yes, bytes)?, self.mask(no, bytes)?];
        if self.set == Set::Avx2 {
            let blend = pair!(VEX_Vpblendvb_xmm_xmm_xmmm128_xmm, EVEX_Vpblendmb_xmm_k1z_xmm_xmmm128);
            return Some(self.make(blend, Shape::Select, &args, bytes));
        }
        Some(self.list.make(Encoding::INVALID, Shape::MaskSelect, None, &args, (0, 0)))
    }
}

const PRODUCT: Pair = pair!(VEX_Vpmullw_xmm_xmm_xmmm128, EVEX_Vpmullw_xmm_k1z_xmm_xmmm128);

fn bits_pair(binary: Binary) -> Pair {
    match binary {
        Binary::And => pair!(VEX_Vpand_xmm_xmm_xmmm128, EVEX_Vpandd_xmm_k1z_xmm_xmmm128b32),
        Binary::Or => pair!(VEX_Vpor_xmm_xmm_xmmm128, EVEX_Vpord_xmm_k1z_xmm_xmmm128b32),
        Binary::Xor => pair!(VEX_Vpxor_xmm_xmm_xmmm128, EVEX_Vpxord_xmm_k1z_xmm_xmmm128b32),
        other => unreachable!("{other:?} is not done bit by bit"),
    }
}

/// The larger or the smaller of two words, in the order of a comparison.
fn extreme(is_largest: bool, compare: Compare, bytes: u32) -> Pair {
    match (is_largest, compare == Compare::Lt, bytes) {
        (true, true, 1) => pair!(VEX_Vpmaxsb_xmm_xmm_xmmm128, EVEX_Vpmaxsb_xmm_k1z_xmm_xmmm128),
        (true, true, _) => pair!(VEX_Vpmaxsw_xmm_xmm_xmmm128, EVEX_Vpmaxsw_xmm_k1z_xmm_xmmm128),
        (true, false, 1) => pair!(VEX_Vpmaxub_xmm_xmm_xmmm128, EVEX_Vpmaxub_xmm_k1z_xmm_xmmm128),
        (true, false, _) => pair!(VEX_Vpmaxuw_xmm_xmm_xmmm128, EVEX_Vpmaxuw_xmm_k1z_xmm_xmmm128),
        (false, true, 1) => pair!(VEX_Vpminsb_xmm_xmm_xmmm128, EVEX_Vpminsb_xmm_k1z_xmm_xmmm128),
        (false, true, _) => pair!(VEX_Vpminsw_xmm_xmm_xmmm128, EVEX_Vpminsw_xmm_k1z_xmm_xmmm128),
        (false, false, 1) => pair!(VEX_Vpminub_xmm_xmm_xmmm128, EVEX_Vpminub_xmm_k1z_xmm_xmmm128),
        (false, false, _) => pair!(VEX_Vpminuw_xmm_xmm_xmmm128, EVEX_Vpminuw_xmm_k1z_xmm_xmmm128),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Builder;

    /// Elements of a vector of a row that stores what is computed of two words.
    fn lanes(ty: Type, set: Set, of: impl Fn(&mut Builder, Value, Value) -> Value) -> Option<u32> {
        let mut builder = Builder::new();
        let (a, b) = (builder.input(ty), builder.input(ty));
        let result = of(&mut builder, a, b);
        steps(&Row::contiguous(builder.finish(&[result])), set).map(|steps| steps.lanes)
    }

    #[test]
    fn a_register_has_as_many_elements_as_fit() {
        for (set, bytes) in [(Set::Avx512, 64), (Set::Avx2, 32)] {
            for (ty, size) in [(Type::W8, 1), (Type::W16, 2)] {
                let add = lanes(ty, set, |code, a, b| code.binary(Binary::Mul, a, b));
                let compare = lanes(ty, set, |code, a, b| code.compare(Compare::Below, a, b));
                assert_eq!([add, compare], [Some(bytes / size); 2], "{set:?}, {ty:?}");
            }
            let wide = lanes(Type::W8, set, |code, a, b| code.binary(Binary::ShiftLeft, a, b));
            assert_eq!(wide, None);
            let wide = lanes(Type::W8, set, |code, a, _| code.convert(Type::W32, a));
            assert_eq!(wide, None);
        }
    }
}
