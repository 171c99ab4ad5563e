//! Owns the names that the arrays of traced functions have in errors: those of the parameters. It does not
//! know what is an error.

use std::cell::RefCell;

use pyo3::prelude::*;
use zerostride::{Expr, Tensor};

use crate::once::Once;

/// The arrays that a function is traced with.
pub(crate) struct Named {
    pub(crate) function: Py<PyAny>,
    pub(crate) arrays: Vec<(Tensor, Label)>,
}

/// How an array was passed.
#[derive(Clone)]
pub(crate) enum Label {
    Place(usize),
    Name(String),
}

thread_local! {
    /// Of the functions that are being traced, one inside another.
    static TRACED: RefCell<Vec<Named>> = const { RefCell::new(Vec::new()) };
}

/// Runs a function while it is traced with these arrays.
pub(crate) fn within<R>(named: Named, run: impl FnOnce() -> R) -> R {
    /// Forgets the arrays, also if the function panics.
    struct Depth;
    impl Drop for Depth {
        fn drop(&mut self) {
            drop(TRACED.with_borrow_mut(Vec::pop));
        }
    }
    TRACED.with_borrow_mut(|traced| traced.push(named));
    let _depth = Depth;
    run()
}

/// The formula of a traced expression, with the names of the function's parameters.
pub(crate) fn formula(py: Python<'_>, expr: &Expr) -> String {
    // Python runs no code while the arrays are borrowed.
    let array = |(tensor, label): &(Tensor, Label)| (tensor.alias(), label.clone());
    let copy =
        |named: &Named| (named.function.clone_ref(py), named.arrays.iter().map(array).collect::<Vec<_>>());
    let traced: Vec<_> = TRACED.with_borrow(|traced| traced.iter().rev().map(copy).collect());
    let mut named = Vec::new();
    for (function, arrays) in &traced {
        let parameters = parameters(function.bind(py)).unwrap_or_default();
        for (tensor, label) in arrays {
            let name = match label {
                Label::Place(place) => parameters.get(*place),
                Label::Name(name) => Some(name),
            };
            named.extend(name.map(|name| (tensor, name.clone())));
        }
    }
    expr.formula_with(&named)
}

/// The names of a function's positional parameters.
fn parameters(function: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    static PARAMETERS: Once<Py<PyAny>> = Once::new();
    PARAMETERS.import(function.py(), "zerostride._outside", "parameters")?.call1((function,))?.extract()
}
