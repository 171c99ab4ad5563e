//! Owns the walk through the loop of an element-wise step: which elements are worked on together, and in what
//! order. It does not touch elements, and does not know the program.
//!
//! A panel is a block of rows of neighbouring elements. A row runs along one dimension, with all dimensions
//! inside it; the rows of a panel follow each other along that dimension, or are steps of an outer one. Where
//! nothing is packed, a panel may have groups of rows, along one more dimension. An operand is read in place
//! if its rows are contiguous, a broadcast scalar, or strided within the `near` range; otherwise it is
//! packed into a tile.

use std::ops::{Range, RangeInclusive};

use smallvec::SmallVec;
use zerostride_kernels::CACHE_LINE_BYTES;
use zerostride_shape::Shape;

use super::program::TILE_ELEMENTS;

/// One number for each dimension of a loop.
pub(crate) type LoopIndex = SmallVec<[usize; 6]>;

/// Bytes of the widest operand from which on a row pays for its set-up; shorter rows are joined.
const LEAST_ROW_BYTES: usize = 1024;

/// The same limit where nothing is packed and the program is printed, with the loop over rows (rows of 8 f32
/// gain nothing, of 16 take half the time).
pub(crate) const LEAST_PRINTED_ROW_BYTES: usize = 64;
const LEAST_ROWS: usize = 16;

/// The fewest elements of a row where many operands are packed.
const LEAST_PACKED_ROW_ELEMENTS: usize = 256;

/// The most elements of a row where an operand is the same in all rows of a panel.
const MOST_REPEATED_ROW_ELEMENTS: usize = 512;

/// Bytes of the packed parts of one row: less than L1, which also holds the operands that are not packed.
const PACKED_ROW_BYTES: usize = 16 << 10;

/// Bytes of all packed rows of a panel: enough to pay for the set-up of a panel.
const PACKED_PANEL_BYTES: usize = 2 * PACKED_ROW_BYTES;

/// Rows of a panel for an operand that is transposed, whose neighbouring elements are in different rows:
/// many, because each column is often a page of its own; fewer where the operand is in cache and several
/// threads share the loop. The upper limit, with rows a cache line apart, fits into 128 KiB: the pool's
/// blocks are powers of two.
const TRANSPOSED_ROWS: RangeInclusive<usize> = 64..=224;

/// Rows of a transposed block.
const TRANSPOSED_BLOCK_ROWS: usize = 16;

/// Bytes of a row of such a panel, which must pay for its set-up, and of all its packed rows, if these are
/// few.
const TRANSPOSED_ROW_BYTES: usize = 512;
const TRANSPOSED_PANEL_BYTES: usize = 64 << 10;

/// The least contiguous bytes to read at a time of an operand whose smallest stride is along the rows, with
/// other dimensions inside.
const CONTIGUOUS_READ_BYTES: usize = 1 << 10;

/// Rows have a multiple of this many elements where possible, so that registers are full.
const ROW_MULTIPLE_ELEMENTS: usize = 128;

/// The layout of a row of a panel in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowForm {
    /// Contiguous elements.
    Dense,
    /// Elements at this stride.
    Stepped(isize),
    /// A broadcast scalar.
    Splat,
    /// None of these.
    Scattered,
}

/// Neighbouring elements of a loop that are worked on together: in each dimension, the first index and the
/// number of steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Panel {
    pub(crate) start: LoopIndex,
    pub(crate) len: LoopIndex,
    /// Groups, the rows of each, and the elements of a row: the walk has checked that together they are the
    /// elements of the panel.
    groups: usize,
    rows: usize,
    row: usize,
}

impl Panel {
    pub(crate) fn groups(&self) -> usize {
        self.groups
    }

    /// Rows of a group.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Elements of a row.
    pub(crate) fn row(&self) -> usize {
        self.row
    }

    /// Whether the panel is inside a loop of these sizes.
    pub(crate) fn is_within(&self, sizes: &[usize]) -> bool {
        let dims = self.start.iter().zip(&self.len).zip(sizes);
        [self.start.len(), self.len.len()] == [sizes.len(); 2]
            && dims.into_iter().all(|((&start, &len), &size)| start <= size && len <= size - start)
    }
}

/// How a loop of at least one dimension is walked.
#[derive(Clone, Debug)]
pub(crate) struct PanelWalk {
    shape: Shape,
    /// The dimension that a row runs along, and how many steps of it.
    along: usize,
    chunk: usize,
    /// Elements of one step of a row.
    inner: usize,
    /// The dimension that leads from one row to the next.
    across: usize,
    /// The dimension that leads from one group of rows to the next, if there are groups.
    outside: Option<usize>,
    /// Steps of each dimension in one panel.
    units: LoopIndex,
    /// The dimensions that lead from panel to panel, outermost first: rows are continued first, then come the
    /// next rows.
    order: LoopIndex,
    /// The most elements of a panel, if its rows have no more.
    grain: usize,
    /// Strides of operands that are read in place.
    near: RangeInclusive<isize>,
}

impl PanelWalk {
    /// A walk for all operands, given by their strides and the bytes of an element, in panels of about
    /// `grain` elements. Operands whose stride is in `near` are read in place.
    ///
    /// # Panics
    /// If the loop has no dimensions.
    pub(crate) fn new(
        shape: &Shape,
        operands: &[(&[isize], usize)],
        grain: usize,
        near: RangeInclusive<isize>,
    ) -> PanelWalk {
        let (mut along, mut inner) = (shape.ndim() - 1, 1);
        let widest = widest(operands);
        while along > 0 && inner * shape[along] < LEAST_ROW_BYTES / widest {
            inner *= shape[along];
            along -= 1;
        }
        PanelWalk::along(shape, operands, (grain, near), along, inner)
    }

    /// The walk whose short rows are read and written in place, if every operand allows that and there are
    /// enough rows; for a program that is printed.
    pub(crate) fn unjoined(
        shape: &Shape,
        operands: &[(&[isize], usize)],
        grain: usize,
        near: RangeInclusive<isize>,
    ) -> Option<PanelWalk> {
        let [ref outside @ .., rows, row] = **shape else { return None };
        let (along, widest) = (shape.ndim() - 1, widest(operands));
        let are_short = LEAST_PRINTED_ROW_BYTES / widest..LEAST_ROW_BYTES / widest;
        let groups = outside.last().copied().unwrap_or(1);
        let is_worth = rows.saturating_mul(groups) >= LEAST_ROWS && are_short.contains(&row);
        let lie = operands.iter().all(|(strides, _)| strides[along] == 0 || near.contains(&strides[along]));
        (is_worth && lie).then(|| PanelWalk::along(shape, operands, (grain, near), along, 1))
    }

    /// A walk whose rows run along a dimension, each step of which is `inner` elements.
    fn along(
        shape: &Shape,
        operands: &[(&[isize], usize)],
        (grain, near): (usize, RangeInclusive<isize>),
        along: usize,
        inner: usize,
    ) -> PanelWalk {
        let (chunk, units) = (shape[along], shape.as_ref().into());
        let (whole, across, order) = (shape.clone(), along, LoopIndex::new());
        let mut walk =
            PanelWalk { shape: whole, along, chunk, inner, across, outside: None, units, order, grain, near };
        let scattered: SmallVec<[(&[isize], usize); 8]> = operands
            .iter()
            .copied()
            .filter(|(strides, _)| walk.form(strides) == RowForm::Scattered)
            .collect();
        let packed: usize = scattered.iter().map(|(_, item)| item).sum();
        if let Some(across) = scattered.iter().find_map(|(strides, _)| walk.neighbours_across(strides)) {
            let narrowest = scattered.iter().map(|(_, item)| *item).min().unwrap_or(1);
            let row = TRANSPOSED_ROW_BYTES / narrowest;
            let most =
                (grain / row).clamp(*TRANSPOSED_ROWS.start(), *TRANSPOSED_ROWS.end()).min(shape[across]);
            // About equal panels of whole transposed blocks, so that threads get equal work.
            let equal = shape[across].div_ceil(shape[across].div_ceil(most));
            let rows = equal.next_multiple_of(TRANSPOSED_BLOCK_ROWS).min(most);
            walk.cut(row.max(TRANSPOSED_PANEL_BYTES / (rows * packed)), across, rows);
            return walk;
        }
        // An operand that is the same in all rows of a panel, but not in the next one, is packed for one row:
        // a short one.
        let again = |strides: &[isize]| strides[along] == 0 && strides[..along].iter().any(|&step| step != 0);
        let most = if scattered.iter().any(|(strides, _)| again(strides)) {
            MOST_REPEATED_ROW_ELEMENTS
        } else {
            TILE_ELEMENTS
        };
        let row = PACKED_ROW_BYTES
            .checked_div(packed)
            .map_or(grain, |row| row.clamp(LEAST_PACKED_ROW_ELEMENTS, most));
        // An operand whose smallest stride is along the rows, with other dimensions inside, is read many
        // elements at a time.
        let go = |&(strides, item): &(&[isize], usize)| match walk.nearest(strides) {
            Some(dim) if dim == along && strides[along + 1..].iter().any(|&step| step != 0) => {
                CONTIGUOUS_READ_BYTES / item * inner
            }
            _ => 0,
        };
        let row = row.max(scattered.iter().map(go).max().unwrap_or(0));
        walk.cut(row, along, 1);
        // A row that ends before its dimension does is followed by the next row of that dimension.
        let across = if walk.chunk < shape[along] { along } else { along.saturating_sub(1) };
        let packed_once = scattered.iter().all(|(strides, _)| strides[across] == 0);
        let panel = if packed_once { grain } else { grain.min(PACKED_PANEL_BYTES / packed) };
        walk.cut(row, across, panel / walk.row());
        if packed == 0 {
            walk.group();
        }
        walk
    }

    /// Cuts the loop into panels of rows of at most that many elements, and that many rows.
    fn cut(&mut self, row: usize, across: usize, rows: usize) {
        self.chunk = even_chunk(self.shape[self.along], self.inner, row);
        (self.across, self.outside) = (across, None);
        self.units[..self.along].fill(1);
        self.units[self.along] = self.chunk;
        self.units[across] *= rows.clamp(1, self.shape[across] / self.units[across]);
        let outer = (0..self.along).filter(|&dim| dim != across);
        let rows = Some(across).filter(|&across| across != self.along);
        self.order = outer.chain(rows).chain([self.along]).collect();
    }

    /// Lets panels that pack nothing have several groups, where one has the rows of all of a dimension: a
    /// group is one more call of the code, which takes a tenth of the time that a panel does.
    fn group(&mut self) {
        let rows = self.units[self.across];
        if let Some(outside) = self.across.checked_sub(1)
            && self.across < self.along
            && rows == self.shape[self.across]
        {
            self.units[outside] = (self.grain / (self.row() * rows)).clamp(1, self.shape[outside]);
            self.outside = Some(outside);
        }
    }

    /// The same walk for rows that pass through tiles.
    pub(crate) fn tiled(mut self) -> PanelWalk {
        if self.row() > TILE_ELEMENTS {
            self.cut(TILE_ELEMENTS, self.along, self.grain / TILE_ELEMENTS);
        }
        self
    }

    /// The dimension outside the rows along which the operand's neighbours lie, if it is outside.
    fn neighbours_across(&self, strides: &[isize]) -> Option<usize> {
        self.nearest(strides).filter(|&nearest| nearest < self.along)
    }

    /// The dimension along which the operand's neighbours lie.
    fn nearest(&self, strides: &[isize]) -> Option<usize> {
        let steps = (0..strides.len()).filter(|&dim| strides[dim] != 0 && self.shape[dim] > 1);
        steps.min_by_key(|&dim| strides[dim].unsigned_abs())
    }

    /// Elements of one step of a row.
    pub(crate) fn inner(&self) -> usize {
        self.inner
    }

    /// The most elements of a row.
    pub(crate) fn row(&self) -> usize {
        self.chunk * self.inner
    }

    /// The most rows of a panel.
    pub(crate) fn rows(&self) -> usize {
        self.units[self.across].div_ceil(self.across().1)
    }

    /// Bytes from one row to the next in the tile for elements of `item` bytes.
    pub(crate) fn pitch(&self, item: usize) -> usize {
        // Rows an even number of cache lines apart alias in the cache: they map to few of its sets.
        ((self.row() * item).div_ceil(CACHE_LINE_BYTES) | 1) * CACHE_LINE_BYTES
    }

    /// Bytes of the tile for an operand with elements of `item` bytes; 0 where it is read or written in
    /// place.
    pub(crate) fn tile(&self, strides: &[isize], item: usize) -> usize {
        match self.form(strides) {
            RowForm::Scattered if strides[self.across] == 0 => self.row() * item,
            RowForm::Scattered => self.rows() * self.pitch(item),
            _ => 0,
        }
    }

    /// Sets the rows of a panel.
    ///
    /// # Panics
    /// If the rows do not cover the panel, as where rows that follow each other end before it.
    fn find_rows(&self, panel: &mut Panel) {
        panel.row = panel.len[self.along].min(self.chunk) * self.inner;
        panel.rows = match self.across() {
            (across, 1) => panel.len[across],
            (across, steps) => panel.len[across].div_ceil(steps),
        };
        panel.groups = self.outside.map_or(1, |outside| panel.len[outside]);
        assert_eq!(panel.row * panel.rows * panel.groups, panel.len.iter().product::<usize>());
    }

    /// The dimension that leads from one row to the next, and the steps of it that this takes.
    pub(crate) fn across(&self) -> (usize, usize) {
        (self.across, if self.across == self.along { self.chunk } else { 1 })
    }

    /// The dimension that leads from one group of rows to the next, if there are groups.
    pub(crate) fn outside(&self) -> Option<usize> {
        self.outside
    }

    /// The dimensions of a row, outermost first.
    pub(crate) fn row_dims(&self) -> Range<usize> {
        self.along..self.shape.ndim()
    }

    /// The layout of an operand's row in memory.
    pub(crate) fn form(&self, strides: &[isize]) -> RowForm {
        let size = |dim: usize| if dim == self.along { self.chunk } else { self.shape[dim] };
        let steps = || self.row_dims().filter(|&dim| size(dim) > 1);
        if steps().all(|dim| strides[dim] == 0) {
            return RowForm::Splat;
        }
        let first = steps().next_back().map_or(1, |dim| strides[dim]);
        let end = steps()
            .rev()
            .try_fold(first, |next, dim| (strides[dim] == next).then(|| next * self.shape[dim] as isize));
        match first {
            1 if end.is_some() => RowForm::Dense,
            step if end.is_some() && self.near.contains(&step) => RowForm::Stepped(step),
            _ => RowForm::Scattered,
        }
    }

    /// The steps of a panel along a dimension of which so many are left.
    fn steps(&self, dim: usize, left: usize) -> usize {
        match self.units[dim].min(left) {
            // Rows that follow each other are whole ones, but for the last, which is a panel of its own.
            steps if dim == self.along && steps > self.chunk => steps / self.chunk * self.chunk,
            steps => steps,
        }
    }

    /// How many panels follow each other along a dimension of a loop.
    fn panels_along(&self, dim: usize, size: usize) -> usize {
        let (whole, rest) = (size / self.units[dim], size % self.units[dim]);
        whole + usize::from(rest > 0) + usize::from(rest > self.steps(dim, rest))
    }

    /// Where a panel begins along a dimension, by its number there.
    fn start_of(&self, dim: usize, size: usize, number: usize) -> usize {
        let rest = size % self.units[dim];
        match number * self.units[dim] {
            start if start <= size => start,
            _ => size - rest + self.steps(dim, rest),
        }
    }

    /// How many panels a loop of these sizes has: those of the walk, or fewer steps of the outermost
    /// dimension.
    pub(crate) fn count(&self, sizes: &[usize]) -> usize {
        self.order.iter().map(|&dim| self.panels_along(dim, sizes[dim])).product()
    }

    /// Visits some panels of a loop by their numbers, from 0 to their count. Panels of two numbers have no
    /// element in common.
    pub(crate) fn panels<E>(
        &self,
        sizes: &[usize],
        numbers: Range<usize>,
        mut visit: impl FnMut(&Panel) -> Result<(), E>,
    ) -> Result<(), E> {
        let (start, len) = (LoopIndex::from_elem(0, sizes.len()), sizes.into());
        let mut panel = Panel { start, len, groups: 0, rows: 0, row: 0 };
        let mut number = numbers.start;
        for &dim in self.order.iter().rev() {
            if number > 0 {
                let count = self.panels_along(dim, sizes[dim]).max(1);
                panel.start[dim] = self.start_of(dim, sizes[dim], number % count);
                number /= count;
            }
            panel.len[dim] = self.steps(dim, sizes[dim] - panel.start[dim]);
        }
        for _ in numbers {
            self.find_rows(&mut panel);
            visit(&panel)?;
            for &dim in self.order.iter().rev() {
                panel.start[dim] += panel.len[dim];
                let ends = panel.start[dim] == sizes[dim];
                if ends {
                    panel.start[dim] = 0;
                }
                panel.len[dim] = self.steps(dim, sizes[dim] - panel.start[dim]);
                if !ends {
                    break;
                }
            }
        }
        Ok(())
    }
}

/// Bytes of the widest operand's elements.
fn widest(operands: &[(&[isize], usize)]) -> usize {
    operands.iter().map(|(_, item)| *item).max().unwrap_or(1)
}

/// Steps of `inner` elements for rows of at most `limit` elements: about equal ones, in full registers where
/// possible.
fn even_chunk(size: usize, inner: usize, limit: usize) -> usize {
    let most = (limit / inner).clamp(1, size);
    let equal = size.div_ceil(size.div_ceil(most));
    // Steps whose elements are a multiple of `ROW_MULTIPLE_ELEMENTS`: a power of two, so that only the inner
    // elements' own twos help.
    let step = ROW_MULTIPLE_ELEMENTS >> inner.trailing_zeros().min(ROW_MULTIPLE_ELEMENTS.trailing_zeros());
    match equal.next_multiple_of(step) {
        _ if equal == size => size,
        even if even <= most => even,
        _ if most >= step => most / step * step,
        _ => most,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Loops of all kinds: rows that are joined, cut, followed by others, crossed by an operand's neighbours.
    #[test]
    fn panels_cover_a_loop_once_and_stay_within_their_limits() {
        let cases: [(&[usize], &[&[isize]]); 10] = [
            (&[7], &[&[1]]),
            (&[1000, 3], &[&[3, 1], &[0, 1]]),
            (&[300, 257], &[&[257, 1], &[1, 300]]),
            (&[9, 2, 5, 3], &[&[30, 15, 3, 1], &[0, 3, 0, 1], &[1, 9, 0, 18]]),
            (&[3, 70000], &[&[70000, 1], &[1, 3]]),
            (&[5, 3000], &[&[4000, 1], &[1, 0]]),
            (&[2500, 4], &[&[4, 1], &[1, 0]]),
            (&[3, 50, 96], &[&[4800, 96, 1], &[50, 1, 0], &[96, 0, 1]]),
            (&[2, 30, 4, 64], &[&[7680, 256, 64, 1], &[1920, 64, 0, 1]]),
            (&[40, 3, 300], &[&[900, 300, 1], &[300, 0, 1]]),
        ];
        for (sizes, strides) in cases {
            let shape = Shape::new(sizes).unwrap();
            let operands: Vec<(&[isize], usize)> = strides.iter().map(|&strides| (strides, 4)).collect();
            let walks = [1 << 16, 2000].map(|grain| PanelWalk::new(&shape, &operands, grain, 1..=1));
            let unjoined = PanelWalk::unjoined(&shape, &operands, 2000, 1..=1);
            assert_eq!(unjoined.is_some(), [&[3, 50, 96][..], &[2, 30, 4, 64]].contains(&sizes));
            for walk in
                walks.iter().cloned().chain(walks.iter().cloned().map(PanelWalk::tiled)).chain(unjoined)
            {
                let count = walk.count(sizes);
                for step in [count, 1, 3] {
                    let mut seen = vec![0u8; shape.numel()];
                    for first in (0..count).step_by(step) {
                        let Ok(()) = walk.panels(sizes, first..count.min(first + step), |panel| {
                            assert!(panel.is_within(sizes));
                            assert!(panel.row <= walk.row() && panel.rows <= walk.rows(), "{walk:?}");
                            for at in 0..panel.row * panel.rows * panel.groups {
                                let (mut rest, mut linear, mut width) = (at, 0, 1);
                                for dim in (0..sizes.len()).rev() {
                                    linear += (panel.start[dim] + rest % panel.len[dim]) * width;
                                    rest /= panel.len[dim];
                                    width *= sizes[dim];
                                }
                                seen[linear] += 1;
                            }
                            Ok::<_, std::convert::Infallible>(())
                        });
                    }
                    assert!(seen.iter().all(|&times| times == 1), "{walk:?}");
                }
            }
        }
    }
}
