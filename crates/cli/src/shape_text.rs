//! Owns the SHAPE argument of `zs explain`: `5,1,4,1`, `(5, 1, 4, 1)`, `[5,1,4,1]`, `()`, a file or values,
//! each with an optional `name=` in front. It does not know broadcasting nor how values are written
//! (`value_text.rs`).

use crate::expr::{Problem, Span};
use crate::file_text::names_file;
use crate::name_text::{is_name, split_name};
use crate::words::say;

/// A parsed SHAPE argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShapeText {
    /// The name before `=`.
    pub(crate) name: Option<String>,
    /// The sizes, or what has them.
    pub(crate) sizes: Sizes,
}

/// Sizes, or what has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sizes {
    /// The sizes.
    Given(Vec<usize>),
    /// Sizes of which some are names, as in `n,1`.
    Symbolic(Vec<String>),
    /// An array in a file, whose header has them.
    File(String),
    /// Values, which start at this byte of the argument.
    Values(usize),
}

impl ShapeText {
    /// Parses a SHAPE argument.
    pub(crate) fn parse(text: &str) -> Result<ShapeText, Problem> {
        let (name, rest, start) =
            split_name(text).map_or((None, text, 0), |(name, rest, start)| (Some(name), rest, start));
        let sizes = match rest {
            file if names_file(file) => Sizes::File(file.to_owned()),
            values if is_values(values) => Sizes::Values(start),
            rest => sizes(rest).map_err(|problem| problem.shifted(start))?,
        };
        Ok(ShapeText { name: name.map(str::to_owned), sizes })
    }
}

/// Whether a text is values rather than sizes, which have no nesting and no dtype: `[[1, 2]]`, `[1, 2]:i64`,
/// `5:i64`.
fn is_values(text: &str) -> bool {
    let nested = text.trim_start().strip_prefix('[').is_some_and(|inner| inner.trim_start().starts_with('['));
    nested || text.contains(':')
}

fn sizes(text: &str) -> Result<Sizes, Problem> {
    let all = Span::from(0..text.len());
    let help = || say!("shape-is-written");
    let trimmed = text.trim();
    let brackets = [('(', ')'), ('[', ']')].into_iter().find(|(open, _)| trimmed.starts_with(*open));
    let inner = match brackets {
        Some((open, close)) => match trimmed[1..].strip_suffix(close) {
            Some(inner) => inner,
            None => {
                let message = say!("never-closed-by", open = open.to_string(), close = close.to_string());
                return Err(Problem::new(message, all).help(help()));
            }
        },
        None => trimmed,
    };
    if inner.trim().is_empty() {
        return match brackets {
            Some(_) => Ok(Sizes::Given(Vec::new())),
            None => Err(Problem::new(say!("empty-shape"), all).help(help())),
        };
    }
    let inner = inner.trim_end();
    // As in Python, a comma may follow the last size: `(3,)`.
    let inner = inner.strip_suffix(',').unwrap_or(inner);
    let mut start = text.find(inner).unwrap_or_default();
    let (mut sizes, mut texts, mut has_names) = (Vec::new(), Vec::new(), false);
    for piece in inner.split(',') {
        let size = piece.trim();
        let at = start + (piece.len() - piece.trim_start().len());
        let span = Span::from(at..at + size.len());
        texts.push(size.to_owned());
        if is_name(size) && !PYTHONS.contains(&size) {
            has_names = true;
        } else {
            sizes.push(self::size(size).map_err(|message| Problem::new(message, span).help(help()))?);
        }
        start += piece.len() + 1;
    }
    Ok(if has_names { Sizes::Symbolic(texts) } else { Sizes::Given(sizes) })
}

/// Names that are no sizes.
const PYTHONS: [&str; 3] = ["True", "False", "None"];

fn size(text: &str) -> Result<usize, String> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse::<usize>() {
        Ok(size) if digits => Ok(size),
        Err(_) if digits => Err(say!("size-too-large")),
        _ if text.is_empty() => Err(say!("size-missing")),
        _ if text.starts_with('-') => Err(say!("size-negative")),
        _ if text.starts_with(['[', '(']) || text.ends_with([']', ')']) => Err(say!("sizes-do-not-nest")),
        _ if text.split_ascii_whitespace().all(|word| word.bytes().all(|byte| byte.is_ascii_digit())) => {
            Err(say!("sizes-and-commas"))
        }
        _ => Err(say!("size-is-whole")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_read_in_every_notation() {
        for (text, sizes) in [
            ("5,1,4,1", &[5, 1, 4, 1][..]),
            ("(5, 1, 4, 1)", &[5, 1, 4, 1]),
            ("[5,1,4,1]", &[5, 1, 4, 1]),
            (" ( 5 , 1 ) ", &[5, 1]),
            ("()", &[]),
            ("[ ]", &[]),
            ("7", &[7]),
            ("(7,)", &[7]),
            ("7,", &[7]),
            ("0,3", &[0, 3]),
        ] {
            let given = Sizes::Given(sizes.to_vec());
            assert_eq!(ShapeText::parse(text).unwrap(), ShapeText { name: None, sizes: given.clone() });
            let named = ShapeText::parse(&format!("x_1={text}")).unwrap();
            assert_eq!(named, ShapeText { name: Some("x_1".to_owned()), sizes: given });
        }
        let symbolic = ShapeText::parse("x=(n, 1)").unwrap().sizes;
        assert_eq!(symbolic, Sizes::Symbolic(vec!["n".to_owned(), "1".to_owned()]));
        let file = ShapeText::parse("w=m.safetensors:weight").unwrap();
        assert_eq!(file.sizes, Sizes::File("m.safetensors:weight".to_owned()));
        for (text, start) in [("[[1, 2]]", 0), ("x= [ [1], [2]]:f32", 2), ("n=5:i64", 2), ("[1, 2]:i64", 0)] {
            assert_eq!(ShapeText::parse(text).unwrap().sizes, Sizes::Values(start), "{text}");
        }
    }

    #[test]
    fn a_mistake_is_underlined_alone() {
        for (text, underlined, message) in [
            ("", "", "the shape is empty"),
            ("x=", "", "the shape is empty"),
            ("-1,3", "-1", "a size cannot be negative"),
            ("3, True", "True", "a size is a whole number"),
            ("(3,4L)", "4L", "a size is a whole number"),
            ("3,[4]", "[4]", "sizes do not nest"),
            (
                "100000000000000000000000000",
                "100000000000000000000000000",
                "this size is too large for any tensor",
            ),
            ("5,,4", "", "a size is missing here"),
            (",", "", "a size is missing here"),
            ("5 1 4", "5 1 4", "sizes are separated by commas"),
            ("x=2, 5x3", "5x3", "a size is a whole number"),
            ("+3", "+3", "a size is a whole number"),
            ("(3,4", "(3,4", "this `(` is never closed by a `)`"),
            ("3,4)", "4)", "sizes do not nest"),
            ("größe", "größe", "a size is a whole number"),
        ] {
            let problem = ShapeText::parse(text).expect_err(text);
            assert_eq!(
                (problem.message.as_str(), &text[problem.span.start..problem.span.end]),
                (message, underlined),
                "{text}"
            );
        }
    }
}
