//! Owns the functions: those of the engine's table, and those of the shell, which create tensors, take words
//! or have several forms or results. Each of these is one row: its name, its parameters, its body. It does
//! not know operations (`operation.rs`).

use zerostride::{Category, DType, Expr, Op, Scalar, Tensor, call_function};
use zerostride_ops::{self as ops, Class, Signature};

use super::arguments::{Bound, Given};
use super::value::{Part, Value};
use super::{Budget, Fault, statistics};
use crate::words::say;

/// One function.
#[derive(Clone, Copy)]
pub(super) enum Function {
    /// A row of the engine's table, by one of its names.
    Row(ops::Function, &'static str),
    Own(&'static Own),
}

/// A function of the shell.
pub(super) struct Own {
    name: &'static str,
    /// Written as `input, dim=None, *size`.
    parameters: &'static str,
    section: Section,
    run: fn(&mut Bound<'_>) -> Result<Value, Fault>,
}

/// What a function of the shell does, for readers of the list.
#[derive(Clone, Copy, PartialEq)]
enum Section {
    Made,
    Converted,
    Statistics,
    Parts,
    Written,
    Products,
}

/// The function of that name.
pub(super) fn find(name: &str) -> Option<Function> {
    let row = ops::Function::from_name(name).and_then(|function| {
        let own = function.info().names.iter().find(|own| **own == name)?;
        Some(Function::Row(function, own))
    });
    row.or_else(|| FUNCTIONS.iter().find(|function| function.name == name).map(Function::Own))
}

/// The names of all functions.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let rows = ops::Function::ALL.iter().flat_map(|function| function.info().names).copied();
    rows.chain(FUNCTIONS.iter().map(|function| function.name))
}

/// Whether a function is a product of vectors or matrices.
pub(crate) fn is_product(name: &str) -> bool {
    match find(name) {
        Some(Function::Row(function, _)) => function.info().section == ops::Section::Product,
        Some(Function::Own(own)) => own.section == Section::Products,
        None => false,
    }
}

/// Every operation and function, as it is called, in sections with titles. In-place methods are left out.
pub(crate) fn listing() -> Vec<(String, Vec<String>)> {
    let call = |names: &[&str], parameters: &str| format!("{}({parameters})", names.join(", "));
    let of_class = |class| {
        let ops = Op::ALL.iter().filter(move |op| op.info().class == class);
        ops.map(|op| call(&[&[op.name()], op.info().aliases].concat(), op.info().arguments)).collect()
    };
    let of_table = |section| {
        let rows = ops::Function::ALL.iter().map(|function| function.info());
        let rows = rows.filter(move |info| info.section == section);
        rows.map(|info| call(info.names, info.arguments)).collect()
    };
    let of_shell = |section| {
        let rows = FUNCTIONS.iter().filter(move |own| own.section == section);
        rows.map(|own| call(&[own.name], own.parameters)).collect()
    };
    vec![
        (say!("functions-of-one"), of_class(Class::Unary)),
        (say!("functions-of-two"), of_class(Class::Binary)),
        (say!("functions-of-more"), of_class(Class::Nary)),
        (say!("functions-reduce"), of_class(Class::Reduce)),
        (say!("functions-formulas"), of_class(Class::Formula)),
        (say!("functions-statistics"), of_shell(Section::Statistics)),
        (say!("functions-view"), of_table(ops::Section::View)),
        (say!("functions-multiply"), [of_table(ops::Section::Product), of_shell(Section::Products)].concat()),
        (say!("functions-join"), of_table(ops::Section::Join)),
        (say!("functions-move"), of_table(ops::Section::Move)),
        (say!("functions-parts"), of_shell(Section::Parts)),
        (say!("functions-write"), of_shell(Section::Written)),
        (say!("functions-make"), of_shell(Section::Made)),
        (say!("functions-convert"), of_shell(Section::Converted)),
    ]
}

/// The parameters of a function of the shell.
#[cfg(test)]
pub(super) fn parameters(name: &str) -> Option<&'static str> {
    FUNCTIONS.iter().find(|function| function.name == name).map(|function| function.parameters)
}

impl Function {
    /// Calls the function.
    pub(super) fn call(self, given: Given, budget: &Budget) -> Result<Value, Fault> {
        match self {
            Function::Row(function, name) => {
                let signature = function.signature();
                let mut bound = Bound::new(name, (function.info().arguments, signature), given, budget)?;
                let arguments = signature.arguments.iter().map(|argument| bound.argument(argument));
                let arguments = arguments.collect::<Result<_, _>>()?;
                bound.outcome(call_function(function, arguments))
            }
            Function::Own(Own { name, parameters, run, .. }) => {
                run(&mut Bound::new(name, (parameters, &Signature::read(parameters)), given, budget)?)
            }
        }
    }
}

macro_rules! functions {
    ($($section:ident $($name:literal $parameters:literal |$a:ident| $run:expr;)*)*) => {
        static FUNCTIONS: &[Own] = &[$($(Own {
            name: $name,
            parameters: $parameters,
            section: Section::$section,
            run: |$a| Ok(Value::from($run)),
        }),*),*];
    };
}

functions! {
    Made
    "tensor" "data, dtype=None" |a| tensor(a)?;
    "zeros" "*size, dtype=None" |a| full(a, Scalar::Int(0))?;
    "ones" "*size, dtype=None" |a| full(a, Scalar::Int(1))?;
    "full" "size, fill_value, dtype=None" |a| full_of(a)?;
    "arange" "start, end=None, step=1, dtype=None" |a| arange(a)?;
    "linspace" "start, end, steps, dtype=None" |a| linspace(a)?;
    "eye" "n, dtype=None" |a| eye(a)?;
    "rand" "*size, seed=None" |a| random(a, Tensor::rand)?;
    "randn" "*size, seed=None" |a| random(a, Tensor::randn)?;
    "rand_like" "input, *, seed=None, dtype=None" |a| random_like(a, Tensor::rand_as)?;
    "randn_like" "input, *, seed=None, dtype=None" |a| random_like(a, Tensor::randn_as)?;
    "randint" "low, high=None, size=None, *, seed=None" |a| randint(a)?;
    "randperm" "n, *, seed=None" |a| {
        let (n, seed) = (a.required("n")?.count()?, seed(a)?);
        a.create(&[n], DType::I64, || Tensor::rand_as(&[n], DType::F64, seed)?.argsort(0, false))?
    };
    "empty" "*size, dtype=None" |a| full(a, Scalar::Int(0))?;
    "zeros_like" "input, dtype=None" |a| like(a, Some(Scalar::Int(0)))?;
    "ones_like" "input, dtype=None" |a| like(a, Some(Scalar::Int(1)))?;
    "empty_like" "input, dtype=None" |a| like(a, Some(Scalar::Int(0)))?;
    "full_like" "input, fill_value, dtype=None" |a| like(a, None)?;

    Converted
    "to" "input, dtype" |a| to_dtype(a)?;
    "astype" "input, dtype" |a| to_dtype(a)?;
    "float" "input" |a| a.required("input")?.converted(DType::F32)?;
    "double" "input" |a| a.required("input")?.converted(DType::F64)?;
    "half" "input" |a| a.required("input")?.converted(DType::F16)?;
    "bfloat16" "input" |a| a.required("input")?.converted(DType::BF16)?;
    "int" "input" |a| a.required("input")?.converted(DType::I32)?;
    "long" "input" |a| a.required("input")?.converted(DType::I64)?;
    "bool" "input" |a| a.required("input")?.converted(DType::Bool)?;
    "contiguous" "input" |a| a.tensor("input")?;
    "ravel" "input" |a| a.tensor("input")?.reshape(&[-1]);

    Statistics
    "max" "input, dim=None, keepdim=False, *, other=None" |a| {
        statistics::extreme(a, |x, y| x.maximum(y), |x, dims| x.amax(dims), |x, dims| x.argmax(dims))?
    };
    "min" "input, dim=None, keepdim=False, *, other=None" |a| {
        statistics::extreme(a, |x, y| x.minimum(y), |x, dims| x.amin(dims), |x, dims| x.argmin(dims))?
    };
    "aminmax" "input, *, dim=None, keepdim=False" |a| statistics::aminmax(a)?;
    "median" "input, dim=None, keepdim=False" |a| statistics::middle(a, Tensor::median, Tensor::median_along)?;
    "nanmedian" "input, dim=None, keepdim=False" |a| statistics::middle(a, Tensor::nanmedian, Tensor::nanmedian_along)?;
    "kthvalue" "input, k, dim=-1, keepdim=False" |a| statistics::kthvalue(a)?;
    "quantile" "input, q, dim=None, keepdim=False, *, interpolation='linear'" |a| statistics::quantile(a, Tensor::quantile)?;
    "nanquantile" "input, q, dim=None, keepdim=False, *, interpolation='linear'" |a| {
        statistics::quantile(a, Tensor::nanquantile)?
    };
    "var_mean" "input, dim=None, unbiased=None, keepdim=False, *, correction=1" |a| statistics::with_mean(a, Op::Var)?;
    "std_mean" "input, dim=None, unbiased=None, keepdim=False, *, correction=1" |a| statistics::with_mean(a, Op::Std)?;
    "equal" "input, other" |a| statistics::equal(a)?;
    "allclose" "input, other, rtol=1e-05, atol=1e-08, equal_nan=False" |a| statistics::allclose(a)?;
    "clip" "input, min=None, max=None" |a| statistics::clip(a)?;
    "frexp" "input" |a| {
        let input = a.tensor("input")?;
        a.several([input.frexp_mantissa(), input.frexp_exponent()])
    };
    "isin" "elements, test_elements, *, invert=False" |a| {
        let (x, among) = (a.tensor("elements")?, a.tensor("test_elements")?);
        let found = x.unsqueeze(-1).eq(among.reshape(&[-1])).any(-1);
        if a.flag("invert")? { found.logical_not() } else { found }
    };
    "bucketize" "input, boundaries, *, right=False" |a| statistics::bucketize(a)?;

    Parts
    "split" "tensor, split_size_or_sections, dim=0" |a| statistics::split(a)?;
    "chunk" "input, chunks, dim=0" |a| statistics::chunk(a)?;
    "unbind" "input, dim=0" |a| statistics::unbind(a)?;
    "meshgrid" "*tensors, indexing='ij'" |a| statistics::meshgrid(a)?;
    "broadcast_tensors" "*tensors" |a| statistics::broadcast_tensors(a)?;

    Written
    "scatter" "input, dim, index, src=None, *, value=None, reduce=None" |a| statistics::scatter(a, Tensor::scatter_)?;
    "scatter_add" "input, dim, index, src" |a| statistics::scatter(a, Tensor::scatter_add_)?;
    "index_add" "input, dim, index, source, *, alpha=1" |a| statistics::index_add(a)?;
    "index_put" "input, indices, values, accumulate=False" |a| statistics::index_put(a)?;
    "masked_scatter" "input, mask, source" |a| statistics::masked_scatter(a)?;

    Products
    "mm" "input, mat2" |a| statistics::product(a, "mat2", [2, 2])?;
    "bmm" "input, mat2" |a| statistics::product(a, "mat2", [3, 3])?;
    "mv" "input, vec" |a| statistics::product(a, "vec", [2, 1])?;
    "dot" "input, tensor" |a| statistics::product(a, "tensor", [1, 1])?;
    "einsum" "equation, *operands" |a| {
        let equation = a.word("equation")?;
        zerostride::einsum(&equation, a.tensors()?)
    };
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
    let shape = size.counts()?;
    let named = a.dtype("dtype")?;
    let number = filling(a, named.unwrap_or(DType::I64))?;
    let dtype = named.unwrap_or(number.dtype());
    a.create(&shape, dtype, || Tensor::full(&shape, number, dtype))
}

/// The shape and the dtype of `input`, or the one that is given.
fn model(a: &mut Bound<'_>) -> Result<(Vec<usize>, DType), Fault> {
    let input = a.tensor("input")?;
    let engine = |error| a.fault(error);
    let (shape, own) = (input.shape().map_err(engine)?.to_vec(), input.dtype().map_err(engine)?);
    Ok((shape, a.dtype("dtype")?.unwrap_or(own)))
}

/// A tensor of one number and of another tensor's shape and dtype; without a number, of `fill_value`.
fn like(a: &mut Bound<'_>, number: Option<Scalar>) -> Result<Tensor, Fault> {
    let (shape, dtype) = model(a)?;
    let number = number.map_or_else(|| filling(a, dtype), Ok)?;
    a.create(&shape, dtype, || Tensor::full(&shape, number, dtype))
}

/// The number that fills a tensor of this dtype. One that only u64 holds is the i64 of the same bits, which
/// is stored as that u64.
fn filling(a: &mut Bound<'_>, dtype: DType) -> Result<Scalar, Fault> {
    let part = a.required("fill_value")?;
    part.check_unsigned(dtype)?;
    match part.value {
        Value::Number(number) => Ok(number),
        Value::Unsigned(number) if dtype == DType::U64 => Ok(Scalar::Int(number as i64)),
        Value::Unsigned(number) => Ok(Scalar::Float(number as f64)),
        _ => Err(part.unwanted(&say!("a-number"))),
    }
}

fn number(a: &mut Bound<'_>, name: &str) -> Result<Scalar, Fault> {
    let part = a.required(name)?;
    match part.value {
        Value::Number(number) => Ok(number),
        _ => Err(part.unwanted(&say!("a-number"))),
    }
}

/// `arange(end)`, `arange(start, end)`, `arange(start, end, step)`.
fn arange(a: &mut Bound<'_>) -> Result<Tensor, Fault> {
    let first = number(a, "start")?;
    let step = match a.optional("step") {
        Some(Part { value: Value::Number(step), .. }) => step,
        Some(part) => return Err(part.unwanted(&say!("a-number"))),
        None => Scalar::Int(1),
    };
    let (start, end) = match a.optional("end") {
        Some(Part { value: Value::Number(end), .. }) => (first, end),
        Some(part) => return Err(part.unwanted(&say!("a-number"))),
        None => (Scalar::Int(0), first),
    };
    let len = ((end.to_f64() - start.to_f64()) / step.to_f64()).ceil() as usize;
    let category = [start, end, step].into_iter().map(Scalar::category).max();
    let natural = if category > Some(Category::Int) { DType::DEFAULT_FLOAT } else { DType::I64 };
    let dtype = a.dtype("dtype")?.unwrap_or(natural);
    let make = || Tensor::arange_as(start, end, step, dtype);
    if len == 0 || step.to_f64() == 0.0 {
        // A tensor of no elements needs no memory, and the call may be a mistake.
        return make().map_err(|error| a.fault(error));
    }
    a.create(&[len], dtype, make)
}

fn linspace(a: &mut Bound<'_>) -> Result<Tensor, Fault> {
    let (start, end) = (number(a, "start")?, number(a, "end")?);
    let steps = a.required("steps")?.count()?;
    let dtype = a.dtype("dtype")?.unwrap_or(DType::DEFAULT_FLOAT);
    a.create(&[steps], dtype, || Tensor::linspace_as(start, end, steps, dtype))
}

fn eye(a: &mut Bound<'_>) -> Result<Expr, Fault> {
    let n = a.required("n")?.count()?;
    let dtype = a.dtype("dtype")?.unwrap_or(DType::DEFAULT_FLOAT);
    Ok(Expr::from(a.create(&[n, n], DType::F32, || Tensor::eye(n))?).to_dtype(dtype))
}

/// The seed that is given, or the next one that no call has had.
fn seed(a: &mut Bound<'_>) -> Result<u64, Fault> {
    match a.optional("seed") {
        Some(seed) => Ok(seed.integer()? as u64),
        None => Ok(a.next_seed()),
    }
}

fn random(
    a: &mut Bound<'_>,
    numbers: fn(&[usize], u64) -> zerostride::Result<Tensor>,
) -> Result<Tensor, Fault> {
    let (seed, shape) = (seed(a)?, a.counts()?);
    a.create(&shape, DType::F32, || numbers(&shape, seed))
}

fn random_like(
    a: &mut Bound<'_>,
    numbers: fn(&[usize], DType, u64) -> zerostride::Result<Tensor>,
) -> Result<Tensor, Fault> {
    let (seed, (shape, dtype)) = (seed(a)?, model(a)?);
    a.create(&shape, dtype, || numbers(&shape, dtype, seed))
}

/// `randint(high, size)`, `randint(low, high, size)`.
fn randint(a: &mut Bound<'_>) -> Result<Tensor, Fault> {
    let (seed, first) = (seed(a)?, a.required("low")?.integer()?);
    let (low, high, size) = match (a.optional("high"), a.optional("size")) {
        (Some(high), Some(size)) => (first, high.integer()?, size),
        (None, Some(size)) | (Some(size), None) => (0, first, size),
        (None, None) => (0, first, a.required("size")?),
    };
    let shape = size.counts()?;
    a.create(&shape, DType::I64, || Tensor::randint(low as i64, high as i64, &shape, seed))
}

fn to_dtype(a: &mut Bound<'_>) -> Result<Expr, Fault> {
    let input = a.required("input")?;
    let dtype = a.required_dtype("dtype")?;
    input.converted(dtype)
}
