//! Owns a repair as a Python dict. It does not know how repairs are found.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use zerostride_explain::{Explanation, Repair};

/// One repair, as in the JSON.
pub(crate) fn repair<'py>(
    py: Python<'py>,
    explanation: &Explanation,
    repair: &Repair,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("operand", &explanation.names()[repair.operand])?;
    dict.set_item("call", &repair.call)?;
    dict.set_item("shape", PyTuple::new(py, repair.shape.iter())?)?;
    Ok(dict)
}
