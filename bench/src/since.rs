//! Owns the comparison of two records of one machine: zerostride's times then and now. It does not know the
//! peers.

use crate::record::{Measurement, OURS, Record, Series};
use crate::time::time;

/// Cells with a smaller ratio are counted.
const SLOWER: f64 = 0.95;

/// The times then divided by those now, as text: a line for each workload and mode that both records have,
/// slowest first, and the geometric mean. Times are the shortest of all rounds.
pub(crate) fn compared(then: &Record, now: &Record) -> Result<String, String> {
    if then.machine.name != now.machine.name {
        return Err(format!("the records are of {} and {}", then.machine.name, now.machine.name));
    }
    let mut pairs: Vec<(f64, String)> = Vec::new();
    for measurement in &now.measurements {
        let Some(earlier) = then.measurements.iter().find(|earlier| is_same(earlier, measurement)) else {
            continue;
        };
        for now in measurement.series.iter().filter(|series| series.peer == OURS) {
            if let Some(then) = earlier.of(OURS, now.mode) {
                let ratio = then.best / now.best;
                pairs.push((ratio, line(ratio, measurement, then, now)));
            }
        }
    }
    if pairs.is_empty() {
        return Err("the records have no workload in common".into());
    }
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mean = (pairs.iter().map(|(ratio, _)| ratio.ln()).sum::<f64>() / pairs.len() as f64).exp();
    let slower = pairs.iter().filter(|(ratio, _)| *ratio < SLOWER).count();
    let lines: Vec<&str> = pairs.iter().map(|(_, line)| line.as_str()).collect();
    let (since, count) = (&then.date, pairs.len());
    let lines = lines.join("\n");
    Ok(format!(
        "{lines}\n\nsince {since}: {mean:.2} times the speed of {count} cells, {slower} below {SLOWER}"
    ))
}

/// Whether two measurements are of the same workload.
fn is_same(a: &Measurement, b: &Measurement) -> bool {
    (&a.workload, &a.size, &a.dtype, a.threads) == (&b.workload, &b.size, &b.dtype, b.threads)
}

fn line(ratio: f64, measurement: &Measurement, then: &Series, now: &Series) -> String {
    let Measurement { workload, size, dtype, threads, .. } = measurement;
    let mode = format!("{:?}", now.mode).to_lowercase();
    let (then, now) = (time(then.best), time(now.best));
    format!("{ratio:>5.2}  {workload:<16} {size:>4} {dtype:>4} {threads}T {mode:<5} {then:>9} -> {now:>9}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use zerostride_bench::Mode;

    use super::*;
    use crate::machine::Machine;

    fn record(times: &[(&str, f64)]) -> Record {
        let measurement = |&(workload, best): &(&str, f64)| {
            let (workload, title) = (workload.to_owned(), workload.to_owned());
            let series = Series {
                peer: OURS.into(),
                mode: Mode::Fresh,
                median: best,
                quartiles: (best, best),
                best,
                rounds: 1,
            };
            Measurement {
                workload,
                title,
                group: "main".into(),
                size: "L2".into(),
                dtype: "f32".into(),
                threads: 1,
                traffic: 0,
                operations: 1.0,
                series: vec![series],
                absent: BTreeMap::new(),
            }
        };
        Record {
            machine: Machine::this(),
            date: "2026-01-31".into(),
            duration: 0.0,
            quick: true,
            peers: Vec::new(),
            missing: Vec::new(),
            measurements: times.iter().map(measurement).collect(),
            memory: Vec::new(),
            cliffs: None,
        }
    }

    #[test]
    fn cells_of_both_records_are_compared_slowest_first() {
        let then = record(&[("add", 1e-6), ("gelu", 4e-6), ("gone", 1e-6)]);
        let now = record(&[("new", 1e-6), ("gelu", 1e-6), ("add", 4e-6)]);
        let text = compared(&then, &now).expect("two cells are in both");
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with(" 0.25  add ") && lines[1].starts_with(" 4.00  gelu "), "{text}");
        assert_eq!(lines[3], "since 2026-01-31: 1.00 times the speed of 2 cells, 1 below 0.95");
    }

    #[test]
    fn records_that_cannot_be_compared_say_why() {
        let (then, now) = (record(&[("add", 1e-6)]), record(&[("gelu", 1e-6)]));
        assert_eq!(compared(&then, &now).unwrap_err(), "the records have no workload in common");
        let mut other = record(&[("add", 1e-6)]);
        other.machine.name = "another".into();
        assert!(compared(&then, &other).unwrap_err().ends_with(" and another"));
    }
}
