//! Owns programs and reductions as codes for a device, and what has none. It does not know where elements are
//! nor who runs a code.

use smallvec::{SmallVec, smallvec};
use zerostride_code::{Binary, Builder, Code, Type, Value};
use zerostride_kernels::{
    Recorded, record, record_cast, record_load, record_scalar, record_step, record_store, store_scalar,
    stored_type,
};
use zerostride_ops::{Category, DType, Op, Reduction};

use crate::plan::{Instruction, Program};

/// What has no code, by the name of an operation.
pub(super) type Missing = String;

/// The values that an element is.
pub(super) type Parts<T> = SmallVec<[T; 2]>;

/// How many values an element is: two if it is complex.
pub(super) fn part_count(dtype: DType) -> usize {
    if dtype.category() == Category::Complex { 2 } else { 1 }
}

/// The bits of each part of an element in memory.
pub(super) fn bits(bytes: &[u8], dtype: DType) -> Parts<u64> {
    let word = |part: &[u8]| part.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    bytes.chunks(dtype.item_size() / part_count(dtype)).map(word).collect()
}

/// What is stored of an element.
fn stored(code: &mut Builder, dtype: DType, element: Recorded) -> Parts<Value> {
    match element {
        Recorded::Real(_) => smallvec![record_store(code, dtype, element)],
        Recorded::Complex(re, im) => smallvec![re, im],
    }
}

/// An element whose parts are the next inputs.
fn load(code: &mut Builder, dtype: DType) -> Recorded {
    let ty = stored_type(dtype);
    let first = code.input(ty);
    if part_count(dtype) == 1 {
        record_load(code, dtype, first)
    } else {
        Recorded::Complex(first, code.input(ty))
    }
}

/// The code of an element-wise loop: its inputs are the parts of each load, then those of each number.
pub(super) fn map(program: &Program) -> Result<(Code, Vec<u64>), Missing> {
    let mut code = Builder::new();
    let (element, numbers) = value(&mut code, program)?;
    let results = stored(&mut code, program.dtypes[program.result], element);
    Ok((code.finish(&results), numbers))
}

/// The code that copies one value.
pub(super) fn copy(ty: Type) -> Code {
    let mut code = Builder::new();
    let input = code.input(ty);
    code.finish(&[input])
}

/// The value of a program on its loads and numbers, which become inputs in this order, and the numbers' bits.
fn value(code: &mut Builder, program: &Program) -> Result<(Recorded, Vec<u64>), Missing> {
    let loads: Vec<Recorded> = program.loads.iter().map(|own| load(code, own.dtype)).collect();
    let mut numbers = Vec::new();
    let lines = || program.instructions.iter().zip(&program.dtypes);
    let splats: Vec<Recorded> = lines()
        .filter_map(|(instruction, &dtype)| match instruction {
            Instruction::Splat(number) => {
                let mut bytes = [0; 16];
                store_scalar(*number, dtype, &mut bytes[..dtype.item_size()]);
                numbers.extend(bits(&bytes[..dtype.item_size()], dtype));
                Some(load(code, dtype))
            }
            _ => None,
        })
        .collect();
    let mut splats = splats.into_iter();
    let mut splat = |_: &mut Builder, _: usize| splats.next().expect("each number is an input");
    Ok((follow(code, program, &loads, &mut splat)?, numbers))
}

/// The value of a program, given its loads and how each number is made, by its instruction.
fn follow(
    code: &mut Builder,
    program: &Program,
    loads: &[Recorded],
    splat: &mut dyn FnMut(&mut Builder, usize) -> Recorded,
) -> Result<Recorded, Missing> {
    let mut registers: Vec<Recorded> = Vec::new();
    for (line, (instruction, &dtype)) in program.instructions.iter().zip(&program.dtypes).enumerate() {
        registers.push(match instruction {
            Instruction::Load(load) => loads[*load],
            Instruction::Splat(_) => splat(code, line),
            Instruction::Cast(from) => record_cast(code, program.dtypes[*from], dtype, registers[*from]),
            Instruction::Map { op, compute, operands } => {
                let by: SmallVec<[Recorded; 4]> = operands.iter().map(|&at| registers[at]).collect();
                if program.may_fault(*op, *compute, operands) {
                    // That it is an error is known to the CPU alone.
                    return Err(format!("{} of integers by a tensor", op.info().name));
                }
                record(code, *op, *compute, &by).ok_or_else(|| op.info().name.to_owned())?
            }
        });
    }
    Ok(registers[program.result])
}

/// A reduction as codes.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Reduced {
    /// From the parts of each load, those of each number, and the accumulators.
    pub step: Code,
    pub merge: Code,
    pub ending: Code,
    pub empty: Vec<u64>,
}

/// What accumulates.
#[derive(Clone, Copy)]
enum Rule {
    /// Floats, in the order of the kernels' tree.
    Floats(Reduction),
    /// An operation of the table, whose results do not depend on the order.
    Exact(Op),
}

impl Rule {
    fn next(self, code: &mut Builder, held: DType, before: Recorded, element: Recorded) -> Option<Recorded> {
        match (self, before, element) {
            (Rule::Floats(op), Recorded::Real(before), Recorded::Real(element)) => {
                record_step(code, op, before, element).map(Recorded::Real)
            }
            (Rule::Floats(_), Recorded::Complex(re, im), Recorded::Complex(more_re, more_im)) => {
                let mut sum = |a, b| code.binary(Binary::Add, a, b);
                Some(Recorded::Complex(sum(re, more_re), sum(im, more_im)))
            }
            (Rule::Exact(op), ..) => record(code, op, held, &[before, element]),
            (Rule::Floats(_), ..) => None,
        }
    }
}

/// How a reduction of elements of a dtype accumulates: by which rule, in which dtype, from which accumulator
/// on, by its bits. `None` if there is no code for it.
fn rule(op: Reduction, takes: DType) -> Option<(Rule, DType, u64)> {
    use Reduction::{All, Amax, Amin, Any, Prod, Sum};
    let is_whole = takes.category() == Category::Int;
    let (lowest, highest) = (f64::NEG_INFINITY, f64::INFINITY);
    let float = |held: DType, empty: f64| {
        let bits =
            if stored_type(held) == Type::F32 { (empty as f32).to_bits().into() } else { empty.to_bits() };
        Some((Rule::Floats(op), held, bits))
    };
    match (op, takes) {
        (Sum, DType::F16 | DType::BF16) => float(DType::F32, 0.0),
        (Sum, DType::F32 | DType::F64 | DType::C64 | DType::C128) => float(takes, 0.0),
        (Prod, DType::F32 | DType::F64) => float(takes, 1.0),
        (Amax, DType::F32 | DType::F64) => float(takes, lowest),
        (Amin, DType::F32 | DType::F64) => float(takes, highest),
        (All | Prod | Amin, DType::Bool) => Some((Rule::Exact(Op::LogicalAnd), takes, 1)),
        (Any | Amax, DType::Bool) => Some((Rule::Exact(Op::LogicalOr), takes, 0)),
        (Sum, _) if takes == DType::Bool || is_whole => Some((Rule::Exact(Op::Add), DType::I64, 0)),
        (Prod, _) if is_whole => Some((Rule::Exact(Op::Mul), DType::I64, 1)),
        (Amax, _) if is_whole => Some((Rule::Exact(Op::Maximum), takes, extreme(takes, false))),
        (Amin, _) if is_whole => Some((Rule::Exact(Op::Minimum), takes, extreme(takes, true))),
        _ => None,
    }
}

/// The bits of the smallest or the largest integer of a dtype.
fn extreme(dtype: DType, is_largest: bool) -> u64 {
    let bits = 8 * dtype.item_size() as u32;
    let all = u64::MAX >> (64 - bits);
    let (least, most) = match dtype {
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => (0, all),
        _ => (1 << (bits - 1), all >> 1),
    };
    if is_largest { most } else { least }
}

/// The codes of a reduction of a program's values, which yields elements of a dtype and lets them go through
/// another program, if there is one; and the numbers of the step.
pub(super) fn reduction(
    op: Reduction,
    program: &Program,
    yields: DType,
    finish: Option<&Program>,
) -> Result<(Reduced, Vec<u64>), Missing> {
    let missing = || op.name().to_owned();
    let takes = program.dtypes[program.result];
    let (rule, held, empty) = rule(op, takes).ok_or_else(missing)?;

    let mut step = Builder::new();
    let (element, numbers) = value(&mut step, program)?;
    let element = record_cast(&mut step, takes, held, element);
    let before = load(&mut step, held);
    let next = rule.next(&mut step, held, before, element).ok_or_else(missing)?;
    let next = stored(&mut step, held, next);

    let mut merge = Builder::new();
    let (left, right) = (load(&mut merge, held), load(&mut merge, held));
    let both = rule.next(&mut merge, held, left, right).ok_or_else(missing)?;
    let both = stored(&mut merge, held, both);

    let mut ending = Builder::new();
    let last = load(&mut ending, held);
    let result = record_cast(&mut ending, held, yields, last);
    let (result, dtype) = match finish {
        Some(finish) => {
            let number = |code: &mut Builder, line: usize| match finish.instructions[line] {
                Instruction::Splat(number) => record_scalar(code, number, finish.dtypes[line]),
                _ => unreachable!("only numbers are made"),
            };
            let mut number = number;
            (follow(&mut ending, finish, &[result], &mut number)?, finish.dtypes[finish.result])
        }
        None => (result, yields),
    };
    let result = stored(&mut ending, dtype, result);
    let reduced = Reduced {
        step: step.finish(&next),
        merge: merge.finish(&both),
        ending: ending.finish(&result),
        empty: vec![empty; part_count(held)],
    };
    Ok((reduced, numbers))
}
