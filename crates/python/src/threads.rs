//! Owns the surroundings of a computation: whether the GIL is released, how Ctrl-C ends it, the caller's
//! line, and the number of threads. It does not know what is computed.

use std::cell::OnceCell;
use std::{env, thread};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyBool;
use zerostride::policy::{self, Caller};
use zerostride::{Result, interruptible, set_waiter};

use crate::error::{raise, type_name};
use crate::sequence;
use crate::signals::raises;

/// Elements of all operands together from which on the GIL is released: below, releasing and taking it costs
/// more than the operation.
const WORTH_DETACHING: usize = 1 << 16;

/// Whether a computation is large enough to release the GIL.
#[inline]
pub(crate) fn is_large(numels: impl IntoIterator<Item = usize>) -> bool {
    numels.into_iter().fold(1, usize::saturating_mul) > WORTH_DETACHING
}

/// Runs `work`; if it is large, without the GIL and interruptible by signals.
pub(crate) fn compute<T: Send>(
    py: Python<'_>,
    numels: impl IntoIterator<Item = usize>,
    work: impl FnOnce() -> Result<T> + Send,
) -> Result<T> {
    let work = || if is_large(numels) { detached(py, work) } else { work() };
    if policy::is_on() { policy::at(caller(py), work) } else { work() }
}

/// Runs a call with the GIL, interruptible by signals: for long calls that do not use `compute`.
pub(crate) fn watched<T>(py: Python<'_>, call: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    if is_first(py) { interruptible(has_raised, || Ok(call())).map_err(raise)? } else { call() }
}

fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    // Python runs signal handlers on its main thread only.
    let is_first = is_first(py);
    py.detach(|| if is_first { interruptible(has_raised, work) } else { work() })
}

/// Whether this is Python's main thread.
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
/// This waits for the GIL while the evaluation holds claims on tensors. There is no deadlock, since a thread
/// with the GIL releases it before it waits for a tensor (`wait`).
fn has_raised() -> bool {
    Python::attach(raises)
}

/// Waits for a tensor: meanwhile other Python threads run, and signals are handled.
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

/// Sets up the engine for Python's threads, and how many of its own it has.
pub(crate) fn init() {
    set_waiter(wait);
    if let Some(threads) = given() {
        zerostride::set_num_threads(threads);
    }
}

/// How many threads this process was given by what started it, if the user did not say. Dask, Ray, joblib and
/// torchrun divide the processors among their processes in this way, and NumPy and torch follow it.
fn given() -> Option<usize> {
    let threads = |variable| {
        let text = env::var(variable).ok()?;
        // OpenMP's variable may be a list, a number for each level of nesting.
        text.split(',').next()?.trim().parse().ok().filter(|threads: &usize| *threads > 0)
    };
    if threads("RAYON_NUM_THREADS").is_some() {
        return None;
    }
    let processors = thread::available_parallelism().map_or(1, Into::into);
    Some(threads("OMP_NUM_THREADS")?.min(processors))
}

/// Builds something under a policy: its broadcasts belong to the line of the program that is running.
pub(crate) fn built<R>(py: Python<'_>, build: impl FnOnce() -> R) -> R {
    if policy::is_on() { policy::at(caller(py), build) } else { build() }
}

/// The innermost line of the program outside this package and torch.
fn caller(py: Python<'_>) -> Caller {
    let found = || py.import("zerostride._policy")?.call_method0("caller")?.extract::<(String, u32)>();
    let (file, line) = found().unwrap_or_else(|_| ("<unknown>".to_owned(), 0));
    Caller::new(file, line)
}

/// Sets how many threads work on one evaluation.
///
/// >>> before = zs.get_num_threads()
/// >>> zs.set_num_threads(1)
/// >>> zs.get_num_threads()
/// 1
/// >>> zs.set_num_threads(before)
#[pyfunction]
pub(crate) fn set_num_threads(threads: &Bound<'_, PyAny>) -> PyResult<()> {
    let integer = if threads.is_instance_of::<PyBool>() { None } else { sequence::integer(threads)? };
    let wanted = |what: &str| PyRuntimeError::new_err(format!("set_num_threads expects {what}"));
    let count = integer.ok_or_else(|| wanted(&format!("an int, but got {}", type_name(threads))))?;
    let count = usize::try_from(count).ok().filter(|count| *count > 0);
    let count = count.ok_or_else(|| wanted("a positive integer"))?;
    threads.py().detach(|| zerostride::set_num_threads(count));
    Ok(())
}

/// How many threads work on one evaluation.
///
/// >>> zs.get_num_threads() >= 1
/// True
#[pyfunction]
pub(crate) fn get_num_threads() -> usize {
    zerostride::num_threads()
}

/// Prints what computes in this process: the version, the instruction set, whether formulas become machine
/// code, and the threads.
///
/// >>> zs.show_config()
/// zerostride ...
#[pyfunction]
pub(crate) fn show_config(py: Python<'_>) -> PyResult<()> {
    py.import("sys")?.getattr("stdout")?.call_method1("write", (zerostride::show_config(),)).map(drop)
}
