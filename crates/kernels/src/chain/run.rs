//! Owns how code gets addresses: those of a chain's words, row after row, the elements that do not fill a
//! run, and the alignment of non-temporal stores. It does not know what the code does.

use std::ops::Range;

use smallvec::SmallVec;

use super::code::{HALF_REGISTERS, PreparedSplat, REGISTER_BYTES, RUN_REGISTERS, RunSpan, Word};
use super::{Chain, ChainOperand, CodeWord, Slot, Stores, WordOperand};
use crate::tuning::Tuning;

/// Memory of one run.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct RunBuffer([u8; RUN_REGISTERS * REGISTER_BYTES]);

impl RunBuffer {
    const EMPTY: RunBuffer = RunBuffer([0; RUN_REGISTERS * REGISTER_BYTES]);
}

impl Chain {
    /// Runs the chain on some rows of `len` elements. Nothing outside the operands is read, nothing outside
    /// the result written.
    ///
    /// Non-temporal stores are used where a row of the result is aligned to its elements, at least a run
    /// long, and not an operand.
    ///
    /// # Panics
    /// If a feed's slot is not among `slots`.
    ///
    /// # Safety
    /// Every slot of a [`ChainOperand`] and `out` have that many rows. A row of a [`ChainOperand::Vector`] is
    /// readable for `len` elements of its dtype. A row of a [`ChainOperand::Stepped`] is so at its distance,
    /// with the bytes between its elements, which are part of the row. A row of a [`ChainOperand::Splat`] has
    /// one element. A row of `out` is writable for `len` elements. No alignment is required. `out` overlaps
    /// no slot, and its rows do not overlap each other. Except: `out` may be exactly the rows of an operand
    /// whose elements are as large as those of the result, if the operand is a vector or rows have one
    /// element.
    pub unsafe fn run(&self, rows: usize, len: usize, slots: &[Slot], out: Slot, stores: Stores) {
        debug_assert!(
            self.are_apart(rows, len, slots, out),
            "{rows} rows of {len} elements would overwrite what is still to be read: {slots:?}, {out:?}"
        );
        let Chain { register, streaming, ref code, .. } = *self;
        let is_out = |part: &CodeWord| match part.place {
            WordOperand::Memory(ChainOperand::Vector(slot), _) => slots[slot].first == out.first,
            _ => false,
        };
        let in_place = code.iter().any(is_out);
        let streams = stores == Stores::Streaming && !in_place;
        if streams && rows > 1 && !out.step.unsigned_abs().is_multiple_of(register) {
            // Each row starts at another distance from an aligned address.
            for row in 0..rows as isize {
                let slots: SmallVec<[Slot; 8]> = slots.iter().map(|slot| slot.from(row)).collect();
                // SAFETY: as the caller says.
                unsafe { self.run(1, len, &slots, out.from(row), stores) };
            }
            return;
        }
        // Filled in place: moving the buffers takes longer than writing a few words.
        let mut threaded = Threaded {
            chain: self,
            words: SmallVec::new(),
            splats: SmallVec::new(),
            stages: SmallVec::new(),
        };
        let run = self.run_len();
        let is_half = (self.least_len()..run).contains(&len);
        let pairs = if is_half && 2 * len == run { rows / 2 } else { 0 };
        threaded.fill(if pairs > 0 { 2 } else { 1 }, stores);
        for (word, part) in threaded.words.iter_mut().zip(code) {
            if let WordOperand::Memory(ChainOperand::Vector(slot), _) = part.place {
                word.prefetch_bytes =
                    Some(slots[slot].prefetch_bytes).filter(|&prefetch_bytes| prefetch_bytes != 0);
            }
        }
        if let (Some(fetching), Some(_)) = (self.fetching, threaded.words[0].prefetch_bytes) {
            threaded.words[0].code = fetching;
        }
        let head = if streams { self.unaligned(len, out.first) } else { None };
        if head.is_some() {
            threaded.words[code.len() - 1].code = streaming;
        }
        let enter = self.single.filter(|_| head.is_none()).unwrap_or(self.enter);
        if is_half {
            let left = (2 * pairs, rows - 2 * pairs, HalfUse::Ends(len - run / 2));
            for (first, rows, halves) in [(0, pairs, HalfUse::Rows), left] {
                if rows > 0 {
                    let splats = threaded.aim(slots, out, first as isize, halves);
                    let span = RunSpan { rows, from: 0, to: 1, by: 1, last: None };
                    // SAFETY: the words are this chain's and point at rows of at least half a run. All of a
                    // row is read before any of it is written.
                    unsafe { enter(&mut threaded.words, splats, &span) };
                }
            }
            return;
        }
        let from = head.unwrap_or(0);
        // A run is a power of two, which the compiler does not know; a division takes as long as several
        // runs.
        let to = from + ((len - from) & !(run - 1));
        // The tail is one overlapping run: it recomputes a few elements, which is wrong in place. With
        // non-temporal stores it would fetch the lines that have just been written around the cache.
        let again = to < len && len >= run && !in_place && head.is_none();
        if from < to {
            let last = again.then(|| len - run);
            let splats = threaded.aim(slots, out, 0, HalfUse::Neighbours);
            // SAFETY: the words are this chain's and point at rows of that many elements.
            unsafe { enter(&mut threaded.words, splats, &RunSpan { rows, from, to, by: run, last }) };
        }
        for row in 0..rows as isize {
            // SAFETY: as the caller says; the row has these elements, fewer than a run.
            unsafe {
                if from > 0 {
                    threaded.run_apart(slots, out, row, 0..from);
                }
                if to < len && !again {
                    threaded.run_apart(slots, out, row, to..len);
                }
            }
        }
    }

    /// The elements before the first address that is aligned to registers, if a run fits after them.
    fn unaligned(&self, len: usize, out: *mut u8) -> Option<usize> {
        let size = self.stored;
        let head = out.align_offset(self.register);
        (head.is_multiple_of(size) && head / size + self.run_len() <= len).then(|| head / size)
    }

    /// Whether the addresses keep to the contract of [`run`](Chain::run) on overlap.
    fn are_apart(&self, rows: usize, len: usize, slots: &[Slot], out: Slot) -> bool {
        let width = len * self.stored;
        let is_apart = |part: &CodeWord| {
            let (slot, bytes, is_out) = match part.place {
                WordOperand::Memory(ChainOperand::Vector(slot), size) => {
                    (slots[slot], len * size, size == self.stored)
                }
                WordOperand::Memory(ChainOperand::Stepped(slot, step), size) => {
                    let reach = (len as isize - 1) * step * size as isize;
                    let first = slots[slot].first.wrapping_offset(reach.min(0));
                    (Slot { first, ..slots[slot] }, reach.unsigned_abs() + size, false)
                }
                WordOperand::Memory(ChainOperand::Splat(slot), size)
                | WordOperand::Prepared(slot, size, _) => {
                    (slots[slot], size, len == 1 && size == self.stored)
                }
                WordOperand::Registers | WordOperand::Stage(_) | WordOperand::Out => return true,
            };
            let is_out = is_out && slot.first == out.first && (rows == 1 || slot.step == out.step);
            let row = |slot: Slot, row: usize, bytes: usize| reach(slot.from(row as isize), 1, bytes);
            is_out
                || is_disjoint(&reach(slot, rows, bytes), &reach(out, rows, width))
                || (0..rows)
                    .all(|at| (0..rows).all(|to| is_disjoint(&row(slot, at, bytes), &row(out, to, width))))
        };
        rows == 0
            || len == 0
            || (rows == 1 || out.step.unsigned_abs() >= width) && self.code.iter().all(is_apart)
    }
}

/// The addresses from the first byte of some rows, at least one, to the end of the last, the gaps included.
fn reach(slot: Slot, rows: usize, bytes: usize) -> Range<i128> {
    let (first, end) = (slot.first.addr() as i128, slot.step as i128 * (rows as i128 - 1));
    first + end.min(0)..first + end.max(0) + bytes as i128
}

fn is_disjoint(one: &Range<i128>, other: &Range<i128>) -> bool {
    one.end <= other.start || other.end <= one.start
}

/// What the two halves of the eight registers hold.
#[derive(Clone, Copy)]
enum HalfUse {
    /// Consecutive elements of a row.
    Neighbours,
    /// The first and the last elements of a row, which are so many elements apart; both halves hold those in
    /// the middle.
    Ends(usize),
    /// A row each.
    Rows,
}

/// Threaded code with addresses, and buffers for operands that are not read in place.
struct Threaded<'a> {
    chain: &'a Chain,
    words: SmallVec<[Word; 32]>,
    splats: SmallVec<[PreparedSplat; 4]>,
    stages: SmallVec<[RunBuffer; 1]>,
}

impl Threaded<'_> {
    /// Makes the words without addresses, and buffers for that many rows at a time.
    fn fill(&mut self, together: usize, stores: Stores) {
        let Threaded { chain, words, splats, stages } = self;
        for part in &chain.code {
            let (mask, step) = match part.place {
                WordOperand::Registers | WordOperand::Memory(ChainOperand::Splat(_), _) => (0, 0),
                WordOperand::Memory(ChainOperand::Vector(_), size) => {
                    (usize::MAX, (chain.lanes * size) as isize)
                }
                WordOperand::Memory(ChainOperand::Stepped(_, step), size) => {
                    (usize::MAX, (chain.lanes * size) as isize * step)
                }
                WordOperand::Prepared(_, size, prepare) => {
                    (0..together).for_each(|_| splats.push(PreparedSplat::new(size, prepare)));
                    (0, 0)
                }
                WordOperand::Stage(index) => {
                    stages.resize(stages.len().max(index + 1), RunBuffer::EMPTY);
                    (0, chain.register as isize)
                }
                WordOperand::Out => (usize::MAX, (chain.lanes * chain.stored) as isize),
            };
            let address = std::ptr::null_mut();
            let far = HALF_REGISTERS as isize * step;
            let prefetch_bytes = match (part.place, stores) {
                (WordOperand::Out, _) if Tuning::active().prefetch_stores_ahead => {
                    Some(RUN_REGISTERS as isize * step)
                }
                (WordOperand::Out, Stores::Far) => Some(0),
                _ => None,
            };
            words.push(Word { code: part.code, address, mask, step, far, row: 0, prefetch_bytes });
        }
    }

    /// Points the words at the operands and the result from a row on. Returns the splats as a pointer:
    /// another borrow of them would end the words' right to read there.
    fn aim(&mut self, slots: &[Slot], out: Slot, row: isize, halves: HalfUse) -> *mut [PreparedSplat] {
        let slot = |slot: usize| slots[slot].from(row);
        let together = if matches!(halves, HalfUse::Rows) { 2 } else { 1 };
        let (splats, stages) = (self.splats.as_mut_ptr(), self.stages.as_mut_ptr());
        let mut used = 0;
        for (word, part) in self.words.iter_mut().zip(&self.chain.code) {
            // The first row, and bytes from an element to the next.
            let (own, distance) = match part.place {
                WordOperand::Registers => continue,
                WordOperand::Stage(index) => {
                    word.address = stages.wrapping_add(index).cast();
                    continue;
                }
                WordOperand::Prepared(index, ..) => {
                    let own = splats.wrapping_add(used);
                    used += together;
                    for half in 0..together {
                        let Slot { first, step, .. } = slot(index).from(half as isize);
                        // SAFETY: it is one of the splats, which are borrowed mutably; there are `together`
                        // of them for each prepared feed.
                        unsafe {
                            (*own.add(half)).from =
                                Slot { first, step: together as isize * step, prefetch_bytes: 0 }
                        };
                    }
                    // The prepared registers follow the splat's own.
                    word.address = own.cast();
                    word.far = if together == 1 { 0 } else { size_of::<PreparedSplat>() as isize };
                    continue;
                }
                WordOperand::Memory(ChainOperand::Vector(index), size) => (slot(index), size as isize),
                WordOperand::Memory(ChainOperand::Stepped(index, step), size) => {
                    (slot(index), size as isize * step)
                }
                // Both halves of a row have the same scalar.
                WordOperand::Memory(ChainOperand::Splat(index), _) => (slot(index), 0),
                WordOperand::Out => (out.from(row), self.chain.stored as isize),
            };
            (word.address, word.row) = (own.first, together as isize * own.step);
            word.far = match halves {
                HalfUse::Neighbours => HALF_REGISTERS as isize * word.step,
                HalfUse::Ends(between) => between as isize * distance,
                HalfUse::Rows => own.step,
            };
        }
        debug_assert!(used <= self.splats.len());
        std::ptr::slice_from_raw_parts_mut(splats, used)
    }

    /// Fewer elements of a row than a run, through buffers of a whole run.
    ///
    /// # Safety
    /// As for [`Chain::run`]; the row has these elements.
    unsafe fn run_apart(&mut self, slots: &[Slot], out: Slot, row: isize, elements: Range<usize>) {
        let (chain, size) = (self.chain, self.chain.stored);
        let mut result = RunBuffer::EMPTY;
        let target = Slot { first: result.0.as_mut_ptr(), step: 0, prefetch_bytes: 0 };
        let splats = self.aim(slots, target, row, HalfUse::Neighbours);
        let runs = chain.code.iter().filter_map(CodeWord::vector).map(|(_, step)| step.unsigned_abs()).sum();
        let mut copies: SmallVec<[RunBuffer; 3]> = SmallVec::from_elem(RunBuffer::EMPTY, runs);
        let mut free = &mut copies[..];
        for (word, part) in self.words.iter_mut().zip(&chain.code) {
            let Some((size, step)) = part.vector() else { continue };
            let copy;
            (copy, free) = free.split_at_mut(step.unsigned_abs());
            let (room, copy) = (size_of_val(copy), copy.as_mut_ptr().cast::<u8>());
            let bytes = (elements.len() - 1) * step.unsigned_abs() * size + size;
            let first = word.address.wrapping_offset(elements.start as isize * step * size as isize);
            // With a negative step the first element is the last in memory.
            let (from, to) = match step {
                ..0 => (first.wrapping_add(size).wrapping_sub(bytes), room - bytes),
                _ => (first, 0),
            };
            // SAFETY: the slot is readable up to the last element, with the bytes between, and fewer elements
            // than a run fit into so many buffers.
            unsafe { copy.add(to).copy_from_nonoverlapping(from, bytes) };
            word.address = copy.wrapping_add(if step < 0 { room - size } else { 0 });
        }
        let last = self.words.len() - 1;
        self.words[last].code = chain.code[last].code;
        let span = RunSpan { rows: 1, from: 0, to: 1, by: 1, last: None };
        // SAFETY: every address has room for a whole run; the row of `out` is writable up to the last
        // element.
        unsafe {
            (chain.enter)(&mut self.words, splats, &span);
            let to = out.from(row).first.add(elements.start * size);
            to.copy_from_nonoverlapping(result.0.as_ptr(), elements.len() * size);
        }
    }
}
