//! Owns policies and audits as Python objects: the native parts of `zs.policy` and `zs.audit`, which apply to
//! the thread that enters them. It does not know how broadcasts are judged (the engine).

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use zerostride::Op;
use zerostride::policy::{self, Action, Audit, Class, Log, Objection, Policy, Scope};
use zerostride_ops::{Class as OpClass, Kind};

use crate::error::raise;
use crate::sequence::{self, Limit};
use crate::threads::built;

pyo3::create_exception!(
    zerostride,
    BroadcastWarning,
    pyo3::exceptions::PyUserWarning,
    "An implicit broadcast that a policy warns about."
);

/// What to do about each class of implicit broadcast, on the thread that enters it.
#[pyclass(name = "_Policy", module = "zerostride._zerostride", unsendable)]
pub(crate) struct PyPolicy {
    policy: Policy,
    entered: Vec<Scope>,
}

#[pymethods]
impl PyPolicy {
    #[new]
    fn new(max_bytes: Option<u128>, actions: &Bound<'_, PyDict>) -> PyResult<PyPolicy> {
        let wrong = |problem: String| PyValueError::new_err(problem);
        let mut policy = max_bytes.map_or(Policy::new(), |bytes| Policy::new().max_bytes(bytes));
        for (class, action) in actions {
            let (class, action) = (class.to_string(), action.to_string());
            let known = class.parse::<Class>().map_err(|error| wrong(format!("{class}: {error}")))?;
            let action =
                action.parse::<Action>().map_err(|error| wrong(format!("{class}={action}: {error}")))?;
            policy = policy.with(known, action);
        }
        Ok(PyPolicy { policy, entered: Vec::new() })
    }

    fn enter(&mut self) {
        self.entered.push(self.policy.enter());
    }

    fn leave(&mut self) {
        self.entered.pop();
    }
}

/// What an audit has recorded, on the thread that began it.
#[pyclass(name = "_Audit", module = "zerostride._zerostride", unsendable)]
pub(crate) struct PyAudit {
    audit: Option<Audit>,
    log: Log,
}

impl PyAudit {
    fn current(&self) -> Log {
        self.audit.as_ref().map_or_else(|| self.log.clone(), Audit::log)
    }
}

#[pymethods]
impl PyAudit {
    #[new]
    fn new() -> PyAudit {
        PyAudit { audit: Some(Audit::start()), log: Log::default() }
    }

    fn stop(&mut self) {
        self.log = self.current();
        self.audit = None;
    }

    fn report(&self) -> String {
        self.current().to_string()
    }

    /// For each record: operation, shapes, result, bytes, whether it is stored, classes, file, line, count.
    fn records<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let log = self.current();
        let record = |(place, record): (usize, &policy::Record)| {
            let shapes = record.shapes.iter().map(|shape| PyTuple::new(py, shape.iter()));
            let shapes = PyTuple::new(py, shapes.collect::<PyResult<Vec<_>>>()?)?;
            let classes: Vec<&str> = record.classes.iter().map(Class::name).collect();
            (
                &*record.op,
                shapes,
                PyTuple::new(py, record.result.iter())?,
                record.bytes,
                record.stored,
                PyTuple::new(py, classes)?,
                record.caller.file(),
                record.caller.line(),
                log.times(place),
            )
                .into_pyobject(py)
        };
        log.records().iter().enumerate().map(record).collect()
    }
}

/// Reports a broadcast that another library is about to make.
#[pyfunction]
fn _report(py: Python<'_>, op: String, shapes: &Bound<'_, PyAny>, item_size: usize) -> PyResult<()> {
    let wrong = || PyTypeError::new_err("a broadcast is reported with a list of shapes");
    let shapes = sequence::items(shapes, Limit::Operands)?;
    let shape = |object| sequence::shape(object)?.ok_or_else(wrong);
    let shapes = shapes.iter().map(shape).collect::<PyResult<Vec<_>>>()?;
    let shapes: Vec<&[usize]> = shapes.iter().map(Vec::as_slice).collect();
    built(py, || policy::report(op, &shapes, item_size)).map_err(raise)
}

/// The element-wise operations of the table by all their names, with the number of operands of each.
#[pyfunction]
fn _elementwise(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let operands = PyDict::new(py);
    let elementwise = |op: &&Op| op.info().class != OpClass::Reduce;
    for op in Op::ALL.iter().filter(elementwise) {
        let arguments = &op.signature().arguments;
        let count = arguments.iter().filter(|argument| argument.kind == Kind::Operand).count();
        for name in std::iter::once(&op.info().name).chain(op.info().aliases) {
            operands.set_item(name, count)?;
        }
    }
    Ok(operands)
}

/// Adds the classes, and sends warnings through Python's `warnings`.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyPolicy>()?;
    module.add_class::<PyAudit>()?;
    module.add("BroadcastWarning", module.py().get_type::<BroadcastWarning>())?;
    module.add_function(wrap_pyfunction!(_report, module)?)?;
    module.add_function(wrap_pyfunction!(_elementwise, module)?)?;
    policy::set_hook(|objection| {
        Python::attach(|py| {
            if let Err(error) = warn(py, objection) {
                // A policy's hook cannot raise. To turn warnings into errors, use `policy(...="error")`.
                error.write_unraisable(py, None);
            }
        });
    });
    Ok(())
}

fn warn(py: Python<'_>, objection: &Objection) -> PyResult<()> {
    let caller = &objection.record.caller;
    let category = py.get_type::<BroadcastWarning>();
    let arguments = (objection.to_string(), category, caller.file(), caller.line());
    py.import("warnings")?.call_method1("warn_explicit", arguments)?;
    Ok(())
}
