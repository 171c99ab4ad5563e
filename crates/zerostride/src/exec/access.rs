//! Owns every access to tensors' elements: copying them between memory and tiles, in step with a loop. The only file of
//! `exec/` with unsafe code. What it hands out is safe: an [`Input`] never overlaps the [`Output`] of its step, and
//! parts of an output that have been split off are disjoint. It does not know what is computed from the tiles.

use std::ops::Range;

use smallvec::SmallVec;
use zerostride_shape::{InternalOverlap, Layout, Overlap, Shape, Strides};

use crate::tensor::Block;

/// Elements in step with a loop: the kept dimensions outside, the reduced ones (none for a map) inside.
#[derive(Clone)]
struct Elements<'a> {
    block: Block<'a>,
    item: usize,
    columns: Grid,
    rows: Grid,
    offset: isize,
}

/// A group of a loop's dimensions.
#[derive(Clone)]
struct Grid {
    shape: Shape,
    strides: SmallVec<[isize; 8]>,
}

/// Neighbouring steps of a grid at even distances.
struct Run {
    offset: isize,
    len: usize,
}

impl Grid {
    /// The steps of a range in row-major order, as runs along the last dimension.
    fn runs(&self, range: Range<usize>) -> SmallVec<[Run; 8]> {
        let last = self.shape.last().copied().unwrap_or(1);
        let mut index: SmallVec<[usize; 8]> = SmallVec::from_elem(0, self.shape.ndim());
        let mut rest = range.start;
        for (index, &size) in index.iter_mut().zip(&*self.shape).rev() {
            (*index, rest) = (rest % size, rest / size);
        }
        let mut offset: isize =
            index.iter().zip(&self.strides).map(|(&index, &stride)| index as isize * stride).sum();
        let mut runs = SmallVec::new();
        let mut left = range.len();
        while left > 0 {
            let position = index.last().copied().unwrap_or(0);
            let len = left.min(last - position);
            runs.push(Run { offset, len });
            left -= len;
            // To the end of the row, then into the next one.
            let Some(inner) = index.last_mut() else { break };
            *inner += len;
            offset += len as isize * self.strides[self.strides.len() - 1];
            for dim in (1..index.len()).rev() {
                if index[dim] < self.shape[dim] {
                    break;
                }
                offset += self.strides[dim - 1] - self.shape[dim] as isize * self.strides[dim];
                index[dim] = 0;
                index[dim - 1] += 1;
            }
        }
        runs
    }

    fn inner_stride(&self) -> isize {
        self.strides.last().copied().unwrap_or(0)
    }

    fn numel(&self) -> usize {
        self.shape.numel()
    }
}

impl<'a> Elements<'a> {
    /// # Panics
    /// If an element lies outside the block.
    fn new(
        block: Block<'a>,
        item: usize,
        columns: &Shape,
        rows: &Shape,
        strides: &[isize],
        offset: isize,
    ) -> Self {
        let (column_strides, row_strides) = strides.split_at(columns.ndim());
        let elements = Elements {
            block,
            item,
            columns: Grid { shape: columns.clone(), strides: column_strides.into() },
            rows: Grid { shape: rows.clone(), strides: row_strides.into() },
            offset,
        };
        let (mut low, mut high) = (offset, offset);
        let empty = columns.contains(&0) || rows.contains(&0);
        for (&size, &stride) in columns.iter().chain(&**rows).zip(strides).filter(|_| !empty) {
            let reach = stride * (size as isize - 1);
            if reach < 0 { low += reach } else { high += reach }
        }
        let range = elements.block.range();
        let inside =
            low >= 0 && low as usize * item >= range.start && (high as usize + 1) * item <= range.end;
        assert!(empty || inside, "elements {low}..={high} of {item} bytes are not all in {range:?}");
        elements
    }

    fn layout(&self) -> Option<Layout> {
        let sizes: SmallVec<[usize; 8]> =
            self.columns.shape.iter().chain(&*self.rows.shape).copied().collect();
        let strides: SmallVec<[isize; 8]> =
            self.columns.strides.iter().chain(&self.rows.strides).copied().collect();
        Layout::new(Shape::new(&sizes).ok()?, Strides::new(&strides).ok()?, self.offset).ok()
    }

    /// The address of an element that the loop reaches.
    fn address(&self, element: isize) -> *mut u8 {
        debug_assert!(self.block.range().contains(&(element as usize * self.item)));
        // `new` has seen that every element of the loop lies in the block.
        self.block.storage_start().as_ptr().wrapping_add(element as usize * self.item)
    }

    /// Copies the elements of some columns of some rows to a tile, the columns of a row next to each other.
    ///
    /// # Safety
    /// Nobody writes these elements meanwhile.
    unsafe fn load(&self, columns: Range<usize>, rows: Range<usize>, tile: &mut [u8]) {
        match self.item {
            // SAFETY: passed on.
            1 => unsafe { self.load_items::<1>(columns, rows, tile) },
            // SAFETY: passed on.
            2 => unsafe { self.load_items::<2>(columns, rows, tile) },
            // SAFETY: passed on.
            4 => unsafe { self.load_items::<4>(columns, rows, tile) },
            // SAFETY: passed on.
            8 => unsafe { self.load_items::<8>(columns, rows, tile) },
            // SAFETY: passed on.
            16 => unsafe { self.load_items::<16>(columns, rows, tile) },
            other => unreachable!("no dtype has {other} bytes"),
        }
    }

    /// # Safety
    /// As [`Elements::load`].
    unsafe fn load_items<const N: usize>(&self, columns: Range<usize>, rows: Range<usize>, tile: &mut [u8]) {
        assert!(columns.end <= self.columns.numel() && rows.end <= self.rows.numel());
        let (tile, _) = tile.as_chunks_mut::<N>();
        let column_runs = self.columns.runs(columns);
        let column_stride = self.columns.inner_stride();
        let row_stride = self.rows.inner_stride();
        let mut tile = tile.iter_mut();
        for row_run in self.rows.runs(rows) {
            for row in 0..row_run.len as isize {
                let row_offset = self.offset + row_run.offset + row * row_stride;
                for run in &column_runs {
                    let first = row_offset + run.offset;
                    for (column, stored) in (0..run.len as isize).zip(tile.by_ref()) {
                        let address = self.address(first + column * column_stride).cast::<[u8; N]>();
                        // SAFETY: the ranges end inside the loop's grids, all of whose elements lie in the block, which
                        // is initialised and readable; the caller excludes writers. The read has no alignment.
                        *stored = unsafe { *address };
                    }
                }
            }
        }
    }

    /// Copies a tile to the elements of some columns.
    ///
    /// # Safety
    /// The block is writable, and nobody else touches these elements meanwhile.
    unsafe fn store_items<const N: usize>(&self, columns: Range<usize>, tile: &[u8]) {
        assert!(columns.end <= self.columns.numel());
        let (tile, _) = tile.as_chunks::<N>();
        let stride = self.columns.inner_stride();
        let mut tile = tile.iter();
        for run in self.columns.runs(columns) {
            for (column, stored) in (0..run.len as isize).zip(tile.by_ref()) {
                let address = self.address(self.offset + run.offset + column * stride).cast::<[u8; N]>();
                // SAFETY: the range ends inside the loop's grid, all of whose elements lie in the block; the caller has it
                // writable and to itself. The write has no alignment.
                unsafe { *address = *stored };
            }
        }
    }
}

/// Elements that a step reads and does not write.
#[derive(Clone)]
pub(crate) struct Input<'a>(Elements<'a>);

impl<'a> Input<'a> {
    /// Elements in step with the columns and rows of a loop; `None` if the step's output writes any of them.
    ///
    /// # Panics
    /// If an element lies outside the block.
    pub(crate) fn new(
        block: Block<'a>,
        item: usize,
        (columns, rows): (&Shape, &Shape),
        (strides, offset): (&[isize], isize),
        output: &Output<'_>,
    ) -> Option<Input<'a>> {
        let elements = Elements::new(block, item, columns, rows, strides, offset);
        let apart = elements.block.storage_start() != output.elements.block.storage_start()
            || matches!((elements.layout(), output.elements.layout()), (Some(own), Some(out))
                if elements.item == output.elements.item && own.overlap(&out) == Overlap::None)
            || disjoint_ranges(elements.block.range(), output.elements.block.range());
        apart.then_some(Input(elements))
    }

    /// Copies the elements of some columns of some rows to a tile, the columns of a row next to each other.
    ///
    /// # Panics
    /// If a range ends outside the loop.
    pub(crate) fn load(&self, columns: Range<usize>, rows: Range<usize>, tile: &mut [u8]) {
        // SAFETY: the block keeps other operations from writing, and `new` has seen that this step's output writes
        // other elements.
        unsafe { self.0.load(columns, rows, tile) }
    }
}

fn disjoint_ranges(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.end <= b.start || b.end <= a.start
}

/// Elements that a step writes: a range of the columns of its loop, which it has to itself.
pub(crate) struct Output<'a> {
    elements: Elements<'a>,
    columns: Range<usize>,
}

impl<'a> Output<'a> {
    /// Elements in step with the columns of a loop.
    ///
    /// # Panics
    /// If the block may not be written, an element lies outside it, or elements share memory.
    pub(crate) fn new(
        block: Block<'a>,
        item: usize,
        columns: &Shape,
        strides: &[isize],
        offset: isize,
    ) -> Output<'a> {
        assert!(block.is_writable());
        let elements = Elements::new(block, item, columns, &Shape::scalar(), strides, offset);
        let layout = elements.layout().expect("elements in a block have a layout");
        assert_eq!(layout.has_internal_overlap(), InternalOverlap::No);
        Output { columns: 0..columns.numel(), elements }
    }

    /// Whether a load of the step reads exactly what the step writes, element for element.
    pub(crate) fn is_same(&self, block: &Block<'_>, strides: &[isize], offset: isize) -> bool {
        block.storage_start() == self.elements.block.storage_start()
            && *strides == *self.elements.columns.strides
            && offset == self.elements.offset
    }

    /// The columns that this part covers.
    pub(crate) fn columns(&self) -> Range<usize> {
        self.columns.clone()
    }

    /// Two parts, the second from column `middle` on.
    ///
    /// # Panics
    /// If `middle` lies outside the part.
    pub(crate) fn split(self, middle: usize) -> (Output<'a>, Output<'a>) {
        assert!(self.columns.start <= middle && middle <= self.columns.end);
        let left = Output { elements: self.elements.clone(), columns: self.columns.start..middle };
        (left, Output { elements: self.elements, columns: middle..self.columns.end })
    }

    /// Copies elements of this part to a tile.
    ///
    /// # Panics
    /// If the columns are not all in this part.
    pub(crate) fn load(&mut self, columns: Range<usize>, tile: &mut [u8]) {
        assert!(self.columns.start <= columns.start && columns.end <= self.columns.end);
        // SAFETY: only this part touches its columns, and `&mut self` keeps it to one access at a time.
        unsafe { self.elements.load(columns, 0..1, tile) }
    }

    /// Copies a tile to elements of this part.
    ///
    /// # Panics
    /// If the columns are not all in this part.
    pub(crate) fn store(&mut self, columns: Range<usize>, tile: &[u8]) {
        assert!(self.columns.start <= columns.start && columns.end <= self.columns.end);
        let elements = &self.elements;
        // SAFETY (all arms): `new` has seen that the block is writable and that no two columns share memory; only this
        // part touches its columns.
        match elements.item {
            // SAFETY: see above.
            1 => unsafe { elements.store_items::<1>(columns, tile) },
            // SAFETY: see above.
            2 => unsafe { elements.store_items::<2>(columns, tile) },
            // SAFETY: see above.
            4 => unsafe { elements.store_items::<4>(columns, tile) },
            // SAFETY: see above.
            8 => unsafe { elements.store_items::<8>(columns, tile) },
            // SAFETY: see above.
            16 => unsafe { elements.store_items::<16>(columns, tile) },
            other => unreachable!("no dtype has {other} bytes"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_walk_a_grid_in_row_major_order() {
        let grid =
            Grid { shape: Shape::new(&[2, 3, 4]).unwrap(), strides: SmallVec::from_slice(&[100, 10, 1]) };
        let steps = |range| -> Vec<isize> {
            let runs = grid.runs(range);
            runs.iter().flat_map(|run| (0..run.len as isize).map(|i| run.offset + i)).collect()
        };
        let all: Vec<isize> = (0..2)
            .flat_map(|a| (0..3).flat_map(move |b| (0..4).map(move |c| 100 * a + 10 * b + c)))
            .collect();
        for start in 0..24 {
            for end in start..=24 {
                assert_eq!(steps(start..end), all[start..end], "{start}..{end}");
            }
        }
    }

    #[test]
    fn a_scalar_grid_has_one_step() {
        let grid = Grid { shape: Shape::scalar(), strides: SmallVec::new() };
        assert_eq!(grid.runs(0..1).iter().map(|run| (run.offset, run.len)).collect::<Vec<_>>(), [(0, 1)]);
    }
}
