//! Owns the output of `zs eval --json`: one stable line about an evaluation, for programs. It does not know
//! how it ran.

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use zerostride::stream::Passes;
use zerostride::{DType, Plan, Shape};

use crate::evaluate::Budget;

/// The result of an evaluation, what it reads and how much memory it needs.
pub(super) struct Summary {
    dtype: DType,
    shape: Shape,
    written: u64,
    pub(super) read: u64,
    pub(super) passes: usize,
    pub(super) memory: u64,
}

impl Summary {
    /// The summary of passes over files, or of a plan that runs in memory. `before` is what was reserved and
    /// read before.
    pub(super) fn new(plan: &Plan, passes: Option<&Passes>, before: &Budget) -> Summary {
        let in_memory = || (plan.output_bytes() as u64).saturating_add(plan.scratch_bytes() as u64);
        let memory = passes.map_or_else(in_memory, Passes::memory);
        Summary {
            dtype: plan.dtype(),
            shape: plan.shape().clone(),
            written: plan.output_bytes() as u64,
            read: passes.map_or(0, Passes::bytes_read).saturating_add(before.read()),
            passes: passes.map_or(1, Passes::len),
            memory: memory.saturating_add(before.taken()),
        }
    }
}

/// The line. `summary` is `None` if a dry run could not determine one, `elapsed` if nothing has run.
pub(super) fn json(summary: Option<&Summary>, output: Option<&Path>, elapsed: Option<Duration>) -> String {
    json!({
        "version": 1,
        "dtype": summary.map(|summary| summary.dtype.name()),
        "shape": summary.map(|summary| &summary.shape[..]),
        "output": output.map(|path| path.to_string_lossy()),
        "bytes_written": summary.map(|summary| summary.written),
        "bytes_read": summary.map(|summary| summary.read),
        "passes": summary.map(|summary| summary.passes),
        "memory": summary.map(|summary| summary.memory),
        "seconds": elapsed.map(|elapsed| elapsed.as_secs_f64()),
        "peak_resident": elapsed.and_then(|_| peak_resident()),
    })
    .to_string()
}

/// The peak of the process's resident memory in bytes, if the system reports it.
fn peak_resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()? << 10)
}
