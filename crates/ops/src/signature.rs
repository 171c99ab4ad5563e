//! Owns the reading of a row's arguments column, written as PyTorch documents them. It does not know what a
//! call does with them.

use crate::{Op, Scalar};

/// What an argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A tensor or a number that broadcasts with the others.
    Operand,
    /// A number (or `None`) that is no operand of its own.
    Number,
    /// A dimension, several, or `None` for all.
    Dims,
    /// `True` or `False`.
    Flag,
    /// A quoted word, such as a rounding mode.
    Word,
    /// A tensor whose elements are needed.
    Tensor,
    /// A list of such tensors.
    Tensors,
    /// An integer, such as one dimension.
    Integer,
    /// Integers, or one alone.
    Integers,
    /// An integer that is not negative.
    Count,
    /// Integers that are not negative, or one alone.
    Counts,
    /// One count, or a tensor of them.
    Repeats,
    /// An integer, or two lists of dimensions.
    Pairs,
}

/// The value an argument has when it is not given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Default {
    /// The argument must be given.
    Required,
    /// `None` or `()`.
    None,
    /// A number or a flag.
    Scalar(Scalar),
    /// A word.
    Word(&'static str),
}

/// One argument.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// PyTorch's name.
    pub name: &'static str,
    /// What it is.
    pub kind: Kind,
    /// Its value when not given.
    pub default: Default,
    /// Whether it may be given only by name.
    pub keyword_only: bool,
    /// Whether it takes all arguments by position that are left, as `*size` does.
    pub collects: bool,
}

/// The arguments of an operation, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    /// The arguments, in order.
    pub arguments: Vec<Argument>,
}

/// Arguments in their places.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound<V> {
    /// Those that are given, in the order of the signature.
    pub values: Vec<Option<V>>,
    /// What `*size` has collected.
    pub rest: Vec<V>,
}

/// Why arguments do not fit a signature: `N` is how their names come, `V` how they come themselves.
#[derive(Clone, Debug, PartialEq)]
pub enum Misfit<N, V> {
    /// One by position for which there is no place.
    TooMany(V),
    /// A name that no argument has.
    Unknown(N),
    /// The name of an argument that is there already.
    Twice(N),
}

/// An argument of a row, or several that belong together, in PyTorch's notation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parameter {
    pub(crate) notation: &'static str,
    /// What each of them is; operands, where there are more of them.
    pub(crate) kinds: &'static [Kind],
}

/// What a row says of an argument: its notation, and what a type stands for.
///
/// - `operand`: a tensor or a number that broadcasts; `bound`: one that may be `None`;
/// - `scalar`, `float`, `int`: a number; `optional_float` may be `None`, and so may `float_or_zero`, which is
///   0 then;
/// - `flag`, `word`: `True` or `False`, a quoted word or `None`;
/// - `dim`: one dimension; `dims`: dimensions, and whether they stay with size 1; `spread`: the same with the
///   degrees of freedom that are lost.
///
/// Of functions:
/// - `value`: a tensor or a computation; `factor`: a computation; `shape_of`: the shape of one;
/// - `tensor`, `tensors`: one whose elements are needed, or a list of them; `optional_tensor` may be `None`;
/// - `integer`, `long`, `integers`: integers, or `None` for none; `optional_integer` and `optional_integers`
///   may be `None`; `sizes` are all that are left; `count` and `counts`, all that are left, are not negative;
/// - `reduced`: dimensions; `repeats`: a count, or a tensor of them; `pairs`: a number of dimensions, or two
///   lists of them.
#[rustfmt::skip]
macro_rules! parameter {
    (notation $name:ident) => { stringify!($name) };
    (notation $name:ident $notation:literal) => { $notation };
    (kinds operand) => { &[Kind::Operand] };
    (kinds bound) => { &[Kind::Operand] };
    (kinds flag) => { &[Kind::Flag] };
    (kinds word) => { &[Kind::Word] };
    (kinds dim) => { &[Kind::Dims] };
    (kinds dims) => { &[Kind::Dims, Kind::Flag] };
    (kinds spread) => { &[Kind::Dims, Kind::Flag, Kind::Flag, Kind::Number] };
    (kinds value) => { &[Kind::Operand] };
    (kinds factor) => { &[Kind::Operand] };
    (kinds shape_of) => { &[Kind::Operand] };
    (kinds tensor) => { &[Kind::Tensor] };
    (kinds optional_tensor) => { &[Kind::Tensor] };
    (kinds tensors) => { &[Kind::Tensors] };
    (kinds integer) => { &[Kind::Integer] };
    (kinds long) => { &[Kind::Integer] };
    (kinds optional_integer) => { &[Kind::Integer] };
    (kinds integers) => { &[Kind::Integers] };
    (kinds optional_integers) => { &[Kind::Integers] };
    (kinds sizes) => { &[Kind::Integers] };
    (kinds reduced) => { &[Kind::Integers] };
    (kinds count) => { &[Kind::Count] };
    (kinds counts) => { &[Kind::Counts] };
    (kinds repeats) => { &[Kind::Repeats] };
    (kinds pairs) => { &[Kind::Pairs] };
    (kinds $number:ident) => { &[Kind::Number] };
}
pub(crate) use parameter;

impl Signature {
    /// Reads PyTorch's notation, as `input, dim=None, *size`, of a function that reads its arguments itself.
    pub fn read(notation: &'static str) -> Self {
        if notation.is_empty() {
            return Signature { arguments: Vec::new() };
        }
        Signature::parse([Parameter { notation, kinds: &[] }])
    }

    /// Reads PyTorch's notation: `input`, `other`, `*, alpha=1`.
    pub(crate) fn parse(parameters: impl IntoIterator<Item = Parameter>) -> Self {
        let mut keyword_only = false;
        let mut arguments = Vec::new();
        for parameter in parameters {
            let mut kinds = parameter.kinds.iter();
            for piece in parameter.notation.split(", ") {
                if piece == "*" {
                    keyword_only = true;
                    continue;
                }
                let (name, default) = piece
                    .split_once('=')
                    .map_or((piece, Default::Required), |(name, default)| (name, default_of(default)));
                let kind = kinds.next().copied().unwrap_or(Kind::Operand);
                let (name, collects) = name.strip_prefix('*').map_or((name, false), |name| (name, true));
                arguments.push(Argument { name, kind, default, keyword_only, collects });
                keyword_only |= collects;
            }
        }
        Signature { arguments }
    }

    /// The arguments of a call in their places.
    ///
    /// # Errors
    /// They do not fit.
    pub fn bind<N: AsRef<str>, V>(
        &self,
        positional: impl IntoIterator<Item = V>,
        named: impl IntoIterator<Item = (N, V)>,
    ) -> Result<Bound<V>, Misfit<N, V>> {
        let mut bound = Bound { values: self.arguments.iter().map(|_| None).collect(), rest: Vec::new() };
        let mut place = 0;
        for value in positional {
            match self.arguments.get(place) {
                Some(argument) if argument.collects => bound.rest.push(value),
                Some(argument) if !argument.keyword_only => {
                    bound.values[place] = Some(value);
                    place += 1;
                }
                _ => return Err(Misfit::TooMany(value)),
            }
        }
        for (name, value) in named {
            match self.position(name.as_ref()) {
                Some(at) if self.arguments[at].collects && bound.rest.is_empty() => bound.rest.push(value),
                Some(at) if self.arguments[at].collects => return Err(Misfit::Unknown(name)),
                Some(at) if bound.values[at].is_some() => return Err(Misfit::Twice(name)),
                Some(at) => bound.values[at] = Some(value),
                None => return Err(Misfit::Unknown(name)),
            }
        }
        Ok(bound)
    }

    /// The argument of that name; the array API's `axis`, `axes` and `keepdims` are PyTorch's `dim`, `dims`
    /// and `keepdim`.
    pub fn position(&self, name: &str) -> Option<usize> {
        let known = match name {
            "axis" => "dim",
            "axes" => "dims",
            "keepdims" => "keepdim",
            other => other,
        };
        self.arguments.iter().position(|argument| argument.name == known || argument.name == name)
    }
}

fn default_of(text: &'static str) -> Default {
    match text {
        "None" | "()" => Default::None,
        "True" => Default::Scalar(Scalar::Bool(true)),
        "False" => Default::Scalar(Scalar::Bool(false)),
        _ if text.starts_with('\'') => Default::Word(text.trim_matches('\'')),
        _ => match (text.parse(), text.parse()) {
            (Ok(int), _) => Default::Scalar(Scalar::Int(int)),
            (_, Ok(float)) => Default::Scalar(Scalar::Float(float)),
            _ => Default::Required,
        },
    }
}

impl Op {
    /// The call as documented: `add(input, other, *, alpha=1)`.
    pub fn usage(self) -> String {
        format!("{}({})", self.name(), self.info().arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_read_as_pytorch_writes_it() {
        let signature = Op::Div.signature();
        let names: Vec<_> = signature
            .arguments
            .iter()
            .map(|argument| (argument.name, argument.kind, argument.keyword_only))
            .collect();
        assert_eq!(
            names,
            [
                ("input", Kind::Operand, false),
                ("other", Kind::Operand, false),
                ("rounding_mode", Kind::Word, true)
            ]
        );
        assert_eq!(signature.arguments[2].default, Default::None);
        let sum = Op::Sum.signature();
        assert_eq!(
            (sum.position("axis"), sum.position("keepdims"), sum.position("where")),
            (Some(1), Some(2), None)
        );
    }

    #[test]
    fn numbers_are_read_with_their_category() {
        let isclose = Op::Isclose.signature();
        assert_eq!(isclose.arguments[2].default, Default::Scalar(Scalar::Float(1e-5)));
        assert_eq!(Op::Add.signature().arguments[2].default, Default::Scalar(Scalar::Int(1)));
        assert_eq!(Op::Clamp.signature().arguments[1].kind, Kind::Operand);
    }
}
