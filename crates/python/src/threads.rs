//! Owns what goes on around a computation: whether other Python threads run meanwhile, how Ctrl-C ends it,
//! whose line it is, and how many threads compute. It does not know what is computed.

use std::cell::{OnceCell, RefCell};

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use zerostride::policy::{self, Caller};
use zerostride::{Result, interruptible, set_waiter};

use crate::error::raise;

/// Elements, of all operands multiplied, from which on other Python threads may run meanwhile: below, letting
/// the lock go and taking it again costs more than the operation.
const WORTH_DETACHING: usize = 1 << 16;

thread_local! {
    /// What a signal's handler has raised.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Whether there is so much to do that other Python threads should run meanwhile.
#[inline]
pub(crate) fn is_large(numels: impl IntoIterator<Item = usize>) -> bool {
    numels.into_iter().fold(1, usize::saturating_mul) > WORTH_DETACHING
}

/// Runs `work`, without Python's lock and open to signals if there is much to do.
pub(crate) fn compute<T: Send>(
    py: Python<'_>,
    numels: impl IntoIterator<Item = usize>,
    work: impl FnOnce() -> Result<T> + Send,
) -> Result<T> {
    let work = || if is_large(numels) { detached(py, work) } else { work() };
    if policy::is_on() { policy::at(caller(py), work) } else { work() }
}

/// Runs a call with Python's lock, open to signals: what takes long without `compute`.
pub(crate) fn watched<T>(py: Python<'_>, call: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    if is_first(py) { interruptible(has_raised, || Ok(call())).map_err(raise)? } else { call() }
}

fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    // Python runs signals' handlers on its first thread alone.
    let is_first = is_first(py);
    py.detach(|| if is_first { interruptible(has_raised, work) } else { work() })
}

/// Whether this is Python's first thread.
fn is_first(py: Python<'_>) -> bool {
    thread_local! {
        static IS_FIRST: OnceCell<bool> = const { OnceCell::new() };
    }
    let ask = || -> PyResult<bool> {
        let threading = py.import("threading")?;
        Ok(threading.call_method0("main_thread")?.is(&threading.call_method0("current_thread")?))
    };
    IS_FIRST.with(|is_first| *is_first.get_or_init(|| ask().unwrap_or(false)))
}

/// Whether a signal's handler has raised, as that of Ctrl-C does.
///
/// This waits for Python's lock while the evaluation holds tensors. A thread that has the lock releases it
/// before it waits for a tensor (`wait`), so that both go on.
fn has_raised() -> bool {
    Python::attach(raises)
}

fn raises(py: Python<'_>) -> bool {
    match py.check_signals() {
        Ok(()) => false,
        Err(error) => {
            RAISED.set(Some(error));
            true
        }
    }
}

/// Waits for a tensor as Python waits for anything: other threads run meanwhile, and signals are heard.
fn wait(attempt: &mut (dyn FnMut() -> bool + Send)) -> bool {
    Python::attach(|py| {
        while !py.detach(&mut *attempt) {
            if raises(py) {
                return false;
            }
        }
        true
    })
}

/// Readies the engine for Python's threads.
pub(crate) fn init() {
    set_waiter(wait);
}

/// What ended an evaluation that was interrupted.
pub(crate) fn raised() -> PyErr {
    RAISED.take().unwrap_or_else(|| PyKeyboardInterrupt::new_err(()))
}

/// What an evaluation that ends early on this thread will have raised.
pub(crate) fn will_raise(error: PyErr) {
    RAISED.set(Some(error));
}

/// Builds something under a policy: what broadcasts in it was written on the line of the program that runs
/// now.
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
