//! Owns matrix products and sums of products, `sum_to_size`, and functions that return two tensors.
//! It does not know how products run.

use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};
use zerostride::Expr;

use super::function::rows;
use super::order::named;
use crate::arguments::{Arguments, Value};
use crate::autocast;
use crate::error::{raise, type_name};
use crate::operand::Given;
use crate::sequence::{self, Limit};
use crate::target::target;
use crate::threads::compute;

rows! {
    /// The matrix product; batch dimensions broadcast without copies.
    both "matmul" "input, other, *, out=None" |a| {
        let (input, other) = (a.required("input")?, a.required("other")?);
        matmul(input, other, a.optional("out"))?.ok_or_else(|| a.misused("the factors must be tensors or arrays"))?
    };
    /// The product of two matrices.
    both "mm" "input, mat2, *, out=None" |a| ranked(a, ["input", "mat2"], |x, y| {
        let wrong = |name, factor: &[usize]| {
            (factor.len() != 2).then(|| format!("mm: {name} must be a matrix, got {}-D tensor", factor.len()))
        };
        wrong("self", x).or_else(|| wrong("mat2", y))
    })?;
    /// The products of pairs of matrices.
    both "bmm" "input, mat2, *, out=None" |a| ranked(a, ["input", "mat2"], |x, y| match (x, y) {
        ([batch, _, k], [others, rows, _]) => (batch != others).then(|| {
            format!(
                "Expected size for first two dimensions of batch2 tensor to be: [{batch}, {k}] but got: [{others}, {rows}]."
            )
        }),
        ([_, _, _], _) => Some("batch2 must be a 3D tensor".to_owned()),
        _ => Some("batch1 must be a 3D tensor".to_owned()),
    })?;
    /// The product of a matrix and a vector.
    both "mv" "input, vec, *, out=None" |a| ranked(a, ["input", "vec"], |x, y| {
        let (matrix, vector) = (x.len(), y.len());
        ((matrix, vector) != (2, 1))
            .then(|| format!("vector + matrix @ vector expected, got 1, {matrix}, {vector}"))
    })?;
    /// The sum of the products of two vectors.
    both "dot" "input, tensor, *, out=None" |a| ranked(a, ["input", "tensor"], |x, y| {
        let (own, theirs) = (x.len(), y.len());
        ((own, theirs) != (1, 1)).then(|| format!("1D tensors expected, but got {own}D and {theirs}D tensors"))
    })?;
    /// The sums of products that an equation of letters describes, as `'ij,jk->ik'`; or operands and lists of
    /// numbers by turns.
    function "einsum" "equation, *operands" |a| einsum(a)?;
    /// The mantissa in [0.5, 1) and the power of 2 of each element.
    both "frexp" "input, *, out=None" |a| {
        let (mantissa, exponent) = a.tensor("input")?.frexp().map_err(raise)?;
        named(a.py, "frexp", [mantissa, exponent])?
    };
}

/// The matrix product; `None` if an operand is not supported.
pub(crate) fn matmul(
    a: &Bound<'_, PyAny>,
    b: &Bound<'_, PyAny>,
    out: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<Value>> {
    let (Some(x), Some(y)) = (Given::new(a)?, Given::new(b)?) else { return Ok(None) };
    let product = autocast::factor(x.expr()).matmul(autocast::factor(y.expr()));
    let is_traced = x.is_traced() || y.is_traced();
    finished(a.py(), product, is_traced, [x.numel(), y.numel()], out).map(Some)
}

/// The result of an expression: traced, or evaluated into `out` if there is one.
pub(super) fn finished(
    py: Python<'_>,
    expr: Expr,
    is_traced: bool,
    numels: impl IntoIterator<Item = usize>,
    out: Option<&Bound<'_, PyAny>>,
) -> PyResult<Value> {
    let refused = |error: zerostride::Error| raise(error.root().clone());
    expr.shape().map_err(refused)?;
    if is_traced {
        return Ok(Value::Traced(expr));
    }
    let target = out.map(target).transpose()?;
    let run = || match target {
        Some(target) => expr.eval_into(&target).map(|()| target),
        None => expr.eval(),
    };
    compute(py, numels, run).map(Value::Tensor).map_err(refused)
}

/// A product of two factors, evaluated or traced.
fn contracted(
    a: &Arguments<'_, '_>,
    factors: [&str; 2],
    product: impl FnOnce(Expr, Expr) -> Expr,
) -> PyResult<Value> {
    let factors = [a.value(factors[0])?, a.value(factors[1])?];
    let traced = factors.iter().any(|factor| matches!(factor, Value::Traced(_)));
    let [x, y] = factors.map(|factor| match factor {
        Value::Tensor(tensor) => Expr::from(tensor),
        Value::Traced(expr) => expr,
    });
    let product = product(autocast::factor(x), autocast::factor(y));
    let numel = product.shape().map_or(0, |shape| shape.iter().product());
    finished(a.py, product, traced, [numel], a.optional("out"))
}

/// A matrix product of operands with certain ranks; `refusal` is the error if they have others.
fn ranked(
    a: &Arguments<'_, '_>,
    factors: [&str; 2],
    refusal: fn(&[usize], &[usize]) -> Option<String>,
) -> PyResult<Value> {
    let [x, y] = [a.value(factors[0])?.expr(), a.value(factors[1])?.expr()];
    match refusal(x.shape().map_err(raise)?, y.shape().map_err(raise)?) {
        Some(refusal) => Err(PyRuntimeError::new_err(refusal)),
        None => contracted(a, factors, |x, y| x.matmul(y)),
    }
}

/// PyTorch's three forms: an equation and operands, an equation and a list of operands, operands and their
/// subscripts by turns.
fn einsum<'py>(a: &Arguments<'_, 'py>) -> PyResult<Value> {
    let missing = || {
        PyValueError::new_err(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its subscripts list",
        )
    };
    let first = a.optional("equation").ok_or_else(missing)?;
    let rest: Vec<Bound<'py, PyAny>> = a.rest().iter().map(|object| (*object).clone()).collect();
    let is_list =
        |object: &Bound<'_, PyAny>| object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>();
    let (equation, operands) = match first.cast::<PyString>() {
        Ok(equation) => match &rest[..] {
            [list] if is_list(list) => (equation.to_string(), sequence::items(list, Limit::Operands)?),
            _ => (equation.to_string(), rest),
        },
        Err(_) if rest.first().is_none_or(is_list) => by_turns(first, &rest)?,
        Err(_) => {
            let name = type_name(first);
            let message = format!("einsum(): argument 'equation' (position 1) must be str, not {name}");
            return Err(PyTypeError::new_err(message));
        }
    };
    if operands.is_empty() {
        return Err(missing());
    }
    let unwanted = |place: usize, object| {
        let name = type_name(object);
        PyTypeError::new_err(format!("expected Tensor as element {place} in argument 1, but got {name}"))
    };
    let given = operands.iter().enumerate();
    let given = given.map(|(place, object)| Given::new(object)?.ok_or_else(|| unwanted(place, object)));
    let given = given.collect::<PyResult<Vec<_>>>()?;
    let summed = zerostride::einsum(&equation, given.iter().map(Given::expr));
    let is_traced = given.iter().any(Given::is_traced);
    if let (false, Some(view)) = (is_traced, summed.as_view()) {
        return Ok(Value::Tensor(view));
    }
    finished(a.py, summed, is_traced, given.iter().map(Given::numel), None)
}

/// The equation of operands with lists of numbers in place of letters, and perhaps such a list for the
/// output.
fn by_turns<'py>(
    first: &Bound<'py, PyAny>,
    rest: &[Bound<'py, PyAny>],
) -> PyResult<(String, Vec<Bound<'py, PyAny>>)> {
    let (mut equation, mut operands) = (String::new(), Vec::new());
    let mut pieces = std::iter::once(first).chain(rest);
    while let Some(piece) = pieces.next() {
        match pieces.next() {
            Some(subscripts) => {
                equation += if operands.is_empty() { "" } else { "," };
                equation += &letters(subscripts)?;
                operands.push(piece.clone());
            }
            // A single operand has no subscripts, which is `einsum`'s own error.
            None if operands.is_empty() => {}
            None => equation += &format!("->{}", letters(piece)?),
        }
    }
    Ok((equation, operands))
}

/// Numbers as letters, in PyTorch's order: upper case first.
fn letters(subscripts: &Bound<'_, PyAny>) -> PyResult<String> {
    let refused = || {
        PyValueError::new_err("einsum(): subscript in subscript list is not within the valid range [0, 52)")
    };
    let letter = |subscript: &Bound<'_, PyAny>| {
        if subscript.is(subscript.py().Ellipsis()) {
            return Ok("...".to_owned());
        }
        let number = sequence::integer(subscript)?.and_then(|number| u8::try_from(number).ok());
        match number {
            Some(number @ 0..26) => Ok(char::from(b'A' + number).to_string()),
            Some(number @ 26..52) => Ok(char::from(b'a' + number - 26).to_string()),
            _ => Err(refused()),
        }
    };
    sequence::items(subscripts, Limit::Operands)?.iter().map(letter).collect()
}
