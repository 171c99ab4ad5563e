//! Owns the conversion of nested lists of numbers and arrays to tensors, as by `torch.tensor` and
//! `numpy.array`. It does not know arrays of other libraries (`memory/`).

use pyo3::exceptions::{PyMemoryError, PyOverflowError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyFloat, PyInt, PyList, PySequence, PyString, PyTuple};
use zerostride::{Category, Complex64, DType, Scalar, Tensor, promote_types, stack};

use crate::dtype;
use crate::error::{raise, type_name};
use crate::number;
use crate::operand::Given;
use crate::sequence;

/// A tensor with a copy of the data.
pub(crate) fn tensor(data: &Bound<'_, PyAny>, dtype: Option<DType>) -> PyResult<Tensor> {
    tensor_below(data, dtype, 0)
}

/// A tensor of data that so many lists hold.
fn tensor_below(data: &Bound<'_, PyAny>, dtype: Option<DType>, depth: usize) -> PyResult<Tensor> {
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
    let mut lists = Lists {
        dtype,
        shape: Vec::new(),
        numbers: Vec::new(),
        natural: None,
        visited: 0,
        meets_array: false,
    };
    match lists.gather(data, depth, 0) {
        Err(_) if lists.meets_array => joined(data, dtype, depth),
        gathered => gathered.and_then(|()| lists.build()),
    }
}

/// A list with arrays in it, along a new first dimension.
fn joined(data: &Bound<'_, PyAny>, dtype: Option<DType>, depth: usize) -> PyResult<Tensor> {
    let mut parts = Vec::new();
    for item in data.try_iter()? {
        let item = item?;
        let part = match if item.is_instance_of::<PyInt>() { None } else { Given::new(&item)? } {
            Some(Given::Tensor(tensor)) => tensor.alias(),
            Some(Given::Foreign(tensor)) => tensor,
            _ => tensor_below(&item, dtype, depth + 1)?,
        };
        parts.push(dtype.map_or(Ok(part.alias()), |dtype| part.to_dtype(dtype)).map_err(raise)?);
    }
    stack(&parts.iter().collect::<Vec<_>>(), 0).map_err(raise)
}

fn copy(tensor: &Tensor, dtype: Option<DType>) -> PyResult<Tensor> {
    match dtype {
        Some(dtype) if dtype != tensor.dtype() => tensor.to_dtype(dtype).map_err(raise),
        _ => tensor.clone_elements().map_err(raise),
    }
}

/// Items between two checks for signals.
const BETWEEN_SIGNALS: usize = 1 << 14;

/// The numbers of nested lists in row-major order; the first branch determines the shape of the others.
struct Lists {
    dtype: Option<DType>,
    shape: Vec<usize>,
    numbers: Vec<Scalar>,
    /// The dtype to which the numbers promote.
    natural: Option<DType>,
    /// The number of items visited.
    visited: usize,
    /// Whether an array with dimensions is among the items.
    meets_array: bool,
}

impl Lists {
    /// Gathers the numbers of a list in so many lists, which lies as deep as `depth` in the data.
    fn gather(&mut self, data: &Bound<'_, PyAny>, outside: usize, depth: usize) -> PyResult<()> {
        if outside + depth > zerostride::MAX_RANK {
            let message = format!("the lists nest more than {} deep", zerostride::MAX_RANK);
            return Err(PyValueError::new_err(message));
        }
        self.visited += 1;
        if self.visited.is_multiple_of(BETWEEN_SIGNALS) {
            data.py().check_signals()?;
        }
        if let Some((number, natural)) = element(data, self.dtype)? {
            if self.dtype.is_none() {
                self.natural = Some(match self.natural {
                    Some(other) => promote_types(other, natural).map_err(|error| raise(error.into()))?,
                    None => natural,
                });
            }
            if depth != self.shape.len() {
                let message = format!("expected a sequence at dim {depth}, found a number");
                return Err(PyValueError::new_err(message));
            }
            if self.numbers.is_empty() {
                self.reserve()?;
            }
            self.numbers.push(number);
            return Ok(());
        }
        let len = self.length(data)?;
        if depth == self.shape.len() {
            if !self.numbers.is_empty() {
                let message = format!("expected a number at dim {depth}, found a sequence");
                return Err(PyValueError::new_err(message));
            }
            self.shape.push(len);
        } else if self.shape[depth] != len {
            return Err(PyValueError::new_err(format!(
                "expected sequence of length {} at dim {depth} (got {len})",
                self.shape[depth]
            )));
        }
        let mut count = 0;
        for item in data.try_iter()? {
            count += 1;
            if count > len {
                break;
            }
            self.gather(&item?, outside, depth + 1)?;
        }
        if count != len {
            let more = if count > len { "more" } else { "fewer" };
            let message = format!("a {} of length {len} had {more} items when it was read", type_name(data));
            return Err(PyValueError::new_err(message));
        }
        Ok(())
    }

    /// The length of a list, tuple or other sequence.
    fn length(&mut self, data: &Bound<'_, PyAny>) -> PyResult<usize> {
        let is_list = data.is_instance_of::<PyList>() || data.is_instance_of::<PyTuple>();
        if is_list || (!data.is_instance_of::<PyString>() && data.cast::<PySequence>().is_ok()) {
            return data.len();
        }
        self.meets_array = matches!(Given::new(data)?, Some(Given::Tensor(_) | Given::Foreign(_)));
        let name = type_name(data);
        Err(PyTypeError::new_err(format!("a tensor is made of numbers, lists and arrays, not of {name}")))
    }

    /// The tensor of the numbers.
    fn build(&self) -> PyResult<Tensor> {
        let (numbers, shape) = (&self.numbers, &self.shape);
        let category = numbers.iter().map(|number| number.category()).max().unwrap_or(Category::Float);
        let dtype = self.dtype.or(self.natural).unwrap_or(DType::DEFAULT_FLOAT);
        // An integer beside a float is no float where integers are wanted; what only u64 holds is one here.
        let are_ints = dtype.category() == Category::Int && dtype != DType::U64;
        let category = if are_ints { category.min(Category::Int) } else { category };
        numbers.iter().try_for_each(|number| check(*number, dtype))?;
        // Built in the widest dtype of the category, so that the engine's conversion is the only rounding.
        let built = match category {
            Category::Bool | Category::Int => {
                let int = |number: &Scalar| match *number {
                    Scalar::Bool(value) => value.into(),
                    Scalar::Int(value) => value,
                    other => other.to_f64() as i64,
                };
                Tensor::from_vec(converted::<i64>(numbers, int)?, shape)
            }
            Category::Float => Tensor::from_vec(converted(numbers, |number| number.to_f64())?, shape),
            Category::Complex => {
                let complex = |number: &Scalar| match *number {
                    Scalar::Complex(value) => value,
                    real => Complex64::from(real.to_f64()),
                };
                Tensor::from_vec(converted::<Complex64>(numbers, complex)?, shape)
            }
        };
        built.and_then(|tensor| tensor.to_dtype(dtype)).map_err(raise)
    }

    /// Allocates memory for all numbers of the shape, or fails.
    fn reserve(&mut self) -> PyResult<()> {
        let numel = self.shape.iter().try_fold(1usize, |numel, &size| numel.checked_mul(size));
        let reserved = numel.filter(|&numel| self.numbers.try_reserve_exact(numel).is_ok());
        let shape = &self.shape;
        let too_large =
            || PyMemoryError::new_err(format!("there is no memory for lists of the shape {shape:?}"));
        reserved.map(drop).ok_or_else(too_large)
    }
}

/// A number, or an array of zero dimensions, for a tensor of `dtype`; with the dtype that it has of its own.
fn element(data: &Bound<'_, PyAny>, dtype: Option<DType>) -> PyResult<Option<(Scalar, DType)>> {
    match dtype {
        Some(DType::U64) => return Ok(unsigned(data)?.map(|number| (number, DType::U64))),
        // Integers of any size, rounded as by Python.
        Some(dtype) if dtype.category() >= Category::Float && data.is_instance_of::<PyInt>() => {
            return data.extract().map(|value| Some((Scalar::Float(value), dtype)));
        }
        _ => {}
    }
    let too_long = |error: PyErr| match error.is_instance_of::<PyOverflowError>(data.py()) {
        true => PyValueError::new_err(sequence::TOO_LONG),
        false => error,
    };
    if let Some(number) = number::extract(data).map_err(too_long)? {
        // NumPy's numbers of 64 and 128 bits are also numbers of Python.
        let is_plain = match number {
            Scalar::Float(_) => data.is_exact_instance_of::<PyFloat>(),
            Scalar::Complex(_) => data.is_exact_instance_of::<PyComplex>(),
            Scalar::Bool(_) | Scalar::Int(_) => true,
        };
        let own = if is_plain { None } else { data.getattr_opt("dtype")? };
        let natural = match number.category() {
            Category::Bool => DType::Bool,
            Category::Int => DType::I64,
            Category::Float => DType::DEFAULT_FLOAT,
            Category::Complex => DType::C64,
        };
        return Ok(Some((number, own.map_or(Ok(natural), |own| dtype::extract(&own))?)));
    }
    let tensor = match Given::new(data)? {
        Some(Given::Tensor(tensor)) => tensor.alias(),
        Some(Given::Foreign(tensor)) => tensor,
        _ => return Ok(None),
    };
    let number = (tensor.ndim() == 0).then(|| tensor.scalar_at(&[]).map_err(raise)).transpose()?;
    Ok(number.map(|number| (number, tensor.dtype())))
}

/// An unsigned 64-bit integer as the i64 with the same bits.
fn unsigned(data: &Bound<'_, PyAny>) -> PyResult<Option<Scalar>> {
    if data.is_instance_of::<PyFloat>() || data.is_instance_of::<PyComplex>() {
        return Err(PyTypeError::new_err(format!("torch.uint64 takes integers, not {}", type_name(data))));
    }
    match data.extract::<u64>() {
        Ok(value) => Ok(Some(Scalar::Int(value.cast_signed()))),
        Err(error) if error.is_instance_of::<PyOverflowError>(data.py()) => {
            Err(PyOverflowError::new_err(format!("{data} does not fit in torch.uint64")))
        }
        Err(_) => Ok(None),
    }
}

fn converted<T>(numbers: &[Scalar], convert: impl Fn(&Scalar) -> T) -> PyResult<Vec<T>> {
    let mut elements = Vec::new();
    let too_large = |_| PyMemoryError::new_err(format!("there is no memory for {} numbers", numbers.len()));
    elements.try_reserve_exact(numbers.len()).map_err(too_large)?;
    elements.extend(numbers.iter().map(convert));
    Ok(elements)
}

/// Refuses a number that the requested dtype cannot hold. Numbers for u64 are bits already.
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
