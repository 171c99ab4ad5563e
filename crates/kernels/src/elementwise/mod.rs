//! Owns the element-wise kernels over tiles of memory: one loop around every body (`tile.rs`). f16 and bf16
//! (`half.rs`) and complex numbers (`complex.rs`) go through blocks of the floats that they are computed in;
//! `strided.rs` has loops over elements at any distance. It does not know what an operation computes
//! (`bodies/`), nor where a tile comes from.

mod complex;
mod half;
mod strided;
mod tile;

use ::half::{bf16, f16};
use num_complex::{Complex32, Complex64};
use zerostride_ops::{Category, DType, Op};

pub use complex::is_by_parts;
pub use strided::{Strided, StridedKernel, strided_kernel};
pub use tile::{Fault, MapKernel};

use crate::bodies::integer;
use tile::{boolean_kernel, float_kernel, integer_kernel};

/// Whether the kernel of an operation can end in a [`Fault`].
pub fn may_fault(op: Op, compute: DType) -> bool {
    compute.category() == Category::Int && integer::divides(op)
}

/// The kernel of an element-wise operation that computes in `compute`; `None` outside the operation's domain.
///
/// ```
/// use zerostride_kernels::map_kernel;
/// use zerostride_ops::{DType, Op};
///
/// let add = map_kernel(Op::Add, DType::U8).expect("u8 is in the domain of add");
/// let mut sum = [0; 3];
/// add(&[&[1, 2, 255], &[10, 20, 1]], &mut sum)?;
/// assert_eq!(sum, [11, 22, 0]);
/// # Ok::<(), zerostride_kernels::Fault>(())
/// ```
pub fn map_kernel(op: Op, compute: DType) -> Option<MapKernel> {
    match integer::serving(op, compute) {
        DType::Bool => boolean_kernel(op),
        DType::U8 => integer_kernel::<u8>(op),
        DType::U16 => integer_kernel::<u16>(op),
        DType::U32 => integer_kernel::<u32>(op),
        DType::U64 => integer_kernel::<u64>(op),
        DType::I8 => integer_kernel::<i8>(op),
        DType::I16 => integer_kernel::<i16>(op),
        DType::I32 => integer_kernel::<i32>(op),
        DType::I64 => integer_kernel::<i64>(op),
        DType::F16 => half::kernel::<f16>(op),
        DType::BF16 => half::kernel::<bf16>(op),
        DType::F32 => float_kernel::<f32>(op),
        DType::F64 => float_kernel::<f64>(op),
        DType::C64 => complex::kernel::<Complex32>(op),
        DType::C128 => complex::kernel::<Complex64>(op),
    }
}
