//! Owns the grammar: Python's precedence of operators, calls, methods, indexing. It does not know what names
//! mean.
//!
//! Operators are parsed by precedence climbing. The recursion is as deep as brackets and prefixes nest, which
//! is limited, so no text can overflow the stack. A chain of operators may have any length: the tree is a
//! list, and the engine does not recurse over it.

use zerostride::{Op, Scalar};

use super::ast::{Argument, Ast, Binary, Call, Item, Kind, Name, Node, NodeId};
use super::lexer::{Lexer, Token, TokenKind, too_large};
use super::{Problem, Span};
use crate::words::{say, write_instead};

/// The deepest nesting of brackets, prefixes and exponents.
pub const MAX_NESTING: usize = 200;
/// The most nodes of an expression.
pub const MAX_NODES: usize = 1 << 20;

/// The precedence of a prefix: above `*`, below `**`.
const PREFIX: u8 = 8;
const COMPARISON: u8 = 1;

/// Parses an expression.
///
/// # Errors
/// The text is not an expression, or exceeds one of the limits.
///
/// ```
/// use zerostride_cli::expr::{Kind, parse};
///
/// let ast = parse("-x ** 2")?;
/// assert!(matches!(ast[ast.root()].kind, Kind::Unary(..)));
///
/// let problem = parse("(x + 1").unwrap_err();
/// assert_eq!((problem.message.as_str(), problem.span), ("this `(` is never closed", (0..1).into()));
/// # Ok::<(), zerostride_cli::expr::Problem>(())
/// ```
pub fn parse(source: &str) -> Result<Ast, Problem> {
    match parse_results(source)? {
        (ast, None) => Ok(ast),
        (_, Some(comma)) => Err(Problem::new(say!("operator-not-comma"), comma)),
    }
}

/// As [`parse`], but several expressions separated by commas are a tuple of them; where the first comma is.
///
/// # Errors
/// As [`parse`].
pub(crate) fn parse_results(source: &str) -> Result<(Ast, Option<Span>), Problem> {
    let mut lexer = Lexer::new(source);
    let next = lexer.next()?;
    if next.kind == TokenKind::End {
        return Err(Problem::new(say!("empty-expression"), (0..0).into())
            .help(say!("for-instance", command = ADDITION)));
    }
    let mut parser = Parser { lexer, next, nesting: 0, nodes: Vec::new() };
    let first = parser.expression(0)?;
    let comma = parser.at(",").then_some(parser.next.span);
    if comma.is_some() {
        let (mut items, mut span) = (vec![first.id], first.span);
        while parser.eat(",")?.is_some() && parser.next.kind != TokenKind::End {
            let item = parser.expression(0)?;
            items.push(item.id);
            span = span.to(item.span);
        }
        parser.push(Kind::Tuple(items), span)?;
    }
    match parser.next.kind {
        TokenKind::End => Ok((Ast { nodes: parser.nodes }, comma)),
        _ => Err(parser.unexpected(&say!("an-operator"))),
    }
}

/// A parsed part. Its span includes parentheses around it, which its node's does not.
#[derive(Clone, Copy)]
struct Part {
    id: NodeId,
    span: Span,
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    next: Token<'a>,
    nesting: usize,
    nodes: Vec<Node>,
}

/// The command that messages show.
const ADDITION: &str = "zs eval 'x + 1' x=5";

/// The operation of a symbol between operands, and its precedence.
fn binary(symbol: &str) -> Option<(Binary, u8)> {
    let (op, tightness) = match symbol {
        "==" => (Op::Eq, COMPARISON),
        "!=" => (Op::Ne, COMPARISON),
        "<" => (Op::Lt, COMPARISON),
        "<=" => (Op::Le, COMPARISON),
        ">" => (Op::Gt, COMPARISON),
        ">=" => (Op::Ge, COMPARISON),
        "|" => (Op::BitwiseOr, 2),
        "^" => (Op::BitwiseXor, 3),
        "&" => (Op::BitwiseAnd, 4),
        "<<" => (Op::BitwiseLeftShift, 5),
        ">>" => (Op::BitwiseRightShift, 5),
        "+" => (Op::Add, 6),
        "-" => (Op::Sub, 6),
        "*" => (Op::Mul, 7),
        "/" => (Op::Div, 7),
        "//" => (Op::FloorDivide, 7),
        "%" => (Op::Remainder, 7),
        "@" => return Some((Binary::Matmul, 7)),
        "**" => (Op::Pow, 9),
        _ => return None,
    };
    Some((Binary::Op(op), tightness))
}

fn prefix(symbol: &str) -> Option<Op> {
    match symbol {
        "-" => Some(Op::Neg),
        "+" => Some(Op::Positive),
        "~" => Some(Op::BitwiseNot),
        _ => None,
    }
}

/// Python's keywords that this language does not have, and what to write instead.
#[rustfmt::skip]
fn refused(word: &str) -> Option<String> {
    Some(match word {
        "and" => say!("write-with-parentheses", text = "a & b", other = "logical_and(a, b)"),
        "or" => say!("write-with-parentheses", text = "a | b", other = "logical_or(a, b)"),
        "not" => write_instead(&["`~x`", "logical_not(x)"]),
        "if" | "else" => write_instead(&["where(condition, a, b)"]),
        "is" => write_instead(&["`==`"]),
        "in" | "for" | "lambda" | "while" | "def" | "import" | "return" | "await" | "yield" => say!("one-tensor-from-others"),
        _ => return None,
    })
}

impl<'a> Parser<'a> {
    fn advance(&mut self) -> Result<Token<'a>, Problem> {
        let next = self.lexer.next()?;
        Ok(std::mem::replace(&mut self.next, next))
    }

    fn at(&self, symbol: &str) -> bool {
        matches!(self.next.kind, TokenKind::Symbol(found) if found == symbol)
    }

    fn eat(&mut self, symbol: &str) -> Result<Option<Span>, Problem> {
        if self.at(symbol) { Ok(Some(self.advance()?.span)) } else { Ok(None) }
    }

    fn push(&mut self, kind: Kind, span: Span) -> Result<Part, Problem> {
        if self.nodes.len() >= MAX_NODES {
            return Err(Problem::new(say!("too-many-parts", most = MAX_NODES.to_string()), span)
                .help(say!("numbers-in-a-file")));
        }
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push(Node { kind, span });
        Ok(Part { id, span })
    }

    /// The error for an unexpected token.
    fn unexpected(&self, expected: &str) -> Problem {
        let Token { kind, span } = self.next;
        if let TokenKind::Name(word) = kind
            && let Some(advice) = refused(word)
        {
            return Problem::new(say!("not-of-the-language", text = word), span).help(advice);
        }
        let found = match kind {
            TokenKind::End => return Problem::new(say!("expected-but-end", expected = expected), span),
            TokenKind::Symbol(symbol @ (")" | "]")) => {
                return Problem::new(say!("closes-nothing", symbol = symbol), span);
            }
            TokenKind::Symbol("...") => return Problem::new(say!("ellipsis-in-an-index"), span),
            TokenKind::Symbol(symbol) => format!("`{symbol}`"),
            TokenKind::Name(_) => say!("a-name"),
            TokenKind::Word(_) => say!("a-quoted-word"),
            TokenKind::Int(_) | TokenKind::Float(_) | TokenKind::Imaginary(_) => say!("a-number"),
        };
        let problem = Problem::new(say!("expected", expected = expected, found = found), span);
        match kind {
            TokenKind::Symbol("=") => problem.help(say!("to-compare-write", command = ADDITION)),
            _ => problem,
        }
    }

    /// An expression of operators whose precedence is at least `least`.
    fn expression(&mut self, least: u8) -> Result<Part, Problem> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            let message = say!("nested-too-deep", most = MAX_NESTING.to_string());
            return Err(Problem::new(message, self.next.span));
        }
        let mut left = self.operand()?;
        let mut compared = false;
        while let TokenKind::Symbol(symbol) = self.next.kind {
            let Some((op, tightness)) = binary(symbol) else { break };
            if tightness < least {
                break;
            }
            if tightness == COMPARISON && std::mem::replace(&mut compared, true) {
                return Err(Problem::new(say!("comparisons-do-not-chain"), self.next.span)
                    .help(write_instead(&["`(a < b) & (b < c)`"])));
            }
            self.advance()?;
            // Operators are left-associative, except for `**`, whose exponent may also have a prefix.
            let right = self.expression(if op == Binary::Op(Op::Pow) { PREFIX } else { tightness + 1 })?;
            left = self.push(Kind::Binary(op, left.id, right.id), left.span.to(right.span))?;
        }
        self.nesting -= 1;
        Ok(left)
    }

    /// An operand with its prefix, methods and indices.
    fn operand(&mut self) -> Result<Part, Problem> {
        if let TokenKind::Symbol(symbol) = self.next.kind
            && let Some(op) = prefix(symbol)
        {
            let start = self.advance()?.span;
            if let (Op::Neg, TokenKind::Int(least @ 0x8000_0000_0000_0000..)) = (op, self.next.kind) {
                let digits = self.advance()?.span;
                let span = start.to(digits);
                return match least {
                    0x8000_0000_0000_0000 if self.at("**") => Err(too_large(span)),
                    0x8000_0000_0000_0000 => self.push(Kind::Number(Scalar::Int(i64::MIN)), span),
                    _ => Err(too_large(digits)),
                };
            }
            let operand = self.expression(PREFIX)?;
            return self.push(Kind::Unary(op, operand.id), start.to(operand.span));
        }
        let mut part = self.primary()?;
        loop {
            part = if self.eat(".")?.is_some() {
                self.member(part)?
            } else if self.at("[") {
                self.index(part)?
            } else if self.at("(") {
                let span = self.next.span;
                return Err(Problem::new(say!("only-functions-are-called"), span)
                    .help(say!("to-multiply-write", product = "*")));
            } else {
                return Ok(part);
            }
        }
    }

    fn primary(&mut self) -> Result<Part, Problem> {
        let Token { kind, span } = self.next;
        let leaf = match kind {
            TokenKind::Int(value) => {
                value.try_into().map_or(Kind::Unsigned(value), |value| Kind::Number(Scalar::Int(value)))
            }
            TokenKind::Float(value) => Kind::Number(Scalar::Float(value)),
            TokenKind::Imaginary(value) => {
                Kind::Number(Scalar::Complex(zerostride::Complex64::new(0.0, value)))
            }
            TokenKind::Word(word) => Kind::Word(word.into()),
            TokenKind::Name("True") => Kind::Number(Scalar::Bool(true)),
            TokenKind::Name("False") => Kind::Number(Scalar::Bool(false)),
            TokenKind::Name("None") => Kind::None,
            TokenKind::Name(word) if refused(word).is_some() => {
                return Err(self.unexpected(&say!("an-operand")));
            }
            TokenKind::Name(word) => {
                self.advance()?;
                let function = Name { text: word.into(), span };
                return match self.at("(") {
                    true => self.call(None, function, span),
                    false => self.push(Kind::Name(function.text), span),
                };
            }
            TokenKind::Symbol("(") => return self.parentheses(),
            TokenKind::Symbol("[") => {
                let (items, _, span) = self.sequence("[", "]")?;
                return self.push(Kind::List(items), span);
            }
            TokenKind::Symbol(_) | TokenKind::End => return Err(self.unexpected(&say!("an-operand"))),
        };
        self.advance()?;
        self.push(leaf, span)
    }

    /// `(x)`, or a tuple: `()`, `(x,)`, `(x, y)`.
    fn parentheses(&mut self) -> Result<Part, Problem> {
        let (items, trailing, span) = self.sequence("(", ")")?;
        match items[..] {
            [id] if !trailing => Ok(Part { id, span }),
            _ => self.push(Kind::Tuple(items), span),
        }
    }

    /// Expressions between brackets, and whether a comma follows the last one.
    fn sequence(&mut self, open: &str, close: &'static str) -> Result<(Vec<NodeId>, bool, Span), Problem> {
        let start = self.advance()?.span;
        let mut items = Vec::new();
        let mut trailing = false;
        while !self.at(close) {
            self.check_open(open, start)?;
            items.push(self.expression(0)?.id);
            trailing = self.eat(",")?.is_some();
            if !trailing {
                break;
            }
        }
        let end = self.close(open, start, close)?;
        Ok((items, trailing, start.to(end)))
    }

    /// Reports an opening bracket if the text ends after it.
    fn check_open(&self, open: &str, start: Span) -> Result<(), Problem> {
        match self.next.kind {
            TokenKind::End => Err(Problem::new(say!("never-closed", open = open), start)),
            _ => Ok(()),
        }
    }

    fn close(&mut self, open: &str, start: Span, close: &'static str) -> Result<Span, Problem> {
        self.check_open(open, start)?;
        match self.next.kind {
            TokenKind::Symbol(found) if found == close => Ok(self.advance()?.span),
            TokenKind::Symbol(other @ (")" | "]")) => {
                Err(Problem::new(say!("does-not-close", other = other, open = open), self.next.span))
            }
            _ => Err(self.unexpected(&say!("either-sign", one = ",", other = close))),
        }
    }

    /// `.name` or `.name(...)`, after the dot.
    fn member(&mut self, receiver: Part) -> Result<Part, Problem> {
        let TokenKind::Name(text) = self.next.kind else {
            return Err(self.unexpected(&say!("a-method-name")));
        };
        let name = Name { text: text.into(), span: self.advance()?.span };
        if self.at("(") {
            return self.call(Some(receiver.id), name, receiver.span);
        }
        let span = receiver.span.to(name.span);
        self.push(Kind::Attribute(receiver.id, name), span)
    }

    /// A call whose name has been parsed, from the parenthesis on; `start` is where it began.
    fn call(&mut self, receiver: Option<NodeId>, function: Name, start: Span) -> Result<Part, Problem> {
        let open = self.advance()?.span;
        let mut arguments: Vec<Argument> = Vec::new();
        while !self.at(")") {
            self.check_open("(", open)?;
            let argument = self.argument()?;
            if argument.keyword.is_none() && arguments.last().is_some_and(|last| last.keyword.is_some()) {
                let span = self.nodes[argument.value.index()].span;
                return Err(Problem::new(say!("argument-without-name"), span));
            }
            arguments.push(argument);
            if self.eat(",")?.is_none() {
                break;
            }
        }
        let end = self.close("(", open, ")")?;
        self.push(Kind::Call(Box::new(Call { receiver, function, arguments })), start.to(end))
    }

    fn argument(&mut self) -> Result<Argument, Problem> {
        let value = self.expression(0)?;
        if !self.at("=") || self.nodes[value.id.index()].span != value.span {
            return Ok(Argument { keyword: None, value: value.id });
        }
        // A name before `=` was parsed as an operand, and is the last node.
        match self.nodes.pop() {
            Some(Node { kind: Kind::Name(text), span }) => {
                self.advance()?;
                let value = self.expression(0)?;
                Ok(Argument { keyword: Some(Name { text, span }), value: value.id })
            }
            _ => Err(self.unexpected(&say!("either-sign", one = ",", other = ")"))),
        }
    }

    fn index(&mut self, receiver: Part) -> Result<Part, Problem> {
        let open = self.advance()?.span;
        let mut items = Vec::new();
        while !self.at("]") {
            self.check_open("[", open)?;
            items.push(self.item()?);
            if self.eat(",")?.is_none() {
                break;
            }
        }
        let end = self.close("[", open, "]")?;
        if items.is_empty() {
            return Err(Problem::new(say!("index-missing"), open.to(end)).help(say!("all-elements")));
        }
        self.push(Kind::Index(receiver.id, items), receiver.span.to(end))
    }

    fn item(&mut self) -> Result<Item, Problem> {
        if let Some(span) = self.eat("...")? {
            return Ok(Item::Ellipsis(span));
        }
        let mut span = self.next.span;
        let mut parts = [None; 3];
        for (place, part) in parts.iter_mut().enumerate() {
            let absent = [":", ",", "]"].iter().any(|symbol| self.at(symbol));
            if !absent {
                let found = self.expression(0)?;
                span = span.to(found.span);
                *part = Some(found.id);
            }
            match self.eat(":")? {
                Some(_) if place == 2 => return Err(Problem::new(say!("slice-has-three-parts"), span)),
                Some(colon) => span = span.to(colon),
                None if place > 0 => break,
                None => match *part {
                    Some(id) => return Ok(Item::At(id)),
                    None => return Err(self.unexpected(&say!("an-index"))),
                },
            }
        }
        Ok(Item::Slice { parts, span })
    }
}
