//! Floor 1 of zerostride: dtypes, scalars, promotion and THE table of operations.
//!
//! [`for_each_op!`] is the table; [`Op`] and everything that enumerates operations are made from it, as
//! [`Function`] is from [`for_each_function!`]. [`Op::infer`] answers what an operation computes in and
//! returns, or refuses in PyTorch's words. This floor does not know tensors, shapes' rules or how anything is
//! computed.

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
pub use reduction::{Empty, Equal, List, One, Order, Reduction, ReductionInfo};
pub use scalar::Scalar;
pub use signature::{Argument, Bound, Default, Kind, Misfit, Signature};
