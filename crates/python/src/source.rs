//! Owns arrays in files: `Source`, an `Expr` whose elements are read when they are needed, and the evaluation
//! of fused functions in pieces, into files. It does not know the arguments of a fused function (`fuse.rs`).

use std::ops::ControlFlow;
use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};
use zerostride::Expr;
use zerostride::io::{self, Sink};
use zerostride::stream::{Options, Progress};

use crate::error::raise;
use crate::expr::PyExpr;
use crate::fuse::Fused;
use crate::once::Once;
use crate::threads;

/// An array in a file, whose elements are read when they are needed; made by ``open``.
#[pyclass(name = "Source", module = "zerostride", frozen, extends = PyExpr)]
pub(crate) struct PySource {
    path: PathBuf,
    source: io::Source,
}

#[pymethods]
impl PySource {
    #[new]
    fn new(path: PathBuf) -> PyResult<PyClassInitializer<PySource>> {
        let source = io::Source::open(&path).map_err(raise)?;
        let expr = PyExpr(Expr::from(&source));
        Ok(PyClassInitializer::from(expr).add_subclass(PySource { path, source }))
    }

    /// The path as it was given to ``open``.
    #[getter]
    fn path<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        static PATH: Once<Py<PyAny>> = Once::new();
        PATH.import(py, "pathlib", "Path")?.call1((self.path.as_os_str(),))
    }

    /// Pickled by its path.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyType>, (Bound<'py, PyAny>,))> {
        Ok((slf.get_type(), (slf.get().path(slf.py())?,)))
    }

    fn __repr__(&self) -> String {
        let (shape, dtype) = (self.source.shape(), self.source.dtype().torch_name());
        format!("Source({:?}, shape={shape:?}, dtype={dtype})", self.path)
    }
}

#[pymethods]
impl Fused {
    /// Evaluates the function in pieces within `max_memory` bytes, into the file `path` if it is given; an
    /// existing file is replaced only with `force`. After each piece `watch` is called with the bytes done
    /// and the bytes in all.
    #[pyo3(signature = (path, max_memory, force, watch, *positional, **named))]
    #[expect(clippy::too_many_arguments, reason = "they are those of `evaluate` in Python")]
    fn _stream<'py>(
        &self,
        py: Python<'py>,
        path: Option<PathBuf>,
        max_memory: Option<u64>,
        force: bool,
        watch: Option<Py<PyAny>>,
        positional: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.run(py, positional, named, |expr| {
            let mut tell = |progress| told(watch.as_ref(), progress);
            let options = match max_memory {
                Some(bytes) => Options::new().max_memory(bytes),
                None => Options::new(),
            };
            let options = options.watch(&mut tell);
            let Some(path) = path else { return expr.eval_with(options).map(Some) };
            let mut sink = if force { Sink::create(path) } else { Sink::create_new(path) }?;
            expr.eval_to(&mut sink, options).map(|()| None)
        })
    }
}

/// Calls `watch` after a piece and checks for signals; an exception of either ends the evaluation.
fn told(watch: Option<&Py<PyAny>>, progress: Progress) -> ControlFlow<()> {
    let done = progress.read.saturating_add(progress.written);
    let all = progress.to_read.saturating_add(progress.to_write);
    let heard = Python::attach(|py| {
        py.check_signals()?;
        watch.map_or(Ok(()), |watch| watch.call1(py, (done, all)).map(drop))
    });
    match heard {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            threads::will_raise(error);
            ControlFlow::Break(())
        }
    }
}
