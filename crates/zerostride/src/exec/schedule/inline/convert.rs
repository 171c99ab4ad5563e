//! Owns conversions to another dtype without a plan. It does not know which of them are worth a plan.

use once_cell::race::OnceBox;
use zerostride_kernels::cast_kernel;
use zerostride_ops::DType;

use super::row::load;
use crate::exec::body::{Compiled, LoadKind};
use crate::plan::{Instruction, Program};

/// Elements from which on code is as fast as the kernel.
const CODED_ELEMENTS: usize = 100;

/// Writes as many elements, converted from another dtype.
pub(super) fn convert(from: DType, to: DType, elements: &[u8], out: &mut [u8]) {
    let len = out.len() / to.item_size();
    match (len >= CODED_ELEMENTS).then(|| code(from, to)).flatten() {
        Some(code) => code.run_in_order(&[elements], out).expect("a conversion refuses no value"),
        None => cast_kernel(from, to)(elements, out),
    }
}

/// The conversion as code, if there is one.
fn code(from: DType, to: DType) -> Option<&'static Compiled> {
    static CODES: [[OnceBox<Compiled>; DType::ALL.len()]; DType::ALL.len()] =
        [const { [const { OnceBox::new() }; DType::ALL.len()] }; DType::ALL.len()];
    let make = || {
        let mut program = Program::default();
        let loaded = program.push_load(load(0, from));
        program.result = program.push(Instruction::Cast(loaded), to);
        Box::new(Compiled::new(&program, &[LoadKind::Vector], false))
    };
    Some(CODES[from as usize][to as usize].get_or_init(make)).filter(|code| code.has_code())
}
