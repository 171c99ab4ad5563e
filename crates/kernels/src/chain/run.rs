//! Owns how code meets memory: the addresses that a chain's words get, the elements that do not fill a run, and the
//! alignment of streaming stores. It does not know what the code does.

use smallvec::SmallVec;

use super::code::{REGISTERS, Word};
use super::{Chain, Feed, Place, Stores};

/// The largest register of any instruction set, in bytes.
const REGISTER: usize = 64;

/// Memory of one register, for an operand that is the same everywhere.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Splat([u8; REGISTER]);

/// Memory of one run.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Scratch([u8; REGISTERS * REGISTER]);

impl Splat {
    /// # Safety
    /// `element` is readable for `size` bytes, which are 1, 2, 4 or 8.
    unsafe fn new(element: *const u8, size: usize) -> Splat {
        // SAFETY: the caller says so.
        unsafe {
            match size {
                1 => Splat([element.read(); REGISTER]),
                2 => Splat(bytemuck::cast([element.cast::<[u8; 2]>().read(); REGISTER / 2])),
                4 => Splat(bytemuck::cast([element.cast::<[u8; 4]>().read(); REGISTER / 4])),
                _ => Splat(bytemuck::cast([element.cast::<[u8; 8]>().read(); REGISTER / 8])),
            }
        }
    }
}

impl Chain {
    /// Runs the chain on `len` elements. Nothing outside the operands is read, nothing outside the result written.
    ///
    /// Streaming stores are used where the result is aligned to its elements, long enough and no operand.
    ///
    /// # Panics
    /// If a feed's slot is not among `slots`.
    ///
    /// # Safety
    /// Every slot of a [`Feed::Vector`] is readable for `len` elements of its dtype, every slot of a [`Feed::Splat`]
    /// for one; `out` is writable for `len` elements. No alignment is asked for. `out` overlaps no slot, except that
    /// it may be the address of a vector whose elements are as large as the result's.
    pub unsafe fn run(&self, len: usize, slots: &[*const u8], out: *mut u8, stores: Stores) {
        // SAFETY: as the caller says.
        unsafe { Execution::new(self, slots, out) }.run(len, stores);
    }
}

/// A chain with the addresses of one call.
struct Execution<'a> {
    chain: &'a Chain,
    slots: &'a [*const u8],
    out: *mut u8,
    splats: SmallVec<[Splat; 4]>,
    stages: SmallVec<[Scratch; 1]>,
}

impl<'a> Execution<'a> {
    /// # Safety
    /// That of [`Chain::run`], for as long as this lives.
    unsafe fn new(chain: &'a Chain, slots: &'a [*const u8], out: *mut u8) -> Execution<'a> {
        let mut splats = SmallVec::new();
        let mut stages = 0;
        for part in &chain.code {
            match part.place {
                // SAFETY: the slot is readable for one element.
                Place::Feed(Feed::Splat(slot), size) => splats.push(unsafe { Splat::new(slots[slot], size) }),
                Place::Stage(index) => stages = stages.max(index + 1),
                _ => {}
            }
        }
        let stages = SmallVec::from_elem(Scratch([0; REGISTERS * REGISTER]), stages);
        Execution { chain, slots, out, splats, stages }
    }

    /// The code with its addresses: `vector` gives those of the operands that advance.
    fn words(
        &mut self,
        out: *mut u8,
        mut vector: impl FnMut(usize, usize) -> *const u8,
    ) -> SmallVec<[Word; 16]> {
        let chain = self.chain;
        let mut splats = self.splats.iter();
        let word = |part: &super::Part| {
            let (address, mask, step) = match part.place {
                Place::Registers => (std::ptr::null_mut(), 0, 0),
                Place::Feed(Feed::Vector(slot), size) => {
                    (vector(slot, size).cast_mut(), usize::MAX, chain.register / chain.width * size)
                }
                Place::Feed(Feed::Splat(_), _) => {
                    let splat = splats.next().expect("there is one for each such feed");
                    (splat.0.as_ptr().cast_mut(), 0, 0)
                }
                Place::Stage(index) => (self.stages[index].0.as_mut_ptr(), 0, chain.register),
                Place::Out => (out, usize::MAX, 0),
            };
            Word { code: part.code, address, mask, step }
        };
        chain.code.iter().map(word).collect()
    }

    fn run(&mut self, len: usize, stores: Stores) {
        let run = self.chain.run_len();
        let slots = self.slots;
        let in_place = |part: &super::Part| matches!(part.place, Place::Feed(Feed::Vector(slot), _) if slots[slot] == self.out.cast_const());
        let in_place = self.chain.code.iter().any(in_place);
        if len < run {
            return self.run_apart(0, len);
        }
        let mut words = self.words(self.out, |slot, _| slots[slot]);
        // SAFETY: these are the words of this chain, with operands for `len` elements.
        let enter = |words: &[Word], from, to| unsafe { (self.chain.enter)(words.as_ptr(), from, to, run) };
        let mut done = 0;
        if let (Stores::Streaming, false, Some(head)) = (stores, in_place, self.unaligned(len)) {
            let last = words.len() - 1;
            words[last].code = self.chain.streaming;
            done = head + (len - head) / run * run;
            enter(&words, head, done);
            // A whole run over either end would fetch the lines that have just gone past the caches.
            self.run_apart(0, head);
            return self.run_apart(done, len - done);
        } else {
            done += len / run * run;
            enter(&words, 0, done);
        }
        match (done < len, in_place) {
            (false, _) => {}
            // Elements that are computed once more are the same once more.
            (true, false) => enter(&words, len - run, len),
            (true, true) => self.run_apart(done, len - done),
        }
    }

    /// The elements before the first that a streaming store may begin with, if a run fits after them.
    fn unaligned(&self, len: usize) -> Option<usize> {
        let (size, register) = (self.chain.stored, self.chain.register);
        let head = self.out.align_offset(register);
        (head.is_multiple_of(size) && head / size + self.chain.run_len() <= len).then(|| head / size)
    }

    /// Less than a run of elements from `from` on, through memory that has room for a whole run.
    fn run_apart(&mut self, from: usize, len: usize) {
        if len == 0 {
            return;
        }
        let (slots, out, size) = (self.slots, self.out, self.chain.stored);
        let empty = Scratch([0; REGISTERS * REGISTER]);
        let vectors = self
            .chain
            .code
            .iter()
            .filter(|part| matches!(part.place, Place::Feed(Feed::Vector(_), _)))
            .count();
        let mut copies: SmallVec<[Scratch; 2]> = SmallVec::from_elem(empty, vectors);
        let mut free = copies.iter_mut();
        let mut result = empty;
        let words = self.words(result.0.as_mut_ptr(), |slot, size| {
            let copy = free.next().expect("there is one for each such feed");
            // SAFETY: the slot is readable up to the last element, and less than a run fits into a scratch.
            unsafe { copy.0.as_mut_ptr().copy_from_nonoverlapping(slots[slot].add(from * size), len * size) };
            copy.0.as_ptr()
        });
        // SAFETY: every address has room for a whole run; `out` is writable up to the last element.
        unsafe {
            (self.chain.enter)(words.as_ptr(), 0, 1, 1);
            out.add(from * size).copy_from_nonoverlapping(result.0.as_ptr(), len * size);
        }
    }
}
