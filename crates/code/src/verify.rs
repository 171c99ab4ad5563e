//! Owns the rules that a code keeps: every value is computed before it is read, where it may be read, and has
//! the type that its reader wants. It does not know how a code was made.

use std::fmt;

use crate::code::{Binary, Code, Compare, Instruction, Operation, Type, Unary, Value};

/// What is wrong with a code, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The place of the instruction; behind the last one for results.
    pub place: usize,
    /// The rule.
    pub rule: &'static str,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "instruction %{}: {}", self.place, self.rule)
    }
}

impl std::error::Error for Fault {}

/// A rare way that an instruction is in or behind.
#[derive(Clone, Copy)]
struct Way {
    mask: Value,
    start: usize,
    end: usize,
}

/// Checks all rules.
///
/// # Errors
/// The first one that is broken.
pub(crate) fn verify(code: &Code) -> Result<(), Fault> {
    let mut ways: Vec<Way> = Vec::new();
    let mut is_head = true;
    for (place, instruction) in code.instructions.iter().enumerate() {
        let check = |holds: bool, rule: &'static str| if holds { Ok(()) } else { Err(Fault { place, rule }) };
        let is_first = matches!(instruction.operation, Operation::Input(_) | Operation::Constant(_));
        check(is_head || !is_first, "inputs and constants stand before everything else")?;
        is_head &= is_first;
        let before = |value: Value| value.index() < place && has_value(code, value);
        check(instruction.operation.operands().all(before), "a value is computed before it is read")?;
        for (nth, value) in instruction.operation.operands().enumerate() {
            let is_chosen = |way: &Way| matches!(instruction.operation, Operation::Select(mask, ..) if mask == way.mask && nth == 1);
            let hidden = ways
                .iter()
                .filter(|way| way.end <= place && way.start < value.index() && value.index() < way.end);
            check(hidden.clone().all(is_chosen), "a value of a rare way is selected by its mask")?;
        }
        if let Operation::Rare { mask, count } = instruction.operation {
            let end = place + 1 + count as usize;
            let outer = ways.iter().filter(|way| place < way.end).all(|way| end <= way.end);
            check(end <= code.instructions.len() && outer, "a rare way ends inside of what it is in")?;
            ways.push(Way { mask, start: place, end });
        }
        check(is_typed(code, instruction), "operands and result have the types of the operation")?;
    }
    let place = code.instructions.len();
    let is_shown = |value: &Value| {
        let hidden = ways.iter().any(|way| way.start < value.index() && value.index() < way.end);
        value.index() < place && has_value(code, *value) && !hidden
    };
    if code.results.iter().all(is_shown) {
        return Ok(());
    }
    Err(Fault { place, rule: "results are values outside of rare ways" })
}

/// Whether an instruction has a value.
fn has_value(code: &Code, value: Value) -> bool {
    !matches!(code.instructions[value.index()].operation, Operation::Rare { .. })
}

fn is_typed(code: &Code, &Instruction { ty, operation }: &Instruction) -> bool {
    let of = |value: Value| code.ty(value);
    match operation {
        Operation::Input(index) => code.inputs.get(index as usize) == Some(&ty) && ty != Type::Mask,
        Operation::Constant(bits) => bits <= u64::MAX >> (64 - ty.bits()),
        Operation::Unary(unary, a) => {
            of(a) == ty
                && match unary {
                    Unary::Neg | Unary::Abs | Unary::Sqrt | Unary::InverseRoot => ty.is_float(),
                    Unary::RoundTiesEven | Unary::Floor | Unary::Ceil | Unary::Trunc => ty.is_float(),
                    Unary::Exponent | Unary::Significand => ty.is_float(),
                    Unary::Not => ty.is_word() || ty == Type::Mask,
                }
        }
        Operation::Binary(binary, a, b) => {
            of(a) == ty
                && of(b) == ty
                && match binary {
                    Binary::Add | Binary::Sub | Binary::Mul => ty.is_word() || ty.is_float(),
                    Binary::Div | Binary::Min | Binary::Max | Binary::Ldexp | Binary::Scale => ty.is_float(),
                    Binary::And | Binary::Or | Binary::Xor => ty.is_word() || ty == Type::Mask,
                    Binary::ShiftLeft | Binary::ShiftRight | Binary::ShiftRightSigned => ty.is_word(),
                }
        }
        Operation::Compare(compare, a, b) => {
            let from = of(a);
            ty == Type::Mask
                && of(b) == from
                && match compare {
                    Compare::Eq | Compare::Lt | Compare::Le => from.is_word() || from.is_float(),
                    Compare::Below => from.is_word(),
                }
        }
        Operation::MulAdd(a, b, c) => [a, b, c].into_iter().all(|value| of(value) == ty) && ty.is_float(),
        Operation::Select(mask, yes, no) => of(mask) == Type::Mask && of(yes) == ty && of(no) == ty,
        Operation::Convert(a) => match (of(a), ty) {
            (Type::F16 | Type::BF16, to) => to == Type::F32,
            (Type::F32, Type::F16 | Type::BF16 | Type::F64) | (Type::F64, Type::F32) => true,
            (Type::F32 | Type::F64, to) => matches!(to, Type::W32 | Type::W64),
            (from, to) => from.is_word() && from != to && (to.is_word() || is_from_word(from, to)),
        },
        Operation::ConvertUnsigned(a) => {
            let from = of(a);
            from.is_word() && (is_from_word(from, ty) || ty.is_word() && from.bits() < ty.bits())
        }
        Operation::Bits(a) => {
            let from = of(a);
            from != ty && from.bits() == ty.bits() && from != Type::Mask
        }
        Operation::Lookup { table, index } => {
            let index = of(index);
            (table as usize) < code.tables.len()
                && ty.is_float()
                && index.is_word()
                && index.bits() == ty.bits()
        }
        Operation::Rare { mask, .. } => of(mask) == Type::Mask,
    }
}

/// Words of fewer bits become longer words first.
fn is_from_word(from: Type, to: Type) -> bool {
    matches!(from, Type::W32 | Type::W64) && to.is_float()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Builder;

    fn rule(change: impl FnOnce(&mut Code)) -> &'static str {
        let mut builder = Builder::new();
        let (x, one) = (builder.input(Type::F32), builder.constant(Type::F32, 0x3f80_0000));
        let below = builder.compare(Compare::Lt, x, one);
        builder.begin_rare(below);
        let root = builder.unary(Unary::Sqrt, x);
        builder.end_rare();
        let chosen = builder.select(below, root, x);
        let mut code = builder.finish(&[chosen]);
        change(&mut code);
        verify(&code).unwrap_err().rule
    }

    #[test]
    fn each_rule_is_checked() {
        let at = |place: u32| Value(place);
        let float = |operation| Instruction { ty: Type::F32, operation };
        assert_eq!(
            rule(|code| code.instructions[4] = float(Operation::Constant(0))),
            "inputs and constants stand before everything else"
        );
        assert_eq!(
            rule(|code| code.instructions[4] = float(Operation::Unary(Unary::Sqrt, at(5)))),
            "a value is computed before it is read"
        );
        assert_eq!(
            rule(|code| code.instructions[4] = float(Operation::Unary(Unary::Sqrt, at(3)))),
            "a value is computed before it is read"
        );
        assert_eq!(
            rule(|code| code.instructions[5] = float(Operation::Binary(Binary::Add, at(4), at(0)))),
            "a value of a rare way is selected by its mask"
        );
        assert_eq!(
            rule(|code| code.instructions[5] = float(Operation::Select(at(2), at(0), at(4)))),
            "a value of a rare way is selected by its mask"
        );
        assert_eq!(
            rule(|code| code.instructions[3].operation = Operation::Rare { mask: at(2), count: 9 }),
            "a rare way ends inside of what it is in"
        );
        assert_eq!(
            rule(|code| code.instructions[4] = float(Operation::Unary(Unary::Not, at(0)))),
            "operands and result have the types of the operation"
        );
        assert_eq!(rule(|code| code.results = vec![at(4)]), "results are values outside of rare ways");
        assert_eq!(rule(|code| code.results = vec![at(3)]), "results are values outside of rare ways");
    }
}
