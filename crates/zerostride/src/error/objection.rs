//! Owns `Record`, one implicit broadcast as it was met, and `Objection`, what a policy has against it. It
//! does not know who asked (`policy`).

use std::borrow::Cow;
use std::fmt;

use zerostride_shape::{Class, Classes, Diagnostic, Shape};

use crate::caller::Caller;

/// One implicit broadcast.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Record {
    /// The operation, by its name in the table, or the name that was reported.
    pub op: Cow<'static, str>,
    /// The shapes of the operands that are no bare numbers.
    pub shapes: Vec<Shape>,
    /// The shape that they broadcast to.
    pub result: Shape,
    /// The bytes of an array of that shape.
    pub bytes: u128,
    /// Whether such an array will be in memory. In a fused expression it mostly is not.
    pub stored: bool,
    /// All classes that apply.
    pub classes: Classes,
    /// Where it was written down; where that is not known, who evaluated it.
    pub caller: Caller,
}

impl Record {
    /// How many elements the result has for each one of the largest operand; 1 if there are none.
    pub fn factor(&self) -> f64 {
        let largest = self.shapes.iter().map(Shape::numel).max().unwrap_or(0);
        if largest == 0 { 1.0 } else { self.result.numel() as f64 / largest as f64 }
    }
}

impl fmt::Display for Record {
    /// `sub of [32, 1] and [32] broadcasts to [32, 32]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of ", self.op)?;
        for (index, shape) in self.shapes.iter().enumerate() {
            let before = match index {
                0 => "",
                _ if index + 1 == self.shapes.len() => " and ",
                _ => ", ",
            };
            write!(f, "{before}{shape}")?;
        }
        write!(f, " broadcasts to {}", self.result)
    }
}

/// What a policy has against a broadcast.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Objection {
    /// The gravest of the classes that the policy does not allow.
    pub class: Class,
    /// The broadcast.
    pub record: Record,
    /// The limit for [`Class::BlowUp`], in bytes.
    pub max_bytes: u128,
}

impl Objection {
    /// The shapes, for what draws them.
    pub(crate) fn diagnostic(&self) -> Diagnostic {
        Diagnostic { shapes: self.record.shapes.clone(), ..Diagnostic::default() }
    }
}

impl fmt::Display for Objection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}, ", self.class, self.record)?;
        match self.class {
            Class::RankAdded => f.write_str("an operand gets a new dimension"),
            Class::Stretched => f.write_str("a size of 1 is stretched"),
            Class::MutualStretch => f.write_str("larger than every operand"),
            Class::SameNumel => {
                f.write_str("of operands that have equally many elements but different shapes")
            }
            Class::BlowUp => {
                write!(f, "which takes {} bytes; the limit is {}", self.record.bytes, self.max_bytes)
            }
        }
    }
}

impl std::error::Error for Objection {}
