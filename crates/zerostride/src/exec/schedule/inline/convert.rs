//! Owns conversions to another dtype without a plan. It does not know what is converted, nor why.

use zerostride_kernels::cast_kernel;
use zerostride_ops::{Category, DType};

use super::direct::{compiled, load, run_dense};
use crate::exec::body::{Compiled, LoadKind};
use crate::fork::OnceLock;
use crate::plan::{Instruction, Program};

/// Elements on which threaded code is as fast as the kernel, where that is slow.
const CHAINED_ELEMENTS: usize = 100;

/// Writes as many elements as those of another dtype.
pub(super) fn convert(from: DType, to: DType, elements: &[u8], out: &mut [u8]) {
    let len = out.len() / to.item_size();
    let is_chained = len >= CHAINED_ELEMENTS && is_slow(from, to);
    match is_chained.then(|| code(from, to)).flatten() {
        Some(code) => run_dense(code, len, &[elements], out),
        None => cast_kernel(from, to)(elements, out),
    }
}

/// Whether the kernel works on single elements or on vectors of few: where halves take part, floats are truncated, or a byte
/// becomes eight or the other way round.
fn is_slow(from: DType, to: DType) -> bool {
    let truncates = from.category() >= Category::Float && to.category() == Category::Int;
    let sizes = [from.item_size(), to.item_size()];
    from.is_half() || to.is_half() || truncates || sizes == [1, 8] || sizes == [8, 1]
}

/// The threaded code of a conversion, if there is any.
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
