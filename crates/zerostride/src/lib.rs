//! PyTorch's broadcasting as a Rust engine: tensors of different shapes meet in element-wise operations, the
//! smaller is stretched without copying, and results, in-place rules and errors are PyTorch's.
//!
//! ```
//! use zerostride::{broadcast_shapes, tensor, Tensor};
//!
//! let x = tensor![[1, 2, 3]];                        // i64, shape [1, 3]
//! let y = tensor![[4], [5], [6]];                    // i64, shape [3, 1]
//! let sum = x.add(&y)?;                              // eager: one pass, shape [3, 3]
//! assert_eq!(sum.to_string(), "tensor([[5, 6, 7],\n        [6, 7, 8],\n        [7, 8, 9]])");
//!
//! let z = ((&x - &y) * 0.5).exp().eval()?;           // operators build an Expr; eval() runs it in one fused pass
//! assert_eq!(z.shape(), [3, 3]);
//!
//! let a = Tensor::rand(&[100, 64], 1)?;
//! let b = Tensor::rand(&[80, 64], 2)?;
//! let d = (a.unsqueeze(1)? - b.unsqueeze(0)?).square().sum(-1).eval()?; // never holds the (100, 80, 64) array
//! assert_eq!(d.shape(), [100, 80]);
//!
//! let error = x.add_(&y).unwrap_err();               // x would have to grow
//! assert_eq!(error.to_string(), "output with shape [1, 3] doesn't match the broadcast shape [3, 3]");
//!
//! let v = x.expand(&[4, 3])?;                        // a view: stride 0, no bytes
//! assert_eq!(v.strides(), [0, 1]);
//! assert_eq!(broadcast_shapes(&[&[5, 1, 4, 1], &[3, 1, 2]])?, [5, 3, 4, 2]);
//! # Ok::<(), zerostride::Error>(())
//! ```
//!
//! # The parts
//!
//! - [`Tensor`] holds elements. Its methods are **eager**: they compute at once and return a `Result`. Views
//!   share storage, `clone` copies; in-place methods end in `_`.
//! - [`Expr`] is a computation that has not run yet. Operators on tensors, expressions and numbers build one
//!   and never fail; [`Expr::eval`] runs it, or reports the first error with the sub-expression it came from.
//! - [`Plan`] tells before anything runs what will happen: [`Expr::plan`].
//! - [`policy`] allows, warns about or refuses broadcasts that were not written down, and records them.
//! - [`Op`] is a row of the one table of operations; [`call`] calls a row by name, position and keyword.
//! - [`stream`] evaluates expressions over arrays that are larger than memory, piece by piece.
//! - [`scope`] lets tensors see borrowed slices without a copy.
//! - [`Tensor::to`] moves tensors to a [`Device`]: with the feature `cuda` to an NVIDIA GPU, which computes
//!   the same bits.
#![cfg_attr(feature = "ndarray", doc = "- [`ndarray`] does so with ndarray's arrays.")]
#![cfg_attr(feature = "io", doc = "- [`io`] reads and writes npy, npz and safetensors files.")]
//!
//! # What evaluation promises
//!
//! 1. Every sub-expression is computed once per element of its own broadcast shape, then stretched:
//!    `exp(row) * x` takes as many exponentials as the row has elements.
//! 2. No operand is copied to the broadcast shape, and no intermediate of it exists. Scratch memory is tiles
//!    of a few kilobytes per thread, and hoisted results.
//! 3. A fused expression gives the bits of its eager operations, one after the other.
//! 4. The bits do not depend on threads or memory layout.
//! 5. [`Plan`] counts operations, bytes and scratch, and tests hold it to that.
//!
//! # Debug builds
//!
//! Compiled without optimisation, the kernels are portable ones, hundreds of times slower than the vector
//! code. Two lines in the `Cargo.toml` of a program bring that back to its debug builds:
//!
//! ```toml
//! [profile.dev.package.zerostride-kernels]
//! opt-level = 2
//! ```
//!
//! # Where PyTorch's documents mislead
//!
//! A tensor of no dimensions broadcasts with everything. A size of 1 takes the *other* size, even 0: the
//! result size is not the maximum. `(1, 3) + (2, 1)` is no error but `(2, 3)`, larger than both: often a
//! mistake.

#![deny(unsafe_code)]
// docs.rs shows which feature an item needs.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod caller;
mod device;
mod eager;
mod error;
mod exec;
mod expr;
#[allow(unsafe_code)]
mod fork;
mod interrupt;
#[cfg(feature = "io")]
pub mod io;
mod memory;
#[cfg(feature = "ndarray")]
#[allow(unsafe_code)]
pub mod ndarray;
mod plan;
pub mod policy;
#[cfg(doctest)]
mod spec;
pub mod stream;
mod tensor;
mod threads;

pub use zerostride_ops::{
    Bucket, Category, Complex32, Complex64, DType, Element, Function, Op, OpError, OpInfo, Scalar, Typed,
    UnknownDType, bf16, can_cast, f16, promote_types, result_type,
};
pub use zerostride_shape::{
    Broadcast, ErrorClass, Layout, MAX_RANK, Role, Shape, ShapeError, assert_broadcast, broadcast_const,
    broadcast_shapes,
};

pub use device::{Device, UnknownDevice};
pub use eager::{
    Index, Interpolation, Moved, Operand, Outcome, Results, Unique, call_function, call_into, cat, dstack,
    eval_all, hstack, meshgrid, move_all, stack, vstack,
};
pub use error::{Error, Result};
pub use expr::{
    Argument, Arguments, Dims, Expr, Optional, OutlineNode, Selection, Variable, call, einsum, keepdim,
    mapped, vjp,
};
pub use interrupt::{Waiter, interruptible, set_waiter};
pub use memory::pool;
pub use plan::{Plan, Template};
pub use tensor::{Lent, Literal, Scope, Slice, Tensor, broadcast_tensors, scope};
pub use threads::{Team, check_environment, num_threads, on_team, set_num_threads, show_config};
