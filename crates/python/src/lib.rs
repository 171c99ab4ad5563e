//! The native half of the Python package: `zerostride._zerostride`.
//!
//! Functions and methods are rows of tables: the engine's (`row.rs`) and the package's own (`functions/`).
//! `entry.rs` makes both available to Python; the other files are what a tensor is to Python. This crate does
//! not compute.

#![deny(unsafe_code)]
// Examples in docstrings are sessions of Python, where a result follows its prompt.
#![allow(clippy::doc_lazy_continuation)]

mod arguments;
mod autocast;
mod batch;
mod call;
mod derivative;
mod dtype;
#[allow(unsafe_code)]
mod entry;
mod error;
mod examples;
mod explain;
mod expr;
mod expr_methods;
mod eye;
mod functions;
mod fuse;
mod index;
mod memory;
mod naming;
mod nested;
mod number;
mod once;
mod operand;
#[allow(unsafe_op_in_unsafe_fn, reason = "PyO3 writes it into what the macros here expand to")]
mod operators;
mod outline;
mod policy;
mod pool;
mod prepared;
mod repair;
mod results;
mod row;
mod rules;
mod sequence;
mod signals;
mod signature;
mod source;
mod target;
#[allow(unsafe_code)]
mod team;
mod tensor;
mod tensor_methods;
mod threads;

use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use pyo3::types::{PySequence, PyTuple};

#[pymodule(gil_used = false)]
fn _zerostride(module: &Bound<'_, PyModule>) -> PyResult<()> {
    zerostride::check_environment().map_err(|error| PyImportError::new_err(error.to_string()))?;
    threads::init();
    settle_pyo3(module.py())?;
    module.add_class::<tensor::PyTensor>()?;
    module.add_class::<expr::PyExpr>()?;
    module.add_class::<source::PySource>()?;
    module.add_class::<fuse::Fused>()?;
    module.add_class::<prepared::Prepared>()?;
    module.add_class::<explain::PyExplanation>()?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    dtype::add(module)?;
    error::add(module)?;
    policy::add(module)?;
    entry::add(module)?;
    module.add_function(wrap_pyfunction!(batch::_examples, module)?)?;
    module.add_function(wrap_pyfunction!(batch::_mapped, module)?)?;
    module.add_function(wrap_pyfunction!(explain::explain, module)?)?;
    module.add_function(wrap_pyfunction!(eye::_eye, module)?)?;
    module.add_function(wrap_pyfunction!(eye::_eye_sees_every, module)?)?;
    module.add_function(wrap_pyfunction!(expr_methods::_traced, module)?)?;
    module.add_function(wrap_pyfunction!(memory::rebuild, module)?)?;
    module.add_function(wrap_pyfunction!(outline::_settled, module)?)?;
    module.add_function(wrap_pyfunction!(outline::_step, module)?)?;
    module.add_function(wrap_pyfunction!(target::_target, module)?)?;
    module.add_function(wrap_pyfunction!(row::_stretched, module)?)?;
    module.add_function(wrap_pyfunction!(row::_write, module)?)?;
    module.add_function(wrap_pyfunction!(rules::_are_numpys, module)?)?;
    module.add_function(wrap_pyfunction!(rules::_by_torchs_rules, module)?)?;
    module.add_function(wrap_pyfunction!(threads::set_num_threads, module)?)?;
    module.add_function(wrap_pyfunction!(threads::get_num_threads, module)?)?;
    module.add_function(wrap_pyfunction!(threads::show_config, module)?)?;
    module.add_function(wrap_pyfunction!(pool::_pool_cached, module)?)?;
    module.add_function(wrap_pyfunction!(pool::_pool_limit, module)?)?;
    module.add_function(wrap_pyfunction!(pool::_pool_set_limit, module)?)?;
    module.add_function(wrap_pyfunction!(pool::_pool_trim, module)?)?;
    Ok(())
}

/// Initialises, at import, what PyO3 initialises once at first use: a fork during that would leave it
/// unfinished in the child (`once.rs`).
fn settle_pyo3(py: Python<'_>) -> PyResult<()> {
    py.None().bind(py).cast::<PySequence>().ok();
    py.get_type::<PyTuple>().name()?;
    PyTuple::empty(py).try_iter()?.size_hint();
    py.get_type::<tensor_methods::Rows>();
    py.get_type::<memory::Borrowed>();
    Ok(())
}
