//! Owns the making of a code: equal instructions are written once, and what no result needs is left out. It
//! does not know who asks for instructions.

use std::collections::HashMap;

use crate::code::{Binary, Code, Compare, Instruction, Operation, Type, Unary, Value};
use crate::verify::verify;

/// A code that is being written.
///
/// ```
/// use zerostride_code::{Builder, Compare, Type, Unary};
/// let mut builder = Builder::new();
/// let x = builder.input(Type::F64);
/// let zero = builder.constant(Type::F64, 0);
/// let is_negative = builder.compare(Compare::Lt, x, zero);
/// // The work of a rare way is only done where an element asks for it.
/// builder.begin_rare(is_negative);
/// let root = builder.unary(Unary::Abs, x);
/// let root = builder.unary(Unary::Sqrt, root);
/// builder.end_rare();
/// let result = builder.select(is_negative, root, x);
/// let code = builder.finish(&[result]);
/// assert_eq!(code.run(&[(-4.0f64).to_bits()]), [2.0f64.to_bits()]);
/// ```
#[derive(Debug, Default)]
pub struct Builder {
    instructions: Vec<Instruction>,
    known: HashMap<Instruction, Value>,
    tables: Vec<[u64; 16]>,
    inputs: Vec<Type>,
    /// The rare ways that are open: the place of each beginning, if it is rare at all, and the instructions
    /// first written in it.
    open: Vec<(Option<usize>, Vec<Instruction>)>,
}

impl Builder {
    /// A code without instructions.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// The element of one more input.
    pub fn input(&mut self, ty: Type) -> Value {
        self.inputs.push(ty);
        self.push(ty, Operation::Input(self.inputs.len() as u32 - 1))
    }

    /// A number by its bits, of which a type has the lowest ones.
    pub fn constant(&mut self, ty: Type, bits: u64) -> Value {
        self.push(ty, Operation::Constant(bits & (u64::MAX >> (64 - ty.bits()))))
    }

    /// An operation on one value.
    pub fn unary(&mut self, unary: Unary, a: Value) -> Value {
        match (unary, self.instructions[a.index()]) {
            (Unary::Not, Instruction { operation: Operation::Unary(Unary::Not, from), .. }) => return from,
            (Unary::Not, Instruction { ty: Type::Mask, operation: Operation::Constant(bit) }) => {
                return self.constant(Type::Mask, bit ^ 1);
            }
            _ => {}
        }
        self.push(self.ty(a), Operation::Unary(unary, a))
    }

    /// An operation on two values of one type.
    pub fn binary(&mut self, binary: Binary, a: Value, b: Value) -> Value {
        if self.ty(a) == Type::Mask {
            // Where one is known, so is the result, or it is the other one or its opposite.
            let known = [(a, b), (b, a)].into_iter().find_map(|(a, b)| Some((self.known_bits(a)?, a, b)));
            match (binary, known) {
                (Binary::And, Some((0, known, _))) | (Binary::Or, Some((1, known, _))) => return known,
                (Binary::And, Some((1, _, other))) | (Binary::Or | Binary::Xor, Some((0, _, other))) => {
                    return other;
                }
                (Binary::Xor, Some((_, _, other))) => return self.unary(Unary::Not, other),
                _ => {}
            }
        }
        self.push(self.ty(a), Operation::Binary(binary, a, b))
    }

    /// A comparison of two values of one type.
    pub fn compare(&mut self, compare: Compare, a: Value, b: Value) -> Value {
        // Whether a bool that became a number is zero is known by the bool.
        if let (Compare::Eq, Operation::Select(mask, yes, no)) =
            (compare, self.instructions[a.index()].operation)
            && self.known_bits(b) == Some(0)
            && let (Some(yes), Some(no)) = (self.known_bits(yes), self.known_bits(no))
            && (yes == 0) != (no == 0)
            && !(self.ty(a).is_float() && yes | no == 1 << (self.ty(a).bits() - 1))
        {
            return if yes == 0 { mask } else { self.unary(Unary::Not, mask) };
        }
        self.push(Type::Mask, Operation::Compare(compare, a, b))
    }

    /// `a · b + c`, rounded once.
    pub fn mul_add(&mut self, a: Value, b: Value, c: Value) -> Value {
        self.push(self.ty(a), Operation::MulAdd(a, b, c))
    }

    /// `yes` where the mask holds, `no` elsewhere.
    pub fn select(&mut self, mask: Value, yes: Value, no: Value) -> Value {
        match self.known_bits(mask) {
            _ if yes == no => yes,
            Some(0) => no,
            Some(_) => yes,
            None => self.push(self.ty(yes), Operation::Select(mask, yes, no)),
        }
    }

    /// The nearest value of another type; words are read with a sign.
    pub fn convert(&mut self, ty: Type, a: Value) -> Value {
        if ty == self.ty(a) { a } else { self.push(ty, Operation::Convert(a)) }
    }

    /// The nearest value of another type to a word without a sign.
    pub fn convert_unsigned(&mut self, ty: Type, a: Value) -> Value {
        if ty == self.ty(a) { a } else { self.push(ty, Operation::ConvertUnsigned(a)) }
    }

    /// The same bits as another type.
    pub fn bits(&mut self, ty: Type, a: Value) -> Value {
        match self.instructions[a.index()].operation {
            _ if ty == self.ty(a) => a,
            Operation::Bits(from) if ty == self.ty(from) => from,
            Operation::Constant(bits) => self.constant(ty, bits),
            _ => self.push(ty, Operation::Bits(a)),
        }
    }

    /// The number of a table, given by its bits, that the lowest four bits of a word select.
    pub fn lookup(&mut self, ty: Type, table: [u64; 16], index: Value) -> Value {
        let known = self.tables.iter().position(|other| *other == table);
        let table = known.unwrap_or_else(|| {
            self.tables.push(table);
            self.tables.len() - 1
        });
        self.push(ty, Operation::Lookup { table: table as u32, index })
    }

    /// Begins a rare way, whose values are only read by selections of this mask, as what stands where it
    /// holds.
    pub fn begin_rare(&mut self, mask: Value) {
        if self.known_bits(mask) == Some(1) {
            // All elements want it: selections are what stands in it.
            return self.open.push((None, Vec::new()));
        }
        self.open.push((Some(self.instructions.len()), Vec::new()));
        self.instructions.push(Instruction { ty: Type::Mask, operation: Operation::Rare { mask, count: 0 } });
    }

    /// Ends the rare way that was begun last.
    ///
    /// # Panics
    /// If none is open.
    pub fn end_rare(&mut self) {
        let (start, written) = self.open.pop().expect("a rare way was begun");
        let Some(start) = start else {
            if let Some((_, outer)) = self.open.last_mut() {
                outer.extend(written);
            }
            return;
        };
        let own = (self.instructions.len() - start - 1) as u32;
        if let Operation::Rare { count, .. } = &mut self.instructions[start].operation {
            *count = own;
        }
        for instruction in written {
            self.known.remove(&instruction);
        }
    }

    /// The type of a value.
    pub fn ty(&self, value: Value) -> Type {
        self.instructions[value.index()].ty
    }

    /// What computes a value.
    pub(crate) fn operation(&self, value: Value) -> Operation {
        self.instructions[value.index()].operation
    }

    /// The bits of a value that is a constant.
    pub fn known_bits(&self, value: Value) -> Option<u64> {
        match self.instructions[value.index()].operation {
            Operation::Constant(bits) => Some(bits),
            _ => None,
        }
    }

    fn push(&mut self, ty: Type, operation: Operation) -> Value {
        let instruction = Instruction { ty, operation };
        if let Some(&value) = self.known.get(&instruction) {
            return value;
        }
        let value = Value(self.instructions.len() as u32);
        self.instructions.push(instruction);
        self.known.insert(instruction, value);
        // Inputs and constants stand before everything in the end: they are in no rare way.
        if !matches!(operation, Operation::Input(_) | Operation::Constant(_))
            && let Some((_, written)) = self.open.last_mut()
        {
            written.push(instruction);
        }
        value
    }

    /// The code that computes these values, without the instructions that none of them needs.
    ///
    /// # Panics
    /// If the verifier finds a fault, or a rare way is open.
    pub fn finish(self, results: &[Value]) -> Code {
        assert!(self.open.is_empty(), "every rare way has an end");
        let needed = self.needed(results);
        let first = |operation: &Operation| matches!(operation, Operation::Input(_) | Operation::Constant(_));
        let places = 0..self.instructions.len();
        let (mut order, rest): (Vec<usize>, Vec<usize>) =
            places.filter(|&at| needed[at]).partition(|&at| first(&self.instructions[at].operation));
        order.extend(rest);
        let mut place = vec![Value(u32::MAX); self.instructions.len()];
        for (new, &old) in order.iter().enumerate() {
            place[old] = Value(new as u32);
        }
        let instruction = |&old: &usize| {
            let Instruction { ty, operation } = self.instructions[old];
            let operation = match operation.map(|value| place[value.index()]) {
                Operation::Rare { mask, count } => {
                    let kept = |&at: &usize| needed[at] && !first(&self.instructions[at].operation);
                    let count = (old + 1..=old + count as usize).filter(kept).count() as u32;
                    Operation::Rare { mask, count }
                }
                operation => operation,
            };
            Instruction { ty, operation }
        };
        let code = Code {
            instructions: order.iter().map(instruction).collect(),
            tables: self.tables,
            results: results.iter().map(|value| place[value.index()]).collect(),
            inputs: self.inputs,
        };
        if let Err(fault) = verify(&code) {
            panic!("{fault}:\n{code}");
        }
        code
    }

    /// Which instructions some result needs.
    fn needed(&self, results: &[Value]) -> Vec<bool> {
        let mut needed = vec![false; self.instructions.len()];
        results.iter().for_each(|value| needed[value.index()] = true);
        for at in (0..self.instructions.len()).rev() {
            let operation = self.instructions[at].operation;
            if let Operation::Rare { count, .. } = operation {
                let own = at + 1..=at + count as usize;
                let is_work = |at: usize| {
                    !matches!(self.instructions[at].operation, Operation::Input(_) | Operation::Constant(_))
                };
                needed[at] = own.into_iter().any(|at| needed[at] && is_work(at));
            }
            if needed[at] {
                operation.operands().for_each(|value| needed[value.index()] = true);
            }
        }
        needed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_that_are_known_leave_no_instruction() {
        let mut builder = Builder::new();
        let x = builder.input(Type::W8);
        let mask = builder.compare(Compare::Eq, x, x);
        let [never, always] = [0, 1].map(|bit| builder.constant(Type::Mask, bit));
        assert_eq!(builder.unary(Unary::Not, never), always);
        assert_eq!(builder.binary(Binary::And, mask, never), never);
        assert_eq!(builder.binary(Binary::And, always, mask), mask);
        assert_eq!(builder.binary(Binary::Or, mask, always), always);
        assert_eq!(builder.binary(Binary::Or, never, mask), mask);
        assert_eq!(builder.binary(Binary::Xor, mask, never), mask);
        assert_eq!(builder.binary(Binary::Xor, always, mask), builder.unary(Unary::Not, mask));
        assert_eq!(builder.select(always, x, mask), x);
        assert_eq!(builder.select(never, mask, x), x);
        let opposite = builder.unary(Unary::Not, mask);
        assert_eq!(builder.unary(Unary::Not, opposite), mask);
    }

    #[test]
    fn a_bool_that_became_a_number_is_the_bool() {
        let mut builder = Builder::new();
        let x = builder.input(Type::F32);
        let mask = builder.compare(Compare::Lt, x, x);
        let [zero, one, minus_zero] =
            [0.0f32, 1.0, -0.0].map(|x| builder.constant(Type::F32, x.to_bits().into()));
        let number = builder.select(mask, one, zero);
        let is_zero = builder.compare(Compare::Eq, number, zero);
        assert_eq!(builder.unary(Unary::Not, is_zero), mask);
        // Both are zero.
        let number = builder.select(mask, minus_zero, zero);
        let is_zero = builder.compare(Compare::Eq, number, zero);
        assert_eq!(builder.finish(&[is_zero]).run(&[0]), [1]);
    }

    #[test]
    fn what_all_elements_want_is_in_no_rare_way() {
        let mut builder = Builder::new();
        let (x, always) = (builder.input(Type::F32), builder.constant(Type::Mask, 1));
        builder.begin_rare(always);
        let root = builder.unary(Unary::Sqrt, x);
        builder.end_rare();
        let result = builder.select(always, root, x);
        assert_eq!(builder.finish(&[result]).to_string(), "%0 = f32 input 0\n%1 = f32 sqrt %0\nresult %1\n");
    }
}
