//! Owns a function of the package as a row of a table: a name, parameters, a sentence and a body, and what
//! becomes of its answer. It does not know which functions there are.

use std::sync::OnceLock;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use zerostride::Expr;
use zerostride_ops::{Shown, Signature};

use crate::arguments::{Arguments, Value};
use crate::call::Call;
use crate::error::{raise, type_name};
use crate::sequence::{self, Limit};
use crate::target::{self, untraceable_target};
use crate::tensor::PyTensor;
use crate::threads::compute;

/// One function.
pub(crate) struct Function {
    pub(crate) name: &'static str,
    /// Written as `input, dim=None, *size`.
    pub(crate) parameters: &'static str,
    pub(crate) doc: &'static str,
    pub(crate) shown: Shown,
    pub(super) signature: OnceLock<Signature>,
    pub(super) run: for<'py> fn(&Arguments<'_, 'py>) -> PyResult<Answer<'py>>,
}

impl Function {
    pub(crate) fn call<'py>(&'static self, call: &Call<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        let signature = self.signature.get_or_init(|| Signature::read(self.parameters));
        let arguments = Arguments::new(self.name, (self.parameters, signature), call)?;
        arguments.check_settled()?;
        (self.run)(&arguments)?.moved(&arguments)?.given(&arguments, self.name)
    }
}

/// The return value of a function.
pub(crate) enum Answer<'py> {
    Value(Value),
    Object(Bound<'py, PyAny>),
}

impl<'py> Answer<'py> {
    /// The answer on the device that is asked for.
    fn moved(self, a: &Arguments<'_, 'py>) -> PyResult<Answer<'py>> {
        let Some(device) = a.optional("device").map(|device| a.device(device)).transpose()? else {
            return Ok(self);
        };
        let tensor = match &self {
            Answer::Value(Value::Tensor(tensor)) => tensor.alias(),
            Answer::Object(object) => match object.cast::<PyTensor>() {
                Ok(tensor) => tensor.get().0.alias(),
                Err(_) => return Ok(self),
            },
            Answer::Value(Value::Traced(_)) => return Ok(self),
        };
        if tensor.device() == device {
            return Ok(self);
        }
        compute(a.py, [tensor.numel()], || tensor.to(device)).map(Answer::from).map_err(raise)
    }

    /// The object that is returned; `out` if it is given.
    pub(super) fn given(self, a: &Arguments<'_, 'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        match (a.optional("out"), self) {
            (Some(out), answer) => answer.written(a.py, name, out),
            (None, Answer::Value(value)) => value.object(a.py),
            (None, Answer::Object(object)) => Ok(object),
        }
    }

    /// Writes the results to `out`, a tuple if there are several, and returns it.
    fn written(self, py: Python<'py>, name: &str, out: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let tuple = match self {
            Answer::Value(value) => return written(name, &value, out),
            Answer::Object(object) => match object.cast_into::<PyTuple>() {
                Ok(tuple) => tuple,
                Err(error) => return written_of(name, &error.into_inner(), out),
            },
        };
        let is_several = out.is_instance_of::<PyTuple>() || out.is_instance_of::<PyList>();
        let wanted = |what: &str| {
            let message = format!("{name}(): argument 'out' must be tuple of Tensors, not {what}");
            PyTypeError::new_err(message)
        };
        if !is_several {
            return Err(wanted(&type_name(out)));
        }
        let targets = sequence::items(out, Limit::Operands)?;
        if targets.len() != tuple.len() {
            return Err(wanted(&format!("of {} but of {}", tuple.len(), targets.len())));
        }
        for (result, target) in tuple.iter().zip(&targets) {
            written_of(name, &result, target)?;
        }
        let targets = PyTuple::new(py, targets)?;
        let class = tuple.get_type();
        if class.hasattr("_make")? { class.call_method1("_make", (targets,)) } else { Ok(targets.into_any()) }
    }
}

/// Like `written`, for a result that is an object already.
fn written_of<'py>(
    name: &str,
    result: &Bound<'py, PyAny>,
    out: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    match result.cast::<PyTensor>() {
        Ok(tensor) => written(name, &Value::Tensor(tensor.get().0.alias()), out),
        Err(_) => Err(untraceable_target(name, out)),
    }
}

/// Writes a result to a target, by the rules of all targets, unless it was computed there.
fn written<'py>(name: &str, value: &Value, out: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let Value::Tensor(result) = value else { return Err(untraceable_target(name, out)) };
    let target = target::target(out)?;
    let is_there = result.data_ptr() == target.data_ptr()
        && (result.dtype(), result.layout()) == (target.dtype(), target.layout());
    if !is_there {
        compute(out.py(), [target.numel()], || Expr::from(result).eval_into(&target)).map_err(raise)?;
    }
    Ok(out.clone())
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

/// A table of rows: where Python has it, name, parameters, body.
macro_rules! rows {
    ($($(#[doc = $doc:literal])+ $shown:ident $name:literal $parameters:literal |$a:ident| $run:expr;)*) => {
        pub(super) static ROWS: [crate::functions::function::Function; [$($name),*].len()] = [$(crate::functions::function::Function {
            name: $name,
            parameters: $parameters,
            doc: concat!($($doc, "\n"),+),
            shown: zerostride_ops::Shown::$shown,
            signature: std::sync::OnceLock::new(),
            run: |$a| Ok(crate::functions::function::Answer::from($run)),
        }),*];
    };
}
pub(super) use rows;
