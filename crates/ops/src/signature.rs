//! Owns the reading of a row's arguments column, written as PyTorch documents them. It does not know what a call
//! does with them.

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
}

/// The arguments of an operation, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    /// The arguments, in order.
    pub arguments: Vec<Argument>,
}

impl Signature {
    /// Reads PyTorch's notation: `input, other, *, alpha=1`.
    pub(crate) fn parse(text: &'static str) -> Self {
        let mut keyword_only = false;
        let mut arguments = Vec::new();
        for piece in text.split(", ") {
            if piece == "*" {
                keyword_only = true;
                continue;
            }
            let (name, default) = piece
                .split_once('=')
                .map_or((piece, Default::Required), |(name, default)| (name, default_of(default)));
            arguments.push(Argument { name, kind: kind_of(name, default), default, keyword_only });
        }
        Signature { arguments }
    }

    /// The argument of that name; the array API's `axis` and `keepdims` are PyTorch's `dim` and `keepdim`.
    pub fn position(&self, name: &str) -> Option<usize> {
        let name = match name {
            "axis" => "dim",
            "keepdims" => "keepdim",
            other => other,
        };
        self.arguments.iter().position(|argument| argument.name == name)
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

/// The few names that are not operands; everything else broadcasts.
fn kind_of(name: &str, default: Default) -> Kind {
    match (name, default) {
        ("dim", _) => Kind::Dims,
        ("rounding_mode" | "approximate", _) => Kind::Word,
        ("unbiased", _) | (_, Default::Scalar(Scalar::Bool(_))) => Kind::Flag,
        ("min" | "max", _) => Kind::Operand,
        ("decimals", _) => Kind::Number,
        (_, Default::Required) => Kind::Operand,
        _ => Kind::Number,
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
