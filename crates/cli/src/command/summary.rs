//! Owns what `zs eval --json` says about an evaluation: one line for programs, stable. It does not know how it ran.

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use zerostride::stream::Passes;

use crate::evaluate::Budget;

/// The summary; `before` is what was taken and read before the passes. Without passes a dry run could not tell any, without a
/// time nothing has run.
pub(super) fn json(
    passes: Option<&Passes>,
    before: &Budget,
    output: Option<&Path>,
    elapsed: Option<Duration>,
) -> String {
    json!({
        "version": 1,
        "dtype": passes.map(|passes| passes.dtype().name()),
        "shape": passes.map(|passes| &passes.shape()[..]),
        "output": output.map(|path| path.to_string_lossy()),
        "bytes_written": passes.map(Passes::output_bytes),
        "bytes_read": passes.map(|passes| passes.bytes_read().saturating_add(before.read())),
        "passes": passes.map(Passes::len),
        "memory": passes.map(|passes| passes.memory().saturating_add(before.taken())),
        "seconds": elapsed.map(|elapsed| elapsed.as_secs_f64()),
        "peak_resident": elapsed.and_then(|_| peak_resident()),
    })
    .to_string()
}

/// The most bytes of memory that the process has had, where the system tells.
fn peak_resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()? << 10)
}
