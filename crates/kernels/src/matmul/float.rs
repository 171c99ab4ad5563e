//! Owns the loops of products of floats, and the packed blocks of factors for the register tiles (`tile.rs`).
//! The order of summation is that of `factor.rs`. It does not know batches.
//!
//! Source: Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", 2008.

use std::ops::Range;

use bytemuck::{cast_slice, cast_slice_mut};

use super::dots::{multiply_lines, multiply_short, multiply_two};
use super::factor::{Accumulator, BLOCK_DEPTH, FactorElement, FactorLines, SumFloat};
use super::matrix::{BLOCK_ROW_BYTES, BLOCK_ROWS, Matrix, ProductSizes, parts};
use super::scratch::ProductScratch;
use super::tile::{
    CHAINS, TILE_ROWS, TILE_SUMS, TileColumns, TileRows, most_rows, multiply, multiply_blocks, registers,
};
use crate::isa::{RegisterFloat, RegisterTask, prefetch};
use crate::lane::{Element, Register};

/// Elements of a block up to which a contiguous one is read in place.
const IN_PLACE_ELEMENTS: usize = 4096;

/// Tiles side by side up to which rows are read in place, once for each tile.
const IN_PLACE_TILES: usize = 8;

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
    if multiply_short::<F>(rows, columns, k, (&mut *out, scratch.between)) {
        return;
    }
    if a.count == 1 && b.count == 1 {
        multiply_two::<F>(a, b, k, &mut out[0], scratch);
    } else if a.count == 1 && F::IS_SUM && a.step == 1 && b.step == 1 {
        multiply_lines::<F>(a, b, k, out);
    } else if a.count == 1 && b.apart == 1 && F::IS_SUM {
        SumFloat::<F>::run_widest(RowProduct::<F> { a, b, depth: k, out, scratch });
    } else {
        SumFloat::<F>::run_widest(BlockedProduct::<F> { a, b, depth: 0..k, out, scratch });
    }
}

/// A product of matrices over a range of the depth, which begins with a block, compiled for each instruction
/// set. Unless it begins at 0, it is added to what has been written.
struct BlockedProduct<'a, F: FactorElement> {
    a: FactorLines<'a>,
    b: FactorLines<'a>,
    depth: Range<usize>,
    out: &'a mut [F::Sum],
    scratch: &'a mut ProductScratch,
}

impl<F: FactorElement> RegisterTask<SumFloat<F>> for BlockedProduct<'_, F> {
    #[inline(always)]
    fn run<L: Register<Elem = SumFloat<F>>>(self) {
        let BlockedProduct { a, b, depth: range, out, scratch } = self;
        let (between, all) = (scratch.between, range.len());
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
            let depth = range.start + depth.start..range.start + depth.end;
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

/// Bytes of sums that stay in L1. The longer the parts of rows are, the better hardware prefetches them from
/// memory.
const L1_SUM_BYTES: usize = 16 << 10;

/// Columns up to which the sums of several blocks are in registers at a time.
const NARROW_COLUMNS: usize = 256;

impl<F: FactorElement> RegisterTask<SumFloat<F>> for RowProduct<'_, F> {
    #[inline(always)]
    fn run<L: Register<Elem = SumFloat<F>>>(self) {
        let RowProduct { a, b, depth: all, out, scratch } = self;
        if F::Sum::PARTS == 1 && b.count <= NARROW_COLUMNS && all >= 2 * BLOCK_DEPTH {
            let done = match b.count <= L::LEN {
                true => narrow::<L, F, CHAINS, 1>(a, b, all, out, scratch.between),
                false => narrow::<L, F, { CHAINS / 2 }, 2>(a, b, all, out, scratch.between),
            };
            if done < all {
                SumFloat::<F>::run_widest(BlockedProduct::<F> { a, b, depth: done..all, out, scratch });
            }
            return;
        }
        let between = scratch.between;
        let parts_of = F::Sum::PARTS;
        let whole = b.count * parts_of / L::LEN * L::LEN;
        let (left, right): (&[L::Elem], &[L::Elem]) = (cast_slice(a.bytes), cast_slice(b.bytes));
        let most = (L1_SUM_BYTES / size_of::<F::Sum>()).min(whole);
        let [sums, _, _] = scratch.slices::<L::Elem>([most * parts_of, 0, 0]);
        for block in parts(whole, most.max(1)) {
            let width = block.len();
            for depth in parts(all, BLOCK_DEPTH) {
                between();
                let sums = &mut sums[..width * parts_of];
                sums.fill(SumFloat::<F>::from_f64(0.0));
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
            SumFloat::<F>::run_widest(BlockedProduct::<F> { a, b: rest, depth: 0..all, out, scratch });
        }
    }
}

/// Writes the sums over all whole blocks that can be read in place, `N` at a time, and returns their depth.
#[inline(always)]
fn narrow<L: Register<Elem = SumFloat<F>>, F: FactorElement, const N: usize, const R: usize>(
    a: FactorLines<'_>,
    b: FactorLines<'_>,
    depth: usize,
    out: &mut [F::Sum],
    between: fn(),
) -> usize {
    let (Some((line, _, line_step)), Some((columns, _, column_step))) =
        (a.lying::<F>(0, 0), b.lying::<F>(0, 0))
    else {
        return 0;
    };
    let width = R * L::LEN;
    // Whole registers are read, beyond the last column.
    let rows = match columns.len().checked_sub(b.count.next_multiple_of(width)) {
        Some(last) => last.checked_div(column_step).map_or(depth, |last| depth.min(last + 1)),
        None => 0,
    };
    let blocks = rows / BLOCK_DEPTH;
    for first in (0..blocks).step_by(N) {
        between();
        // Where there are fewer blocks, the last one is computed again.
        let starts = std::array::from_fn(|block| (first + block).min(blocks - 1) * BLOCK_DEPTH);
        for right in parts(b.count, width) {
            let mut sums = [L::Elem::from_f64(0.0); TILE_SUMS];
            let columns = (&columns[right.start..], column_step);
            multiply_blocks::<L, N, R>(BLOCK_DEPTH, starts, (line, line_step), columns, &mut sums);
            for (block, sums) in (first..blocks.min(first + N)).zip(sums.chunks_exact(width)) {
                F::Sum::merge(&sums[..right.len()], width, &mut out[right.clone()], block > 0);
            }
        }
    }
    blocks * BLOCK_DEPTH
}

/// Adds the products of numbers by rows to sums, one row after the other.
#[inline(always)]
fn add_rows<L: Register, const N: usize>(sums: &mut [L::Elem], left: [L::Elem; N], rows: [&[L::Elem]; N]) {
    let left = left.map(L::splat);
    for (index, sums) in sums.chunks_exact_mut(L::LEN).enumerate() {
        let mut sum = L::load(sums);
        for (left, row) in left.iter().zip(&rows) {
            sum = left.mul_add(L::load(&row[index * L::LEN..]), sum);
        }
        sum.store(sums);
    }
}
