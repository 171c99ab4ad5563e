//! Owns the order in which products of floats are summed, and the blocks of factors that are packed for the registers' tiles
//! (`tile.rs`), as Goto and van de Geijn do ("Anatomy of high-performance matrix multiplication", 2008). It does not know batches.
//!
//! An element of a product depends on its row, its column and nothing else: the columns of the left factor are taken
//! [`DEPTH`] at a time, the products of such a block are one chain of fused multiply-adds that begins at 0, and blocks are added
//! in order. A complex number is multiplied as two real rows by columns of its two parts, whose four sums meet at the end of
//! a block. Layouts, sizes, threads and instruction sets decide how fast that goes, and no bit of it.

use std::ops::{Add, Range};

use bytemuck::{Pod, cast_slice, cast_slice_mut};
use num_complex::{Complex32, Complex64};
use zerostride_ops::{bf16, f16};

use super::dots::{multiply_lines, multiply_two};
use super::scratch::Scratch;
use super::tile::{Columns, ROWS, Rows, TILE, most_rows, multiply, registers};
use super::{Matrix, ProductSizes, parts};
use crate::isa::{LaneTask, Registers, prefetch};
use crate::lane::{Element, Lane};
use crate::pack::pack_dense;

/// Products that one chain adds up.
pub(super) const DEPTH: usize = 128;

/// Rows of a packed block of the left factor, and bytes of such a row of the right one.
const HEIGHT: usize = 128;
const WIDTH_BYTES: usize = 2048;

/// Elements of a block up to which it is read where it lies, if its elements lie in order.
const SMALL: usize = 4096;

/// Tiles side by side up to which rows are read where they lie: each is read but as often.
const FEW_TILES: usize = 8;

/// Elements below which a block is packed one by one, which takes less than to prepare a copy.
const FEW: usize = 256;

/// What sums are made of: a float, or a complex number as two of them.
pub(super) trait Sum: Pod + Add<Output = Self> {
    type Real: Registers + Pod;
    /// The four sums of a chain, of which a float needs one.
    type Chain: Copy;
    const PARTS: usize = size_of::<Self>() / size_of::<Self::Real>();
    const START: Self::Chain;

    /// A chain with one more product.
    fn extend(chain: Self::Chain, a: Self, b: Self) -> Self::Chain;
    /// What a chain has come to.
    fn end(chain: Self::Chain) -> Self;
    /// Writes a row of sums out of those of its parts, the rows of which are `width` long, or adds them to what is there.
    fn merge(sums: &[Self::Real], width: usize, out: &mut [Self], adds: bool);
}

/// An element of a factor, which is widened to be multiplied.
pub(super) trait Factor: Pod {
    type Sum: Sum;
    /// Whether the two are the same.
    const IS_SUM: bool;

    fn widen(self) -> Self::Sum;
}

/// What the parts of a factor's elements are summed as.
pub(super) type Real<F> = <<F as Factor>::Sum as Sum>::Real;

macro_rules! floats {
    ($($real:ident $complex:ident),*) => {$(
        impl Sum for $real {
            type Real = $real;
            type Chain = $real;
            const START: $real = 0.0;

            #[inline(always)]
            fn extend(chain: $real, a: $real, b: $real) -> $real {
                a.mul_add(b, chain)
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

        impl Sum for $complex {
            type Real = $real;
            type Chain = [$real; 4];
            const START: [$real; 4] = [0.0; 4];

            #[inline(always)]
            fn extend(chain: [$real; 4], a: $complex, b: $complex) -> [$real; 4] {
                [
                    a.re.mul_add(b.re, chain[0]),
                    a.re.mul_add(b.im, chain[1]),
                    a.im.mul_add(b.re, chain[2]),
                    a.im.mul_add(b.im, chain[3]),
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
        impl Factor for $factor {
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

/// A factor as the lines that meet, rows of the left and columns of the right one, each of which is as long as the depth.
#[derive(Clone, Copy)]
pub(super) struct Lines<'a> {
    bytes: &'a [u8],
    pub(super) offset: isize,
    /// Elements from one line to the next.
    pub(super) apart: isize,
    /// Elements from one of a line to the next.
    pub(super) step: isize,
    pub(super) count: usize,
}

impl<'a> Lines<'a> {
    pub(super) fn first(&self, line: usize, at: usize) -> isize {
        self.offset + line as isize * self.apart + at as isize * self.step
    }

    /// All from the first element on.
    pub(super) fn elements<F: Factor>(self) -> &'a [F::Sum] {
        &cast_slice(self.bytes)[self.offset as usize..]
    }

    /// Copies `depth` elements of some lines to panels of `width` lines each, the last of which may have fewer: for each step of
    /// the depth the elements of all lines of a panel.
    #[inline(always)]
    pub(super) fn pack<F: Factor>(
        &self,
        lines: Range<usize>,
        depth: Range<usize>,
        width: usize,
        to: &mut [F::Sum],
    ) {
        let few = lines.len() * depth.len() < FEW;
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

    /// The reals from an element on, and the distances from one line and one step to the next in them, if tiles may read them where
    /// they lie.
    #[inline(always)]
    fn lying<F: Factor>(&self, line: usize, at: usize) -> Option<(&[Real<F>], usize, usize)> {
        let parts = F::Sum::PARTS;
        let elements: &[Real<F>] = cast_slice(self.bytes);
        let (apart, step) = (usize::try_from(self.apart).ok()?, usize::try_from(self.step).ok()?);
        Some((&elements[self.first(line, at) as usize * parts..], apart * parts, step * parts))
    }
}

/// Writes the product of two matrices of floats that lie in their slices, row by row.
pub(super) fn multiply_floats<'a, F: Factor>(
    ProductSizes { n, k, m }: ProductSizes,
    a: Matrix<'a>,
    b: Matrix<'a>,
    out: &mut [F::Sum],
    scratch: &mut Scratch,
) {
    // How far it is from a single element to the next says nothing, and may say too much.
    let stride = |stride: isize, size: usize| if size > 1 { stride } else { 0 };
    let lines = |matrix: Matrix<'a>, count, apart, step| Lines {
        bytes: matrix.bytes,
        offset: matrix.offset,
        apart: stride(apart, count),
        step: stride(step, k),
        count,
    };
    let (rows, columns) =
        (lines(a, n, a.row_stride, a.column_stride), lines(b, m, b.column_stride, b.row_stride));
    // Registers hold columns side by side. Where there is but one, rows take their place: which factor is which changes no sum.
    let (a, b) = if m == 1 { (columns, rows) } else { (rows, columns) };
    if a.count == 1 && b.count == 1 {
        multiply_two::<F>(a, b, k, &mut out[0], scratch);
    } else if a.count == 1 && F::IS_SUM && a.step == 1 && b.step == 1 {
        multiply_lines::<F>(a, b, k, out);
    } else if a.count == 1 && b.apart == 1 && F::IS_SUM {
        Real::<F>::run_widest(Row::<F> { a, b, depth: k, out, scratch });
    } else {
        Real::<F>::run_widest(Blocks::<F> { a, b, depth: k, out, scratch });
    }
}

/// A product of matrices, to be compiled for each instruction set.
struct Blocks<'a, F: Factor> {
    a: Lines<'a>,
    b: Lines<'a>,
    depth: usize,
    out: &'a mut [F::Sum],
    scratch: &'a mut Scratch,
}

impl<F: Factor> LaneTask<Real<F>> for Blocks<'_, F> {
    #[inline(always)]
    fn run<L: Lane<Elem = Real<F>>>(self) {
        let Blocks { a, b, depth: all, out, scratch } = self;
        let between = scratch.between;
        let parts_of = F::Sum::PARTS;
        let (rows, columns) = (most_rows::<L>() / parts_of, (registers::<L>() * L::LEN / parts_of).max(1));
        // What is read once, or lies near, is read where it lies.
        let is_small = |lines: usize| lines * all.min(DEPTH) <= SMALL;
        let a_lies = F::IS_SUM && (b.count <= FEW_TILES * columns || is_small(a.count));
        let b_lies = F::IS_SUM && b.apart == 1 && (a.count <= rows || is_small(b.count));
        let block = if b_lies { columns } else { WIDTH_BYTES / size_of::<F::Sum>() / columns * columns };
        let deep = all.min(DEPTH) * parts_of;
        // Tiles read, but do not use, what follows columns.
        let lens = [deep * a.count.min(HEIGHT), deep * b.count.min(block) + TILE, TILE];
        let [own_a, own_b, sums] = scratch.slices::<L::Elem>(lens);
        for depth in parts(all, DEPTH) {
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
                for high in parts(a.count, HEIGHT) {
                    between();
                    let a_lying = if a_lies { a.lying::<F>(high.start, depth.start) } else { None };
                    if a_lying.is_none() && (block.start == 0 || a.count > HEIGHT) {
                        let own = &mut own_a[..high.len() * deep * parts_of];
                        a.pack::<F>(high.clone(), depth.clone(), rows, cast_slice_mut(own));
                    }
                    for right in parts(block.len(), columns) {
                        let count = right.len() * parts_of;
                        let b_panel = match lying {
                            Some((elements, _, step)) => Columns { elements, count, step },
                            None => {
                                let elements = &own_b[right.start * deep * parts_of..];
                                Columns { elements, count, step: count }
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
                            let mut starts = [0; ROWS];
                            for (row, start) in starts.iter_mut().enumerate().take(count) {
                                *start = row / parts_of * apart + row % parts_of;
                            }
                            for row in left.clone() {
                                let first = (high.start + row) * b.count + block.start + right.start;
                                prefetch::<64>(std::ptr::from_ref(&out[first]).cast());
                            }
                            let a_panel = Rows { elements, starts, count, step };
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

/// One row by columns that lie side by side: sums of many columns are in the nearest cache, and rows of the right factor are read in
/// order, four at a time.
struct Row<'a, F: Factor> {
    a: Lines<'a>,
    b: Lines<'a>,
    depth: usize,
    out: &'a mut [F::Sum],
    scratch: &'a mut Scratch,
}

/// Reals whose sums are in the nearest cache.
const NEAR: usize = 1024;

impl<F: Factor> LaneTask<Real<F>> for Row<'_, F> {
    #[inline(always)]
    fn run<L: Lane<Elem = Real<F>>>(self) {
        let Row { a, b, depth: all, out, scratch } = self;
        let between = scratch.between;
        let parts_of = F::Sum::PARTS;
        let whole = b.count * parts_of / L::LEN * L::LEN;
        let (left, right): (&[L::Elem], &[L::Elem]) = (cast_slice(a.bytes), cast_slice(b.bytes));
        let [sums, _, _] = scratch.slices::<L::Elem>([NEAR * parts_of, 0, 0]);
        for block in parts(whole, NEAR) {
            let width = block.len();
            for depth in parts(all, DEPTH) {
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
        let rest = Lines { offset: b.first(whole / parts_of, 0), count: b.count - whole / parts_of, ..b };
        if rest.count > 0 {
            let out = &mut out[whole / parts_of..];
            Blocks::<F> { a, b: rest, depth: all, out, scratch }.run::<L>();
        }
    }
}

/// Adds the products of numbers and rows to sums, row after row.
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
