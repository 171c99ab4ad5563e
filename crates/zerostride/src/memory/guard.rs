//! Owns the ways in which an operation touches the bytes of a storage: as its only owner, or by claims that
//! it holds. It does not know what the bytes are for.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use super::borrow::{Claim, Holder, Request};
use super::pool::{self, Shared};
use super::storage::Storage;
use crate::{Device, Error, Result};

/// A storage that no tensor has yet: Rust's own borrows guard its bytes.
#[derive(Debug)]
pub(crate) struct Fresh(Shared);

impl Fresh {
    /// A block of zeros; `None` where the system has no memory for it or `len` is over `isize::MAX`.
    pub(crate) fn zeroed(len: usize) -> Option<Fresh> {
        let (storage, zeroed) = pool::take(len)?;
        let mut fresh = Fresh(storage);
        if !zeroed {
            fresh.bytes_mut().fill(0);
        }
        Some(fresh)
    }

    /// As [`Fresh::zeroed`], but of any values: for callers that overwrite all of them.
    #[inline]
    pub(crate) fn arbitrary(len: usize) -> Option<Fresh> {
        pool::take(len).map(|(storage, _)| Fresh(storage))
    }

    /// The storage for tensors to share, from now on guarded by claims.
    #[inline]
    pub(crate) fn share(self) -> Shared {
        self.0
    }

    /// All bytes.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: the region is valid for its capacity, which `len` is within, and its bytes are initialised:
        // they came zeroed. The storage is not shared, so that every write borrows this value mutably.
        unsafe { std::slice::from_raw_parts(self.0.start().as_ptr(), self.0.len()) }
    }

    /// All bytes, for writing.
    #[inline]
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `bytes`, and `&mut self` excludes every other borrow.
        unsafe { std::slice::from_raw_parts_mut(self.0.start().as_ptr(), self.0.len()) }
    }

    /// Access to all bytes.
    pub(crate) fn block(&self) -> Block<'_> {
        Block { start: self.0.start(), range: 0..self.0.len(), writable: false, alive: PhantomData }
    }

    /// Access to all bytes, for writing too.
    pub(crate) fn block_mut(&mut self) -> Block<'_> {
        Block { writable: true, ..self.block() }
    }
}

/// A range of a storage's bytes that its holder may read, and write if `is_writable`, while `'a` lasts.
///
/// No other operation writes there meanwhile, nor reads if it is writable. There is one writable block of a
/// range at a time, which is why blocks are not `Clone`; readers of the same bytes may exist beside it, and
/// `exec/elements/access.rs` keeps their accesses apart.
#[derive(Debug)]
pub(crate) struct Block<'a> {
    start: NonNull<u8>,
    range: Range<usize>,
    writable: bool,
    alive: PhantomData<&'a ()>,
}

// SAFETY: a block is only an address with permissions; those were granted to the holder, on any thread that
// it uses.
unsafe impl Send for Block<'_> {}
// SAFETY: as for `Send`; a shared block gives no access by itself, and `exec/elements/access.rs` keeps
// accesses apart.
unsafe impl Sync for Block<'_> {}

impl<'a> Block<'a> {
    /// The first byte of the storage that the range is part of; it need not be in memory itself.
    pub(crate) fn storage_start(&self) -> NonNull<u8> {
        self.start
    }

    /// The bytes that may be touched, counted from `storage_start`.
    pub(crate) fn range(&self) -> &Range<usize> {
        &self.range
    }

    /// Whether the bytes may be written.
    pub(crate) fn is_writable(&self) -> bool {
        self.writable
    }

    /// Two blocks, the second from the byte `middle` of this one on.
    ///
    /// # Panics
    /// If the block ends before that.
    pub(crate) fn split(self, middle: usize) -> (Block<'a>, Block<'a>) {
        let middle = self.range.start + middle;
        assert!(middle <= self.range.end);
        let (left, right) = (self.range.start..middle, middle..self.range.end);
        (Block { range: left, ..self }, Block { range: right, ..self })
    }

    /// The same bytes as if the range began at another byte: for a part of an array that never exists as a
    /// whole.
    ///
    /// # Panics
    /// If the whole would begin at address 0.
    pub(crate) fn moved_to(self, first: usize) -> Block<'a> {
        let start = self.start.as_ptr().wrapping_add(self.range.start).wrapping_sub(first);
        let start = NonNull::new(start).expect("what is a part of memory does not begin before it");
        Block { start, range: first..first + self.range.len(), ..self }
    }

    /// The same block, lent.
    pub(crate) fn again(&mut self) -> Block<'_> {
        Block { range: self.range.clone(), ..*self }
    }

    /// The same bytes, only for reading.
    pub(crate) fn reader(&self) -> Block<'a> {
        Block { range: self.range.clone(), writable: false, ..*self }
    }
}

/// Permission to touch ranges of one storage, held until it is dropped.
///
/// A guard begins by reading, also where it has claimed to write: no other operation can change what it reads
/// then.
#[derive(Debug)]
pub(crate) struct Guard {
    storage: Shared,
    claims: Request,
    /// Whether the whole storage is claimed, and not only these ranges.
    brief: bool,
    writing: Writing,
    /// Claims are their thread's.
    _thread: PhantomData<*const ()>,
}

/// How far a guard has come.
#[derive(Debug, PartialEq, Eq)]
enum Writing {
    NotYet,
    /// From now on there are no slices, only blocks.
    Begun {
        /// Whether the one writable block is out.
        handed_out: Cell<bool>,
    },
}

impl Guard {
    /// Waits for the ranges.
    ///
    /// # Errors
    /// The wait was interrupted, or would never end; or the storage is on a device.
    ///
    /// # Panics
    /// If a range ends outside the storage, or is to be written and may not be.
    pub(crate) fn acquire(storage: &Shared, claims: Request, holder: &Holder) -> Result<Guard> {
        check(storage, &claims);
        if storage.device() != Device::Cpu {
            return Err(Error::NoKernel { operation: holder.operation(), device: storage.device() });
        }
        storage.claims.acquire(&claims, holder)?;
        Ok(Guard::new(storage, claims, false))
    }

    /// Takes the whole storage, for an operation that neither waits nor runs foreign code until it releases
    /// it: that costs less. `None` if another operation uses the storage.
    ///
    /// # Panics
    /// As for [`Guard::acquire`].
    pub(crate) fn brief(storage: &Shared, claims: &Request) -> Option<Guard> {
        check(storage, claims);
        let is_free = match writes(claims) {
            true => storage.claims.try_write(),
            false => storage.claims.try_read(),
        };
        is_free.then(|| Guard::new(storage, claims.clone(), true))
    }

    fn new(storage: &Shared, claims: Request, brief: bool) -> Guard {
        Guard { storage: storage.clone(), claims, brief, writing: Writing::NotYet, _thread: PhantomData }
    }

    /// Whether the guard keeps all other operations from the whole storage, so that its holder must not wait.
    pub(crate) fn is_brief(&self) -> bool {
        self.brief
    }

    /// How often the storage has been written to, without what this guard will write.
    pub(crate) fn version(&self) -> u64 {
        self.storage.version()
    }

    /// Ends the reading of slices; the first call counts as a write to the storage.
    pub(crate) fn start_writing(&mut self) {
        if self.writing == Writing::NotYet {
            self.writing = Writing::Begun { handed_out: Cell::new(false) };
            self.storage.version.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Access to a range that is claimed.
    ///
    /// # Panics
    /// If no claim covers the range.
    pub(crate) fn block(&self, range: Range<usize>) -> Block<'_> {
        self.check(&range, false);
        Block { start: self.storage.start(), range, writable: false, alive: PhantomData }
    }

    /// Access to a range that is claimed for writing.
    ///
    /// # Panics
    /// If no writing claim covers the range, writing has not begun, or such a block has been handed out
    /// already.
    pub(crate) fn block_mut(&self, range: Range<usize>) -> Block<'_> {
        self.check(&range, true);
        match &self.writing {
            Writing::Begun { handed_out } => {
                assert!(!handed_out.replace(true), "one block is written at a time")
            }
            Writing::NotYet => panic!("writing has not begun"),
        }
        Block { start: self.storage.start(), range, writable: true, alive: PhantomData }
    }

    /// The bytes of a range that is claimed.
    ///
    /// # Panics
    /// If no claim covers the range, or writing has begun.
    pub(crate) fn bytes(&self, range: Range<usize>) -> &[u8] {
        self.check(&range, false);
        assert_eq!(self.writing, Writing::NotYet, "a guard that writes hands out no slices");
        // An empty range starts at the block too, so that it is aligned for every type.
        let range = if range.is_empty() { 0..0 } else { range };
        // SAFETY: `acquire` has seen that every claim ends in the block, whose bytes are initialised. The
        // claim keeps other operations from writing while `self` is borrowed; this guard writes only after
        // `start_writing`, which takes `&mut self`.
        unsafe { std::slice::from_raw_parts(self.storage.start().as_ptr().add(range.start), range.len()) }
    }

    /// The bytes of a range that is claimed for writing, which has begun from now on.
    ///
    /// # Panics
    /// If no writing claim covers the range.
    pub(crate) fn bytes_mut(&mut self, range: Range<usize>) -> &mut [u8] {
        self.start_writing();
        self.check(&range, true);
        // An empty range starts at the block too, so that it is aligned for every type.
        let range = if range.is_empty() { 0..0 } else { range };
        // SAFETY: `acquire` has seen that every claim ends in the block, whose bytes are initialised. The
        // claim keeps other operations from the range, and `&mut self` excludes every slice and block that
        // this guard hands out.
        unsafe { std::slice::from_raw_parts_mut(self.storage.start().as_ptr().add(range.start), range.len()) }
    }

    fn check(&self, range: &Range<usize>, write: bool) {
        let covers = |claim: &Claim| {
            claim.write >= write && claim.bytes.start <= range.start && range.end <= claim.bytes.end
        };
        assert!(range.is_empty() || self.claims.iter().any(covers), "{range:?} is not claimed");
    }
}

/// # Panics
/// If a range ends outside the storage, or is to be written and may not be.
fn check(storage: &Storage, claims: &[Claim]) {
    let is_inside = |claim: &Claim| claim.bytes.start <= claim.bytes.end && claim.bytes.end <= storage.len();
    assert!(claims.iter().all(is_inside));
    assert!(storage.is_writable() || !writes(claims));
}

fn writes(claims: &[Claim]) -> bool {
    claims.iter().any(|claim| claim.write)
}

impl Drop for Guard {
    fn drop(&mut self) {
        let claims = &self.storage.claims;
        match writes(&self.claims) {
            _ if !self.brief => claims.release(&self.claims),
            true => claims.end_write(),
            false => claims.end_read(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::region::ALIGNMENT_BYTES;
    use super::*;

    fn acquire(storage: &Shared, claim: Claim) -> Result<Guard> {
        Guard::acquire(storage, Request::from_iter([claim]), &Holder::here(None))
    }

    fn guard(storage: &Shared, write: bool) -> Guard {
        acquire(storage, Claim { bytes: 0..storage.len(), write }).unwrap()
    }

    #[test]
    fn a_block_is_aligned_and_zeroed() {
        let mut fresh = Fresh::zeroed(100).unwrap();
        assert_eq!(fresh.0.start().as_ptr() as usize % ALIGNMENT_BYTES, 0);
        assert!(fresh.bytes_mut().iter().all(|&byte| byte == 0));
        assert!(Fresh::zeroed(0).unwrap().bytes().is_empty());
        assert!(Fresh::zeroed(usize::MAX).is_none());
    }

    #[test]
    fn a_block_from_the_pool_is_zeroed_where_that_is_asked_for() {
        let mut first = Fresh::arbitrary(1000).unwrap();
        first.bytes_mut().fill(7);
        drop(first);
        let again = Fresh::arbitrary(1000).unwrap();
        assert!(again.bytes().iter().all(|&byte| byte == 7));
        drop(again);
        assert!(Fresh::zeroed(1000).unwrap().bytes().iter().all(|&byte| byte == 0));
    }

    #[test]
    fn a_write_counts_once_it_begins() {
        let storage = Fresh::zeroed(8).unwrap().share();
        drop(guard(&storage, false));
        drop(guard(&storage, true));
        assert_eq!(storage.version(), 0);
        let mut writer = guard(&storage, true);
        writer.start_writing();
        writer.start_writing();
        assert_eq!(storage.version(), 1);
    }

    #[test]
    #[should_panic(expected = "hands out no slices")]
    fn a_guard_that_writes_hands_out_no_slices() {
        let storage = Fresh::zeroed(8).unwrap().share();
        let mut writer = guard(&storage, true);
        assert_eq!(writer.bytes(0..8), [0; 8]);
        writer.start_writing();
        writer.bytes(0..8);
    }

    #[test]
    fn a_guard_writes_slices_one_after_the_other() {
        let storage = Fresh::zeroed(8).unwrap().share();
        let mut writer = guard(&storage, true);
        writer.bytes_mut(0..4).fill(1);
        writer.bytes_mut(2..8).fill(2);
        drop(writer);
        assert_eq!(guard(&storage, false).bytes(0..8), [1, 1, 2, 2, 2, 2, 2, 2]);
        assert_eq!(storage.version(), 1);
    }

    #[test]
    #[should_panic(expected = "one block")]
    fn a_guard_hands_out_one_block_for_writing() {
        let storage = Fresh::zeroed(8).unwrap().share();
        let mut writer = guard(&storage, true);
        writer.start_writing();
        let _block = writer.block_mut(0..4);
        writer.block_mut(4..8);
    }

    #[test]
    #[should_panic(expected = "not claimed")]
    fn a_reader_gets_no_block_for_writing() {
        let storage = Fresh::zeroed(8).unwrap().share();
        let mut reader = guard(&storage, false);
        reader.start_writing();
        reader.block_mut(0..8);
    }

    #[test]
    #[should_panic]
    fn nothing_is_claimed_outside_the_block() {
        let storage = Fresh::zeroed(8).unwrap().share();
        let _guard = acquire(&storage, Claim { bytes: 0..9, write: false });
    }
}
