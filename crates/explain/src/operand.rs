//! Owns `Operand`, what is known of one operand, and the names of operands without one. It does not know what
//! a broadcast does to an operand (`explanation.rs`).

use std::collections::HashSet;

use zerostride_ops::{Complex64, DType, Scalar};
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

/// The text of an element in a drawing: a bool as in Python, a float as short as possible.
///
/// ```
/// use zerostride_explain::element_text;
/// use zerostride_ops::Scalar;
///
/// assert_eq!([2.0, 1.0 / 3.0].map(|element| element_text(Scalar::Float(element))), ["2.", "0.3333"]);
/// assert_eq!(element_text(Scalar::Bool(true)), "True");
/// ```
pub fn element_text(element: Scalar) -> String {
    match element {
        Scalar::Bool(true) => "True".to_owned(),
        Scalar::Bool(false) => "False".to_owned(),
        Scalar::Int(element) => element.to_string(),
        Scalar::Float(element) => short(element),
        Scalar::Complex(element) => complex(element),
    }
}

/// Both parts, as `1.+2.j`.
fn complex(element: Complex64) -> String {
    let sign = if element.im.is_sign_negative() || element.im.is_nan() { "" } else { "+" };
    format!("{}{sign}{}j", short(element.re), short(element.im))
}

/// A float with at most four digits after the point, and always with a point, which marks it as a float.
fn short(element: f64) -> String {
    let magnitude = element.abs();
    if !element.is_finite() {
        return element.to_string().to_lowercase();
    }
    if magnitude != 0.0 && !(1e-3..1e6).contains(&magnitude) {
        return format!("{element:.3e}");
    }
    format!("{element:.4}").trim_end_matches('0').to_owned()
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

    #[test]
    fn complex_numbers_have_both_parts() {
        for (re, im, text) in [(1.0, 2.5, "1.+2.5j"), (0.0, -1.0, "0.-1.j"), (-0.5, 0.0, "-0.5+0.j")] {
            assert_eq!(complex(Complex64::new(re, im)), text);
        }
    }

    #[test]
    fn floats_are_short() {
        for (element, text) in [
            (1.0, "1."),
            (0.25, "0.25"),
            (1.0 / 3.0, "0.3333"),
            (-0.0, "-0."),
            (1e-7, "1.000e-7"),
            (f64::NAN, "nan"),
        ] {
            assert_eq!(short(element), text);
        }
    }
}
