//! Owns what goes on around a computation: whether other Python threads run meanwhile, how Ctrl-C ends it, whose line it
//! is, and how many threads compute. It does not know what is computed.

use std::cell::RefCell;

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use zerostride::policy::{self, Caller};
use zerostride::{Result, interruptible};

/// Elements, of all operands multiplied, from which on other Python threads may run meanwhile: below, letting the lock go
/// and taking it again costs more than the operation.
const WORTH_DETACHING: usize = 1 << 16;

thread_local! {
    /// What a signal's handler has raised.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Runs `work`, without Python's lock and open to signals if there is much to do.
pub(crate) fn compute<T: Send>(
    py: Python<'_>,
    numels: impl IntoIterator<Item = usize>,
    work: impl FnOnce() -> Result<T> + Send,
) -> Result<T> {
    let is_large = numels.into_iter().fold(1, usize::saturating_mul) > WORTH_DETACHING;
    if policy::is_on() {
        return policy::at(caller(py), || if is_large { detached(py, work) } else { work() });
    }
    if is_large { detached(py, work) } else { work() }
}

fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    // Asking for signals takes Python's lock. Another thread may have it while it waits for what this evaluation has, so
    // that an evaluation asks only where there is no other thread; then this is the one whose signals they are.
    let alone = is_alone(py).unwrap_or(false);
    py.detach(|| if alone { interruptible(has_raised, work) } else { work() })
}

/// Whether this is Python's only thread.
fn is_alone(py: Python<'_>) -> PyResult<bool> {
    static COUNT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    COUNT.import(py, "threading", "active_count")?.call0()?.eq(1)
}

/// Whether a signal's handler has raised, as that of Ctrl-C does. Python runs handlers on its first thread alone.
fn has_raised() -> bool {
    let raised = Python::attach(|py| py.check_signals().err());
    let stops = raised.is_some();
    RAISED.set(raised);
    stops
}

/// What ended an evaluation that was interrupted.
pub(crate) fn raised() -> PyErr {
    RAISED.take().unwrap_or_else(|| PyKeyboardInterrupt::new_err(()))
}

/// What an evaluation that ends early on this thread will have raised.
pub(crate) fn will_raise(error: PyErr) {
    RAISED.set(Some(error));
}

/// Builds something under a policy: what broadcasts in it was written on the line of the program that runs now.
pub(crate) fn built<R>(py: Python<'_>, build: impl FnOnce() -> R) -> R {
    if policy::is_on() { policy::at(caller(py), build) } else { build() }
}

/// The line of the program outside of this package and of torch.
fn caller(py: Python<'_>) -> Caller {
    let found = || py.import("zerostride._policy")?.call_method0("caller")?.extract::<(String, u32)>();
    let (file, line) = found().unwrap_or_else(|_| ("<unknown>".to_owned(), 0));
    Caller::new(file, line)
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
