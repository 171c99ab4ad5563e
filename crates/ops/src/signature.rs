//! Owns the parsing of a row's arguments, which are written as PyTorch documents them, and the binding of a
//! call's arguments to them. It does not know what a call does with them.

use crate::Scalar;

/// The type of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A tensor or a number that broadcasts with the others.
    Operand,
    /// A number (or `None`) that does not broadcast.
    Number,
    /// A number, or a word that stands for one.
    Order,
    /// A dimension, several, or `None` for all.
    Dims,
    /// `True` or `False`.
    Flag,
    /// A quoted word, such as a rounding mode.
    Word,
    /// A tensor whose elements are read.
    Tensor,
    /// A list of tensors whose elements are read.
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
    /// A dtype, or `None` for that of the operands.
    DType,
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
    /// Its type.
    pub kind: Kind,
    /// Its value when not given.
    pub default: Default,
    /// Whether it can be given by name only.
    pub keyword_only: bool,
    /// Whether it collects the remaining positional arguments, as `*size` does.
    pub collects: bool,
}

/// The arguments of an operation, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    /// The arguments, in order.
    pub arguments: Vec<Argument>,
}

/// A call's arguments by their positions in the signature.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound<V> {
    /// The arguments that are given, in the order of the signature.
    pub values: Vec<Option<V>>,
    /// The arguments that `*size` has collected.
    pub rest: Vec<V>,
}

/// Why arguments do not fit a signature: `N` is the type of names, `V` that of arguments.
#[derive(Clone, Debug, PartialEq)]
pub enum Misfit<N, V> {
    /// A positional argument too many.
    TooMany(V),
    /// A name that no argument has.
    Unknown(N),
    /// The name of an argument that is given twice.
    Twice(N),
}

/// One or more consecutive arguments of a row, in PyTorch's notation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parameter {
    pub(crate) notation: &'static str,
    /// The type of each of them; operands, where the notation has more.
    pub(crate) kinds: &'static [Kind],
}

/// The notation of an argument in a row, and the kinds that its type stands for.
///
/// - `operand`: a tensor or number that broadcasts; `optional`: one that may be `None`;
/// - `scalar`, `float`, `int`: a number; `optional_float` may be `None`; `float_or_zero` may be `None`, which
///   means 0; `order`: a number, or `'fro'`, which is 2;
/// - `flag`: `True` or `False`; `word`: a quoted word or `None`;
/// - `dim`: one dimension; `dims`: dimensions and `keepdim`; `spread`: these and the number of degrees of
///   freedom that are lost.
///
/// Types of functions' arguments:
/// - `value`: a tensor or expression; `factor`: an expression; `shape_of`, `sizes_of`: the shape of a
///   tensor or expression;
/// - `tensor`, `tensors`: a tensor whose elements are read, or a list of them; `optional_tensor` may be
///   `None`;
/// - `integer`, `long`, `integers`: integers, or `None` for none; `optional_integer` and `optional_integers`
///   may be `None`; `sizes`: the remaining integers; `count`: an integer that is not negative; `counts`: the
///   remaining ones;
/// - `reduced`: dimensions; `repeats`: a count, or a tensor of counts; `pairs`: a number of dimensions, or
///   two lists of them.
#[rustfmt::skip]
macro_rules! parameter {
    (notation $name:ident) => { stringify!($name) };
    (notation $name:ident $notation:literal) => { $notation };
    (kinds operand) => { &[Kind::Operand] };
    (kinds optional) => { &[Kind::Operand] };
    (kinds flag) => { &[Kind::Flag] };
    (kinds order) => { &[Kind::Order] };
    (kinds word) => { &[Kind::Word] };
    (kinds dim) => { &[Kind::Dims] };
    (kinds dims) => { &[Kind::Dims, Kind::Flag] };
    (kinds spread) => { &[Kind::Dims, Kind::Flag, Kind::Flag, Kind::Number] };
    (kinds value) => { &[Kind::Operand] };
    (kinds factor) => { &[Kind::Operand] };
    (kinds shape_of) => { &[Kind::Operand] };
    (kinds sizes_of) => { &[Kind::Operand] };
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
    /// Parses PyTorch's notation, as `input, dim=None, *size`, for a function that converts its arguments
    /// itself.
    pub fn read(notation: &'static str) -> Self {
        if notation.is_empty() {
            return Signature { arguments: Vec::new() };
        }
        Signature::parse([Parameter { notation, kinds: &[] }])
    }

    /// Parses PyTorch's notation: `input`, `other`, `*, alpha=1`.
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

    /// Binds a call's arguments to the signature.
    ///
    /// # Errors
    /// They do not fit it.
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

    /// The position of the argument with that name; the array API's `axis`, `axes` and `keepdims` stand for
    /// PyTorch's `dim`, `dims` and `keepdim`, and a method's `split_size` for the function's name of it.
    pub fn position(&self, name: &str) -> Option<usize> {
        let known = match name {
            "axis" => "dim",
            "axes" => "dims",
            "keepdims" => "keepdim",
            "split_size" => "split_size_or_sections",
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Op;

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
