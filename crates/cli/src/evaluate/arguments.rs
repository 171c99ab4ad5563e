//! Owns the arguments of a call: how they are written, and how they are bound to a function's parameters. It
//! does not know what a function does.

use zerostride::{Argument, DType, Dims, Error, ErrorClass, Expr, Outcome, Scalar, Tensor, keepdim};
use zerostride_ops::{self as ops, Kind, Misfit, Signature};

use super::dtypes::dtype;
use super::value::{Part, Value};
use super::{Budget, Fault, dry};
use crate::expr::{Name, Problem, Span};
use crate::words::say;

/// The arguments as written; the receiver of a method comes first.
pub(super) struct Given {
    pub(super) positional: Vec<Part>,
    pub(super) named: Vec<(Name, Part)>,
    /// The whole call.
    pub(super) span: Span,
    /// Whether it is written as a method.
    pub(super) method: bool,
}

impl Given {
    /// The arguments that are operands in an operation's row.
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
        let Value::Number(Scalar::Int(value)) = self.value else {
            return Err(self.unwanted(&say!("an-integer")));
        };
        isize::try_from(value).map_err(|_| self.unwanted(&say!("an-integer")))
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
        usize::try_from(self.integer()?).map_err(|_| self.unwanted(&say!("no-negative-number")))
    }

    /// The part as numbers of elements: one, or a list of them.
    pub(super) fn counts(&self) -> Result<Vec<usize>, Fault> {
        match &self.value {
            Value::Sequence(items) => items.iter().map(Part::count).collect(),
            _ => Ok(vec![self.count()?]),
        }
    }

    fn flag(&self) -> Result<bool, Fault> {
        match self.value {
            Value::Number(Scalar::Bool(flag)) => Ok(flag),
            _ => Err(self.unwanted(&say!("true-or-false"))),
        }
    }

    /// The part as a dtype, by its name, bare or quoted.
    pub(super) fn dtype(&self) -> Result<DType, Fault> {
        match &self.value {
            Value::DType(dtype) => Ok(*dtype),
            Value::Word(word) => {
                let unknown = |_| {
                    let problem = Problem::new(say!("unknown-dtype", name = &**word), self.span);
                    problem.help(say!("there-are", names = DType::ALL.map(DType::name).join(", "))).into()
                };
                dtype(word).map_err(unknown)
            }
            _ => Err(self.unwanted(&say!("some-dtype"))),
        }
    }

    pub(super) fn unwanted(&self, wanted: &str) -> Fault {
        let found = match &self.value {
            Value::Number(number) => number.to_string(),
            Value::Unsigned(number) => number.to_string(),
            other => other.kind(),
        };
        Problem::new(say!("expected", expected = wanted, found = found), self.span).into()
    }
}

/// The arguments of a function, by the names of its parameters.
pub(super) struct Bound<'a> {
    function: &'static str,
    /// Written as `input, dim=None`.
    parameters: &'static str,
    span: Span,
    budget: &'a Budget,
    values: Vec<(&'static str, Option<Part>)>,
    /// The arguments that `*size` has collected.
    rest: Vec<Part>,
}

impl<'a> Bound<'a> {
    /// Binds the arguments to the parameters, which are written as `input, dim=None`.
    pub(super) fn new(
        function: &'static str,
        (parameters, signature): (&'static str, &Signature),
        given: Given,
        budget: &'a Budget,
    ) -> Result<Bound<'a>, Fault> {
        let (values, rest) = (Vec::new(), Vec::new());
        let mut bound = Bound { function, parameters, span: given.span, budget, values, rest };
        match signature.bind(given.positional, given.named) {
            Ok(ops::Bound { values, rest }) => {
                let names = signature.arguments.iter().map(|argument| argument.name);
                (bound.values, bound.rest) = (names.zip(values).collect(), rest);
                Ok(bound)
            }
            Err(Misfit::TooMany(part)) => Err(bound.misused(part.span, &say!("too-many-arguments"))),
            Err(Misfit::Twice(name)) => {
                Err(bound.misused(name.span, &say!("given-twice", name = &*name.text)))
            }
            Err(Misfit::Unknown(name)) => {
                Err(bound.misused(name.span, &say!("no-argument", name = &*name.text)))
            }
        }
    }

    /// An argument in the form that the engine takes, by its kind.
    pub(super) fn argument(&mut self, parameter: &ops::Argument) -> Result<Option<Argument>, Fault> {
        let signed =
            |counts: Vec<usize>| Argument::Dims(counts.into_iter().map(|count| count as isize).collect());
        match (parameter.collects, parameter.kind) {
            (true, Kind::Counts) => return Ok(Some(signed(self.counts()?))),
            (true, _) => return Ok(Some(Argument::Dims(self.sizes()?))),
            (false, _) => {}
        }
        let part = match parameter.default {
            ops::Default::Required => self.required(parameter.name)?,
            _ => match self.optional(parameter.name) {
                Some(part) => part,
                None => return Ok(None),
            },
        };
        Ok(Some(match parameter.kind {
            Kind::Tensor => {
                let tensor = dry::read_at_once(self.computed(part)?, self.budget);
                Argument::Tensor(tensor.map_err(|error| self.fault(error))?)
            }
            Kind::Tensors => {
                let Value::Sequence(parts) = part.value else {
                    return Err(part.unwanted(&say!("list-of-tensors")));
                };
                Argument::Tensors(
                    parts.into_iter().map(|part| self.computed(part)).collect::<Result<_, _>>()?,
                )
            }
            Kind::Integer => Argument::Number(Scalar::Int(part.integer()? as i64)),
            Kind::Integers => Argument::Dims(part.integers()?),
            Kind::Count => Argument::Number(Scalar::Int(part.count()? as i64)),
            Kind::Counts => signed(part.counts()?),
            Kind::Flag => Argument::Number(Scalar::Bool(part.flag()?)),
            Kind::Repeats if matches!(part.value, Value::Number(_)) => {
                Argument::Number(Scalar::Int(part.count()? as i64))
            }
            Kind::Repeats => Argument::Tensor(self.computed(part)?),
            Kind::Pairs => match &part.value {
                Value::Sequence(lists) => {
                    let [own, theirs] = &lists[..] else {
                        return Err(part.unwanted(&say!("two-lists")));
                    };
                    Argument::Pairs([own.integers()?, theirs.integers()?])
                }
                _ => Argument::Number(Scalar::Int(part.integer()? as i64)),
            },
            Kind::DType => Argument::DType(part.dtype()?),
            Kind::Operand | Kind::Number | Kind::Order | Kind::Dims | Kind::Word => {
                Argument::Expr(part.tensor()?)
            }
        }))
    }

    /// The value of a function's result.
    pub(super) fn outcome(&self, outcome: zerostride::Result<Outcome>) -> Result<Value, Fault> {
        match outcome.map_err(|error| self.fault(error))? {
            Outcome::Tensor(tensor) => Ok(tensor.into()),
            Outcome::Expr(expr) => Ok(expr.into()),
            Outcome::Moved(moved) => {
                let known = moved.results().clone();
                dry::results(&known, self.span, self.budget, || moved.run())
            }
        }
    }

    /// The result of a function that creates a tensor: memory is reserved, then it is computed; a dry run has
    /// a placeholder.
    pub(super) fn create(
        &self,
        shape: &[usize],
        dtype: DType,
        make: impl FnOnce() -> zerostride::Result<Tensor>,
    ) -> Result<Tensor, Fault> {
        let stands_in = self.budget.is_dry();
        self.make(shape, dtype, || {
            if stands_in { dry::stand_in(shape, dtype) } else { self.budget.placed(make()?) }
        })
    }

    /// The result of a function that runs at once and takes as much memory as a tensor of this shape: memory
    /// is reserved, then it is computed.
    pub(super) fn make<R>(
        &self,
        shape: &[usize],
        dtype: DType,
        make: impl FnOnce() -> zerostride::Result<R>,
    ) -> Result<R, Fault> {
        self.budget.take_tensor(shape, dtype).map_err(|message| Problem::new(message, self.span))?;
        make().map_err(|error| self.fault(error))
    }

    /// The seed of a call that gives none.
    pub(super) fn next_seed(&self) -> u64 {
        self.budget.next_seed()
    }

    /// An error of the engine in this call.
    pub(super) fn fault(&self, error: Error) -> Fault {
        Fault::engine(error, self.span)
    }

    /// An expression that the function stands for, whose errors get the function's name.
    pub(super) fn in_own_name(&self, expr: Expr) -> Result<Expr, Fault> {
        let Err(error) = expr.shape() else { return Ok(expr) };
        let renamed = match error.root() {
            Error::Argument { class, message } => message.split_once("(): ").map(|(_, what)| {
                Error::Argument { class: *class, message: format!("{}(): {what}", self.function) }
            }),
            _ => None,
        };
        Err(self.fault(renamed.unwrap_or(error)))
    }

    /// An operand that the function does not take.
    pub(super) fn mismatch(&self, span: Span, what: &str) -> Fault {
        let message = format!("{}(): {what}", self.function);
        Fault::engine(Error::Argument { class: ErrorClass::Value, message }, span)
    }

    fn misused(&self, span: Span, what: &str) -> Fault {
        let usage = say!("called-as", usage = format!("{}({})", self.function, self.parameters));
        Problem::new(format!("{}(): {what}", self.function), span).help(usage).into()
    }

    /// An argument that may be missing, or be `None`.
    pub(super) fn optional(&mut self, name: &str) -> Option<Part> {
        let part = self.values.iter_mut().find(|(known, _)| *known == name).and_then(|(_, part)| part.take());
        part.filter(|part| !matches!(part.value, Value::None))
    }

    /// An argument that must be given.
    pub(super) fn required(&mut self, name: &str) -> Result<Part, Fault> {
        self.optional(name).ok_or_else(|| self.misused(self.span, &say!("missing", name = name)))
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
        self.quoted(part)
    }

    /// The elements of an argument that must be given.
    pub(super) fn elements(&mut self, name: &str) -> Result<Tensor, Fault> {
        let part = self.required(name)?;
        self.computed(part)
    }

    /// `*tensors`: their elements.
    pub(super) fn rest_elements(&mut self) -> Result<Vec<Tensor>, Fault> {
        std::mem::take(&mut self.rest).into_iter().map(|part| self.computed(part)).collect()
    }

    /// `True` or `False`; `False` if it is missing.
    pub(super) fn flag(&mut self, name: &str) -> Result<bool, Fault> {
        self.optional(name).map_or(Ok(false), |part| part.flag())
    }

    /// The dimensions of a reduction, `dim` and `keepdim`.
    pub(super) fn dims(&mut self) -> Result<Dims, Fault> {
        let dims = match self.optional("dim") {
            Some(part) => Dims::from(&part.integers()?[..]),
            None => Dims::from(..),
        };
        self.kept(dims)
    }

    /// Dimensions with `keepdim`.
    pub(super) fn kept(&mut self, dims: Dims) -> Result<Dims, Fault> {
        Ok(if self.flag("keepdim")? { keepdim(dims) } else { dims })
    }

    /// Several results.
    pub(super) fn several(&self, results: impl IntoIterator<Item = Expr>) -> Value {
        let part = |expr: Expr| Part { value: expr.into(), span: self.span };
        Value::Sequence(results.into_iter().map(part).collect())
    }

    /// Several results that are parts of tensors.
    pub(super) fn parts(&self, parts: zerostride::Result<Vec<Tensor>>) -> Result<Value, Fault> {
        Ok(self.several(parts.map_err(|error| self.fault(error))?.into_iter().map(Expr::from)))
    }

    /// The word that a part is.
    pub(super) fn quoted(&self, part: Part) -> Result<String, Fault> {
        match part.value {
            Value::Word(word) => Ok(word),
            _ => Err(part.unwanted(&say!("a-quoted-word"))),
        }
    }

    /// The elements of an argument that has been bound.
    pub(super) fn computed(&self, part: Part) -> Result<Tensor, Fault> {
        dry::evaluated(part, self.budget)
    }

    pub(super) fn integer_or(&mut self, name: &str, default: isize) -> Result<isize, Fault> {
        self.optional(name).map_or(Ok(default), |part| part.integer())
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
            [one] => one.counts(),
            parts => parts.iter().map(Part::count).collect(),
        }
    }
}
