//! Owns the results of a run, and their form as a JSON file. It does not judge (`targets.rs`) nor draw them
//! (`plot.rs`).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use zerostride_bench::Mode;

use crate::machine::Machine;

/// The peer that the others are compared with.
pub(crate) const OURS: &str = "zerostride";
/// The peer that only moves bytes.
pub(crate) const STREAM: &str = "stream";

/// One run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) machine: Machine,
    /// The day, as `2026-01-31`.
    pub(crate) date: String,
    /// Seconds that the run took, without building and installing.
    pub(crate) duration: f64,
    /// Whether this was a short run, whose figures are rough.
    pub(crate) quick: bool,
    /// Versions by name.
    pub(crate) peers: Vec<(String, String)>,
    /// Peers that could not take part, and why.
    pub(crate) missing: Vec<(String, String)>,
    pub(crate) measurements: Vec<Measurement>,
    pub(crate) memory: Vec<Memory>,
    /// The worst cases that the search for cliffs has found, if it has run on this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cliffs: Option<serde_json::Value>,
}

/// One workload at one size, dtype and number of threads.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Measurement {
    pub(crate) workload: String,
    pub(crate) title: String,
    /// `main`, `chain`, `scaling` or `dtype`.
    pub(crate) group: String,
    pub(crate) size: String,
    pub(crate) dtype: String,
    pub(crate) threads: usize,
    /// Bytes of the operands and the result together.
    pub(crate) traffic: usize,
    /// Operations of the op table, in elements.
    pub(crate) operations: f64,
    pub(crate) series: Vec<Series>,
    /// Peers without figures, and why.
    pub(crate) absent: BTreeMap<String, String>,
}

/// The times of one peer in one mode, in seconds for one evaluation.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Series {
    pub(crate) peer: String,
    pub(crate) mode: Mode,
    pub(crate) median: f64,
    /// The first and the third quartile.
    pub(crate) quartiles: (f64, f64),
    pub(crate) best: f64,
    pub(crate) rounds: usize,
}

/// Peak memory of one evaluation to a new result.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Memory {
    pub(crate) workload: String,
    pub(crate) title: String,
    pub(crate) size: String,
    /// Bytes of the result.
    pub(crate) result: usize,
    /// Bytes above what was resident before, or why there is no figure.
    pub(crate) peaks: BTreeMap<String, Result<u64, String>>,
}

impl Measurement {
    /// The times of one peer.
    pub(crate) fn of(&self, peer: &str, mode: Mode) -> Option<&Series> {
        self.series.iter().find(|series| series.peer == peer && series.mode == mode)
    }

    /// zerostride's time in the mode in which peers are compared: a new result, unless the workload is in
    /// place.
    pub(crate) fn ours(&self) -> Option<&Series> {
        self.of(OURS, self.mode())
    }

    /// The mode that this workload is compared in.
    pub(crate) fn mode(&self) -> Mode {
        if self.of(OURS, Mode::Fresh).is_some() { Mode::Fresh } else { Mode::Reuse }
    }

    /// The other libraries' times in a mode, without the limit.
    pub(crate) fn peers(&self, mode: Mode) -> impl Iterator<Item = &Series> {
        self.series
            .iter()
            .filter(move |series| series.mode == mode && series.peer != OURS && series.peer != STREAM)
    }

    /// The fastest peer in a mode.
    pub(crate) fn fastest(&self, mode: Mode) -> Option<&Series> {
        self.peers(mode).min_by(|a, b| a.median.total_cmp(&b.median))
    }

    /// A peer's time as a multiple of zerostride's.
    pub(crate) fn ratio(&self, peer: &Series) -> Option<f64> {
        Some(peer.median / self.of(OURS, peer.mode)?.median)
    }

    /// Seconds that this machine needs to move the workload's bytes: with non-temporal stores, or ordinary
    /// ones if they are faster.
    pub(crate) fn limit(&self) -> Option<f64> {
        let of = |mode| self.of(STREAM, mode).map(|series| series.median);
        of(Mode::Fresh).into_iter().chain(of(Mode::Reuse)).min_by(f64::total_cmp)
    }
}

impl Record {
    /// The largest number of threads that was measured.
    pub(crate) fn threads(&self) -> usize {
        self.measurements.iter().map(|measurement| measurement.threads).max().unwrap_or(1)
    }

    /// The measurements of a workload at a size, in f32, with all threads.
    pub(crate) fn find(&self, workload: &str, size: &str) -> Option<&Measurement> {
        let threads = self.threads();
        self.measurements.iter().find(|found| {
            found.workload == workload
                && found.size == size
                && found.dtype == "f32"
                && found.threads == threads
        })
    }
}

/// Reads a record.
pub(crate) fn read(path: &Path) -> Result<Record, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Writes a record.
pub(crate) fn write(record: &Record, path: &Path) -> Result<(), String> {
    let text = serde_json::to_string_pretty(record).map_err(|error| error.to_string())?;
    fs::write(path, text + "\n").map_err(|error| format!("{}: {error}", path.display()))
}

/// The newest record of a full run in a machine's folder.
pub(crate) fn newest(folder: &Path) -> Result<Option<PathBuf>, String> {
    let failed = |error| format!("{}: {error}", folder.display());
    let mut newest = None;
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        // A full run's record is named after its day; those of partial runs have longer names.
        let is_record = name.strip_suffix(".json").is_some_and(|day| {
            day.len() == "2026-01-31".len() && day.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit())
        });
        if is_record {
            newest = newest.max(Some(path));
        }
    }
    Ok(newest)
}

/// The results of the search for cliffs, if it has run.
pub(crate) fn read_cliffs(path: &Path) -> Result<Option<serde_json::Value>, String> {
    match fs::read_to_string(path) {
        Ok(text) => {
            serde_json::from_str(&text).map(Some).map_err(|error| format!("{}: {error}", path.display()))
        }
        Err(_) => Ok(None),
    }
}
