//! Owns `Class`, the kinds of implicit broadcast that a policy may allow, warn about or refuse, and the
//! decision which of them apply. It does not know policies nor the texts about classes.

use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use crate::shape::{Shape, Size};

/// An effect of a broadcast that cannot be seen in the program's text.
///
/// ```
/// use zerostride_shape::{Class, Classes, broadcast_shape};
///
/// let operands: [&[usize]; 2] = [&[32, 1], &[32]];
/// let classes = Classes::of(&broadcast_shape(&operands)?, &operands);
/// assert!(classes.contains(Class::MutualStretch));
/// assert_eq!(Class::MutualStretch.to_string(), "mutual_stretch");
/// assert_eq!("mutual_stretch".parse(), Ok(Class::MutualStretch));
/// # Ok::<(), zerostride_shape::ShapeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// An operand got a dimension that it did not have.
    RankAdded,
    /// A size of 1 was stretched.
    Stretched,
    /// The result has more elements than EVERY operand.
    MutualStretch,
    /// Two operands have equally many elements, but different shapes.
    SameNumel,
    /// The result takes more bytes than the limit.
    BlowUp,
}

impl Class {
    /// All classes, in the order of the enum.
    pub const ALL: [Class; 5] =
        [Class::RankAdded, Class::Stretched, Class::MutualStretch, Class::SameNumel, Class::BlowUp];

    /// The name in JSON and in policies.
    pub const fn name(self) -> &'static str {
        match self {
            Class::RankAdded => "rank_added",
            Class::Stretched => "stretched",
            Class::MutualStretch => "mutual_stretch",
            Class::SameNumel => "same_numel",
            Class::BlowUp => "blow_up",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The error for a name that no [`Class`] has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownClass;

impl fmt::Display for UnknownClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the classes of broadcasts are")?;
        for (class, before) in Class::ALL.iter().zip([" ", ", ", ", ", ", ", " and "]) {
            write!(f, "{before}{class}")?;
        }
        Ok(())
    }
}

impl core::error::Error for UnknownClass {}

impl FromStr for Class {
    type Err = UnknownClass;

    fn from_str(name: &str) -> Result<Class, UnknownClass> {
        Class::ALL.into_iter().find(|class| class.name() == name).ok_or(UnknownClass)
    }
}

/// A set of classes; prints as their names, separated by commas.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Classes(u8);

impl Classes {
    /// The classes of a broadcast of these operands to `result` that shapes alone decide: all but
    /// [`Class::BlowUp`].
    pub fn of(result: &Shape, operands: &[&[Size]]) -> Classes {
        let applies = |class: &Class| match class {
            Class::RankAdded => operands.iter().any(|shape| shape.len() < result.ndim()),
            Class::Stretched => operands.iter().any(|shape| is_stretched(result, shape)),
            Class::MutualStretch => is_mutual_stretch(result, operands),
            Class::SameNumel => has_same_numel(operands),
            Class::BlowUp => false,
        };
        Class::ALL.into_iter().filter(applies).collect()
    }

    /// This set, with one more class if `applies` is true.
    #[must_use]
    pub fn with(self, class: Class, applies: bool) -> Classes {
        Classes(self.0 | u8::from(applies) << class as u8)
    }

    /// Whether the set contains a class.
    pub const fn contains(self, class: Class) -> bool {
        self.0 & (1 << class as u8) != 0
    }

    /// The classes, in the order of the enum.
    pub fn iter(self) -> impl Iterator<Item = Class> {
        Class::ALL.into_iter().filter(move |&class| self.contains(class))
    }
}

impl FromIterator<Class> for Classes {
    fn from_iter<I: IntoIterator<Item = Class>>(classes: I) -> Classes {
        classes.into_iter().fold(Classes::default(), |all, class| all.with(class, true))
    }
}

impl fmt::Display for Classes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, class) in self.iter().enumerate() {
            write!(f, "{}{class}", if index > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

impl fmt::Debug for Classes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

fn numel(shape: &[Size]) -> Size {
    shape.iter().product()
}

fn is_stretched(result: &[Size], operand: &[Size]) -> bool {
    result.iter().rev().zip(operand.iter().rev()).any(|(size, own)| own != size)
}

/// Whether a result has more elements than each of its operands, of which there is at least one:
/// [`Class::MutualStretch`].
pub fn is_mutual_stretch(result: &Shape, operands: &[&[Size]]) -> bool {
    !operands.is_empty() && operands.iter().all(|shape| numel(shape) < result.numel())
}

fn has_same_numel(operands: &[&[Size]]) -> bool {
    let mut sorted: Vec<(Size, &[Size])> = operands.iter().map(|shape| (numel(shape), *shape)).collect();
    sorted.sort_unstable();
    sorted.windows(2).any(|pair| pair[0].0 == pair[1].0 && pair[0].1 != pair[1].1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broadcast_shape;
    use alloc::string::ToString;

    #[test]
    fn each_class_applies_to_its_shapes_and_to_no_others() {
        let table: [(&[&[Size]], &str); 12] = [
            (&[&[4, 3], &[4, 3]], ""),
            (&[&[4, 3], &[1, 3]], "stretched"),
            (&[&[4, 3], &[3]], "rank_added"),
            (&[&[4, 3], &[]], "rank_added"),
            (&[&[4, 1], &[1, 3]], "stretched, mutual_stretch"),
            (&[&[32, 1], &[32]], "rank_added, stretched, mutual_stretch, same_numel"),
            (&[&[1, 3], &[3]], "rank_added, same_numel"),
            (&[&[2, 1], &[1, 1]], "stretched"),
            (&[&[1], &[0]], "stretched"),
            (&[&[2, 2], &[2, 2], &[1, 1]], "stretched"),
            (&[&[4, 1], &[4, 1], &[1, 4]], "stretched, mutual_stretch, same_numel"),
            (&[], ""),
        ];
        for (operands, classes) in table {
            let result = broadcast_shape(operands).unwrap();
            assert_eq!(Classes::of(&result, operands).to_string(), classes, "{operands:?}");
        }
    }

    #[test]
    fn names_are_read_back_and_unknown_ones_refused() {
        for class in Class::ALL {
            assert_eq!(class.name().parse(), Ok(class));
        }
        assert_eq!(
            "mutual".parse::<Class>().unwrap_err().to_string(),
            "the classes of broadcasts are rank_added, stretched, mutual_stretch, same_numel and blow_up"
        );
        assert_eq!(Classes::default().with(Class::BlowUp, true).iter().collect::<Vec<_>>(), [Class::BlowUp]);
    }
}
