//! Owns rows of elements: where programs read and write, and the memory of tiles. The caller that makes rows
//! of addresses vouches for them. It does not know what is computed.

use std::alloc::{Layout, handle_alloc_error};
use std::marker::PhantomData;
use std::ops::RangeInclusive;

use crate::memory::{Block, Fresh};

/// Strides of rows that code reads in place, but 0. Farther ones are copied, many at a time.
pub(in crate::exec) const NEAR_STEPS: RangeInclusive<isize> = -4..=4;

/// Rows of bytes with a constant stride, in groups with another.
#[derive(Clone, Copy, Debug)]
pub(in crate::exec) struct Rows {
    pub(in crate::exec) groups: Groups,
    /// Bytes from one row of a group to the next.
    pub(in crate::exec) step: isize,
    pub(in crate::exec) count: usize,
    /// Bytes of the elements of a row.
    pub(in crate::exec) bytes: usize,
}

impl Rows {
    /// Whether there are so many groups of so many rows.
    pub(in crate::exec) fn have(&self, groups: usize, rows: usize) -> bool {
        groups <= self.groups.count && rows <= self.count
    }
}

/// How often there are rows, so many bytes further each time.
#[derive(Clone, Copy, Debug)]
pub(in crate::exec) struct Groups {
    pub(in crate::exec) count: usize,
    pub(in crate::exec) step: isize,
}

impl Groups {
    pub(in crate::exec) const ONE: Groups = Groups { count: 1, step: 0 };
}

/// The address of the first row, which is only read if it is an operand's, and bytes from row to row.
#[derive(Clone, Copy, Debug)]
pub(in crate::exec) struct RowAddress {
    pub(in crate::exec) first: *mut u8,
    pub(in crate::exec) step: isize,
}

impl RowAddress {
    /// The same from a later row on.
    #[inline(always)]
    pub(in crate::exec) fn from(self, row: isize) -> RowAddress {
        self.along(row.wrapping_mul(self.step))
    }

    /// The same so many bytes further in each row.
    #[inline(always)]
    pub(in crate::exec) fn along(self, bytes: isize) -> RowAddress {
        RowAddress { first: self.first.wrapping_offset(bytes), ..self }
    }
}

/// Rows that a program reads: a row has the elements of a load with a constant stride, or a broadcast scalar.
#[derive(Clone, Copy, Debug)]
pub(in crate::exec) struct Feed<'a> {
    at: *const u8,
    pub(in crate::exec) rows: Rows,
    /// Elements from one to the next.
    pub(in crate::exec) apart: isize,
    lasting: PhantomData<&'a [u8]>,
}

impl Feed<'_> {
    /// # Safety
    /// While `'a` lasts, the rows of all groups are readable, initialised and aligned to their elements, and
    /// so is the memory between elements that are `apart`. Only a machine that runs this feed with a sink of
    /// the same address, steps and size of elements writes them.
    pub(in crate::exec) unsafe fn new(at: *const u8, rows: Rows, apart: isize) -> Self {
        Feed { at, rows, apart, lasting: PhantomData }
    }
}

impl<'a> Feed<'a> {
    /// The same elements as one row, if the rows are contiguous.
    pub(in crate::exec) fn joined(self) -> Option<Feed<'a>> {
        let Rows { groups, step, count, bytes } = self.rows;
        let is_joined = groups.count == 1 && (count == 1 || step == bytes as isize);
        is_joined.then(|| Feed { rows: Rows { groups, step: 0, count: 1, bytes: bytes * count }, ..self })
    }

    pub(in crate::exec) fn place(&self) -> RowAddress {
        RowAddress { first: self.at.cast_mut(), step: self.rows.step }
    }

    /// The place, and how many bytes further each group begins.
    pub(in crate::exec) fn grouped_place(&self) -> (RowAddress, isize) {
        (self.place(), self.rows.groups.step)
    }
}

/// The elements of a loop in bytes of any alignment that are borrowed.
#[derive(Clone, Copy, Debug)]
pub(in crate::exec) struct ElementSlice<'a> {
    pub(in crate::exec) bytes: &'a [u8],
    /// Bytes of an element.
    pub(in crate::exec) item: usize,
    /// The number of the loop's element 0 among them.
    pub(in crate::exec) first: isize,
}

impl<'a> ElementSlice<'a> {
    /// The same loop that begins at one of its elements.
    #[inline(always)]
    pub(in crate::exec) fn at(self, element: isize) -> ElementSlice<'a> {
        ElementSlice { first: self.first + element, ..self }
    }

    /// So many elements side by side from the first one on.
    #[inline(always)]
    pub(in crate::exec) fn row(&self, len: usize) -> &'a [u8] {
        &self.bytes[self.first as usize * self.item..][..len * self.item]
    }

    /// Rows of `len` elements, each `step` elements after the one before, from the first one on, as programs
    /// read them that need no alignment.
    ///
    /// # Panics
    /// If a row begins or ends outside.
    #[inline(always)]
    pub(in crate::exec) fn rows(&self, count: usize, len: usize, step: isize) -> Feed<'a> {
        let ElementSlice { bytes, item, first } = *self;
        let step = step.wrapping_mul(item as isize);
        let rows = Rows { groups: Groups::ONE, step, count, bytes: len * item };
        let first = first as usize * item;
        let last =
            rows.step.checked_mul(count as isize - 1).and_then(|reach| first.checked_add_signed(reach));
        let ends = |start: Option<usize>| start.and_then(|start| start.checked_add(rows.bytes));
        assert!([ends(Some(first)), ends(last)].iter().all(|end| end.is_some_and(|end| end <= bytes.len())));
        Feed { at: bytes.as_ptr().wrapping_add(first), rows, apart: 1, lasting: PhantomData }
    }

    /// As [`rows`](ElementSlice::rows), in groups, of elements at any stride: how many there are of each, at
    /// least one, and elements from one to the next.
    ///
    /// # Panics
    /// If a row begins or ends outside.
    pub(in crate::exec) fn grouped_rows(
        &self,
        groups: (usize, isize),
        (count, step): (usize, isize),
        (len, apart): (usize, isize),
    ) -> Feed<'a> {
        let ElementSlice { bytes, item, first } = *self;
        let ends =
            [groups, (count, step), (len, apart)].iter().try_fold((first, first), |ends, &(count, by)| {
                let reach = (count as isize - 1).checked_mul(by)?;
                Some((ends.0.checked_add(reach.min(0))?, ends.1.checked_add(reach.max(0))?))
            });
        let there = bytes.len() / item;
        assert!(ends.is_some_and(|(lowest, highest)| 0 <= lowest && (highest as usize) < there));
        let distance = |elements: isize| elements.wrapping_mul(item as isize);
        let groups = Groups { count: groups.0, step: distance(groups.1) };
        let rows = Rows { groups, step: distance(step), count, bytes: len * item };
        let at = bytes.as_ptr().wrapping_add(first as usize * item);
        Feed { at, rows, apart, lasting: PhantomData }
    }
}

/// Rows that a program writes.
#[derive(Debug)]
pub(in crate::exec) struct RowSink<'a> {
    at: *mut u8,
    pub(in crate::exec) rows: Rows,
    lasting: PhantomData<&'a mut [u8]>,
}

impl RowSink<'_> {
    /// # Safety
    /// While `'a` lasts, the rows of all groups are writable, aligned to their elements and disjoint, and
    /// nothing else touches them but feeds of the same rows ([`Feed::new`]).
    pub(in crate::exec) unsafe fn new(at: *mut u8, rows: Rows) -> Self {
        RowSink { at, rows, lasting: PhantomData }
    }
}

impl<'a> RowSink<'a> {
    /// Some rows of `line` bytes, one after the other.
    ///
    /// # Panics
    /// If there are fewer bytes.
    pub(in crate::exec) fn lines(bytes: &'a mut [u8], count: usize, line: usize) -> RowSink<'a> {
        RowSink::groups(bytes, 1, count, line)
    }

    /// Some groups of such rows, one after the other.
    ///
    /// # Panics
    /// If there are fewer bytes.
    pub(in crate::exec) fn groups(
        bytes: &'a mut [u8],
        groups: usize,
        count: usize,
        line: usize,
    ) -> RowSink<'a> {
        let group = count.checked_mul(line).filter(|group| *group <= bytes.len());
        let fits = |group: &usize| group.checked_mul(groups).is_some_and(|len| len <= bytes.len());
        let group = group.filter(fits).expect("there is room for the rows");
        let groups = Groups { count: groups, step: group as isize };
        let rows = Rows { groups, step: line as isize, count, bytes: line };
        RowSink { at: bytes.as_mut_ptr(), rows, lasting: PhantomData }
    }

    /// The same rows for a program that reads what it writes over.
    ///
    /// # Safety
    /// The feed is used by a machine that runs it with this sink, and reads elements of the size of the
    /// results.
    pub(in crate::exec) unsafe fn feed(&self) -> Feed<'a> {
        // SAFETY: the rows are borrowed for `'a`, and the caller sees to who writes them.
        unsafe { Feed::new(self.at, self.rows, 1) }
    }

    pub(in crate::exec) fn grouped_place(&self) -> (RowAddress, isize) {
        (RowAddress { first: self.at, step: self.rows.step }, self.rows.groups.step)
    }
}

/// Memory of the pool for tiles, aligned to cache lines, of arbitrary values.
pub(in crate::exec) struct Scratch(Option<Fresh>);

impl Scratch {
    pub(in crate::exec) fn new(bytes: usize) -> Scratch {
        let refused = || handle_alloc_error(Layout::array::<u8>(bytes).unwrap_or(Layout::new::<u8>()));
        Scratch::large(bytes).unwrap_or_else(refused)
    }

    /// Memory for what may be large; `None` if there is none.
    pub(in crate::exec) fn large(bytes: usize) -> Option<Scratch> {
        if bytes == 0 { Some(Scratch(None)) } else { Fresh::arbitrary(bytes).map(|own| Scratch(Some(own))) }
    }

    pub(in crate::exec) fn bytes_mut(&mut self) -> &mut [u8] {
        self.0.as_mut().map_or(&mut [], Fresh::bytes_mut)
    }

    pub(in crate::exec) fn bytes(&self) -> &[u8] {
        self.0.as_ref().map_or(&[], Fresh::bytes)
    }

    /// The same as what a step may read and write.
    ///
    /// # Panics
    /// If there is no memory.
    pub(in crate::exec) fn block_mut(&mut self) -> Block<'_> {
        self.0.as_mut().expect("there are bytes").block_mut()
    }
}
