//! Owns the conversion of errors to Python: PyTorch's classes and messages, with the data about a broadcast
//! that failed. It does not know when they arise.

use pyo3::exceptions::{
    PyFileExistsError, PyIndexError, PyMemoryError, PyNotImplementedError, PyOSError, PyPermissionError,
    PyRuntimeError, PyTypeError, PyValueError,
};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use zerostride::io::{FileError, Problem};
use zerostride::{Error, ErrorClass, Op, Shape, ShapeError};
use zerostride_explain::{Explanation, Operand, Options, Page};

use crate::repair::repair;
use crate::signals;

pyo3::create_exception!(
    zerostride,
    BroadcastError,
    PyRuntimeError,
    "Shapes that do not broadcast.\n\n\
     ``str()`` is PyTorch's line. ``shapes`` are those of the operands, ``dim`` is the dimension of the result that fails\n\
     (or None), ``repairs`` are changes of one operand under which the shapes go together, each a dict of ``operand``,\n\
     ``call`` and the ``shape`` of the result. The diagnosis is a note (PEP 678), which tracebacks show."
);
pyo3::create_exception!(
    zerostride,
    TraceError,
    PyTypeError,
    "A function does something with an array that cannot be traced, as it needs the values of elements."
);

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("BroadcastError", module.py().get_type::<BroadcastError>())?;
    module.add("TraceError", module.py().get_type::<TraceError>())
}

/// The exception for an error of the engine.
pub(crate) fn raise(error: Error) -> PyErr {
    raise_in(error, None)
}

/// The exception for an error of the engine in an operation.
pub(crate) fn raise_in(error: Error, op: Option<Op>) -> PyErr {
    if matches!(error.root(), Error::Interrupted) {
        return signals::raised();
    }
    if let Error::Policy(objection) = error.root() {
        let (shapes, op) = (&objection.record.shapes, Op::from_name(&objection.record.op));
        return Python::attach(|py| broadcast(py, &error, shapes, None, op).unwrap_or_else(|error| error));
    }
    if let Error::Shape(shape) = error.root()
        && matches!(
            shape,
            ShapeError::Incompatible { .. }
                | ShapeError::NotBroadcastable { .. }
                | ShapeError::InPlace { .. }
        )
    {
        let diagnostic = shape.diagnostic();
        return Python::attach(|py| {
            broadcast(py, &error, &diagnostic.shapes, diagnostic.dim, op).unwrap_or_else(|error| error)
        });
    }
    let message = error.to_string();
    match error.root() {
        Error::Io(error) => return of_file(error, message),
        Error::Memory { .. } | Error::OutOfMemory { .. } | Error::OutOfScratch { .. } => {
            return PyMemoryError::new_err(message);
        }
        _ => {}
    }
    match error.class() {
        ErrorClass::Runtime => PyRuntimeError::new_err(message),
        ErrorClass::Index => PyIndexError::new_err(message),
        ErrorClass::Value => PyValueError::new_err(message),
        ErrorClass::Type => PyTypeError::new_err(message),
        ErrorClass::NotImplemented => PyNotImplementedError::new_err(message),
    }
}

/// The exception for a file: `OSError` of the class of the system's error, `ValueError` for wrong content.
fn of_file(error: &FileError, message: String) -> PyErr {
    match error.problem() {
        Problem::Io { source, .. } => std::io::Error::new(source.kind(), message).into(),
        Problem::Exists => PyFileExistsError::new_err(format!("{message} with force=True")),
        Problem::ReadOnly => PyPermissionError::new_err(message),
        Problem::NotRegular { .. } | Problem::NotReplaced { .. } => PyOSError::new_err(message),
        _ => PyValueError::new_err(message),
    }
}

fn broadcast(
    py: Python<'_>,
    error: &Error,
    shapes: &[Shape],
    dim: Option<usize>,
    op: Option<Op>,
) -> PyResult<PyErr> {
    let raised = BroadcastError::new_err(error.to_string());
    let operands = shapes.iter().map(|shape| Operand::new(shape)).collect();
    let in_place = matches!(error.root(), Error::Shape(ShapeError::InPlace { .. }));
    let explanation = Explanation::new(operands, Options { op, in_place, ..Options::default() });
    let value = raised.value(py);
    let shapes = shapes.iter().map(|shape| PyTuple::new(py, shape.iter()));
    value.setattr("shapes", PyTuple::new(py, shapes.collect::<PyResult<Vec<_>>>()?)?)?;
    value.setattr("dim", dim)?;
    // Shapes that broadcast, but against a policy: the alternatives to a mutual stretch.
    let repairs = explanation.repairs().iter().chain(explanation.alternatives());
    let repairs = repairs.map(|found| repair(py, &explanation, found));
    value.setattr("repairs", repairs.collect::<PyResult<Vec<_>>>()?)?;
    // The first line is the error itself, as operations word it.
    let text = explanation.text(&Page::default());
    if let Some((_, diagnosis)) = text.split_once('\n') {
        value.call_method1("add_note", (diagnosis.trim_matches('\n'),))?;
    }
    Ok(raised)
}

/// The name of an object's class in messages.
pub(crate) fn type_name(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string())
}
