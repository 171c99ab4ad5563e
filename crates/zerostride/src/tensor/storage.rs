//! Owns the memory of tensors: one aligned, initialised block of bytes, shared by views and guarded by claims. The
//! only file of `tensor/` with unsafe code. It does not know dtypes or shapes.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::marker::PhantomData;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::borrow::{Claim, Claims};
use crate::Result;

/// Bytes that a block is aligned to: a cache line, and every vector register.
const ALIGNMENT: usize = 64;

/// A block of memory that views of a tensor share.
#[derive(Debug)]
pub(crate) struct Storage {
    start: NonNull<u8>,
    len: usize,
    claims: Claims,
    version: AtomicU64,
}

// SAFETY: the block is owned by this value alone and freed once, in `drop`, whichever thread that happens on.
unsafe impl Send for Storage {}
// SAFETY: a shared `Storage` gives access to its bytes only through `Guard`, whose claims admit either readers or one
// writer on a range; every other field is synchronised by itself.
unsafe impl Sync for Storage {}

impl Storage {
    /// A block of zeros; `None` where the system has no memory for it or `len` is over `isize::MAX`.
    pub(crate) fn zeroed(len: usize) -> Option<Storage> {
        let layout = block(len)?;
        let start = if layout.size() == 0 {
            NonNull::without_provenance(std::num::NonZero::new(ALIGNMENT)?)
        } else {
            // SAFETY: the layout's size is not zero.
            NonNull::new(unsafe { alloc_zeroed(layout) })?
        };
        Some(Storage { start, len, claims: Claims::default(), version: AtomicU64::new(0) })
    }

    /// The bytes of a block that nobody else can have yet.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: `start` is valid for `len` initialised bytes (they came zeroed), and `&mut self` excludes guards,
        // which borrow an `Arc` of this storage.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }

    /// The bytes of a block that nobody else can have yet.
    pub(crate) fn bytes(&self) -> &[u8] {
        debug_assert!(self.claims.is_free());
        // SAFETY: `start` is valid for `len` initialised bytes; writers need `&mut self`, or an `Arc` of this storage,
        // which does not exist while it is evaluation's own.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// Access to the whole of a storage that nobody else can have yet.
    pub(crate) fn block(&self) -> Block<'_> {
        Block { start: self.start, range: 0..self.len, writable: false, alive: PhantomData }
    }

    /// As `block`, for writing too.
    pub(crate) fn block_mut(&mut self) -> Block<'_> {
        Block { start: self.start, range: 0..self.len, writable: true, alive: PhantomData }
    }

    /// Bytes in the block.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// How often the block has been written to in place.
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        if let Some(layout) = block(self.len)
            && layout.size() > 0
        {
            // SAFETY: `start` came from `alloc_zeroed` with this layout, which depends on `len` alone.
            unsafe { dealloc(self.start.as_ptr(), layout) }
        }
    }
}

fn block(len: usize) -> Option<Layout> {
    Layout::from_size_align(len, ALIGNMENT).ok()
}

/// A range of a storage's bytes that its holder may read, and write if `is_writable`, while `'a` lasts.
///
/// Nobody else writes there meanwhile, nor reads if it is writable; blocks of one holder may overlap, and the holder
/// keeps its own reads and writes apart (`exec/access.rs`).
#[derive(Clone, Debug)]
pub(crate) struct Block<'a> {
    start: NonNull<u8>,
    range: Range<usize>,
    writable: bool,
    alive: PhantomData<&'a ()>,
}

// SAFETY: a block is only an address with permissions; those were granted to the holder, on whichever threads it works.
unsafe impl Send for Block<'_> {}
// SAFETY: as for `Send`; a shared block gives no access by itself, and `exec/access.rs` keeps accesses apart.
unsafe impl Sync for Block<'_> {}

impl Block<'_> {
    /// The first byte of the storage that the range is part of.
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
}

/// Permission to touch ranges of one storage, held until it is dropped.
#[derive(Debug)]
pub(crate) struct Guard {
    storage: Arc<Storage>,
    claims: Vec<Claim>,
}

impl Guard {
    /// Waits for the ranges; a writing claim counts as a write from then on.
    ///
    /// # Errors
    /// [`crate::Error::Busy`] where waiting could wait forever.
    pub(crate) fn acquire(storage: &Arc<Storage>, claims: Vec<Claim>) -> Result<Guard> {
        debug_assert!(claims.iter().all(|claim| claim.bytes.end <= storage.len));
        storage.claims.acquire(&claims)?;
        if claims.iter().any(|claim| claim.write) {
            storage.version.fetch_add(1, Ordering::AcqRel);
        }
        Ok(Guard { storage: Arc::clone(storage), claims })
    }

    /// The version of the storage that readers have seen: without the guard's own write.
    pub(crate) fn version_before(&self) -> u64 {
        self.storage.version() - u64::from(self.claims.iter().any(|claim| claim.write))
    }

    /// Access to a range that is claimed, for writing too if that is asked.
    ///
    /// # Panics
    /// If no claim covers the range.
    pub(crate) fn block(&self, range: Range<usize>, write: bool) -> Block<'_> {
        let covers = |claim: &Claim| {
            claim.write >= write && claim.bytes.start <= range.start && range.end <= claim.bytes.end
        };
        assert!(range.is_empty() || self.claims.iter().any(covers), "{range:?} is not claimed");
        Block { start: self.storage.start, range, writable: write, alive: PhantomData }
    }

    /// The bytes of a range that is claimed for reading.
    ///
    /// # Panics
    /// If no reading claim covers the range.
    pub(crate) fn bytes(&self, range: Range<usize>) -> &[u8] {
        let covers =
            |claim: &Claim| !claim.write && claim.bytes.start <= range.start && range.end <= claim.bytes.end;
        assert!(range.is_empty() || self.claims.iter().any(covers), "{range:?} is not claimed for reading");
        assert!(!self.claims.iter().any(|claim| claim.write), "a writing guard hands out no slices");
        // An empty range starts at the block too, so that it is aligned for every type.
        let range = if range.is_empty() { 0..0 } else { range };
        // SAFETY: the range lies in the block, whose bytes are initialised; the reading claim keeps writers of other
        // operations away while `self` is borrowed, and this guard has no writing claim of its own.
        unsafe { std::slice::from_raw_parts(self.storage.start.as_ptr().add(range.start), range.len()) }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.storage.claims.release(&self.claims);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_aligned_and_zeroed() {
        let mut storage = Storage::zeroed(100).unwrap();
        assert_eq!(storage.start.as_ptr() as usize % ALIGNMENT, 0);
        assert!(storage.bytes_mut().iter().all(|&byte| byte == 0));
        assert!(Storage::zeroed(0).unwrap().bytes_mut().is_empty());
        assert!(Storage::zeroed(usize::MAX).is_none());
    }

    #[test]
    fn a_writing_guard_counts_as_a_write() {
        let storage = Arc::new(Storage::zeroed(8).unwrap());
        drop(Guard::acquire(&storage, vec![Claim { bytes: 0..8, write: false }]).unwrap());
        assert_eq!(storage.version(), 0);
        drop(Guard::acquire(&storage, vec![Claim { bytes: 0..8, write: true }]).unwrap());
        assert_eq!(storage.version(), 1);
    }
}
