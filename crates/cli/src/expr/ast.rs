//! Owns the tree of an expression. It does not know how it is read (`parser.rs`) or what its names mean.
//!
//! The nodes stand in one list, operands before what uses them: a walk over the tree is a loop over the list,
//! and neither that nor dropping it can exhaust the stack.

use std::ops::Index;

use zerostride::{Op, Scalar};

use super::Span;

/// The place of a node in its [`Ast`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeId(pub(super) u32);

impl NodeId {
    /// The place as an index into [`Ast::nodes`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// An expression that has been read: one node at least.
#[derive(Clone, Debug, PartialEq)]
pub struct Ast {
    pub(super) nodes: Vec<Node>,
}

impl Ast {
    /// The nodes, operands before what uses them; the last one is the whole expression.
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
    /// Where it stands, without parentheses around it.
    pub span: Span,
}

/// What a node is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A number, `True` or `False`.
    Number(Scalar),
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
    /// What stands before the dot.
    pub receiver: Option<NodeId>,
    /// What is called.
    pub function: Name,
    /// What stands in the parentheses.
    pub arguments: Vec<Argument>,
}

/// A name where it is not an operand: of a function, a method, a keyword.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The name.
    pub text: Box<str>,
    /// Where it stands.
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
        /// Where the slice stands.
        span: Span,
    },
    /// `...`
    Ellipsis(Span),
}
