//! Owns the text of an operand, in the notation of `zs explain`: sizes as `32, 1`, `(32, 1)` or `()`, values
//! as `[[1, 2]]` or `[1, 2]:f32`. It does not know broadcasting.

use zerostride_explain::Operand;
use zerostride_ops::{Category, Complex64, DType};
use zerostride_shape::{MAX_RANK, Size};

use crate::letters::{Letters, is_name};
use crate::state::Written;

/// The most values; more are refused.
const MOST_VALUES: usize = 4096;

/// What is wrong with a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mistake {
    /// The text is empty.
    Empty,
    /// Not sizes.
    Sizes,
    /// A size that no tensor can have.
    TooLarge,
    /// Not a nested list of numbers.
    Values,
    /// Lists of one level with different lengths.
    Ragged,
    /// More values, or levels, than can be shown.
    TooMany,
    /// No dtype of this name.
    DType,
    /// Not a name that a program can use.
    Name,
}

impl Written {
    /// The operand of the text.
    pub(crate) fn read(&self, letters: &mut Letters) -> Result<Operand, Mistake> {
        let operand = read(self.text.trim(), letters)?;
        match &*self.name {
            "" => Ok(operand),
            name if is_name(name) => Ok(operand.named(name)),
            _ => Err(Mistake::Name),
        }
    }
}

fn read(text: &str, letters: &mut Letters) -> Result<Operand, Mistake> {
    if text.is_empty() {
        return Err(Mistake::Empty);
    }
    let nested = text.strip_prefix('[').is_some_and(|inner| inner.trim_start().starts_with('['));
    if nested || text.contains(':') { values(text) } else { Ok(Operand::new(&sizes(text, letters)?)) }
}

fn sizes(text: &str, letters: &mut Letters) -> Result<Vec<Size>, Mistake> {
    let bracketed =
        |open: char, close: char| text.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
    let inner = bracketed('(', ')').or_else(|| bracketed('[', ']'));
    let sizes = inner.unwrap_or(text).trim();
    if sizes.is_empty() && inner.is_some() {
        return Ok(Vec::new());
    }
    let sizes = sizes.strip_suffix(',').unwrap_or(sizes);
    let mut factor = |piece: &str| match piece.trim() {
        "" => Err(Mistake::Sizes),
        digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            digits.parse().map_err(|_| Mistake::TooLarge)
        }
        name if is_name(name) => letters.size(name).ok_or(Mistake::TooMany),
        _ => Err(Mistake::Sizes),
    };
    let mut size = |piece: &str| {
        piece
            .split(['*', '·'])
            .try_fold(1 as Size, |size, piece| size.checked_mul(factor(piece)?).ok_or(Mistake::TooLarge))
    };
    sizes.split(',').map(&mut size).collect()
}

fn values(text: &str) -> Result<Operand, Mistake> {
    let (list, dtype) = match text.rsplit_once(':') {
        Some((list, name)) => (list.trim(), Some(name.trim().parse().map_err(|_| Mistake::DType)?)),
        None => (text, None),
    };
    let mut reader = Reader { rest: list, shape: Vec::new(), values: Vec::new() };
    reader.item(0)?;
    if !reader.rest.trim().is_empty() {
        return Err(Mistake::Values);
    }
    let whole = |value: &String| value.parse::<i64>().is_ok();
    let are_complex = reader.values.iter().any(|value| is_complex(value));
    let natural = match &reader.values[..] {
        _ if are_complex => DType::C64,
        values if !values.is_empty() && values.iter().all(|value| is_bool(value)) => DType::Bool,
        values if values.iter().all(whole) => DType::I64,
        _ => DType::DEFAULT_FLOAT,
    };
    if are_complex && dtype.is_some_and(|dtype: DType| dtype.category() != Category::Complex) {
        return Err(Mistake::Values);
    }
    let shape: Vec<Size> = reader.shape.iter().map(|size| size.unwrap_or(0)).collect();
    Ok(Operand::new(&shape).dtype(dtype.unwrap_or(natural)).values(reader.values))
}

fn is_bool(text: &str) -> bool {
    matches!(text, "True" | "False")
}

/// Whether a number has an imaginary part.
fn is_complex(text: &str) -> bool {
    text.ends_with('j')
}

/// Parses a nested list.
struct Reader<'a> {
    rest: &'a str,
    /// The length of the lists of each level, once one has ended.
    shape: Vec<Option<Size>>,
    values: Vec<String>,
}

impl Reader<'_> {
    /// One number, or one list of a level.
    fn item(&mut self, level: usize) -> Result<(), Mistake> {
        self.rest = self.rest.trim_start();
        let Some(inner) = self.rest.strip_prefix('[') else { return self.number(level) };
        if level == MAX_RANK {
            return Err(Mistake::TooMany);
        }
        if self.shape.len() == level {
            // There was a number where now there is a list.
            if !self.values.is_empty() {
                return Err(Mistake::Ragged);
            }
            self.shape.push(None);
        }
        self.rest = inner;
        let mut len = 0;
        while !self.take(']') {
            if len > 0 && !self.take(',') {
                return Err(Mistake::Values);
            }
            // As in Python, a comma may follow the last item.
            if len > 0 && self.take(']') {
                break;
            }
            self.item(level + 1)?;
            len += 1;
        }
        if *self.shape[level].get_or_insert(len) != len { Err(Mistake::Ragged) } else { Ok(()) }
    }

    fn number(&mut self, level: usize) -> Result<(), Mistake> {
        let end = self.rest.find([',', ']', '[']).unwrap_or(self.rest.len());
        let (number, rest) = self.rest.split_at(end);
        let number = number.trim();
        let is_finite = |number: Complex64| number.re.is_finite() && number.im.is_finite();
        let is_number = match is_complex(number) {
            // `j` alone is a name in Python.
            true => {
                let before = number.trim_end_matches('j');
                before.ends_with(|c: char| c.is_ascii_digit() || c == '.')
                    && number.parse().is_ok_and(is_finite)
            }
            false => number.parse::<f64>().is_ok_and(f64::is_finite),
        };
        // Bools stand alone: among numbers, what is meant would be a guess.
        let are_bools = self.values.first().map_or(is_bool(number), |first| is_bool(first));
        if !(if are_bools { is_bool(number) } else { is_number }) {
            return Err(Mistake::Values);
        }
        if self.shape.len() != level {
            return Err(Mistake::Ragged);
        }
        if self.values.len() == MOST_VALUES {
            return Err(Mistake::TooMany);
        }
        self.values.push(number.to_owned());
        self.rest = rest;
        Ok(())
    }

    /// Takes the next character if it is this one.
    fn take(&mut self, character: char) -> bool {
        let next = self.rest.trim_start().strip_prefix(character);
        self.rest = next.unwrap_or(self.rest);
        next.is_some()
    }
}

/// Sizes as they are written: `32, 1`, and `()` for none.
pub(crate) fn sizes_text(shape: &[Size]) -> String {
    match shape {
        [] => "()".to_owned(),
        _ => shape.iter().map(Size::to_string).collect::<Vec<_>>().join(", "),
    }
}

/// Values in row-major order as a nested list of a shape.
pub(crate) fn nested_text(shape: &[Size], values: &[String]) -> String {
    let Some((len, inner)) = shape.split_first() else { return values.concat() };
    let len = *len as usize;
    let each = values.len() / len.max(1);
    let items = (0..len).map(|at| nested_text(inner, &values[at * each..(at + 1) * each]));
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Operand, Mistake> {
        super::read(text, &mut Letters::beside([text].into_iter()))
    }

    #[test]
    fn sizes_are_read_in_every_notation() {
        for (text, sizes) in [
            ("5, 1,4", &[5, 1, 4][..]),
            ("(5,1)", &[5, 1]),
            ("[5, 1]", &[5, 1]),
            ("(3,)", &[3]),
            ("()", &[]),
            ("[ ]", &[]),
            ("0", &[0]),
        ] {
            assert_eq!(read(text), Ok(Operand::new(sizes)), "{text}");
        }
    }

    #[test]
    fn values_are_read_with_their_shape_and_dtype() {
        let operand = read("[[1, 2], [3, 4],]").unwrap();
        assert_eq!((&operand.shape[..], operand.dtype), (&[2, 2][..], Some(DType::I64)));
        assert_eq!(operand.values.unwrap(), ["1", "2", "3", "4"]);
        let vector = read("[1, 2.5]:f64").unwrap();
        assert_eq!((&vector.shape[..], vector.dtype), (&[2][..], Some(DType::F64)));
        assert_eq!(read("[[0.5]]").unwrap().dtype, Some(DType::F32));
        assert_eq!(read("[[1+2j, -0.5j], [3, 1e-3-2j]]").unwrap().dtype, Some(DType::C64));
        assert_eq!(read("[1j]:c128").unwrap().dtype, Some(DType::C128));
        assert_eq!(read("[[True], [False]]").unwrap().dtype, Some(DType::Bool));
        assert_eq!(read("5:i64").unwrap().shape, [0; 0]);
        assert_eq!(read("[[], []]").unwrap().shape, [2, 0]);
        assert_eq!(nested_text(&[3, 1], &["1", "2", "3"].map(str::to_owned)), "[[1], [2], [3]]");
    }

    #[test]
    fn mistakes_are_told_apart() {
        for (text, mistake) in [
            ("", Mistake::Empty),
            ("3, x y", Mistake::Sizes),
            ("3, *n", Mistake::Sizes),
            ("a, b, c, d, e, f, g", Mistake::TooMany),
            ("3,,4", Mistake::Sizes),
            ("-1", Mistake::Sizes),
            ("(3", Mistake::Sizes),
            ("99999999999999999999999", Mistake::TooLarge),
            ("[[1, 2], [3]]", Mistake::Ragged),
            ("[[1], 2]", Mistake::Ragged),
            ("[1, [2]]:f32", Mistake::Ragged),
            ("[[1, 2", Mistake::Values),
            ("[[1]] 2", Mistake::Values),
            ("[[nan]]", Mistake::Values),
            ("[[j]]", Mistake::Values),
            ("[[1+nanj]]", Mistake::Values),
            ("[[1j]]:f32", Mistake::Values),
            ("[[True, 1]]", Mistake::Values),
            ("[1, 2]:f99", Mistake::DType),
        ] {
            assert_eq!(read(text), Err(mistake), "{text}");
        }
        assert_eq!(read(&"[".repeat(100_000)), Err(Mistake::TooMany));
        assert_eq!(read(&format!("[{}]:f32", "1,".repeat(5000))), Err(Mistake::TooMany));
    }
}
