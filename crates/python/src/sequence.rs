//! Owns how lists are read that a caller gives: never more of them than there may be, and no more memory is
//! taken than items have come. It does not know what the items are for.

use pyo3::exceptions::{PyOverflowError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use zerostride::{MAX_RANK, ShapeError};

use crate::error::raise;

/// How many items a list may have.
#[derive(Clone, Copy)]
pub(crate) enum Limit {
    /// One for each dimension that a tensor can have.
    Rank,
    /// As many as a call may name: operands, sections.
    Operands,
}

/// Items that a list of operands or sections may have.
const MOST_OPERANDS: usize = 1 << 20;

impl Limit {
    fn most(self) -> usize {
        match self {
            Limit::Rank => MAX_RANK,
            Limit::Operands => MOST_OPERANDS,
        }
    }

    fn exceeded(self, len: usize) -> PyErr {
        match self {
            Limit::Rank => raise(ShapeError::RankTooHigh { ndim: len }.into()),
            Limit::Operands => PyValueError::new_err(format!(
                "a list has {len} items or more, and a call takes at most {MOST_OPERANDS}"
            )),
        }
    }
}

/// What an object gives when it is iterated. Its `len()` is believed where it is too large.
pub(crate) fn items<'py>(object: &Bound<'py, PyAny>, limit: Limit) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let py = object.py();
    match object.len() {
        Ok(len) if len > limit.most() => return Err(limit.exceeded(len)),
        Err(error) if error.is_instance_of::<PyOverflowError>(py) => return Err(limit.exceeded(usize::MAX)),
        // Not everything that is iterated has a length.
        Err(error) if !error.is_instance_of::<PyTypeError>(py) => return Err(error),
        _ => {}
    }
    let mut items = Vec::new();
    for item in object.try_iter()? {
        if items.len() == limit.most() {
            return Err(limit.exceeded(items.len() + 1));
        }
        items.push(item?);
    }
    Ok(items)
}

/// The integer that an object is; `None` if it is none.
pub(crate) fn integer(object: &Bound<'_, PyAny>) -> PyResult<Option<isize>> {
    let py = object.py();
    match object.extract() {
        Ok(integer) => Ok(Some(integer)),
        Err(error) if error.get_type(py).is(py.get_type::<PyTypeError>()) => Ok(None),
        Err(error) if error.is_instance_of::<PyOverflowError>(py) => {
            Err(PyRuntimeError::new_err("Overflow when unpacking long long"))
        }
        Err(error) => Err(error),
    }
}

/// The integers of a sequence; `None` if it is none, or has other items.
pub(crate) fn integers(object: &Bound<'_, PyAny>, limit: Limit) -> PyResult<Option<Vec<isize>>> {
    let is_sequence = !object.is_instance_of::<PyString>()
        && !object.is_instance_of::<PyDict>()
        && object.hasattr("__getitem__")?
        && object.hasattr("__len__")?;
    if !is_sequence {
        return Ok(None);
    }
    items(object, limit)?.iter().map(integer).collect()
}

/// The sizes of a shape; `None` if an object is no sequence of integers that are not negative.
pub(crate) fn shape(object: &Bound<'_, PyAny>) -> PyResult<Option<Vec<usize>>> {
    let sizes = integers(object, Limit::Rank)?;
    Ok(sizes.and_then(|sizes| sizes.into_iter().map(|size| usize::try_from(size).ok()).collect()))
}
