//! Owns the offsets of the elements of a tensor that are picked along some of its dimensions, and the copying
//! of these elements. It does not know how they were picked (`picks.rs`).

use std::ops::Range;

use bytemuck::{NoUninit, cast_slice, cast_slice_mut};
use zerostride_kernels::copy_slice;

use crate::exec::StridedDims;
use crate::interrupt::{STRIDE, Visits};
use crate::threads::parts;
use crate::{Result, Tensor};

/// Elements that a thread copies at least.
pub(super) const SHARE_COPIED_ELEMENTS: usize = 1 << 15;

/// Evaluates `$body` with `$type` standing for elements of so many bytes, which need no alignment: other
/// libraries align complex numbers by their parts.
macro_rules! with_item {
    ($item:expr, $type:ident => $body:expr) => {
        match $item {
            1 => {
                type $type = [u8; 1];
                $body
            }
            2 => {
                type $type = [u8; 2];
                $body
            }
            4 => {
                type $type = [u8; 4];
                $body
            }
            8 => {
                type $type = [u8; 8];
                $body
            }
            16 => {
                type $type = [u8; 16];
                $body
            }
            other => unreachable!("no dtype has {other} bytes"),
        }
    };
}

pub(super) use with_item;

/// Elements of a tensor, in an order.
pub(super) trait Places {
    /// Combines each of them, one after the other, with the next of contiguous elements.
    ///
    /// # Errors
    /// A place does not exist; the elements before it have been combined.
    fn combine<E: Copy>(&self, from: &[E], to: &mut [E], combine: impl Fn(&mut E, E)) -> Result<()>;
}

/// Offsets of elements: of each step of the outer dimensions, each picked element, and each step of the inner
/// dimensions.
#[derive(Debug)]
pub(super) struct PickedOffsets {
    /// The first element's offset in the bytes that the tensor reaches, in elements.
    start: isize,
    outer: StridedDims<1>,
    picks: Vec<isize>,
    inner: StridedDims<1>,
    /// The innermost dimension: its size and stride.
    run: (usize, isize),
}

impl PickedOffsets {
    pub(super) fn new(
        start: isize,
        outer: StridedDims<1>,
        picks: Vec<isize>,
        mut inner: StridedDims<1>,
    ) -> PickedOffsets {
        let (len, [stride]) = inner.take_inner();
        PickedOffsets { start, outer, picks, inner, run: (len, stride) }
    }

    /// Elements for each pick of each outer step.
    fn row(&self) -> usize {
        self.inner.numel() * self.run.0
    }

    fn rows(&self) -> usize {
        self.outer.numel() * self.picks.len()
    }

    /// Calls `group` with some picks of one step of the outer dimensions, the offset that they start from,
    /// and the number of elements before them.
    #[inline(always)]
    fn groups(&self, rows: Range<usize>, mut group: impl FnMut(isize, &[isize], usize)) {
        if rows.is_empty() || self.row() == 0 {
            return;
        }
        let (mut at, mut left, mut visits) = (0, rows.len(), Visits::default());
        let mut first = rows.start % self.picks.len();
        for [outer] in self.outer.walk(rows.start / self.picks.len()) {
            let picks = &self.picks[first..self.picks.len().min(first + left)];
            for picks in picks.chunks(STRIDE) {
                visits.add(picks.len() * self.row());
                group(self.start + outer, picks, at);
                at += picks.len() * self.row();
            }
            (first, left) = (0, left - picks.len());
            if left == 0 {
                return;
            }
        }
    }

    /// Calls `run` with the first offset of each run of some rows, and with the number of elements before it.
    #[inline(always)]
    fn runs(&self, rows: Range<usize>, mut run: impl FnMut(usize, usize)) {
        self.groups(rows, |base, picks, mut at| {
            for pick in picks {
                if self.inner.get().is_empty() {
                    run((base + pick) as usize, at);
                    at += self.run.0;
                } else {
                    for [inner] in self.inner.walk(0) {
                        run((base + pick + inner) as usize, at);
                        at += self.run.0;
                    }
                }
            }
        });
    }

    fn load_rows<E: NoUninit>(&self, rows: Range<usize>, from: &[E], to: &mut [E]) {
        match self.run {
            _ if self.row() == 1 => self.groups(rows, |base, picks, at| {
                for (to, pick) in to[at..].iter_mut().zip(picks) {
                    *to = from[(base + pick) as usize];
                }
            }),
            (len, 1) => {
                self.runs(rows, |first, at| copy_slice(&from[first..first + len], &mut to[at..at + len]));
            }
            (len, stride) => self.runs(rows, |first, at| {
                for (k, to) in to[at..at + len].iter_mut().enumerate() {
                    *to = from[first.wrapping_add_signed(k as isize * stride)];
                }
            }),
        }
    }

    /// Copies the elements at these offsets to contiguous ones.
    pub(super) fn load(&self, item: usize, from: &[u8], to: &mut [u8]) -> Result<()> {
        let row = self.row();
        if row == 0 {
            return Ok(());
        }
        let rows = SHARE_COPIED_ELEMENTS.div_ceil(row).max(self.rows().div_ceil(256));
        with_item!(item, E => {
            let from: &[E] = cast_slice(from);
            let parts = cast_slice_mut::<u8, E>(to).chunks_mut(rows.saturating_mul(row)).enumerate();
            parts::for_each(parts, || (), |(), (part, to)| {
                self.load_rows(part * rows..part * rows + to.len() / row, from, to);
                Ok(())
            })
        })
    }

    /// Copies contiguous elements to these offsets, or one element to all of them. Where offsets coincide,
    /// the last element stays.
    pub(super) fn store(&self, item: usize, from: &[u8], to: &mut [u8]) -> Result<()> {
        with_item!(item, E => match (cast_slice::<u8, E>(from), cast_slice_mut(to)) {
            (&[one], to) => self.runs(0..self.rows(), |first, _| {
                let (len, stride) = self.run;
                (0..len as isize).for_each(|k| to[first.wrapping_add_signed(k * stride)] = one);
            }),
            (from, to) => return self.combine(from, to, |to, from| *to = from),
        });
        Ok(())
    }
}

impl Places for PickedOffsets {
    fn combine<E: Copy>(&self, from: &[E], to: &mut [E], combine: impl Fn(&mut E, E)) -> Result<()> {
        let rows = 0..self.rows();
        match self.run {
            _ if self.row() == 1 => self.groups(rows, |base, picks, at| {
                for (&from, pick) in from[at..].iter().zip(picks) {
                    combine(&mut to[(base + pick) as usize], from);
                }
            }),
            (len, 1) => self.runs(rows, |first, at| {
                let to = to[first..first + len].iter_mut();
                to.zip(&from[at..at + len]).for_each(|(to, &from)| combine(to, from));
            }),
            (len, stride) => self.runs(rows, |first, at| {
                for (k, &from) in from[at..at + len].iter().enumerate() {
                    combine(&mut to[first.wrapping_add_signed(k as isize * stride)], from);
                }
            }),
        }
        Ok(())
    }
}

/// The offset of a tensor's first element in the bytes that it reaches, in elements.
pub(super) fn start(tensor: &Tensor) -> isize {
    tensor.layout().offset() - (tensor.reach().start / tensor.dtype().item_size()) as isize
}

/// Calls `visit` with the offset of each element of some dimensions, row-major, and whether the mask of their
/// sizes is true there.
#[inline(always)]
pub(super) fn masked(sizes: &[usize], strides: &[isize], bools: &[u8], mut visit: impl FnMut(isize, bool)) {
    let mut outer = StridedDims::of(sizes, strides);
    let (len, [stride]) = outer.take_inner();
    let mut visits = Visits::default();
    for ([row], bools) in outer.walk(0).zip(bools.chunks(len.max(1))) {
        let mut offset = row;
        for bools in bools.chunks(STRIDE) {
            visits.add(bools.len());
            for &truth in bools {
                visit(offset, truth != 0);
                offset += stride;
            }
        }
    }
}

/// Copies the elements of a tensor, row-major, where a mask of its sizes is true, to as many places; `from`
/// is what the tensor reaches.
pub(super) fn compress(tensor: &Tensor, from: &[u8], bools: &[u8], to: &mut [u8]) {
    let start = start(tensor);
    with_item!(tensor.dtype().item_size(), E => {
        let (from, to) = (cast_slice::<u8, E>(from), cast_slice_mut::<u8, E>(to));
        let mut found = 0;
        masked(tensor.shape(), tensor.strides(), bools, |offset, truth| {
            // Each is written, and kept where the mask is true: a branch would be mispredicted.
            if let Some(to) = to.get_mut(found) {
                *to = from[(start + offset) as usize];
                found += usize::from(truth);
            }
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_rows_are_copied_alike() {
        let offsets = PickedOffsets::new(
            1,
            StridedDims::of(&[2], &[20]),
            vec![6, 0, 3],
            StridedDims::of(&[2, 2], &[9, 2]),
        );
        let from: Vec<u8> = (0..60).collect();
        let mut all = vec![0; 24];
        offsets.load(1, &from, &mut all).unwrap();
        assert_eq!(all[..8], [7, 9, 16, 18, 1, 3, 10, 12]);
        for (start, end) in [(0, 6), (1, 2), (2, 5), (4, 4)] {
            let mut some = vec![0; 4 * (end - start)];
            offsets.load_rows(start..end, &from, &mut some);
            assert_eq!(some, all[4 * start..4 * end]);
        }
        let mut back = vec![0; 60];
        offsets.store(1, &all, &mut back).unwrap();
        let mut again = vec![0; 24];
        offsets.load(1, &back, &mut again).unwrap();
        assert_eq!(again, all);
    }
}
