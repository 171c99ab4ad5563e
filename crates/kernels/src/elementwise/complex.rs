//! Owns the element-wise kernels of complex numbers. A block of numbers is split into real and imaginary
//! parts, on which bodies work, so that simple ones are done for several numbers at once. Parts are `f64`, so
//! that one function serves both dtypes; for simple operations those of c64 stay `f32`. It does not know what
//! an operation computes.

use std::marker::PhantomData;

use bytemuck::cast_slice_mut;
use num_complex::{Complex as Pair, Complex32};
use zerostride_ops::{DType, Op};

use super::tile::{BLOCK_ELEMENTS, Fault, MapKernel, float_kernel, tiles};
use crate::bodies::complex::{Complex, FromParts, IntoParts};
use crate::bodies::dispatch::{self, Body, VisitComplex};
use crate::bodies::half::Float;
use crate::bodies::short;
use crate::isa::{self, Task};
use crate::lane::Lane;

/// Real and imaginary parts apart, aligned so that no register crosses a cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct SplitParts<P> {
    re: [P; BLOCK_ELEMENTS],
    im: [P; BLOCK_ELEMENTS],
}

impl<P: Float> SplitParts<P> {
    fn zeros() -> SplitParts<P> {
        SplitParts { re: [P::zeroed(); BLOCK_ELEMENTS], im: [P::zeroed(); BLOCK_ELEMENTS] }
    }
}

/// A body on the parts of `N` operands, shared by all complex dtypes.
type PartsBody<P, const N: usize> = fn(&[SplitParts<P>; N], &mut SplitParts<P>, usize);

/// Splits complex numbers, calls a body on the parts, and stores its results of any dtype.
struct Apart<'a, T, R, P, const N: usize> {
    inputs: &'a [&'a [u8]],
    out: &'a mut [u8],
    body: PartsBody<P, N>,
    dtypes: PhantomData<(T, R)>,
}

impl<T: IntoParts<P>, R: FromParts<P>, P: Float, const N: usize> Task for Apart<'_, T, R, P, N> {
    #[inline(always)]
    fn run(self) {
        let out = cast_slice_mut::<u8, R::Stored>(self.out);
        let operands = tiles::<T, N>(self.inputs, out.len());
        let (mut parts, mut results) = ([SplitParts::zeros(); N], SplitParts::zeros());
        for (block, out) in out.chunks_mut(BLOCK_ELEMENTS).enumerate() {
            for (parts, operand) in parts.iter_mut().zip(operands) {
                let numbers = &operand[block * BLOCK_ELEMENTS..][..out.len()];
                for ((re, im), &number) in parts.re.iter_mut().zip(&mut parts.im).zip(numbers) {
                    let number = T::load(number).parts();
                    (*re, *im) = (number.re, number.im);
                }
            }
            (self.body)(&parts, &mut results, out.len());
            for ((out, &re), &im) in out.iter_mut().zip(&results.re).zip(&results.im) {
                *out = R::from_parts(re, im).store();
            }
        }
    }
}

/// Calls a body on the parts of one number after the other.
struct OnParts<'a, P, B, const N: usize> {
    operands: &'a [SplitParts<P>; N],
    results: &'a mut SplitParts<P>,
    len: usize,
    body: PhantomData<B>,
}

impl<P: Float, B: Body<N, Pair<P>, Result = Pair<P>>, const N: usize> Task for OnParts<'_, P, B, N> {
    #[inline(always)]
    fn run(self) {
        for at in 0..self.len {
            let result = B::call(std::array::from_fn(|operand| {
                Pair::new(self.operands[operand].re[at], self.operands[operand].im[at])
            }));
            (self.results.re[at], self.results.im[at]) = (result.re, result.im);
        }
    }
}

/// The body whose bools are 1 and 0, without an imaginary part.
struct ComplexTest<B>(PhantomData<B>);

impl<P: Lane<Mask = bool>, B: Body<N, Pair<P>, Result = bool>, const N: usize> Body<N, Pair<P>>
    for ComplexTest<B>
{
    const OP: Op = B::OP;
    type Result = Pair<P>;

    #[inline(always)]
    fn call(operands: [Pair<P>; N]) -> Pair<P> {
        Pair::new(P::select(B::call(operands), P::num(1.0), P::num(0.0)), P::num(0.0))
    }
}

/// The body whose real results become complex numbers.
struct RealResult<B>(PhantomData<B>);

impl<P: Lane, B: Body<N, Pair<P>, Result = P>, const N: usize> Body<N, Pair<P>> for RealResult<B> {
    const OP: Op = B::OP;
    type Result = Pair<P>;

    #[inline(always)]
    fn call(operands: [Pair<P>; N]) -> Pair<P> {
        Pair::new(B::call(operands), P::num(0.0))
    }
}

/// Runs a body over parts.
fn on_parts<P: Float, B: Body<N, Pair<P>, Result = Pair<P>>, const N: usize>(
    operands: &[SplitParts<P>; N],
    results: &mut SplitParts<P>,
    len: usize,
) {
    isa::run_fused(OnParts::<P, B, N> { operands, results, len, body: PhantomData });
}

/// Calls a body on the parts of complex numbers of type `T`, for results of type `R`. Compiled once for all
/// bodies, so not inlined.
#[inline(never)]
fn apart<T: IntoParts<P>, R: FromParts<P>, P: Float, const N: usize>(
    inputs: &[&[u8]],
    out: &mut [u8],
    body: PartsBody<P, N>,
) -> Result<(), Fault> {
    isa::run_widest(Apart::<T, R, P, N> { inputs, out, body, dtypes: PhantomData });
    Ok(())
}

/// The kernel of a body on parts.
fn on_complex<T, R, P, B, const N: usize>(inputs: &[&[u8]], out: &mut [u8]) -> Result<(), Fault>
where
    P: Float,
    T: IntoParts<P>,
    R: FromParts<P>,
    B: Body<N, Pair<P>, Result = Pair<P>>,
{
    apart::<T, R, P, N>(inputs, out, on_parts::<P, B, N>)
}

/// Makes kernels of bodies on complex numbers, whose parts become `f64`.
struct ComplexKernels<T>(PhantomData<T>);

impl<T: Complex> VisitComplex<f64> for ComplexKernels<T> {
    type Output = MapKernel;

    fn value<B: Body<N, Pair<f64>, Result = Pair<f64>>, const N: usize>(self) -> MapKernel {
        on_complex::<T, T, f64, B, N>
    }

    fn test<B: Body<N, Pair<f64>, Result = bool>, const N: usize>(self) -> MapKernel {
        on_complex::<T, bool, f64, ComplexTest<B>, N>
    }

    fn part<B: Body<N, Pair<f64>, Result = f64>, const N: usize>(self) -> MapKernel {
        on_complex::<T, T::Part, f64, RealResult<B>, N>
    }
}

/// The kernels of c64 whose parts stay `f32`.
fn short_kernel(op: Op) -> Option<MapKernel> {
    Some(match op {
        Op::Abs => on_complex::<Complex32, f32, f32, RealResult<short::Abs>, 1>,
        Op::Angle => on_complex::<Complex32, f32, f32, RealResult<short::Angle>, 1>,
        Op::Div => on_complex::<Complex32, Complex32, f32, short::Div, 2>,
        Op::Mul => on_complex::<Complex32, Complex32, f32, short::Mul, 2>,
        Op::Reciprocal => on_complex::<Complex32, Complex32, f32, short::Reciprocal, 1>,
        Op::Square => on_complex::<Complex32, Complex32, f32, short::Square, 1>,
        _ => return None,
    })
}

/// Whether an operation computes each part of complex numbers from the same parts of others, and so is one on
/// twice as many floats.
pub fn is_by_parts(op: Op) -> bool {
    matches!(op, Op::Add | Op::Sub | Op::Neg | Op::Positive)
}

/// The kernel of an operation.
pub(super) fn kernel<T: Complex>(op: Op) -> Option<MapKernel> {
    if is_by_parts(op) {
        return float_kernel::<T::Part>(op);
    }
    let short = if T::DTYPE == DType::C64 { short_kernel(op) } else { None };
    short.or_else(|| dispatch::complex::<f64, _>(op, ComplexKernels::<T>(PhantomData)))
}
