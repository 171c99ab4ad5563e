//! Owns the parsing of an NPY header, a Python literal such as
//! `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}`. It evaluates nothing and reads each byte
//! once. It does not know what a `descr` means (`npy.rs`).

use std::borrow::Cow;

use zerostride_shape::MAX_RANK;

use crate::error::file::{Excerpt, Problem};

/// What an NPY header says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NpyHeader<'a> {
    pub(super) descr: Descr<'a>,
    pub(super) fortran_order: bool,
    pub(super) shape: Vec<usize>,
}

/// A dtype in NumPy's notation.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Descr<'a> {
    /// A string, as in `<f4`.
    Simple(&'a str),
    /// The source text of anything else: records and sub-arrays.
    Structured(Cow<'a, str>),
}

/// The deepest nesting of lists and tuples in a `descr`; NumPy's own records rarely have three levels.
const MOST_NESTED_LISTS: usize = 32;

/// Parses the literal in `text`, which starts at byte `start` of the file.
pub(super) fn parse(text: &[u8], start: u64) -> Result<NpyHeader<'_>, Problem> {
    let mut parser = Parser { text, position: 0, start };
    let mut descr = None;
    let mut fortran_order = None;
    let mut shape = None;

    parser.expect(b'{', "a Python dictionary, `{`")?;
    while !parser.accept(b'}') {
        let at = parser.next_position();
        let key = parser.string()?;
        parser.expect(b':', "`:`")?;
        let repeated = match key {
            "descr" => descr.replace(parser.descr()?).is_some(),
            "fortran_order" => fortran_order.replace(parser.boolean()?).is_some(),
            "shape" => shape.replace(parser.shape()?).is_some(),
            _ => return Err(parser.error_at(at, format!("unknown key `{}`", Excerpt(key)))),
        };
        if repeated {
            return Err(parser.error_at(at, format!("the key `{key}` is given twice")));
        }
        if !parser.accept(b',') {
            parser.expect(b'}', "`,` or `}`")?;
            break;
        }
    }
    let end = parser.next_position();
    if end < text.len() {
        return Err(parser.error_at(end, "text follows the dictionary"));
    }
    let missing = |key: &str| parser.error_at(end, format!("the key `{key}` is missing"));
    Ok(NpyHeader {
        descr: descr.ok_or_else(|| missing("descr"))?,
        fortran_order: fortran_order.ok_or_else(|| missing("fortran_order"))?,
        shape: shape.ok_or_else(|| missing("shape"))?,
    })
}

struct Parser<'a> {
    text: &'a [u8],
    position: usize,
    start: u64,
}

impl<'a> Parser<'a> {
    fn error_at(&self, position: usize, reason: impl Into<String>) -> Problem {
        Problem::Header { offset: self.start + position as u64, reason: reason.into() }
    }

    fn unexpected(&mut self, wanted: &str) -> Problem {
        let position = self.next_position();
        let found = match self.text.get(position) {
            Some(&byte) if byte.is_ascii_graphic() => format!("`{}`", char::from(byte)),
            Some(byte) => format!("`{}`", byte.escape_ascii()),
            None => "the end of the header".to_owned(),
        };
        self.error_at(position, format!("expected {wanted}, found {found}"))
    }

    /// Skips white space, and returns the position after it.
    fn next_position(&mut self) -> usize {
        while self
            .text
            .get(self.position)
            .is_some_and(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0c))
        {
            self.position += 1;
        }
        self.position
    }

    fn peek(&mut self) -> Option<u8> {
        let position = self.next_position();
        self.text.get(position).copied()
    }

    fn accept(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.position += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8, wanted: &str) -> Result<(), Problem> {
        if self.accept(byte) { Ok(()) } else { Err(self.unexpected(wanted)) }
    }

    /// The longest run of bytes from the current position that `belongs` accepts.
    fn run(&mut self, belongs: impl Fn(&u8) -> bool) -> &'a [u8] {
        let rest = &self.text[self.position..];
        let length = rest.iter().position(|byte| !belongs(byte)).unwrap_or(rest.len());
        self.position += length;
        &rest[..length]
    }

    /// A string without escapes, which NumPy writes for every dtype that zerostride has.
    fn string(&mut self) -> Result<&'a str, Problem> {
        let Some(quote @ (b'\'' | b'"')) = self.peek() else { return Err(self.unexpected("a string")) };
        self.position += 1;
        let begin = self.position;
        let content = self.run(|&byte| byte != quote && byte != b'\\' && byte != b'\n');
        if self.text.get(self.position) != Some(&quote) {
            return Err(self.unexpected("the end of the string"));
        }
        self.position += 1;
        str::from_utf8(content).map_err(|_| self.error_at(begin, "the string is not UTF-8"))
    }

    fn boolean(&mut self) -> Result<bool, Problem> {
        self.next_position();
        let begin = self.position;
        match self.run(u8::is_ascii_alphanumeric) {
            b"True" => Ok(true),
            b"False" => Ok(false),
            _ => {
                self.position = begin;
                Err(self.unexpected("True or False"))
            }
        }
    }

    /// A tuple of sizes. Python 2 wrote `4L` for a long integer, which NumPy still reads.
    fn shape(&mut self) -> Result<Vec<usize>, Problem> {
        let begin = self.next_position();
        self.expect(b'(', "a tuple of sizes, `(`")?;
        let mut sizes = Vec::new();
        while !self.accept(b')') {
            if sizes.len() == MAX_RANK {
                return Err(self.error_at(begin, format!("the shape has more than {MAX_RANK} dimensions")));
            }
            sizes.push(self.size()?);
            if !self.accept(b',') {
                self.expect(b')', "`,` or `)`")?;
                if sizes.len() == 1 {
                    return Err(self.error_at(
                        begin,
                        "the shape is a number in parentheses, not a tuple; expected `(n,)`",
                    ));
                }
                break;
            }
        }
        Ok(sizes)
    }

    fn size(&mut self) -> Result<usize, Problem> {
        let begin = self.next_position();
        if self.peek() == Some(b'-') {
            return Err(self.error_at(begin, "a size is negative"));
        }
        let digits = self.run(u8::is_ascii_digit);
        let canonical = digits == b"0" || digits.first().is_some_and(|&digit| digit != b'0');
        if !canonical {
            self.position = begin;
            return Err(self.unexpected("a size, a decimal number"));
        }
        if self.text.get(self.position) == Some(&b'L') {
            self.position += 1;
        }
        digits
            .iter()
            .try_fold(0usize, |size, digit| size.checked_mul(10)?.checked_add(usize::from(digit - b'0')))
            .ok_or_else(|| self.error_at(begin, "a size is too large"))
    }

    fn descr(&mut self) -> Result<Descr<'a>, Problem> {
        if matches!(self.peek(), Some(b'\'' | b'"')) {
            return self.string().map(Descr::Simple);
        }
        let begin = self.next_position();
        self.skip_nested()?;
        Ok(Descr::Structured(String::from_utf8_lossy(&self.text[begin..self.position])))
    }

    /// Skips the nested lists and tuples of strings and numbers that describe a record. Only brackets and
    /// strings are checked, since arrays of records are never read.
    fn skip_nested(&mut self) -> Result<(), Problem> {
        let mut open = Vec::with_capacity(MOST_NESTED_LISTS);
        loop {
            let at = self.next_position();
            match self.peek() {
                Some(byte @ (b'[' | b'(')) => {
                    if open.len() == MOST_NESTED_LISTS {
                        return Err(self
                            .error_at(at, format!("lists nest more than {MOST_NESTED_LISTS} levels deep")));
                    }
                    open.push(if byte == b'[' { b']' } else { b')' });
                    self.position += 1;
                }
                Some(byte @ (b']' | b')')) if open.last() == Some(&byte) => {
                    open.pop();
                    self.position += 1;
                }
                Some(b'\'' | b'"') if !open.is_empty() => self.skip_string()?,
                Some(b',' | b'0'..=b'9') if !open.is_empty() => self.position += 1,
                _ => return Err(self.unexpected("a dtype, as in '<f4'")),
            }
            if open.is_empty() {
                return Ok(());
            }
        }
    }

    /// Skips a string with its escapes: field names may be anything.
    fn skip_string(&mut self) -> Result<(), Problem> {
        let quote = self.text[self.position];
        self.position += 1;
        loop {
            self.run(|&byte| byte != quote && byte != b'\\');
            match self.text.get(self.position) {
                Some(b'\\') => self.position = self.text.len().min(self.position + 2),
                Some(_) => {
                    self.position += 1;
                    return Ok(());
                }
                None => return Err(self.unexpected("the end of the string")),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(sizes: &str) -> Result<Vec<usize>, String> {
        let text = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {sizes}, }}   \n");
        parse(text.as_bytes(), 10).map(|header| header.shape).map_err(|problem| problem.to_string())
    }

    #[test]
    fn every_spelling_of_a_shape_that_numpy_writes_is_read() {
        assert_eq!(shape("()"), Ok(vec![]));
        assert_eq!(shape("(3,)"), Ok(vec![3]));
        assert_eq!(shape("(2, 3)"), Ok(vec![2, 3]));
        assert_eq!(shape("( 2,3 ,)"), Ok(vec![2, 3]));
        assert_eq!(shape("(0, 18446744073709551615)"), Ok(vec![0, usize::MAX]));
        assert_eq!(shape("(4L, 5L)"), Ok(vec![4, 5]));
    }

    #[test]
    fn any_other_shape_is_refused_with_its_place() {
        for (sizes, expected) in [
            ("(-1,)", "header, byte 61: a size is negative"),
            ("(True,)", "header, byte 61: expected a size, a decimal number, found `T`"),
            ("(4l,)", "header, byte 62: expected `,` or `)`, found `l`"),
            ("(4LL,)", "header, byte 63: expected `,` or `)`, found `L`"),
            ("[4]", "header, byte 60: expected a tuple of sizes, `(`, found `[`"),
            ("4", "header, byte 60: expected a tuple of sizes, `(`, found `4`"),
            ("(4)", "header, byte 60: the shape is a number in parentheses, not a tuple; expected `(n,)`"),
            ("(04,)", "header, byte 61: expected a size, a decimal number, found `0`"),
            ("(0x4,)", "header, byte 62: expected `,` or `)`, found `x`"),
            ("(1_0,)", "header, byte 62: expected `,` or `)`, found `_`"),
            ("(4.0,)", "header, byte 62: expected `,` or `)`, found `.`"),
            ("(,)", "header, byte 61: expected a size, a decimal number, found `,`"),
            ("(2 3)", "header, byte 63: expected `,` or `)`, found `3`"),
            ("(100000000000000000000000000,)", "header, byte 61: a size is too large"),
            ("(18446744073709551616,)", "header, byte 61: a size is too large"),
            ("None", "header, byte 60: expected a tuple of sizes, `(`, found `N`"),
            ("((1,), 2)", "header, byte 61: expected a size, a decimal number, found `(`"),
        ] {
            assert_eq!(shape(sizes), Err(expected.to_owned()), "{sizes}");
        }
    }

    #[test]
    fn rank_64_is_the_last_one_read() {
        let ones = |count: usize| format!("({})", "1,".repeat(count));
        assert_eq!(shape(&ones(64)), Ok(vec![1; 64]));
        for count in [65, 100_000] {
            assert_eq!(
                shape(&ones(count)),
                Err("header, byte 60: the shape has more than 64 dimensions".into())
            );
        }
    }

    #[test]
    fn a_header_must_be_the_dictionary_and_nothing_else() {
        for (text, expected) in [
            ("", "header, byte 10: expected a Python dictionary, `{`, found the end of the header"),
            ("[]", "header, byte 10: expected a Python dictionary, `{`, found `[`"),
            ("{}", "header, byte 12: the key `descr` is missing"),
            ("{'descr': '<f4'}", "header, byte 26: the key `fortran_order` is missing"),
            (
                "{'descr': '<f4', 'fortran_order': True",
                "header, byte 48: expected `,` or `}`, found the end of the header",
            ),
            ("{'descr': '<f4', 'descr': '<f4'}", "header, byte 27: the key `descr` is given twice"),
            ("{'shape': (), 'shape': ()}", "header, byte 24: the key `shape` is given twice"),
            ("{'color': 1}", "header, byte 11: unknown key `color`"),
            ("{descr: 1}", "header, byte 11: expected a string, found `d`"),
            ("{'descr' '<f4'}", "header, byte 19: expected `:`, found `'`"),
            ("{'descr': '<f4\\x41'}", "header, byte 24: expected the end of the string, found `\\`"),
            (
                "{'descr': '<f4",
                "header, byte 24: expected the end of the string, found the end of the header",
            ),
            ("{'descr': f4}", "header, byte 20: expected a dtype, as in '<f4', found `f`"),
            ("{'fortran_order': 0}", "header, byte 28: expected True or False, found `0`"),
            ("{'fortran_order': Truely}", "header, byte 28: expected True or False, found `T`"),
            (
                "{'descr': '<f4', 'fortran_order': True, 'shape': ()} x",
                "header, byte 63: text follows the dictionary",
            ),
            (
                "{'descr': '<f4', 'fortran_order': True, 'shape': ()}\0",
                "header, byte 62: text follows the dictionary",
            ),
            ("{'\u{0}\u{ff}': 1}", "header, byte 11: unknown key `\\u{0}ÿ`"),
        ] {
            assert_eq!(parse(text.as_bytes(), 10).unwrap_err().to_string(), expected, "{text}");
        }
    }

    #[test]
    fn records_are_kept_as_text() {
        for text in ["[('a', '<f4'), ('b', '|u1', (2, 3))]", r"[('it\'s', '<f4')]", "('<f4', (2,))", "[]"] {
            let header = format!("{{'descr': {text}, 'fortran_order': False, 'shape': (1,)}}");
            assert_eq!(parse(header.as_bytes(), 10).unwrap().descr, Descr::Structured(text.into()));
        }
    }

    #[test]
    fn nesting_costs_no_stack_and_ends_early() {
        for (text, expected) in [
            (
                format!("{{'descr': {}", "(".repeat(2000)),
                "header, byte 52: lists nest more than 32 levels deep",
            ),
            (
                format!("{{'shape': {}", "(".repeat(2000)),
                "header, byte 21: expected a size, a decimal number, found `(`",
            ),
            ("(".repeat(2000), "header, byte 10: expected a Python dictionary, `{`, found `(`"),
            ("{'descr': [(]}".into(), "header, byte 22: expected a dtype, as in '<f4', found `]`"),
            ("{'descr': [lambda: 0]}".into(), "header, byte 21: expected a dtype, as in '<f4', found `l`"),
            (
                "{'descr': ['\\".into(),
                "header, byte 23: expected the end of the string, found the end of the header",
            ),
        ] {
            assert_eq!(parse(text.as_bytes(), 10).unwrap_err().to_string(), expected, "{text:.20}");
        }
    }
}
