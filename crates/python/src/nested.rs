//! Owns the way from nested lists of numbers to tensors, as `torch.tensor` makes them.

use pyo3::exceptions::{PyOverflowError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyFloat, PyInt, PyList, PySequence, PyString, PyTuple};
use zerostride::{Category, Complex64, DType, Scalar, Tensor};

use crate::error::raise;
use crate::number;
use crate::operand::Given;
use crate::row::type_name;

/// A tensor of a copy of the data.
pub(crate) fn tensor(data: &Bound<'_, PyAny>, dtype: Option<DType>) -> PyResult<Tensor> {
    if !data.is_instance_of::<PyInt>() {
        match Given::new(data)? {
            Some(Given::Tensor(tensor)) => return copy(tensor, dtype),
            Some(Given::Foreign(tensor)) => return copy(&tensor, dtype),
            Some(Given::Traced(expr)) if expr.has_inputs() => {
                let tensor = expr.eval().map_err(raise)?;
                return copy(&tensor, dtype);
            }
            _ => {}
        }
    }
    let (mut shape, mut numbers) = (Vec::new(), Vec::new());
    gather(data, dtype, 0, &mut shape, &mut numbers)?;
    build(&numbers, &shape, dtype)
}

fn copy(tensor: &Tensor, dtype: Option<DType>) -> PyResult<Tensor> {
    match dtype {
        Some(dtype) if dtype != tensor.dtype() => tensor.to_dtype(dtype).map_err(raise),
        _ => tensor.clone_elements().map_err(raise),
    }
}

/// Collects the numbers below a list in row-major order; the first branch says what shape the others must have.
fn gather(
    data: &Bound<'_, PyAny>,
    dtype: Option<DType>,
    depth: usize,
    shape: &mut Vec<usize>,
    numbers: &mut Vec<Scalar>,
) -> PyResult<()> {
    if depth > zerostride::MAX_RANK {
        return Err(PyValueError::new_err(format!("the lists nest more than {} deep", zerostride::MAX_RANK)));
    }
    if let Some(number) = element(data, dtype)? {
        if depth != shape.len() {
            return Err(PyValueError::new_err(format!("expected a sequence at dim {depth}, found a number")));
        }
        numbers.push(number);
        return Ok(());
    }
    let is_list = data.is_instance_of::<PyList>() || data.is_instance_of::<PyTuple>();
    if !is_list && (data.is_instance_of::<PyString>() || data.cast::<PySequence>().is_err()) {
        let name = type_name(data);
        return Err(PyTypeError::new_err(format!(
            "a tensor is made of numbers, lists and arrays, not of {name}"
        )));
    }
    let len = data.len()?;
    if depth == shape.len() {
        if !numbers.is_empty() {
            return Err(PyValueError::new_err(format!("expected a number at dim {depth}, found a sequence")));
        }
        shape.push(len);
    } else if shape[depth] != len {
        return Err(PyValueError::new_err(format!(
            "expected sequence of length {} at dim {depth} (got {len})",
            shape[depth]
        )));
    }
    for item in data.try_iter()? {
        gather(&item?, dtype, depth + 1, shape, numbers)?;
    }
    Ok(())
}

/// A number, or an array of no dimensions, for a tensor of `dtype`.
fn element(data: &Bound<'_, PyAny>, dtype: Option<DType>) -> PyResult<Option<Scalar>> {
    match dtype {
        Some(DType::U64) => return unsigned(data),
        // Integers of any size, rounded as Python rounds them.
        Some(dtype) if dtype.category() >= Category::Float && data.is_instance_of::<PyInt>() => {
            return data.extract().map(|value| Some(Scalar::Float(value)));
        }
        _ => {}
    }
    if let Some(number) = number::extract(data)? {
        return Ok(Some(number));
    }
    match Given::new(data)? {
        Some(Given::Tensor(tensor)) if tensor.ndim() == 0 => tensor.scalar_at(&[]).map(Some).map_err(raise),
        Some(Given::Foreign(tensor)) if tensor.ndim() == 0 => tensor.scalar_at(&[]).map(Some).map_err(raise),
        _ => Ok(None),
    }
}

/// An integer of 64 bits without a sign, in the bits of one that has a sign.
fn unsigned(data: &Bound<'_, PyAny>) -> PyResult<Option<Scalar>> {
    if data.is_instance_of::<PyFloat>() || data.is_instance_of::<PyComplex>() {
        return Err(PyTypeError::new_err(format!("torch.uint64 takes integers, not {}", type_name(data))));
    }
    match data.extract::<u64>() {
        Ok(value) => Ok(Some(Scalar::Int(value.cast_signed()))),
        Err(error) if error.is_instance_of::<PyOverflowError>(data.py()) => {
            Err(PyRuntimeError::new_err(format!("{data} does not fit in torch.uint64")))
        }
        Err(_) => Ok(None),
    }
}

fn build(numbers: &[Scalar], shape: &[usize], dtype: Option<DType>) -> PyResult<Tensor> {
    let category = numbers.iter().map(|number| number.category()).max().unwrap_or(Category::Float);
    let natural = match category {
        Category::Bool => DType::Bool,
        Category::Int => DType::I64,
        Category::Float => DType::DEFAULT_FLOAT,
        Category::Complex => DType::C64,
    };
    let dtype = dtype.unwrap_or(natural);
    numbers.iter().try_for_each(|number| check(*number, dtype))?;
    // In the widest dtype of the category, so that the engine's conversion is the only rounding.
    let built = match category {
        Category::Bool | Category::Int => {
            let int = |number: &Scalar| match *number {
                Scalar::Bool(value) => value.into(),
                Scalar::Int(value) => value,
                other => other.to_f64() as i64,
            };
            Tensor::from_vec(numbers.iter().map(int).collect::<Vec<i64>>(), shape)
        }
        Category::Float => {
            Tensor::from_vec(numbers.iter().map(|number| number.to_f64()).collect::<Vec<f64>>(), shape)
        }
        Category::Complex => {
            let complex = |number: &Scalar| match *number {
                Scalar::Complex(value) => value,
                real => Complex64::from(real.to_f64()),
            };
            Tensor::from_vec(numbers.iter().map(complex).collect::<Vec<Complex64>>(), shape)
        }
    };
    built.and_then(|tensor| tensor.to_dtype(dtype)).map_err(raise)
}

/// Refuses a number that is none of the dtype asked for. Those for u64 are its bits already.
fn check(number: Scalar, dtype: DType) -> PyResult<()> {
    match (number, dtype.category()) {
        (Scalar::Complex(_), Category::Int) => {
            Err(PyTypeError::new_err("'complex' object cannot be interpreted as an integer"))
        }
        (Scalar::Complex(_), Category::Float) => {
            Err(PyTypeError::new_err("must be real number, not complex"))
        }
        (_, Category::Int) if dtype != DType::U64 && number.overflows(dtype) => {
            let message =
                format!("value cannot be converted to type {} without overflow", dtype.torch_name());
            Err(PyRuntimeError::new_err(message))
        }
        _ => Ok(()),
    }
}
