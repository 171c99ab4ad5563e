//! Owns looking for integers that are divided by zero, which is an error that no kernel tells. It does not
//! know how a reduction runs.

use zerostride_ops::{DType, Reduction};
use zerostride_shape::Shape;

use crate::Result;
use crate::plan::{Program, Work};

/// The reduction of everything that is true if some work divides integers by zero; `None` if it divides none
/// by what may be zero.
pub(super) fn zero_divisor_search(work: &Work) -> Result<Option<Work>> {
    let sizes = match work {
        Work::Map { shape, .. } => shape.to_vec(),
        Work::Reduce { kept, reduced, .. } => [&**kept, &**reduced].concat(),
        Work::Matmul { .. } => return Ok(None),
    };
    let Some(program) = work.program().and_then(Program::zero_divisor) else { return Ok(None) };
    Ok(Some(Work::Reduce {
        op: Reduction::Any,
        compute: DType::Bool,
        correction: 0.0,
        kept: Shape::default(),
        reduced: Shape::new(&sizes)?,
        program,
        finish: None,
    }))
}
