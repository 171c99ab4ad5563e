//! Owns the return values of fused functions: arrays in tuples, lists and dicts of any class. It does not
//! know how arrays are computed nor to which library they are converted (`fuse.rs`).

use pyo3::exceptions::{PyRecursionError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple, PyType};
use zerostride::Expr;

use crate::error::{TraceError, type_name};
use crate::once::name;
use crate::operand::Given;

/// A result, or a structure of results.
pub(crate) enum Output {
    /// A computed array, by its number.
    Result(usize),
    /// An argument that is returned unchanged, by its number among the arrays.
    Argument(usize),
    /// A number, or `None`.
    Constant(Py<PyAny>),
    Tuple(Py<PyType>, Vec<Output>),
    List(Py<PyType>, Vec<Output>),
    /// With the default factory of a `defaultdict`.
    Dict(Py<PyType>, Option<Py<PyAny>>, Vec<(Py<PyAny>, Output)>),
}

/// The deepest nesting of a return value, since it is walked by recursion.
const MOST_NESTED: usize = 256;

/// A return value while it is taken apart.
pub(crate) struct Returned<'a, 'py> {
    /// The objects that the function got in place of arrays.
    pub(crate) arguments: &'a [Bound<'py, PyAny>],
    /// The expressions, each once, with the objects that they came as.
    computed: Vec<(Bound<'py, PyAny>, Expr)>,
    /// The tuples, lists and dicts that enclose the current one.
    around: Vec<Bound<'py, PyAny>>,
}

impl<'a, 'py> Returned<'a, 'py> {
    pub(crate) fn new(arguments: &'a [Bound<'py, PyAny>]) -> Returned<'a, 'py> {
        Returned { arguments, computed: Vec::new(), around: Vec::new() }
    }

    /// The expressions, in the order of their numbers.
    pub(crate) fn exprs(self) -> Vec<Expr> {
        self.computed.into_iter().map(|(_, expr)| expr).collect()
    }

    pub(crate) fn output(&mut self, object: &Bound<'py, PyAny>) -> PyResult<Output> {
        let class = || object.get_type().unbind();
        if let Ok(tuple) = object.cast::<PyTuple>() {
            return Ok(Output::Tuple(class(), self.outputs(object, tuple.iter())?));
        }
        if let Ok(list) = object.cast::<PyList>() {
            return Ok(Output::List(class(), self.outputs(object, list.iter())?));
        }
        if let Ok(dict) = object.cast::<PyDict>() {
            let factory = object.getattr_opt(name!(object.py(), "default_factory"))?.map(Bound::unbind);
            let outputs = self.outputs(object, dict.values().iter())?;
            let keys = dict.keys().iter().map(Bound::unbind).collect::<Vec<_>>();
            return Ok(Output::Dict(class(), factory, keys.into_iter().zip(outputs).collect()));
        }
        if let Some(place) = self.arguments.iter().position(|argument| argument.is(object)) {
            return Ok(Output::Argument(place));
        }
        if let Some(number) = self.computed.iter().position(|(known, _)| known.is(object)) {
            return Ok(Output::Result(number));
        }
        if object.is_none() {
            return Ok(Output::Constant(object.clone().unbind()));
        }
        match Given::new(object)? {
            Some(Given::Number(_)) => Ok(Output::Constant(object.clone().unbind())),
            Some(given) => {
                let expr = match given {
                    Given::Tensor(_) | Given::Foreign(_) => given.expr().copied(),
                    traced => traced.expr(),
                };
                self.computed.push((object.clone(), expr));
                Ok(Output::Result(self.computed.len() - 1))
            }
            None => Err(TraceError::new_err(format!(
                "a fused function returns arrays and numbers, or tuples, lists and dicts of them, not {}",
                type_name(object)
            ))),
        }
    }

    fn outputs(
        &mut self,
        container: &Bound<'py, PyAny>,
        objects: impl Iterator<Item = Bound<'py, PyAny>>,
    ) -> PyResult<Vec<Output>> {
        if self.around.iter().any(|outer| outer.is(container)) {
            return Err(PyValueError::new_err("Circular reference detected"));
        }
        if self.around.len() == MOST_NESTED {
            let message = format!("what a fused function returns nests more than {MOST_NESTED} deep");
            return Err(PyRecursionError::new_err(message));
        }
        self.around.push(container.clone());
        let outputs = objects.map(|object| self.output(&object)).collect();
        self.around.pop();
        outputs
    }
}

impl Output {
    /// The arrays, numbers and `None`s in their order.
    pub(crate) fn leaves(&self) -> Vec<&Output> {
        match self {
            Output::Tuple(_, outputs) | Output::List(_, outputs) => {
                outputs.iter().flat_map(Output::leaves).collect()
            }
            Output::Dict(_, _, outputs) => outputs.iter().flat_map(|(_, output)| output.leaves()).collect(),
            leaf => vec![leaf],
        }
    }

    /// The object to return, made of results and of the arguments of the call.
    pub(crate) fn object<'py>(
        &self,
        py: Python<'py>,
        results: &[Bound<'py, PyAny>],
        arguments: &[Bound<'py, PyAny>],
    ) -> PyResult<Bound<'py, PyAny>> {
        let all = |outputs: &[Output]| {
            let objects = outputs.iter().map(|output| output.object(py, results, arguments));
            objects.collect::<PyResult<Vec<_>>>()
        };
        match self {
            Output::Result(number) => Ok(results[*number].clone()),
            Output::Argument(place) => Ok(arguments[*place].clone()),
            Output::Constant(object) => Ok(object.bind(py).clone()),
            Output::Tuple(class, outputs) => {
                let (class, items) = (class.bind(py), PyTuple::new(py, all(outputs)?)?);
                if class.is(py.get_type::<PyTuple>()) {
                    return Ok(items.into_any());
                }
                let has_names = class.hasattr(name!(py, "_fields"))?;
                if has_names { made(class, items) } else { made(class, (items,)) }
            }
            Output::List(class, outputs) => {
                let (class, items) = (class.bind(py), PyList::new(py, all(outputs)?)?);
                if class.is(py.get_type::<PyList>()) { Ok(items.into_any()) } else { made(class, (items,)) }
            }
            Output::Dict(class, factory, outputs) => {
                let class = class.bind(py);
                let dict = match factory {
                    Some(factory) => made(class, (factory,))?,
                    None => made(class, ())?,
                };
                for (key, output) in outputs {
                    dict.set_item(key, output.object(py, results, arguments)?)?;
                }
                Ok(dict)
            }
        }
    }
}

/// An object of a class that the function used.
fn made<'py>(
    class: &Bound<'py, PyType>,
    arguments: impl pyo3::call::PyCallArgs<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    class.call1(arguments).map_err(|error| {
        let py = class.py();
        let name = class.name().map_or_else(|_| "object".to_owned(), |name| name.to_string());
        let message = format!(
            "a fused function returns a {name}, which cannot be made anew of its items: return a tuple, list or dict"
        );
        let refused = PyTypeError::new_err(message);
        refused.set_cause(py, Some(error));
        refused
    })
}
