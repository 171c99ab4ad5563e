//! Owns the conversion of bare numbers between Python and the engine. It does not know tensors.

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt};
use zerostride::{Complex64, DType, Scalar};

/// The number, if the object is one.
pub(crate) fn extract(object: &Bound<'_, PyAny>) -> PyResult<Option<Scalar>> {
    Ok(if let Ok(value) = object.cast::<PyFloat>() {
        Some(Scalar::Float(value.value()))
    } else if let Ok(value) = object.cast::<PyBool>() {
        Some(Scalar::Bool(value.is_true()))
    } else if let Ok(value) = object.cast::<PyInt>() {
        let value = value.extract().map_err(|_| PyOverflowError::new_err("int too big to convert"))?;
        Some(Scalar::Int(value))
    } else if let Ok(value) = object.cast::<PyComplex>() {
        Some(Scalar::Complex(Complex64::new(value.real(), value.imag())))
    } else {
        None
    })
}

/// The number to be stored with that dtype, if the object is one. Those of u64 from 2^63 on are given as the
/// i64 of the same bits, which is stored as that u64.
pub(crate) fn stored(object: &Bound<'_, PyAny>, dtype: DType) -> PyResult<Option<Scalar>> {
    if dtype == DType::U64
        && let Ok(number) = object.extract::<u64>()
    {
        return Ok(Some(Scalar::Int(number as i64)));
    }
    extract(object)
}

/// The number as a Python object.
pub(crate) fn object(py: Python<'_>, number: Scalar) -> PyResult<Bound<'_, PyAny>> {
    match number {
        Scalar::Bool(value) => value.into_bound_py_any(py),
        Scalar::Int(value) => value.into_bound_py_any(py),
        Scalar::Float(value) => value.into_bound_py_any(py),
        Scalar::Complex(value) => PyComplex::from_doubles(py, value.re, value.im).into_bound_py_any(py),
    }
}
