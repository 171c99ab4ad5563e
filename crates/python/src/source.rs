//! Owns arrays in files: `Source`, an `Expr` whose elements are read when they are needed, and the evaluation
//! of fused functions in pieces, into files and memory. It does not know the arguments of a fused function
//! (`fuse.rs`).

use std::ops::ControlFlow;
use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};
use zerostride::io::{self, Sink};
use zerostride::stream::{InMemory, Options, Output, Passes, Progress, eval_all_to};
use zerostride::{Device, Expr};

use crate::error::raise;
use crate::expr::PyExpr;
use crate::fuse::Fused;
use crate::once::Once;
use crate::signals;

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
    /// Evaluates the function in pieces within `max_memory` bytes. `paths` is called with the form of the
    /// results and tells for each the file that it is written to, or `None`; an existing file is replaced
    /// only with `force`. After each piece `watch` is called with the bytes done and the bytes in all.
    #[pyo3(signature = (paths, max_memory, force, watch, *positional, **named))]
    #[expect(clippy::too_many_arguments, reason = "they are those of `evaluate` in Python")]
    fn _stream<'py>(
        &self,
        py: Python<'py>,
        paths: &Bound<'py, PyAny>,
        max_memory: Option<u64>,
        force: bool,
        watch: Option<Py<PyAny>>,
        positional: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.run(py, positional, named, paths, |written, kept| {
            let mut tell = |progress| told(watch.as_ref(), progress);
            let options = match max_memory {
                Some(bytes) => Options::new().max_memory(bytes),
                None => Options::new(),
            };
            let create = |path| if force { Sink::create(path) } else { Sink::create_new(path) };
            let (mut exprs, mut sinks) = (Vec::new(), Vec::new());
            for (expr, path) in written {
                exprs.push(expr);
                sinks.push(create(path)?);
            }
            if exprs.iter().chain(&kept).any(|expr| expr.device() != Device::Cpu) {
                // What a device has computed stays there, but for what goes to files.
                exprs.extend(kept);
                let mut found = Passes::of_in_memory(&exprs, max_memory)?.run_all(Some(&mut tell))?;
                let kept = found.split_off(sinks.len());
                let written = found.iter().map(|value| Ok(Expr::from(&value.cpu()?)));
                let written = written.collect::<zerostride::Result<Vec<Expr>>>()?;
                let mut outputs: Vec<&mut dyn Output> = sinks.iter_mut().map(|sink| sink as _).collect();
                if !written.is_empty() {
                    eval_all_to(&written, &mut outputs, Options::new())?;
                }
                return Ok(kept);
            }
            let mut values: Vec<InMemory> = kept.iter().map(|_| InMemory::default()).collect();
            exprs.extend(kept);
            let mut outputs: Vec<&mut dyn Output> = sinks.iter_mut().map(|sink| sink as _).collect();
            outputs.extend(values.iter_mut().map(|value| value as &mut dyn Output));
            if !exprs.is_empty() {
                eval_all_to(&exprs, &mut outputs, options.watch(&mut tell))?;
            }
            values.into_iter().map(InMemory::into_tensor).collect()
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
            signals::will_raise(error);
            ControlFlow::Break(())
        }
    }
}
