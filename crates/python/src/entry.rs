//! Owns the entry points from Python: for each row of the tables a C function in the module, and one as a
//! method. It does not know what a row does.
//!
//! PyO3 makes entry points from functions that are written down one by one. Rows are data: their names,
//! signatures and docstrings are made from the tables when the module is loaded, and they share the code
//! below. Python calls them by its fastest protocol (vectorcall), without a tuple or dict of the arguments.

use std::ffi::CString;
use std::os::raw::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use pyo3::exceptions::PyRuntimeError;
use pyo3::panic::PanicException;
use pyo3::prelude::*;
use pyo3::types::{PyFrozenSet, PyString, PyTuple, PyType};
use pyo3::{PyTypeInfo, ffi};
use smallvec::SmallVec;
use zerostride_ops::{self as ops, Op, Shown};

use crate::call::Call;
use crate::examples;
use crate::expr::PyExpr;
use crate::functions::{self, Function};
use crate::row;
use crate::rules;
use crate::tensor::PyTensor;
use crate::threads;

/// One row as an entry point.
struct Entry {
    name: &'static str,
    /// In Python's notation for a function: `(input, other)`.
    signature: String,
    doc: &'static str,
    shown: Shown,
    body: Body,
}

#[derive(Clone, Copy)]
enum Body {
    Row(Op),
    InPlace(Op),
    Function(&'static Function),
    Table(ops::Function, &'static str),
}

impl Body {
    fn call<'py>(self, call: &mut Call<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Body::Row(op) => row::function(op, call),
            Body::InPlace(op) => row::in_place(op, call),
            Body::Function(function) => function.call(call),
            Body::Table(function, name) => functions::call(function, name, call),
        }
    }
}

/// All entry points, in order.
fn entries() -> &'static [Entry] {
    static ENTRIES: OnceLock<Vec<Entry>> = OnceLock::new();
    ENTRIES.get_or_init(|| {
        let mut entries = Vec::new();
        for &op in Op::ALL {
            let info = op.info();
            for name in std::iter::once(&info.name).chain(info.aliases) {
                let signature = row::signature(op);
                entries.push(Entry {
                    name,
                    signature,
                    doc: info.doc,
                    shown: if op.is_method() { Shown::both } else { Shown::function },
                    body: Body::Row(op),
                });
            }
            for name in op.in_place_names() {
                // Leaked: names must live as long as the program.
                let name = name.leak();
                let (signature, body) = (format!("({})", info.arguments), Body::InPlace(op));
                entries.push(Entry { name, signature, doc: info.doc, shown: Shown::method, body });
            }
        }
        entries.extend(functions::all().map(|function| Entry {
            name: function.name,
            signature: format!("({})", function.parameters),
            doc: function.doc,
            shown: function.shown,
            body: Body::Function(function),
        }));
        entries.extend(functions::table().map(|(function, name)| Entry {
            name,
            signature: format!("({})", function.info().python),
            doc: function.info().doc,
            shown: function.info().shown,
            body: Body::Table(function, name),
        }));
        assert!(entries.len() <= MOST, "there are more rows than entry points");
        entries
    })
}

/// The names of everything that only computes, as a function or as a method: what a formula may call.
fn computing() -> impl Iterator<Item = &'static str> {
    let names = |op: &Op| std::iter::once(op.info().name).chain(op.info().aliases.iter().copied());
    let own = functions::computing().map(|function| function.name);
    let table = functions::table().map(|(_, name)| name);
    // In-place methods end in an underscore.
    Op::ALL.iter().flat_map(names).chain(own).chain(table).filter(|name| !name.ends_with('_'))
}

/// Adds every row to the module and to its classes.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let classes = [PyTensor::type_object(py), PyExpr::type_object(py)];
    module.add("_COMPUTING", PyFrozenSet::new(py, computing())?)?;
    for (index, entry) in entries().iter().enumerate() {
        if entry.shown != Shown::method {
            let definition = define(entry, &entry.signature, FUNCTIONS.as_flattened()[index])?;
            let name = module.name()?;
            // SAFETY: the definition is never freed; module and name are objects, to which the function keeps
            // references.
            let function = unsafe {
                let function = ffi::PyCFunction_NewEx(definition, module.as_ptr(), name.as_ptr());
                Bound::from_owned_ptr_or_err(py, function)?
            };
            module.add(entry.name, function)?;
        }
        if entry.shown != Shown::function {
            let signature = of_method(&entry.signature);
            for class in &classes {
                let definition = define(entry, &signature, METHODS.as_flattened()[index])?;
                class.setattr(entry.name, method(class, definition)?)?;
            }
        }
    }
    Ok(())
}

/// The signature without its first argument, the receiver.
fn of_method(signature: &str) -> String {
    let pieces: Vec<&str> = signature.trim_matches(['(', ')']).split(", ").collect();
    let receiver = pieces.iter().position(|piece| *piece == "input").unwrap_or(0);
    let others = pieces.iter().enumerate().filter(|(place, _)| *place != receiver);
    let others = std::iter::once("$self").chain(others.map(|(_, piece)| *piece));
    format!("({})", others.collect::<Vec<_>>().join(", "))
}

/// The definition of a function, which Python uses as long as it runs.
fn define(entry: &Entry, signature: &str, call: Raw) -> PyResult<*mut ffi::PyMethodDef> {
    let name = CString::new(entry.name)?;
    let (sentence, example) = (entry.doc.trim(), examples::of(entry.name));
    let doc = CString::new(format!("{}{signature}\n--\n\n{sentence}\n\n{example}", entry.name))?;
    let definition = ffi::PyMethodDef {
        ml_name: name.into_raw(),
        ml_meth: ffi::PyMethodDefPointer { PyCFunctionFastWithKeywords: call },
        ml_flags: ffi::METH_FASTCALL as c_int | ffi::METH_KEYWORDS as c_int,
        ml_doc: doc.into_raw(),
    };
    Ok(Box::into_raw(Box::new(definition)))
}

fn method<'py>(class: &Bound<'py, PyType>, definition: *mut ffi::PyMethodDef) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: the class is a type, the definition is never freed, and its function expects the receiver of a
    // method.
    unsafe {
        let descriptor = ffi::PyDescr_NewMethod(class.as_ptr().cast(), definition);
        Bound::from_owned_ptr_or_err(class.py(), descriptor)
    }
}

/// Python's calling convention: the receiver or module, the arguments, the number of positional ones, the
/// names of the others.
type Raw = unsafe extern "C" fn(
    *mut ffi::PyObject,
    *const *mut ffi::PyObject,
    ffi::Py_ssize_t,
    *mut ffi::PyObject,
) -> *mut ffi::PyObject;

/// # Safety
/// Called by Python only, as a function of `METH_FASTCALL | METH_KEYWORDS`.
unsafe extern "C" fn function<const INDEX: usize>(
    _module: *mut ffi::PyObject,
    arguments: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: that of this function.
    unsafe { enter(INDEX, None, arguments, count, names) }
}

/// # Safety
/// As `function`.
unsafe extern "C" fn method_of<const INDEX: usize>(
    receiver: *mut ffi::PyObject,
    arguments: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: that of this function; a method has a receiver.
    unsafe { enter(INDEX, Some(&receiver), arguments, count, names) }
}

/// # Safety
/// The arguments are those of a call by Python; `receiver` is an object.
unsafe fn enter(
    index: usize,
    receiver: Option<&*mut ffi::PyObject>,
    arguments: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: Python calls on a thread that is attached to it, with a GIL one that holds it, until the call
    // returns.
    let py = unsafe { Python::assume_attached() };
    let answer = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: Python keeps arguments and names alive until the call returns. There is a value for each
        // positional argument and each name, and all names are strings.
        let (given, names) = unsafe {
            let names = Bound::from_borrowed_ptr_or_opt(py, names);
            let names = names.map(|names| names.cast_into_unchecked::<PyTuple>());
            let total = count as usize + names.as_ref().map_or(0, |names| names.len());
            let given: &[*mut ffi::PyObject] =
                if total == 0 { &[] } else { std::slice::from_raw_parts(arguments, total) };
            (given, names)
        };
        let object = |pointer| {
            // SAFETY: every value is an object that lives until the call returns.
            unsafe { Bound::ref_from_ptr(py, pointer) }
        };
        let (positional, values) = given.split_at(count as usize);
        let positional = receiver.into_iter().chain(positional).map(object);
        let mut call =
            Call { py, positional: positional.collect(), named: SmallVec::new(), method: receiver.is_some() };
        let &Entry { name: called, body, .. } = &entries()[index];
        if let (Body::Row(op), None) = (body, &names)
            && let Some(result) = row::on_tensors(op, &call.positional)
        {
            return result;
        }
        // Tells PyO3 that this thread is attached; otherwise it would defer the dropping of objects. This
        // costs as much as a small operation.
        Python::attach(|_| {
            for (name, value) in names.iter().flatten().zip(values) {
                let name =
                    name.cast::<PyString>().map_err(|_| PyRuntimeError::new_err("a name is no string"))?;
                call.named.push((name.to_string(), object(value)));
            }
            if let Some(result) = rules::method(called, &call)? {
                return Ok(result);
            }
            threads::watched(py, || body.call(&mut call))
        })
    }));
    let error = match answer {
        Ok(Ok(object)) => return object.into_ptr(),
        Ok(Err(error)) => error,
        Err(panic) => {
            let message = panic.downcast_ref::<&str>().map(ToString::to_string);
            let message = message.or_else(|| panic.downcast_ref::<String>().cloned());
            PanicException::new_err((message.unwrap_or_else(|| "panic from Rust code".to_owned()),))
        }
    };
    error.restore(py);
    std::ptr::null_mut()
}

/// Entry points, 16 to a row.
macro_rules! points {
    ($point:ident; $($row:literal)*) => {
        [$(points!(@row $point 16 * $row; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)),*]
    };
    (@row $point:ident $first:expr; $($place:literal)*) => {
        [$($point::<{ $first + $place }>),*]
    };
}

const ROWS: usize = 30;
const MOST: usize = 16 * ROWS;

static FUNCTIONS: [[Raw; 16]; ROWS] =
    points!(function; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29);
static METHODS: [[Raw; 16]; ROWS] =
    points!(method_of; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29);
