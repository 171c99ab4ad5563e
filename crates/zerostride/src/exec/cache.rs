//! Owns what the processor's caches decide: when results are written past them, what is asked for ahead, which copies are left to
//! the C library. Their sizes are read once from the system, or common ones.

use std::fs;

use zerostride_kernels::{Stores, is_amd, is_zen5};

use crate::fork::OnceLock;

/// How results are best stored by what touches `bytes`, of which it writes `written`; those that are `long` are fit to be written
/// past the caches.
pub(super) fn stores(bytes: usize, written: usize, long: bool) -> Stores {
    // AMD's processors are faster past the caches as soon as these do not hold what is read and written, much of it results.
    let leaves = is_amd() && bytes > last_level() / 4 * 5 && written > last_level() / 4;
    if long && (comes_from_memory(bytes) || leaves) {
        Stores::Streaming
    } else if is_far(bytes) {
        Stores::Far
    } else {
        Stores::Cached
    }
}

/// Whether hardly anything of so many bytes is found in the caches again, so that it is best asked for ahead.
pub(super) fn comes_from_memory(bytes: usize) -> bool {
    bytes / 2 > last_level()
}

/// Whether to ask for what lies ahead of what is read in order, where so many bytes are touched and results stored that way.
pub(super) fn reads_ahead(bytes: usize, stores: Stores) -> bool {
    // Measured for AMD's processors only.
    is_amd() && (stores == Stores::Streaming || comes_from_memory(bytes))
}

/// Whether to ask for what lies far ahead where so many bytes are touched, of which `written` are results: a processor that only
/// reads could read more than it fetches ahead by itself.
pub(super) fn asks_far_ahead(bytes: usize, written: usize) -> bool {
    // Measured for Zen 5 only; a Zen 4 gains nothing 1 KiB ahead.
    is_zen5() && is_far(bytes) && written <= bytes / 3
}

/// Whether the last level does not hold so many bytes for sure.
pub(super) fn is_far(bytes: usize) -> bool {
    bytes > last_level() / 2
}

/// Whether a copy of what lies in order, reading and writing so many bytes, is left to the C library: chains take over where they
/// are faster.
pub(super) fn copies_plainly(bytes: usize) -> bool {
    if is_amd() { bytes <= last_level() * 2 } else { !is_far(bytes) }
}

/// Whether that library also copies rows faster than chains do.
pub(super) fn copies_rows_plainly() -> bool {
    is_amd()
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
