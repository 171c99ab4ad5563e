//! Owns the exception with which a signal ends an evaluation, as Ctrl-C does. It does not know what is
//! evaluated.

use std::cell::RefCell;

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

thread_local! {
    /// The exception that a signal's handler has raised.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Whether a signal's handler has raised.
pub(crate) fn raises(py: Python<'_>) -> bool {
    match py.check_signals() {
        Ok(()) => false,
        Err(error) => {
            RAISED.set(Some(error));
            true
        }
    }
}

/// The exception that interrupted an evaluation.
pub(crate) fn raised() -> PyErr {
    RAISED.take().unwrap_or_else(|| PyKeyboardInterrupt::new_err(()))
}

/// Sets the exception that an interrupted evaluation on this thread will raise.
pub(crate) fn will_raise(error: PyErr) {
    RAISED.set(Some(error));
}
