//! The expression language of `zs eval`: a small part of Python's, parsed without evaluating anything.
//!
//! [`parse`] turns a text into an [`Ast`] whose nodes have their spans in the text. The evaluator decides
//! what names mean and whether shapes fit.

mod ast;
mod lexer;
mod parser;
mod problem;

pub use ast::{Argument, Ast, Binary, Call, Item, Kind, Name, Node, NodeId};
pub(crate) use parser::parse_results;
pub use parser::{MAX_NESTING, MAX_NODES, parse};
pub use problem::{Problem, Span};
