//! Owns the rewriting of a code into fewer operations, for printers: what a processor has no instruction for
//! becomes several that it has, and narrow words are computed in words of 32 bits. The interpreter has the
//! same results for both codes. It does not know processors.

use crate::builder::Builder;
use crate::code::{Binary, Code, Compare, Instruction, Operation, Type, Unary, Value};

/// What a processor has instructions for, or a few of them that are better than those of a lowered code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Has {
    /// Powers of two that are split off floats, and multiplied with them.
    pub scaling: bool,
    /// All comparisons and shifts of words, words of 32 bits without a sign that become floats, and words of
    /// 64 bits that become `f64` or come from floats.
    pub words: bool,
    /// Words of 64 bits that become `f32`, rounded once.
    pub long_to_single: bool,
    /// Estimates of inverse roots, from which a root takes less time than by its own instruction.
    pub inverse_roots: bool,
}

/// Operations in the time of a root beyond those that it is made of: with more of them beside, a processor
/// does these while its one unit for roots works. For `f32` and `f64`, measured with AVX-512 on Intel.
const BESIDE_ROOT: [u32; 2] = [9, 26];

/// The same results from a code in which
/// - words of 8 and 16 bits, and halves, are only inputs, results, and operands of conversions between `f16`
///   and `f32`: what is computed is in words of 32 bits whose unused bits are zero;
/// - floats have no absolute value, and words no complement: those are operations on bits;
/// - what adds or subtracts a negated float subtracts or adds the float;
/// - results are no masks: they are bytes, 0 or 1.
///
/// What a processor has not is moreover made of what all of them have.
pub(crate) fn lower(code: &Code, has: Has) -> Code {
    let has = Has { inverse_roots: has.inverse_roots && waits_for_roots(code), ..has };
    let mut lowering = Lowering { builder: Builder::new(), has };
    let inputs: Vec<Value> = code.inputs.iter().map(|&ty| lowering.builder.input(ty)).collect();
    let mut values: Vec<Value> = Vec::with_capacity(code.instructions.len());
    let mut ends: Vec<usize> = Vec::new();
    for (place, instruction) in code.instructions.iter().enumerate() {
        while ends.last() == Some(&place) {
            ends.pop();
            lowering.builder.end_rare();
        }
        let Operation::Rare { mask, count } = instruction.operation else {
            let operation = instruction.operation.map(|value| values[value.index()]);
            let from = instruction.operation.operands().next().map(|value| code.ty(value));
            values.push(lowering.value(instruction.ty, operation, from, &inputs, &code.tables));
            continue;
        };
        let mask = values[mask.index()];
        lowering.builder.begin_rare(mask);
        ends.push(place + 1 + count as usize);
        values.push(mask);
    }
    ends.iter().for_each(|_| lowering.builder.end_rare());
    let results: Vec<Value> =
        code.results.iter().map(|&value| lowering.result(code.ty(value), values[value.index()])).collect();
    lowering.builder.finish(&results)
}

struct Lowering {
    builder: Builder,
    has: Has,
}

/// Whether most of a code's time outside of rare ways is that of its roots.
fn waits_for_roots(code: &Code) -> bool {
    let (mut beside, mut hidden, mut end) = (0, 0, 0);
    for (place, &Instruction { ty, operation }) in code.instructions.iter().enumerate() {
        match operation {
            Operation::Rare { count, .. } => end = end.max(place + 1 + count as usize),
            _ if place < end => {}
            Operation::Unary(Unary::Sqrt, _) => hidden += BESIDE_ROOT[usize::from(ty == Type::F64)],
            Operation::Input(_) | Operation::Constant(_) | Operation::Bits(_) => {}
            _ => beside += 1,
        }
    }
    beside < hidden
}

/// A pattern of 32 or 64 bits.
fn constant_type(bits: u32) -> Type {
    if bits == 64 { Type::W64 } else { Type::W32 }
}

/// The word of as many bits as a float.
fn word_of(float: Type) -> Type {
    constant_type(float.bits())
}

impl Lowering {
    fn word(&mut self, ty: Type, bits: u64) -> Value {
        self.builder.constant(ty, bits)
    }

    fn number(&mut self, ty: Type, value: f64) -> Value {
        let bits = if ty == Type::F32 { (value as f32).to_bits().into() } else { value.to_bits() };
        self.builder.constant(ty, bits)
    }

    fn binary(&mut self, binary: Binary, a: Value, b: Value) -> Value {
        self.builder.binary(binary, a, b)
    }

    /// An operation on a word and a constant one.
    fn by(&mut self, binary: Binary, a: Value, bits: u64) -> Value {
        let constant = self.word(self.builder.ty(a), bits);
        self.builder.binary(binary, a, constant)
    }

    /// Clears the bits that a narrow word does not have.
    fn cut(&mut self, ty: Type, a: Value) -> Value {
        if ty.bits() < 32 { self.by(Binary::And, a, (1 << ty.bits()) - 1) } else { a }
    }

    /// A word with its sign in all bits that it does not have.
    fn extended(&mut self, ty: Type, a: Value) -> Value {
        let unused = 32u32.saturating_sub(ty.bits());
        if unused == 0 {
            return a;
        }
        let high = self.by(Binary::ShiftLeft, a, unused.into());
        self.by(Binary::ShiftRightSigned, high, unused.into())
    }

    /// A narrow word as its input or result has it.
    fn narrow(&mut self, ty: Type, a: Value) -> Value {
        let word = if ty.is_word() { ty } else { Type::W16 };
        let narrow = match self.builder.operation(a) {
            Operation::ConvertUnsigned(from) if self.builder.ty(from) == word => from,
            _ => self.builder.convert(word, a),
        };
        self.builder.bits(ty, narrow)
    }

    /// The word of 32 bits in which a narrow word is computed.
    fn wide(&mut self, narrow: Value) -> Value {
        let word = if self.builder.ty(narrow).is_word() { self.builder.ty(narrow) } else { Type::W16 };
        let bits = self.builder.bits(word, narrow);
        self.builder.convert_unsigned(Type::W32, bits)
    }

    fn result(&mut self, ty: Type, a: Value) -> Value {
        match ty {
            Type::Mask => {
                let (one, zero) = (self.word(Type::W32, 1), self.word(Type::W32, 0));
                let byte = self.builder.select(a, one, zero);
                self.builder.convert(Type::W8, byte)
            }
            _ if ty.bits() < 32 => self.narrow(ty, a),
            _ => a,
        }
    }

    /// The value of an instruction, from those of its operands, the first of which has the type `from`.
    fn value(
        &mut self,
        ty: Type,
        operation: Operation,
        from: Option<Type>,
        inputs: &[Value],
        tables: &[[u64; 16]],
    ) -> Value {
        let from = from.unwrap_or(ty);
        let is_narrow = ty.bits() < 32 && ty != Type::Mask;
        let wide = if is_narrow { Type::W32 } else { ty };
        match operation {
            Operation::Input(index) => {
                let input = inputs[index as usize];
                if is_narrow { self.wide(input) } else { input }
            }
            Operation::Constant(bits) => self.builder.constant(wide, bits),
            Operation::Unary(unary, a) => self.unary(ty, unary, a),
            Operation::Binary(binary, a, b) => self.of_two(ty, binary, a, b),
            Operation::Compare(compare, a, b) => self.compare(from, compare, a, b),
            Operation::MulAdd(a, b, c) => self.builder.mul_add(a, b, c),
            Operation::Select(mask, yes, no) => self.builder.select(mask, yes, no),
            Operation::Convert(a) => self.convert(from, ty, a),
            Operation::ConvertUnsigned(a) => self.convert_unsigned(from, ty, a),
            Operation::Bits(a) => self.builder.bits(wide, a),
            Operation::Lookup { table, index } => self.builder.lookup(ty, tables[table as usize], index),
            Operation::Rare { .. } => unreachable!("it has no value"),
        }
    }

    fn unary(&mut self, ty: Type, unary: Unary, a: Value) -> Value {
        let sign = 1 << (ty.bits() - 1);
        match unary {
            Unary::Neg => match self.builder.known_bits(a) {
                Some(bits) => self.builder.constant(ty, bits ^ sign),
                None => self.builder.unary(unary, a),
            },
            Unary::Abs => self.on_bits(ty, a, Binary::And, sign - 1),
            Unary::Not if ty != Type::Mask => self.by(Binary::Xor, a, u64::MAX >> (64 - ty.bits())),
            Unary::Sqrt if self.has.inverse_roots => self.root(ty, a),
            Unary::Exponent if !self.has.scaling => self.split(ty, a).0,
            Unary::Significand if !self.has.scaling => self.split(ty, a).1,
            _ => self.builder.unary(unary, a),
        }
    }

    fn on_bits(&mut self, ty: Type, a: Value, binary: Binary, bits: u64) -> Value {
        let word = self.builder.bits(word_of(ty), a);
        let word = self.by(binary, word, bits);
        self.builder.bits(ty, word)
    }

    fn of_two(&mut self, ty: Type, binary: Binary, a: Value, b: Value) -> Value {
        match binary {
            Binary::Add | Binary::Sub if ty.is_float() => self.sum(binary, a, b),
            Binary::Ldexp if !self.has.scaling => self.ldexp(ty, a, b),
            Binary::Scale if !self.has.scaling => {
                let power = self.power_of_2(ty, b);
                if a == self.number(ty, 1.0) { power } else { self.binary(Binary::Mul, a, power) }
            }
            Binary::ShiftRightSigned if ty == Type::W64 && !self.has.words => {
                // The sign bit, shifted to its place, says which bits are to be set.
                let sign = self.word(ty, 1 << 63);
                let (shifted, sign) =
                    (self.binary(Binary::ShiftRight, a, b), self.binary(Binary::ShiftRight, sign, b));
                let flipped = self.binary(Binary::Xor, shifted, sign);
                self.binary(Binary::Sub, flipped, sign)
            }
            Binary::ShiftRightSigned => {
                let a = self.extended(ty, a);
                let shifted = self.binary(binary, a, b);
                self.cut(ty, shifted)
            }
            Binary::Add | Binary::Sub | Binary::Mul | Binary::ShiftLeft if ty.is_word() => {
                let result = self.binary(binary, a, b);
                self.cut(ty, result)
            }
            _ => self.binary(binary, a, b),
        }
    }

    fn sum(&mut self, binary: Binary, a: Value, b: Value) -> Value {
        match (binary, self.builder.operation(a), self.builder.operation(b)) {
            (Binary::Add, _, Operation::Unary(Unary::Neg, b)) => self.binary(Binary::Sub, a, b),
            (Binary::Add, Operation::Unary(Unary::Neg, a), _) => self.binary(Binary::Sub, b, a),
            (Binary::Sub, _, Operation::Unary(Unary::Neg, b)) => self.binary(Binary::Add, a, b),
            _ => self.binary(binary, a, b),
        }
    }

    fn compare(&mut self, from: Type, compare: Compare, a: Value, b: Value) -> Value {
        let is_signed = matches!(compare, Compare::Lt | Compare::Le);
        let (mut a, mut b) = (a, b);
        if from.bits() < 32 && is_signed {
            // Their sign bits move to where 32 bits have them.
            let unused = (32 - from.bits()).into();
            (a, b) = (self.by(Binary::ShiftLeft, a, unused), self.by(Binary::ShiftLeft, b, unused));
        }
        if self.has.words || !from.is_word() {
            return self.builder.compare(compare, a, b);
        }
        match compare {
            Compare::Below => {
                let sign = 1 << (word_of(from).bits() - 1);
                let (a, b) = (self.by(Binary::Xor, a, sign), self.by(Binary::Xor, b, sign));
                self.builder.compare(Compare::Lt, a, b)
            }
            Compare::Le => {
                let above = self.builder.compare(Compare::Lt, b, a);
                self.builder.unary(Unary::Not, above)
            }
            _ => self.builder.compare(compare, a, b),
        }
    }

    fn convert(&mut self, from: Type, to: Type, a: Value) -> Value {
        match (from, to) {
            (Type::F16, _) => {
                let half = self.narrow(Type::F16, a);
                self.builder.convert(Type::F32, half)
            }
            (Type::BF16, _) => {
                let bits = self.by(Binary::ShiftLeft, a, 16);
                self.builder.bits(Type::F32, bits)
            }
            (_, Type::F16) => {
                let half = self.builder.convert(Type::F16, a);
                self.wide(half)
            }
            (_, Type::BF16) => self.bf16_of(a),
            (_, Type::W64) if from.is_float() && !self.has.words => self.w64_of(from, a),
            (Type::W64, Type::F64) if !self.has.words => {
                let (high, low) = self.two_halves(a, true);
                let two = self.number(to, 2f64.powi(32));
                self.builder.mul_add(high, two, low)
            }
            (Type::W64, Type::F32) if !self.has.long_to_single => {
                // The bits that only say that there is more than an `f32` has are made one, so that an `f64`
                // has all that is left.
                let moved = self.by(Binary::Add, a, 1 << 53);
                let odd = self.rounded_to_odd(a, moved, 1 << 54);
                let double = self.convert(Type::W64, Type::F64, odd);
                self.builder.convert(to, double)
            }
            (_, Type::W8 | Type::W16) => {
                let word = if from == Type::W64 {
                    self.builder.convert(Type::W32, a)
                } else {
                    self.extended(from, a)
                };
                self.cut(to, word)
            }
            _ if from.is_word() => {
                let word = self.extended(from, a);
                self.builder.convert(to, word)
            }
            _ => self.builder.convert(to, a),
        }
    }

    fn convert_unsigned(&mut self, from: Type, to: Type, a: Value) -> Value {
        match (from, to) {
            _ if from.bits() < 32 && to.bits() <= 32 => a,
            (Type::W32, Type::F32) if !self.has.words => {
                let (high, low) = (self.by(Binary::ShiftRight, a, 16), self.by(Binary::And, a, 0xffff));
                let (high, low) = (self.builder.convert(to, high), self.builder.convert(to, low));
                let scale = self.number(to, 65536.0);
                self.builder.mul_add(high, scale, low)
            }
            (Type::W32, Type::F64) if !self.has.words => {
                let word = self.builder.convert_unsigned(Type::W64, a);
                self.low_half(word)
            }
            (Type::W64, Type::F64) if !self.has.words => {
                let (high, low) = self.two_halves(a, false);
                let two = self.number(to, 2f64.powi(32));
                self.builder.mul_add(high, two, low)
            }
            (Type::W64, Type::F32) if !self.has.long_to_single => {
                let odd = self.rounded_to_odd(a, a, 1 << 53);
                let double = self.convert_unsigned(Type::W64, Type::F64, odd);
                self.builder.convert(to, double)
            }
            _ => self.builder.convert_unsigned(to, a),
        }
    }

    /// An `f32` rounded to nearest even; of NaN, a quiet one.
    fn bf16_of(&mut self, a: Value) -> Value {
        let bits = self.builder.bits(Type::W32, a);
        let high = self.by(Binary::ShiftRight, bits, 16);
        let odd = self.by(Binary::And, high, 1);
        let sum = self.by(Binary::Add, bits, 0x7fff);
        let sum = self.binary(Binary::Add, sum, odd);
        let rounded = self.by(Binary::ShiftRight, sum, 16);
        let quiet = self.by(Binary::Or, high, 0x40);
        let is_number = self.builder.compare(Compare::Eq, a, a);
        self.builder.select(is_number, rounded, quiet)
    }

    /// The `f64` of a word of 64 bits below 2^32: its bits are those of `2^52 + word` but for the exponent.
    fn low_half(&mut self, a: Value) -> Value {
        let bits = self.by(Binary::Or, a, 2f64.powi(52).to_bits());
        let moved = self.builder.bits(Type::F64, bits);
        let origin = self.number(Type::F64, 2f64.powi(52));
        self.binary(Binary::Sub, moved, origin)
    }

    /// The upper 32 bits of a word and the lower ones as `f64`.
    fn two_halves(&mut self, a: Value, is_signed: bool) -> (Value, Value) {
        let (high, low) = (self.by(Binary::ShiftRight, a, 32), self.by(Binary::And, a, 0xffff_ffff));
        let high = if is_signed {
            let word = self.builder.convert(Type::W32, high);
            self.builder.convert(Type::F64, word)
        } else {
            self.low_half(high)
        };
        (high, self.low_half(low))
    }

    /// A word of 64 bits of which an `f64` has all, and of which an `f32` is rounded as of `a`; `a` itself
    /// where `moved` is below a bound.
    fn rounded_to_odd(&mut self, a: Value, moved: Value, bound: u64) -> Value {
        let low = self.by(Binary::And, a, 0x7ff);
        let zero = self.word(Type::W64, 0);
        let is_exact = self.builder.compare(Compare::Eq, low, zero);
        let high = self.by(Binary::And, a, !0x7ff);
        let odd = self.by(Binary::Or, high, 0x800);
        let odd = self.builder.select(is_exact, high, odd);
        let bound = self.word(Type::W64, bound);
        let is_small = self.compare(Type::W64, Compare::Below, moved, bound);
        self.builder.select(is_small, a, odd)
    }

    fn w64_of(&mut self, from: Type, a: Value) -> Value {
        let wide = if from == Type::F32 { self.builder.convert(Type::F64, a) } else { a };
        let whole = self.builder.unary(Unary::Trunc, wide);
        let down = self.number(Type::F64, 2f64.powi(-32));
        let high = self.binary(Binary::Mul, whole, down);
        let high = self.builder.unary(Unary::Floor, high);
        let up = self.number(Type::F64, -2f64.powi(32));
        let low = self.builder.mul_add(high, up, whole);
        let origin = self.number(Type::F64, 2f64.powi(52));
        let low = self.binary(Binary::Add, low, origin);
        let low = self.builder.bits(Type::W64, low);
        let low = self.by(Binary::And, low, 0xffff_ffff);
        let high = self.builder.convert(Type::W32, high);
        let high = self.builder.convert(Type::W64, high);
        let high = self.by(Binary::ShiftLeft, high, 32);
        let word = self.binary(Binary::Or, high, low);
        let (least, bound) = (self.number(Type::F64, -2f64.powi(63)), self.number(Type::F64, 2f64.powi(63)));
        let is_above = self.builder.compare(Compare::Le, least, wide);
        let is_below = self.builder.compare(Compare::Lt, wide, bound);
        let fits = self.binary(Binary::And, is_above, is_below);
        let other = self.word(Type::W64, 1 << 63);
        self.builder.select(fits, word, other)
    }

    /// Bits of the fraction of a float, the bias of its exponent, and a number whose sum with a small
    /// integral one has that in its lowest bits.
    fn parts(ty: Type) -> (u64, u64, f64) {
        if ty == Type::F32 { (23, 127, 12_582_912.0) } else { (52, 1023, 6_755_399_441_055_744.0) }
    }

    /// A word with `n + more` in the bits that are left when it is shifted to be an exponent, where `n` is
    /// integral.
    fn exponent(&mut self, ty: Type, n: Value, more: u64) -> Value {
        let (fraction, _, rounder) = Lowering::parts(ty);
        let rounder = self.number(ty, rounder + more as f64);
        // The difference from a number of the rounder's exponent has its integer in the bits of what that was
        // subtracted from.
        let known = self.builder.known_bits(rounder).expect("it is a constant");
        if let Operation::Binary(Binary::Sub, sum, origin) = self.builder.operation(n)
            && let Some(origin) = self.builder.known_bits(origin)
            && origin >> fraction == known >> fraction
        {
            let bits = self.builder.bits(word_of(ty), sum);
            return if origin == known {
                bits
            } else {
                self.by(Binary::Add, bits, known.wrapping_sub(origin))
            };
        }
        let sum = self.binary(Binary::Add, n, rounder);
        self.builder.bits(word_of(ty), sum)
    }

    /// The float whose bits are a word shifted to be an exponent.
    fn power(&mut self, ty: Type, biased: Value) -> Value {
        let (fraction, ..) = Lowering::parts(ty);
        let bits = self.by(Binary::ShiftLeft, biased, fraction);
        self.builder.bits(ty, bits)
    }

    /// 2 to an integral power that is a normal number.
    fn power_of_2(&mut self, ty: Type, n: Value) -> Value {
        let (_, bias, _) = Lowering::parts(ty);
        let biased = self.exponent(ty, n, bias);
        self.power(ty, biased)
    }

    fn ldexp(&mut self, ty: Type, a: Value, n: Value) -> Value {
        let (_, bias, _) = Lowering::parts(ty);
        let sum = self.exponent(ty, n, 2 * bias);
        let half = self.by(Binary::ShiftRight, sum, 1);
        let rest = self.binary(Binary::Sub, sum, half);
        let (first, second) = (self.power(ty, half), self.power(ty, rest));
        let product = self.binary(Binary::Mul, a, first);
        self.binary(Binary::Mul, product, second)
    }

    /// The root of a float, from an estimate of its inverse. A root that is too near the middle of two floats
    /// for this way to tell on which side it lies is a rare one, as are those of numbers whose rounding
    /// errors would be subnormal, of zeros, infinities, negative numbers and NaN.
    ///
    /// A step of Goldschmidt's leaves `root` and `half_inverse` off by 2^-27 and their rounding errors: for
    /// `f64`, the root takes another step. What its exact square misses says by what it is off, and so the
    /// sum `rounded + rest` misses the root by less than 2^-46 (`f32`) and 2^-79 (`f64`) of it. If what is
    /// more than 2^-43 and 2^-72 farther away is rounded to the same float, so is the root.
    fn root(&mut self, ty: Type, a: Value) -> Value {
        let half = self.number(ty, 0.5);
        let estimate = self.builder.unary(Unary::InverseRoot, a);
        let (root, half_inverse) =
            (self.binary(Binary::Mul, a, estimate), self.binary(Binary::Mul, estimate, half));
        let missed = self.minus_product(root, half_inverse, half);
        let mut root = self.builder.mul_add(root, missed, root);
        let half_inverse = self.builder.mul_add(half_inverse, missed, half_inverse);
        let mut excess = self.minus_product(root, root, a);
        if ty == Type::F64 {
            root = self.builder.mul_add(excess, half_inverse, root);
            excess = self.minus_product(root, root, a);
        }
        let rounded = self.builder.mul_add(excess, half_inverse, root);
        let rest = self.binary(Binary::Sub, root, rounded);
        let rest = self.builder.mul_add(excess, half_inverse, rest);
        let farther = self.number(ty, 1.0 + 2f64.powi(-18));
        let farther = self.builder.mul_add(rest, farther, rounded);
        let is_sure = self.builder.compare(Compare::Eq, farther, rounded);
        let least = self.number(ty, 2f64.powi(if ty == Type::F32 { -100 } else { -960 }));
        let is_ordinary = self.builder.compare(Compare::Le, least, a);
        let is_sure = self.binary(Binary::And, is_ordinary, is_sure);
        let is_rare = self.builder.unary(Unary::Not, is_sure);
        self.builder.begin_rare(is_rare);
        let exact = self.builder.unary(Unary::Sqrt, a);
        self.builder.end_rare();
        self.builder.select(is_rare, exact, rounded)
    }

    /// `c - a · b`, rounded once.
    fn minus_product(&mut self, a: Value, b: Value, c: Value) -> Value {
        let minus = self.builder.unary(Unary::Neg, a);
        self.builder.mul_add(minus, b, c)
    }

    /// Exponent and significand of a positive finite number.
    fn split(&mut self, ty: Type, a: Value) -> (Value, Value) {
        let (fraction, bias, rounder) = Lowering::parts(ty);
        let word = word_of(ty);
        let up = (fraction + 1) as f64;
        let least = self.builder.constant(ty, 1 << fraction);
        let is_subnormal = self.builder.compare(Compare::Lt, a, least);
        let scale = self.number(ty, up.exp2());
        let scaled = self.binary(Binary::Mul, a, scale);
        let normal = self.builder.select(is_subnormal, scaled, a);
        let bits = self.builder.bits(word, normal);
        let significand = self.by(Binary::And, bits, (1 << fraction) - 1);
        let significand = self.by(Binary::Or, significand, bias << fraction);
        let significand = self.builder.bits(ty, significand);
        let exponent = self.by(Binary::ShiftRight, bits, fraction);
        let origin = self.number(ty, rounder);
        let origin = self.builder.bits(word, origin);
        let exponent = self.binary(Binary::Add, exponent, origin);
        let exponent = self.builder.bits(ty, exponent);
        let (base, raised) =
            (self.number(ty, rounder + bias as f64), self.number(ty, rounder + bias as f64 + up));
        let base = self.builder.select(is_subnormal, raised, base);
        (self.binary(Binary::Sub, exponent, base), significand)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What AVX-512, NEON and AVX2 have.
    const ALL: [Has; 3] = [
        Has { scaling: true, words: true, long_to_single: true, inverse_roots: true },
        Has { scaling: false, words: true, long_to_single: false, inverse_roots: false },
        Has { scaling: false, words: false, long_to_single: false, inverse_roots: false },
    ];

    /// Holds all lowerings of an operation to the operation itself on these elements.
    fn check(ty: Type, elements: &[u64], operation: impl Fn(&mut Builder, Value, Value) -> Value) {
        let mut builder = Builder::new();
        let (a, b) = (builder.input(ty), builder.input(ty));
        let result = operation(&mut builder, a, b);
        // The high bits of a narrow word, which are nothing, show in a wide one.
        let is_narrow = builder.ty(result).is_word() && builder.ty(result).bits() < 32;
        let wide = is_narrow.then(|| builder.convert_unsigned(Type::W32, result));
        let results: Vec<Value> = [result].into_iter().chain(wide).collect();
        let code = builder.finish(&results);
        for has in ALL {
            let lowered = lower(&code, has);
            for &a in elements {
                for &b in elements {
                    assert_eq!(lowered.run(&[a, b]), code.run(&[a, b]), "{a:#x} {b:#x}\n{code}{lowered}");
                }
            }
        }
    }

    #[test]
    fn narrow_words_are_computed_in_wide_ones() {
        let elements = [0, 1, 2, 0x7f, 0x80, 0x81, 0xfe, 0xff];
        for binary in [Binary::Add, Binary::Sub, Binary::Mul, Binary::And, Binary::Or, Binary::Xor] {
            check(Type::W8, &elements, |builder, a, b| builder.binary(binary, a, b));
        }
        for shift in [Binary::ShiftLeft, Binary::ShiftRight, Binary::ShiftRightSigned] {
            check(Type::W8, &elements, |builder, a, b| {
                let seven = builder.constant(Type::W8, 7);
                let count = builder.binary(Binary::And, b, seven);
                builder.binary(shift, a, count)
            });
        }
        for compare in [Compare::Eq, Compare::Lt, Compare::Le, Compare::Below] {
            check(Type::W8, &elements, |builder, a, b| builder.compare(compare, a, b));
        }
        for ty in [Type::W16, Type::W32, Type::W64] {
            check(Type::W8, &elements, |builder, a, _| builder.convert(ty, a));
            check(Type::W8, &elements, |builder, a, _| builder.convert_unsigned(ty, a));
            check(ty, &elements, |builder, a, _| builder.convert(Type::W8, a));
        }
        check(Type::W8, &elements, |builder, a, _| builder.unary(Unary::Not, a));
    }

    #[test]
    fn long_words_become_floats_rounded_once() {
        let mut elements = Vec::new();
        for place in 0..64 {
            for near in [0u64, 1, 2, 3] {
                elements.extend([(1 << place) + near, (3 << place) - near, !(1 << place) - near]);
                // Halfway between two `f32`, or next to it.
                elements.push(((1 << 24) + 1u64).rotate_left(place) ^ near);
            }
        }
        for ty in [Type::F32, Type::F64] {
            for word in [Type::W32, Type::W64] {
                let own: Vec<u64> =
                    elements.iter().map(|bits| bits & (u64::MAX >> (64 - word.bits()))).collect();
                let mut builder = Builder::new();
                let a = builder.input(word);
                let results = [builder.convert(ty, a), builder.convert_unsigned(ty, a)];
                let code = builder.finish(&results);
                for lowered in ALL.map(|has| lower(&code, has)) {
                    own.iter()
                        .for_each(|&bits| assert_eq!(lowered.run(&[bits]), code.run(&[bits]), "{bits:#x}"));
                }
            }
        }
    }

    #[test]
    fn floats_become_long_words_and_halves() {
        let numbers = [0.0, -0.5, 0.99, 1.5, -1.5, 4e9, -4e9, 9.007e15, 9.2233e18, -9.2234e18, 1e19, 1e-320];
        let mut elements: Vec<u64> = numbers.iter().map(|x: &f64| x.to_bits()).collect();
        elements.extend([f64::INFINITY.to_bits(), f64::NEG_INFINITY.to_bits(), f64::NAN.to_bits()]);
        elements.extend([(-2f64.powi(63)).to_bits(), 2f64.powi(63).to_bits()]);
        check(Type::F64, &elements, |builder, a, _| builder.convert(Type::W64, a));
        let singles: Vec<u64> =
            elements.iter().map(|&x| (f64::from_bits(x) as f32).to_bits().into()).collect();
        check(Type::F32, &singles, |builder, a, _| builder.convert(Type::W64, a));
        let ties = (0..64).map(|low| 0x3f80_7f00 + low * 0x4000);
        let singles: Vec<u64> = ties.chain([0x7f7f_ffff, 0xff7f_ffff]).collect();
        check(Type::F32, &singles, |builder, a, _| builder.convert(Type::BF16, a));
    }

    /// The floats from 1 to 4 whose roots are nearest to the middles of two floats, of significands with so
    /// many bits: an odd `n` is such a middle, of 2^bits, and `n² - off` is a multiple of their unit.
    fn near_middles(bits: u32) -> Vec<f64> {
        let mut found = Vec::new();
        for off in [1i128, 9, 17, -7, -15, -23] {
            for unit in [bits + 1, bits + 2] {
                // Roots of `off` modulo 2^k, bit by bit: half of 2^k is added to one that is none modulo
                // 2^(k+1).
                let lift =
                    |n: i128, k: u32| if ((n * n - off) >> k) & 1 == 0 { n } else { n + (1 << (k - 1)) };
                let n = (3..unit).fold(1, lift);
                let modulus = 1i128 << unit;
                for n in [n, -n, n + modulus / 2, modulus / 2 - n].map(|n| n.rem_euclid(modulus)) {
                    let square = n * n - off;
                    if n >> bits == 1 && (square >> (2 * bits + 1) == 0) == (unit == bits + 1) {
                        assert_eq!(square % modulus, 0);
                        found.push(square as f64 / 2f64.powi(2 * bits as i32));
                    }
                }
            }
        }
        found
    }

    #[test]
    fn roots_from_estimates_are_rounded_correctly() {
        for (ty, bits) in [(Type::F32, 24), (Type::F64, 53)] {
            let middles = near_middles(bits);
            assert!(middles.len() >= 10, "{middles:?}");
            let scales =
                [-1070, -960, -958, -150, -126, -100, -98, 0, 2, 124, 1020].map(|power| 2f64.powi(power));
            let mut numbers = vec![0.0, -0.0, -1.0, f64::INFINITY, f64::NAN, f64::MAX, f32::MAX.into()];
            numbers.extend(scales.iter().flat_map(|scale| {
                let squares = (0..200).map(|n| f64::from(1 + n * n));
                let random = (1..2000)
                    .map(|n: u64| 1.0 + n.wrapping_mul(0x9e37_79b9_7f4a_7c15) as f64 / 2f64.powi(64) * 3.0);
                middles.iter().copied().chain(squares).chain(random).map(move |number| number * scale)
            }));
            let of = |x: &f64| if ty == Type::F32 { (*x as f32).to_bits().into() } else { x.to_bits() };
            let numbers: Vec<u64> = numbers.iter().map(of).collect();
            let mut builder = Builder::new();
            let a = builder.input(ty);
            let root = builder.unary(Unary::Sqrt, a);
            let code = builder.finish(&[root]);
            let lowered = lower(&code, ALL[0]);
            assert_ne!(lowered, code, "it is made of an estimate");
            for &bits in &numbers {
                assert_eq!(lowered.run(&[bits]), code.run(&[bits]), "{ty:?} {bits:#x}");
            }
        }
    }

    #[test]
    fn few_roots_among_many_operations_stay() {
        let mut builder = Builder::new();
        let a = builder.input(Type::F64);
        let root = builder.unary(Unary::Sqrt, a);
        let sum = (0..30).fold(root, |sum, _| builder.binary(Binary::Add, sum, a));
        let code = builder.finish(&[sum]);
        assert_eq!(lower(&code, ALL[0]), code);
    }

    #[test]
    fn powers_of_two_are_split_off_and_multiplied() {
        let elements = [1u64, 5, 1 << 22, 1 << 23, 0x3f80_0000, 0x3fff_ffff, 0x7f7f_ffff];
        check(Type::F32, &elements, |builder, a, _| builder.unary(Unary::Exponent, a));
        check(Type::F32, &elements, |builder, a, _| builder.unary(Unary::Significand, a));
        let elements = [1.0f64, -1.5, 252.0, -252.0, 130.0, -149.0, 0.0].map(|x| (x as f32).to_bits().into());
        check(Type::F32, &elements[..], |builder, a, b| {
            let one = builder.constant(Type::F32, 0x3f80_0001);
            let whole = builder.unary(Unary::RoundTiesEven, b);
            let (first, second) =
                (builder.binary(Binary::Ldexp, one, whole), builder.binary(Binary::Min, a, whole));
            let near = builder.constant(Type::F32, (-126f32).to_bits().into());
            let near = builder.binary(Binary::Max, whole, near);
            let most = builder.constant(Type::F32, 127f32.to_bits().into());
            let near = builder.binary(Binary::Min, near, most);
            let scaled = builder.binary(Binary::Scale, second, near);
            builder.binary(Binary::Add, first, scaled)
        });
        // What was rounded by the addition of a large number, whose lowest bits have the bias or not.
        for rounder in [12_582_912.0f32, 12_582_912.0 + 254.0] {
            check(Type::F32, &elements[..], |builder, a, b| {
                let rounder = builder.constant(Type::F32, rounder.to_bits().into());
                let moved = builder.binary(Binary::Add, b, rounder);
                let whole = builder.binary(Binary::Sub, moved, rounder);
                let significand = builder.constant(Type::F32, 0x3f80_0001);
                let scaled = builder.binary(Binary::Ldexp, significand, whole);
                builder.binary(Binary::Add, a, scaled)
            });
        }
    }
}
