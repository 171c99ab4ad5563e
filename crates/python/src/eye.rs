//! Owns the first question about each call of torch's functions that the guard sees: whether it may
//! broadcast. No Python frame stands between the program and such a call, so that it costs little. It does
//! not know what a broadcast means (`guard/_torch.py`).

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt, PyList, PyTuple, PyType};

use crate::once::Once;

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

    /// Whether values are tensors of different shapes, or begin with a list, which may hold some. Few calls
    /// have those, and every call pays for this question. Tensors of other classes are not asked here: to
    /// compare symbolic sizes is to decide about them.
    fn may_broadcast<'py>(
        &self,
        py: Python<'py>,
        values: impl Iterator<Item = Bound<'py, PyAny>>,
    ) -> PyResult<bool> {
        let mut first: Option<Bound<'py, PyAny>> = None;
        for value in values {
            let class = value.get_type();
            if class.is(&self.tensor) || class.is(&self.parameter) {
                let shape = value.getattr(crate::once::name!(py, "shape"))?;
                match &first {
                    None => first = Some(shape),
                    Some(first) if !first.eq(shape)? => return Ok(true),
                    Some(_) => {}
                }
            } else if value.is_none()
                || value.is_exact_instance_of::<PyInt>()
                || value.is_exact_instance_of::<PyFloat>()
            {
                continue;
            } else if value.is_instance(self.tensor.bind(py))?
                || first.is_none() && (value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>())
            {
                return Ok(true);
            }
        }
        Ok(false)
    }
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
