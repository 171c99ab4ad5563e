//! Owns when Python's lock is let go of, and how many threads compute. It does not know what is computed.

use pyo3::prelude::*;

/// Elements, of all operands multiplied, from which on other Python threads may run meanwhile: below, letting the lock go
/// and taking it again costs more than the operation.
const WORTH_DETACHING: usize = 1 << 16;

/// Runs `work`, without Python's lock if there is much to do.
pub(crate) fn compute<R: Send>(
    py: Python<'_>,
    numels: impl IntoIterator<Item = usize>,
    work: impl FnOnce() -> R + Send,
) -> R {
    if numels.into_iter().fold(1, usize::saturating_mul) > WORTH_DETACHING { py.detach(work) } else { work() }
}

/// Sets how many threads work on one evaluation; at least one does.
#[pyfunction]
pub(crate) fn set_num_threads(py: Python<'_>, threads: usize) {
    py.detach(|| zerostride::set_num_threads(threads));
}

/// How many threads work on one evaluation.
#[pyfunction]
pub(crate) fn get_num_threads() -> usize {
    zerostride::num_threads()
}
