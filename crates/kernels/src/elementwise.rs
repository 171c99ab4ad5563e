//! Owns the element-wise kernels over tiles of memory: one loop around every body. It does not know what an operation
//! computes (`bodies/`), nor where a tile comes from.

use std::marker::PhantomData;

use bytemuck::{cast_slice, cast_slice_mut};
use half::{bf16, f16};
use num_complex::{Complex32, Complex64};
use zerostride_ops::{DType, Element, Op};

use crate::bodies::complex::Complex;
use crate::bodies::dispatch::{self, Body, VisitBoolean, VisitComplex, VisitFloat, VisitInteger};
use crate::bodies::half::{Float, Half};
use crate::bodies::integer::{self, Integer};
use crate::isa;

/// What a kernel can find wrong with values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An integer was divided by zero.
    ZeroDivision,
}

/// A kernel: reads one contiguous tile for each operand, writes one tile.
///
/// All tiles hold the same number of elements, in their stored form, aligned to their type; operands are of the dtype
/// that [`Op::infer`] computes in, the output of the dtype that it returns.
pub type MapKernel = fn(&[&[u8]], &mut [u8]) -> Result<(), Fault>;

/// The operands' elements, as many as there are results.
#[inline(always)]
fn tiles<'a, A: Element, const N: usize>(inputs: &[&'a [u8]], len: usize) -> [&'a [A::Stored]; N] {
    std::array::from_fn(|operand| &cast_slice(inputs[operand])[..len])
}

/// Loads each element, calls the body on it and stores the result.
#[inline(always)]
fn run<A: Element, R: Element, const N: usize>(inputs: &[&[u8]], out: &mut [u8], body: impl Fn([A; N]) -> R) {
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

/// Makes kernels of bodies on elements of a dtype.
struct Loops<T>(PhantomData<T>);

impl VisitBoolean for Loops<bool> {
    type Output = MapKernel;

    fn value<B: Body<N, bool, Result = bool>, const N: usize>(self) -> MapKernel {
        |inputs, out| {
            run(inputs, out, B::call);
            Ok(())
        }
    }
}

impl<T: Integer> VisitInteger<T> for Loops<T> {
    type Output = MapKernel;

    /// A division looks for a zero among the divisors before it writes anything.
    fn value<B: Body<N, T, Result = T>, const N: usize>(self) -> MapKernel {
        |inputs, out| {
            if const { integer::divides(B::OP) }
                && cast_slice::<u8, T::Stored>(inputs[1]).iter().any(|&divisor| T::load(divisor) == T::ZERO)
            {
                return Err(Fault::ZeroDivision);
            }
            run(inputs, out, B::call);
            Ok(())
        }
    }

    fn test<B: Body<N, T, Result = bool>, const N: usize>(self) -> MapKernel {
        |inputs, out| {
            run(inputs, out, B::call);
            Ok(())
        }
    }
}

/// A body on floats as a function that the loops of `f32` and the halves share, unless it is small.
fn on_floats<T: Float, B: Body<N, T::Work>, const N: usize>(operands: [T; N]) -> B::Result {
    fn call<B: Body<N, A>, A, const N: usize>(operands: [A; N]) -> B::Result {
        B::call(operands)
    }
    let mut wide = [operands[0].widen(); N];
    for place in 1..N {
        wide[place] = operands[place].widen();
    }
    call::<B, _, N>(wide)
}

impl<T: Float> VisitFloat<T::Work> for Loops<T> {
    type Output = MapKernel;

    fn value<B: Body<N, T::Work, Result = T::Work>, const N: usize>(self) -> MapKernel {
        |inputs, out| {
            run(inputs, out, |operands: [T; N]| T::narrow(on_floats::<T, B, N>(operands)));
            Ok(())
        }
    }

    fn test<B: Body<N, T::Work, Result = bool>, const N: usize>(self) -> MapKernel {
        |inputs, out| {
            run(inputs, out, on_floats::<T, B, N>);
            Ok(())
        }
    }

    fn integer<B: Body<N, T::Work, Result = T::Work>, const N: usize>(self) -> MapKernel {
        |inputs, out| {
            run(inputs, out, |operands: [T; N]| T::integer(on_floats::<T, B, N>(operands)));
            Ok(())
        }
    }

    fn pair<B: Body<N, T::Work, Result = [T::Work; 2]>, const N: usize>(self) -> MapKernel {
        |inputs, out| {
            run(inputs, out, |operands: [T; N]| T::pair(on_floats::<T, B, N>(operands)));
            Ok(())
        }
    }
}

/// Complex numbers have no chains, so that their loops are compiled for better instructions, too.
impl<T: Complex> VisitComplex<T> for Loops<T> {
    type Output = MapKernel;

    fn value<B: Body<N, T, Result = T>, const N: usize>(self) -> MapKernel {
        |inputs, out| {
            isa::run(|| run(inputs, out, B::call));
            Ok(())
        }
    }

    fn test<B: Body<N, T, Result = bool>, const N: usize>(self) -> MapKernel {
        |inputs, out| {
            isa::run(|| run(inputs, out, B::call));
            Ok(())
        }
    }

    fn part<B: Body<N, T, Result = T::Part>, const N: usize>(self) -> MapKernel {
        |inputs, out| {
            isa::run(|| run(inputs, out, B::call));
            Ok(())
        }
    }
}

fn float_kernel<T: Float>(op: Op) -> Option<MapKernel> {
    dispatch::float(op, Loops::<T>(PhantomData))
}

/// Two operations are more than their body on `f32` for halves.
fn half_kernel<T: Half>(op: Op) -> Option<MapKernel> {
    match op {
        Op::DivTrunc => Some(|inputs, out| {
            run(inputs, out, |[a, b]: [T; 2]| a.div_trunc(b));
            Ok(())
        }),
        Op::Nextafter => Some(|inputs, out| {
            run(inputs, out, |[a, towards]: [T; 2]| a.next_after(towards));
            Ok(())
        }),
        _ => float_kernel::<T>(op),
    }
}

fn complex_kernel<T: Complex>(op: Op) -> Option<MapKernel> {
    dispatch::complex(op, Loops::<T>(PhantomData))
}

fn integer_kernel<T: Integer>(op: Op) -> Option<MapKernel> {
    dispatch::integer(op, Loops::<T>(PhantomData))
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
    match compute {
        DType::Bool => dispatch::boolean(op, Loops::<bool>(PhantomData)),
        DType::U8 => integer_kernel::<u8>(op),
        DType::U16 => integer_kernel::<u16>(op),
        DType::U32 => integer_kernel::<u32>(op),
        DType::U64 => integer_kernel::<u64>(op),
        DType::I8 => integer_kernel::<i8>(op),
        DType::I16 => integer_kernel::<i16>(op),
        DType::I32 => integer_kernel::<i32>(op),
        DType::I64 => integer_kernel::<i64>(op),
        DType::F16 => half_kernel::<f16>(op),
        DType::BF16 => half_kernel::<bf16>(op),
        DType::F32 => float_kernel::<f32>(op),
        DType::F64 => float_kernel::<f64>(op),
        DType::C64 => complex_kernel::<Complex32>(op),
        DType::C128 => complex_kernel::<Complex64>(op),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_exists_exactly_where_the_table_has_the_dtype_in_its_domain() {
        for &op in Op::ALL.iter().filter(|op| op.info().class.is_elementwise()) {
            for dtype in DType::ALL {
                let operands =
                    vec![zerostride_ops::Typed::dimensioned(dtype); op.info().signature().arguments.len()];
                let computes_in = op.infer(&operands).is_ok_and(|inferred| inferred.compute == dtype);
                if computes_in && op != Op::Where {
                    assert!(map_kernel(op, dtype).is_some(), "{op:?} has no body for {dtype}");
                }
                if !op.info().domain.contains(dtype.category()) {
                    assert!(
                        map_kernel(op, dtype).is_none(),
                        "{op:?} has a body for {dtype} outside its domain"
                    );
                }
            }
        }
    }

    #[test]
    fn a_zero_divisor_is_reported_before_anything_is_written() {
        let divide = map_kernel(Op::FloorDivide, DType::I8).unwrap();
        let mut out = [7, 7];
        assert_eq!(divide(&[&[1, 2], &[1, 0]], &mut out), Err(Fault::ZeroDivision));
        assert_eq!(out, [7, 7]);
    }
}
