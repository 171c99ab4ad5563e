//! Owns what is wanted of a fused function instead of its results: gradients, or cotangents of its arguments.
//! It sees the function's computations while they are traced; how they are differentiated is the engine's
//! (`zerostride::vjp`).

use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use zerostride::{Category, DType, Error, Expr, Variable, policy};

use crate::error::{raise, type_name};
use crate::expr::PyExpr;
use crate::number;
use crate::operand::Given;

/// What is wanted of a function.
#[derive(Clone, Debug, FromPyObject)]
pub(crate) enum Derivative {
    /// The gradients with respect to positional arguments, all as a tuple or the only one alone; with the
    /// value before them, or without.
    Gradient(Vec<isize>, bool, bool),
    /// The cotangents of arguments, positional ones before named ones, given those of the results, which are
    /// the last positional arguments, so many; `None` stands for a result without.
    Pullback(Vec<usize>, usize),
}

impl Derivative {
    /// How many cotangents come after the function's own positional arguments.
    pub(crate) fn cotangents(&self) -> usize {
        match self {
            Derivative::Gradient(..) => 0,
            Derivative::Pullback(_, cotangents) => *cotangents,
        }
    }
}

/// A call of the function on computations, and of the derivatives that are wanted of it, the last one last.
pub(crate) fn call<'py>(
    function: &Bound<'py, PyAny>,
    derivatives: &[Derivative],
    positional: &Bound<'py, PyTuple>,
    named: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = function.py();
    let Some((derivative, inner)) = derivatives.split_last() else { return function.call(positional, named) };
    match derivative {
        Derivative::Gradient(argnums, alone, with_value) => {
            let positional = &with_numbers_as_arrays(positional, argnums)?;
            let value = call(function, inner, positional, named)?;
            let Some(root) = Given::new(&value)?.map(|given| given.expr()) else {
                return Err(PyTypeError::new_err(format!(
                    "a gradient is that of one array, and the function returns a {}: return one array, or take vjp",
                    type_name(&value)
                )));
            };
            if inner.is_empty() {
                // The plan of a gradient need not hold what the value does.
                policy::check(&root).map_err(raise)?;
            }
            let arguments = argnums.iter().map(|&argnum| argument(positional, argnum));
            let arguments = arguments.collect::<PyResult<Vec<_>>>()?;
            let variables: Vec<Variable<'_>> =
                arguments.iter().map(|argument| Variable::Expr(&argument.get().0)).collect();
            let gradients = root.grad(&variables).map_err(|error| refused(py, error))?;
            let gradients = gradients.into_iter().map(|gradient| Bound::new(py, PyExpr(gradient)));
            let gradients = gradients.collect::<PyResult<Vec<_>>>()?;
            let gradients = match &gradients[..] {
                [only] if *alone => only.clone().into_any(),
                _ => PyTuple::new(py, gradients)?.into_any(),
            };
            Ok(if *with_value { PyTuple::new(py, [value, gradients])?.into_any() } else { gradients })
        }
        Derivative::Pullback(arguments, cotangents) => {
            let count = positional.len().saturating_sub(*cotangents);
            let value = call(function, inner, &positional.get_slice(0, count), named)?;
            let mut roots = Vec::new();
            flatten(&value, &mut roots)?;
            let given = positional.get_slice(count, positional.len());
            if given.len() != roots.len() {
                let message = format!(
                    "the function has {} results, and {} cotangents are given",
                    roots.len(),
                    given.len()
                );
                return Err(PyTypeError::new_err(message));
            }
            let mut pairs = Vec::new();
            for (root, cotangent) in roots.into_iter().zip(given) {
                let is_continuous = root.dtype().is_ok_and(|dtype| dtype.category() >= Category::Float);
                if is_continuous && let Some(cotangent) = Given::new(&cotangent)? {
                    pairs.push((root, cotangent.expr()));
                }
            }
            let named = named.into_iter().flatten().map(|(_, object)| object);
            let objects: Vec<_> = positional.get_slice(0, count).iter().chain(named).collect();
            let arguments = arguments.iter().map(|&place| of_array(&objects[place], place));
            let arguments = arguments.collect::<PyResult<Vec<_>>>()?;
            let variables: Vec<Variable<'_>> =
                arguments.iter().map(|argument| Variable::Expr(&argument.get().0)).collect();
            let found = zerostride::vjp(&pairs, &variables).map_err(|error| refused(py, error))?;
            let found = found.into_iter().map(|found| Bound::new(py, PyExpr(found)));
            Ok(PyTuple::new(py, found.collect::<PyResult<Vec<_>>>()?)?.into_any())
        }
    }
}

/// The exception for an expression that cannot be differentiated, with the expression as a note.
fn refused(py: Python<'_>, error: Error) -> PyErr {
    let note = error.expression().map(|expression| format!("in {expression}"));
    let raised = raise(error);
    if let Some(note) = note {
        // A note that is missing is no reason for another error.
        let _ = raised.value(py).call_method1("add_note", (note,));
    }
    raised
}

/// The positional arguments, with an array without dimensions in place of each number in these places.
fn with_numbers_as_arrays<'py>(
    positional: &Bound<'py, PyTuple>,
    argnums: &[isize],
) -> PyResult<Bound<'py, PyTuple>> {
    let py = positional.py();
    let count = positional.len() as isize;
    let arrays = positional.iter().enumerate().map(|(place, object)| {
        let is_variable = argnums.iter().any(|&argnum| argnum.rem_euclid(count) == place as isize);
        match number::extract(&object)? {
            Some(number) if is_variable => {
                let dtype = match number.category() {
                    Category::Complex => DType::C128,
                    Category::Float => DType::F64,
                    _ => number.dtype(),
                };
                Ok(Bound::new(py, PyExpr(Expr::from(number).to_dtype(dtype)))?.into_any())
            }
            _ => Ok(object),
        }
    });
    PyTuple::new(py, arrays.collect::<PyResult<Vec<_>>>()?)
}

/// The positional argument of that number, as a computation.
fn argument<'py>(positional: &Bound<'py, PyTuple>, argnum: isize) -> PyResult<Bound<'py, PyExpr>> {
    let count = positional.len();
    let place = usize::try_from(if argnum < 0 { argnum + count as isize } else { argnum });
    match place {
        Ok(place) if place < count => of_array(&positional.get_item(place)?, place),
        _ => Err(PyIndexError::new_err(format!(
            "argnums counts positional arguments: it has {argnum}, and the function is called with {count} of them"
        ))),
    }
}

fn of_array<'py>(object: &Bound<'py, PyAny>, place: usize) -> PyResult<Bound<'py, PyExpr>> {
    object.cast::<PyExpr>().cloned().map_err(|_| {
        PyTypeError::new_err(format!(
            "a gradient is taken with respect to arrays, and argument {place} is a {}",
            type_name(object)
        ))
    })
}

/// The arrays of what a function returns, in their order.
fn flatten(object: &Bound<'_, PyAny>, to: &mut Vec<Expr>) -> PyResult<()> {
    if let Ok(dict) = object.cast::<PyDict>() {
        return dict.values().iter().try_for_each(|item| flatten(&item, to));
    }
    if object.is_instance_of::<PyTuple>() || object.is_instance_of::<PyList>() {
        return object.try_iter()?.try_for_each(|item| flatten(&item?, to));
    }
    match Given::new(object)? {
        None | Some(Given::Number(_)) => {}
        Some(array) => to.push(array.expr()),
    }
    Ok(())
}
