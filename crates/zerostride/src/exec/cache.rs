//! Owns what the sizes of the processor's caches decide: when results are written with non-temporal stores,
//! what is prefetched, which copies are left to `memcpy`. The sizes are read from the system once; where it
//! tells none, common ones.

use std::fs;
use std::num::NonZeroUsize;

use once_cell::race::OnceNonZeroUsize;
use zerostride_code::Write;
use zerostride_kernels::Tuning;

/// How a loop writes its results that touches `bytes`, of which it writes `written`. Only `long` rows are
/// worth non-temporal stores.
pub(super) fn write(bytes: usize, written: usize, long: bool) -> Write {
    let quarter = last_level() / 4;
    let leaves = bytes > quarter * Tuning::active().stream_last_level_quarters && written > quarter;
    if long && (comes_from_memory(bytes) || leaves) { Write::NonTemporal } else { Write::Cached }
}

/// Whether so many bytes come from memory rather than from the last level of cache, so that prefetching pays.
pub(super) fn comes_from_memory(bytes: usize) -> bool {
    bytes / 2 > last_level()
}

/// The prefetch distance in bytes for operands of a loop that touches so many bytes, of which it writes
/// `written`; 0 for none. Hardware prefetches several streams less well than one.
pub(super) fn prefetch_bytes(bytes: usize, written: usize, are_streams: bool) -> usize {
    let Tuning { prefetch_bytes, prefetch_reads_bytes, .. } = *Tuning::active();
    match if is_far(bytes) && written <= bytes / 3 { prefetch_reads_bytes } else { 0 } {
        0 if are_streams && comes_from_memory(bytes) => prefetch_bytes,
        bytes => bytes,
    }
}

/// Whether so many bytes may not fit into the last level of cache.
pub(super) fn is_far(bytes: usize) -> bool {
    bytes > last_level() / 2
}

/// Whether `memcpy` copies contiguous elements, reading and writing so many bytes in all; beyond that, code
/// is faster.
pub(super) fn is_memcpy(bytes: usize) -> bool {
    bytes <= last_level() / 2 * Tuning::active().memcpy_last_level_halves
}

/// Bytes of the last level of cache, which all cores share.
fn last_level() -> usize {
    static BYTES: OnceNonZeroUsize = OnceNonZeroUsize::new();
    BYTES.get_or_init(|| largest().unwrap_or(DEFAULT)).get()
}

/// The last level where the system does not tell its size.
const DEFAULT: NonZeroUsize = NonZeroUsize::new(16 << 20).unwrap();

/// The largest cache that Linux lists for the first processor.
fn largest() -> Option<NonZeroUsize> {
    let caches = fs::read_dir("/sys/devices/system/cpu/cpu0/cache").ok()?;
    let size = |cache: fs::DirEntry| {
        let text = fs::read_to_string(cache.path().join("size")).ok()?;
        let kib: usize = text.trim().strip_suffix('K')?.parse().ok()?;
        NonZeroUsize::new(kib.checked_mul(1 << 10)?)
    };
    caches.flatten().filter_map(size).max()
}
