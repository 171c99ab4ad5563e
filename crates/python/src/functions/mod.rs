//! Owns the package's own functions and methods, those that are no rows of the op table: each is one row here, of a name,
//! parameters, a sentence, and what it does. It does not know how Python calls them (`entry.rs`).

mod choose;
mod convert;
mod create;
mod join;
mod order;
mod product;
mod split;
mod statistics;
mod view;

use pyo3::prelude::*;

use crate::arguments::{Arguments, Value};
use crate::entry::Call;

pub(crate) use order::places;
pub(crate) use product::matmul;
pub(crate) use view::{matrix_transposed, reversed};

/// Where a row is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// As a function of the module and as a method.
    Both,
    /// As a function of the module.
    Function,
    /// As a method.
    Method,
}

/// One function.
pub(crate) struct Function {
    pub(crate) name: &'static str,
    /// As in `input, dim=None, *size`.
    pub(crate) parameters: &'static str,
    pub(crate) doc: &'static str,
    pub(crate) shown: Shown,
    run: for<'py> fn(&Arguments<'_, 'py>) -> PyResult<Answer<'py>>,
}

impl Function {
    pub(crate) fn call<'py>(&'static self, call: &Call<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        let arguments = Arguments::new(self.name, self.parameters, call)?;
        arguments.check_settled()?;
        match (self.run)(&arguments)? {
            Answer::Value(value) => value.object(call.py),
            Answer::Object(object) => Ok(object),
        }
    }
}

/// What a function returns.
pub(crate) enum Answer<'py> {
    Value(Value),
    Object(Bound<'py, PyAny>),
}

impl From<Value> for Answer<'_> {
    fn from(value: Value) -> Self {
        Answer::Value(value)
    }
}

impl From<zerostride::Tensor> for Answer<'_> {
    fn from(tensor: zerostride::Tensor) -> Self {
        Answer::Value(Value::Tensor(tensor))
    }
}

impl<'py> From<Bound<'py, PyAny>> for Answer<'py> {
    fn from(object: Bound<'py, PyAny>) -> Self {
        Answer::Object(object)
    }
}

/// Every row.
pub(crate) fn all() -> impl Iterator<Item = &'static Function> {
    create::ROWS.iter().chain(computing())
}

/// The rows that compute with tensors, which are all but those that make them.
pub(crate) fn computing() -> impl Iterator<Item = &'static Function> {
    let tables = [
        view::ROWS,
        convert::ROWS,
        join::ROWS,
        split::ROWS,
        choose::ROWS,
        order::ROWS,
        product::ROWS,
        statistics::ROWS,
    ];
    tables.into_iter().flatten()
}

/// A table of rows: where it is shown, name, parameters, what it does.
macro_rules! rows {
    ($($(#[doc = $doc:literal])+ $shown:ident $name:literal $parameters:literal |$a:ident| $run:expr;)*) => {
        pub(super) static ROWS: &[crate::functions::Function] = &[$(crate::functions::Function {
            name: $name,
            parameters: $parameters,
            doc: concat!($($doc, "\n"),+),
            shown: crate::functions::Shown::$shown,
            run: |$a| Ok(crate::functions::Answer::from($run)),
        }),*];
    };
}
use rows;
