//! Owns the element-wise kernels of complex numbers. A block of numbers is split into real and imaginary
//! parts, and bodies work on registers of parts. Parts are `f64`, so that one function serves both dtypes;
//! for simple operations those of c64 stay `f32` until they are in registers. It does not know what an
//! operation computes.

use std::marker::PhantomData;

use bytemuck::cast_slice_mut;
use num_complex::{Complex as Pair, Complex32};
use zerostride_ops::{DType, Op};

use super::tile::{BLOCK_ELEMENTS, Fault, MapKernel, float_kernel, tiles};
use crate::Isa;
use crate::bodies::complex::{Complex, FromParts, IntoParts, Part};
use crate::bodies::dispatch::{self, Body, VisitComplex};
use crate::bodies::float::Floats;
use crate::bodies::half::Float;
use crate::bodies::short;
use crate::isa::{self, Enter, Task};
use crate::lane::{self, Lane};

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
type OnParts<P, const N: usize> = fn(&[SplitParts<P>; N], &mut SplitParts<P>, usize);

/// Splits complex numbers, calls a body on the parts, and stores its results of any dtype.
struct Apart<'a, T, R, P, const N: usize> {
    inputs: &'a [&'a [u8]],
    out: &'a mut [u8],
    body: OnParts<P, N>,
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

/// Calls a body on registers of parts.
struct OnLanes<'a, W: Lane, B, const N: usize> {
    operands: &'a [SplitParts<W::Elem>; N],
    results: &'a mut SplitParts<W::Elem>,
    len: usize,
    body: PhantomData<B>,
}

impl<W: Lane, B: Body<N, Pair<W>, Result = Pair<W>>, const N: usize> Task for OnLanes<'_, W, B, N> {
    #[inline(always)]
    fn run(self) {
        for at in (0..self.len).step_by(W::LEN) {
            let mut operands = [Pair::new(W::num(0.0), W::num(0.0)); N];
            for (operand, parts) in operands.iter_mut().zip(self.operands) {
                *operand = Pair::new(W::load(&parts.re[at..]), W::load(&parts.im[at..]));
            }
            let result = B::call(operands);
            result.re.store(&mut self.results.re[at..]);
            result.im.store(&mut self.results.im[at..]);
        }
    }
}

/// The body whose bools are 1 and 0, without an imaginary part.
struct ComplexTest<B>(PhantomData<B>);

impl<W: Lane, B: Body<N, Pair<W>, Result = W::Mask>, const N: usize> Body<N, Pair<W>> for ComplexTest<B> {
    const OP: Op = B::OP;
    type Result = Pair<W>;

    #[inline(always)]
    fn call(operands: [Pair<W>; N]) -> Pair<W> {
        Pair::new(W::select(B::call(operands), W::num(1.0), W::num(0.0)), W::num(0.0))
    }
}

/// The body whose real results become complex numbers.
struct RealResult<B>(PhantomData<B>);

impl<W: Lane, B: Body<N, Pair<W>, Result = W>, const N: usize> Body<N, Pair<W>> for RealResult<B> {
    const OP: Op = B::OP;
    type Result = Pair<W>;

    #[inline(always)]
    fn call(operands: [Pair<W>; N]) -> Pair<W> {
        Pair::new(B::call(operands), W::num(0.0))
    }
}

/// Runs a body over parts, register by register.
fn on_lanes<W, B, const N: usize>(
    operands: &[SplitParts<W::Elem>; N],
    results: &mut SplitParts<W::Elem>,
    len: usize,
) where
    W: Lane + Enter,
    B: Body<N, Pair<W>, Result = Pair<W>>,
{
    W::enter(OnLanes::<W, B, N> { operands, results, len, body: PhantomData });
}

/// Calls a body on the parts of complex numbers of type `T`, for results of type `R`. Compiled once for all
/// bodies, so not inlined.
#[inline(never)]
fn apart<T: IntoParts<P>, R: FromParts<P>, P: Float, const N: usize>(
    inputs: &[&[u8]],
    out: &mut [u8],
    body: OnParts<P, N>,
) -> Result<(), Fault> {
    isa::run_widest(Apart::<T, R, P, N> { inputs, out, body, dtypes: PhantomData });
    Ok(())
}

/// The kernel of a body on registers of parts.
fn on_complex<T, R, W, B, const N: usize>(inputs: &[&[u8]], out: &mut [u8]) -> Result<(), Fault>
where
    W: Lane<Elem: Float> + Enter,
    T: IntoParts<W::Elem>,
    R: FromParts<W::Elem>,
    B: Body<N, Pair<W>, Result = Pair<W>>,
{
    apart::<T, R, W::Elem, N>(inputs, out, on_lanes::<W, B, N>)
}

/// Makes kernels of bodies on complex numbers, in registers of `f64`.
struct ComplexKernels<T>(PhantomData<T>);

impl<T: Complex, W: Part + Enter> VisitComplex<W> for ComplexKernels<T> {
    type Output = MapKernel;

    fn value<B: Body<N, Pair<W>, Result = Pair<W>>, const N: usize>(self) -> MapKernel {
        on_complex::<T, T, W, B, N>
    }

    fn test<B: Body<N, Pair<W>, Result = W::Mask>, const N: usize>(self) -> MapKernel {
        on_complex::<T, bool, W, ComplexTest<B>, N>
    }

    fn part<B: Body<N, Pair<W>, Result = W>, const N: usize>(self) -> MapKernel {
        on_complex::<T, T::Part, W, RealResult<B>, N>
    }
}

/// The kernels of c64 in registers of `f32`.
fn short_kernel<W: Floats<Elem = f32> + Enter>(op: Op) -> Option<MapKernel> {
    Some(match op {
        Op::Abs => on_complex::<Complex32, f32, W, RealResult<short::Abs>, 1>,
        Op::Angle => on_complex::<Complex32, f32, W, RealResult<short::Angle>, 1>,
        Op::Div => on_complex::<Complex32, Complex32, W, short::Div, 2>,
        Op::Mul => on_complex::<Complex32, Complex32, W, short::Mul, 2>,
        Op::Reciprocal => on_complex::<Complex32, Complex32, W, short::Reciprocal, 1>,
        Op::Square => on_complex::<Complex32, Complex32, W, short::Square, 1>,
        _ => return None,
    })
}

/// The kernel of an operation in registers of `f32` and `f64`.
fn in_registers<T, V, W>(op: Op) -> Option<MapKernel>
where
    T: Complex,
    V: Floats<Elem = f32> + Enter,
    W: Part + Enter,
{
    let short = if T::DTYPE == DType::C64 { short_kernel::<V>(op) } else { None };
    short.or_else(|| dispatch::complex::<W, _>(op, ComplexKernels::<T>(PhantomData)))
}

/// Operations on each part by itself run on twice as many floats.
pub(super) fn kernel<T: Complex>(op: Op) -> Option<MapKernel> {
    match (op, Isa::active()) {
        (Op::Add | Op::Sub | Op::Neg | Op::Positive, _) => float_kernel::<T::Part>(op),
        _ if cfg!(unoptimised) => in_registers::<T, f32, f64>(op),
        #[cfg(target_arch = "x86_64")]
        (_, Isa::Avx512) => in_registers::<T, lane::avx512::F32x16, lane::avx512::F64x8>(op),
        #[cfg(target_arch = "x86_64")]
        (_, Isa::Avx2) => in_registers::<T, lane::avx2::F32x8, lane::avx2::F64x4>(op),
        #[cfg(target_arch = "aarch64")]
        (_, Isa::Neon) => in_registers::<T, lane::neon::F32x4, lane::neon::F64x2>(op),
        _ => in_registers::<T, f32, f64>(op),
    }
}
