//! Owns the tokens of the language: numbers, names, quoted words, symbols. It does not know the grammar
//! (`parser.rs`).

use super::{Problem, Span};
use crate::words::{say, write_instead};

/// A token and its span.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Token<'a> {
    pub(super) kind: TokenKind<'a>,
    pub(super) span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum TokenKind<'a> {
    /// From 2^63 on only `u64` holds it; 2^63 itself fits an `i64` with a minus in front.
    Int(u64),
    Float(f64),
    Imaginary(f64),
    Name(&'a str),
    Word(&'a str),
    Symbol(&'static str),
    End,
}

/// The symbols, longer ones first.
#[rustfmt::skip]
const SYMBOLS: [&str; 29] = [
    "...",
    "**", "//", "<<", ">>", "==", "!=", "<=", ">=",
    "+", "-", "*", "/", "%", "@", "&", "|", "^", "~", "<", ">", "(", ")", "[", "]", ",", ":", ".", "=",
];

/// Symbols of other languages, and what to write instead; nothing where a straight quote is meant.
#[rustfmt::skip]
const FOREIGN: [(&str, &[&str]); 13] = [
    ("&&", &["`&`", "logical_and(a, b)"]), ("||", &["`|`", "logical_or(a, b)"]), ("!", &["`~x`", "logical_not(x)"]),
    ("×", &["`*`"]), ("·", &["`*`"]), ("÷", &["`/`"]), ("−", &["`-`"]), ("–", &["`-`"]),
    ("≤", &["`<=`"]), ("≥", &["`>=`"]), ("≠", &["`!=`"]),
    ("‘", &[]), ("’", &[]),
];

/// Reads one token after the other; after the last one, [`TokenKind::End`].
pub(super) struct Lexer<'a> {
    source: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(source: &'a str) -> Self {
        Lexer { source, at: 0 }
    }

    pub(super) fn next(&mut self) -> Result<Token<'a>, Problem> {
        let rest = &self.source[self.at..];
        let rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace());
        self.at = self.source.len() - rest.len();
        let start = self.at;
        let kind = match rest.as_bytes() {
            [] => TokenKind::End,
            [b'0'..=b'9', ..] | [b'.', b'0'..=b'9', ..] => self.number()?,
            [b'a'..=b'z' | b'A'..=b'Z' | b'_', ..] => TokenKind::Name(self.name()?),
            [b'\'' | b'"', ..] => TokenKind::Word(self.word()?),
            _ => TokenKind::Symbol(self.symbol()?),
        };
        Ok(Token { kind, span: (start..self.at).into() })
    }

    /// Takes characters while they satisfy the condition.
    fn take(&mut self, condition: impl Fn(char) -> bool) -> &'a str {
        let rest = &self.source[self.at..];
        let taken = &rest[..rest.find(|c| !condition(c)).unwrap_or(rest.len())];
        self.at += taken.len();
        taken
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.source.as_bytes().get(self.at) == Some(&byte);
        self.at += usize::from(found);
        found
    }

    fn name(&mut self) -> Result<&'a str, Problem> {
        let start = self.at;
        let name = self.take(|c| c.is_alphanumeric() || c == '_');
        if name.is_ascii() {
            return Ok(name);
        }
        Err(Problem::new(say!("names-are-ascii"), (start..self.at).into()))
    }

    fn word(&mut self) -> Result<&'a str, Problem> {
        let start = self.at;
        let quote = if self.source.as_bytes()[start] == b'"' { '"' } else { '\'' };
        self.at += 1;
        let word = self.take(|c| c != quote && c != '\\' && c != '\n');
        if self.eat(quote as u8) {
            return Ok(word);
        }
        let span = (start..self.at).into();
        Err(match self.source[self.at..].starts_with('\\') {
            true => Problem::new(say!("no-escapes"), span),
            false => Problem::new(say!("quote-never-closed"), span),
        })
    }

    fn symbol(&mut self) -> Result<&'static str, Problem> {
        let rest = &self.source[self.at..];
        if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            // `&&` would be two symbols, which is never meant.
            if !(rest.starts_with("&&") || rest.starts_with("||")) {
                self.at += symbol.len();
                return Ok(symbol);
            }
        }
        let start = self.at;
        if let Some((foreign, instead)) = FOREIGN.iter().find(|(foreign, _)| rest.starts_with(foreign)) {
            let span = (start..start + foreign.len()).into();
            let advice = match instead {
                [] => say!("write-a-straight-quote"),
                texts => write_instead(texts),
            };
            return Err(Problem::new(say!("not-of-the-language", text = *foreign), span).help(advice));
        }
        // A letter of another script: the error is about the whole name, not its first letter.
        if rest.starts_with(char::is_alphanumeric) {
            self.name()?;
        }
        let odd = rest.chars().next().unwrap_or_default();
        Err(Problem::new(
            say!("unexpected-character", character = odd.escape_debug().to_string()),
            (start..start + odd.len_utf8()).into(),
        ))
    }

    fn number(&mut self) -> Result<TokenKind<'a>, Problem> {
        let start = self.at;
        let digit = |c: char| c.is_ascii_digit() || c == '_';
        let whole = self.take(digit);
        let point = self.eat(b'.');
        self.take(digit);
        let exponent = self.exponent();
        let text = &self.source[start..self.at];
        let imaginary = self.eat(b'j') || self.eat(b'J');

        let tail = self.take(|c| c.is_alphanumeric() || c == '_');
        let span = (start..self.at).into();
        if !tail.is_empty() {
            let product = format!("{} * {}", brief(text), brief(tail));
            let advice = say!("to-multiply-write", product = product);
            return Err(Problem::new(say!("number-runs-into-name"), span).help(advice));
        }
        let lonely = |(at, byte): (usize, &u8)| {
            let neighbour =
                |at: Option<usize>| at.and_then(|at| text.as_bytes().get(at)).is_some_and(u8::is_ascii_digit);
            *byte == b'_' && !(neighbour(at.checked_sub(1)) && neighbour(Some(at + 1)))
        };
        if text.bytes().enumerate().any(|(at, byte)| lonely((at, &byte))) {
            return Err(Problem::new(say!("underscore-between-digits"), span));
        }

        let digits = text.replace('_', "");
        if point || exponent || imaginary {
            let unreadable = |_| Problem::new(say!("unreadable-number"), span);
            let value: f64 = digits.parse().map_err(unreadable)?;
            if value.is_infinite() {
                return Err(Problem::new(say!("number-too-large"), span).help(say!("infinity-is-inf")));
            }
            return Ok(if imaginary { TokenKind::Imaginary(value) } else { TokenKind::Float(value) });
        }
        if whole.starts_with('0') && whole.bytes().any(|byte| matches!(byte, b'1'..=b'9')) {
            return Err(Problem::new(say!("no-leading-zero"), span));
        }
        match digits.parse() {
            Ok(value) => Ok(TokenKind::Int(value)),
            Err(_) => Err(too_large(span)),
        }
    }

    /// Takes `e-5`, if that is what follows.
    fn exponent(&mut self) -> bool {
        let bytes = &self.source.as_bytes()[self.at..];
        let sign = usize::from(matches!(bytes.get(1), Some(b'+' | b'-')));
        let found =
            matches!(bytes.first(), Some(b'e' | b'E')) && bytes.get(1 + sign).is_some_and(u8::is_ascii_digit);
        if found {
            self.at += 1 + sign;
            self.take(|c| c.is_ascii_digit() || c == '_');
        }
        found
    }
}

pub(super) fn too_large(span: Span) -> Problem {
    Problem::new(say!("integer-too-large"), span).help(say!("float-has-a-point"))
}

/// A text short enough to be repeated in a message.
fn brief(text: &str) -> String {
    match text.char_indices().nth(20) {
        Some((cut, _)) => format!("{}...", &text[..cut]),
        None => text.to_owned(),
    }
}
