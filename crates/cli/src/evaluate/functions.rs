//! Owns the functions that are no rows of the op table: tensors from nothing, views, conversions, matrix products,
//! tensors put together. Each is one row here: a name, its parameters, what it makes of them.

use zerostride::{DType, Expr, Scalar, Tensor};

use super::arguments::{Bound, Given};
use super::value::{Part, Value};
use super::{Budget, Fault};

/// One function.
pub(super) struct Function {
    name: &'static str,
    /// As in `input, dim=None, *size`.
    parameters: &'static str,
    run: fn(&mut Bound<'_>) -> Result<Value, Fault>,
}

/// The function of that name.
pub(super) fn find(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|function| function.name == name)
}

/// The names of all functions.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|function| function.name)
}

impl Function {
    /// Calls the function.
    pub(super) fn call(&self, given: Given, budget: &Budget) -> Result<Value, Fault> {
        (self.run)(&mut Bound::new(self.name, self.parameters, given, budget)?)
    }
}

macro_rules! functions {
    ($($name:literal $parameters:literal |$a:ident| $run:expr;)*) => {
        static FUNCTIONS: &[Function] = &[$(Function {
            name: $name,
            parameters: $parameters,
            run: |$a| Ok(Value::from($run)),
        }),*];
    };
}

functions! {
    // Tensors from nothing.
    "tensor" "data, dtype=None" |a| tensor(a)?;
    "zeros" "*size, dtype=None" |a| full(a, Scalar::Int(0))?;
    "ones" "*size, dtype=None" |a| full(a, Scalar::Int(1))?;
    "full" "size, fill_value, dtype=None" |a| full_of(a)?;
    "arange" "start, end=None, step=1" |a| arange(a)?;
    "linspace" "start, end, steps" |a| linspace(a)?;
    "eye" "n, dtype=None" |a| eye(a)?;
    "rand" "*size, seed=0" |a| rand(a)?;

    // Views.
    "expand" "input, *size" |a| a.tensor("input")?.expand(&a.sizes()?);
    "expand_as" "input, other" |a| expand_as(a)?;
    "broadcast_to" "input, *size" |a| a.tensor("input")?.broadcast_to(&a.counts()?);
    "reshape" "input, *shape" |a| a.tensor("input")?.reshape(&a.sizes()?);
    "view" "input, *shape" |a| a.tensor("input")?.reshape(&a.sizes()?);
    "unsqueeze" "input, dim" |a| a.tensor("input")?.unsqueeze(a.integer("dim")?);
    "squeeze" "input, dim=None" |a| squeeze(a)?;
    "permute" "input, *dims" |a| a.tensor("input")?.permute(&a.sizes()?);
    "transpose" "input, dim0, dim1" |a| a.tensor("input")?.transpose(a.integer("dim0")?, a.integer("dim1")?);
    "t" "input" |a| a.tensor("input")?.t();
    "movedim" "input, source, destination" |a| {
        a.tensor("input")?.movedim(&a.integers("source")?, &a.integers("destination")?)
    };
    "flatten" "input, start_dim=0, end_dim=-1" |a| {
        a.tensor("input")?.flatten(a.integer_or("start_dim", 0)?, a.integer_or("end_dim", -1)?)
    };
    "narrow" "input, dim, start, length" |a| {
        a.tensor("input")?.narrow(a.integer("dim")?, a.integer("start")?, a.integer("length")?)
    };
    "select" "input, dim, index" |a| a.tensor("input")?.select(a.integer("dim")?, a.integer("index")?);
    "flip" "input, *dims" |a| a.tensor("input")?.flip(&a.sizes()?);
    "diagonal" "input, offset=0, dim1=0, dim2=1" |a| {
        a.tensor("input")?.diagonal(a.integer_or("offset", 0)?, a.integer_or("dim1", 0)?, a.integer_or("dim2", 1)?)
    };
    "unfold" "input, dimension, size, step" |a| {
        a.tensor("input")?.unfold(a.integer("dimension")?, a.integer("size")?, a.integer("step")?)
    };

    // Conversions and copies.
    "to" "input, dtype" |a| to_dtype(a)?;
    "astype" "input, dtype" |a| to_dtype(a)?;
    "contiguous" "input" |a| a.tensor("input")?;
    "clone" "input" |a| clone(a)?;

    // Several elements into one, and one into several.
    "matmul" "input, other" |a| a.tensor("input")?.matmul(a.tensor("other")?);
    "sum_to_size" "input, *size" |a| a.tensor("input")?.sum_to_size(&a.counts()?);
    "cat" "tensors, dim=0" |a| join(a, zerostride::cat)?;
    "stack" "tensors, dim=0" |a| join(a, zerostride::stack)?;
    "repeat" "input, *repeats" |a| repeat(a, Tensor::repeat)?;
    "tile" "input, *dims" |a| repeat(a, Tensor::tile)?;
}

/// An argument, computed: some functions need the elements at once.
fn evaluated(a: &Bound<'_>, part: Part) -> Result<Tensor, Fault> {
    let span = part.span;
    let expr = part.tensor()?;
    let fault = |error| Fault::engine(error, span);
    let (shape, dtype) = (expr.shape().map_err(fault)?, expr.dtype().map_err(fault)?);
    a.make(shape, dtype, || expr.eval())
}

fn clone(a: &mut Bound<'_>) -> Result<Tensor, Fault> {
    let input = a.required("input")?;
    let tensor = evaluated(a, input)?;
    a.make(tensor.shape(), tensor.dtype(), || tensor.clone_elements())
}

fn tensor(a: &mut Bound<'_>) -> Result<Expr, Fault> {
    let data = a.required("data")?;
    match a.dtype("dtype")? {
        Some(dtype) => data.converted(dtype),
        None => data.tensor(),
    }
}

fn full(a: &mut Bound<'_>, number: Scalar) -> Result<Tensor, Fault> {
    let dtype = a.dtype("dtype")?.unwrap_or(DType::DEFAULT_FLOAT);
    let shape = a.counts()?;
    a.make(&shape, dtype, || Tensor::full(&shape, number, dtype))
}

fn full_of(a: &mut Bound<'_>) -> Result<Tensor, Fault> {
    let size = a.required("size")?;
    let shape = match size.value {
        Value::Sequence(parts) => parts.iter().map(Part::count).collect::<Result<Vec<_>, _>>()?,
        _ => vec![size.count()?],
    };
    let number = number(a, "fill_value")?;
    let dtype = a.dtype("dtype")?.unwrap_or(number.dtype());
    a.make(&shape, dtype, || Tensor::full(&shape, number, dtype))
}

fn number(a: &mut Bound<'_>, name: &str) -> Result<Scalar, Fault> {
    let part = a.required(name)?;
    match part.value {
        Value::Number(number) => Ok(number),
        _ => Err(part.unwanted("a number")),
    }
}

/// `arange(end)`, `arange(start, end)`, `arange(start, end, step)`.
fn arange(a: &mut Bound<'_>) -> Result<Tensor, Fault> {
    let first = number(a, "start")?;
    let step = match a.optional("step") {
        Some(Part { value: Value::Number(step), .. }) => step,
        Some(part) => return Err(part.unwanted("a number")),
        None => Scalar::Int(1),
    };
    let (start, end) = match a.optional("end") {
        Some(Part { value: Value::Number(end), .. }) => (first, end),
        Some(part) => return Err(part.unwanted("a number")),
        None => (Scalar::Int(0), first),
    };
    let len = ((end.to_f64() - start.to_f64()) / step.to_f64()).ceil() as usize;
    a.make(&[len], DType::I64, || Tensor::arange(start, end, step))
}

fn linspace(a: &mut Bound<'_>) -> Result<Tensor, Fault> {
    let (start, end) = (number(a, "start")?.to_f64(), number(a, "end")?.to_f64());
    let steps = a.required("steps")?.count()?;
    a.make(&[steps], DType::F32, || Tensor::linspace(start, end, steps))
}

fn eye(a: &mut Bound<'_>) -> Result<Expr, Fault> {
    let n = a.required("n")?.count()?;
    let dtype = a.dtype("dtype")?.unwrap_or(DType::DEFAULT_FLOAT);
    Ok(Expr::from(a.make(&[n, n], DType::F32, || Tensor::eye(n))?).to_dtype(dtype))
}

fn rand(a: &mut Bound<'_>) -> Result<Tensor, Fault> {
    let seed = a.integer_or("seed", 0)? as u64;
    let shape = a.counts()?;
    a.make(&shape, DType::F32, || Tensor::rand(&shape, seed))
}

fn expand_as(a: &mut Bound<'_>) -> Result<Expr, Fault> {
    let (tensor, other) = (a.tensor("input")?, a.tensor("other")?);
    let shape = other.shape().map_err(|error| a.fault(error))?;
    Ok(tensor.broadcast_to(shape))
}

fn squeeze(a: &mut Bound<'_>) -> Result<Expr, Fault> {
    let tensor = a.tensor("input")?;
    match a.optional("dim") {
        Some(dims) => Ok(tensor.squeeze_dims(&dims.integers()?)),
        None => Ok(tensor.squeeze()),
    }
}

fn to_dtype(a: &mut Bound<'_>) -> Result<Expr, Fault> {
    let input = a.required("input")?;
    let dtype = a.required_dtype("dtype")?;
    input.converted(dtype)
}

fn join(
    a: &mut Bound<'_>,
    join: fn(&[&Tensor], isize) -> zerostride::Result<Tensor>,
) -> Result<Tensor, Fault> {
    let list = a.required("tensors")?;
    let Value::Sequence(parts) = list.value else { return Err(list.unwanted("a list of tensors")) };
    let dim = a.integer_or("dim", 0)?;
    let tensors = parts.into_iter().map(|part| evaluated(a, part)).collect::<Result<Vec<_>, _>>()?;
    let numel = tensors.iter().map(Tensor::numel).fold(0, usize::saturating_add);
    let widest = tensors
        .iter()
        .map(Tensor::dtype)
        .max_by_key(|dtype| dtype.item_size())
        .unwrap_or(DType::DEFAULT_FLOAT);
    a.make(&[numel], widest, || join(&tensors.iter().collect::<Vec<_>>(), dim))
}

fn repeat(
    a: &mut Bound<'_>,
    repeat: fn(&Tensor, &[usize]) -> zerostride::Result<Tensor>,
) -> Result<Tensor, Fault> {
    let input = a.required("input")?;
    let tensor = evaluated(a, input)?;
    let times = a.counts()?;
    let copies = times.iter().fold(1, |copies: usize, &times| copies.saturating_mul(times));
    a.make(&[tensor.numel(), copies], tensor.dtype(), || repeat(&tensor, &times))
}
