//! Owns `Tensor` as a Python class. It does not know its methods (`tensor_methods.rs`).

use pyo3::prelude::*;
use zerostride::{DType, Tensor};

/// An n-dimensional array of elements of one dtype. Made by ``tensor``, ``asarray``, ``zeros`` and the like.
#[pyclass(name = "Tensor", module = "zerostride", frozen, weakref)]
pub(crate) struct PyTensor(pub(crate) Tensor);

/// The tensor as a Python object.
#[inline]
pub(crate) fn object(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    Ok(Bound::new(py, PyTensor(tensor))?.into_any())
}

/// The dimension as an index; negative numbers count from the end.
pub(crate) fn dim_at(dim: isize, ndim: usize) -> PyResult<usize> {
    let most = ndim as isize;
    let place = if dim < 0 { dim + most } else { dim };
    usize::try_from(place).ok().filter(|&place| place < ndim).ok_or_else(|| {
        let message = format!(
            "Dimension out of range (expected to be in range of [{}, {}], but got {dim})",
            -most.max(1),
            most.max(1) - 1
        );
        pyo3::exceptions::PyIndexError::new_err(message)
    })
}

/// The imaginary part of real numbers: a single zero, stretched. A caller may only check that the attribute
/// exists, as xarray does.
pub(crate) fn zeros(dtype: DType, shape: &[usize]) -> zerostride::Result<Tensor> {
    Tensor::full(&[], 0, dtype)?.broadcast_to(shape)
}
