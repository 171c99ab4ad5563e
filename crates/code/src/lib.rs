//! What one element of a formula is computed by: [`Code`], straight-line and typed, made by a [`Builder`].
//!
//! Every instruction is exact or correctly rounded, so that all who run a code compute the same bits. The
//! interpreter, [`Code::run`], defines them. A [`Row`] says how elements reach a code, and
//! [`print`](mod@print) makes it machine code. This crate does not know operations, tensors or memory.

#![forbid(unsafe_code)]

// Its example is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod package_page {}

mod builder;
mod code;
mod display;
mod interpret;
mod lower;
pub mod print;
mod row;
mod verify;

pub use builder::Builder;
pub use code::{Binary, Code, Compare, Instruction, Operation, Type, Unary, Value};
pub use row::{Read, Row, Write};
pub use verify::Fault;
