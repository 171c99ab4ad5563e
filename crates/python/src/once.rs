//! Owns values that are made once and shared by all threads: objects of other modules, and names. It does not
//! know which.
//!
//! A forked process never finds one half made. PyO3's `PyOnceLock::get_or_init` and `intern!` may release the
//! GIL after they have begun: a child forked then waits for a thread that it does not have. Here a thread
//! makes the value first, even if another does so too, and stores it while it is attached: `os.fork` takes
//! the GIL, or stops all attached threads where there is none.

use std::sync::OnceLock;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

/// A value that is made at its first use.
pub(crate) struct Once<T>(OnceLock<T>);

impl<T> Once<T> {
    pub(crate) const fn new() -> Once<T> {
        Once(OnceLock::new())
    }

    pub(crate) fn get(&self) -> Option<&T> {
        self.0.get()
    }

    /// # Errors
    /// Those of `make`, which is called again the next time.
    pub(crate) fn get_or_make(&self, _py: Python<'_>, make: impl FnOnce() -> PyResult<T>) -> PyResult<&T> {
        match self.0.get() {
            Some(value) => Ok(value),
            None => {
                let value = make()?;
                Ok(self.0.get_or_init(|| value))
            }
        }
    }
}

impl Once<Py<PyAny>> {
    /// An attribute of a module.
    ///
    /// # Errors
    /// Python's, if the module cannot be imported or has no such name.
    pub(crate) fn import<'py>(
        &self,
        py: Python<'py>,
        module: &str,
        name: &str,
    ) -> PyResult<&Bound<'py, PyAny>> {
        let make = || Ok(py.import(module)?.getattr(name)?.unbind());
        Ok(self.get_or_make(py, make)?.bind(py))
    }

    /// An attribute of a module that the program has imported, to ask whether an object is of its kind;
    /// `None` before that: a question imports nothing, which a process forked meanwhile would wait for.
    ///
    /// # Errors
    /// Those of Python's own modules.
    pub(crate) fn loaded<'py>(
        &self,
        py: Python<'py>,
        module: &str,
        name: &str,
    ) -> PyResult<Option<&Bound<'py, PyAny>>> {
        /// `sys.modules`, the dict in which Python looks itself: to import `sys` costs half a microsecond.
        static MODULES: Once<Py<PyDict>> = Once::new();
        if self.0.get().is_none() {
            let modules = || Ok(py.import("sys")?.getattr("modules")?.cast_into::<PyDict>()?.unbind());
            let modules = MODULES.get_or_make(py, modules)?.bind(py);
            let found = modules.get_item(module)?.map(|module| module.getattr_opt(name));
            let Some(value) = found.transpose()?.flatten() else {
                return Ok(None); // Not imported, or being imported.
            };
            self.get_or_make(py, || Ok(value.unbind()))?;
        }
        Ok(self.0.get().map(|value| value.bind(py)))
    }
}

impl Once<Py<PyString>> {
    /// A string interned by Python.
    pub(crate) fn intern<'py>(&self, py: Python<'py>, name: &str) -> PyResult<&Bound<'py, PyString>> {
        Ok(self.get_or_make(py, || Ok(PyString::intern(py, name).unbind()))?.bind(py))
    }
}

/// A literal as Python's interned string, made once for each place in the code.
macro_rules! name {
    ($py:expr, $name:literal) => {{
        static NAME: $crate::once::Once<pyo3::Py<pyo3::types::PyString>> = $crate::once::Once::new();
        NAME.intern($py, $name)?
    }};
}
pub(crate) use name;
