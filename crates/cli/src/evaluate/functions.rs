//! Owns the functions that are no rows of the op table: tensors from nothing, views, conversions, matrix products. Each
//! is one row here, as are those that move elements (`arranging.rs`): a name, its parameters, what it makes of them.

use zerostride::{Category, DType, Expr, Scalar, Tensor};

use super::arguments::{Bound, Given};
use super::dry::{self, Known};
use super::value::{Part, Value};
use super::{Budget, Fault, arranging};

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
        let mut bound = Bound::new(self.name, self.parameters, given, budget)?;
        if budget.is_dry() {
            let before = budget.clone();
            match dry::result(self.name, bound.clone()) {
                Known::All(tensors) => return bound.stand_ins(tensors),
                Known::Nothing => return Err(bound.unknown()),
                Known::NotHere => budget.reset(before),
            }
        }
        (self.run)(&mut bound)
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
    "clone" "input" |a| arranging::clone(a)?;

    // Several elements into one.
    "matmul" "input, other" |a| a.tensor("input")?.matmul(a.tensor("other")?);
    "einsum" "equation, *operands" |a| {
        let equation = a.word("equation")?;
        zerostride::einsum(&equation, a.tensors()?)
    };
    "sum_to_size" "input, *size" |a| a.tensor("input")?.sum_to_size(&a.counts()?);

    // Tensors put together.
    "cat" "tensors, dim=0" |a| arranging::join(a, zerostride::cat)?;
    "stack" "tensors, dim=0" |a| arranging::join(a, zerostride::stack)?;
    "hstack" "tensors" |a| arranging::join(a, |tensors, _| zerostride::hstack(tensors))?;
    "vstack" "tensors" |a| arranging::join(a, |tensors, _| zerostride::vstack(tensors))?;
    "dstack" "tensors" |a| arranging::join(a, |tensors, _| zerostride::dstack(tensors))?;

    // Elements repeated, moved, ordered, picked, counted.
    "repeat" "input, *repeats" |a| arranging::repeat(a, Tensor::repeat)?;
    "tile" "input, *dims" |a| arranging::repeat(a, Tensor::tile)?;
    "repeat_interleave" "input, repeats, dim=None" |a| arranging::repeat_interleave(a)?;
    "roll" "input, shifts, dims=None" |a| arranging::roll(a)?;
    "tril" "input, diagonal=0" |a| arranging::triangle(a, Tensor::tril)?;
    "triu" "input, diagonal=0" |a| arranging::triangle(a, Tensor::triu)?;
    "sort" "input, dim=-1, descending=False" |a| arranging::sort(a)?;
    "argsort" "input, dim=-1, descending=False" |a| arranging::argsort(a)?;
    "topk" "input, k, dim=-1, largest=True" |a| arranging::topk(a)?;
    "unique" "input" |a| arranging::unique(a)?;
    "gather" "input, dim, index" |a| arranging::gather(a)?;
    "take" "input, index" |a| arranging::take(a)?;
    "take_along_dim" "input, indices, dim=None" |a| arranging::take_along_dim(a)?;
    "index_select" "input, dim, index" |a| arranging::index_select(a)?;
    "masked_select" "input, mask" |a| arranging::masked_select(a)?;
    "nonzero" "input" |a| arranging::nonzero(a)?;
    "count_nonzero" "input, dim=None" |a| arranging::count_nonzero(a)?;
    "searchsorted" "sorted_sequence, input, right=False" |a| arranging::searchsorted(a)?;
    "cumsum" "input, dim" |a| arranging::accumulate(a, Tensor::cumsum)?;
    "cumprod" "input, dim" |a| arranging::accumulate(a, Tensor::cumprod)?;
    "diff" "input, n=1, dim=-1" |a| arranging::diff(a)?;
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
    a.create(&shape, dtype, || Tensor::full(&shape, number, dtype))
}

fn full_of(a: &mut Bound<'_>) -> Result<Tensor, Fault> {
    let size = a.required("size")?;
    let shape = match size.value {
        Value::Sequence(parts) => parts.iter().map(Part::count).collect::<Result<Vec<_>, _>>()?,
        _ => vec![size.count()?],
    };
    let number = number(a, "fill_value")?;
    let dtype = a.dtype("dtype")?.unwrap_or(number.dtype());
    a.create(&shape, dtype, || Tensor::full(&shape, number, dtype))
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
    let make = || Tensor::arange(start, end, step);
    if len == 0 || step.to_f64() == 0.0 {
        // Nothing to pay for, and maybe a mistake.
        return make().map_err(|error| a.fault(error));
    }
    let category = [start, end, step].into_iter().map(Scalar::category).max();
    let dtype = if category > Some(Category::Int) { DType::DEFAULT_FLOAT } else { DType::I64 };
    a.create(&[len], dtype, make)
}

fn linspace(a: &mut Bound<'_>) -> Result<Tensor, Fault> {
    let (start, end) = (number(a, "start")?.to_f64(), number(a, "end")?.to_f64());
    let steps = a.required("steps")?.count()?;
    a.create(&[steps], DType::F32, || Tensor::linspace(start, end, steps))
}

fn eye(a: &mut Bound<'_>) -> Result<Expr, Fault> {
    let n = a.required("n")?.count()?;
    let dtype = a.dtype("dtype")?.unwrap_or(DType::DEFAULT_FLOAT);
    Ok(Expr::from(a.create(&[n, n], DType::F32, || Tensor::eye(n))?).to_dtype(dtype))
}

fn rand(a: &mut Bound<'_>) -> Result<Tensor, Fault> {
    let seed = a.integer_or("seed", 0)? as u64;
    let shape = a.counts()?;
    a.create(&shape, DType::F32, || Tensor::rand(&shape, seed))
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
