//! Floor 2 of zerostride: the code that touches elements.
//!
//! - [`map_kernel`]: an element-wise operation over tiles, one body for each row of the op table and kind of
//!   dtype;
//! - [`strided_kernel`]: a simple operation over elements at any distance;
//! - [`record()`]: an operation as code of one element, which is run elsewhere;
//! - [`Reducer`]: a reduction, whose tree depends on its length alone;
//! - [`matmul()`]: the product of two matrices, and [`matmul_small`] of many small ones;
//! - [`cast_kernel`]: conversion between dtypes;
//! - [`pack()`]: copies between layouts, transposed ones in blocks;
//! - [`Tuning`]: what depends on the family of the processor;
//! - `math`: the mathematical functions, written once over a private lane trait.
//!
//! Kernels see slices and element counts. They do not know tensors, shapes, threads or plans.
//!
//! The crate is internal to `zerostride`, whose API is safe. What is public here is called by that crate
//! alone, and may change in any release.

// Contributors see it in `cargo doc`, users do not on docs.rs.
#![cfg_attr(docsrs, doc(hidden))]

mod bodies;
mod cast;
mod elementwise;
mod halves;
mod isa;
mod lane;
mod lines;
mod math;
mod matmul;
mod native;
mod pack;
mod record;
mod reduce;
mod tuning;

pub use bodies::quotient::reciprocal_for_bytes;
pub use cast::{CastKernel, cast_kernel, load_scalar, store_scalar};
pub use elementwise::{
    Fault, MapKernel, Strided, StridedKernel, is_by_parts, map_kernel, may_fault, strided_kernel,
};
pub use isa::{CACHE_LINE_BYTES, Isa};
pub use matmul::{Matrices, Matrix, ProductScratch, ProductSizes, matmul, matmul_small};
pub use native::{Native, Printing, fence};
pub use pack::{Pack, PackDense, PackDim, copy_row, copy_slice, pack, pack_dense};
pub use record::{
    MOMENTS, MOMENTS_PASS, PRODUCT_CHAIN, Recorded, memory_types, record, record_cast, record_load,
    record_merged_moments, record_moments, record_product, record_quotient, record_quotient_of_byte,
    record_scalar, record_step, record_store, record_summed, record_variance, record_wide_moments,
    stored_type,
};
pub use reduce::{Fold, LEAF_ELEMENTS, Pairwise, ReducePanel, Reducer, Term, lane_rows, lanes};
pub use tuning::Tuning;
