//! Owns `zerostride.pool`: `zerostride::pool` for Python, with the GIL released while memory is returned to
//! the system. It does not know the text form of sizes (`_bytes.py`).

use pyo3::prelude::*;
use zerostride::pool;

#[pyfunction]
pub(crate) fn _pool_cached() -> usize {
    pool::statistics().held
}

#[pyfunction]
pub(crate) fn _pool_limit() -> usize {
    pool::limit()
}

#[pyfunction]
pub(crate) fn _pool_set_limit(py: Python<'_>, bytes: usize) {
    py.detach(|| pool::set_limit(bytes));
}

#[pyfunction]
pub(crate) fn _pool_trim(py: Python<'_>) {
    py.detach(pool::trim);
}
