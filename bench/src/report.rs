//! Owns the report of a record: Markdown with every figure, and the pictures beside it. It does not measure.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use zerostride_bench::Mode;

use crate::plot;
use crate::record::{Measurement, OURS, Record, STREAM};
use crate::targets::judge;
use crate::time::time;

/// The names of the pictures that a report shows.
const TIMES: &str = "times.svg";
const ROOFLINE: &str = "roofline.svg";

/// Writes the report and the pictures of a record into a folder, replacing older ones; returns the report's
/// path.
pub(crate) fn write(record: &Record, folder: &Path) -> Result<PathBuf, String> {
    let report = folder.join("record.md");
    let files = [
        (report.clone(), markdown(record)),
        (folder.join(TIMES), plot::ratios(record)),
        (folder.join(ROOFLINE), plot::roofline(record)),
    ];
    let failed = |path: &Path, error| format!("{}: {error}", path.display());
    fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    for (path, text) in files {
        fs::write(&path, text).map_err(|error| failed(&path, error))?;
    }
    Ok(report)
}

/// Adds a line; writing to a string cannot fail.
macro_rules! line {
    ($text:ident, $($argument:tt)*) => {
        let _ = writeln!($text, $($argument)*);
    };
}

fn markdown(record: &Record) -> String {
    let mut text = String::new();
    head(&mut text, record);
    targets(&mut text, record);
    for &(group, heading) in &GROUPS {
        let mut threads: Vec<usize> = record.measurements.iter().map(|found| found.threads).collect();
        threads.sort_unstable();
        threads.dedup();
        for threads in threads {
            for mode in [Mode::Fresh, Mode::Reuse] {
                times(&mut text, record, group, heading, threads, mode);
            }
        }
    }
    memory(&mut text, record);
    cliffs(&mut text, record);
    absent(&mut text, record);
    text
}

const GROUPS: [(&str, &str); 4] = [
    ("main", "The workloads"),
    ("chain", "Chains of operations"),
    ("scaling", "From a thousand to a hundred million elements"),
    ("dtype", "Other dtypes"),
];

fn head(text: &mut String, record: &Record) {
    let machine = &record.machine;
    line!(text, "# {} on {}\n", record.date, machine.name);
    if record.quick {
        line!(text, "A short run: its figures are rough.\n");
    }
    line!(text, "![Time of each peer, in times of zerostride's]({TIMES})\n");
    line!(text, "![Bandwidth against operations per byte]({ROOFLINE})\n");
    line!(
        text,
        "Measured on {}, {} cores, {}, {} GiB of memory, {}, {}; {}. The run took {:.0} minutes.\n",
        machine.processor,
        machine.cores,
        machine.caches.join(", "),
        machine.memory_gib,
        machine.instructions,
        machine.system,
        machine.compiler,
        record.duration / 60.0
    );
    let peers: Vec<String> = record
        .peers
        .iter()
        .filter(|(name, _)| name != STREAM)
        .map(|(name, version)| format!("{name} {version}"))
        .collect();
    line!(text, "Versions: {}.\n", peers.join(", "));
    for (name, reason) in &record.missing {
        line!(text, "{name} did not take part: {reason}.\n");
    }
    line!(
        text,
        "Every process may use as many processors as it has threads. Peers take turns in rounds, in which each computes as \
         long to warm up as it is then measured, some milliseconds; times are medians of the rounds, with half the \
         distance of the quartiles as the spread. **Fresh**: each evaluation returns a new result. **Reuse**: each writes \
         to the same memory. Results are compared with zerostride's before anything is timed. \
         *Limit* is the time in which this machine moves the workload's bytes once, measured in the same rounds by a loop \
         with non-temporal stores (NT-STREAM), or with ordinary ones where those are faster. The Rust peers are built for \
         the machine's own processor; zerostride is built as it is shipped. L2, L3 and RAM say where operands and result \
         fit together.\n"
    );
}

fn targets(text: &mut String, record: &Record) {
    line!(text, "## Targets\n\n| what | bar | measured | |\n|---|---|---|---|");
    for verdict in judge(record) {
        let pass = match verdict.pass {
            Some(true) => "pass",
            Some(false) => "**miss**",
            None => "not measured",
        };
        line!(text, "| {} | {} | {} | {pass} |", verdict.what, verdict.bar, verdict.measured);
    }
    line!(text, "");
}

fn times(text: &mut String, record: &Record, group: &str, heading: &str, threads: usize, mode: Mode) {
    let rows: Vec<&Measurement> = record
        .measurements
        .iter()
        .filter(|found| found.group == group && found.threads == threads && found.of(OURS, mode).is_some())
        .collect();
    if rows.is_empty() {
        return;
    }
    let peers: Vec<&str> = record
        .peers
        .iter()
        .map(|(name, _)| name.as_str())
        .filter(|name| *name != OURS && *name != STREAM)
        .filter(|name| rows.iter().any(|row| row.of(name, mode).is_some()))
        .collect();
    let case = match mode {
        Mode::Fresh => "fresh results",
        Mode::Reuse => "reused memory",
    };
    let plural = if threads == 1 { "thread" } else { "threads" };
    line!(text, "## {heading}: {threads} {plural}, {case}\n");
    line!(text, "| workload | size | zerostride | limit | fastest peer | {} |", peers.join(" | "));
    line!(text, "|---|---|---|---|---|{}", "---|".repeat(peers.len()));
    for row in rows {
        let cell = |peer: &str| {
            row.of(peer, mode).map_or_else(String::new, |series| {
                let (low, high) = series.quartiles;
                format!("{} ±{:.0}%", time(series.median), 50.0 * (high - low) / series.median)
            })
        };
        let times: Vec<String> = peers.iter().map(|peer| cell(peer)).collect();
        let fastest =
            row.fastest(mode).and_then(|peer| Some(format!("**{:.2}x** {}", row.ratio(peer)?, peer.peer)));
        let size = if row.dtype == "f32" { row.size.clone() } else { format!("{} {}", row.size, row.dtype) };
        line!(
            text,
            "| {} | {size} | {} | {} | {} | {} |",
            row.title,
            cell(OURS),
            row.limit().map_or_else(String::new, time),
            fastest.unwrap_or_default(),
            times.join(" | ")
        );
    }
    line!(text, "");
}

fn memory(text: &mut String, record: &Record) {
    if record.memory.is_empty() {
        return;
    }
    let peers: Vec<&str> =
        record.peers.iter().map(|(name, _)| name.as_str()).filter(|name| *name != STREAM).collect();
    line!(
        text,
        "## Peak memory\n\nResident memory at its highest during one evaluation to a new result, above what was resident \
         before, in MiB. Each in a process of its own, which has run the workload on a few elements before.\n"
    );
    line!(text, "| workload | result | {} |\n|---|---|{}", peers.join(" | "), "---|".repeat(peers.len()));
    let mib = |bytes: f64| format!("{:.1}", bytes / f64::from(1 << 20));
    for memory in &record.memory {
        let peaks: Vec<String> = peers
            .iter()
            .map(|peer| match memory.peaks.get(*peer) {
                Some(Ok(bytes)) => mib(*bytes as f64),
                _ => String::new(),
            })
            .collect();
        line!(text, "| {} | {} | {} |", memory.title, mib(memory.result as f64), peaks.join(" | "));
    }
    line!(text, "");
}

/// The results of the search for cliffs: each array of objects is a table, everything else a line.
fn cliffs(text: &mut String, record: &Record) {
    let Some(serde_json::Value::Object(cliffs)) = &record.cliffs else { return };
    line!(text, "## Cliffs\n\nWhat the search over shapes, strides and dtypes has found.\n");
    for (name, value) in cliffs {
        let name = name.replace('_', " ");
        match value.as_array() {
            Some(rows) => table(text, &name, rows),
            None => {
                line!(text, "- {name}: {value}");
            }
        }
    }
}

/// Objects of the same keys.
fn table(text: &mut String, title: &str, rows: &[serde_json::Value]) {
    let rows: Vec<_> = rows.iter().filter_map(serde_json::Value::as_object).collect();
    let Some(first) = rows.first() else { return };
    let names: Vec<&str> = first.keys().map(String::as_str).collect();
    line!(text, "\n### {title}\n\n| {} |\n|{}", names.join(" | "), "---|".repeat(names.len()));
    for row in rows {
        let cells: Vec<String> = names
            .iter()
            .map(|name| match row.get(*name) {
                Some(serde_json::Value::String(text)) => text.replace('|', "\\|"),
                Some(value) => value.to_string(),
                None => String::new(),
            })
            .collect();
        line!(text, "| {} |", cells.join(" | "));
    }
    line!(text, "");
}

/// The reasons for empty cells of the tables, each given once.
fn absent(text: &mut String, record: &Record) {
    let mut reasons: Vec<(&str, &str, Vec<String>)> = Vec::new();
    for found in &record.measurements {
        for (peer, reason) in &found.absent {
            let what = format!("{} ({} {})", found.title, found.size, found.dtype);
            match reasons.iter_mut().find(|(name, known, _)| name == peer && known == reason) {
                Some((_, _, all)) if !all.contains(&what) => all.push(what),
                Some(_) => {}
                None => reasons.push((peer, reason, vec![what])),
            }
        }
    }
    if reasons.is_empty() {
        return;
    }
    reasons.sort();
    line!(text, "## Empty places\n");
    for (peer, reason, all) in reasons {
        line!(text, "- {peer}: {reason}: {}", all.join(", "));
    }
    line!(text, "");
}
