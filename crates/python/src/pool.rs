//! Owns the pool of memory as `zerostride.pool` has it: what `zerostride::pool` does, with Python's lock let
//! go while memory goes back to the system. It does not know how amounts of memory are written, which
//! `_bytes.py` reads.

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
