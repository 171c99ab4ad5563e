//! Owns `cargo xtask accuracy`: the search of every `f32`, or of random `f64`, for the largest error of each
//! function, and of every `f32` for neighbours whose results are in the wrong order, which takes an hour or
//! two; and the tables of them in `docs/accuracy.md`. It does not know how an error is measured
//! (`crates/kernels/src/math/tests/accuracy.rs`, `spec/golden/search.py`).

use std::process::{Command, Stdio};

use crate::{Outcome, golden, python, root, run};

const DOCUMENT: &str = "docs/accuracy.md";
const TABLE: &str = "| function over every `f32` | error | at | in the wrong order |\n|---|---|---|---|\n";

/// Installs the package beside MPFR, searches random `f64`, and writes their table.
pub(crate) fn sample(words: &[&str]) -> Outcome {
    let python = golden::python()?;
    python::install_release(&python)?;
    run(Command::new(&python).arg("spec/golden/search.py").args(words))
}

/// Searches, and writes the table. Only functions of which the search looks at `filter` lines are replaced.
pub(crate) fn write(filter: &str) -> Outcome {
    let test = format!("every_f32_is_within_the_documented_error::{filter}");
    let mut search = Command::new(env!("CARGO"));
    search.args(["test", "--release", "--package", "zerostride-kernels", "--lib", &test, "--"]);
    search
        .args(["--ignored", "--nocapture", "--test-threads", "1"])
        .current_dir(root())
        .stderr(Stdio::inherit());
    // A test fails where the document has a smaller error, which is what this replaces.
    let output = search.output().map_err(|error| format!("cannot run the search: {error}"))?;
    let output = String::from_utf8_lossy(&output.stdout);
    let found: Vec<(&str, String)> = output.lines().filter_map(row).collect();
    if found.is_empty() {
        return Err(format!("the search found nothing:\n{output}"));
    }
    let path = root().join(DOCUMENT);
    let failed = |error| format!("{DOCUMENT}: {error}");
    let document = std::fs::read_to_string(&path).map_err(failed)?;
    let (before, rest) = document.split_once(TABLE).ok_or(format!("{DOCUMENT} lacks the table {TABLE}"))?;
    let (table, after) = rest.split_once("\n\n").ok_or(format!("{DOCUMENT} ends in the table"))?;
    let kept = table.lines().filter(|line| !found.iter().any(|(name, _)| line.starts_with(&heading(name))));
    let mut rows: Vec<&str> = kept.chain(found.iter().map(|(_, row)| row.as_str())).collect();
    rows.sort_unstable();
    let document = format!("{before}{TABLE}{}\n\n{after}", rows.join("\n"));
    std::fs::write(&path, document).map_err(failed)?;
    println!("{DOCUMENT} has the largest errors of {} functions; their bounds stand above", found.len());
    Ok(())
}

fn heading(name: &str) -> String {
    format!("| `{name}` |")
}

/// The name and the row that the line of a test, `name: error at argument, count pairs in the wrong order`,
/// becomes.
fn row(line: &str) -> Option<(&str, String)> {
    let (before, found) = line.split_once(": ")?;
    // The harness writes what it runs in the same line.
    let name = before.rsplit(' ').next()?;
    let (error, found) = found.split_once(" at ")?;
    let (at, count) = found.strip_suffix(" pairs in the wrong order")?.split_once(", ")?;
    let rounded_up = (error.parse::<f64>().ok()? * 1e4).ceil() / 1e4;
    Some((name, format!("{} {rounded_up:.4} | {at} | {count} |", heading(name))))
}
