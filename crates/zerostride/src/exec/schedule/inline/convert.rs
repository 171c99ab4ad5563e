//! Owns conversions to another dtype without a plan. It does not know what is converted, nor why.

use zerostride_kernels::cast_kernel;
use zerostride_ops::DType;

use super::direct::{compiled, load, run_dense};
use crate::exec::body::{Compiled, LoadKind};
use crate::fork::OnceLock;
use crate::plan::{Instruction, Program};

/// Elements from which on a chain is as fast as the kernel.
const CHAINED_ELEMENTS: usize = 100;

/// Writes as many elements, converted from another dtype.
pub(super) fn convert(from: DType, to: DType, elements: &[u8], out: &mut [u8]) {
    let len = out.len() / to.item_size();
    match (len >= CHAINED_ELEMENTS).then(|| code(from, to)).flatten() {
        Some(code) => run_dense(code, len, &[elements], out),
        None => cast_kernel(from, to)(elements, out),
    }
}

/// The chain of a conversion, if there is one.
fn code(from: DType, to: DType) -> Option<&'static Compiled> {
    static CODES: [[OnceLock<Option<Box<Compiled>>>; DType::ALL.len()]; DType::ALL.len()] =
        [const { [const { OnceLock::new() }; DType::ALL.len()] }; DType::ALL.len()];
    let make = || {
        let mut program = Program::default();
        let loaded = program.push_load(load(0, from));
        program.result = program.push(Instruction::Cast(loaded), to);
        compiled(&program, &[LoadKind::Vector])
    };
    CODES[from as usize][to as usize].get_or_init(make).as_deref()
}
