//! Owns the elements of a step: that they are in memory, and the copying of them between memory and tiles, in
//! step with a loop. What it hands out is safe: elements that a step reads ([`StridedElements::read`]) never
//! overlap its [`StepOutput`], and parts of an output are disjoint. It does not know what is computed from
//! the tiles.

use std::ops::Range;

use smallvec::SmallVec;
use zerostride_kernels::{PackDim, pack};
use zerostride_shape::{InternalOverlap, Layout, Overlap, Shape, Strides};

use super::dims::{StridedDims, StridedRange};
use super::rows::ElementSlice;
use crate::memory::Block;

/// What is next to each other in a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineOrder {
    /// The columns of a row.
    ByRow,
    /// The rows of a column.
    ByColumn,
}

/// Elements in step with a loop, all of which have been seen to be in a block.
pub(in crate::exec) struct StridedElements<'a> {
    block: Block<'a>,
    /// Bytes of an element.
    pub(super) item: usize,
    pub(super) sizes: &'a [usize],
    pub(super) strides: &'a [isize],
    offset: isize,
    /// The lowest and the highest of the elements, counted from the start of the storage, if there are any.
    reach: Option<[isize; 2]>,
}

impl<'a> StridedElements<'a> {
    /// # Panics
    /// If an element is outside the block.
    fn new(
        block: Block<'a>,
        item: usize,
        (sizes, strides, offset): (&'a [usize], &'a [isize], isize),
    ) -> StridedElements<'a> {
        let mut reach = None;
        if !sizes.contains(&0) {
            // What is too far for an `isize` is in no block.
            let add = |[low, high]: [isize; 2], (&size, &stride): (&usize, &isize)| {
                let reach = isize::try_from(size - 1).ok()?.checked_mul(stride)?;
                Some([low.checked_add(reach.min(0))?, high.checked_add(reach.max(0))?])
            };
            reach = sizes.iter().zip(strides).try_fold([offset; 2], add);
            let range = block.range();
            let is_inside = |[low, high]: [isize; 2]| {
                let bytes = |element: isize| element.checked_mul(item as isize);
                bytes(low).is_some_and(|first| first >= range.start as isize)
                    && high.checked_add(1).and_then(bytes).is_some_and(|end| end <= range.end as isize)
            };
            assert!(
                reach.is_some_and(is_inside),
                "elements {reach:?} of {item} bytes are not all in {range:?}"
            );
        }
        StridedElements { block, item, sizes, strides, offset, reach }
    }

    /// Elements that a step reads; `None` if its output writes any of them.
    ///
    /// # Panics
    /// If an element is outside the block.
    pub(in crate::exec) fn read(
        block: Block<'a>,
        item: usize,
        layout: (&'a [usize], &'a [isize], isize),
        output: &StepOutput<'_>,
    ) -> Option<StridedElements<'a>> {
        let (elements, written) = (StridedElements::new(block, item, layout), output.elements);
        let apart = elements.is_elsewhere(written)
            || matches!((elements.layout(), written.layout()), (Some(own), Some(out))
                if item == written.item && own.overlap(&out) == Overlap::None);
        apart.then_some(elements)
    }

    /// Whether the block has no byte in common with that of others.
    fn is_elsewhere(&self, others: &StridedElements<'_>) -> bool {
        let (own, other) = (self.block.range(), others.block.range());
        self.block.storage_start() != others.block.storage_start()
            || own.end <= other.start
            || other.end <= own.start
    }

    fn layout(&self) -> Option<Layout> {
        Layout::new(Shape::new(self.sizes).ok()?, Strides::new(self.strides).ok()?, self.offset).ok()
    }

    /// The number of the element at an index, counted from the start of the storage.
    pub(super) fn element(&self, index: &[usize]) -> isize {
        let steps = index.iter().zip(self.strides).map(|(&index, &stride)| index as isize * stride);
        self.offset + steps.sum::<isize>()
    }

    /// The address of an element that the loop reaches, all of which `new` has seen in the block.
    pub(super) fn address(&self, element: isize) -> *mut u8 {
        debug_assert!(self.holds(element, 1));
        self.block.storage_start().as_ptr().wrapping_add(element as usize * self.item)
    }

    /// Whether contiguous elements are in the block.
    pub(super) fn holds(&self, first: isize, count: usize) -> bool {
        let (range, item) = (self.block.range(), self.item as i128);
        let first = first as i128 * item;
        first >= range.start as i128 && first + count as i128 * item <= range.end as i128
    }

    /// The elements of some columns of some rows and their positions in a tile of `len` bytes, in blocks of
    /// even distances: the first element, how it goes on, and the first byte in the tile. The dimensions are
    /// those of the elements, some as columns, the others as rows.
    ///
    /// # Panics
    /// If the columns or rows end outside the loop, or the tile is too short.
    fn blocks(
        &self,
        (of_columns, columns): (&StridedDims<1>, Range<usize>),
        (of_rows, rows): (&StridedDims<1>, StridedRange),
        (order, len): (LineOrder, usize),
        mut visit: impl FnMut(isize, &[PackDim], usize),
    ) {
        assert!(columns.end <= of_columns.numel() && rows.end() <= of_rows.numel());
        assert!(columns.len() * rows.count * self.item <= len);
        if columns.is_empty() || rows.count == 0 {
            return;
        }
        let item = self.item as isize;
        let (row_to, column_to) = match order {
            LineOrder::ByRow => (columns.len() as isize * item, item),
            LineOrder::ByColumn => (item, rows.count as isize * item),
        };
        let columns = of_columns.parts(StridedRange::all(columns));
        let mut row = 0;
        for rows in of_rows.parts(rows) {
            let mut column = 0;
            for columns in &columns {
                let mut dims: SmallVec<[PackDim; 6]> = SmallVec::new();
                for (part, mut to) in [(columns, column_to), (&rows, row_to)] {
                    for &(len, stride) in &part.dims {
                        dims.push(PackDim { len, from: stride * item, to });
                        to *= len as isize;
                    }
                }
                dims.reverse();
                let position = row as isize * row_to + column as isize * column_to;
                visit(self.offset + rows.offset + columns.offset, &dims, position as usize);
                column += columns.len;
            }
            row += rows.len;
        }
    }
}

/// The copy back from a tile.
pub(super) fn back(dims: &[PackDim]) -> SmallVec<[PackDim; 12]> {
    dims.iter().map(|dim| PackDim { from: dim.to, to: dim.from, ..*dim }).collect()
}

/// Elements that a reduction reads: the kept dimensions as columns, the reduced ones as rows.
pub(crate) struct ReduceInput<'a> {
    elements: StridedElements<'a>,
    kept: usize,
    columns: StridedDims<1>,
    rows: StridedDims<1>,
}

impl<'a> ReduceInput<'a> {
    /// Elements in step with a loop, of whose dimensions the first `kept` are kept.
    pub(in crate::exec) fn new(elements: StridedElements<'a>, kept: usize) -> ReduceInput<'a> {
        let ((columns, rows), (of_columns, of_rows)) =
            (elements.sizes.split_at(kept), elements.strides.split_at(kept));
        let (columns, rows) = (StridedDims::of(columns, of_columns), StridedDims::of(rows, of_rows));
        ReduceInput { elements, kept, columns, rows }
    }

    /// The same without the last of the kept dimensions: its first elements.
    ///
    /// # Panics
    /// If there is no such dimension, or no element.
    pub(in crate::exec) fn outer(&self) -> ReduceInput<'a> {
        let StridedElements { ref block, sizes, strides, .. } = self.elements;
        assert!(!sizes.contains(&0));
        let (elements, kept) = (StridedElements { block: block.reader(), ..self.elements }, self.kept - 1);
        let columns = StridedDims::of(&sizes[..kept], &strides[..kept]);
        ReduceInput { elements, kept, columns, rows: self.rows.clone() }
    }

    /// Copies the elements of some columns of some rows to a tile.
    ///
    /// # Panics
    /// If columns or rows end outside the loop.
    pub(crate) fn load(&self, columns: Range<usize>, rows: StridedRange, order: LineOrder, tile: &mut [u8]) {
        let ReduceInput { elements, columns: of_columns, rows: of_rows, .. } = self;
        let (columns, rows) = ((of_columns, columns), (of_rows, rows));
        elements.blocks(columns, rows, (order, tile.len()), |element, dims, position| {
            let to = tile.as_mut_ptr().wrapping_add(position);
            // SAFETY: `blocks` visits elements inside the loop's grids, all of which have been seen in the
            // block, which is initialised and readable, and positions inside the tile, which is borrowed
            // mutably and so apart from the block. The block keeps other operations from writing, and `read`
            // has seen that this step's output, the only writable block of its range, writes other elements.
            unsafe { pack(elements.item, dims, elements.address(element), to) };
        });
    }

    /// The elements of the loop in the memory from the first one to the last one, if that is aligned and
    /// nothing between them is the output's either.
    pub(in crate::exec) fn slice(&self, output: &StepOutput<'_>) -> Option<ElementSlice<'_>> {
        let StridedElements { block, item, offset, reach, .. } = &self.elements;
        let apart = self.elements.is_elsewhere(output.elements);
        // No elements need more than the alignment of f64.
        let is_aligned = block.storage_start().addr().get().is_multiple_of((*item).min(align_of::<f64>()));
        let [low, high] = reach.filter(|_| apart && is_aligned)?;
        let count = (high - low + 1) as usize;
        debug_assert!(self.elements.holds(low, count));
        // SAFETY: the first and the last element are in the block, which `StridedElements::new` has seen, and
        // so is the memory between them: initialised, readable, kept from other operations' writes by the
        // block, and not written by this step, whose output is in another range.
        let bytes = unsafe { std::slice::from_raw_parts(self.elements.address(low), count * item) };
        Some(ElementSlice { bytes, item: *item, first: offset - low })
    }

    /// The offset of some columns of some rows from the loop's first element, and the stride from one line to
    /// the next: a line are the columns of a row or the rows of a column, by the order. `None` unless lines
    /// are contiguous and have one stride.
    pub(crate) fn lines(
        &self,
        columns: Range<usize>,
        rows: StridedRange,
        order: LineOrder,
    ) -> Option<(isize, isize)> {
        let ReduceInput { columns: of_columns, rows: of_rows, .. } = self;
        let columns = StridedRange::all(columns);
        let (line, along, lines, across) = match order {
            LineOrder::ByRow => (of_columns, columns, of_rows, rows),
            LineOrder::ByColumn => (of_rows, rows, of_columns, columns),
        };
        let joined = along.count <= 1 || line.step(along) == Some(1);
        let step = joined.then(|| lines.step(across)).flatten()?;
        let ([first], [of_lines]) = (line.offsets(along.first), lines.offsets(across.first));
        Some((first + of_lines, step))
    }

    /// The offset of a column of a row from the loop's first element.
    pub(crate) fn offset(&self, column: usize, row: usize) -> isize {
        self.columns.offsets(column)[0] + self.rows.offsets(row)[0]
    }
}

/// All elements that a step writes.
pub(crate) struct Written<'a>(StridedElements<'a>, StridedDims<1>);

impl<'a> Written<'a> {
    /// Elements in step with a loop.
    ///
    /// # Panics
    /// If the block may not be written, an element is outside it, or elements share memory.
    pub(crate) fn new(
        block: Block<'a>,
        item: usize,
        layout: (&'a [usize], &'a [isize], isize),
    ) -> Written<'a> {
        assert!(block.is_writable());
        let elements = StridedElements::new(block, item, layout);
        let dims = StridedDims::of(elements.sizes, elements.strides);
        let layout = || elements.layout().expect("elements in a block have a layout");
        assert!(dims.is_nested() || layout().has_internal_overlap() == InternalOverlap::No);
        Written(elements, dims)
    }

    /// Permission to write them.
    pub(crate) fn output(&mut self) -> StepOutput<'_> {
        StepOutput { columns: 0..self.1.numel(), elements: &self.0, dims: &self.1 }
    }
}

/// Elements that a step writes: a range of the columns of its loop, which it has to itself.
pub(crate) struct StepOutput<'a> {
    elements: &'a StridedElements<'a>,
    dims: &'a StridedDims<1>,
    columns: Range<usize>,
}

impl<'a> StepOutput<'a> {
    /// Whether a load of the step reads exactly what the step writes, element for element.
    pub(crate) fn is_same(&self, block: &Block<'_>, strides: &[isize], offset: isize) -> bool {
        block.storage_start() == self.elements.block.storage_start()
            && (strides, offset) == (self.elements.strides, self.elements.offset)
    }

    pub(in crate::exec) fn elements(&self) -> &'a StridedElements<'a> {
        self.elements
    }

    /// The columns that this part covers.
    pub(in crate::exec) fn columns(&self) -> Range<usize> {
        self.columns.clone()
    }

    /// Parts of `columns` columns each, the last of what is left.
    pub(crate) fn parts(self, columns: usize) -> impl ExactSizeIterator<Item = StepOutput<'a>> {
        let StepOutput { elements, dims, columns: Range { start, end } } = self;
        (0..(end - start).div_ceil(columns)).map(move |part| {
            let start = start + part * columns;
            StepOutput { elements, dims, columns: start..end.min(start + columns) }
        })
    }

    /// Copies a tile to elements of this part.
    ///
    /// # Panics
    /// If the columns are not all in this part, or the tile is too short.
    pub(crate) fn store(&mut self, columns: Range<usize>, tile: &[u8]) {
        assert!(self.columns.start <= columns.start && columns.end <= self.columns.end);
        let StepOutput { elements, dims, .. } = *self;
        if dims.is_dense() {
            let first = elements.offset + columns.start as isize;
            let tile = &tile[..columns.len() * elements.item];
            // SAFETY: as below; these columns are contiguous from the first one on.
            unsafe { elements.address(first).copy_from_nonoverlapping(tile.as_ptr(), tile.len()) };
            return;
        }
        let one = (&StridedDims::of(&[], &[]), StridedRange::all(0..1));
        elements.blocks((dims, columns), one, (LineOrder::ByRow, tile.len()), |element, dims, position| {
            let from = tile.as_ptr().wrapping_add(position);
            // SAFETY: as in `ReduceInput::load`, from the tile to memory. `Written::new` has seen that the
            // block is writable and that no two columns share memory; only this part touches its columns,
            // inputs read other elements, and `&mut self` keeps it to one access at a time.
            unsafe { pack(elements.item, &back(dims), from, elements.address(element)) };
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Fresh;

    /// Every part of a loop over columns and rows, of every item size and kind of stride, against an index by
    /// index walk.
    #[test]
    fn a_tile_holds_the_elements_of_its_columns_and_rows() {
        let (columns, sizes) = ([2, 3], [2, 3, 5]);
        for item in [1, 2, 4, 8, 16] {
            let mut fresh = Fresh::zeroed(64 * item).unwrap();
            for (at, byte) in fresh.bytes_mut().iter_mut().enumerate() {
                *byte = (at / item) as u8 ^ ((at % item) as u8) << 6;
            }
            let mut target = Fresh::zeroed(6 * item).unwrap();
            let mut written = Written::new(target.block_mut(), item, (&columns, &[3, 1], 0));
            let out = written.output();
            for strides in [
                [15, 5, 1],
                [1, 2, 6],
                [0, 0, 0],
                [0, 1, 0],
                [-15, -5, -1],
                [3, 0, 7],
                [20, 1, 4],
                [20, 7, 1],
            ] {
                let offset = if strides[0] < 0 { 40 } else { 2 };
                let read = (&sizes[..], &strides[..], offset);
                let elements = StridedElements::read(fresh.block(), item, read, &out).unwrap();
                let input = ReduceInput::new(elements, 2);
                for column_range in [0..6, 1..5, 2..3, 4..4] {
                    let every_other = StridedRange { first: 1, step: 2, count: 2 };
                    for rows in [
                        StridedRange::all(0..5),
                        StridedRange::all(0..1),
                        StridedRange::all(2..5),
                        every_other,
                    ] {
                        for order in [LineOrder::ByRow, LineOrder::ByColumn] {
                            let mut tile = vec![0; column_range.len() * rows.count * item];
                            input.load(column_range.clone(), rows, order, &mut tile);
                            let (lines, line) = match order {
                                LineOrder::ByRow => (rows.count, column_range.len()),
                                LineOrder::ByColumn => (column_range.len(), rows.count),
                            };
                            if let Some((first, step)) = input.lines(column_range.clone(), rows, order) {
                                let at = |line: usize| (offset + first + line as isize * step) as usize;
                                let lying =
                                    (0..lines).map(|own| &fresh.bytes()[at(own) * item..][..line * item]);
                                assert_eq!(lying.collect::<Vec<_>>().concat(), tile, "{strides:?}");
                            }
                            for (at, found) in tile.chunks(item).enumerate() {
                                let (row, column) = match order {
                                    LineOrder::ByRow => (at / column_range.len(), at % column_range.len()),
                                    LineOrder::ByColumn => (at % rows.count, at / rows.count),
                                };
                                let (row, column) =
                                    (rows.first + row * rows.step, column_range.start + column);
                                let steps = [column / 3, column % 3, row].into_iter().zip(strides);
                                let at = offset
                                    + steps.map(|(index, stride)| index as isize * stride).sum::<isize>();
                                assert_eq!(
                                    found,
                                    &fresh.bytes()[at as usize * item..][..item],
                                    "{strides:?}"
                                );
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn parts_of_an_output_write_their_own_columns() {
        let mut target = Fresh::zeroed(16).unwrap();
        let columns = [2, 4];
        let mut written = Written::new(target.block_mut(), 1, (&columns, &[1, 4], 0));
        let mut parts = written.output().parts(3);
        let [mut first, mut second, mut third] = [(); 3].map(|()| parts.next().unwrap());
        third.store(6..8, &[7, 8]);
        first.store(0..3, &[1, 2, 3]);
        second.store(3..6, &[4, 5, 6]);
        assert!(parts.next().is_none());
        drop(parts);
        assert_eq!(target.bytes()[..14], [1, 5, 0, 0, 2, 6, 0, 0, 3, 7, 0, 0, 4, 8]);
    }

    #[test]
    #[should_panic(expected = "not all in")]
    fn elements_outside_the_block_are_refused() {
        let mut target = Fresh::zeroed(16).unwrap();
        Written::new(target.block_mut(), 4, (&[4], &[1], 1));
    }

    #[test]
    #[should_panic]
    fn a_part_does_not_write_beyond_itself() {
        let mut target = Fresh::zeroed(16).unwrap();
        let mut written = Written::new(target.block_mut(), 1, (&[16], &[1], 0));
        written.output().parts(8).next().unwrap().store(7..9, &[1, 2]);
    }
}
