//! Owns factors of floats as lines that are multiplied, and the sums of their products, with the order in
//! which an element of a product is summed. It does not know which loops sum.
//!
//! An element of a product depends on its row and its column alone. The columns of the left factor are taken
//! [`BLOCK_DEPTH`] at a time; the products of such a block are one chain of fused multiply-adds that begins
//! at 0, and blocks are added in order. A complex number is multiplied as two real rows by columns of its two
//! parts, whose four sums are combined at the end of a block. Layouts, sizes, threads and instruction sets
//! change no bit.

use std::ops::{Add, Range};

use bytemuck::{Pod, cast_slice, cast_slice_mut};
use num_complex::{Complex32, Complex64};
use zerostride_ops::{bf16, f16};

use super::matrix::parts;
use crate::isa::RegisterFloat;
use crate::lane::Arithmetic;
use crate::pack::pack_dense;

/// Products in one partial sum.
pub(crate) const BLOCK_DEPTH: usize = 128;

/// Elements of a block below which packing element by element takes less time than preparing a copy.
const SCALAR_PACK_ELEMENTS: usize = 256;

/// A type of sums: a float, or a complex number as two floats.
pub(super) trait Accumulator: Pod + Add<Output = Self> {
    type SumFloat: RegisterFloat + Pod;
    /// A partial sum: a float, or the four sums of a complex product.
    type Partial: Copy;
    const PARTS: usize = size_of::<Self>() / size_of::<Self::SumFloat>();
    const START: Self::Partial;

    /// A partial sum with one more product.
    fn extend(chain: Self::Partial, a: Self, b: Self) -> Self::Partial;
    /// The value of a partial sum.
    fn end(chain: Self::Partial) -> Self;
    /// Combines rows of partial sums, each `width` long, into a row of sums, which is written or added to
    /// `out`.
    fn merge(sums: &[Self::SumFloat], width: usize, out: &mut [Self], adds: bool);
}

/// An element of a factor, which is widened before it is multiplied.
pub(super) trait FactorElement: Pod {
    type Sum: Accumulator;
    /// Whether it needs no widening.
    const IS_SUM: bool;

    fn widen(self) -> Self::Sum;
}

/// The float that the products of a factor are summed in.
pub(super) type SumFloat<F> = <<F as FactorElement>::Sum as Accumulator>::SumFloat;

macro_rules! floats {
    ($($real:ident $complex:ident),*) => {$(
        impl Accumulator for $real {
            type SumFloat = $real;
            type Partial = $real;
            const START: $real = 0.0;

            #[inline(always)]
            fn extend(chain: $real, a: $real, b: $real) -> $real {
                Arithmetic::mul_add(a, b, chain)
            }

            #[inline(always)]
            fn end(chain: $real) -> $real {
                chain
            }

            #[inline(always)]
            fn merge(sums: &[$real], _: usize, out: &mut [$real], adds: bool) {
                for (out, &sum) in out.iter_mut().zip(sums) {
                    *out = if adds { *out + sum } else { sum };
                }
            }
        }

        impl Accumulator for $complex {
            type SumFloat = $real;
            type Partial = [$real; 4];
            const START: [$real; 4] = [0.0; 4];

            #[inline(always)]
            fn extend(chain: [$real; 4], a: $complex, b: $complex) -> [$real; 4] {
                [
                    Arithmetic::mul_add(a.re, b.re, chain[0]),
                    Arithmetic::mul_add(a.re, b.im, chain[1]),
                    Arithmetic::mul_add(a.im, b.re, chain[2]),
                    Arithmetic::mul_add(a.im, b.im, chain[3]),
                ]
            }

            #[inline(always)]
            fn end([both_re, re_im, im_re, both_im]: [$real; 4]) -> $complex {
                $complex { re: both_re - both_im, im: re_im + im_re }
            }

            #[inline(always)]
            fn merge(sums: &[$real], width: usize, out: &mut [$complex], adds: bool) {
                let (re, im) = sums.split_at(width);
                for ((out, re), im) in out.iter_mut().zip(re.as_chunks::<2>().0).zip(im.as_chunks::<2>().0) {
                    let sum = Self::end([re[0], re[1], im[0], im[1]]);
                    *out = if adds { *out + sum } else { sum };
                }
            }
        }

        factor!($real $real true |own| own);
        factor!($complex $complex true |own| own);
    )*};
}

macro_rules! factor {
    ($factor:ident $sum:ident $is_sum:literal |$own:ident| $widened:expr) => {
        impl FactorElement for $factor {
            type Sum = $sum;
            const IS_SUM: bool = $is_sum;

            #[inline(always)]
            fn widen(self) -> $sum {
                let $own = self;
                $widened
            }
        }
    };
}

floats!(f32 Complex32, f64 Complex64);
factor!(f16 f32 false |half| half.to_f32());
factor!(bf16 f32 false |half| half.to_f32());

/// A factor as the lines that are multiplied: rows of the left factor, columns of the right one, each as long
/// as the depth.
#[derive(Clone, Copy)]
pub(super) struct FactorLines<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) offset: isize,
    /// Elements from one line to the next.
    pub(super) apart: isize,
    /// Elements from one element of a line to the next.
    pub(super) step: isize,
    pub(super) count: usize,
}

impl<'a> FactorLines<'a> {
    pub(super) fn first(&self, line: usize, at: usize) -> isize {
        self.offset + line as isize * self.apart + at as isize * self.step
    }

    /// The elements from the first one on.
    pub(super) fn elements<F: FactorElement>(self) -> &'a [F::Sum] {
        &cast_slice(self.bytes)[self.offset as usize..]
    }

    /// Copies `depth` elements of some lines into panels of `width` lines each, the last of which may be
    /// narrower: for each step of the depth the elements of all lines of a panel.
    #[inline(always)]
    pub(super) fn pack<F: FactorElement>(
        &self,
        lines: Range<usize>,
        depth: Range<usize>,
        width: usize,
        to: &mut [F::Sum],
    ) {
        let few = lines.len() * depth.len() < SCALAR_PACK_ELEMENTS;
        if F::IS_SUM && !few {
            let (item, full) = (size_of::<F>() as isize, lines.len() / width);
            let (apart, step) = (self.apart * item, self.step * item);
            let (whole, last) = to[..lines.len() * depth.len()].split_at_mut(full * width * depth.len());
            let panels = [
                (full, width, lines.start, whole),
                (1, lines.len() % width, lines.start + full * width, last),
            ];
            for (count, width, line, to) in panels.into_iter().filter(|(.., to)| !to.is_empty()) {
                let dims = [(count, width as isize * apart), (depth.len(), step), (width, apart)];
                let first = self.first(line, depth.start) as usize * size_of::<F>();
                pack_dense(size_of::<F>(), &dims, self.bytes, first, cast_slice_mut(to));
            }
            return;
        }
        let elements: &[F] = cast_slice(self.bytes);
        let mut rest = to;
        for panel in parts(lines.len(), width) {
            let (own, others) = rest.split_at_mut(panel.len() * depth.len());
            rest = others;
            for (line, at) in panel.clone().zip(0..) {
                let first = self.first(lines.start + line, depth.start);
                for (place, step) in own[at..].iter_mut().step_by(panel.len()).zip(0..) {
                    *place = elements[(first + step * self.step) as usize].widen();
                }
            }
        }
    }

    /// The reals from an element on, and the distances from one line and one step to the next, if tiles can
    /// read them in place.
    #[inline(always)]
    pub(super) fn lying<F: FactorElement>(
        &self,
        line: usize,
        at: usize,
    ) -> Option<(&[SumFloat<F>], usize, usize)> {
        let parts = F::Sum::PARTS;
        let elements: &[SumFloat<F>] = cast_slice(self.bytes);
        let (apart, step) = (usize::try_from(self.apart).ok()?, usize::try_from(self.step).ok()?);
        Some((&elements[self.first(line, at) as usize * parts..], apart * parts, step * parts))
    }
}
