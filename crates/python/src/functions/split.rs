//! Owns the functions that split tensors, and those that repeat and stretch them.
//! It does not know how elements are copied.

use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use zerostride::Tensor;

use super::function::rows;
use super::order::tuple;
use crate::arguments::Arguments;
use crate::error::raise;
use crate::operand::Given;
use crate::sequence::{self, Limit};
use crate::threads::compute;

rows! {
    /// Parts of one size, or of several, along a dimension.
    both "split" "tensor, split_size_or_sections, dim=0" |a| {
        let (x, dim) = (a.tensor("tensor")?, a.integer_or("dim", 0)?);
        let size = a.required("split_size_or_sections")?;
        let parts = match sequence::integer(size)? {
            Some(size) => x.split(not_negative(size, "split expects split_size be non-negative, but got split_size=")?, dim),
            None => x.split_sizes(&a.sections("split_size_or_sections")?, dim),
        };
        tuple(a.py, parts.map_err(raise)?)?
    };
    /// At most `chunks` parts of equal size along a dimension.
    both "chunk" "input, chunks, dim=0" |a| {
        let (x, chunks, dim) = (a.tensor("input")?, a.integer("chunks")?, a.integer_or("dim", 0)?);
        let chunks = not_negative(chunks, "chunk expects `chunks` to be greater than 0, got: ")?;
        tuple(a.py, x.chunk(chunks, dim).map_err(raise)?)?
    };
    /// The slices of a dimension, which goes away.
    both "unbind" "input, dim=0" |a| {
        tuple(a.py, a.tensor("input")?.unbind(a.integer_or("dim", 0)?).map_err(raise)?)?
    };
    /// Each element, or slice of a dimension, repeated consecutively; of counts alone, each index as often as
    /// they say.
    both "repeat_interleave" "input, repeats=None, dim=None, *, output_size=None" |a| repeat_interleave(a)?;
    /// Vectors stretched to the grid that they span, without copies.
    function "meshgrid" "*tensors, indexing='ij'" |a| {
        let objects: Vec<_> = a.rest().iter().map(|object| (*object).clone()).collect();
        let tensors = match &objects[..] {
            [one] if Given::new(one)?.is_none() => a.tensors_of(&sequence::items(one, Limit::Operands)?)?,
            _ => a.tensors_of(&objects)?,
        };
        let indexing = a.optional("indexing").map(|word| word.extract::<String>()).transpose()?;
        let xy = match indexing.as_deref() {
            None | Some("ij") => false,
            Some("xy") => true,
            Some(other) => {
                return Err(PyRuntimeError::new_err(format!(
                    "torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but received: {other}"
                )));
            }
        };
        tuple(a.py, zerostride::meshgrid(&tensors.iter().collect::<Vec<_>>(), xy).map_err(raise)?)?
    };
}

/// A count, or PyTorch's error with the number.
fn not_negative(count: isize, words: &str) -> PyResult<usize> {
    usize::try_from(count).map_err(|_| PyRuntimeError::new_err(format!("{words}{count}")))
}

fn repeat_interleave(a: &Arguments<'_, '_>) -> PyResult<Tensor> {
    let (x, dim) = (a.tensor("input")?, a.integer_or_none("dim")?);
    let refused = |what: &str| PyRuntimeError::new_err(what.to_owned());
    let count = a.optional("repeats").map(sequence::integer).transpose()?.flatten();
    let repeated = match count {
        Some(count) => {
            let count = usize::try_from(count).map_err(|_| refused("Repeats must be non-negative"))?;
            compute(a.py, [x.numel(), count], || x.repeat_interleave(count, dim))
        }
        None if a.optional("repeats").is_some() => {
            let counts = a.tensor("repeats")?;
            compute(a.py, [x.numel()], || x.repeat_each(&counts, dim))
        }
        None if dim.is_some() => {
            return Err(PyTypeError::new_err(
                "repeat_interleave() of counts alone has no dim: give it repeats too",
            ));
        }
        None if x.ndim() != 1 => return Err(refused("repeat_interleave only accept 1D vector as repeat")),
        None => {
            let places = || Tensor::arange(0, x.numel() as i64, 1)?.repeat_each(&x, Some(0));
            compute(a.py, [x.numel()], places)
        }
    };
    let repeated = repeated.map_err(raise)?;
    let size = match dim {
        Some(dim) => repeated.shape()[if dim < 0 { dim + repeated.ndim() as isize } else { dim } as usize],
        None => repeated.numel(),
    };
    match a.integer_or_none("output_size")? {
        Some(wanted) if wanted != size as isize => Err(refused(&match count {
            Some(_) => format!("repeat_interleave: Invalid output_size, expected {size} but got {wanted}"),
            None => "allocated size does not match required size".to_owned(),
        })),
        _ => Ok(repeated),
    }
}
