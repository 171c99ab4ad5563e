//! Owns the kernels over tiles of elements that bodies compute in as they are: bools, integers, f32 and f64.
//! It does not know conversions.

use std::marker::PhantomData;

use bytemuck::{cast_slice, cast_slice_mut};
use zerostride_ops::{Element, Op};

use crate::bodies::dispatch::{self, Body, VisitBoolean, VisitFloat, VisitInteger};
use crate::bodies::half::Float;
use crate::bodies::integer::{self, Integer};
use crate::isa::{self, Task};

/// An error that depends on the values of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An integer was divided by zero.
    ZeroDivision,
}

/// A kernel: reads one contiguous tile for each operand, writes one tile.
///
/// All tiles hold the same number of elements, in their stored form, aligned to their type; operands are of
/// the dtype that [`Op::infer`] computes in, the output of the dtype that it returns.
pub type MapKernel = fn(&[&[u8]], &mut [u8]) -> Result<(), Fault>;

/// The operands' elements, as many as results.
#[inline(always)]
pub(super) fn tiles<'a, A: Element, const N: usize>(inputs: &[&'a [u8]], len: usize) -> [&'a [A::Stored]; N] {
    std::array::from_fn(|operand| &cast_slice(inputs[operand])[..len])
}

/// Elements that are converted at once; they fit into L1.
pub(super) const BLOCK_ELEMENTS: usize = 64;

/// Loads each element, calls the body on it and stores the result.
#[inline(always)]
pub(super) fn run<A: Element, R: Element, const N: usize>(
    inputs: &[&[u8]],
    out: &mut [u8],
    body: impl Fn([A; N]) -> R,
) {
    let out = cast_slice_mut::<u8, R::Stored>(out);
    let operands = tiles::<A, N>(inputs, out.len());
    for (i, out) in out.iter_mut().enumerate() {
        let mut elements = [A::load(operands[0][i]); N];
        for place in 1..N {
            elements[place] = A::load(operands[place][i]);
        }
        *out = body(elements).store();
    }
}

/// Makes kernels of bodies on elements of a dtype. Kernels are functions: of each closure the compiler would
/// make two.
struct TileKernels<T>(PhantomData<T>);

/// The loop around a body on elements, to be compiled for an instruction set.
struct Elements<'a, A, B, const N: usize> {
    inputs: &'a [&'a [u8]],
    out: &'a mut [u8],
    kind: PhantomData<(A, B)>,
}

impl<A: Element, B: Body<N, A, Result: Element>, const N: usize> Task for Elements<'_, A, B, N> {
    #[inline(always)]
    fn run(self) {
        run(self.inputs, self.out, B::call);
    }
}

/// The kernel of a body on elements.
pub(super) fn on_elements<A, B, const N: usize>(inputs: &[&[u8]], out: &mut [u8]) -> Result<(), Fault>
where
    A: Element,
    B: Body<N, A, Result: Element>,
{
    isa::run_fused(Elements::<A, B, N> { inputs, out, kind: PhantomData });
    Ok(())
}

/// The kernel of a division of integers. It looks for a zero divisor before it writes anything.
fn on_divisors<T, B, const N: usize>(inputs: &[&[u8]], out: &mut [u8]) -> Result<(), Fault>
where
    T: Integer,
    B: Body<N, T, Result = T>,
{
    let is_zero = |&&divisor: &&T::Stored| T::load(divisor) == T::ZERO;
    // Counting to the end vectorises, stopping at the first zero does not.
    if cast_slice(inputs[1]).iter().filter(is_zero).count() > 0 {
        return Err(Fault::ZeroDivision);
    }
    on_elements::<T, B, N>(inputs, out)
}

impl VisitBoolean<bool> for TileKernels<bool> {
    type Output = MapKernel;

    fn value<B: Body<N, bool, Result = bool>, const N: usize>(self) -> MapKernel {
        on_elements::<bool, B, N>
    }
}

/// Signed integers have no kernel of their own where that of unsigned ones computes the same.
impl<T: Integer> VisitInteger<T> for TileKernels<T> {
    type Output = Option<MapKernel>;

    fn value<B: Body<N, T, Result = T>, const N: usize>(self) -> Option<MapKernel> {
        if const { integer::is_served::<T>(B::OP) } {
            None
        } else if const { integer::divides(B::OP) } {
            Some(on_divisors::<T, B, N>)
        } else {
            Some(on_elements::<T, B, N>)
        }
    }

    fn test<B: Body<N, T, Result = bool>, const N: usize>(self) -> Option<MapKernel> {
        if const { integer::is_served::<T>(B::OP) } { None } else { Some(on_elements::<T, B, N>) }
    }
}

/// The kernel of a body on floats whose results are stored as integers.
pub(super) fn on_whole<T, B, const N: usize>(inputs: &[&[u8]], out: &mut [u8]) -> Result<(), Fault>
where
    T: Float,
    B: Body<N, T, Result = T>,
{
    run(inputs, out, |operands: [T; N]| B::call(operands).to_i32());
    Ok(())
}

/// The kernel of a body on floats whose results are complex.
pub(super) fn on_pairs<T, B, const N: usize>(inputs: &[&[u8]], out: &mut [u8]) -> Result<(), Fault>
where
    T: Float,
    B: Body<N, T, Result = [T; 2]>,
{
    run(inputs, out, |operands: [T; N]| T::pair(B::call(operands)));
    Ok(())
}

impl<T: Float> VisitFloat<T> for TileKernels<T> {
    type Output = MapKernel;

    fn value<B: Body<N, T, Result = T>, const N: usize>(self) -> MapKernel {
        on_elements::<T, B, N>
    }

    fn test<B: Body<N, T, Result = bool>, const N: usize>(self) -> MapKernel {
        on_elements::<T, B, N>
    }

    fn integer<B: Body<N, T, Result = T>, const N: usize>(self) -> MapKernel {
        on_whole::<T, B, N>
    }

    fn pair<B: Body<N, T, Result = [T; 2]>, const N: usize>(self) -> MapKernel {
        on_pairs::<T, B, N>
    }
}

pub(super) fn integer_kernel<T: Integer>(op: Op) -> Option<MapKernel> {
    dispatch::integer(op, TileKernels::<T>(PhantomData))?
}

pub(super) fn float_kernel<T: Float>(op: Op) -> Option<MapKernel> {
    dispatch::float(op, TileKernels::<T>(PhantomData))
}

/// The kernel of an operation on bools.
pub(super) fn boolean_kernel(op: Op) -> Option<MapKernel> {
    dispatch::boolean(op, TileKernels::<bool>(PhantomData))
}
