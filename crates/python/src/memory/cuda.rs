//! Owns `__cuda_array_interface__`, by which libraries for NVIDIA's GPUs share arrays, in both directions. It
//! does not know other protocols.
//!
//! Source: <https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html>, version 3.

use std::ptr::NonNull;

use pyo3::exceptions::{PyAttributeError, PyBufferError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use zerostride::{Category, DType, Device, Lent, Tensor};

use crate::error::raise;
use crate::once::name;
use crate::tensor::PyTensor;

/// NumPy's text for a dtype; `None` if it has no such dtype.
fn type_text(dtype: DType) -> Option<String> {
    let kind = match (dtype, dtype.category()) {
        (DType::BF16, _) => return None,
        (_, Category::Bool) => 'b',
        (dtype, Category::Int) if dtype.is_signed_int() => 'i',
        (_, Category::Int) => 'u',
        (_, Category::Float) => 'f',
        (_, Category::Complex) => 'c',
    };
    let item = dtype.item_size();
    Some(format!("{}{kind}{item}", if item == 1 { '|' } else { '<' }))
}

#[pymethods]
impl PyTensor {
    /// For other libraries that compute on NVIDIA's GPUs: where the elements are, whose work is on the
    /// default stream.
    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (tensor, shown) = (&self.0, PyDict::new(py));
        let (Some(text), Device::Cuda(_)) = (type_text(tensor.dtype()), tensor.device()) else {
            let message = "only tensors on a GPU have it, of dtypes that NumPy has";
            return Err(PyAttributeError::new_err(message));
        };
        let item = tensor.dtype().item_size() as isize;
        let strides: Vec<isize> = tensor.strides().iter().map(|stride| stride.saturating_mul(item)).collect();
        shown.set_item("shape", PyTuple::new(py, tensor.shape())?)?;
        shown.set_item("strides", PyTuple::new(py, strides)?)?;
        shown.set_item("typestr", text)?;
        shown.set_item("data", (tensor.data_ptr() as usize, false))?;
        shown.set_item("version", 3)?;
        shown.set_item("stream", 1)?;
        Ok(shown)
    }
}

/// The tensor on the memory of an array that shows it; `None` for other objects.
pub(super) fn import(object: &Bound<'_, PyAny>) -> PyResult<Option<Tensor>> {
    let py = object.py();
    let shown = object.getattr_opt(name!(py, "__cuda_array_interface__"))?;
    let Some(Ok(shown)) = shown.map(|shown| shown.cast_into::<PyDict>()) else { return Ok(None) };
    let refused = |problem: String| PyBufferError::new_err(problem);
    let given = |key: &str| Ok::<_, PyErr>(shown.get_item(key)?.filter(|value| !value.is_none()));
    let needed = |key: &str| given(key)?.ok_or_else(|| refused(format!("the array does not show its {key}")));
    if given("mask")?.is_some() {
        return Err(refused("the array has a mask, and tensors have none".to_owned()));
    }
    let text: String = needed("typestr")?.extract()?;
    let known = DType::ALL.into_iter().find(|&dtype| type_text(dtype).as_ref() == Some(&text));
    let dtype = known.ok_or_else(|| refused(format!("no dtype has the elements of type {text}")))?;
    let shape: Vec<usize> = needed("shape")?.extract()?;
    let strides: Vec<isize> = match given("strides")? {
        Some(strides) => {
            let (bytes, item) = (strides.extract::<Vec<isize>>()?, dtype.item_size() as isize);
            if bytes.len() != shape.len() || bytes.iter().any(|stride| stride % item != 0) {
                return Err(refused(format!("the strides {bytes:?} are not those of elements of {dtype}")));
            }
            bytes.into_iter().map(|stride| stride / item).collect()
        }
        None => {
            let inner = |dim: usize| {
                shape[dim + 1..].iter().fold(1isize, |count, &size| count.saturating_mul(size as isize))
            };
            (0..shape.len()).map(inner).collect()
        }
    };
    let (address, is_read_only): (usize, bool) = needed("data")?.extract()?;
    let data = NonNull::new(std::ptr::without_provenance_mut(address));
    if data.is_none() && !shape.contains(&0) {
        return Err(refused("the array has elements, and no memory that they are in".to_owned()));
    }
    let data = data.unwrap_or(NonNull::dangling());
    let lent = Lent { data, dtype, shape: &shape, strides: &strides, writable: !is_read_only };
    let stream = given("stream")?.map(|stream| stream.extract::<usize>()).transpose()?;
    if stream == Some(0) {
        return Err(refused("the array is used on stream 0, which the protocol leaves open".to_owned()));
    }
    // SAFETY: the object keeps its elements until it is dropped, which waits for no thread. The work that is
    // still to be done with them is on the stream that it names, as the protocol says, and before ours; if
    // that is the default one, what it does later comes after ours.
    let tensor = unsafe {
        let in_order = stream == Some(1);
        let tensor =
            Tensor::from_lent_on_cuda(None, &lent, object.clone().unbind(), in_order).map_err(raise)?;
        stream.map_or(Ok(()), |stream| tensor.follow(stream)).map_err(raise)?;
        tensor
    };
    Ok(Some(tensor))
}
