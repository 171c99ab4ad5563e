//! Owns the first question about each call of torch's functions that the guard sees: whether it may
//! broadcast. No Python frame stands between the program and such a call, so that it costs little. It does
//! not know what a broadcast means (`guard/_torch.py`).

use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt, PyList, PyTuple, PyType};
use smallvec::SmallVec;
use zerostride_shape::{Size, broadcast_onto};

use crate::once::{Once, name};

/// Whether a watcher wants to be told of every broadcast, not only of those whose result has more elements
/// than each operand.
static SEES_EVERY: AtomicBool = AtomicBool::new(false);

/// Says what watchers want.
#[pyfunction]
pub(crate) fn _eye_sees_every(every: bool) {
    SEES_EVERY.store(every, Ordering::Relaxed);
}

/// What the question needs of torch.
struct Torch {
    tensor: Py<PyType>,
    parameter: Py<PyType>,
    /// `torch.Tensor.__setitem__`, which is always looked at.
    setitem: Py<PyAny>,
    /// `_torch.looked`.
    looked: Py<PyAny>,
}

impl Torch {
    fn new(py: Python<'_>) -> PyResult<Torch> {
        let torch = py.import("torch")?;
        let tensor = torch.getattr("Tensor")?.cast_into::<PyType>()?;
        Ok(Torch {
            setitem: tensor.getattr("__setitem__")?.unbind(),
            tensor: tensor.unbind(),
            parameter: torch.getattr("nn")?.getattr("Parameter")?.cast_into::<PyType>()?.unbind(),
            looked: py.import("zerostride.guard._torch")?.getattr("looked")?.unbind(),
        })
    }

    /// Whether some broadcast of the values is to be looked at, or they begin with a list, which may hold
    /// tensors. Few calls have those, and every call pays for this question. Tensors of other classes are not
    /// asked here: to compare symbolic sizes is to decide about them.
    fn may_broadcast<'py>(
        &self,
        py: Python<'py>,
        values: impl Iterator<Item = Bound<'py, PyAny>>,
    ) -> PyResult<bool> {
        let mut shapes: SmallVec<[Bound<'py, PyAny>; 3]> = SmallVec::new();
        for value in values {
            let class = value.get_type();
            if class.is(&self.tensor) || class.is(&self.parameter) {
                let shape = value.getattr(name!(py, "shape"))?;
                for other in &shapes {
                    if !other.eq(&shape)? && is_wanted(other, &shape)? {
                        return Ok(true);
                    }
                }
                shapes.push(shape);
            } else if value.is_none()
                || value.is_exact_instance_of::<PyInt>()
                || value.is_exact_instance_of::<PyFloat>()
            {
                continue;
            } else if value.is_instance(self.tensor.bind(py))?
                || shapes.is_empty()
                    && (value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>())
            {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Whether a watcher may want to be told of a broadcast of these two shapes, which differ. Where no two
/// shapes of a call stretch each other, all do not: one of them has every size of the result.
fn is_wanted(a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>) -> PyResult<bool> {
    if SEES_EVERY.load(Ordering::Relaxed) {
        return Ok(true);
    }
    let (a, b) = (sizes(a)?, sizes(b)?);
    let (mut result, other) = if a.len() < b.len() { (b.clone(), &a) } else { (a.clone(), &b) };
    let numel = |sizes: &[Size]| sizes.iter().fold(1, |numel: Size, &size| numel.saturating_mul(size));
    Ok(broadcast_onto(&mut result, other) && numel(&result) > numel(&a).max(numel(&b)))
}

fn sizes(shape: &Bound<'_, PyAny>) -> PyResult<SmallVec<[Size; 6]>> {
    shape.cast::<PyTuple>()?.iter().map(|size| size.extract()).collect()
}

/// `__torch_function__` of the guard's mode.
#[pyfunction]
#[pyo3(signature = (_mode, function, _types, arguments=None, keywords=None))]
pub(crate) fn _eye<'py>(
    py: Python<'py>,
    _mode: &Bound<'py, PyAny>,
    function: &Bound<'py, PyAny>,
    _types: &Bound<'py, PyAny>,
    arguments: Option<&Bound<'py, PyTuple>>,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    static TORCH: Once<Torch> = Once::new();
    let torch = TORCH.get_or_make(py, || Torch::new(py))?;
    let none = PyTuple::empty(py);
    let arguments = arguments.unwrap_or(&none);
    let named = keywords.into_iter().flatten().map(|(_, value)| value);
    if function.is(&torch.setitem) || torch.may_broadcast(py, arguments.iter().chain(named))? {
        let below = torch.looked.bind(py).call1((function, arguments, keywords))?;
        if !below.is_none() {
            return below.call0();
        }
    }
    function.call(arguments, keywords)
}
