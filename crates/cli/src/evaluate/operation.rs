//! Owns calls of the operations in the table: operators, calls by name, in-place methods. It does not know
//! whether the arguments fit the row, which the engine decides.

use std::slice;

use zerostride::{Argument, Arguments, DType, Expr, Op, Scalar, Tensor};
use zerostride_ops::{Category, Class, Complex64, Element, Kind, Rule, Signature};
use zerostride_shape::check_in_place;

use super::arguments::Given;
use super::value::{Part, Value};
use super::{Budget, Fault, number};
use crate::expr::{Problem, Span};
use crate::words::say;

/// `op(operands...)` without further arguments.
pub(super) fn operator(op: Op, operands: Vec<Part>, span: Span) -> Result<Value, Fault> {
    call(op, Given { positional: operands, named: Vec::new(), span, method: false })
}

/// `left @ right`.
pub(super) fn matmul(left: Part, right: Part) -> Result<Expr, Fault> {
    Ok(left.tensor()?.matmul(right.tensor()?))
}

/// A call as written.
pub(super) fn call(op: Op, mut given: Given) -> Result<Value, Fault> {
    // `x.where(condition, other)`: the receiver is the second argument of the function.
    if op == Op::Where && given.method && given.positional.len() > 1 {
        given.positional.swap(0, 1);
    }
    let signature = op.signature();
    let bare = given.operands(signature).all(|part| matches!(part.value, Value::Number(_)));
    if bare && op.info().class.is_elementwise() {
        let span = given.span;
        let done = match as_python(op, &given) {
            Some(done) => done.map_err(|message| Problem::new(message, span).into()),
            None => number(op, signature, given),
        };
        return done.map(Value::Number);
    }
    Ok(run(op, signature, given, Enter::AsWritten)?.result.into())
}

/// The operation whose in-place method has this name.
pub(super) fn in_place(method: &str) -> Option<Op> {
    Op::ALL.iter().copied().find(|op| op.info().in_place == Some(method))
}

/// `x.add_(y)`; its value is the tensor that was written to.
pub(super) fn write(op: Op, given: Given, budget: &Budget) -> Result<Value, Fault> {
    let span = given.span;
    let target = target(given.positional.first(), span)?;
    let Call { result, operands } = run(op, op.signature(), given, Enter::AsWritten)?;
    let fits = result.shape().and_then(|shape| {
        check_in_place(target.shape(), &zerostride_shape::Shape::new(shape)?)?;
        if budget.is_dry() {
            zerostride::policy::check(&result)?;
            // Only the dtype can still be refused, for which one element will do.
            let one = |dtype| Tensor::full(&[], 0, dtype);
            return Expr::from(one(result.dtype()?)?).eval_into(&one(target.dtype())?);
        }
        budget.moved(slice::from_ref(&result))?.swap_remove(0).eval_into(&target)
    });
    match fits {
        Ok(()) => Ok(target.into()),
        Err(error) => Err(Fault::engine(error, span).with_operands(op, true, operands)),
    }
}

/// The tensor that an in-place method writes to. Views and expressions are refused, since they have no
/// elements of their own here and the write would be lost.
fn target(part: Option<&Part>, span: Span) -> Result<Tensor, Fault> {
    if let Some(Part { value: Value::Tensor(expr), .. }) = part
        && let Some(tensor) = expr.as_tensor()
    {
        return Ok(tensor.alias());
    }
    let problem = Problem::new(say!("only-tensors-are-written"), span);
    Err(problem.help(say!("writes-to-x")).into())
}

/// How bare numbers are passed to a call.
#[derive(Clone, Copy, PartialEq)]
enum Enter {
    /// As bare numbers.
    AsWritten,
    /// As tensors of the widest dtype, so that operations on bare numbers alone lose nothing.
    Widest,
}

/// A call that has been made.
struct Call {
    result: Expr,
    /// The shapes of the operands and their spans.
    operands: Vec<(Vec<usize>, Span)>,
}

fn run(op: Op, signature: &Signature, given: Given, enter: Enter) -> Result<Call, Fault> {
    let span = given.span;
    check_unsigned(op, signature, &given)?;
    let is_unbounded =
        op == Op::Clamp && given.operands(signature).filter(|part| !part.is_none()).count() < 2;
    let mut operands = Vec::new();
    let mut convert = |part: Part, position: Option<usize>| {
        let kind = position.and_then(|at| signature.arguments.get(at)).map(|argument| argument.kind);
        let part_span = part.span;
        let argument = argument(op, part, kind, position == Some(0), enter)?;
        if let (Some(Kind::Operand), Argument::Expr(expr)) = (kind, &argument)
            && let Ok(shape) = expr.shape()
        {
            operands.push((shape.to_vec(), part_span));
        }
        Ok(argument)
    };
    let positional = given.positional.into_iter().enumerate().map(|(at, part)| convert(part, Some(at)));
    let positional = positional.collect::<Result<_, Fault>>()?;
    let named = given.named.into_iter().map(|(name, part)| {
        let argument = convert(part, signature.position(&name.text))?;
        Ok((name.text.to_string(), argument))
    });
    let named = named.collect::<Result<_, Fault>>()?;
    // Errors that the call reports before it looks at operands are about other arguments.
    let result = zerostride::call(op, Arguments { positional, named });
    let result = result.map_err(|error| Fault::misuse(error, span))?;
    match result.shape() {
        Ok(_) => Ok(Call { result, operands }),
        Err(error) if is_unbounded => Err(Fault::misuse(error, span)),
        Err(error) => Err(Fault::engine(error, span).with_operands(op, false, operands)),
    }
}

/// Refuses an integer from 2^63 on beside operands that would make another number of it, and beside bare
/// numbers alone, whose arithmetic is that of i64.
fn check_unsigned(op: Op, signature: &Signature, given: &Given) -> Result<(), Fault> {
    let is_unsigned = |part: &&Part| matches!(part.value, Value::Unsigned(_));
    let Some(number) = given.operands(signature).find(is_unsigned) else { return Ok(()) };
    let is_bare = |part: &Part| matches!(part.value, Value::Number(_) | Value::Unsigned(_));
    if op.info().class.is_elementwise() && given.operands(signature).all(is_bare) {
        return number.check_unsigned(DType::I64);
    }
    for part in given.operands(signature).filter(|part| !is_bare(part) && !part.is_none()) {
        // An operand that is none, or has an error, is refused as such.
        if let Ok(operand) = part.clone().operand()
            && let Ok(dtype) = operand.dtype()
        {
            number.check_unsigned(dtype)?;
        }
    }
    Ok(())
}

fn argument(op: Op, part: Part, kind: Option<Kind>, first: bool, enter: Enter) -> Result<Argument, Fault> {
    let reduces = first && !op.info().class.is_elementwise();
    Ok(match part.value {
        Value::None => Argument::None,
        _ if kind == Some(Kind::DType) => Argument::DType(part.dtype()?),
        Value::Number(number) if kind == Some(Kind::Operand) && enter == Enter::Widest => {
            let wide = widest(number, op.info().rule);
            Argument::Expr(
                Tensor::full(&[], number, wide).map_err(|error| Fault::engine(error, part.span))?.into(),
            )
        }
        Value::Number(_) if reduces => Argument::Expr(part.tensor()?),
        Value::Unsigned(_) => Argument::Expr(part.operand()?),
        Value::Number(number) => Argument::Expr(number.into()),
        Value::Tensor(expr) => Argument::Expr(expr),
        Value::Sequence(_) if matches!(kind, Some(Kind::Dims | Kind::Integers)) => {
            Argument::Dims(part.integers()?)
        }
        Value::Sequence(_) => Argument::Expr(part.tensor()?),
        Value::Word(word) => Argument::Word(word),
        Value::DType(_) => {
            let message = say!("takes-no-dtype", call = format!("{}()", op.name()));
            return Err(Problem::new(message, part.span).help(say!("convert-the-result")).into());
        }
    })
}

/// A dtype that holds the number exactly, and whose operations are not rounded to f32.
fn widest(number: Scalar, rule: Rule) -> DType {
    let floats = matches!(rule, Rule::float | Rule::float_real | Rule::double | Rule::complex);
    match number.category() {
        Category::Complex => DType::C128,
        Category::Float => DType::F64,
        Category::Bool | Category::Int if floats => DType::F64,
        Category::Int => DType::I64,
        Category::Bool => DType::Bool,
    }
}

/// Python's result for bare numbers where Python has an operator: `div(7, 2)` is `7 / 2`.
fn as_python(op: Op, given: &Given) -> Option<Result<Scalar, String>> {
    let numbers = given.positional.iter().map(|part| match part.value {
        Value::Number(number) => Some(number),
        _ => None,
    });
    let mode = match &given.named[..] {
        [] => None,
        [(name, Part { value: Value::Word(word), .. })]
            if op == Op::Div && *name.text == *"rounding_mode" =>
        {
            Some(&**word)
        }
        _ => return None,
    };
    // `and` and `or` are not arithmetic operators.
    op.info().symbol.filter(|symbol| !symbol.contains(char::is_alphabetic))?;
    match (&numbers.collect::<Option<Vec<_>>>()?[..], mode) {
        ([number], None) if op.info().class == Class::Unary => Some(number::unary(op, *number)),
        ([left, right], None) => Some(number::binary(op, *left, *right)),
        ([left, right], Some("floor")) => Some(number::binary(Op::FloorDivide, *left, *right)),
        ([left, right], Some("trunc")) => Some(number::truncated(*left, *right)),
        _ => None,
    }
}

/// An element-wise operation on bare numbers alone, whose result is a bare number, too: `x * sqrt(2)` keeps
/// the dtype of x, and the root is not rounded to f32 first.
fn number(op: Op, signature: &Signature, given: Given) -> Result<Scalar, Fault> {
    let span = given.span;
    let result = run(op, signature, given, Enter::Widest)?.result;
    let scalar = || -> zerostride::Result<Scalar> {
        let value = result.eval()?;
        Ok(match value.dtype().category() {
            Category::Bool => Scalar::Bool(value.item()?),
            Category::Int => Scalar::Int(item::<i64>(&value)?),
            Category::Float => Scalar::Float(item::<f64>(&value)?),
            Category::Complex => Scalar::Complex(item::<Complex64>(&value)?),
        })
    };
    scalar().map_err(|error| Fault::engine(error, span))
}

fn item<T: Element>(tensor: &Tensor) -> zerostride::Result<T> {
    Expr::from(tensor).to_dtype(T::DTYPE).eval()?.item()
}
