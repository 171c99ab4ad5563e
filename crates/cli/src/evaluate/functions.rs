//! Owns the functions: those of the engine's table, and those that only the shell has, which create tensors
//! or take words. Each of these is one row: its name, its parameters, its body. It does not know operations
//! (`operation.rs`).

use zerostride::{Category, DType, Expr, Scalar, Tensor, call_function};
use zerostride_ops::{self as ops, Signature};

use super::arguments::{Bound, Given};
use super::value::{Part, Value};
use super::{Budget, Fault};

/// One function.
#[derive(Clone, Copy)]
pub(super) enum Function {
    /// A row of the engine's table, by one of its names.
    Row(ops::Function, &'static str),
    Own(&'static Own),
}

/// A function that only the shell has.
pub(super) struct Own {
    name: &'static str,
    /// Written as `input, dim=None, *size`.
    parameters: &'static str,
    run: fn(&mut Bound<'_>) -> Result<Value, Fault>,
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
            Function::Own(Own { name, parameters, run }) => {
                run(&mut Bound::new(name, (parameters, &Signature::read(parameters)), given, budget)?)
            }
        }
    }
}

macro_rules! functions {
    ($($name:literal $parameters:literal |$a:ident| $run:expr;)*) => {
        static FUNCTIONS: &[Own] = &[$(Own {
            name: $name,
            parameters: $parameters,
            run: |$a| Ok(Value::from($run)),
        }),*];
    };
}

functions! {
    // Functions that create tensors.
    "tensor" "data, dtype=None" |a| tensor(a)?;
    "zeros" "*size, dtype=None" |a| full(a, Scalar::Int(0))?;
    "ones" "*size, dtype=None" |a| full(a, Scalar::Int(1))?;
    "full" "size, fill_value, dtype=None" |a| full_of(a)?;
    "arange" "start, end=None, step=1" |a| arange(a)?;
    "linspace" "start, end, steps" |a| linspace(a)?;
    "eye" "n, dtype=None" |a| eye(a)?;
    "rand" "*size, seed=0" |a| rand(a)?;

    // Conversions and copies.
    "to" "input, dtype" |a| to_dtype(a)?;
    "astype" "input, dtype" |a| to_dtype(a)?;
    "contiguous" "input" |a| a.tensor("input")?;

    // Products and sums.
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
        // A tensor of no elements needs no memory, and the call may be a mistake.
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

fn to_dtype(a: &mut Bound<'_>) -> Result<Expr, Fault> {
    let input = a.required("input")?;
    let dtype = a.required_dtype("dtype")?;
    input.converted(dtype)
}
