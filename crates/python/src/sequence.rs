//! Owns the reading of lists from callers, with limits: never more items than allowed, and no memory for more
//! items than have come. It does not know what the items are for.

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use zerostride::{MAX_RANK, ShapeError};

use crate::error::raise;

/// The most items of a list.
#[derive(Clone, Copy)]
pub(crate) enum Limit {
    /// As many as a tensor can have dimensions.
    Rank,
    /// As many operands or sections as a call may have.
    Operands,
}

/// The most items of a list of operands or sections.
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

/// The items of an iterable. Its `len()` is used only to refuse one that is too long.
pub(crate) fn items<'py>(object: &Bound<'py, PyAny>, limit: Limit) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let py = object.py();
    match object.len() {
        Ok(len) if len > limit.most() => return Err(limit.exceeded(len)),
        Err(error) if error.is_instance_of::<PyOverflowError>(py) => return Err(limit.exceeded(usize::MAX)),
        // Not every iterable has a length.
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

/// PyTorch's message for an integer of more than 64 bits.
pub(crate) const TOO_LONG: &str = "Overflow when unpacking long long";

/// The integer, if the object is one.
pub(crate) fn integer(object: &Bound<'_, PyAny>) -> PyResult<Option<isize>> {
    let py = object.py();
    match object.extract() {
        Ok(integer) => Ok(Some(integer)),
        Err(error) if error.get_type(py).is(py.get_type::<PyTypeError>()) => Ok(None),
        Err(error) if error.is_instance_of::<PyOverflowError>(py) => Err(PyValueError::new_err(TOO_LONG)),
        Err(error) => Err(error),
    }
}

/// The integers, if the object is a sequence of integers.
pub(crate) fn integers(object: &Bound<'_, PyAny>, limit: Limit) -> PyResult<Option<Vec<isize>>> {
    let is_sequence = !object.is_instance_of::<PyString>()
        && !object.is_instance_of::<PyDict>()
        && object.hasattr("__getitem__")?
        && object.hasattr("__len__")?;
    if !is_sequence {
        return Ok(None);
    }
    items(object, limit)?.iter().enumerate().map(|(place, item)| integer_at(place, item)).collect()
}

/// The integer, if the object is one, at that place of a list.
pub(crate) fn integer_at(place: usize, object: &Bound<'_, PyAny>) -> PyResult<Option<isize>> {
    integer(object).map_err(|error| match error.is_instance_of::<PyValueError>(object.py()) {
        true => PyTypeError::new_err(format!(
            "failed to unpack the object at pos {} with error \"{TOO_LONG}\"",
            place + 1
        )),
        false => error,
    })
}

/// The sizes, if the object is a sequence of integers that are not negative.
pub(crate) fn shape(object: &Bound<'_, PyAny>) -> PyResult<Option<Vec<usize>>> {
    let sizes = integers(object, Limit::Rank)?;
    Ok(sizes.and_then(|sizes| sizes.into_iter().map(|size| usize::try_from(size).ok()).collect()))
}
