//! Shapes, layouts, views and PyTorch's broadcasting rule: everything about a tensor except its elements.
//!
//! ```
//! use zerostride_shape::{Broadcast, Role::*, broadcast_shape};
//!
//! // A size of 1 is stretched, a missing dimension is added on the left.
//! let broadcast = Broadcast::new(&[&[5, 1, 4, 1], &[3, 1, 2]])?;
//! assert_eq!(*broadcast.shape(), [5, 3, 4, 2]);
//! assert_eq!(broadcast.operands()[0], [Kept, Stretched, Kept, Stretched]);
//! assert_eq!(broadcast.operands()[1], [Added, Kept, Stretched, Kept]);
//!
//! // Anything else is an error, in PyTorch's words.
//! let error = broadcast_shape(&[&[1, 2, 3], &[3, 3]]).unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 1"
//! );
//! # Ok::<(), zerostride_shape::ShapeError>(())
//! ```
//!
//! - [`Shape`] and [`Strides`] are short sequences without a heap allocation up to five dimensions.
//! - [`Layout`] is shape, strides and storage offset; every view of PyTorch is a method that returns another
//!   `Layout` ([`Layout::expand`], [`Layout::permute`], [`Layout::view`], [`Layout::slice`], ...).
//! - [`Broadcast`] is what a broadcast does to each operand; [`broadcast_shape`] only its result.
//! - [`Classes`] lists the effects of a broadcast that a reader of the program may not expect.
//! - [`Layout::overlap`] and [`Layout::has_internal_overlap`] decide whether elements share memory.
//! - [`coalesce`], [`order_dims`] and [`turn_dims`] simplify the loops over several operands.
//! - [`assert_broadcast!`] checks constant shapes while compiling.
//!
//! Sizes, strides and offsets count elements, never bytes. No memory use grows with a size, and no arithmetic
//! on sizes overflows. This crate does not know dtypes, memory or operations.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

// Its example is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod package_page {}

mod broadcast;
mod choose;
mod class;
mod coalesce;
mod constant;
mod dims;
mod diophantine;
mod error;
mod layout;
mod message;
mod overlap;
mod reshape;
mod shape;
mod views;

pub use broadcast::{
    Broadcast, Role, Roles, broadcast_onto, broadcast_shape, broadcast_shapes, broadcast_size,
    check_in_place, sum_to_size_dims,
};
pub use class::{Class, Classes, UnknownClass, is_mutual_stretch};
pub use coalesce::{coalesce, order_dims, result_order, turn_dims};
pub use constant::{broadcast_const, broadcast_rank};
pub use dims::FEW_DIMS;
pub use error::{Diagnostic, ErrorClass, ShapeError};
pub use layout::Layout;
pub use overlap::{InternalOverlap, Overlap};
pub use reshape::{infer_size, unflattened_shape};
pub use shape::{MAX_RANK, Shape, Size, Stride, Strides, checked_bytes, contiguous_strides};
pub use views::reduced_dims;
