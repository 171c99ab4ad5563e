//! Owns programs as codes for a device, and what has none. It does not know where elements are nor who runs a
//! code.

use std::sync::Arc;

use smallvec::{SmallVec, smallvec};
use zerostride_code::{Builder, Code, Type, Value};
use zerostride_kernels::{
    Recorded, record, record_cast, record_load, record_store, store_scalar, stored_type,
};
use zerostride_ops::{Category, DType, Scalar};

use crate::plan::{Instruction, Program};

/// What has no code, by the name of an operation.
pub(super) type Missing = String;

/// What is kept with a program: its code, and the numbers that are operands of it.
pub(super) type KeptCode<T> = Result<(Arc<T>, Vec<u64>), Missing>;

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

/// The bits of each part of a number as an element.
pub(super) fn number_bits(number: Scalar, dtype: DType) -> Parts<u64> {
    let mut bytes = [0; 16];
    store_scalar(number, dtype, &mut bytes[..dtype.item_size()]);
    bits(&bytes[..dtype.item_size()], dtype)
}

/// What is stored of an element.
pub(super) fn stored(code: &mut Builder, dtype: DType, element: Recorded) -> Parts<Value> {
    match element {
        Recorded::Real(_) => record_store(code, dtype, element),
        Recorded::Complex(re, im) => smallvec![re, im],
    }
}

/// The element of which these parts are stored.
pub(super) fn element(code: &mut Builder, dtype: DType, parts: &[Value]) -> Recorded {
    match *parts {
        [re, im] => Recorded::Complex(re, im),
        _ => record_load(code, dtype, parts),
    }
}

/// An element whose parts are the next inputs.
fn load(code: &mut Builder, dtype: DType) -> Recorded {
    let parts: Parts<Value> = (0..part_count(dtype)).map(|_| code.input(stored_type(dtype))).collect();
    element(code, dtype, &parts)
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
pub(super) fn value(code: &mut Builder, program: &Program) -> Result<(Recorded, Vec<u64>), Missing> {
    let loads: Vec<Recorded> = program.loads.iter().map(|own| load(code, own.dtype)).collect();
    let mut numbers = Vec::new();
    let lines = || program.instructions.iter().zip(&program.dtypes);
    let splats: Vec<Recorded> = lines()
        .filter_map(|(instruction, &dtype)| match instruction {
            Instruction::Splat(number) => {
                numbers.extend(number_bits(*number, dtype));
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
pub(super) fn follow(
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
                record(code, *op, *compute, &by).ok_or_else(|| op.info().name.to_owned())?
            }
        });
    }
    Ok(registers[program.result])
}
