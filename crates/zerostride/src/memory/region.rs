//! Owns single regions of memory: from the system, aligned, initialised, and on huge pages where they are
//! large; from a lender; or on a device. It does not know what they are used for, nor about reuse
//! (`pool.rs`).

use std::any::Any;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::Device;

/// Bytes that every region is aligned to: a cache line, and every vector register.
pub(super) const ALIGNMENT_BYTES: usize = 64;

/// Regions of more bytes are mapped pages of their own; others come from the allocator.
const LARGEST_ALLOCATED_BYTES: usize = 1 << 20;

/// Mapped regions are multiples of this, which is a multiple of any system's page.
const MAPPED_STEP_BYTES: usize = 1 << 16;

/// Bytes of all mapped regions.
static MAPPED: AtomicUsize = AtomicUsize::new(0);

/// A run of initialised bytes, or of bytes on a device.
#[derive(Debug)]
pub(super) struct Region {
    start: NonNull<u8>,
    capacity: usize,
    owner: Owner,
}

/// Who has the memory of a region.
#[derive(Debug)]
enum Owner {
    System,
    /// A lender, who keeps it until this is dropped.
    Lender {
        _lender: Box<dyn Any + Send + Sync>,
    },
    /// A device, on which it is kept until the owner is dropped. Its address is the device's.
    #[cfg(feature = "cuda")]
    Device {
        device: Device,
        _owner: Box<dyn Any + Send + Sync>,
    },
}

// SAFETY: a region owns its memory, or has a lender that may be dropped on any thread.
unsafe impl Send for Region {}
// SAFETY: a shared region gives out an address, never access.
unsafe impl Sync for Region {}

impl Region {
    /// The bytes that a region for `len` bytes has; `None` if no memory can have so many.
    ///
    /// Up to 1 MiB a power of two, so that a region serves many lengths.
    #[inline]
    pub(super) fn capacity_for(len: usize) -> Option<usize> {
        let capacity = if len <= LARGEST_ALLOCATED_BYTES {
            len.max(ALIGNMENT_BYTES).next_power_of_two()
        } else {
            len.checked_next_multiple_of(MAPPED_STEP_BYTES)?
        };
        (capacity <= isize::MAX as usize - HUGE_PAGE_BYTES).then_some(capacity)
    }

    /// A region of zeros; `None` where the system has none.
    ///
    /// # Panics
    /// If the capacity is none that [`Region::capacity_for`] gives.
    pub(super) fn zeroed(capacity: usize) -> Option<Region> {
        assert_eq!(Region::capacity_for(capacity), Some(capacity));
        let start = if is_mapped(capacity) { map(capacity)? } else { allocate(capacity)? };
        Some(Region { start, capacity, owner: Owner::System })
    }

    /// Memory of a lender.
    ///
    /// # Safety
    /// From `start` on, `len` bytes are initialised and stay valid until the lender is dropped.
    pub(super) unsafe fn lent(start: NonNull<u8>, len: usize, lender: Box<dyn Any + Send + Sync>) -> Region {
        Region { start, capacity: len, owner: Owner::Lender { _lender: lender } }
    }

    /// Memory on a device, from an address of the device on, which is never used as one here.
    #[cfg(feature = "cuda")]
    pub(super) fn on_device(
        start: NonNull<u8>,
        len: usize,
        device: Device,
        owner: Box<dyn Any + Send + Sync>,
    ) -> Region {
        Region { start, capacity: len, owner: Owner::Device { device, _owner: owner } }
    }

    /// Whether the memory is not the system's.
    #[inline]
    pub(super) fn is_lent(&self) -> bool {
        !matches!(self.owner, Owner::System)
    }

    /// Where the memory is.
    pub(super) fn device(&self) -> Device {
        #[cfg(feature = "cuda")]
        if let Owner::Device { device, .. } = self.owner {
            return device;
        }
        Device::Cpu
    }

    #[inline]
    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }

    #[inline]
    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        if self.is_lent() {
            // The owner is told by being dropped.
        } else if is_mapped(self.capacity) {
            // SAFETY: `start` came from `map` with this capacity, and every user of it borrowed this value.
            unsafe { unmap(self.start, self.capacity) }
        } else {
            // SAFETY: `start` came from `allocate` with this capacity.
            unsafe { std::alloc::dealloc(self.start.as_ptr(), layout(self.capacity)) }
        }
    }
}

/// Bytes of all mapped regions of the process.
pub(super) fn mapped_bytes() -> usize {
    MAPPED.load(Ordering::Relaxed)
}

/// Keeps the C library to one heap for all threads. It reserves 64 MiB of addresses for each of them
/// otherwise, which a process whose address space is limited has better uses for.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn share_heap() {
    // SAFETY: the call changes a number that the library reads when a thread allocates for the first time;
    // whichever of its values such a thread finds is one that it may have.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
}

/// Other libraries reserve no addresses for threads.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn share_heap() {}

fn is_mapped(capacity: usize) -> bool {
    capacity > LARGEST_ALLOCATED_BYTES
}

fn layout(capacity: usize) -> std::alloc::Layout {
    std::alloc::Layout::from_size_align(capacity, ALIGNMENT_BYTES)
        .expect("capacities are checked where they are made")
}

fn allocate(capacity: usize) -> Option<NonNull<u8>> {
    // SAFETY: a capacity is never zero.
    NonNull::new(unsafe { std::alloc::alloc_zeroed(layout(capacity)) })
}

/// What a large region is aligned to, so that the system can lay it on huge pages: a page of 4 KiB costs half
/// a microsecond when it is first touched, one of 2 MiB little more than its zeros.
const HUGE_PAGE_BYTES: usize = 1 << 21;

/// Fresh pages, which the system fills with zeros when they are touched.
#[cfg(all(target_os = "linux", not(miri)))]
fn map(capacity: usize) -> Option<NonNull<u8>> {
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    let reserved = capacity + HUGE_PAGE_BYTES;
    // SAFETY: new pages at a place of the system's choice touch nothing that exists.
    let base = unsafe { libc::mmap(std::ptr::null_mut(), reserved, protection, flags, -1, 0) };
    if base == libc::MAP_FAILED {
        return None;
    }
    let before = (base as usize).wrapping_neg() % HUGE_PAGE_BYTES;
    let start = base.wrapping_byte_add(before);
    // SAFETY: both ranges are whole pages of the mapping made above, on either side of the region, and no
    // code uses them; advice about the region changes no byte of it. Failure leaves pages that are never
    // touched, or small ones.
    unsafe {
        if before > 0 {
            libc::munmap(base, before);
        }
        if before < HUGE_PAGE_BYTES {
            libc::munmap(start.wrapping_byte_add(capacity), HUGE_PAGE_BYTES - before);
        }
        libc::madvise(start, capacity, libc::MADV_HUGEPAGE);
    }
    MAPPED.fetch_add(capacity, Ordering::Relaxed);
    NonNull::new(start.cast())
}

/// # Safety
/// The region came from `map` with this capacity and is not used any more.
#[cfg(all(target_os = "linux", not(miri)))]
unsafe fn unmap(start: NonNull<u8>, capacity: usize) {
    // SAFETY: the caller gives up the pages that `map` left of its mapping.
    unsafe { libc::munmap(start.as_ptr().cast(), capacity) };
    MAPPED.fetch_sub(capacity, Ordering::Relaxed);
}

/// As the allocator maps large blocks itself elsewhere, without promise of huge pages.
#[cfg(not(all(target_os = "linux", not(miri))))]
fn map(capacity: usize) -> Option<NonNull<u8>> {
    let start = allocate(capacity)?;
    MAPPED.fetch_add(capacity, Ordering::Relaxed);
    Some(start)
}

/// # Safety
/// The region came from `map` with this capacity and is not used any more.
#[cfg(not(all(target_os = "linux", not(miri))))]
unsafe fn unmap(start: NonNull<u8>, capacity: usize) {
    // SAFETY: `map` has allocated it with this layout.
    unsafe { std::alloc::dealloc(start.as_ptr(), layout(capacity)) };
    MAPPED.fetch_sub(capacity, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capacity_holds_the_length_and_little_more() {
        for (len, capacity) in
            [(0, 64), (64, 64), (65, 128), (1 << 20, 1 << 20), ((1 << 20) + 1, (1 << 20) + MAPPED_STEP_BYTES)]
        {
            assert_eq!(Region::capacity_for(len), Some(capacity));
        }
        for len in [usize::MAX, isize::MAX as usize, isize::MAX as usize - MAPPED_STEP_BYTES] {
            assert_eq!(Region::capacity_for(len), None);
        }
    }

    #[test]
    fn regions_are_aligned_and_zero() {
        for len in [1, 5000, 1 << 20, (1 << 20) + 1, 3 << 20] {
            let region = Region::zeroed(Region::capacity_for(len).unwrap()).unwrap();
            let alignment = if len > LARGEST_ALLOCATED_BYTES && cfg!(all(target_os = "linux", not(miri))) {
                HUGE_PAGE_BYTES
            } else {
                ALIGNMENT_BYTES
            };
            assert_eq!(region.start().as_ptr() as usize % alignment, 0);
            // SAFETY: a region is valid and initialised for its capacity, and this one is used nowhere else.
            let bytes = unsafe { std::slice::from_raw_parts(region.start().as_ptr(), region.capacity()) };
            assert!(bytes.iter().all(|&byte| byte == 0));
        }
    }

    #[test]
    fn memory_that_does_not_exist_is_refused() {
        assert!(Region::zeroed(Region::capacity_for(1 << 60).unwrap()).is_none());
    }
}
