//! Owns the sorting of entries, each a key and an index: by a radix sort or comparisons, on one thread, or on
//! several whose runs are merged. It does not know what keys stand for.

use crate::interrupt::{self, STRIDE};
use crate::threads::parts;
use crate::{Error, Result, num_threads};

/// The fewest entries of a thread's share.
pub(super) const SHARE_ENTRIES: usize = 1 << 14;

/// Bits of a digit, and how many digits there are.
const DIGIT_BITS: usize = 8;
const DIGITS: usize = 1 << DIGIT_BITS;

/// Entries from which on a pass for one digit costs less than comparisons.
const FEWEST_ELEMENTS: usize = 256;

/// A key and the index of its element, ordered by one comparison.
pub(super) trait SortEntry: Copy + Ord + Send + Sync + bytemuck::Pod {
    fn new(key: u64, index: usize) -> Self;
    fn key(self) -> u64;
    fn index(self) -> usize;
}

impl SortEntry for u64 {
    #[inline(always)]
    fn new(key: u64, index: usize) -> u64 {
        key << 32 | index as u64
    }
    #[inline(always)]
    fn key(self) -> u64 {
        self >> 32
    }
    #[inline(always)]
    fn index(self) -> usize {
        self as u32 as usize
    }
}

impl SortEntry for u128 {
    #[inline(always)]
    fn new(key: u64, index: usize) -> u128 {
        u128::from(key) << 64 | index as u128
    }
    #[inline(always)]
    fn key(self) -> u64 {
        (self >> 64) as u64
    }
    #[inline(always)]
    fn index(self) -> usize {
        self as u64 as usize
    }
}

/// Sorts entries, which come in the order of their indices, by their keys, equal ones by index; `other` is
/// scratch of the same length.
pub(super) fn sort<E: SortEntry>(entries: &mut [E], other: &mut [E]) -> Result<()> {
    let len = entries.len();
    let parts = num_threads().next_power_of_two().min((len / SHARE_ENTRIES).next_power_of_two());
    if parts < 2 {
        sort_alone(entries, other);
        return Ok(());
    }
    let mut run = len.div_ceil(parts);
    let runs: Vec<_> = entries.chunks_mut(run).zip(other.chunks_mut(run)).collect();
    parts::for_each(
        runs.into_iter(),
        || (),
        |(), (part, other)| {
            sort_alone(part, other);
            Ok::<_, Error>(())
        },
    )?;
    let (mut from, mut to) = (entries, other);
    let mut rounds = 0;
    while run < len {
        merge_runs(from, to, run, len.div_ceil(parts))?;
        (from, to) = (to, from);
        run *= 2;
        rounds += 1;
    }
    if rounds % 2 == 1 {
        to.copy_from_slice(from);
    }
    Ok(())
}

/// The same on one thread: a radix sort by the digits in which keys differ, lowest first, where that is less
/// work than comparisons.
fn sort_alone<E: SortEntry>(entries: &mut [E], other: &mut [E]) {
    let first = entries.first().map_or(0, |entry| entry.key());
    let differing = entries.iter().fold(0, |bits, entry| bits | (entry.key() ^ first));
    let shifts =
        (0..u64::BITS).step_by(DIGIT_BITS).filter(|shift| differing >> shift & (DIGITS as u64 - 1) != 0);
    if entries.len() < FEWEST_ELEMENTS * shifts.clone().count() {
        return entries.sort_unstable();
    }
    let (mut from, mut to) = (entries, other);
    let mut passes = 0;
    for shift in shifts {
        let digit = |entry: &E| (entry.key() >> shift) as usize % DIGITS;
        let mut starts = [0; DIGITS];
        for from in from.chunks(STRIDE) {
            interrupt::check();
            from.iter().for_each(|entry| starts[digit(entry)] += 1);
        }
        let mut next = 0;
        for start in &mut starts {
            (*start, next) = (next, next + *start);
        }
        for from in from.chunks(STRIDE) {
            interrupt::check();
            for entry in from {
                let start = &mut starts[digit(entry)];
                to[*start] = *entry;
                *start += 1;
            }
        }
        (from, to) = (to, from);
        passes += 1;
    }
    if passes % 2 == 1 {
        to.copy_from_slice(from);
    }
}

/// Merges neighbouring sorted runs. Threads take parts of `grain` results, and find where each begins in the
/// runs.
fn merge_runs<E: SortEntry>(from: &[E], to: &mut [E], run: usize, grain: usize) -> Result<()> {
    let parts = to.chunks_mut(grain).enumerate();
    parts::for_each(
        parts,
        || (),
        |(), (part, to)| {
            // A part may span several pairs of runs.
            let (mut start, end) = (part * grain, part * grain + to.len());
            let mut to = to;
            while start < end {
                let pair = start / (2 * run) * 2 * run;
                let stop = (pair + 2 * run).min(from.len());
                let (left, right) = from[pair..stop].split_at(run.min(stop - pair));
                let (own, rest) = to.split_at_mut((stop.min(end) - start).min(to.len()));
                merge(left, right, start - pair, own);
                (start, to) = (start + own.len(), rest);
            }
            Ok(())
        },
    )
}

/// The results of merging two sorted runs, from result `first` on.
fn merge<E: SortEntry>(left: &[E], right: &[E], first: usize, to: &mut [E]) {
    // How many of the results before `first` come from the left: the least number with no smaller entry left
    // over on the right.
    let (mut low, mut high) = (first.saturating_sub(right.len()), first.min(left.len()));
    while low < high {
        let middle = (low + high) / 2;
        if left[middle] < right[first - middle - 1] { low = middle + 1 } else { high = middle }
    }
    let (mut at_left, mut at_right) = (low, first - low);
    for (at, to) in to.iter_mut().enumerate() {
        if at.is_multiple_of(STRIDE) {
            interrupt::check();
        }
        let take_left = match (left.get(at_left), right.get(at_right)) {
            (Some(left), Some(right)) => left < right,
            (left, _) => left.is_some(),
        };
        *to = if take_left { left[at_left] } else { right[at_right] };
        at_left += usize::from(take_left);
        at_right += usize::from(!take_left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many entries, whose keys differ in some of their bits.
    fn entries<E: SortEntry>(len: usize, bits: u64) -> Vec<E> {
        let mut state = 7u64;
        let mut draw = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state ^ state >> 32
        };
        (0..len).map(|at| E::new(draw() & bits, at)).collect()
    }

    #[test]
    fn threads_merge_what_they_have_sorted() {
        for len in [0, 1, 5, 8 * SHARE_ENTRIES - 3, 5 * SHARE_ENTRIES + 1] {
            let entries = entries::<u64>(len, 0x3ff);
            let mut sorted = entries.clone();
            sorted.sort_unstable();
            for threads in [1, 2, 3, 16] {
                let mut own = entries.clone();
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| sort(&mut own, &mut vec![0; len])).unwrap();
                assert_eq!(own, sorted, "{len} entries, {threads} threads");
            }
        }
    }

    #[test]
    fn digits_order_as_comparisons_do() {
        fn check<E: SortEntry + Default + std::fmt::Debug>(bits: u64) {
            for len in [0, 1, FEWEST_ELEMENTS - 1, FEWEST_ELEMENTS, 3 * FEWEST_ELEMENTS, 9 * FEWEST_ELEMENTS]
            {
                let mut own = entries::<E>(len, bits);
                let mut sorted = own.clone();
                sorted.sort_unstable();
                sort_alone(&mut own, &mut vec![E::default(); len]);
                assert_eq!(own, sorted, "{len} entries, bits {bits:x}");
            }
        }
        [0, 1, 0xff, 0xff00, 0xff00_00ff, 0xffff_ffff].into_iter().for_each(check::<u64>);
        [0, 1, 0xff << 56, 0xff00_00ff_0000, u64::MAX].into_iter().for_each(check::<u128>);
    }
}
