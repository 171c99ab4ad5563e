//! Owns `Operand`, what is known of one operand, and the names of operands without one. It does not know what
//! a broadcast does to an operand (`explanation.rs`).

use std::collections::HashSet;

use zerostride_ops::DType;
use zerostride_shape::Size;

/// One operand of a broadcast: a shape, and whatever else is known.
///
/// ```
/// use zerostride_explain::Operand;
/// use zerostride_ops::DType;
///
/// let row = Operand::new(&[1, 3]).named("row").dtype(DType::I64).values(["1", "2", "3"]);
/// assert_eq!(row.shape, [1, 3]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operand {
    /// The name to print; operands without one are called a, b, c, ..., z, aa, ab, ...
    pub name: Option<String>,
    /// The sizes; any numbers, even those that no tensor can have.
    pub shape: Vec<Size>,
    /// The dtype; if it is `None`, bytes are counted for the default float.
    pub dtype: Option<DType>,
    /// The elements in row-major order, as they are printed. They are not drawn if their number is not that
    /// of the shape.
    pub values: Option<Vec<String>>,
}

impl Operand {
    /// An operand with a shape, of which nothing else is known.
    pub fn new(shape: &[Size]) -> Operand {
        Operand { name: None, shape: shape.to_vec(), dtype: None, values: None }
    }

    /// The operand under a name.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Operand {
        Operand { name: Some(name.into()), ..self }
    }

    /// The operand with its dtype.
    #[must_use]
    pub fn dtype(self, dtype: DType) -> Operand {
        Operand { dtype: Some(dtype), ..self }
    }

    /// The operand with its elements, in row-major order.
    #[must_use]
    pub fn values<T: ToString>(self, values: impl IntoIterator<Item = T>) -> Operand {
        Operand { values: Some(values.into_iter().map(|value| value.to_string()).collect()), ..self }
    }

    /// The operand without its elements.
    pub(crate) fn without_values(self) -> Operand {
        Operand { values: None, ..self }
    }

    /// The elements, if there are as many as the shape has.
    pub(crate) fn known_values(&self) -> Option<&[String]> {
        let numel = self.shape.iter().try_fold(1 as Size, |numel, &size| numel.checked_mul(size));
        self.values.as_deref().filter(|values| Some(values.len() as Size) == numel)
    }

    /// The dtype that bytes are counted for.
    pub(crate) fn counted_dtype(&self) -> DType {
        self.dtype.unwrap_or(DType::DEFAULT_FLOAT)
    }
}

/// A name for every operand: its own, or the next letter that is not taken.
pub(crate) fn names(operands: &[Operand]) -> Vec<String> {
    let taken: HashSet<&str> = operands.iter().filter_map(|operand| operand.name.as_deref()).collect();
    let mut letters = (0..).map(letters_of).filter(|name| !taken.contains(name.as_str()));
    let name = |operand: &Operand| match &operand.name {
        Some(name) => Some(name.clone()),
        None => letters.next(),
    };
    operands.iter().filter_map(name).collect()
}

/// a, b, ..., z, aa, ab, ...: the columns of a spreadsheet.
fn letters_of(mut index: usize) -> String {
    let mut name = String::new();
    loop {
        name.insert(0, char::from(b'a' + (index % 26) as u8));
        if index < 26 {
            return name;
        }
        index = index / 26 - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unnamed_operands_take_the_next_free_letters() {
        let unnamed = || Operand::new(&[]);
        assert_eq!(names(&[unnamed(), unnamed().named("a"), unnamed()]), ["b", "a", "c"]);
        assert_eq!(names(&vec![unnamed(); 28])[24..], ["y", "z", "aa", "ab"]);
        assert_eq!(letters_of(26 + 26 * 26), "aaa");
    }
}
