//! Owns dot products, and products of a vector by lines along which the depth is contiguous. Partial sums are
//! chains of dependent additions, so a register holds one element each of several partial sums: those of
//! consecutive blocks of two vectors, or of several lines, whose elements are loaded transposed. The order of
//! summation is that of `factor.rs`. It does not know batches.

use std::array::from_fn;

use bytemuck::{cast_slice, cast_slice_mut};

use super::factor::{Accumulator, BLOCK_DEPTH, FactorElement, FactorLines, SumFloat};
use super::matrix::parts;
use super::scratch::ProductScratch;
use crate::isa::{CACHE_LINE_BYTES, RegisterFloat, RegisterTask, prefetch};
use crate::lane::{Element, Register, TRANSPOSED};

/// The most elements of a register.
const MAX_LANES: usize = 16;

/// Bytes of a line from what is read to what is prefetched. At most 16 strips of memory are read at a time,
/// in all registers together: hardware follows as many, not several times as many.
const AHEAD_BYTES: usize = 1 << 10;

/// Scalar partial sums that are extended in turn.
const SCALAR_LINES: usize = 8;

/// Registers of partial sums: one for each part of the left factor and each part of the right one.
type Partials<L> = [[L; 2]; 2];

/// Writes the products of a line by other lines; the depth is contiguous along all of them.
pub(super) fn multiply_lines<F: FactorElement>(
    a: FactorLines<'_>,
    mut b: FactorLines<'_>,
    depth: usize,
    out: &mut [F::Sum],
) {
    // With a negative distance, the last line is the first in memory, and products are reversed.
    let is_reversed = b.apart < 0;
    if is_reversed {
        (b.offset, b.apart) = (b.first(b.count - 1, 0), -b.apart);
    }
    let (one, others, apart) = (&a.elements::<F>()[..depth], b.elements::<F>(), b.apart as usize);
    if b.count < MAX_LANES && depth > BLOCK_DEPTH {
        // Few, but long lines: each has enough blocks to fill a register.
        for (out, line) in out.iter_mut().zip(0..) {
            let line = &others[line * apart..][..depth];
            SumFloat::<F>::run_widest(Dot { a: one, b: line, out, adds: false });
        }
    } else {
        SumFloat::<F>::run_widest(Products { one, others, apart, out });
    }
    if is_reversed {
        out.reverse();
    }
}

/// Writes the products of many short lines, along which the depth is contiguous, by a few columns, if they
/// are such; whether they are.
pub(super) fn multiply_short<F: FactorElement>(
    lines: FactorLines<'_>,
    columns: FactorLines<'_>,
    depth: usize,
    (out, between): (&mut [F::Sum], fn()),
) -> bool {
    let is_short = F::IS_SUM && F::Sum::PARTS == 1 && (1..=TRANSPOSED).contains(&depth);
    let are_lines = lines.step == 1 && lines.apart > 0 && lines.count >= LEAST_SHORT_LINES;
    if !is_short || !are_lines || columns.count > TRANSPOSED {
        return false;
    }
    let elements: &[F::Sum] = cast_slice(columns.bytes);
    let mut few = [[F::Sum::end(F::Sum::START); TRANSPOSED]; TRANSPOSED];
    for (column, few) in few.iter_mut().enumerate().take(columns.count) {
        for (at, own) in few[TRANSPOSED - depth..].iter_mut().enumerate() {
            *own = elements[columns.first(column, at) as usize];
        }
    }
    let (lines, apart, columns) = (lines.elements::<F>(), lines.apart as usize, columns.count);
    SumFloat::<F>::run_widest(ShortLines { lines, apart, few, depth, columns, out, between });
    true
}

/// Short lines from which on registers hold an element of each.
const LEAST_SHORT_LINES: usize = 64;

/// Short lines before the caller is asked whether to go on.
const UNASKED_LINES: usize = 1 << 16;

/// The products of lines of at most as many reals as are transposed by a few columns, which end where theirs
/// do, compiled for each instruction set. Those of a line are next to each other.
struct ShortLines<'a, S> {
    lines: &'a [S],
    apart: usize,
    few: [[S; TRANSPOSED]; TRANSPOSED],
    depth: usize,
    columns: usize,
    out: &'a mut [S],
    between: fn(),
}

impl<S: Accumulator> RegisterTask<S::SumFloat> for ShortLines<'_, S> {
    #[inline(always)]
    fn run<L: Register<Elem = S::SumFloat>>(self) {
        if self.apart == self.depth && self.columns <= 4 {
            match self.depth {
                2 => return self.without_gaps::<2>(),
                3 => return self.without_gaps::<3>(),
                4 => return self.without_gaps::<4>(),
                _ => {}
            }
        }
        let ShortLines { lines, apart, few, depth, columns, out, between } = self;
        let (count, unread) = (out.len() / columns, TRANSPOSED - depth);
        // What is read of a line ends with it and begins before it, where there must be something.
        let before = unread.div_ceil(apart).min(count);
        for (line, out) in out.chunks_exact_mut(columns).enumerate().take(before) {
            let line = &lines[line * apart..][..depth];
            out.iter_mut().zip(&few).for_each(|(out, few)| *out = multiply_block(line, &few[unread..]));
        }
        let last = (count - 1).checked_mul(apart).and_then(|last| last.checked_add(depth));
        assert!(last.is_some_and(|last| last <= lines.len()) && count >= before + L::LEN);
        let (lines, few): (&[L::Elem], &[L::Elem]) = (cast_slice(lines), cast_slice(few.as_flattened()));
        let out: &mut [L::Elem] = cast_slice_mut(out);
        for (turn, first) in (before..count).step_by(L::LEN).enumerate() {
            if turn % (UNASKED_LINES / L::LEN) == 0 {
                between();
            }
            // The last registers overlap those before: they recompute some lines.
            let first = first.min(count - L::LEN);
            let values = L::transposed(|lane| {
                let at = (first + lane) * apart - unread;
                // SAFETY: `first` is at least `before`, so that no line is read from before the first real;
                // the last of all lines ends inside of `lines`, as asserted; an array has the alignment of
                // its elements.
                unsafe { *lines.as_ptr().add(at).cast::<[L::Elem; TRANSPOSED]>() }
            });
            let mut sums = [L::num(0.0); TRANSPOSED];
            for (sum, few) in sums.iter_mut().zip(few.chunks_exact(TRANSPOSED)).take(columns) {
                for at in unread..TRANSPOSED {
                    *sum = values[at].mul_add(L::splat(few[at]), *sum);
                }
            }
            let out = &mut out[first * columns..][..L::LEN * columns];
            if columns == 1 {
                sums[0].store(out);
                continue;
            }
            for (lane, out) in out.chunks_exact_mut(columns).enumerate() {
                out.iter_mut().zip(&sums).for_each(|(out, sum)| *out = sum.element(lane));
            }
        }
    }
}

impl<S: Accumulator> ShortLines<'_, S> {
    /// Lines of `K` elements by at most four columns.
    #[inline(always)]
    fn without_gaps<const K: usize>(self) {
        match self.columns {
            1 => self.by_columns::<K, 1>(),
            2 => self.by_columns::<K, 2>(),
            3 => self.by_columns::<K, 3>(),
            _ => self.by_columns::<K, 4>(),
        }
    }

    /// The compiler vectorises this loop, whose distances are constants.
    #[inline(always)]
    fn by_columns<const K: usize, const COLUMNS: usize>(self) {
        let few: [[S; K]; COLUMNS] = from_fn(|column| from_fn(|at| self.few[column][TRANSPOSED - K..][at]));
        let (lines, out) = (self.lines.as_chunks::<K>().0, self.out.as_chunks_mut::<COLUMNS>().0);
        for (lines, out) in lines.chunks(UNASKED_LINES).zip(out.chunks_mut(UNASKED_LINES)) {
            (self.between)();
            for (line, out) in lines.iter().zip(out) {
                for (column, out) in few.iter().zip(out) {
                    *out = multiply_block(line, column);
                }
            }
        }
    }
}

/// Writes the product of two lines.
pub(super) fn multiply_two<F: FactorElement>(
    a: FactorLines<'_>,
    b: FactorLines<'_>,
    depth: usize,
    out: &mut F::Sum,
    scratch: &mut ProductScratch,
) {
    if F::IS_SUM && a.step == 1 && b.step == 1 {
        let (a, b) = (&a.elements::<F>()[..depth], &b.elements::<F>()[..depth]);
        return SumFloat::<F>::run_widest(Dot { a, b, out, adds: false });
    }
    let most = (MAX_LANES * BLOCK_DEPTH).min(depth);
    let between = scratch.between;
    let [own_a, own_b, _] = scratch.slices::<F::Sum>([most, most, 0]);
    for depth in parts(depth, most) {
        between();
        a.pack::<F>(0..1, depth.clone(), 1, own_a);
        b.pack::<F>(0..1, depth.clone(), 1, own_b);
        let (a, b) = (&own_a[..depth.len()], &own_b[..depth.len()]);
        SumFloat::<F>::run_widest(Dot { a, b, out, adds: depth.start > 0 });
    }
}

/// The dot product of two vectors, which is written or added to `out`, compiled for each instruction set.
struct Dot<'a, S> {
    a: &'a [S],
    b: &'a [S],
    out: &'a mut S,
    adds: bool,
}

impl<S: Accumulator> RegisterTask<S::SumFloat> for Dot<'_, S> {
    #[inline(always)]
    fn run<L: Register<Elem = S::SumFloat>>(self) {
        if L::LEN == MAX_LANES { self.of_registers::<L, 1>() } else { self.of_registers::<L, 2>() }
    }
}

impl<S: Accumulator> Dot<'_, S> {
    /// As many blocks at a time as `N` registers have elements.
    #[inline(always)]
    fn of_registers<L: Register<Elem = S::SumFloat>, const N: usize>(self) {
        let Dot { a, b, out, mut adds } = self;
        let mut add = |sum: S| {
            *out = if adds { *out + sum } else { sum };
            adds = true;
        };
        let (blocks, block, many) = (a.len() / BLOCK_DEPTH, BLOCK_DEPTH * S::PARTS, N * L::LEN);
        // Where there are fewer blocks than elements, the remaining elements repeat the last one.
        let strips = |of, first: usize, count: usize| {
            Strips::new(cast_slice(of), (first * block, block, count), L::LEN * block, many * block)
        };
        let whole = blocks / many * many;
        if whole > 0 {
            let (a, b) = (strips(a, 0, L::LEN), strips(b, 0, L::LEN));
            for at in (0..whole).step_by(many) {
                let chains = multiply::<L, S, N, false>(&a, &b, at * block, block);
                chains.iter().for_each(|chains| add_ends(chains, L::LEN, &mut add));
            }
        }
        let mut done = whole;
        while blocks - done >= 2 {
            let count = (blocks - done).min(L::LEN);
            let (a, b) = (strips(a, done, count), strips(b, done, count));
            let [chains] = multiply::<L, S, 1, false>(&a, &b, 0, block);
            add_ends(&chains, count, &mut add);
            done += count;
        }
        let (a, b) = (&a[done * BLOCK_DEPTH..], &b[done * BLOCK_DEPTH..]);
        for depth in parts(a.len(), BLOCK_DEPTH) {
            add(multiply_block(&a[depth.clone()], &b[depth]));
        }
    }
}

/// Passes the first of a register's partial sums to `add`.
#[inline(always)]
fn add_ends<L: Register<Elem = S::SumFloat>, S: Accumulator>(
    chains: &Partials<L>,
    count: usize,
    add: &mut impl FnMut(S),
) {
    let mut sums = [S::end(S::START); MAX_LANES];
    end(chains, &mut sums[..L::LEN], false);
    sums[..count].iter().for_each(|&sum| add(sum));
}

/// The product of a block of two vectors, with a scalar partial sum.
#[inline(always)]
fn multiply_block<S: Accumulator>(a: &[S], b: &[S]) -> S {
    S::end(a.iter().zip(b).fold(S::START, |chain, (&a, &b)| S::extend(chain, a, b)))
}

/// The products of a line by others, `apart` elements from one to the next, compiled for each instruction
/// set.
pub(super) struct Products<'a, S> {
    pub(super) one: &'a [S],
    pub(super) others: &'a [S],
    pub(super) apart: usize,
    pub(super) out: &'a mut [S],
}

impl<S: Accumulator> RegisterTask<S::SumFloat> for Products<'_, S> {
    #[inline(always)]
    fn run<L: Register<Elem = S::SumFloat>>(self) {
        let (is_short, count) = (self.one.len() * S::PARTS < TRANSPOSED, self.out.len());
        if is_short || count < L::LEN {
            self.of_elements();
        } else if L::LEN == MAX_LANES {
            self.of_registers::<L, 1, 1>();
        } else if count < 2 * L::LEN {
            self.of_registers::<L, 1, 2>();
        } else {
            self.of_registers::<L, 2, 2>();
        }
    }
}

impl<S: Accumulator> Products<'_, S> {
    /// As many lines at a time as `N` registers have elements, of at least so many; `BLOCKS` blocks of one
    /// register's lines at a time, where there are so many.
    #[inline(always)]
    fn of_registers<L: Register<Elem = S::SumFloat>, const N: usize, const BLOCKS: usize>(self) {
        let Products { one, others, apart, out } = self;
        let (one, others): (&[S::SumFloat], &[S::SumFloat]) = (cast_slice(one), cast_slice(others));
        let (count, apart, block) = (out.len(), apart * S::PARTS, BLOCK_DEPTH * S::PARTS);
        let ahead = AHEAD_BYTES / size_of::<S::SumFloat>();
        let whole = one.len() / (BLOCKS * block) * (BLOCKS * block);
        for first in (0..count).step_by(N * L::LEN) {
            // The last registers overlap those before: they recompute some lines.
            let first = first.min(count - N * L::LEN);
            let out = &mut out[first..][..N * L::LEN];
            for (register, out) in out.chunks_exact_mut(L::LEN).enumerate() {
                let lines = ((first + register * L::LEN) * apart, apart, L::LEN);
                let (left, right) =
                    (Strips::new(one, (0, 0, 1), block, ahead), Strips::new(others, lines, block, ahead));
                for at in (0..whole).step_by(BLOCKS * block) {
                    let chains = multiply::<L, S, BLOCKS, true>(&left, &right, at, block);
                    for (number, chains) in chains.iter().enumerate() {
                        end(chains, out, at + number > 0);
                    }
                }
            }
            let lines = (first * apart, apart, L::LEN);
            let (left, right) =
                (Strips::new(one, (0, 0, 1), 0, ahead), Strips::new(others, lines, L::LEN * apart, ahead));
            for depth in parts(one.len() - whole, block) {
                let at = whole + depth.start;
                let chains = multiply::<L, S, N, true>(&left, &right, at, depth.len());
                for (chains, out) in chains.iter().zip(out.chunks_exact_mut(L::LEN)) {
                    end(chains, out, at > 0);
                }
            }
        }
    }

    /// Lines of at most one block, with scalar partial sums.
    #[inline(always)]
    fn of_elements(self) {
        let Products { one, others, apart, out } = self;
        let line = |at: usize| &others[at * apart..][..one.len()];
        let (groups, rest) = out.as_chunks_mut::<SCALAR_LINES>();
        let grouped = groups.len() * SCALAR_LINES;
        for (group, out) in groups.iter_mut().enumerate() {
            let mut lines = [one; SCALAR_LINES];
            for (own, at) in lines.iter_mut().zip(group * SCALAR_LINES..) {
                *own = line(at);
            }
            let mut chains = [S::START; SCALAR_LINES];
            for (at, &one) in one.iter().enumerate() {
                for (chain, line) in chains.iter_mut().zip(&lines) {
                    *chain = S::extend(*chain, one, line[at]);
                }
            }
            *out = chains.map(S::end);
        }
        for (out, at) in rest.iter_mut().zip(grouped..) {
            *out = multiply_block(one, line(at));
        }
    }
}

/// The reals along the depth that the partial sums of some registers read: a strip for each element of a
/// register.
struct Strips<'a, E> {
    reals: &'a [E],
    /// The first real of each strip of the first register.
    starts: [usize; MAX_LANES],
    /// Reals that each of these strips has, at least: no start is larger than the length of `reals` less
    /// this.
    len: usize,
    /// Reals from a strip of one register to that of the next.
    apart: usize,
    /// Reals of a strip from what is read to what is prefetched.
    ahead: usize,
}

impl<'a, E: Element> Strips<'a, E> {
    /// `count` strips, of which the first and the distance to the next are given; the remaining elements of a
    /// register repeat the last strip.
    ///
    /// # Panics
    /// If a strip does not begin in `reals`.
    #[inline(always)]
    fn new(
        reals: &'a [E],
        (first, distance, count): (usize, usize, usize),
        apart: usize,
        ahead: usize,
    ) -> Strips<'a, E> {
        let last = (count - 1).checked_mul(distance).and_then(|last| last.checked_add(first));
        let len = last.and_then(|last| reals.len().checked_sub(last)).expect("the strips are in their slice");
        let starts = from_fn(|lane| first + lane.min(count - 1) * distance);
        Strips { reals, starts, len, apart, ahead }
    }

    /// Whether the strips of `N` registers have `len` reals from `at` on, and no fewer come before their end
    /// than are transposed.
    #[inline(always)]
    fn have<const N: usize>(&self, at: usize, len: usize) -> bool {
        let beyond =
            self.apart.checked_mul(N - 1).and_then(|beyond| beyond.checked_add(at)?.checked_add(len));
        beyond.is_some_and(|end| end <= self.len) && at + len >= TRANSPOSED
    }

    /// Where a register's strip is read, `at` reals after its start.
    #[inline(always)]
    fn address(&self, register: usize, lane: usize, at: usize) -> *const E {
        self.reals.as_ptr().wrapping_add(self.starts[lane] + at).wrapping_add(register * self.apart)
    }

    /// The next reals of each strip of a register from `at` on, transposed. With `ONE`, those of its first
    /// strip, broadcast.
    ///
    /// # Safety
    /// As many reals follow `at` in every strip of the register, within `reals`.
    #[inline(always)]
    unsafe fn load<L: Register<Elem = E>, const ONE: bool>(
        &self,
        register: usize,
        at: usize,
    ) -> [L; TRANSPOSED] {
        let load = |lane: usize| {
            let at = self.address(register, lane, at).cast::<[E; TRANSPOSED]>();
            // SAFETY: the caller promises that they are in `reals`, and an array has the alignment of its
            // elements.
            unsafe { *at }
        };
        if ONE { load(0).map(L::splat) } else { L::transposed(load) }
    }

    /// Prefetches a line of each strip of a register, at every line of the cache.
    #[inline(always)]
    fn prefetch<L: Register<Elem = E>>(&self, register: usize, at: usize) {
        if (at * size_of::<E>()).is_multiple_of(CACHE_LINE_BYTES) {
            for lane in 0..L::LEN {
                prefetch::<1>(self.address(register, lane, at).wrapping_add(self.ahead).cast());
            }
        }
    }
}

/// The partial sums of `N` registers over `len` reals of their strips from `at` on. With `ONE`, all of a
/// register read one strip of the left factor.
#[inline(always)]
fn multiply<L: Register<Elem = S::SumFloat>, S: Accumulator, const N: usize, const ONE: bool>(
    a: &Strips<'_, S::SumFloat>,
    b: &Strips<'_, S::SumFloat>,
    at: usize,
    len: usize,
) -> [Partials<L>; N] {
    assert!(a.have::<N>(at, len) && b.have::<N>(at, len), "the strips are long enough");
    let mut chains = [[[L::num(0.0); 2]; 2]; N];
    let (end, rest) = (at + len, len % TRANSPOSED);
    for at in (at..end - rest).step_by(TRANSPOSED) {
        for (register, chains) in chains.iter_mut().enumerate() {
            b.prefetch::<L>(register, at);
            if !ONE {
                a.prefetch::<L>(register, at);
            }
            // SAFETY: as asserted, every strip has the reals up to `end`, and as many as are read come
            // before.
            let (a, b) = unsafe { (a.load::<L, ONE>(register, at), b.load::<L, false>(register, at)) };
            extend::<L, S>(chains, a, b, 0);
        }
    }
    if rest > 0 {
        for (register, chains) in chains.iter_mut().enumerate() {
            // The last load overlaps the one before: the reals that it has in common are skipped.
            let last = end - TRANSPOSED;
            // SAFETY: as asserted, every strip has the reals up to `end`, and as many as are read come
            // before.
            let (a, b) = unsafe { (a.load::<L, ONE>(register, last), b.load::<L, false>(register, last)) };
            extend::<L, S>(chains, a, b, TRANSPOSED - rest);
        }
    }
    chains
}

/// Adds the products of some reals of both factors to partial sums, except those of the first `skipped`.
#[inline(always)]
fn extend<L: Register, S: Accumulator>(
    chains: &mut Partials<L>,
    a: [L; TRANSPOSED],
    b: [L; TRANSPOSED],
    skipped: usize,
) {
    for first in (0..TRANSPOSED).step_by(S::PARTS) {
        if first >= skipped {
            for left in 0..S::PARTS {
                for right in 0..S::PARTS {
                    let chain = &mut chains[left][right];
                    *chain = a[first + left].mul_add(b[first + right], *chain);
                }
            }
        }
    }
}

/// Writes partial sums to `out`, or adds them to it.
#[inline(always)]
fn end<L: Register<Elem = S::SumFloat>, S: Accumulator>(chains: &Partials<L>, out: &mut [S], adds: bool) {
    let width = L::LEN * S::PARTS;
    let mut sums = [S::SumFloat::from_f64(0.0); 4 * MAX_LANES];
    for left in 0..S::PARTS {
        for right in 0..S::PARTS {
            for lane in 0..L::LEN {
                sums[left * width + lane * S::PARTS + right] = chains[left][right].element(lane);
            }
        }
    }
    S::merge(&sums[..width * S::PARTS], width, out, adds);
}
