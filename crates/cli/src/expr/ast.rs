//! Owns the syntax tree of an expression. It does not know how it is parsed (`parser.rs`) nor what its names
//! mean.
//!
//! The nodes are in one list, operands before the nodes that use them: a walk over the tree is a loop over
//! the list, and neither a walk nor dropping the tree can overflow the stack.

use std::ops::Index;

use zerostride::{Op, Scalar};

use super::Span;

/// The position of a node in its [`Ast`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeId(pub(super) u32);

impl NodeId {
    /// The position as an index into [`Ast::nodes`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A parsed expression of at least one node.
#[derive(Clone, Debug, PartialEq)]
pub struct Ast {
    pub(super) nodes: Vec<Node>,
}

impl Ast {
    /// The nodes, operands before the nodes that use them; the last one is the whole expression.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The whole expression.
    pub fn root(&self) -> NodeId {
        NodeId(self.nodes.len() as u32 - 1)
    }
}

impl Index<NodeId> for Ast {
    type Output = Node;

    fn index(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }
}

/// A part of an expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What it is.
    pub kind: Kind,
    /// Its span, without parentheses around it.
    pub span: Span,
}

/// What a node is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A number, `True` or `False`.
    Number(Scalar),
    /// An integer from 2^63 on, which only u64 holds.
    Unsigned(u64),
    /// `None`.
    None,
    /// A quoted word.
    Word(Box<str>),
    /// A name.
    Name(Box<str>),
    /// `[1, 2]`
    List(Vec<NodeId>),
    /// `(1, 2)`
    Tuple(Vec<NodeId>),
    /// `-x`
    Unary(Op, NodeId),
    /// `x + y`
    Binary(Binary, NodeId, NodeId),
    /// `f(x)` or `x.f()`
    Call(Box<Call>),
    /// `x.f`
    Attribute(NodeId, Name),
    /// `x[0]`
    Index(NodeId, Vec<Item>),
}

/// An operator between two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    /// An operation of the table.
    Op(Op),
    /// `@`
    Matmul,
}

/// A call of a function, or of a method with its receiver.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The value before the dot.
    pub receiver: Option<NodeId>,
    /// The function or method.
    pub function: Name,
    /// The arguments in the parentheses.
    pub arguments: Vec<Argument>,
}

/// A name that is not an operand: of a function, a method, a keyword.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The name.
    pub text: Box<str>,
    /// Its span.
    pub span: Span,
}

impl AsRef<str> for Name {
    fn as_ref(&self) -> &str {
        &self.text
    }
}

/// One argument of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// The keyword before `=`.
    pub keyword: Option<Name>,
    /// The value.
    pub value: NodeId,
}

/// One item between the brackets of `x[...]`.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A number, `None` or a tensor.
    At(NodeId),
    /// `start:stop:step`, each of which may be missing.
    Slice {
        /// The bounds and the step.
        parts: [Option<NodeId>; 3],
        /// The span of the slice.
        span: Span,
    },
    /// `...`
    Ellipsis(Span),
}
