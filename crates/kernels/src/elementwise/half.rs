//! Owns the element-wise kernels of f16 and bf16: those of `f32`, called on blocks that are widened before
//! and rounded after. It does not know what an operation computes.

use std::marker::PhantomData;

use bytemuck::{cast_slice, cast_slice_mut};
use num_complex::Complex32;
use zerostride_ops::Op;

use super::tile::{BLOCK_ELEMENTS, Fault, MapKernel, on_elements, on_pairs, on_whole, run, tiles};
use crate::bodies::dispatch::{self, Body, VisitFloat};
use crate::bodies::half::Half;

/// Makes kernels of f16 or bf16 from bodies on `f32`.
struct HalfKernels<T>(PhantomData<T>);

/// A kernel on widened operands.
type OnWide<'a> = dyn Fn(&[&[u8]], &mut [u8]) -> Result<(), Fault> + 'a;

/// Calls a kernel of `f32` on operands that are widened block by block; it writes `size` bytes for each
/// result.
fn widened<T: Half, const N: usize>(
    inputs: &[&[u8]],
    out: &mut [u8],
    size: usize,
    kernel: &OnWide<'_>,
) -> Result<(), Fault> {
    let operands = tiles::<T, N>(inputs, out.len() / size);
    let mut wide = [[0f32; BLOCK_ELEMENTS]; N];
    for (block, out) in out.chunks_mut(BLOCK_ELEMENTS * size).enumerate() {
        let len = out.len() / size;
        for (wide, operand) in wide.iter_mut().zip(operands) {
            for (wide, &half) in wide.iter_mut().zip(&operand[block * BLOCK_ELEMENTS..][..len]) {
                *wide = T::load(half).widen();
            }
        }
        let wide: [&[u8]; N] = std::array::from_fn(|operand| cast_slice(&wide[operand][..len]));
        kernel(&wide, out)?;
    }
    Ok(())
}

/// The same with results that are rounded to f16 or bf16.
fn rounded<T: Half, const N: usize>(
    inputs: &[&[u8]],
    out: &mut [u8],
    kernel: MapKernel,
) -> Result<(), Fault> {
    widened::<T, N>(inputs, out, size_of::<T>(), &|wide, out| {
        let out = cast_slice_mut::<u8, T::Stored>(out);
        let mut results = [0f32; BLOCK_ELEMENTS];
        let results = &mut results[..out.len()];
        kernel(wide, cast_slice_mut(results))?;
        for (out, &result) in out.iter_mut().zip(&*results) {
            *out = T::narrow(result).store();
        }
        Ok(())
    })
}

impl<T: Half> VisitFloat<f32> for HalfKernels<T> {
    type Output = MapKernel;

    fn value<B: Body<N, f32, Result = f32>, const N: usize>(self) -> MapKernel {
        |inputs, out| rounded::<T, N>(inputs, out, on_elements::<f32, B, N>)
    }

    fn test<B: Body<N, f32, Result = bool>, const N: usize>(self) -> MapKernel {
        |inputs, out| widened::<T, N>(inputs, out, size_of::<bool>(), &on_elements::<f32, B, N>)
    }

    fn integer<B: Body<N, f32, Result = f32>, const N: usize>(self) -> MapKernel {
        |inputs, out| widened::<T, N>(inputs, out, size_of::<i32>(), &on_whole::<f32, B, N>)
    }

    fn pair<B: Body<N, f32, Result = [f32; 2]>, const N: usize>(self) -> MapKernel {
        |inputs, out| widened::<T, N>(inputs, out, size_of::<Complex32>(), &on_pairs::<f32, B, N>)
    }
}

/// Two operations are not their body on `f32`.
pub(super) fn kernel<T: Half>(op: Op) -> Option<MapKernel> {
    match op {
        Op::DivTrunc => Some(|inputs, out| {
            run(inputs, out, |[a, b]: [T; 2]| a.div_trunc(b));
            Ok(())
        }),
        Op::Nextafter => Some(|inputs, out| {
            run(inputs, out, |[a, towards]: [T; 2]| a.next_after(towards));
            Ok(())
        }),
        _ => dispatch::float(op, HalfKernels::<T>(PhantomData)),
    }
}
