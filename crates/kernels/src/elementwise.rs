//! Owns the element-wise kernels over tiles of memory: one loop around every body. It does not know what an operation
//! computes (`bodies/`), nor where a tile comes from.

use std::marker::PhantomData;

use bytemuck::{cast_slice, cast_slice_mut};
use half::{bf16, f16};
use num_complex::{Complex as Pair, Complex32, Complex64};
use zerostride_ops::{DType, Element, Op};

use crate::Isa;
use crate::bodies::complex::{Complex, FromParts, Part};
use crate::bodies::dispatch::{self, Body, VisitBoolean, VisitComplex, VisitFloat, VisitInteger};
use crate::bodies::half::{Float, Half};
use crate::bodies::integer::{self, Integer};
use crate::isa::{self, Enter, Task};

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

/// Complex numbers that are worked on together: their parts fit into the nearest cache.
const BLOCK: usize = 64;

/// The parts of complex numbers, apart.
#[derive(Clone, Copy)]
struct Parts {
    re: [f64; BLOCK],
    im: [f64; BLOCK],
}

const NO_PARTS: Parts = Parts { re: [0.0; BLOCK], im: [0.0; BLOCK] };

/// A body on so many of the parts, which c64 and c128 share.
type OnParts<const N: usize> = fn(&[Parts; N], &mut Parts, usize);

/// Takes complex numbers apart, calls a body on the parts, and stores its results, whatever they are.
struct Apart<'a, T, R, const N: usize> {
    inputs: &'a [&'a [u8]],
    out: &'a mut [u8],
    body: OnParts<N>,
    dtypes: PhantomData<(T, R)>,
}

impl<T: Complex, R: FromParts, const N: usize> Task for Apart<'_, T, R, N> {
    #[inline(always)]
    fn run(self) {
        let out = cast_slice_mut::<u8, R::Stored>(self.out);
        let operands = tiles::<T, N>(self.inputs, out.len());
        let (mut parts, mut results) = ([NO_PARTS; N], NO_PARTS);
        for (block, out) in out.chunks_mut(BLOCK).enumerate() {
            for (parts, operand) in parts.iter_mut().zip(operands) {
                let numbers = &operand[block * BLOCK..][..out.len()];
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
struct OnLanes<'a, W, B, const N: usize> {
    operands: &'a [Parts; N],
    results: &'a mut Parts,
    len: usize,
    body: PhantomData<(W, B)>,
}

impl<W: Part, B: Body<N, Pair<W>, Result = Pair<W>>, const N: usize> Task for OnLanes<'_, W, B, N> {
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

/// The body whose truth values are 1 and 0, without an imaginary part.
struct Truth<B>(PhantomData<B>);

impl<W: Part, B: Body<N, Pair<W>, Result = W::Mask>, const N: usize> Body<N, Pair<W>> for Truth<B> {
    const OP: Op = B::OP;
    type Result = Pair<W>;

    #[inline(always)]
    fn call(operands: [Pair<W>; N]) -> Pair<W> {
        Pair::new(W::select(B::call(operands), W::num(1.0), W::num(0.0)), W::num(0.0))
    }
}

/// The body whose real results are complex numbers.
struct Real<B>(PhantomData<B>);

impl<W: Part, B: Body<N, Pair<W>, Result = W>, const N: usize> Body<N, Pair<W>> for Real<B> {
    const OP: Op = B::OP;
    type Result = Pair<W>;

    #[inline(always)]
    fn call(operands: [Pair<W>; N]) -> Pair<W> {
        Pair::new(B::call(operands), W::num(0.0))
    }
}

/// The kernel of a body on complex numbers of type `T` with results of type `R`.
fn on_complex<T, R, W, B, const N: usize>() -> MapKernel
where
    T: Complex,
    R: FromParts,
    W: Part + Enter,
    B: Body<N, Pair<W>, Result = Pair<W>>,
{
    |inputs, out| {
        let body: OnParts<N> = |operands, results, len| {
            W::enter(OnLanes::<W, B, N> { operands, results, len, body: PhantomData });
        };
        isa::run_widest(Apart::<T, R, N> { inputs, out, body, dtypes: PhantomData });
        Ok(())
    }
}

impl<T: Complex<Part: FromParts>, W: Part + Enter> VisitComplex<W> for Loops<T> {
    type Output = MapKernel;

    fn value<B: Body<N, Pair<W>, Result = Pair<W>>, const N: usize>(self) -> MapKernel {
        on_complex::<T, T, W, B, N>()
    }

    fn test<B: Body<N, Pair<W>, Result = W::Mask>, const N: usize>(self) -> MapKernel {
        on_complex::<T, bool, W, Truth<B>, N>()
    }

    fn part<B: Body<N, Pair<W>, Result = W>, const N: usize>(self) -> MapKernel {
        on_complex::<T, T::Part, W, Real<B>, N>()
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

/// What is done to each part on its own is done to twice as many floats.
fn complex_kernel<T: Complex<Part: FromParts>>(op: Op) -> Option<MapKernel> {
    let loops = Loops::<T>(PhantomData);
    match (op, Isa::active()) {
        (Op::Add | Op::Sub | Op::Neg | Op::Positive, _) => float_kernel::<T::Part>(op),
        #[cfg(target_arch = "x86_64")]
        (_, Isa::Avx512) => dispatch::complex::<crate::lane::avx512::F64x8, _>(op, loops),
        #[cfg(target_arch = "x86_64")]
        (_, Isa::Avx2) => dispatch::complex::<crate::lane::avx2::F64x4, _>(op, loops),
        #[cfg(target_arch = "aarch64")]
        (_, Isa::Neon) => dispatch::complex::<crate::lane::neon::F64x2, _>(op, loops),
        _ => dispatch::complex::<f64, _>(op, loops),
    }
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
