//! Owns the targets of a run, and the judgement of a record by them. It does not measure: the targets are in
//! one table, and the values beside them come from the record.

use zerostride_bench::Mode;

use crate::record::{Measurement, OURS, Record};
use crate::time::time;

/// One line of the table of targets.
pub(crate) struct Verdict {
    pub(crate) what: String,
    pub(crate) bar: String,
    /// The measured value; empty if this run did not measure it.
    pub(crate) measured: String,
    pub(crate) pass: Option<bool>,
}

/// Judges a record, at its largest number of threads unless a target says otherwise.
pub(crate) fn judge(record: &Record) -> Vec<Verdict> {
    let mut verdicts = vec![everywhere(record), on_average(record)];
    verdicts.extend(["chain_1", "chain_4", "chain_8", "chain_12"].map(|chain| near_limit(record, chain)));
    verdicts.extend(
        [
            ("normalise", "JAX", 3.0),
            ("layer_norm", "JAX", 3.0),
            ("softmax", "JAX", 3.0),
            ("gelu", "JAX", 2.0),
            ("transposed", "JAX", 3.0),
            ("transposed", "NumPy", 10.0),
            ("pairs_16", "JAX", 5.0),
            ("pairs_3", "JAX", 5.0),
            ("image", "JAX", 1.0),
        ]
        .map(|(workload, peer, bar)| times_as_fast(record, workload, peer, bar)),
    );
    verdicts.extend(["pairs_16", "pairs_3"].map(|workload| peak_memory(record, workload)));
    verdicts.push(tiny(record));
    verdicts
}

/// The measurements that are compared with every peer.
fn compared(record: &Record) -> impl Iterator<Item = (&Measurement, f64)> {
    let threads = record.threads();
    record
        .measurements
        .iter()
        .filter(move |found| found.group == "main" && found.threads == threads)
        .filter_map(|found| Some((found, found.ratio(found.fastest(found.mode())?)?)))
}

fn everywhere(record: &Record) -> Verdict {
    let worst = compared(record).min_by(|a, b| a.1.total_cmp(&b.1));
    let behind = compared(record).filter(|(_, ratio)| *ratio < 1.0).count();
    verdict(
        "every workload and size, against the fastest peer".into(),
        "at least 1.0x",
        worst.map(|(found, ratio)| {
            let all = compared(record).count();
            let text =
                format!("{ratio:.2}x at worst ({}, {}); {behind} of {all} below", found.title, found.size);
            (text, behind == 0)
        }),
    )
}

fn on_average(record: &Record) -> Verdict {
    let logarithms: Vec<f64> = compared(record).map(|(_, ratio)| ratio.ln()).collect();
    let mean = (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp();
    let measured = (!logarithms.is_empty()).then(|| (format!("{mean:.2}x"), mean >= 2.0));
    verdict("the same, geometric mean".into(), "at least 2x", measured)
}

fn near_limit(record: &Record, workload: &str) -> Verdict {
    let measured = record.find(workload, "RAM").and_then(|found| {
        let best = [Mode::Fresh, Mode::Reuse].into_iter().filter_map(|mode| found.of(OURS, mode));
        let part = found.limit()? / best.map(|series| series.median).min_by(f64::total_cmp)?;
        Some((format!("{part:.2}"), part >= 0.85))
    });
    verdict(
        format!("{} of large arrays, against NT-STREAM", workload.replace('_', " of ")),
        "at least 0.85",
        measured,
    )
}

fn times_as_fast(record: &Record, workload: &str, peer: &str, bar: f64) -> Verdict {
    let found = record.find(workload, "RAM");
    let measured = found.and_then(|found| {
        let ratio = found.ratio(found.of(peer, Mode::Fresh)?)?;
        Some((format!("{ratio:.2}x"), ratio >= bar))
    });
    let title = found.map_or(workload, |found| &found.title);
    verdict(format!("{title}, against {peer}"), &format!("at least {bar:.1}x"), measured)
}

fn peak_memory(record: &Record, workload: &str) -> Verdict {
    let found = record.memory.iter().find(|memory| memory.workload == workload);
    let measured = found.and_then(|memory| {
        let peak = *memory.peaks.get(OURS)?.as_ref().ok()?;
        let above = peak as f64 - memory.result as f64;
        let mib = f64::from(1 << 20);
        Some((format!("the output and {:.2} MiB", above / mib), above <= mib))
    });
    let title = found.map_or(workload, |memory| &memory.title);
    verdict(format!("{title}, peak memory"), "the output and 1 MiB", measured)
}

fn tiny(record: &Record) -> Verdict {
    let found = record
        .measurements
        .iter()
        .find(|found| found.workload == "tiny" && found.threads == record.threads());
    let measured = found.and_then(Measurement::ours).map(|ours| (time(ours.median), ours.median <= 60e-9));
    verdict("tiny operation, in Rust".into(), "at most 60 ns", measured)
}

fn verdict(what: String, bar: &str, measured: Option<(String, bool)>) -> Verdict {
    let (measured, pass) = measured.map_or((String::new(), None), |(text, pass)| (text, Some(pass)));
    Verdict { what, bar: bar.into(), measured, pass }
}
