//! Owns access to the memory of tensors: one aligned, initialised block of bytes, shared by views and guarded
//! by claims. It does not know dtypes or shapes, nor where memory comes from (`region.rs`) and goes
//! (`pool.rs`).

use std::any::Any;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};

use super::borrow::Claims;
use super::hazard::{Hazards, Noted};
use super::region::Region;
use crate::Device;

/// A block of memory that views of a tensor share.
///
/// Sharing one gives no access to its bytes: that takes a [`Guard`](super::Guard), whose claims admit either
/// readers or one writer on a range.
#[derive(Debug)]
pub(crate) struct Storage {
    region: Region,
    /// Changes only while the pool alone has the storage.
    len: AtomicUsize,
    pub(super) claims: Claims,
    pub(super) version: AtomicU64,
    writable: bool,
}

impl Storage {
    /// The first `len` bytes of a region, which has as many.
    pub(super) fn new(region: Region, len: usize) -> Storage {
        assert!(len <= region.capacity());
        let (claims, version) = (Claims::default(), AtomicU64::new(0));
        Storage { region, len: AtomicUsize::new(len), claims, version, writable: true }
    }

    /// Memory of a lender, perhaps only for reading.
    ///
    /// # Safety
    /// From `start` on, `len` bytes are initialised and stay valid until the lender is dropped, for writes
    /// too if `writable`; while an operation on them runs, no other code writes them, nor reads the bytes
    /// that it writes.
    pub(crate) unsafe fn lent(
        start: NonNull<u8>,
        len: usize,
        lender: Box<dyn Any + Send + Sync>,
        writable: bool,
    ) -> Storage {
        // SAFETY: the caller vouches for the bytes.
        let region = unsafe { Region::lent(start, len, lender) };
        Storage { writable, ..Storage::new(region, len) }
    }

    /// Memory on a device, from an address of the device on. It is closed from the beginning: no claim lets
    /// the CPU touch it. Work of the device is ordered by its queue (`exec/device`).
    #[cfg(feature = "cuda")]
    pub(crate) fn on_device(
        start: NonNull<u8>,
        len: usize,
        device: Device,
        owner: Box<dyn Any + Send + Sync>,
    ) -> Storage {
        let region = Region::on_device(start, len, device, owner);
        Storage { claims: Claims::closed(), ..Storage::new(region, len) }
    }

    /// Where the memory is.
    pub(crate) fn device(&self) -> Device {
        self.region.device()
    }

    /// Counts a write of the device's.
    #[cfg(feature = "cuda")]
    pub(crate) fn count_write(&self) {
        self.version.fetch_add(1, Ordering::AcqRel);
    }

    /// Whether the memory is not the system's, so that other tensors cannot reuse it.
    #[inline]
    pub(crate) fn is_lent(&self) -> bool {
        self.region.is_lent()
    }

    /// Waits for the operations that touch the bytes; none will do so later.
    pub(crate) fn close(&self) {
        self.claims.close();
    }

    /// Whether the bytes may be written at all.
    pub(crate) fn is_writable(&self) -> bool {
        self.writable
    }

    /// Makes a storage with one owner a new one of `len` bytes, with version 0.
    ///
    /// # Panics
    /// If it has another owner, or fewer bytes.
    #[inline]
    pub(super) fn recycle(own: &mut Arc<Storage>, len: usize) {
        // Unlike `Arc::get_mut`, this needs no write: there are no weak references. The previous owner
        // dropped the storage before the fence.
        assert!(Arc::strong_count(own) == 1 && len <= own.capacity());
        fence(Ordering::Acquire);
        own.len.store(len, Ordering::Relaxed);
        own.version.store(0, Ordering::Relaxed);
    }

    /// The first byte.
    #[inline]
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.region.start()
    }

    /// The most bytes that the storage could have.
    #[inline]
    pub(super) fn capacity(&self) -> usize {
        self.region.capacity()
    }

    /// Bytes in the block.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    /// How often the block has been written to in place.
    #[inline]
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }
}

impl Storage {
    /// Permission to write the whole storage briefly, unless an operation may be using it: no thread waits
    /// for it, and its holder waits for nothing.
    #[inline]
    pub(crate) fn try_write(&self) -> Option<Rewriting<'_>> {
        (self.writable && self.claims.try_write()).then(|| Rewriting(self))
    }
}

/// Permission to read some whole storages briefly.
#[derive(Debug)]
pub(crate) struct Reading<'a, const N: usize> {
    storages: [Option<&'a Storage>; N],
    _noted: Noted<'a>,
}

impl<'a, const N: usize> Reading<'a, N> {
    /// Permission to read storages, unless an operation may be writing one of them; else as
    /// [`Storage::try_write`].
    #[inline]
    pub(crate) fn of(storages: [Option<&'a Storage>; N], hazards: &'a mut Hazards) -> Option<Reading<'a, N>> {
        let noted =
            hazards.note(storages.map(|storage| storage.map_or(0, |storage| storage.claims.address())))?;
        let is_unclaimed = |storage: &&Storage| storage.claims.is_unclaimed();
        storages.iter().flatten().all(is_unclaimed).then_some(Reading { storages, _noted: noted })
    }

    /// All bytes of the storage in a place; none where there is no storage.
    #[inline]
    pub(crate) fn bytes(&self, place: usize) -> &[u8] {
        let Some(storage) = self.storages[place] else { return &[] };
        // SAFETY: the region is valid for its capacity, which `len` is within, and its bytes are initialised.
        // The storage has been noted before it was seen to be unclaimed, and stays so while `self` lives: a
        // writer waits or takes another path (`hazard.rs`).
        unsafe { std::slice::from_raw_parts(storage.start().as_ptr(), storage.len()) }
    }
}

/// Permission to write a storage briefly.
#[derive(Debug)]
pub(crate) struct Rewriting<'a>(&'a Storage);

impl Rewriting<'_> {
    /// All bytes, for writing; it counts as a write.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        self.0.version.fetch_add(1, Ordering::AcqRel);
        // SAFETY: the claim keeps all other operations from reading and writing while `self` lives, which is
        // borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.0.start().as_ptr(), self.0.len()) }
    }
}

impl Drop for Rewriting<'_> {
    fn drop(&mut self) {
        self.0.claims.end_write();
    }
}
