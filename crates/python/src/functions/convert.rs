//! Owns conversions between dtypes, copies, writes from one tensor to another, and queries about dtypes.
//! It does not know how elements are converted.

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyType};
use zerostride::{Category, DType, Device, Typed};

use super::function::rows;
use crate::arguments::{Arguments, Value};
use crate::dtype::PyDType;
use crate::error::{TraceError, raise, type_name};
use crate::operand::Given;
use crate::tensor::PyTensor;
use crate::threads::compute;
use crate::{dtype, number};

rows! {
    /// The elements converted to another dtype, or that of another tensor; the tensor itself if it has that
    /// dtype, unless `copy`.
    method "to" "input, *target, dtype=None, device=None, other=None, non_blocking=False, copy=False, memory_format=None" |a| {
        to(a)?
    };
    /// The tensor in the memory of the process: the tensor itself if it is there, else a copy.
    method "cpu" "input" |a| moved(a, a.value("input")?, Device::Cpu)?;
    /// The tensor on an NVIDIA GPU, "cuda" or "cuda:1": the tensor itself if it is there, else a copy. What
    /// is computed with it is computed there, with the same bits.
    method "cuda" "input, device=None" |a| {
        let device = a.optional("device").map_or(Ok(Device::Cuda(0)), |device| a.device(device))?;
        moved(a, a.value("input")?, device)?
    };
    /// The elements converted to another dtype; with `copy=False` the tensor itself if it has that dtype.
    both "astype" "input, dtype, *, copy=True" |a| {
        let dtype = dtype::extract(a.required("dtype")?)?;
        match a.value("input")? {
            Value::Tensor(x) if x.dtype() == dtype && (a.optional("copy").is_none() || a.flag("copy")?) => {
                Value::Tensor(x.clone_elements().map_err(raise)?)
            }
            _ => cast(a, dtype)?,
        }
    };
    /// The elements converted to the dtype of another tensor; the tensor itself if it has that dtype.
    method "type_as" "input, other" |a| {
        let dtype = match a.value("other")? {
            Value::Tensor(other) => other.dtype(),
            Value::Traced(other) => other.dtype().map_err(raise)?,
        };
        cast(a, dtype)?
    };
    /// The elements as float32.
    method "float" "input, *, memory_format=None" |a| cast(a, DType::F32)?;
    /// The elements as float64.
    method "double" "input, *, memory_format=None" |a| cast(a, DType::F64)?;
    /// The elements as float16.
    method "half" "input, *, memory_format=None" |a| cast(a, DType::F16)?;
    /// The elements as bfloat16.
    method "bfloat16" "input, *, memory_format=None" |a| cast(a, DType::BF16)?;
    /// The elements as int32.
    method "int" "input, *, memory_format=None" |a| cast(a, DType::I32)?;
    /// The elements as int64.
    method "long" "input, *, memory_format=None" |a| cast(a, DType::I64)?;
    /// The elements as uint8.
    method "byte" "input, *, memory_format=None" |a| cast(a, DType::U8)?;
    /// The elements as int8.
    method "char" "input, *, memory_format=None" |a| cast(a, DType::I8)?;
    /// The elements as int16.
    method "short" "input, *, memory_format=None" |a| cast(a, DType::I16)?;
    /// The elements as complex64.
    method "cfloat" "input, *, memory_format=None" |a| cast(a, DType::C64)?;
    /// The elements as complex128.
    method "cdouble" "input, *, memory_format=None" |a| cast(a, DType::C128)?;
    /// The elements as bool.
    method "bool" "input, *, memory_format=None" |a| cast(a, DType::Bool)?;
    /// A contiguous tensor: the tensor itself if it is, else a copy.
    method "contiguous" "input, *, memory_format=None" |a| match a.value("input")? {
        Value::Tensor(x) => Value::Tensor(compute(a.py, [x.numel()], || x.contiguous()).map_err(raise)?),
        Value::Traced(x) => Value::Traced(x.contiguous()),
    };
    /// A copy, whose dimensions lie in the same order in memory.
    both "clone" "input, *, memory_format=None" |a| match a.value("input")? {
        Value::Tensor(x) => {
            let is_row_major = a.is_row_major("memory_format")?;
            let copy = || if is_row_major { x.row_major() } else { x.clone_elements() };
            Value::Tensor(compute(a.py, [x.numel()], copy).map_err(raise)?)
        }
        Value::Traced(x) if a.is_row_major("memory_format")? => Value::Traced(x.contiguous()),
        Value::Traced(x) => Value::Traced(x.copied()),
    };
    /// Overwrites the elements with those of another tensor, stretched, converted and moved as needed.
    method "copy_" "input, other, non_blocking=False" |a| {
        let (target, source) = (target(a)?, a.required("other")?);
        let wrong = || a.misused(&format!("`other` must be a tensor, an array or a number, not {}", type_name(source)));
        let given = Given::new(source)?.ok_or_else(wrong)?;
        let target = &target.get().0;
        compute(a.py, [target.numel()], || target.copy_(given.operand())).map_err(raise)?;
        a.required("input")?.clone()
    };
    /// Overwrites all elements with one number, which the dtype must hold; that of a tensor is converted.
    method "fill_" "input, value" |a| {
        let target = &target(a)?.get().0;
        match a.required("value")?.cast::<PyTensor>().map(|value| &value.get().0) {
            Ok(value) if value.ndim() > 0 => {
                return Err(PyRuntimeError::new_err(format!(
                    "fill_ only supports 0-dimension value tensor but got tensor with {} dimensions.",
                    value.ndim()
                )));
            }
            Ok(value) => compute(a.py, [target.numel()], || target.copy_(value)),
            Err(_) => {
                let value = a.number_as("value", target.dtype())?;
                compute(a.py, [target.numel()], || target.fill_(value))
            }
        }
        .map_err(raise)?;
        a.required("input")?.clone()
    };
    /// Overwrites all elements with 0.
    method "zero_" "input" |a| {
        let target = &target(a)?.get().0;
        compute(a.py, [target.numel()], || target.fill_(0)).map_err(raise)?;
        a.required("input")?.clone()
    };
    /// The number of elements.
    function "numel" "input" |a| {
        let numel: usize = a.value("input")?.expr().shape().map_err(raise)?.iter().product();
        numel.into_bound_py_any(a.py)?
    };
    /// Whether the object is a tensor of this package.
    function "is_tensor" "obj" |a| a.required("obj")?.is_instance_of::<PyTensor>().into_bound_py_any(a.py)?;
    /// Whether the elements are floating-point numbers; complex ones are not.
    function "is_floating_point" "input" |a| is_of(a, Category::Float)?;
    /// Whether the elements are complex numbers.
    function "is_complex" "input" |a| is_of(a, Category::Complex)?;
    /// The dtype of the result of an operation on these operands: tensors, arrays, numbers or dtypes.
    function "result_type" "*operands" |a| {
        let typed = a.rest().iter().map(|object| typed(object)).collect::<PyResult<Vec<_>>>()?;
        let result = zerostride::result_type(&typed).map_err(|error| raise(error.into()))?;
        dtype::object(a.py, result).clone().into_any()
    };
    /// The smallest dtype that both can be converted to, by PyTorch's table.
    function "promote_types" "type1, type2" |a| {
        let types = [dtype::extract(a.required("type1")?)?, dtype::extract(a.required("type2")?)?];
        let result = zerostride::promote_types(types[0], types[1]).map_err(|error| raise(error.into()))?;
        dtype::object(a.py, result).clone().into_any()
    };
    /// Whether an in-place operation may write one dtype into another.
    function "can_cast" "from_, to" |a| {
        let from = typed(a.required("from_")?)?.dtype;
        zerostride::can_cast(from, dtype::extract(a.required("to")?)?).into_bound_py_any(a.py)?
    };
}

/// `to(dtype)`, `to(device)`, `to(device, dtype)`, `to(other)`, or these by name, each of which may be None;
/// then `non_blocking` and `copy`.
fn to(a: &Arguments<'_, '_>) -> PyResult<Value> {
    let is_flag = |object: &&Bound<'_, PyAny>| object.is_instance_of::<PyBool>();
    let targets = a.rest().iter().position(is_flag).unwrap_or(a.rest().len());
    let (targets, flags) = a.rest().split_at(targets);
    if flags.len() > 2 || !flags.iter().all(is_flag) {
        return Err(a.misused("what follows the target are `non_blocking` and `copy`, each true or false"));
    }
    let copies = flags.get(1).map_or_else(|| a.flag("copy"), |copy| copy.is_truthy())?;
    let (mut wanted, mut device) =
        (a.dtype("dtype")?, a.optional("device").map(|object| a.device(object)).transpose()?);
    for object in targets.iter().copied().chain(a.optional("other")).filter(|object| !object.is_none()) {
        // NumPy's scalar classes and our dtypes have the attributes of arrays. To ask what is no array for an
        // array's memory takes much longer than to convert a few elements.
        let is_class = object.is_instance_of::<PyType>() || object.is_instance_of::<PyDType>();
        let named = if is_class || !object.hasattr("dtype")? { dtype::extract(object).ok() } else { None };
        let array = if is_class || named.is_some() { None } else { Given::new(object)? };
        wanted = if let Some(dtype) = named {
            Some(dtype)
        } else if let Some(given) = array.filter(|given| !matches!(given, Given::Number(_))) {
            device = device.or(match &given {
                Given::Tensor(tensor) => Some(tensor.device()),
                Given::Foreign(tensor) => Some(tensor.device()),
                _ => None,
            });
            Some(typed(object)?.dtype)
        } else if let Ok(named) = a.device(object) {
            device = Some(named);
            wanted
        } else {
            let what = object.str()?;
            return Err(a.misused(&format!("{what} is neither a dtype nor a tensor nor a device")));
        };
    }
    let x = a.value("input")?;
    let is_there = |x: &Value| match x {
        Value::Tensor(x) => device.is_none_or(|device| device == x.device()),
        Value::Traced(_) => device.is_none_or(|device| device == Device::Cpu),
    };
    if let (false, Some(device)) = (is_there(&x), device) {
        let dtype = wanted.filter(|_| matches!(x, Value::Tensor(_)));
        let Value::Tensor(there) = moved(a, x, device)? else { unreachable!("only tensors are moved") };
        let converted = || dtype.map_or_else(|| Ok(there.alias()), |dtype| there.to_dtype(dtype));
        return compute(a.py, [there.numel()], converted).map(Value::Tensor).map_err(raise);
    }
    let dtype = match &x {
        Value::Tensor(x) => x.dtype(),
        Value::Traced(x) => x.dtype().map_err(raise)?,
    };
    match x {
        Value::Tensor(x) if copies && wanted.is_none_or(|wanted| wanted == dtype) => {
            compute(a.py, [x.numel()], || x.clone_elements()).map(Value::Tensor).map_err(raise)
        }
        _ => cast(a, wanted.unwrap_or(dtype)),
    }
}

fn is_of<'py>(a: &Arguments<'_, 'py>, category: Category) -> PyResult<Bound<'py, PyAny>> {
    (a.value("input")?.dtype()?.category() == category).into_bound_py_any(a.py)
}

/// The value on a device.
fn moved(a: &Arguments<'_, '_>, x: Value, device: Device) -> PyResult<Value> {
    match x {
        Value::Tensor(x) => compute(a.py, [x.numel()], || x.to(device)).map(Value::Tensor).map_err(raise),
        Value::Traced(_) => {
            Err(TraceError::new_err("a traced function cannot move an array between devices"))
        }
    }
}

fn cast(a: &Arguments<'_, '_>, dtype: DType) -> PyResult<Value> {
    Ok(match a.value("input")? {
        Value::Tensor(x) => Value::Tensor(compute(a.py, [x.numel()], || x.to_dtype(dtype)).map_err(raise)?),
        Value::Traced(x) => Value::Traced(x.to_dtype(dtype)),
    })
}

/// The tensor that a method writes to.
pub(super) fn target<'a, 'py>(a: &Arguments<'a, 'py>) -> PyResult<&'a Bound<'py, PyTensor>> {
    a.required("input")?.cast::<PyTensor>().map_err(|_| {
        TraceError::new_err("a traced function cannot write to an array: return the result instead")
    })
}

/// The operand or dtype as type promotion needs it.
fn typed(object: &Bound<'_, PyAny>) -> PyResult<Typed> {
    if let Ok(Some(number)) = number::extract(object) {
        return Ok(Typed { dtype: number.dtype(), bucket: zerostride::Bucket::Number });
    }
    let tensor = match Given::new(object)? {
        Some(Given::Tensor(tensor)) => (tensor.dtype(), tensor.ndim()),
        Some(Given::Foreign(tensor)) => (tensor.dtype(), tensor.ndim()),
        Some(Given::Traced(expr)) => (expr.dtype().map_err(raise)?, expr.shape().map_err(raise)?.len()),
        _ => (dtype::extract(object)?, 1),
    };
    let bucket = if tensor.1 == 0 { zerostride::Bucket::ZeroDim } else { zerostride::Bucket::Dimensioned };
    Ok(Typed { dtype: tensor.0, bucket })
}
