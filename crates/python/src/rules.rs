//! Owns whose rules methods and operators of traced arrays follow: PyTorch's, or NumPy's where a function is
//! handed NumPy arrays only. It does not know the rules: NumPy's are those of its functions on traced arrays
//! (`_interop.py`), PyTorch's those of the tables.

use std::cell::Cell;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt, PyList, PyTuple};
use smallvec::SmallVec;
use zerostride::{Category, DType};

use crate::call::Call;
use crate::error::{TraceError, type_name};
use crate::expr::PyExpr;
use crate::once::Once;
use crate::operand::Given;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Rules {
    #[default]
    Torch,
    Numpy,
}

thread_local! {
    /// The rules of the function that is being traced.
    static RULES: Cell<Rules> = const { Cell::new(Rules::Torch) };
}

impl Rules {
    /// Runs a function in which traced arrays follow these rules.
    pub(crate) fn within<R>(self, run: impl FnOnce() -> R) -> R {
        /// Puts back what was there, also if the function panics.
        struct Before(Rules);
        impl Drop for Before {
            fn drop(&mut self) {
                RULES.set(self.0);
            }
        }
        let _before = Before(RULES.replace(self));
        run()
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Rules::Torch => "torch",
            Rules::Numpy => "numpy",
        }
    }
}

impl<'py> FromPyObject<'_, 'py> for Rules {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Rules> {
        let name = object.extract::<String>().map_err(|_| {
            PyTypeError::new_err(format!("rules is \"numpy\" or \"torch\", not a {}", type_name(&object)))
        })?;
        let found = [Rules::Torch, Rules::Numpy].into_iter().find(|rules| rules.name() == name);
        found.ok_or_else(|| PyValueError::new_err(format!("rules is \"numpy\" or \"torch\", not {name:?}")))
    }
}

/// Whether traced arrays follow NumPy's rules now.
#[inline]
#[pyfunction]
pub(crate) fn _are_numpys() -> bool {
    RULES.get() == Rules::Numpy
}

/// Calls a function in which traced arrays follow PyTorch's rules.
#[pyfunction]
#[pyo3(signature = (function, *arguments, **named))]
pub(crate) fn _by_torchs_rules<'py>(
    function: &Bound<'py, PyAny>,
    arguments: &Bound<'py, PyTuple>,
    named: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    Rules::Torch.within(|| function.call(arguments, named))
}

/// What NumPy's rules make of an operator; `None` where they have no say.
#[inline]
pub(crate) fn operator<'py>(
    name: &str,
    operands: &[&Bound<'py, PyAny>],
) -> Option<PyResult<Bound<'py, PyAny>>> {
    (_are_numpys()
        && operands.iter().any(|operand| operand.is_instance_of::<PyExpr>())
        && !is_agreed(name, operands))
    .then(|| by_numpys_operator(name, operands))
}

/// Whether NumPy and PyTorch agree about an operator: arithmetic and comparisons of arrays of one dtype, and
/// of bare numbers that it has. NumPy's way through Python takes ten times as long to trace, and functions
/// that read arrays from outside are traced in each call.
fn is_agreed(name: &str, operands: &[&Bound<'_, PyAny>]) -> bool {
    let (mut seen, mut numbers) = (None, SmallVec::<[&Bound<'_, PyAny>; 2]>::new());
    for &operand in operands {
        let dtype = match Given::new(operand) {
            Ok(Some(Given::Traced(expr))) => expr.dtype().ok(),
            Ok(Some(Given::Tensor(tensor))) => Some(tensor.dtype()),
            Ok(Some(Given::Foreign(tensor))) if !operand.is_exact_instance_of::<PyInt>() => {
                Some(tensor.dtype())
            }
            Ok(Some(Given::Number(_))) => {
                numbers.push(operand);
                continue;
            }
            _ => return false,
        };
        if dtype.is_none() || seen.is_some_and(|seen| Some(seen) != dtype) {
            return false;
        }
        seen = dtype;
    }
    let Some(dtype) = seen else { return false };
    let is_known = match name {
        "add" | "sub" | "mul" | "eq" | "ne" => dtype.category() > Category::Bool,
        "lt" | "le" | "gt" | "ge" => matches!(dtype.category(), Category::Int | Category::Float),
        "div" | "pow" | "neg" => dtype.category() >= Category::Float,
        _ => false,
    };
    is_known
        && numbers.iter().all(|number| match dtype {
            DType::F32 | DType::F64 => {
                number.is_exact_instance_of::<PyFloat>() || number.is_exact_instance_of::<PyInt>()
            }
            _ if dtype.category() == Category::Int => {
                let (least, most) = dtype.int_range();
                let is_in_range = |number: i64| (least..=most).contains(&number.into());
                number.is_exact_instance_of::<PyInt>() && number.extract().is_ok_and(is_in_range)
            }
            _ => false,
        })
}

fn by_numpys_operator<'py>(name: &str, operands: &[&Bound<'py, PyAny>]) -> PyResult<Bound<'py, PyAny>> {
    static OPERATOR: Once<Py<PyAny>> = Once::new();
    let py = operands[0].py();
    for operand in operands {
        // NumPy takes lists for arrays, and numbers too large for the engine.
        let is_list = operand.is_instance_of::<PyList>() || operand.is_instance_of::<PyTuple>();
        if !is_list && matches!(Given::new(operand), Ok(None)) {
            return Ok(py.NotImplemented().into_bound(py));
        }
    }
    let arguments = [name.into_pyobject(py)?.into_any()].into_iter().chain(operands.iter().copied().cloned());
    let arguments = PyTuple::new(py, arguments.collect::<Vec<_>>())?;
    let function = OPERATOR.import(py, "zerostride._interop", "operator")?;
    Rules::Torch.within(|| function.call1(arguments)).inspect_err(|error| error.set_traceback(py, None))
}

/// What NumPy's rules make of a method of a traced array; `None` where they have no say, as of methods that
/// NumPy's arrays do not have.
pub(crate) fn method<'py>(name: &str, call: &Call<'_, 'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
    static METHOD: Once<Py<PyAny>> = Once::new();
    if !call.method || !_are_numpys() || !call.positional[0].is_instance_of::<PyExpr>() {
        return Ok(None);
    }
    let py = call.py;
    let function = METHOD.import(py, "zerostride._interop", "method")?.call1((name,))?;
    if function.is_none() {
        return Ok(None);
    }
    let named = PyDict::new(py);
    for (name, value) in &call.named {
        named.set_item(name, value)?;
    }
    let positional = PyTuple::new(py, call.positional.iter().copied())?;
    let result = Rules::Torch.within(|| function.call(positional, Some(&named)));
    result.map(Some).inspect_err(|error| {
        // It is raised at the line of the traced function.
        error.set_traceback(py, None);
        if error.is_instance_of::<PyTypeError>(py) && !error.is_instance_of::<TraceError>(py) {
            let note = "the function is handed NumPy arrays only, so that this is NumPy's method: zerostride.fuse(rules=\"torch\") takes PyTorch's";
            // A note that is missing is no reason for another error.
            let _ = error.value(py).call_method1("add_note", (note,));
        }
    })
}
