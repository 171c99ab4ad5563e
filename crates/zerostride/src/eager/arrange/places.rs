//! Owns the loop over the elements of a tensor that are picked along some of its dimensions, and the copying
//! of them. It does not know how they were picked (`picks.rs`).

use std::ops::Range;

use bytemuck::{cast_slice, cast_slice_mut};
use smallvec::SmallVec;
use zerostride_shape::coalesce;

use crate::Result;
use crate::interrupt::{self, STRIDE};
use crate::threads::crew;

/// Elements that a thread copies at least.
const GRAIN_ELEMENTS: usize = 1 << 15;

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

/// The steps of a loop over some dimensions of a tensor, in row-major order.
#[derive(Debug)]
pub(super) struct Walk {
    shape: SmallVec<[usize; 6]>,
    strides: SmallVec<[isize; 6]>,
}

impl Walk {
    pub(super) fn new(shape: &[usize], strides: &[isize]) -> Walk {
        let (shape, strides) = coalesce(shape, &[strides]);
        Walk { shape: SmallVec::from_slice(&shape), strides: SmallVec::from_slice(&strides[0]) }
    }

    pub(super) fn numel(&self) -> usize {
        self.shape.iter().product()
    }

    /// Takes the innermost dimension out of the loop: its size and stride.
    pub(super) fn pop(&mut self) -> (usize, isize) {
        (self.shape.pop().unwrap_or(1), self.strides.pop().unwrap_or(1))
    }

    /// The offsets from step `start` on.
    pub(super) fn from(&self, start: usize) -> Steps<'_> {
        let mut index: SmallVec<[usize; 6]> = SmallVec::from_elem(0, self.shape.len());
        let mut rest = start;
        for (index, &size) in index.iter_mut().zip(&self.shape).rev() {
            (*index, rest) = (rest % size.max(1), rest / size.max(1));
        }
        let offset = index.iter().zip(&self.strides).map(|(&index, &stride)| index as isize * stride).sum();
        Steps { walk: self, index, offset, left: self.numel().saturating_sub(start) }
    }
}

/// The offsets of a [`Walk`].
pub(super) struct Steps<'a> {
    walk: &'a Walk,
    index: SmallVec<[usize; 6]>,
    offset: isize,
    left: usize,
}

impl Iterator for Steps<'_> {
    type Item = isize;

    #[inline(always)]
    fn next(&mut self) -> Option<isize> {
        self.left = self.left.checked_sub(1)?;
        let here = self.offset;
        for (dim, index) in self.index.iter_mut().enumerate().rev() {
            *index += 1;
            self.offset += self.walk.strides[dim];
            if *index < self.walk.shape[dim] {
                break;
            }
            self.offset -= self.walk.shape[dim] as isize * self.walk.strides[dim];
            *index = 0;
        }
        Some(here)
    }
}

/// Places of elements: for every step outside one for each pick, and for each of those one for every step
/// inside.
#[derive(Debug)]
pub(super) struct Places {
    /// The first element's offset in the bytes that the tensor reaches, in elements.
    start: isize,
    outer: Walk,
    picks: Vec<isize>,
    inner: Walk,
    /// The innermost dimension: its size and stride.
    run: (usize, isize),
}

impl Places {
    pub(super) fn new(start: isize, outer: Walk, picks: Vec<isize>, mut inner: Walk) -> Places {
        let run = inner.pop();
        Places { start, outer, picks, inner, run }
    }

    /// Elements for each pick of each step outside.
    fn row(&self) -> usize {
        self.inner.numel() * self.run.0
    }

    fn rows(&self) -> usize {
        self.outer.numel() * self.picks.len()
    }

    /// Calls `run` with the first place of each run of some rows, and with the number of elements before it.
    #[inline(always)]
    fn runs(&self, rows: Range<usize>, mut run: impl FnMut(usize, usize)) {
        if rows.is_empty() || self.row() == 0 {
            return;
        }
        let (mut at, mut left) = (0, rows.len());
        let mut first = rows.start % self.picks.len();
        for outer in self.outer.from(rows.start / self.picks.len()) {
            let picks = &self.picks[first..self.picks.len().min(first + left)];
            for picks in picks.chunks(STRIDE) {
                interrupt::check();
                for pick in picks {
                    let base = self.start + outer + pick;
                    if self.inner.shape.is_empty() {
                        run(base as usize, at);
                        at += self.run.0;
                    } else {
                        for inner in self.inner.from(0) {
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

    /// Calls `visit` with each place and the number of elements before it.
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

    /// Copies the elements at these places to `to`, one after the other.
    pub(super) fn load(&self, item: usize, from: &[u8], to: &mut [u8]) -> Result<()> {
        let row = self.row();
        if row == 0 {
            return Ok(());
        }
        let rows = GRAIN_ELEMENTS.div_ceil(row).max(self.rows().div_ceil(256));
        with_item!(item, N => {
            let from: &[[u8; N]] = cast_slice(from);
            let parts = cast_slice_mut::<u8, [u8; N]>(to).chunks_mut(rows.saturating_mul(row)).enumerate();
            crew::for_each(parts, || (), |(), (part, to)| {
                self.load_rows(part * rows..part * rows + to.len() / row, from, to);
                Ok(())
            })
        })
    }

    /// Copies elements that stand one after the other to these places, or one element to all of them. Where
    /// places coincide, the last element stays.
    pub(super) fn store(&self, item: usize, from: &[u8], to: &mut [u8]) {
        with_item!(item, N => {
            let (from, to): (&[[u8; N]], &mut [[u8; N]]) = (cast_slice(from), cast_slice_mut(to));
            match (from, self.run) {
                ([one], _) => self.each(|place, _| to[place] = *one),
                (_, (len, 1)) if len > 1 => self.runs(0..self.rows(), |first, at| {
                    to[first..first + len].copy_from_slice(&from[at..at + len]);
                }),
                _ => self.each(|place, at| to[place] = from[at]),
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_begins_anywhere() {
        let walk = Walk::new(&[2, 3, 2], &[100, 10, -1]);
        let all: Vec<isize> = (0..2)
            .flat_map(|a| (0..3).flat_map(move |b| (0..2).map(move |c| 100 * a + 10 * b - c)))
            .collect();
        for start in 0..=12 {
            assert_eq!(walk.from(start).collect::<Vec<_>>(), all[start..]);
        }
        assert_eq!(Walk::new(&[2, 0], &[1, 1]).from(0).count(), 0);
        assert_eq!(Walk::new(&[], &[]).from(0).collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn any_rows_are_copied_alike() {
        let places = Places::new(1, Walk::new(&[2], &[20]), vec![6, 0, 3], Walk::new(&[2, 2], &[9, 2]));
        let from: Vec<u8> = (0..60).collect();
        let mut all = vec![0; 24];
        places.load(1, &from, &mut all).unwrap();
        assert_eq!(all[..8], [7, 9, 16, 18, 1, 3, 10, 12]);
        let from: &[[u8; 1]] = cast_slice(&from);
        for (start, end) in [(0, 6), (1, 2), (2, 5), (4, 4)] {
            let mut some = vec![0; 4 * (end - start)];
            places.load_rows(start..end, from, cast_slice_mut(&mut some));
            assert_eq!(some, all[4 * start..4 * end]);
        }
        let mut back = vec![0; 60];
        places.store(1, &all, &mut back);
        let mut again = vec![0; 24];
        places.load(1, &back, &mut again).unwrap();
        assert_eq!(again, all);
    }
}
