//! Owns conversions to another dtype without a plan. It does not know which of them are worth a plan.

use zerostride_kernels::cast_kernel;
use zerostride_ops::DType;

use super::direct::{load, run_dense};
use super::gather::in_order;
use super::loops::Loops;
use super::{Value, reading};
use crate::Tensor;
use crate::exec::body::{Compiled, LoadKind};
use crate::exec::elements::ElementSlice;
use crate::fork::OnceLock;
use crate::memory::Fresh;
use crate::plan::{Instruction, Program};

/// Elements from which on a chain is as fast as the kernel.
const CHAINED_ELEMENTS: usize = 100;

/// The elements of a tensor, converted; `None` where all of them are one broadcast scalar.
pub(super) fn evaluate(value: Value<'_>, to: DType) -> Option<Tensor> {
    let tensor = value.tensor()?;
    let mut loops = Loops::single();
    loops.walk(&[value])?;
    let (from, first) = (tensor.dtype(), tensor.layout().offset());
    let mut fresh = Fresh::arbitrary(loops.numel.checked_mul(to.item_size())?)?;
    reading(&[value], |[bytes], _| {
        let elements = in_order(ElementSlice { bytes, item: from.item_size(), first }, &loops, 0)?;
        let is_all = elements.bytes().len() == loops.numel * from.item_size();
        is_all.then(|| convert(from, to, elements.bytes(), fresh.bytes_mut()))
    })?;
    Some(Tensor::new(fresh.share(), loops.layout().ok()?, to))
}

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
    static CODES: [[OnceLock<Box<Compiled>>; DType::ALL.len()]; DType::ALL.len()] =
        [const { [const { OnceLock::new() }; DType::ALL.len()] }; DType::ALL.len()];
    let make = || {
        let mut program = Program::default();
        let loaded = program.push_load(load(0, from));
        program.result = program.push(Instruction::Cast(loaded), to);
        Box::new(Compiled::new(&program, &[LoadKind::Vector], false))
    };
    Some(&**CODES[from as usize][to as usize].get_or_init(make)).filter(|code| code.is_one_chain())
}
