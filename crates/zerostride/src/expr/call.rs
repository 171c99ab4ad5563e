//! Owns the call of an operation by its row: arguments by position and name, as PyTorch takes them, checked against
//! the row's signature. The shell and Python come in here. It does not know text (`cli`) nor Python objects.

use zerostride_ops::{self as ops, Class, Kind, Op, Scalar, Signature};
use zerostride_shape::ErrorClass;

use super::{Dims, Expr, formula, keepdim};
use crate::{Error, Result};

/// One argument of a call.
#[derive(Clone, Debug)]
pub enum Argument {
    /// A tensor or a computation; a number, too.
    Expr(Expr),
    /// A bare number, for which no node is made where none is needed.
    Number(Scalar),
    /// A list of dimensions, such as `(0, -1)`.
    Dims(Vec<isize>),
    /// A quoted word, such as a rounding mode.
    Word(String),
    /// `None`.
    None,
}

impl Argument {
    /// The number that it is.
    fn number(&self) -> Option<Scalar> {
        match self {
            Argument::Number(number) => Some(*number),
            Argument::Expr(expr) => expr.number(),
            _ => None,
        }
    }
}

/// The arguments of a call.
#[derive(Clone, Debug, Default)]
pub struct Arguments {
    /// By position.
    pub positional: Vec<Argument>,
    /// By name.
    pub named: Vec<(String, Argument)>,
}

/// Calls an operation of the table, as `torch.NAME(...)` would be called.
///
/// # Errors
/// An argument is missing, unknown, given twice or of the wrong kind. Errors of the operation itself are in the
/// expression, as everywhere.
///
/// ```
/// use zerostride::{Argument, Arguments, Op, call, tensor};
/// let x = Argument::Expr((&tensor![[1.0, 2.0], [3.0, 4.0]]).into());
/// let arguments = Arguments {
///     positional: vec![x, Argument::Expr(0.into())],
///     named: vec![("keepdim".to_owned(), Argument::Expr(true.into()))],
/// };
/// assert_eq!(call(Op::Sum, arguments)?.eval()?.to_vec::<f32>()?, [4.0, 6.0]);
/// # Ok::<(), zerostride::Error>(())
/// ```
#[track_caller]
pub fn call(op: Op, arguments: Arguments) -> Result<Expr> {
    let mut bound = Bound::new(op, arguments)?;
    let input = match op {
        Op::Where => bound.expr("input")?,
        _ => bound.first()?,
    };
    Ok(match op {
        Op::Add | Op::Sub => formula::add_scaled(op, &input, &bound.expr("other")?, bound.scalar("alpha")?),
        Op::Div => {
            let other = bound.expr("other")?;
            match bound.word("rounding_mode")?.as_deref() {
                None => input.div(other),
                Some("floor") => input.floor_divide(other),
                Some("trunc") => input.div_trunc(other),
                Some(mode) => {
                    let message = format!(
                        "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{mode}'"
                    );
                    return Err(Error::runtime(message));
                }
            }
        }
        Op::Gelu => match bound.word("approximate")?.as_deref() {
            None | Some("none") => input.gelu(),
            Some("tanh") => input.gelu_tanh(),
            Some(_) => return Err(Error::runtime("approximate argument must be either none or tanh.")),
        },
        Op::Logit => match bound.optional_float("eps")? {
            None => input.logit(),
            Some(eps) => input.logit_clamped(eps),
        },
        Op::Round => match bound.int("decimals")? {
            0 => input.round(),
            decimals => input.round_decimals(decimals),
        },
        Op::RoundDecimals => input.round_decimals(bound.int("decimals")?),
        Op::NanToNum => formula::nan_to_num(
            &input,
            bound.optional_float("nan")?.unwrap_or(0.0),
            bound.optional_float("posinf")?,
            bound.optional_float("neginf")?,
        ),
        Op::Softplus => input.softplus(bound.float("beta")?, bound.float("threshold")?),
        Op::Where => Expr::map(op, [bound.expr("condition")?, input, bound.expr("other")?]),
        Op::Addcmul | Op::Addcdiv => {
            let (a, b) = (bound.expr("tensor1")?, bound.expr("tensor2")?);
            formula::add_products(op, &input, &a, &b, bound.scalar("value")?)
        }
        Op::Clamp => {
            let (min, max) = (bound.optional_expr("min")?, bound.optional_expr("max")?);
            input.clamp(min, max)
        }
        Op::ClampMin => formula::clamp_to(op, &input, &bound.expr("min")?),
        Op::ClampMax => formula::clamp_to(op, &input, &bound.expr("max")?),
        Op::Rsub => formula::add_scaled(Op::Sub, &bound.expr("other")?, &input, bound.scalar("alpha")?),
        Op::FloatPower => input.float_power(bound.expr("exponent")?),
        Op::Isclose => {
            let (rtol, atol) = (bound.float("rtol")?, bound.float("atol")?);
            input.isclose(bound.expr("other")?, rtol, atol, bound.flag("equal_nan")?)
        }
        Op::MaskedFill => input.masked_fill(bound.expr("mask")?, bound.expr("value")?),
        Op::Mean => input.mean(bound.dims()?),
        Op::Var => {
            let correction = bound.correction()?;
            input.var_corrected(bound.dims()?, correction)
        }
        Op::Std => {
            let correction = bound.correction()?;
            input.std_corrected(bound.dims()?, correction)
        }
        Op::Logsumexp => input.logsumexp(bound.dims()?),
        Op::Softmax => input.softmax(bound.int("dim")? as isize),
        Op::LogSoftmax => input.log_softmax(bound.int("dim")? as isize),
        Op::Norm => input.norm(bound.float("p")?, bound.dims()?),
        _ if op.info().class == Class::Reduce => Expr::reduce(op, input, &bound.dims()?, 1.0),
        _ => {
            let rest = bound.rest()?;
            Expr::map(op, std::iter::once(input).chain(rest))
        }
    })
}

/// Arguments in the order of the signature.
struct Bound {
    op: Op,
    signature: &'static Signature,
    values: Vec<Option<Argument>>,
}

impl Bound {
    fn new(op: Op, arguments: Arguments) -> Result<Bound> {
        let signature = op.signature();
        let by_position = signature.arguments.iter().filter(|argument| !argument.keyword_only).count();
        let given = arguments.positional.len();
        if given > by_position {
            return Err(wrong(
                op,
                format_args!("takes {by_position} positional arguments but {given} were given"),
            ));
        }
        let mut values: Vec<Option<Argument>> = arguments.positional.into_iter().map(Some).collect();
        values.resize(signature.arguments.len(), None);
        for (name, value) in arguments.named {
            let Some(position) = signature.position(&name) else {
                return Err(wrong(op, format_args!("got an unexpected keyword argument '{name}'")));
            };
            if values[position].replace(value).is_some() {
                return Err(wrong(op, format_args!("got multiple values for argument '{name}'")));
            }
        }
        Ok(Bound { op, signature, values })
    }

    fn position(&self, name: &str) -> usize {
        self.signature.position(name).expect("the signature of the operation has the argument")
    }

    /// The argument as given, else its default.
    fn take(&mut self, position: usize) -> Result<Argument> {
        let argument = &self.signature.arguments[position];
        match (self.values[position].take(), argument.default) {
            (Some(value), _) => Ok(value),
            (None, ops::Default::Scalar(scalar)) => Ok(Argument::Number(scalar)),
            (None, ops::Default::Word(word)) => Ok(Argument::Word(word.to_owned())),
            (None, ops::Default::None) => Ok(Argument::None),
            (None, ops::Default::Required) => {
                Err(wrong(self.op, format_args!("is missing the argument '{}'", argument.name)))
            }
        }
    }

    fn refuse<T>(&self, name: &str, wanted: &str) -> Result<T> {
        Err(wrong(self.op, format_args!("wants {wanted} as argument '{name}'")))
    }

    fn first(&mut self) -> Result<Expr> {
        self.expr(self.signature.arguments[0].name)
    }

    /// The operands that have not been taken.
    fn rest(&mut self) -> Result<Vec<Expr>> {
        let names: Vec<&str> = self.signature.arguments[1..]
            .iter()
            .filter(|argument| argument.kind == Kind::Operand)
            .map(|argument| argument.name)
            .collect();
        names.into_iter().map(|name| self.expr(name)).collect()
    }

    fn expr(&mut self, name: &str) -> Result<Expr> {
        match self.take(self.position(name))? {
            Argument::Expr(expr) => Ok(expr),
            Argument::Number(number) => Ok(number.into()),
            _ => self.refuse(name, "a tensor or a number"),
        }
    }

    fn optional_expr(&mut self, name: &str) -> Result<Option<Expr>> {
        match self.take(self.position(name))? {
            Argument::Expr(expr) => Ok(Some(expr)),
            Argument::Number(number) => Ok(Some(number.into())),
            Argument::None => Ok(None),
            _ => self.refuse(name, "a tensor, a number or None"),
        }
    }

    fn scalar(&mut self, name: &str) -> Result<Scalar> {
        match self.take(self.position(name))?.number() {
            Some(number) => Ok(number),
            None => self.refuse(name, "a number"),
        }
    }

    fn float(&mut self, name: &str) -> Result<f64> {
        match self.scalar(name)? {
            Scalar::Complex(_) => self.refuse(name, "a real number"),
            number => Ok(number.to_f64()),
        }
    }

    fn optional_float(&mut self, name: &str) -> Result<Option<f64>> {
        let argument = self.take(self.position(name))?;
        match argument.number() {
            Some(number) if !matches!(number, Scalar::Complex(_)) => Ok(Some(number.to_f64())),
            None if matches!(argument, Argument::None) => Ok(None),
            _ => self.refuse(name, "a real number or None"),
        }
    }

    fn int(&mut self, name: &str) -> Result<i64> {
        match self.scalar(name)? {
            Scalar::Int(number) => Ok(number),
            _ => self.refuse(name, "an integer"),
        }
    }

    fn flag(&mut self, name: &str) -> Result<bool> {
        match self.scalar(name)? {
            Scalar::Bool(flag) => Ok(flag),
            _ => self.refuse(name, "True or False"),
        }
    }

    fn word(&mut self, name: &str) -> Result<Option<String>> {
        match self.take(self.position(name))? {
            Argument::Word(word) => Ok(Some(word)),
            Argument::None => Ok(None),
            _ => self.refuse(name, "a quoted word or None"),
        }
    }

    /// What `correction` or `unbiased` say that is taken from the number of elements.
    fn correction(&mut self) -> Result<f64> {
        let [dim, unbiased, correction] = ["dim", "unbiased", "correction"].map(|name| self.position(name));
        let is_flag = |value: &Argument| matches!(value.number(), Some(Scalar::Bool(_)));
        // PyTorch has an overload with a flag where others have dimensions: `std(x, False)`.
        if self.values[unbiased].is_none() && self.values[dim].as_ref().is_some_and(is_flag) {
            self.values.swap(dim, unbiased);
        }
        match (&self.values[unbiased], &self.values[correction]) {
            (None | Some(Argument::None), _) => Ok(self.optional_float("correction")?.unwrap_or(1.0)),
            (_, None) => Ok(f64::from(u8::from(self.flag("unbiased")?))),
            _ => Err(wrong(self.op, format_args!("takes 'unbiased' or 'correction', not both"))),
        }
    }

    /// `dim` and `keepdim` together.
    fn dims(&mut self) -> Result<Dims> {
        let dims = match self.take(self.position("dim"))? {
            Argument::None => Dims::default(),
            Argument::Dims(dims) => Dims::from(&dims[..]),
            other => match other.number() {
                Some(Scalar::Int(dim)) => Dims::from(isize::try_from(dim).unwrap_or(isize::MAX)),
                _ => return self.refuse("dim", "a dimension, several, or None"),
            },
        };
        Ok(if self.flag("keepdim")? { keepdim(dims) } else { dims })
    }
}

fn wrong(op: Op, message: std::fmt::Arguments<'_>) -> Error {
    Error::Argument {
        class: ErrorClass::Type,
        message: format!("{}() {message}; it is called as {}", op.name(), op.usage()),
    }
}
