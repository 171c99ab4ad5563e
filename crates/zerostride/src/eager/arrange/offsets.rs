//! Owns the offsets of the elements of a tensor that are picked along some of its dimensions, and the copying
//! of these elements. It does not know how they were picked (`picks.rs`).

use std::ops::Range;

use bytemuck::{cast_slice, cast_slice_mut};

use crate::Result;
use crate::exec::StridedDims;
use crate::interrupt::{self, STRIDE};
use crate::threads::parts;

/// Elements that a thread copies at least.
const SHARE_COPIED_ELEMENTS: usize = 1 << 15;

/// Evaluates `$body` with `$n` standing for the bytes of an element.
macro_rules! with_item {
    ($item:expr, $n:ident => $body:expr) => {
        match $item {
            1 => {
                const $n: usize = 1;
                $body
            }
            2 => {
                const $n: usize = 2;
                $body
            }
            4 => {
                const $n: usize = 4;
                $body
            }
            8 => {
                const $n: usize = 8;
                $body
            }
            16 => {
                const $n: usize = 16;
                $body
            }
            other => unreachable!("no dtype has {other} bytes"),
        }
    };
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

    /// Single elements at these offsets.
    pub(super) fn of(start: isize, picks: Vec<isize>) -> PickedOffsets {
        PickedOffsets::new(start, StridedDims::of(&[], &[]), picks, StridedDims::of(&[], &[]))
    }

    /// Elements for each pick of each outer step.
    fn row(&self) -> usize {
        self.inner.numel() * self.run.0
    }

    fn rows(&self) -> usize {
        self.outer.numel() * self.picks.len()
    }

    /// Calls `run` with the first offset of each run of some rows, and with the number of elements before it.
    #[inline(always)]
    fn runs(&self, rows: Range<usize>, mut run: impl FnMut(usize, usize)) {
        if rows.is_empty() || self.row() == 0 {
            return;
        }
        let (mut at, mut left) = (0, rows.len());
        let mut first = rows.start % self.picks.len();
        for [outer] in self.outer.walk(rows.start / self.picks.len()) {
            let picks = &self.picks[first..self.picks.len().min(first + left)];
            for picks in picks.chunks(STRIDE) {
                interrupt::check();
                for pick in picks {
                    let base = self.start + outer + pick;
                    if self.inner.get().is_empty() {
                        run(base as usize, at);
                        at += self.run.0;
                    } else {
                        for [inner] in self.inner.walk(0) {
                            run((base + inner) as usize, at);
                            at += self.run.0;
                        }
                    }
                }
            }
            (first, left) = (0, left - picks.len());
            if left == 0 {
                return;
            }
        }
    }

    /// Calls `visit` with each offset and the number of elements before it.
    #[inline(always)]
    pub(super) fn each(&self, mut visit: impl FnMut(usize, usize)) {
        let (len, stride) = self.run;
        self.runs(0..self.rows(), |first, at| {
            (0..len).for_each(|k| visit(first.wrapping_add_signed(k as isize * stride), at + k));
        });
    }

    fn load_rows<const N: usize>(&self, rows: Range<usize>, from: &[[u8; N]], to: &mut [[u8; N]]) {
        match self.run {
            (1, _) => self.runs(rows, |first, at| to[at] = from[first]),
            (len, 1) => {
                self.runs(rows, |first, at| to[at..at + len].copy_from_slice(&from[first..first + len]));
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
        with_item!(item, N => {
            let from: &[[u8; N]] = cast_slice(from);
            let parts = cast_slice_mut::<u8, [u8; N]>(to).chunks_mut(rows.saturating_mul(row)).enumerate();
            parts::for_each(parts, || (), |(), (part, to)| {
                self.load_rows(part * rows..part * rows + to.len() / row, from, to);
                Ok(())
            })
        })
    }

    /// Copies contiguous elements to these offsets, or one element to all of them. Where offsets coincide,
    /// the last element stays.
    pub(super) fn store(&self, item: usize, from: &[u8], to: &mut [u8]) {
        with_item!(item, N => {
            let (from, to): (&[[u8; N]], &mut [[u8; N]]) = (cast_slice(from), cast_slice_mut(to));
            match (from, self.run) {
                ([one], _) => self.each(|offset, _| to[offset] = *one),
                (_, (len, 1)) if len > 1 => self.runs(0..self.rows(), |first, at| {
                    to[first..first + len].copy_from_slice(&from[at..at + len]);
                }),
                _ => self.each(|offset, at| to[offset] = from[at]),
            }
        });
    }
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
        let from: &[[u8; 1]] = cast_slice(&from);
        for (start, end) in [(0, 6), (1, 2), (2, 5), (4, 4)] {
            let mut some = vec![0; 4 * (end - start)];
            offsets.load_rows(start..end, from, cast_slice_mut(&mut some));
            assert_eq!(some, all[4 * start..4 * end]);
        }
        let mut back = vec![0; 60];
        offsets.store(1, &all, &mut back);
        let mut again = vec![0; 24];
        offsets.load(1, &back, &mut again).unwrap();
        assert_eq!(again, all);
    }
}
