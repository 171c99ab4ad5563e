//! Owns the output of `zs eval --json`: one stable line about an evaluation, for programs. It does not know
//! how it ran.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use zerostride::stream::Passes;
use zerostride::{DType, Plan};

use crate::evaluate::Budget;

/// The result of an evaluation, what it reads and how much memory it needs.
pub(super) struct Summary {
    /// The dtype and shape of each result.
    arrays: Vec<(DType, Vec<usize>)>,
    written: u64,
    pub(super) read: u64,
    pub(super) passes: usize,
    pub(super) memory: u64,
}

impl Summary {
    /// The summary of passes over files, or of a plan that runs in memory. `before` is what was reserved and
    /// read before.
    pub(super) fn new(
        arrays: &[(DType, &[usize])],
        plan: &Plan,
        passes: Option<&Passes>,
        before: &Budget,
    ) -> Summary {
        let in_memory = || (plan.output_bytes() as u64).saturating_add(plan.scratch_bytes() as u64);
        let memory = passes.map_or_else(in_memory, Passes::memory);
        Summary {
            arrays: arrays.iter().map(|(dtype, shape)| (*dtype, shape.to_vec())).collect(),
            written: plan.output_bytes() as u64,
            read: passes.map_or(0, Passes::bytes_read).saturating_add(before.read()),
            passes: passes.map_or(1, Passes::len),
            memory: memory.saturating_add(before.taken()),
        }
    }
}

/// The line. `summary` is `None` if a dry run could not determine one, `elapsed` if nothing has run. Of
/// several results `dtype`, `shape` and `output` are lists.
pub(super) fn json(summary: Option<&Summary>, outputs: &[PathBuf], elapsed: Option<Duration>) -> String {
    let arrays = summary.map_or(&[][..], |summary| &summary.arrays);
    let listed = |values: Vec<Value>| match values.len() {
        0 => Value::Null,
        1 => values.into_iter().next().unwrap_or_default(),
        _ => Value::Array(values),
    };
    json!({
        "version": 1,
        "dtype": listed(arrays.iter().map(|(dtype, _)| json!(dtype.name())).collect()),
        "shape": listed(arrays.iter().map(|(_, shape)| json!(shape)).collect()),
        "output": listed(outputs.iter().map(|path| json!(path.to_string_lossy())).collect()),
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
