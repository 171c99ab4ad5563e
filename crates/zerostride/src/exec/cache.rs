//! Owns the sizes of the processor's caches: read once from the system, or common ones. It does not know what they are
//! used for.

use std::fs;
use std::sync::OnceLock;

/// Bytes of the last level of cache, which all cores share.
pub(super) fn last_level() -> usize {
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
