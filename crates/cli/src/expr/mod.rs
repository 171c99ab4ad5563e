//! The expression language of `zs eval`: a small part of Python's, read without evaluating anything.
//!
//! [`parse`] turns a text into an [`Ast`] whose every node knows where in the text it stands. What names
//! mean, and whether shapes fit, is decided by the evaluator.

mod ast;
mod lexer;
mod parser;
mod problem;

pub use ast::{Argument, Ast, Binary, Call, Item, Kind, Name, Node, NodeId};
pub use parser::{MAX_NESTING, MAX_NODES, parse};
pub use problem::{Problem, Span};
