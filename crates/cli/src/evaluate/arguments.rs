//! Owns the arguments of a call: how they are given, and how a function's parameters take them by position and name.

use zerostride::{DType, Expr, Scalar, Tensor};
use zerostride_ops::{Kind, Signature, UnknownDType};

use super::value::{Part, Value};
use super::{Budget, Fault, evaluated, stand_in};
use crate::expr::{Name, Problem, Span};

/// The arguments as they are written; the receiver of a method comes first.
pub(super) struct Given {
    pub(super) positional: Vec<Part>,
    pub(super) named: Vec<(Name, Part)>,
    /// The whole call.
    pub(super) span: Span,
    /// Whether it is written as a method.
    pub(super) method: bool,
}

impl Given {
    /// The arguments that an operation's row calls operands.
    pub(super) fn operands<'a>(&'a self, signature: &'a Signature) -> impl Iterator<Item = &'a Part> {
        let is_operand =
            |at: usize| signature.arguments.get(at).is_some_and(|argument| argument.kind == Kind::Operand);
        let positional =
            self.positional.iter().enumerate().filter(move |(at, _)| is_operand(*at)).map(|(_, part)| part);
        let named =
            self.named.iter().filter(move |(name, _)| signature.position(&name.text).is_some_and(is_operand));
        positional.chain(named.map(|(_, part)| part))
    }
}

impl Part {
    /// The part as an integer.
    pub(super) fn integer(&self) -> Result<isize, Fault> {
        let Value::Number(Scalar::Int(value)) = self.value else { return Err(self.unwanted("an integer")) };
        isize::try_from(value).map_err(|_| self.unwanted("an integer"))
    }

    /// The part as integers: one, or a list of them.
    pub(super) fn integers(&self) -> Result<Vec<isize>, Fault> {
        match &self.value {
            Value::Sequence(items) => items.iter().map(Part::integer).collect(),
            _ => Ok(vec![self.integer()?]),
        }
    }

    /// The part as a number of elements.
    pub(super) fn count(&self) -> Result<usize, Fault> {
        usize::try_from(self.integer()?).map_err(|_| self.unwanted("a number that is not negative"))
    }

    fn dtype(&self) -> Result<DType, Fault> {
        match &self.value {
            Value::DType(dtype) => Ok(*dtype),
            Value::Word(word) => {
                word.parse().map_err(|error: UnknownDType| Problem::new(error.to_string(), self.span).into())
            }
            _ => Err(self.unwanted("a dtype, such as 'f32'")),
        }
    }

    pub(super) fn unwanted(&self, wanted: &str) -> Fault {
        let found = match &self.value {
            Value::Number(number) => number.to_string(),
            other => other.kind().to_owned(),
        };
        Problem::new(format!("expected {wanted}, found {found}"), self.span).into()
    }
}

/// The arguments of a function, by the names of its parameters.
#[derive(Clone)]
pub(super) struct Bound<'a> {
    function: &'static str,
    /// As in `input, dim=None`.
    parameters: &'static str,
    span: Span,
    budget: &'a Budget,
    values: Vec<(&'static str, Option<Part>)>,
    /// What `*size` has collected.
    rest: Vec<Part>,
}

impl<'a> Bound<'a> {
    /// Takes the arguments into parameters written as `input, dim=None`; `*size` takes all that are left.
    pub(super) fn new(
        function: &'static str,
        parameters: &'static str,
        given: Given,
        budget: &'a Budget,
    ) -> Result<Bound<'a>, Fault> {
        let names = || parameters.split(", ").filter(|parameter| !parameter.is_empty());
        let plain = names()
            .filter(|name| !name.starts_with('*'))
            .map(|parameter| (parameter.split_once('=').map_or(parameter, |(name, _)| name), None));
        let mut bound = Bound {
            function,
            parameters,
            span: given.span,
            budget,
            values: plain.collect(),
            rest: Vec::new(),
        };
        // What follows `*size` is given by name alone.
        let collects = names().position(|name| name.starts_with('*'));
        for (at, part) in given.positional.into_iter().enumerate() {
            match (collects, bound.values.get_mut(at)) {
                (Some(from), _) if at >= from => bound.rest.push(part),
                (_, Some((_, value))) => *value = Some(part),
                (_, None) => return Err(bound.misused(part.span, "too many arguments")),
            }
        }
        let collected = names().find_map(|name| name.strip_prefix('*'));
        for (name, part) in given.named {
            let canonical = match &*name.text {
                "axis" => "dim",
                other => other,
            };
            if Some(canonical) == collected && bound.rest.is_empty() {
                bound.rest.push(part);
                continue;
            }
            match bound.values.iter_mut().find(|(known, _)| *known == canonical) {
                Some((_, value @ None)) => *value = Some(part),
                Some(_) => return Err(bound.misused(name.span, &format!("`{}` is given twice", name.text))),
                None => {
                    return Err(bound.misused(name.span, &format!("there is no argument `{}`", name.text)));
                }
            }
        }
        Ok(bound)
    }

    /// What the function makes of nothing, which in a dry run is a stand-in: paid for, then made.
    pub(super) fn create(
        &self,
        shape: &[usize],
        dtype: DType,
        make: impl FnOnce() -> zerostride::Result<Tensor>,
    ) -> Result<Tensor, Fault> {
        let stands_in = self.budget.is_dry();
        self.make(shape, dtype, || if stands_in { stand_in(shape, dtype) } else { make() })
    }

    /// What the function makes at once, as large as a tensor of this shape: paid for, then made.
    pub(super) fn make<R>(
        &self,
        shape: &[usize],
        dtype: DType,
        make: impl FnOnce() -> zerostride::Result<R>,
    ) -> Result<R, Fault> {
        self.budget.take_tensor(shape, dtype).map_err(|message| Problem::new(message, self.span))?;
        make().map_err(|error| self.fault(error))
    }

    /// An error of the engine in this call.
    pub(super) fn fault(&self, error: zerostride::Error) -> Fault {
        Fault::engine(error, self.span)
    }

    /// Several results of a dry run, or the only one.
    pub(super) fn stand_ins(&self, tensors: Vec<Expr>) -> Result<Value, Fault> {
        let mut parts = Vec::new();
        for tensor in tensors {
            let engine = |error| self.fault(error);
            let (shape, dtype) = (tensor.shape().map_err(engine)?, tensor.dtype().map_err(engine)?);
            let made = self.make(shape, dtype, || stand_in(shape, dtype))?;
            parts.push(Part { value: made.into(), span: self.span });
        }
        Ok(if parts.len() == 1 { parts.remove(0).value } else { Value::Sequence(parts) })
    }

    /// An end of a dry run here: what the function makes depends on elements.
    pub(super) fn unknown(&self) -> Fault {
        Fault::Unknown(self.span)
    }

    /// Whether an argument is given as a bare number.
    pub(super) fn is_number(&self, name: &str) -> bool {
        let given = self.values.iter().find(|(known, _)| *known == name).and_then(|(_, part)| part.as_ref());
        given.is_some_and(|part| matches!(part.value, Value::Number(_)))
    }

    fn misused(&self, span: Span, what: &str) -> Fault {
        let usage = format!("it is called as {}({})", self.function, self.parameters);
        Problem::new(format!("{}(): {what}", self.function), span).help(usage).into()
    }

    /// An argument that may be missing, or be `None`.
    pub(super) fn optional(&mut self, name: &str) -> Option<Part> {
        let part = self.values.iter_mut().find(|(known, _)| *known == name).and_then(|(_, part)| part.take());
        part.filter(|part| !matches!(part.value, Value::None))
    }

    /// An argument that must be given.
    pub(super) fn required(&mut self, name: &str) -> Result<Part, Fault> {
        self.optional(name).ok_or_else(|| self.misused(self.span, &format!("`{name}` is missing")))
    }

    pub(super) fn tensor(&mut self, name: &str) -> Result<Expr, Fault> {
        self.required(name)?.tensor()
    }

    /// `*operands`: tensors and numbers.
    pub(super) fn tensors(&mut self) -> Result<Vec<Expr>, Fault> {
        std::mem::take(&mut self.rest).into_iter().map(|part| part.tensor()).collect()
    }

    /// A quoted word.
    pub(super) fn word(&mut self, name: &str) -> Result<String, Fault> {
        let part = self.required(name)?;
        match part.value {
            Value::Word(word) => Ok(word),
            _ => Err(part.unwanted("a quoted word")),
        }
    }

    /// A tensor's elements: the function needs them at once.
    pub(super) fn elements(&mut self, name: &str) -> Result<Tensor, Fault> {
        let part = self.required(name)?;
        self.computed(part)
    }

    /// The elements of an argument that has been taken.
    pub(super) fn computed(&self, part: Part) -> Result<Tensor, Fault> {
        evaluated(part, self.budget)
    }

    /// The elements of each tensor of a list.
    pub(super) fn list_of_elements(&mut self, name: &str) -> Result<Vec<Tensor>, Fault> {
        let list = self.required(name)?;
        let Value::Sequence(parts) = list.value else { return Err(list.unwanted("a list of tensors")) };
        parts.into_iter().map(|part| self.computed(part)).collect()
    }

    /// Several results, of which an index chooses one.
    pub(super) fn several(&self, tensors: impl IntoIterator<Item = Tensor>) -> Value {
        let part = |tensor: Tensor| Part { value: tensor.into(), span: self.span };
        Value::Sequence(tensors.into_iter().map(part).collect())
    }

    pub(super) fn flag_or(&mut self, name: &str, default: bool) -> Result<bool, Fault> {
        match self.optional(name) {
            None => Ok(default),
            Some(Part { value: Value::Number(Scalar::Bool(flag)), .. }) => Ok(flag),
            Some(part) => Err(part.unwanted("True or False")),
        }
    }

    pub(super) fn integer(&mut self, name: &str) -> Result<isize, Fault> {
        self.required(name)?.integer()
    }

    pub(super) fn optional_integer(&mut self, name: &str) -> Result<Option<isize>, Fault> {
        self.optional(name).map(|part| part.integer()).transpose()
    }

    pub(super) fn integer_or(&mut self, name: &str, default: isize) -> Result<isize, Fault> {
        Ok(self.optional_integer(name)?.unwrap_or(default))
    }

    pub(super) fn integers(&mut self, name: &str) -> Result<Vec<isize>, Fault> {
        self.required(name)?.integers()
    }

    /// A dtype by its name, bare or quoted.
    pub(super) fn required_dtype(&mut self, name: &str) -> Result<DType, Fault> {
        self.required(name)?.dtype()
    }

    pub(super) fn dtype(&mut self, name: &str) -> Result<Option<DType>, Fault> {
        self.optional(name).map(|part| part.dtype()).transpose()
    }

    /// `*size`: integers one by one, or as one list.
    pub(super) fn sizes(&mut self) -> Result<Vec<isize>, Fault> {
        match &self.rest[..] {
            [one] => one.integers(),
            parts => parts.iter().map(Part::integer).collect(),
        }
    }

    /// `*size`, none of them negative.
    pub(super) fn counts(&mut self) -> Result<Vec<usize>, Fault> {
        match &self.rest[..] {
            [Part { value: Value::Sequence(parts), .. }] => parts.iter().map(Part::count).collect(),
            parts => parts.iter().map(Part::count).collect(),
        }
    }
}
