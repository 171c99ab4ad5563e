//! Owns the default limit on the memory of an evaluation: half of what the machine, the control group and the
//! process's own limit leave. It does not know what the memory is for.

use std::fs;
use std::path::{Path, PathBuf};

use crate::memory::share_heap;

/// Bytes assumed where the system does not tell.
const ASSUMED_BYTES: u64 = 1 << 30;

/// The bytes that an evaluation may take by default: half of what the machine, the control groups that the
/// process lives in and its own limit (RLIMIT_AS) leave.
pub fn available() -> u64 {
    System::here().available().unwrap_or(2 * ASSUMED_BYTES) / 2
}

/// Saves address space for arrays where the process has a limit on it (RLIMIT_AS): otherwise the C library
/// reserves 64 MiB of addresses for each thread. Call it before the first evaluation, which starts threads;
/// on other systems it does nothing.
///
/// ```
/// zerostride::stream::save_addresses();
/// ```
pub fn save_addresses() {
    if System::here().address_space().is_some() {
        share_heap();
    }
}

/// Where the system tells of memory: the file system, or what stands in its place in tests.
struct System {
    root: PathBuf,
}

/// The names of a controller's files.
struct Controller {
    mount: &'static str,
    limit: &'static str,
    usage: &'static str,
    /// In `memory.stat`: pages of files, which the system gives up before it refuses anything.
    files: [&'static str; 2],
}

const UNIFIED: Controller = Controller {
    mount: "sys/fs/cgroup",
    limit: "memory.max",
    usage: "memory.current",
    files: ["inactive_file", "active_file"],
};

const VERSION_1: Controller = Controller {
    mount: "sys/fs/cgroup/memory",
    limit: "memory.limit_in_bytes",
    usage: "memory.usage_in_bytes",
    files: ["total_inactive_file", "total_active_file"],
};

impl System {
    fn here() -> System {
        System { root: "/".into() }
    }

    /// The smallest of these limits.
    fn available(&self) -> Option<u64> {
        let machine = self.text("proc/meminfo").and_then(|text| kibibytes(&text, "MemAvailable:"));
        [machine, self.control_groups(), self.address_space()].into_iter().flatten().min()
    }

    /// What the process's control groups, and those around them, leave of their limits.
    fn control_groups(&self) -> Option<u64> {
        let groups = self.text("proc/self/cgroup")?;
        let left = groups.lines().filter_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let (controllers, path) = (fields.next()?, fields.next()?.trim_start_matches('/'));
            let controller = match controllers {
                "" => UNIFIED,
                _ if controllers.split(',').any(|controller| controller == "memory") => VERSION_1,
                _ => return None,
            };
            // In a container the path may be one of the machine outside, and only the mount itself be there.
            let mount = self.root.join(controller.mount);
            let folder = mount.join(path);
            folder
                .ancestors()
                .take_while(|folder| folder.starts_with(&mount))
                .filter_map(|at| controller.left(at))
                .min()
        });
        left.min()
    }

    /// What is left of the address space that the process may have (RLIMIT_AS).
    fn address_space(&self) -> Option<u64> {
        let limits = self.text("proc/self/limits")?;
        let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
        let limit: u64 = line.split_whitespace().next()?.parse().ok()?;
        let used = kibibytes(&self.text("proc/self/status")?, "VmSize:")?;
        Some(limit.saturating_sub(used))
    }

    fn text(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root.join(path)).ok()
    }
}

impl Controller {
    /// What one group leaves; `None` if it has no limit.
    fn left(&self, folder: &Path) -> Option<u64> {
        let number = |name| fs::read_to_string(folder.join(name)).ok()?.trim().parse::<u64>().ok();
        let (limit, usage) = (number(self.limit)?, number(self.usage)?);
        let stat = fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
        let files = stat.lines().filter_map(|line| {
            let (name, bytes) = line.split_once(' ')?;
            if self.files.contains(&name) { bytes.trim().parse::<u64>().ok() } else { None }
        });
        Some(limit.saturating_sub(usage.saturating_sub(files.sum())))
    }
}

/// The amount behind a name in the manner of `/proc/meminfo`.
fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn the_system_is_understood_where_it_tells() {
        assert_eq!(kibibytes("A: 1 kB\nMemAvailable:   20 kB\n", "MemAvailable:"), Some(20 << 10));
        assert!(available() > 0);
        if cfg!(target_os = "linux") {
            assert!(System::here().available().is_some());
        }
    }

    /// A system with a GiB, and what else it says of itself.
    fn system(files: &[(&str, &str)]) -> (tempfile::TempDir, System) {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in
            [("proc/meminfo", "MemTotal: 2097152 kB\nMemAvailable: 1048576 kB\n")].iter().chain(files)
        {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let root = folder.path().to_owned();
        (folder, System { root })
    }

    #[test]
    fn the_narrowest_limit_around_the_process_counts() {
        let limits = |bytes| {
            format!("Limit  Soft  Hard  Units\nMax address space         {bytes}  unlimited  bytes\n")
        };
        let (limited, unlimited) = (limits("209715200"), limits("unlimited"));
        for (files, left) in [
            (&[][..], 1024),
            // Version 2: the group, one around it, pages of files that can go.
            (
                &[
                    ("proc/self/cgroup", "0::/a/b\n"),
                    ("sys/fs/cgroup/a/b/memory.max", "314572800\n"),
                    ("sys/fs/cgroup/a/b/memory.current", "104857600\n"),
                ],
                200,
            ),
            (
                &[
                    ("proc/self/cgroup", "0::/a/b\n"),
                    ("sys/fs/cgroup/a/b/memory.max", "max\n"),
                    ("sys/fs/cgroup/a/b/memory.current", "0\n"),
                    ("sys/fs/cgroup/a/memory.max", "314572800\n"),
                    ("sys/fs/cgroup/a/memory.current", "0\n"),
                ],
                300,
            ),
            (
                &[
                    ("proc/self/cgroup", "0::/a\n"),
                    ("sys/fs/cgroup/a/memory.max", "314572800\n"),
                    ("sys/fs/cgroup/a/memory.current", "314572800\n"),
                    ("sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file 52428800\nactive_file 52428800\n"),
                ],
                100,
            ),
            // A container that sees its own group as the mount, and a path from outside.
            (
                &[
                    ("proc/self/cgroup", "0::/outside/c\n"),
                    ("sys/fs/cgroup/memory.max", "104857600\n"),
                    ("sys/fs/cgroup/memory.current", "0\n"),
                ],
                100,
            ),
            // Version 1, which says "no limit" with a number.
            (
                &[
                    ("proc/self/cgroup", "5:cpu:/\n4:memory:/a\n0::/\n"),
                    ("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "157286400\n"),
                    ("sys/fs/cgroup/memory/a/memory.usage_in_bytes", "104857600\n"),
                    ("sys/fs/cgroup/memory/a/memory.stat", "cache 1\ntotal_inactive_file 52428800\n"),
                ],
                100,
            ),
            (
                &[
                    ("proc/self/cgroup", "4:memory:/\n"),
                    ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
                    ("sys/fs/cgroup/memory/memory.usage_in_bytes", "0\n"),
                ],
                1024,
            ),
            // The process's own limit.
            (&[("proc/self/limits", &*limited), ("proc/self/status", "VmSize:   102400 kB\n")], 100),
            (&[("proc/self/limits", &*unlimited), ("proc/self/status", "VmSize:   102400 kB\n")], 1024),
        ] {
            let (_folder, system) = system(files);
            assert_eq!(system.available(), Some(left * MIB), "{files:?}");
        }
    }
}
