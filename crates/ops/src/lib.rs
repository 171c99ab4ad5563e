//! Dtypes, scalars, promotion and THE table of operations of zerostride.
//!
//! [`for_each_op!`] is the table; [`Op`] and everything that enumerates operations is generated from it, as
//! [`Function`] is from [`for_each_function!`]. [`Op::infer`] gives the dtypes that an operation computes in
//! and returns, or PyTorch's error. This crate does not know tensors, the rules of shapes or computation.

#![forbid(unsafe_code)]

// Its example is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod package_page {}

mod dtype;
mod error;
mod functions;
mod infer;
mod op;
mod promote;
mod reduction;
mod scalar;
mod signature;
mod table;

pub use half::{bf16, f16};
pub use num_complex::{Complex32, Complex64};

pub use dtype::{Category, DType, Element, UnknownDType};
pub use error::OpError;
pub use functions::{Function, FunctionInfo, Section, Shown};
pub use infer::Inferred;
pub use op::{Class, Derivative, Domain, Effort, Op, OpInfo, Rule};
pub use promote::{Bucket, Typed, can_cast, promote_types, result_type};
pub use reduction::{Accumulator, Empty, Equal, List, One, Order, Reduction, ReductionInfo, Start};
pub use scalar::Scalar;
pub use signature::{Argument, Bound, Default, Kind, Misfit, Signature};
