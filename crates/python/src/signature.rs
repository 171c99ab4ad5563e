//! Owns signatures: those arguments of a fused function, and objects that it reads from outside, on which its
//! computation depends. Values are compared by value, immutable objects by identity; other objects have no
//! signature, and the function is traced in each call. A stored signature keeps no object alive. It does not
//! know what is traced (`fuse.rs`) nor where functions read (`_outside.py`).

use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyBytes, PyComplex, PyDict, PyFloat, PyInt, PyList, PyRange, PySlice, PyString, PyTuple,
    PyWeakrefMethods, PyWeakrefReference,
};
use smallvec::SmallVec;

use crate::once::{Once, name};

/// The most parts of one object: comparing more would take longer than tracing the function.
const MOST_PARTS: usize = 256;

/// The deepest nesting of lists.
pub(crate) const MOST_NESTED: usize = 16;

pub(crate) type Signature = SmallVec<[Part; 6]>;

/// One thing that a computation depends on.
#[derive(Debug)]
pub(crate) enum Part {
    /// An array, and which of the arrays before it is the same. Its dtype and layout are compared separately.
    Array(Option<usize>),
    /// The name of a keyword argument.
    Name(String),
    None,
    Bool(bool),
    Int(i64),
    /// An integer of more than 64 bits, as decimal digits.
    Digits(String),
    /// By its bits: 0.0 and -0.0 differ, and NaN equals itself.
    Float(u64),
    Complex([u64; 2]),
    Text(String),
    Bytes(Box<[u8]>),
    /// A tuple, list or similar of so many parts, which follow.
    Several(Form, usize),
    /// A name from outside that does not exist.
    Absent,
    /// An object compared by identity.
    Object(Identity),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Tuple,
    List,
    Dict,
    Slice,
    Range,
    /// In place of an object that is compared by value.
    Value,
}

/// An object: a reference during a call, a weak reference when stored.
#[derive(Debug)]
pub(crate) enum Identity {
    Held(Py<PyAny>),
    Known(Py<PyWeakrefReference>),
}

impl Identity {
    fn is(&self, py: Python<'_>, other: &Identity) -> bool {
        match (self.object(py), other.object(py)) {
            (Some(own), Some(other)) => own.is(&other),
            _ => false,
        }
    }

    fn object<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        match self {
            Identity::Held(object) => Some(object.bind(py).clone()),
            Identity::Known(reference) => reference.bind(py).upgrade(),
        }
    }
}

impl Part {
    pub(crate) fn object(object: &Bound<'_, PyAny>) -> Part {
        Part::Object(Identity::Held(object.clone().unbind()))
    }

    /// Whether two parts are equal.
    fn is(&self, py: Python<'_>, other: &Part) -> bool {
        match (self, other) {
            (Part::Array(own), Part::Array(other)) => own == other,
            (Part::Name(own), Part::Name(other))
            | (Part::Text(own), Part::Text(other))
            | (Part::Digits(own), Part::Digits(other)) => own == other,
            (Part::None, Part::None) | (Part::Absent, Part::Absent) => true,
            (Part::Bool(own), Part::Bool(other)) => own == other,
            (Part::Int(own), Part::Int(other)) => own == other,
            (Part::Float(own), Part::Float(other)) => own == other,
            (Part::Complex(own), Part::Complex(other)) => own == other,
            (Part::Bytes(own), Part::Bytes(other)) => own == other,
            (Part::Several(own, count), Part::Several(other, others)) => (own, count) == (other, others),
            (Part::Object(own), Part::Object(other)) => own.is(py, other),
            _ => false,
        }
    }

    /// The part with a weak reference to its object. Objects without weak references belong to modules, which
    /// stay.
    fn let_go(&mut self, py: Python<'_>) {
        if let Part::Object(identity) = self
            && let Identity::Held(object) = identity
            && let Ok(reference) = PyWeakrefReference::new(object.bind(py))
        {
            *identity = Identity::Known(reference.unbind());
        }
    }
}

/// Whether two signatures are equal.
pub(crate) fn are_same(py: Python<'_>, one: &[Part], other: &[Part]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.is(py, other))
}

/// A signature to be stored.
pub(crate) fn kept(py: Python<'_>, mut signature: Signature) -> Signature {
    signature.iter_mut().for_each(|part| part.let_go(py));
    signature
}

/// Adds the parts of an object that is no array; `false`, and perhaps some parts, if it may change
/// undetected.
pub(crate) fn add(object: &Bound<'_, PyAny>, signature: &mut Signature) -> PyResult<bool> {
    let most = signature.len() + MOST_PARTS;
    add_within(object, signature, most, MOST_NESTED)
}

fn add_within(
    object: &Bound<'_, PyAny>,
    signature: &mut Signature,
    most: usize,
    nested: usize,
) -> PyResult<bool> {
    if signature.len() >= most || nested == 0 {
        return Ok(false);
    }
    if let Some(value) = value(object)? {
        signature.push(value);
        return Ok(true);
    }
    let py = object.py();
    let (form, items): (Form, Vec<Bound<'_, PyAny>>) = if let Ok(items) = object.cast_exact::<PyTuple>() {
        (Form::Tuple, items.iter().collect())
    } else if let Ok(items) = object.cast_exact::<PyList>() {
        (Form::List, items.iter().take(most).collect())
    } else if let Ok(items) = object.cast_exact::<PyDict>() {
        (Form::Dict, items.iter().take(most).flat_map(|(key, value)| [key, value]).collect())
    } else if object.is_exact_instance_of::<PySlice>() || object.is_exact_instance_of::<PyRange>() {
        let form = if object.is_exact_instance_of::<PySlice>() { Form::Slice } else { Form::Range };
        let limits = [name!(py, "start"), name!(py, "stop"), name!(py, "step")];
        (form, limits.into_iter().map(|limit| object.getattr(limit)).collect::<PyResult<_>>()?)
    } else {
        static KNOWN: Once<Py<PyAny>> = Once::new();
        let known = KNOWN.import(py, "zerostride._outside", "known")?.call1((object,))?;
        if known.is(object) {
            signature.push(Part::object(object));
            return Ok(true);
        }
        match known.cast_into_exact::<PyTuple>() {
            Ok(items) => (Form::Value, items.iter().collect()),
            Err(_) => return Ok(false),
        }
    };
    signature.push(Part::Several(form, items.len()));
    items.iter().try_fold(true, |all, item| Ok(all && add_within(item, signature, most, nested - 1)?))
}

/// The part of an object of one of Python's classes of values. Objects of their subclasses may have further
/// attributes.
fn value(object: &Bound<'_, PyAny>) -> PyResult<Option<Part>> {
    Ok(Some(if let Ok(value) = object.cast_exact::<PyFloat>() {
        Part::Float(value.value().to_bits())
    } else if let Ok(value) = object.cast_exact::<PyBool>() {
        Part::Bool(value.is_true())
    } else if let Ok(value) = object.cast_exact::<PyInt>() {
        match value.extract() {
            Ok(value) => Part::Int(value),
            Err(_) => Part::Digits(value.call_method1(name!(object.py(), "__format__"), ("x",))?.extract()?),
        }
    } else if object.is_none() {
        Part::None
    } else if let Ok(value) = object.cast_exact::<PyString>() {
        match value.to_cow() {
            Ok(text) => Part::Text(text.into_owned()),
            // A lone surrogate is not valid text in Rust.
            Err(_) => return Ok(None),
        }
    } else if let Ok(value) = object.cast_exact::<PyComplex>() {
        Part::Complex([value.real().to_bits(), value.imag().to_bits()])
    } else if let Ok(value) = object.cast_exact::<PyBytes>() {
        Part::Bytes(value.as_bytes().into())
    } else {
        return Ok(None);
    }))
}
