//! Owns the order in which products of floats are summed, and the packed blocks of factors for the register
//! tiles (`tile.rs`). It does not know batches.
//!
//! An element of a product depends on its row and its column alone. The columns of the left factor are taken
//! [`BLOCK_DEPTH`] at a time; the products of such a block are one chain of fused multiply-adds that begins
//! at 0, and blocks are added in order. A complex number is multiplied as two real rows by columns of its two
//! parts, whose four sums are combined at the end of a block. Layouts, sizes, threads and instruction sets
//! change no bit.
//!
//! Source: Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", 2008.

use std::ops::{Add, Range};

use bytemuck::{Pod, cast_slice, cast_slice_mut};
use num_complex::{Complex32, Complex64};
use zerostride_ops::{bf16, f16};

use super::dots::{multiply_lines, multiply_two};
use super::scratch::ProductScratch;
use super::tile::{TILE_ROWS, TILE_SUMS, TileColumns, TileRows, most_rows, multiply, registers};
use super::{Matrix, ProductSizes, parts};
use crate::isa::{LaneTask, RegisterFloat, prefetch};
use crate::lane::{Element, Lane};
use crate::pack::pack_dense;

/// Products in one partial sum.
pub(super) const BLOCK_DEPTH: usize = 128;

/// Rows of a packed block of the left factor, and bytes of a row of a packed block of the right one.
const BLOCK_ROWS: usize = 128;
const BLOCK_ROW_BYTES: usize = 2048;

/// Elements of a block up to which a contiguous one is read in place.
const IN_PLACE_ELEMENTS: usize = 4096;

/// Tiles side by side up to which rows are read in place, once for each tile.
const IN_PLACE_TILES: usize = 8;

/// Elements of a block below which packing element by element takes less time than preparing a copy.
const SCALAR_PACK_ELEMENTS: usize = 256;

/// A type of sums: a float, or a complex number as two floats.
pub(super) trait Accumulator: Pod + Add<Output = Self> {
    type Real: RegisterFloat + Pod;
    /// A partial sum: a float, or the four sums of a complex product.
    type Partial: Copy;
    const PARTS: usize = size_of::<Self>() / size_of::<Self::Real>();
    const START: Self::Partial;

    /// A partial sum with one more product.
    fn extend(chain: Self::Partial, a: Self, b: Self) -> Self::Partial;
    /// The value of a partial sum.
    fn end(chain: Self::Partial) -> Self;
    /// Combines rows of partial sums, each `width` long, into a row of sums, which is written or added to
    /// `out`.
    fn merge(sums: &[Self::Real], width: usize, out: &mut [Self], adds: bool);
}

/// An element of a factor, which is widened before it is multiplied.
pub(super) trait FactorElement: Pod {
    type Sum: Accumulator;
    /// Whether it needs no widening.
    const IS_SUM: bool;

    fn widen(self) -> Self::Sum;
}

/// The float that the products of a factor are summed in.
pub(super) type Real<F> = <<F as FactorElement>::Sum as Accumulator>::Real;

macro_rules! floats {
    ($($real:ident $complex:ident),*) => {$(
        impl Accumulator for $real {
            type Real = $real;
            type Partial = $real;
            const START: $real = 0.0;

            #[inline(always)]
            fn extend(chain: $real, a: $real, b: $real) -> $real {
                Lane::mul_add(a, b, chain)
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
            type Real = $real;
            type Partial = [$real; 4];
            const START: [$real; 4] = [0.0; 4];

            #[inline(always)]
            fn extend(chain: [$real; 4], a: $complex, b: $complex) -> [$real; 4] {
                [
                    Lane::mul_add(a.re, b.re, chain[0]),
                    Lane::mul_add(a.re, b.im, chain[1]),
                    Lane::mul_add(a.im, b.re, chain[2]),
                    Lane::mul_add(a.im, b.im, chain[3]),
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
    bytes: &'a [u8],
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
    fn lying<F: FactorElement>(&self, line: usize, at: usize) -> Option<(&[Real<F>], usize, usize)> {
        let parts = F::Sum::PARTS;
        let elements: &[Real<F>] = cast_slice(self.bytes);
        let (apart, step) = (usize::try_from(self.apart).ok()?, usize::try_from(self.step).ok()?);
        Some((&elements[self.first(line, at) as usize * parts..], apart * parts, step * parts))
    }
}

/// Writes the product of two matrices of floats that lie in their slices, row by row.
pub(super) fn multiply_floats<'a, F: FactorElement>(
    ProductSizes { n, k, m }: ProductSizes,
    a: Matrix<'a>,
    b: Matrix<'a>,
    out: &mut [F::Sum],
    scratch: &mut ProductScratch,
) {
    // The stride of a dimension of size 1 is arbitrary.
    let stride = |stride: isize, size: usize| if size > 1 { stride } else { 0 };
    let lines = |matrix: Matrix<'a>, count, apart, step| FactorLines {
        bytes: matrix.bytes,
        offset: matrix.offset,
        apart: stride(apart, count),
        step: stride(step, k),
        count,
    };
    let (rows, columns) =
        (lines(a, n, a.row_stride, a.column_stride), lines(b, m, b.column_stride, b.row_stride));
    // Registers hold columns side by side. A single column changes places with the rows: multiplication
    // commutes, so no sum changes.
    let (a, b) = if m == 1 { (columns, rows) } else { (rows, columns) };
    if a.count == 1 && b.count == 1 {
        multiply_two::<F>(a, b, k, &mut out[0], scratch);
    } else if a.count == 1 && F::IS_SUM && a.step == 1 && b.step == 1 {
        multiply_lines::<F>(a, b, k, out);
    } else if a.count == 1 && b.apart == 1 && F::IS_SUM {
        Real::<F>::run_widest(RowProduct::<F> { a, b, depth: k, out, scratch });
    } else {
        Real::<F>::run_widest(BlockedProduct::<F> { a, b, depth: k, out, scratch });
    }
}

/// A product of matrices, compiled for each instruction set.
struct BlockedProduct<'a, F: FactorElement> {
    a: FactorLines<'a>,
    b: FactorLines<'a>,
    depth: usize,
    out: &'a mut [F::Sum],
    scratch: &'a mut ProductScratch,
}

impl<F: FactorElement> LaneTask<Real<F>> for BlockedProduct<'_, F> {
    #[inline(always)]
    fn run<L: Lane<Elem = Real<F>>>(self) {
        let BlockedProduct { a, b, depth: all, out, scratch } = self;
        let between = scratch.between;
        let parts_of = F::Sum::PARTS;
        let (rows, columns) = (most_rows::<L>() / parts_of, (registers::<L>() * L::LEN / parts_of).max(1));
        // A factor that is read once, or fits into L1, is read in place.
        let is_small = |lines: usize| lines * all.min(BLOCK_DEPTH) <= IN_PLACE_ELEMENTS;
        let a_lies = F::IS_SUM && (b.count <= IN_PLACE_TILES * columns || is_small(a.count));
        let b_lies = F::IS_SUM && b.apart == 1 && (a.count <= rows || is_small(b.count));
        let block = if b_lies { columns } else { BLOCK_ROW_BYTES / size_of::<F::Sum>() / columns * columns };
        let deep = all.min(BLOCK_DEPTH) * parts_of;
        // A tile loads whole registers, beyond the last column.
        let lens = [deep * a.count.min(BLOCK_ROWS), deep * b.count.min(block) + TILE_SUMS, TILE_SUMS];
        let [own_a, own_b, sums] = scratch.slices::<L::Elem>(lens);
        for depth in parts(all, BLOCK_DEPTH) {
            let deep = depth.len();
            for block in parts(b.count, block) {
                let lying = if b_lies { b.lying::<F>(block.start, depth.start) } else { None };
                let lying = lying.filter(|(elements, _, step)| {
                    (deep - 1) * step + registers::<L>() * L::LEN <= elements.len()
                });
                if lying.is_none() {
                    let own = &mut own_b[..block.len() * deep * parts_of];
                    b.pack::<F>(block.clone(), depth.clone(), columns, cast_slice_mut(own));
                }
                for high in parts(a.count, BLOCK_ROWS) {
                    between();
                    let a_lying = if a_lies { a.lying::<F>(high.start, depth.start) } else { None };
                    if a_lying.is_none() && (block.start == 0 || a.count > BLOCK_ROWS) {
                        let own = &mut own_a[..high.len() * deep * parts_of];
                        a.pack::<F>(high.clone(), depth.clone(), rows, cast_slice_mut(own));
                    }
                    for right in parts(block.len(), columns) {
                        let count = right.len() * parts_of;
                        let b_panel = match lying {
                            Some((elements, _, step)) => TileColumns { elements, count, step },
                            None => {
                                let elements = &own_b[right.start * deep * parts_of..];
                                TileColumns { elements, count, step: count }
                            }
                        };
                        for left in parts(high.len(), rows) {
                            let count = left.len() * parts_of;
                            let (elements, apart, step) = match a_lying {
                                Some((elements, apart, step)) => {
                                    (&elements[left.start * apart..], apart, step)
                                }
                                None => (&own_a[left.start * deep * parts_of..], parts_of, count),
                            };
                            let mut starts = [0; TILE_ROWS];
                            for (row, start) in starts.iter_mut().enumerate().take(count) {
                                *start = row / parts_of * apart + row % parts_of;
                            }
                            for row in left.clone() {
                                let first = (high.start + row) * b.count + block.start + right.start;
                                prefetch::<64>(std::ptr::from_ref(&out[first]).cast());
                            }
                            let a_panel = TileRows { elements, starts, count, step };
                            let width = multiply::<L>(deep, a_panel, b_panel, sums);
                            for (row, sums) in left.zip(sums.chunks_exact(width * parts_of)) {
                                let first = (high.start + row) * b.count + block.start + right.start;
                                let out = &mut out[first..][..right.len()];
                                F::Sum::merge(sums, width, out, depth.start > 0);
                            }
                        }
                    }
                }
            }
        }
    }
}

/// One row by contiguous columns: the sums of many columns stay in L1, and rows of the right factor are read
/// in order, four at a time.
struct RowProduct<'a, F: FactorElement> {
    a: FactorLines<'a>,
    b: FactorLines<'a>,
    depth: usize,
    out: &'a mut [F::Sum],
    scratch: &'a mut ProductScratch,
}

/// Reals whose sums stay in L1.
const L1_REALS: usize = 1024;

impl<F: FactorElement> LaneTask<Real<F>> for RowProduct<'_, F> {
    #[inline(always)]
    fn run<L: Lane<Elem = Real<F>>>(self) {
        let RowProduct { a, b, depth: all, out, scratch } = self;
        let between = scratch.between;
        let parts_of = F::Sum::PARTS;
        let whole = b.count * parts_of / L::LEN * L::LEN;
        let (left, right): (&[L::Elem], &[L::Elem]) = (cast_slice(a.bytes), cast_slice(b.bytes));
        let [sums, _, _] = scratch.slices::<L::Elem>([L1_REALS * parts_of, 0, 0]);
        for block in parts(whole, L1_REALS) {
            let width = block.len();
            for depth in parts(all, BLOCK_DEPTH) {
                between();
                let sums = &mut sums[..width * parts_of];
                sums.fill(Real::<F>::from_f64(0.0));
                let row = |at: usize| &right[b.first(0, at) as usize * parts_of + block.start..][..width];
                let mut at = depth.start;
                while at < depth.end {
                    let own = |at: usize| a.first(0, at) as usize * parts_of;
                    for (part, sums) in sums.chunks_exact_mut(width).enumerate() {
                        if at + 4 <= depth.end {
                            let left = [0, 1, 2, 3].map(|step| left[own(at + step) + part]);
                            add_rows::<L, 4>(sums, left, [0, 1, 2, 3].map(|step| row(at + step)));
                        } else {
                            add_rows::<L, 1>(sums, [left[own(at) + part]], [row(at)]);
                        }
                    }
                    at += if at + 4 <= depth.end { 4 } else { 1 };
                }
                let out = &mut out[block.start / parts_of..block.end / parts_of];
                F::Sum::merge(sums, width, out, depth.start > 0);
            }
        }
        let rest =
            FactorLines { offset: b.first(whole / parts_of, 0), count: b.count - whole / parts_of, ..b };
        if rest.count > 0 {
            let out = &mut out[whole / parts_of..];
            // A call, not the method itself: its code is there once.
            Real::<F>::run_widest(BlockedProduct::<F> { a, b: rest, depth: all, out, scratch });
        }
    }
}

/// Adds the products of numbers by rows to sums, one row after the other.
#[inline(always)]
fn add_rows<L: Lane, const N: usize>(sums: &mut [L::Elem], left: [L::Elem; N], rows: [&[L::Elem]; N]) {
    let left = left.map(L::splat);
    for (index, sums) in sums.chunks_exact_mut(L::LEN).enumerate() {
        let mut sum = L::load(sums);
        for (left, row) in left.iter().zip(&rows) {
            sum = left.mul_add(L::load(&row[index * L::LEN..]), sum);
        }
        sum.store(sums);
    }
}
