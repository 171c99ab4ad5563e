//! Owns the functions that create tensors: from data, from arrays of other libraries, from nothing.
//! It does not know how memory is shared (`memory/`).

use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::{PyBufferError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use zerostride::{Category, DType, Scalar, Tensor};

use super::function::{Answer, rows};
use crate::arguments::{Arguments, Value};
use crate::error::{raise, type_name};
use crate::memory::{self, Import};
use crate::target::target;
use crate::tensor::PyTensor;
use crate::threads::compute;
use crate::{nested, number};

rows! {
    /// A tensor of a copy of the data: numbers, lists of them, tensors, arrays.
    function "tensor" "data, dtype=None, *, device=None, pin_memory=False, requires_grad=False" |a| {
        nested::tensor(&memory::loaded(a.required("data")?)?, a.dtype("dtype")?)?
    };
    /// The data as a tensor, without a copy where it is an array in memory (NumPy, the buffer protocol,
    /// DLPack).
    function "asarray" "obj, dtype=None, *, copy=None, device=None, requires_grad=False" |a| asarray(a, "obj")?;
    /// The data as a tensor, without a copy where it is an array in memory.
    function "as_tensor" "data, dtype=None, device=None" |a| asarray(a, "data")?;
    /// A tensor on the memory of an array that speaks DLPack.
    function "from_dlpack" "x, *, copy=None" |a| {
        let found = memory::from_dlpack(a.required("x")?)?;
        match copies(a)? {
            Some(true) => found.elements().clone_elements().map_err(raise)?,
            Some(false) => found.shared().map_err(|why| {
                PyBufferError::new_err(format!("from_dlpack(copy=False): a copy is needed, as the array {why}"))
            })?,
            None => found.elements(),
        }
    };
    /// A tensor on the memory of a NumPy array.
    function "from_numpy" "array" |a| {
        let array = a.required("array")?;
        let expected = || PyTypeError::new_err(format!("expected np.ndarray (got {})", type_name(array)));
        memory::array(array)?.ok_or_else(expected)?.shared().map_err(|why| {
            PyValueError::new_err(format!("given numpy array {why}. Copy the numpy array to reallocate the memory."))
        })?
    };
    /// A tensor of zeros.
    function "zeros" "*size, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False, out=None" |a| full(a, a.counts()?, Scalar::Int(0), DType::DEFAULT_FLOAT)?;
    /// A tensor of ones.
    function "ones" "*size, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False, out=None" |a| full(a, a.counts()?, Scalar::Int(1), DType::DEFAULT_FLOAT)?;
    /// A tensor whose elements are yet to be written: zeros.
    function "empty" "*size, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False, memory_format=None, out=None" |a| full(a, a.counts()?, Scalar::Int(0), DType::DEFAULT_FLOAT)?;
    /// A tensor with the same number everywhere.
    function "full" "size, fill_value, dtype=None, *, layout=None, device=None, pin_memory=False, requires_grad=False, out=None" |a| {
        let (value, dtype) = (a.required("fill_value")?, dtype(a)?);
        let number = dtype.map_or_else(|| number::extract(value), |dtype| number::stored(value, dtype))?;
        match number {
            Some(number) => full(a, a.shape("size")?, number, dtype.unwrap_or(number.dtype()))?,
            None => {
                let filled = nested::tensor(value, dtype)?.broadcast_to(&a.shape("size")?);
                filled.and_then(|filled| filled.clone_elements()).map_err(raise)?
            }
        }
    };
    /// Zeros of the shape and dtype of another tensor.
    function "zeros_like" "input, dtype=None, *, layout=None, device=None, pin_memory=False, requires_grad=False, memory_format=None" |a| constant_like(a, 0)?;
    /// Ones of the shape and dtype of another tensor.
    function "ones_like" "input, dtype=None, *, layout=None, device=None, pin_memory=False, requires_grad=False, memory_format=None" |a| constant_like(a, 1)?;
    /// A tensor of the shape and dtype of another one, to be written: zeros.
    function "empty_like" "input, dtype=None, *, layout=None, device=None, pin_memory=False, requires_grad=False, memory_format=None" |a| constant_like(a, 0)?;
    /// The same number everywhere, in the shape and dtype of another tensor.
    function "full_like" "input, fill_value, dtype=None, *, layout=None, device=None, pin_memory=False, requires_grad=False, memory_format=None" |a| {
        let model = a.value("input")?;
        let dtype = dtype(a)?.map_or_else(|| model.dtype(), Ok)?;
        like(a, &model, a.number_as("fill_value", dtype)?, dtype)?
    };
    /// The numbers from `start` up to but without `end`, `step` apart.
    function "arange" "start=None, end=None, step=1, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False, out=None" |a| arange(a)?;
    /// `steps` numbers evenly from `start` to `end`, both included.
    function "linspace" "start, end, steps, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False, out=None" |a| linspace(a)?;
    /// The identity matrix of `n` rows.
    function "eye" "n, m=None, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False, out=None" |a| eye(a)?;
    /// Floats drawn evenly from [0, 1); the same for the same seed.
    function "rand" "*size, seed=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False, out=None" |a| {
        Tensor::rand_as(&a.counts()?, dtype(a)?.unwrap_or(DType::DEFAULT_FLOAT), seed(a)?).map_err(raise)?
    };
    /// Floats of the normal distribution with mean 0 and variance 1; the same for the same seed.
    function "randn" "*size, seed=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False, out=None" |a| {
        let (size, seed, dtype) = (a.counts()?, seed(a)?, dtype(a)?.unwrap_or(DType::DEFAULT_FLOAT));
        let count = size.iter().fold(1, |count: usize, &size| count.saturating_mul(size));
        compute(a.py, [count], || Tensor::randn_as(&size, dtype, seed)).map_err(raise)?
    };
    /// Floats drawn evenly from [0, 1), in the shape and dtype of another tensor.
    function "rand_like" "input, *, seed=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False, memory_format=None" |a| {
        let (size, dtype) = size_and_dtype_like(a)?;
        Tensor::rand_as(&size, dtype, seed(a)?).map_err(raise)?
    };
    /// Floats of the normal distribution, in the shape and dtype of another tensor.
    function "randn_like" "input, *, seed=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False, memory_format=None" |a| {
        let ((size, dtype), seed) = (size_and_dtype_like(a)?, seed(a)?);
        compute(a.py, [size.iter().product()], || Tensor::randn_as(&size, dtype, seed)).map_err(raise)?
    };
    /// Integers drawn evenly from `low` up to but without `high`; `low` is 0 if it is left out.
    function "randint" "low, high=None, size=None, *, seed=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False" |a| {
        let (low, high, size) = match a.optional("size") {
            Some(_) if a.optional("high").is_some() => (a.integer("low")?, a.integer("high")?, a.shape("size")?),
            Some(_) => (0, a.integer("low")?, a.shape("size")?),
            None => (0, a.integer("low")?, a.shape("high")?),
        };
        let numbers = Tensor::randint(low as i64, high as i64, &size, seed(a)?).map_err(raise)?;
        converted(numbers, dtype(a)?)?
    };
    /// The numbers from 0 to `n - 1` in a random order.
    function "randperm" "n, *, seed=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False" |a| {
        let (n, seed) = (a.count("n")?, seed(a)?);
        let keys = || Tensor::rand_as(&[n], DType::F64, seed)?.argsort(0, false);
        converted(compute(a.py, [n], keys).map_err(raise)?, dtype(a)?)?
    };
    /// Starts the sequence of random numbers that functions without a `seed` draw from.
    function "manual_seed" "seed" |a| {
        *SEQUENCE.lock().unwrap_or_else(PoisonError::into_inner) = Some((a.required("seed")?.extract()?, 0));
        a.py.None().into_bound(a.py)
    };
    /// Zeros of the dtype of the tensor.
    method "new_zeros" "input, *size, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False" |a| new_full(a, a.counts()?, Scalar::Int(0))?;
    /// Ones of the dtype of the tensor.
    method "new_ones" "input, *size, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False" |a| new_full(a, a.counts()?, Scalar::Int(1))?;
    /// A tensor of the dtype of the tensor, whose elements are yet to be written: zeros.
    method "new_empty" "input, *size, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False" |a| new_full(a, a.counts()?, Scalar::Int(0))?;
    /// The same number everywhere, in the dtype of the tensor.
    method "new_full" "input, size, fill_value, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False" |a| {
        let dtype = dtype(a)?.map_or_else(|| a.value("input")?.dtype(), Ok)?;
        Tensor::full(&a.shape("size")?, a.number_as("fill_value", dtype)?, dtype).map_err(raise)?
    };
}

/// What `manual_seed` has given, and how many seeds have been drawn from it.
static SEQUENCE: Mutex<Option<(u64, u64)>> = Mutex::new(None);

/// The seed that is given, or the next one of the sequence, or another one for each call.
fn seed(a: &Arguments<'_, '_>) -> PyResult<u64> {
    if let Some(seed) = a.optional("seed") {
        return seed.extract();
    }
    let mut sequence = SEQUENCE.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(match &mut *sequence {
        Some((first, drawn)) => {
            *drawn += 1;
            first.wrapping_add(drawn.wrapping_mul(0xD134_2543_DE82_EF95))
        }
        None => RandomState::new().hash_one(0),
    })
}

fn size_and_dtype_like(a: &Arguments<'_, '_>) -> PyResult<(Vec<usize>, DType)> {
    let model = a.value("input")?;
    let dtype = dtype(a)?.map_or_else(|| model.dtype(), Ok)?;
    Ok((model.expr().shape().map_err(raise)?.to_vec(), dtype))
}

fn new_full(a: &Arguments<'_, '_>, size: Vec<usize>, number: Scalar) -> PyResult<Tensor> {
    full(a, size, number, a.value("input")?.dtype()?)
}

/// The choice of `copy`: always, never, or if necessary.
fn copies(a: &Arguments<'_, '_>) -> PyResult<Option<bool>> {
    a.optional("copy").map(|_| a.flag("copy")).transpose()
}

fn asarray<'py>(a: &Arguments<'_, 'py>, data: &str) -> PyResult<Answer<'py>> {
    let (object, dtype) = (&memory::loaded(a.required(data)?)?, a.dtype("dtype")?);
    let copies = copies(a)?;
    let found = match object.cast::<PyTensor>() {
        Ok(tensor) if dtype.is_none_or(|dtype| dtype == tensor.get().0.dtype()) && copies != Some(true) => {
            return Ok(object.clone().into());
        }
        Ok(tensor) => Some(Import::Shared(tensor.get().0.alias())),
        Err(_) => memory::array(object)?,
    };
    let needed = match &found {
        Some(Import::Shared(found)) => {
            dtype.filter(|dtype| *dtype != found.dtype()).map(|_| "has elements of another dtype")
        }
        Some(Import::Copied(_, why)) => Some(*why),
        None => Some("is no array in memory"),
    };
    if let (Some(why), Some(false)) = (needed, copies) {
        return Err(PyValueError::new_err(format!(
            "Unable to avoid copy while creating an array as requested: the data cannot be had without a copy, as the {} {why}",
            type_name(object)
        )));
    }
    let tensor = match found {
        Some(found) => converted(found.elements(), dtype)?,
        None => nested::tensor(object, dtype)?,
    };
    let copies = copies == Some(true) && needed.is_none();
    Ok(if copies { tensor.clone_elements().map_err(raise)? } else { tensor }.into())
}

fn converted(tensor: Tensor, dtype: Option<DType>) -> PyResult<Tensor> {
    dtype.map_or(Ok(tensor.alias()), |dtype| tensor.to_dtype(dtype)).map_err(raise)
}

fn full(a: &Arguments<'_, '_>, shape: Vec<usize>, number: Scalar, natural: DType) -> PyResult<Tensor> {
    Tensor::full(&shape, number, dtype(a)?.unwrap_or(natural)).map_err(raise)
}

/// The requested dtype: by name, or that of the tensor to write to.
fn dtype(a: &Arguments<'_, '_>) -> PyResult<Option<DType>> {
    let out = a.optional("out").map(target).transpose()?.map(|out| out.dtype());
    match (a.dtype("dtype")?, out) {
        (Some(named), Some(out)) if named != out => Err(PyRuntimeError::new_err(format!(
            "dtype {} does not match dtype of out parameter ({})",
            named.scalar_name(),
            out.scalar_name()
        ))),
        (named, out) => Ok(named.or(out)),
    }
}

fn constant_like(a: &Arguments<'_, '_>, number: i64) -> PyResult<Tensor> {
    let model = a.value("input")?;
    let dtype = dtype(a)?.map_or_else(|| model.dtype(), Ok)?;
    like(a, &model, number.into(), dtype)
}

/// The number everywhere, in the shape of a model, and in the order of its dimensions unless `memory_format`
/// says otherwise.
fn like(a: &Arguments<'_, '_>, model: &Value, number: Scalar, dtype: DType) -> PyResult<Tensor> {
    if a.is_row_major("memory_format")? {
        return Tensor::full(model.expr().shape().map_err(raise)?, number, dtype).map_err(raise);
    }
    match model {
        Value::Tensor(model) => model.full_like(number, dtype),
        Value::Traced(model) => model.full_like(number, dtype),
    }
    .map_err(raise)
}

/// `arange(end)`, `arange(start, end)`, `arange(start, end, step)`; by name, `start` may be left out.
fn arange(a: &Arguments<'_, '_>) -> PyResult<Tensor> {
    let (start, end) = match (a.optional("start"), a.optional("end")) {
        (Some(_), None) => (Scalar::Int(0), a.number("start")?),
        (None, Some(_)) if a.optional("step").is_none() => (Scalar::Int(0), a.number("end")?),
        _ => (a.number("start")?, a.number("end")?),
    };
    let step = a.number_or("step", Scalar::Int(1))?;
    match dtype(a)? {
        Some(dtype) => Tensor::arange_as(start, end, step, dtype),
        None => Tensor::arange(start, end, step),
    }
    .map_err(raise)
}

fn linspace(a: &Arguments<'_, '_>) -> PyResult<Tensor> {
    let (start, end) = (a.number("start")?, a.number("end")?);
    let is_complex = start.category().max(end.category()) == Category::Complex;
    let natural = if is_complex { DType::DEFAULT_FLOAT.to_complex() } else { DType::DEFAULT_FLOAT };
    let dtype = dtype(a)?.unwrap_or(natural);
    Tensor::linspace_as(start, end, a.count("steps")?, dtype).map_err(raise)
}

fn eye(a: &Arguments<'_, '_>) -> PyResult<Tensor> {
    let n = a.count("n")?;
    let m = if a.optional("m").is_some() { a.count("m")? } else { n };
    let dtype = dtype(a)?.unwrap_or(DType::DEFAULT_FLOAT);
    let zeros = Tensor::full(&[n, m], 0, dtype).map_err(raise)?;
    let diagonal = zeros.diagonal(0, 0, 1).map_err(raise)?;
    let one = if dtype.category() == Category::Bool { Scalar::Bool(true) } else { Scalar::Int(1) };
    diagonal.fill_(one).map_err(raise)?;
    Ok(zeros)
}
