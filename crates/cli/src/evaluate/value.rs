//! Owns `Value`, the value of a part of an expression, and the conversion of nested lists to tensors. It does
//! not know operations.

use zerostride::{Category, Complex64, DType, Error, ErrorClass, Expr, Scalar, Tensor};

use super::Fault;
use crate::expr::{Problem, Span};
use crate::words::say;

/// The value of a part of an expression.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// A bare number, with Python's arithmetic.
    Number(Scalar),
    /// A bare integer from 2^63 on, which only u64 holds: an operand of u64 and floats, without arithmetic of
    /// its own.
    Unsigned(u64),
    /// A tensor, or an expression that gives one.
    Tensor(Expr),
    /// A list or tuple.
    Sequence(Vec<Part>),
    /// A quoted word.
    Word(String),
    /// The name of a dtype.
    DType(DType),
    /// `None`.
    None,
}

/// A value and its span in the text.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) value: Value,
    pub(crate) span: Span,
}

impl From<Expr> for Value {
    fn from(expr: Expr) -> Value {
        Value::Tensor(expr)
    }
}

impl From<Tensor> for Value {
    fn from(tensor: Tensor) -> Value {
        Value::Tensor(tensor.into())
    }
}

impl Value {
    /// Its name in messages.
    pub(super) fn kind(&self) -> String {
        match self {
            Value::Number(_) | Value::Unsigned(_) => say!("a-number"),
            Value::Tensor(_) => say!("a-tensor"),
            Value::Sequence(_) => say!("a-list"),
            Value::Word(_) => say!("a-quoted-word"),
            Value::DType(_) => say!("a-dtype"),
            Value::None => "None".to_owned(),
        }
    }
}

impl Part {
    /// Whether it is `None`.
    pub(super) fn is_none(&self) -> bool {
        matches!(self.value, Value::None)
    }

    /// The part as an operand: a number, an expression, or a tensor made of nested lists of numbers.
    pub(super) fn operand(self) -> Result<Expr, Fault> {
        match self.value {
            Value::Number(number) => Ok(number.into()),
            Value::Unsigned(number) => unsigned(&[number], &[], DType::U64, self.span).map(Expr::from),
            Value::Tensor(expr) => Ok(expr),
            Value::Sequence(items) => Ok(tensor(&items, None, self.span)?.into()),
            other => Err(Problem::new(say!("is-no-operand", kind = other.kind()), self.span).into()),
        }
    }

    /// The part as a tensor; a bare number becomes one of zero dimensions.
    pub(crate) fn tensor(self) -> Result<Expr, Fault> {
        let span = self.span;
        match self.value {
            Value::Number(number) => {
                Ok(Tensor::scalar(number).map_err(|error| Fault::engine(error, span))?.into())
            }
            _ => self.operand(),
        }
    }

    /// Refuses an integer from 2^63 on where another number would become of it.
    pub(super) fn check_unsigned(&self, dtype: DType) -> Result<(), Fault> {
        match self.value {
            Value::Unsigned(number) if dtype.category() == Category::Int && dtype != DType::U64 => {
                let message = say!("does-not-fit", number = number.to_string(), dtype = dtype.name());
                Err(Problem::new(message, self.span).help(say!("unsigned-has-a-dtype")).into())
            }
            _ => Ok(()),
        }
    }

    /// The part in a dtype. Numbers are converted to it directly, so that none is rounded twice.
    pub(crate) fn converted(self, dtype: DType) -> Result<Expr, Fault> {
        match &self.value {
            Value::Number(_) | Value::Unsigned(_) => {
                Ok(tensor_of(std::slice::from_ref(&self), &[], Some(dtype), self.span)?.into())
            }
            Value::Sequence(items) => Ok(tensor(items, Some(dtype), self.span)?.into()),
            _ => Ok(self.operand()?.to_dtype(dtype)),
        }
    }
}

/// The tensor of nested lists of numbers, as `torch.tensor` makes it.
fn tensor(items: &[Part], dtype: Option<DType>, span: Span) -> Result<Tensor, Fault> {
    let mut shape = vec![items.len()];
    let mut level: Vec<Part> = items.to_vec();
    while level.iter().any(|part| matches!(part.value, Value::Sequence(_))) {
        let mut inner = Vec::new();
        let mut length = None;
        for part in level {
            let Value::Sequence(items) = part.value else {
                let message = say!("list-expected", dim = shape.len(), kind = part.value.kind());
                return Err(Problem::new(message, part.span).into());
            };
            let expected = *length.get_or_insert(items.len());
            if items.len() != expected {
                let error = Error::Argument {
                    class: ErrorClass::Value,
                    message: format!(
                        "expected sequence of length {expected} at dim {} (got {})",
                        shape.len(),
                        items.len()
                    ),
                };
                return Err(Fault::engine(error, part.span));
            }
            inner.extend(items);
        }
        shape.push(length.unwrap_or_default());
        level = inner;
    }
    tensor_of(&level, &shape, dtype, span)
}

fn tensor_of(parts: &[Part], shape: &[usize], dtype: Option<DType>, span: Span) -> Result<Tensor, Fault> {
    let category = |part: &Part| match part.value {
        Value::Number(number) => Some(number.category()),
        Value::Unsigned(_) => Some(Category::Int),
        _ => None,
    };
    let dtype = dtype.unwrap_or(match parts.iter().filter_map(category).max() {
        Some(Category::Bool) => DType::Bool,
        Some(Category::Int) => DType::I64,
        Some(Category::Float) | None => DType::DEFAULT_FLOAT,
        Some(Category::Complex) => DType::C64,
    });
    if parts.iter().any(|part| matches!(part.value, Value::Unsigned(_))) {
        parts.iter().try_for_each(|part| part.check_unsigned(dtype))?;
        if let Some(numbers) = parts.iter().map(whole).collect::<Option<Vec<u64>>>() {
            return unsigned(&numbers, shape, dtype, span);
        }
    }
    let mut numbers = Vec::with_capacity(parts.len());
    for part in parts {
        match &part.value {
            Value::Number(number) => numbers.push((*number, part.span)),
            // Beside numbers that u64 does not hold.
            Value::Unsigned(number) => numbers.push((Scalar::Float(*number as f64), part.span)),
            Value::Tensor(_) => {
                return Err(Problem::new(say!("tensors-are-no-tensor"), part.span)
                    .help(say!("first-of-them"))
                    .into());
            }
            other => {
                return Err(Problem::new(say!("list-holds-numbers", kind = other.kind()), part.span).into());
            }
        }
    }
    let category = numbers.iter().map(|(number, _)| number.category()).max().unwrap_or(Category::Float);
    numbers.iter().try_for_each(|&(number, span)| check_fits(number, dtype, span))?;
    // Built in the widest dtype of the category, so that the engine's conversion is the only rounding.
    let built = match category {
        Category::Bool | Category::Int => {
            Tensor::from_vec(numbers.iter().map(|(number, _)| int(*number)).collect::<Vec<i64>>(), shape)
        }
        Category::Float => {
            Tensor::from_vec(numbers.iter().map(|(number, _)| number.to_f64()).collect::<Vec<f64>>(), shape)
        }
        Category::Complex => Tensor::from_vec(
            numbers.iter().map(|(number, _)| complex(*number)).collect::<Vec<Complex64>>(),
            shape,
        ),
    };
    built
        .and_then(|tensor| Expr::from(tensor).to_dtype(dtype).eval())
        .map_err(|error| Fault::engine(error, span))
}

/// The number, if u64 holds it.
fn whole(part: &Part) -> Option<u64> {
    match part.value {
        Value::Number(Scalar::Bool(number)) => Some(number.into()),
        Value::Number(Scalar::Int(number)) => number.try_into().ok(),
        Value::Number(Scalar::Float(number)) => {
            (number.is_sign_positive() && number.fract() == 0.0 && number < 2f64.powi(64))
                .then_some(number as u64)
        }
        Value::Unsigned(number) => Some(number),
        _ => None,
    }
}

fn unsigned(numbers: &[u64], shape: &[usize], dtype: DType, span: Span) -> Result<Tensor, Fault> {
    Tensor::from_slice(numbers, shape)
        .and_then(|tensor| tensor.to_dtype(dtype))
        .map_err(|error| Fault::engine(error, span))
}

fn int(number: Scalar) -> i64 {
    match number {
        Scalar::Bool(value) => value.into(),
        Scalar::Int(value) => value,
        other => other.to_f64() as i64,
    }
}

fn complex(number: Scalar) -> Complex64 {
    match number {
        Scalar::Complex(value) => value,
        real => real.to_f64().into(),
    }
}

/// Refuses numbers that the requested integer dtype cannot hold, which would wrap, fractions for integers,
/// and imaginary parts that would be lost. Floats may become infinite.
fn check_fits(number: Scalar, dtype: DType, span: Span) -> Result<(), Fault> {
    let misfit = || {
        let message = say!("does-not-fit", number = number.to_string(), dtype = dtype.name());
        Err(Problem::new(message, span).into())
    };
    let value = match number {
        Scalar::Int(value) => value,
        Scalar::Float(_) if dtype.category() > Category::Int => return Ok(()),
        number => return if number.overflows(dtype) { misfit() } else { Ok(()) },
    };
    let bits = 8 * dtype.item_size() as u32;
    let fits = match (dtype.category(), dtype.is_signed_int()) {
        (Category::Int, true) => bits == 64 || (value >= -(1 << (bits - 1)) && value < 1 << (bits - 1)),
        (Category::Int, false) => value >= 0 && (bits == 64 || value < 1 << bits),
        _ => true,
    };
    if fits { Ok(()) } else { misfit() }
}
