//! Loops printed as PTX, the text that NVIDIA's driver assembles for its GPUs. [`map`] is an element-wise
//! loop over operands of any layout, [`leaves`] and [`level`] are a reduction in a tree, [`product`] has the
//! products of matrices.
//!
//! A kernel is printed of a code and of the form of a loop ([`MapForm`], [`LeavesForm`]): how many dimensions
//! it has, how its operands are read. Sizes, strides, addresses and numbers are arguments, which the loop
//! itself returns ([`MapLoop::arguments`]), so that few kernels serve many loops. All arguments are one
//! parameter, `arguments`, an array of words of 64 bits. A launch has blocks of [`THREADS`] threads.
//!
//! Results have the interpreter's bits, except that any NaN stands for any other.
//!
//! No GPU has run these kernels yet. Tests of `zerostride-kernels` run them on an interpreter of the printed
//! instructions, thread by thread, and have `ptxas` assemble them, if `ZEROSTRIDE_PTXAS` or `PATH` names it:
//!
//! ```text
//! pip install nvidia-cuda-nvcc-cu12   # ptxas is in nvidia/cuda_nvcc/bin of the site packages
//! ZEROSTRIDE_PTXAS=…/ptxas cargo test -p zerostride-kernels --test kernels ptx -- --nocapture
//! ```

mod body;
mod map;
mod operands;
mod product;
mod reduce;
mod writer;

pub use map::{MapForm, MapLoop, map};
pub use operands::{Argument, OperandForm};
pub use product::{ProductCodes, ProductForm, ProductLoop, product};
pub use reduce::{LeavesForm, LeavesLoop, LevelLoop, ReductionCodes, leaves, level};

/// Threads of a block.
pub const THREADS: u32 = 256;

/// Elements of a loop are numbered in 31 bits; a longer loop is several launches.
pub const MAX_ELEMENTS: u64 = (1 << 31) - 1;

/// A printed kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// The name of its entry.
    pub name: &'static str,
    /// The module that has it.
    pub text: String,
}
