//! Owns the amount of memory that an evaluation may take if nobody says: half of what the machine, the control group and
//! the process's own limit leave. It does not know what it is taken for.

use std::fs;
use std::path::Path;

use crate::tensor::share_heap;

/// Bytes assumed where the system does not tell.
const UNKNOWN: u64 = 1 << 30;

/// The bytes that an evaluation may take by default: half of what the machine, the control groups that the process lives in
/// and its own limit (RLIMIT_AS) leave.
pub fn available() -> u64 {
    let available = [machine(), control_group(), address_space()];
    available.into_iter().flatten().min().unwrap_or(2 * UNKNOWN) / 2
}

/// Leaves addresses to arrays where the process may have only so many (RLIMIT_AS): the C library else reserves 64 MiB of
/// them for each thread. To be called before the first evaluation, which starts threads; elsewhere it does nothing.
///
/// ```
/// zerostride::stream::save_addresses();
/// ```
pub fn save_addresses() {
    if address_space().is_some() {
        share_heap();
    }
}

fn machine() -> Option<u64> {
    kibibytes(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")
}

/// What the process's control groups, and those around them, leave of their limits; version 2 and version 1.
fn control_group() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let left = groups.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?.trim_start_matches('/'));
        let (root, limit, usage) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max", "memory.current"),
            _ if controllers.split(',').any(|controller| controller == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes")
            }
            _ => return None,
        };
        let folder = Path::new(root).join(path);
        let own = folder.ancestors().take_while(|folder| folder.starts_with(root));
        own.filter_map(|folder| {
            Some(number(&folder.join(limit))?.saturating_sub(number(&folder.join(usage))?))
        })
        .min()
    });
    left.min()
}

/// A file that holds a number; `max` is none.
fn number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// What is left of the address space that the process may have (RLIMIT_AS).
fn address_space() -> Option<u64> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let limit: u64 = line.split_whitespace().next()?.parse().ok()?;
    let used = kibibytes(&fs::read_to_string("/proc/self/status").ok()?, "VmSize:")?;
    Some(limit.saturating_sub(used))
}

/// The amount behind a name in the manner of `/proc/meminfo`.
fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_is_understood_where_it_tells() {
        assert_eq!(kibibytes("A: 1 kB\nMemAvailable:   20 kB\n", "MemAvailable:"), Some(20 << 10));
        assert!(available() > 0);
        if cfg!(target_os = "linux") {
            assert!(machine().is_some());
        }
    }
}
