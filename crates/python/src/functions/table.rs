//! Owns the call of a function of the engine's table: converts its arguments to the engine's form and its
//! results to Python's. It does not know what a function does.

use pyo3::prelude::*;
use zerostride::{Argument, DType, Function, OpError, Outcome, call_function};
use zerostride_ops::{self as ops, Default, Kind, Section};

use super::function::Answer;
use super::order::several;
use super::product::finished;
use crate::arguments::{Arguments, Value, lengths};
use crate::call::Call;
use crate::dtype;
use crate::error::raise;
use crate::target::target;
use crate::threads::compute;

/// Calls a function of the table by one of its names.
pub(crate) fn call<'py>(
    function: Function,
    name: &'static str,
    call: &Call<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let signature = (function.info().python, function.python_signature());
    let a = Arguments::new(name, signature, call)?;
    let mut given =
        Given { a: &a, section: function.info().section, dtype: a.dtype("dtype")?, traced: false, numel: 0 };
    let arguments = function.signature().arguments.iter().map(|parameter| given.argument(parameter));
    let arguments = arguments.collect::<PyResult<_>>()?;
    let Given { dtype, traced, numel, .. } = given;
    if let (Some(asked), Some(out)) = (dtype, a.optional("out")) {
        let target = target(out)?.dtype();
        if asked != target {
            return Err(raise(OpError::Target { asked, target }.into()));
        }
    }
    let answer = match call_function(function, arguments).map_err(|error| raise(error.root().clone()))? {
        Outcome::Tensor(tensor) => tensor.into(),
        Outcome::Expr(expr) => {
            let numels = [expr.shape().map_or(numel, |shape| shape.iter().product())];
            finished(a.py, expr, traced, numels, a.optional("out"))?.into()
        }
        Outcome::Moved(moved) => {
            let run = || {
                let results = moved.run()?.into_iter();
                results
                    .map(|result| dtype.map_or(Ok(result.alias()), |dtype| result.to_dtype(dtype)))
                    .collect()
            };
            let results: Vec<_> = compute(a.py, [numel], run).map_err(raise)?;
            several(a.py, name, results)?
        }
    };
    Answer::given(answer, &a, name)
}

/// The arguments of a call while they are bound.
struct Given<'a, 'b, 'py> {
    a: &'b Arguments<'a, 'py>,
    section: Section,
    /// The dtype to compute in.
    dtype: Option<DType>,
    /// Whether an argument is being traced.
    traced: bool,
    /// The most elements of an argument.
    numel: usize,
}

impl Given<'_, '_, '_> {
    fn argument(&mut self, parameter: &ops::Argument) -> PyResult<Option<Argument>> {
        let (a, name) = (self.a, parameter.name);
        let signed =
            |counts: Vec<usize>| Argument::Dims(counts.into_iter().map(|count| count as isize).collect());
        match (parameter.collects, parameter.kind) {
            (true, Kind::Counts) => return Ok(Some(signed(lengths(&a.sizes_of(name)?)?))),
            (true, _) => return Ok(Some(Argument::Dims(a.sizes_of(name)?))),
            (false, _) => {}
        }
        if parameter.default != Default::Required && a.optional(name).is_none() {
            return Ok(None);
        }
        Ok(Some(match parameter.kind {
            Kind::Operand | Kind::Number | Kind::Order | Kind::Dims | Kind::Word => {
                let value = a.value(name)?;
                match &value {
                    Value::Tensor(tensor) => self.numel = self.numel.max(tensor.numel()),
                    Value::Traced(_) => self.traced = true,
                }
                match value {
                    Value::Tensor(tensor) if self.section == Section::View => Argument::Tensor(tensor),
                    value => Argument::Expr(value.expr()),
                }
            }
            Kind::Tensor => {
                let tensor = a.tensor(name)?;
                self.numel = self.numel.max(tensor.numel());
                Argument::Tensor(match self.dtype {
                    Some(dtype) => tensor.to_dtype(dtype).map_err(raise)?,
                    None => tensor,
                })
            }
            Kind::Tensors => {
                let tensors = a.tensors(name)?;
                self.numel =
                    tensors.iter().map(zerostride::Tensor::numel).fold(self.numel, usize::saturating_add);
                Argument::Tensors(tensors)
            }
            Kind::Integer => (a.integer(name)? as i64).into(),
            Kind::Integers => Argument::Dims(a.integers(name)?),
            Kind::Count => (a.count(name)? as i64).into(),
            Kind::Counts => signed(a.shape(name)?),
            Kind::Flag => a.flag(name)?.into(),
            Kind::Repeats => match crate::sequence::integer(a.required(name)?)? {
                Some(count) => (count as i64).into(),
                None => Argument::Tensor(a.tensor(name)?),
            },
            Kind::Pairs => a.pairs(name)?,
            Kind::DType => Argument::DType(dtype::extract(a.required(name)?)?),
        }))
    }
}
