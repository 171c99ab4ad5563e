//! Owns `zs.explain`: an explanation as a Python object. It does not know how broadcasts are explained
//! (`zerostride-explain`).

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use zerostride::Op;
use zerostride_explain::{Explanation, Lang, Operand, Options, Page};

use crate::error::{raise, type_name};
use crate::operand::Given;
use crate::sequence::{self, Limit};

/// A broadcast explained: what is stretched, what results, what it costs; or why shapes do not go together,
/// and what would repair that.
#[pyclass(name = "Explanation", module = "zerostride", frozen)]
pub(crate) struct PyExplanation {
    explanation: Explanation,
    lang: Lang,
}

/// Explains the broadcast of shapes or arrays: how they line up, what is stretched, what that costs, what is
/// suspicious; or what would make them go together.
///
/// A keyword names its operand. ``lang`` is "en" or "it", ``op`` is an operation, ``in_place`` says that the
/// first operand is written to. The result prints as text, and as pictures in notebooks.
///
/// >>> explained = zs.explain((5, 1), b=(3,))
/// >>> explained.to_dict()["shape"]
/// [5, 3]
/// >>> print(explained)
/// a and b: (5, 1) and (3,) broadcast to (5, 3)
/// ...
#[pyfunction]
#[pyo3(signature = (*operands, lang="en", op=None, in_place=false, **named))]
pub(crate) fn explain(
    operands: &Bound<'_, PyTuple>,
    lang: &str,
    op: Option<&str>,
    in_place: bool,
    named: Option<&Bound<'_, PyDict>>,
) -> PyResult<PyExplanation> {
    let lang = lang.parse::<Lang>().map_err(|error| PyValueError::new_err(error.to_string()))?;
    let unknown = |name: &str| PyValueError::new_err(format!("there is no operation {name}"));
    let op = op.map(|name| Op::from_name(name).ok_or_else(|| unknown(name))).transpose()?;
    let mut known = operands.iter().map(|object| operand(&object)).collect::<PyResult<Vec<_>>>()?;
    for (name, object) in named.into_iter().flatten() {
        known.push(operand(&object)?.named(name.to_string()));
    }
    if known.is_empty() {
        return Err(PyTypeError::new_err("explain() needs at least one shape or array"));
    }
    let explanation = Explanation::new(known, Options { op, in_place, ..Options::default() });
    Ok(PyExplanation { explanation, lang })
}

fn operand(object: &Bound<'_, PyAny>) -> PyResult<Operand> {
    match Given::new(object) {
        Ok(Some(Given::Tensor(tensor))) => return Ok(Operand::new(tensor.shape()).dtype(tensor.dtype())),
        Ok(Some(Given::Foreign(tensor))) => return Ok(Operand::new(tensor.shape()).dtype(tensor.dtype())),
        Ok(Some(Given::Traced(expr))) => {
            return Ok(Operand::new(expr.shape().map_err(raise)?).dtype(expr.dtype().map_err(raise)?));
        }
        Ok(Some(Given::Number(_)) | None) => {}
        Err(error) => return Err(error),
    }
    match (sequence::shape(object)?, sequence::integers(object, Limit::Rank)?) {
        (Some(shape), _) => Ok(Operand::new(&shape)),
        (None, Some(_)) => Err(PyValueError::new_err(format!(
            "explain(): {} is no shape: sizes are not negative",
            object.repr()?
        ))),
        (None, None) => Err(PyTypeError::new_err(format!(
            "explain() takes shapes, as (5, 1, 4), and arrays, not {}",
            type_name(object)
        ))),
    }
}

#[pymethods]
impl PyExplanation {
    /// What ``zs explain --format json`` prints.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("json")?.call_method1("loads", (self.explanation.json(),))
    }

    /// The picture as SVG.
    #[getter]
    fn svg(&self) -> String {
        self.explanation.svg(self.lang)
    }

    /// A page of its own, with text and picture.
    fn html(&self) -> String {
        self.explanation.html(self.lang)
    }

    fn _repr_html_(&self) -> String {
        self.explanation.html_fragment(self.lang)
    }

    fn __str__(&self) -> String {
        self.explanation.text(&Page { lang: self.lang, ..Page::default() })
    }

    fn __repr__(&self) -> String {
        self.__str__()
    }
}
