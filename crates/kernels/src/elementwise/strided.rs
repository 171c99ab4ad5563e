//! Owns the element-wise kernels over elements at any distance: operations on two operands that take less
//! time than copying these into tiles would. It does not know why the elements have these distances.

use std::marker::PhantomData;

use bytemuck::{cast_slice, cast_slice_mut};
use zerostride_ops::{DType, Element, Op};

use crate::bodies::dispatch::{self, Body, VisitFloat, VisitInteger};
use crate::bodies::half::Float;
use crate::bodies::integer::{self, Integer};

/// Rows of elements of an operand, in their stored form and aligned to it.
#[derive(Clone, Copy, Debug)]
pub struct Strided<'a> {
    /// The memory that contains the elements.
    pub bytes: &'a [u8],
    /// The index of the first one there.
    pub first: isize,
    /// Elements from one element of a row to the next, and from one row to the next.
    pub steps: [isize; 2],
}

/// A kernel: reads rows of each operand in place, and writes results row after row.
///
/// The output holds rows of as many elements as the number says, at least one. Dtypes are those of a
/// [`MapKernel`](crate::MapKernel); it panics if an element lies outside.
pub type StridedKernel = fn(&[Strided<'_>], usize, &mut [u8]);

/// Whether an operation on so many operands has a kernel here.
const fn is_quick(op: Op, operands: usize) -> bool {
    operands == 2 && op.info().is_short()
}

/// The same of an operation on integers: it cannot fail, and has a body of its own.
const fn is_quick_on<T: Integer>(op: Op, operands: usize) -> bool {
    is_quick(op, operands) && !integer::divides(op) && !integer::is_served::<T>(op)
}

/// The kernel of a body on elements.
fn on_rows<A, B, const N: usize>(operands: &[Strided<'_>], len: usize, out: &mut [u8])
where
    A: Element,
    B: Body<N, A, Result: Element>,
{
    // Loops, not `map` on arrays, of whose closures there would be so many that they take longer to compile
    // than all the rest.
    let mut elements: [&[A::Stored]; N] = [&[]; N];
    let mut begins = [0; N];
    for operand in 0..N {
        let Strided { bytes, first, .. } = operands[operand];
        elements[operand] =
            cast_slice(&bytes[..bytes.len() / size_of::<A::Stored>() * size_of::<A::Stored>()]);
        begins[operand] = first;
    }
    for row in cast_slice_mut::<u8, <B::Result as Element>::Stored>(out).chunks_mut(len) {
        let mut at = begins;
        for out in row {
            let mut values = [A::load(elements[0][at[0] as usize]); N];
            for operand in 1..N {
                values[operand] = A::load(elements[operand][at[operand] as usize]);
            }
            *out = B::call(values).store();
            for operand in 0..N {
                at[operand] = at[operand].wrapping_add(operands[operand].steps[0]);
            }
        }
        for operand in 0..N {
            begins[operand] = begins[operand].wrapping_add(operands[operand].steps[1]);
        }
    }
}

/// Makes kernels of bodies on elements of a dtype.
struct StridedKernels<T>(PhantomData<T>);

impl<T: Integer> VisitInteger<T> for StridedKernels<T> {
    type Output = Option<StridedKernel>;

    fn value<B: Body<N, T, Result = T>, const N: usize>(self) -> Option<StridedKernel> {
        if const { is_quick_on::<T>(B::OP, N) } { Some(on_rows::<T, B, N>) } else { None }
    }

    fn test<B: Body<N, T, Result = bool>, const N: usize>(self) -> Option<StridedKernel> {
        if const { is_quick_on::<T>(B::OP, N) } { Some(on_rows::<T, B, N>) } else { None }
    }
}

impl<T: Float> VisitFloat<T> for StridedKernels<T> {
    type Output = Option<StridedKernel>;

    fn value<B: Body<N, T, Result = T>, const N: usize>(self) -> Option<StridedKernel> {
        if const { is_quick(B::OP, N) } { Some(on_rows::<T, B, N>) } else { None }
    }

    fn test<B: Body<N, T, Result = bool>, const N: usize>(self) -> Option<StridedKernel> {
        if const { is_quick(B::OP, N) } { Some(on_rows::<T, B, N>) } else { None }
    }

    fn integer<B: Body<N, T, Result = T>, const N: usize>(self) -> Option<StridedKernel> {
        None
    }

    fn pair<B: Body<N, T, Result = [T; 2]>, const N: usize>(self) -> Option<StridedKernel> {
        None
    }
}

fn of_integers<T: Integer>(op: Op) -> Option<StridedKernel> {
    dispatch::integer(op, StridedKernels::<T>(PhantomData))?
}

fn of_floats<T: Float>(op: Op) -> Option<StridedKernel> {
    dispatch::float(op, StridedKernels::<T>(PhantomData))?
}

/// The kernel over elements at any distance of an operation that computes in `compute`; `None` where it is
/// better to copy them and to run a [`map_kernel`](crate::map_kernel).
///
/// ```
/// use zerostride_kernels::{Strided, strided_kernel};
/// use zerostride_ops::{DType, Op};
///
/// let add = strided_kernel(Op::Add, DType::U8).expect("a sum takes less than a copy");
/// let row = Strided { bytes: &[1, 2, 3], first: 0, steps: [1, 0] };
/// let column = Strided { bytes: &[10, 20], first: 0, steps: [0, 1] };
/// let mut sums = [0; 6];
/// add(&[row, column], 3, &mut sums);
/// assert_eq!(sums, [11, 12, 13, 21, 22, 23]);
/// ```
pub fn strided_kernel(op: Op, compute: DType) -> Option<StridedKernel> {
    match integer::serving(op, compute) {
        DType::U8 => of_integers::<u8>(op),
        DType::U16 => of_integers::<u16>(op),
        DType::U32 => of_integers::<u32>(op),
        DType::U64 => of_integers::<u64>(op),
        DType::I8 => of_integers::<i8>(op),
        DType::I16 => of_integers::<i16>(op),
        DType::I32 => of_integers::<i32>(op),
        DType::I64 => of_integers::<i64>(op),
        DType::F32 => of_floats::<f32>(op),
        DType::F64 => of_floats::<f64>(op),
        // Loads and stores of bools, f16, bf16 and complex numbers take longer.
        DType::Bool | DType::F16 | DType::BF16 | DType::C64 | DType::C128 => None,
    }
}
