//! Owns what the processor's caches decide: when results are written past them, what is prefetched, which copies are left to
//! the C library. Their sizes are read once from the system, or common ones.

use std::fs;

use zerostride_kernels::{Stores, Tuning};

use crate::fork::OnceLock;

/// How results are best stored by what touches `bytes`, of which it writes `written`; those that are `long` are fit to be written
/// with non-temporal stores.
pub(super) fn stores(bytes: usize, written: usize, long: bool) -> Stores {
    let quarter = last_level() / 4;
    let leaves = bytes > quarter * Tuning::active().stream_last_level_quarters && written > quarter;
    if long && (comes_from_memory(bytes) || leaves) {
        Stores::Streaming
    } else if is_far(bytes) {
        Stores::Far
    } else {
        Stores::Cached
    }
}

/// Whether hardly anything of so many bytes is found in the caches again, so that it is best prefetched.
pub(super) fn comes_from_memory(bytes: usize) -> bool {
    bytes / 2 > last_level()
}

/// Bytes ahead at which contiguous operands are prefetched by what touches so many bytes, stored that way; 0 for not at all.
pub(super) fn prefetch_bytes(bytes: usize, stores: Stores) -> usize {
    if stores == Stores::Streaming || comes_from_memory(bytes) { Tuning::active().prefetch_bytes } else { 0 }
}

/// The same by what mostly reads: at most a third of the bytes are results.
pub(super) fn prefetch_reads_bytes(bytes: usize, written: usize) -> usize {
    if is_far(bytes) && written <= bytes / 3 { Tuning::active().prefetch_reads_bytes } else { 0 }
}

/// Whether the last level does not hold so many bytes for sure.
pub(super) fn is_far(bytes: usize) -> bool {
    bytes > last_level() / 2
}

/// Whether `memcpy` copies contiguous elements, reading and writing so many bytes: chains take over where they are faster.
pub(super) fn is_memcpy(bytes: usize) -> bool {
    bytes <= last_level() / 2 * Tuning::active().memcpy_last_level_halves
}

/// Bytes of the last level of cache, which all cores share.
fn last_level() -> usize {
    static BYTES: OnceLock<usize> = OnceLock::new();
    *BYTES.get_or_init(|| largest().unwrap_or(DEFAULT))
}

/// A modest last level, where the system does not tell.
const DEFAULT: usize = 16 << 20;

/// The largest cache that Linux lists for the first processor.
fn largest() -> Option<usize> {
    let caches = fs::read_dir("/sys/devices/system/cpu/cpu0/cache").ok()?;
    let size = |cache: fs::DirEntry| {
        let text = fs::read_to_string(cache.path().join("size")).ok()?;
        let kib: usize = text.trim().strip_suffix('K')?.parse().ok()?;
        kib.checked_mul(1 << 10)
    };
    caches.flatten().filter_map(size).max()
}
