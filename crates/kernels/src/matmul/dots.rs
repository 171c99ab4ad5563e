//! Owns dot products, and products of a vector by lines along which the depth is contiguous. Partial sums are
//! chains of dependent additions, so a register holds one element each of several partial sums: those of
//! consecutive blocks of two vectors, or of several lines, whose elements are loaded transposed. The order of
//! summation is that of `factor.rs`. It does not know batches.

use bytemuck::cast_slice;

use super::factor::{Accumulator, BLOCK_DEPTH, FactorElement, FactorLines, SumFloat};
use super::matrix::parts;
use super::scratch::ProductScratch;
use crate::isa::{RegisterFloat, RegisterTask};
use crate::lane::{Element, Register};

/// The most elements of a register.
const MAX_LANES: usize = 16;

/// Registers of partial sums that are extended in turn, to hide the latency of additions: those of different
/// blocks of two vectors, or of different lines.
const PARTIAL_REGISTERS: usize = 2;

/// Blocks of the same lines that are taken in turn. More lines at once would alias in L1 where they are a
/// power of two apart.
const SHARED_BLOCKS: usize = 4;

/// Multiplications for each line up to which scalar partial sums are as fast as registers, which have a
/// setup.
const SCALAR_PRODUCTS: usize = 64;

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
    let most = (PARTIAL_REGISTERS * MAX_LANES * BLOCK_DEPTH).min(depth);
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
        let Dot { mut a, mut b, out, mut adds } = self;
        let mut add = |sum: S| {
            *out = if adds { *out + sum } else { sum };
            adds = true;
        };
        let many = PARTIAL_REGISTERS * L::LEN * BLOCK_DEPTH;
        while a.len() >= many {
            multiply_blocks::<L, S, PARTIAL_REGISTERS>(&a[..many], &b[..many], &mut add);
            (a, b) = (&a[many..], &b[many..]);
        }
        while a.len() >= 2 * BLOCK_DEPTH {
            let len = (a.len() / BLOCK_DEPTH).min(L::LEN) * BLOCK_DEPTH;
            multiply_blocks::<L, S, 1>(&a[..len], &b[..len], &mut add);
            (a, b) = (&a[len..], &b[len..]);
        }
        for depth in parts(a.len(), BLOCK_DEPTH) {
            add(multiply_block(&a[depth.clone()], &b[depth]));
        }
    }
}

/// Passes the products of the blocks of two vectors to `add`. There are at most as many blocks as `N`
/// registers have elements.
#[inline(always)]
fn multiply_blocks<L: Register<Elem = S::SumFloat>, S: Accumulator, const N: usize>(
    a: &[S],
    b: &[S],
    add: &mut impl FnMut(S),
) {
    let (count, block) = (a.len() / BLOCK_DEPTH, BLOCK_DEPTH * S::PARTS);
    // Where there are fewer blocks, the remaining elements repeat the last one.
    let starts = starts(0, block, count);
    let strips = |reals| Strips { reals, starts, apart: L::LEN * block };
    let chains = multiply::<L, S, N, false>(strips(cast_slice(a)), strips(cast_slice(b)), block);
    let mut sums = [S::end(S::START); MAX_LANES];
    for (register, chains) in chains.iter().enumerate() {
        end(chains, &mut sums[..L::LEN], false);
        sums[..L::LEN].iter().take(count - register * L::LEN).for_each(|&sum| add(sum));
    }
}

/// The product of a block of two vectors, with a scalar partial sum.
#[inline(always)]
fn multiply_block<S: Accumulator>(a: &[S], b: &[S]) -> S {
    S::end(a.iter().zip(b).fold(S::START, |chain, (&a, &b)| S::extend(chain, a, b)))
}

/// The products of a line by others, `apart` elements from one to the next, compiled for each instruction
/// set.
struct Products<'a, S> {
    one: &'a [S],
    others: &'a [S],
    apart: usize,
    out: &'a mut [S],
}

impl<S: Accumulator> RegisterTask<S::SumFloat> for Products<'_, S> {
    #[inline(always)]
    fn run<L: Register<Elem = S::SumFloat>>(self) {
        let is_short = self.one.len() * S::PARTS * S::PARTS <= SCALAR_PRODUCTS;
        if !is_short && self.out.len() >= PARTIAL_REGISTERS * L::LEN {
            self.of_registers::<L, PARTIAL_REGISTERS>();
        } else if !is_short && self.out.len() >= L::LEN {
            self.of_registers::<L, 1>();
        } else {
            self.of_elements();
        }
    }
}

impl<S: Accumulator> Products<'_, S> {
    /// As many lines at a time as `N` registers have elements, of at least so many.
    #[inline(always)]
    fn of_registers<L: Register<Elem = S::SumFloat>, const N: usize>(self) {
        let Products { one, others, apart, out } = self;
        let (one, others): (&[S::SumFloat], &[S::SumFloat]) = (cast_slice(one), cast_slice(others));
        let (count, apart, block) = (out.len(), apart * S::PARTS, BLOCK_DEPTH * S::PARTS);
        let whole = one.len() / (SHARED_BLOCKS * block) * (SHARED_BLOCKS * block);
        for first in (0..count).step_by(N * L::LEN) {
            // The last registers overlap those before: they recompute some lines.
            let first = first.min(count - N * L::LEN);
            let out = &mut out[first..][..N * L::LEN];
            for (register, out) in out.chunks_exact_mut(L::LEN).enumerate() {
                let line = (first + register * L::LEN) * apart;
                for at in (0..whole).step_by(SHARED_BLOCKS * block) {
                    let left = Strips { reals: one, starts: [at; MAX_LANES], apart: block };
                    let right =
                        Strips { reals: others, starts: starts(line + at, apart, L::LEN), apart: block };
                    let chains = multiply::<L, S, SHARED_BLOCKS, true>(left, right, block);
                    for (number, chains) in chains.iter().enumerate() {
                        end(chains, out, at + number > 0);
                    }
                }
            }
            for depth in parts(one.len() - whole, block) {
                let at = whole + depth.start;
                let left = Strips { reals: one, starts: [at; MAX_LANES], apart: 0 };
                let starts = starts(first * apart + at, apart, L::LEN);
                let right = Strips { reals: others, starts, apart: L::LEN * apart };
                let chains = multiply::<L, S, N, true>(left, right, depth.len());
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
#[derive(Clone, Copy)]
struct Strips<'a, E> {
    reals: &'a [E],
    /// The first real of each strip of the first register.
    starts: [usize; MAX_LANES],
    /// Reals from a strip of one register to that of the next.
    apart: usize,
}

/// The first reals of `count` strips, `apart` reals from one to the next; the remaining elements repeat the
/// last strip.
#[inline(always)]
fn starts(first: usize, apart: usize, count: usize) -> [usize; MAX_LANES] {
    let mut starts = [first; MAX_LANES];
    for (lane, start) in starts.iter_mut().enumerate() {
        *start += lane.min(count - 1) * apart;
    }
    starts
}

impl<E: Element> Strips<'_, E> {
    /// Whether every strip of `N` registers has `len` reals, and at least four reals come before its end.
    #[inline(always)]
    fn have<L: Register<Elem = E>, const N: usize>(&self, len: usize) -> bool {
        let beyond = self.apart.checked_mul(N - 1).and_then(|apart| apart.checked_add(len));
        let (Some(beyond), true) = (beyond, len <= self.reals.len()) else {
            return false;
        };
        let mut have = true;
        for &start in &self.starts[..L::LEN] {
            have &= start.checked_add(beyond).is_some_and(|end| end <= self.reals.len()) && start + len >= 4;
        }
        have
    }

    /// Four reals of each strip of a register from `at` on, transposed. With `ONE`, those of its first strip,
    /// broadcast.
    ///
    /// # Safety
    /// Four reals follow `at` in every strip of the register, within `reals`.
    #[inline(always)]
    unsafe fn four<L: Register<Elem = E>, const ONE: bool>(&self, register: usize, at: usize) -> [L; 4] {
        let four = |lane: usize| {
            let first = self.reals.as_ptr().wrapping_add(self.starts[lane]);
            // SAFETY: the caller promises that the four are in `reals`, and an array has the alignment of its
            // elements.
            unsafe { *first.wrapping_add(register * self.apart).wrapping_add(at).cast::<[E; 4]>() }
        };
        if ONE { four(0).map(L::splat) } else { L::transposed(four) }
    }
}

/// The partial sums of `N` registers over `len` reals of their strips. With `ONE`, all of a register read one
/// strip of the left factor.
#[inline(always)]
fn multiply<L: Register<Elem = S::SumFloat>, S: Accumulator, const N: usize, const ONE: bool>(
    a: Strips<'_, S::SumFloat>,
    b: Strips<'_, S::SumFloat>,
    len: usize,
) -> [Partials<L>; N] {
    assert!(a.have::<L, N>(len) && b.have::<L, N>(len), "the strips are in their slices");
    let mut chains = [[[L::num(0.0); 2]; 2]; N];
    let rest = len % 4;
    for at in (0..len - rest).step_by(4) {
        for (register, chains) in chains.iter_mut().enumerate() {
            // SAFETY: every strip has `len` reals, as asserted, and `at + 4` is at most `len`.
            let (a, b) = unsafe { (a.four::<L, ONE>(register, at), b.four::<L, false>(register, at)) };
            extend::<L, S>(chains, a, b, 0);
        }
    }
    if rest > 0 {
        for (register, chains) in chains.iter_mut().enumerate() {
            // The last load overlaps the one before: the reals that it has in common are skipped.
            let last = len.wrapping_sub(4);
            // SAFETY: at least four reals come before the end of every strip, as asserted.
            let (a, b) = unsafe { (a.four::<L, ONE>(register, last), b.four::<L, false>(register, last)) };
            extend::<L, S>(chains, a, b, 4 - rest);
        }
    }
    chains
}

/// Adds the products of four reals of both factors to partial sums, except those of the first `skipped`.
#[inline(always)]
fn extend<L: Register, S: Accumulator>(chains: &mut Partials<L>, a: [L; 4], b: [L; 4], skipped: usize) {
    for first in (0..4).step_by(S::PARTS) {
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
