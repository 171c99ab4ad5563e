//! Owns the rounds: peers take turns on one workload, so that disturbances of the machine affect all of them.
//! It does not know what is computed.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use zerostride_bench::{Mode, Reply, Request, Task};

use crate::process::{Process, reason};
use crate::record::{Measurement, OURS, STREAM, Series};
use crate::workload::Cell;

/// How thorough a run is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    /// Samples of each peer and mode.
    pub(crate) rounds: usize,
    /// The length of a sample: as many evaluations as fit, at least one.
    pub(crate) sample: Duration,
    /// The time after which no further round starts, once there are three.
    pub(crate) cell: Duration,
}

/// The fewest rounds that have a meaningful median.
const LEAST_ROUNDS: usize = 3;
/// Seconds of an evaluation above which one round without warm-up is enough.
const SLOW: f64 = 0.2;
/// A pause between two peers. The threads of NumPy and numexpr spin for more than two milliseconds after an
/// evaluation, and would take a processor from the next peer.
const PAUSE: Duration = Duration::from_millis(20);
/// Elements of a result that are compared.
const COMPARED: usize = 1 << 18;

/// One peer in one mode.
struct Runner {
    process: usize,
    mode: Mode,
    warm: usize,
    repeats: usize,
    slow: bool,
    times: Vec<f64>,
}

/// Measures one workload with all peers.
pub(crate) fn measure(cell: &Cell, processes: &mut [Process], threads: usize, effort: Effort) -> Measurement {
    // If the operands of all peers do not fit into memory together, each peer makes them for its own turn.
    let each = cell.task.traffic() + 2 * cell.task.result_bytes();
    let frugal = available_memory().is_some_and(|bytes| each * processes.len() > bytes / 2);
    let mut absent = BTreeMap::new();
    let mut runners = Vec::new();
    let mut reference = None;
    for (index, process) in processes.iter_mut().enumerate() {
        let outcome = introduce(process, &cell.task, &mut reference).and_then(|modes| {
            for mode in modes {
                runners.push(calibrate(process, index, mode, effort)?);
            }
            Ok(())
        });
        if let Err(reason) = outcome {
            runners.retain(|runner: &Runner| runner.process != index);
            absent.insert(process.name.clone(), reason);
        }
        if frugal || absent.contains_key(&process.name) {
            let _ = process.ask(&Request::Drop);
        }
    }
    let start = Instant::now();
    for round in 0..effort.rounds {
        if round >= LEAST_ROUNDS && start.elapsed() > effort.cell {
            break;
        }
        // The first peer changes from round to round, so that none always follows the same one, whose heat
        // slows the processor.
        let first = round % runners.len().max(1);
        runners.rotate_left(first);
        for runner in runners.iter_mut().filter(|runner| !runner.slow || round < LEAST_ROUNDS) {
            let process = &mut processes[runner.process];
            if frugal && prepare(process, &cell.task).is_err() {
                continue;
            }
            sleep(PAUSE);
            if let Ok(seconds) = sample(process, runner.mode, runner.warm, runner.repeats) {
                runner.times.push(seconds);
            }
            if frugal {
                let _ = process.ask(&Request::Drop);
            }
        }
    }
    for process in processes.iter_mut() {
        let _ = process.ask(&Request::Drop);
    }
    runners.sort_by_key(|runner| (runner.process, runner.mode));
    let series = runners
        .into_iter()
        .filter(|runner| !runner.times.is_empty())
        .map(|runner| series(&processes[runner.process].name, runner.mode, runner.times))
        .collect();
    Measurement {
        workload: cell.workload.into(),
        title: cell.title.into(),
        group: cell.group.name().into(),
        size: cell.size.clone(),
        dtype: cell.kind.name().into(),
        threads,
        traffic: cell.task.traffic(),
        operations: cell.operations,
        series,
        absent,
    }
}

/// Prepares a peer, and compares its result with that of the first peer, zerostride.
fn introduce(
    process: &mut Process,
    task: &Task,
    reference: &mut Option<(Vec<usize>, Vec<f64>)>,
) -> Result<Vec<Mode>, String> {
    process.revive()?;
    let modes = prepare(process, task)?;
    if process.name == STREAM {
        return Ok(modes);
    }
    let result = check(process, task)?;
    match reference {
        None if process.name == OURS => *reference = Some(result),
        None => {}
        Some(reference) => compare(reference, &result, task)?,
    }
    Ok(modes)
}

/// Makes a peer prepare its operands.
pub(crate) fn prepare(process: &mut Process, task: &Task) -> Result<Vec<Mode>, String> {
    match process.ask(&Request::Prepare { task: task.clone() })? {
        Reply::Ready(modes) => Ok(modes),
        other => Err(reason(other)),
    }
}

/// The shape and some elements of a peer's result.
fn check(process: &mut Process, task: &Task) -> Result<(Vec<usize>, Vec<f64>), String> {
    let folder = std::env::temp_dir();
    let path = folder.join(format!("zerostride-bench-{}.f64", std::process::id()));
    // An odd stride includes every column of the usual widths.
    let stride = (task.numel() / COMPARED) | 1;
    let outcome = process.ask(&Request::Check { path: path.display().to_string(), stride });
    let elements = read_elements(&path);
    let _ = std::fs::remove_file(&path);
    match outcome? {
        Reply::Shape(shape) => Ok((shape, elements?)),
        other => Err(reason(other)),
    }
}

fn read_elements(path: &Path) -> Result<Vec<f64>, String> {
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    Ok(bytes.as_chunks().0.iter().map(|chunk| f64::from_ne_bytes(*chunk)).collect())
}

/// Two correct results differ by roundings only.
fn compare(
    (shape, ours): &(Vec<usize>, Vec<f64>),
    (other_shape, theirs): &(Vec<usize>, Vec<f64>),
    task: &Task,
) -> Result<(), String> {
    if shape != other_shape || ours.len() != theirs.len() {
        return Err(format!("a result of shape {other_shape:?} instead of {shape:?}"));
    }
    let magnitude = ours.iter().map(|x| x.abs()).sum::<f64>() / ours.len().max(1) as f64;
    let tolerance = task.dtype.tolerance();
    let agrees = |ours: f64, theirs: f64| (ours - theirs).abs() <= tolerance * (ours.abs() + magnitude);
    match ours.iter().zip(theirs).find(|(ours, theirs)| !agrees(**ours, **theirs)) {
        None => Ok(()),
        Some((ours, theirs)) => Err(format!("a wrong result: {theirs} instead of {ours}")),
    }
}

/// Determines how many evaluations make a sample.
fn calibrate(process: &mut Process, index: usize, mode: Mode, effort: Effort) -> Result<Runner, String> {
    let mut repeats = 1;
    let mut one = sample(process, mode, 1, 1)?;
    // At first, very short evaluations are dominated by the cost of the clock.
    while one * (repeats as f64) < effort.sample.as_secs_f64() / 4.0 && repeats < 1 << 24 {
        repeats = (repeats * 16)
            .min((effort.sample.as_secs_f64() / one.max(1e-9)).ceil() as usize)
            .max(repeats + 1);
        one = sample(process, mode, 0, repeats)?;
    }
    let fitting = |time: f64| (time / one.max(1e-9)).ceil().clamp(1.0, 1e8) as usize;
    let slow = one > SLOW;
    let repeats = fitting(effort.sample.as_secs_f64());
    // Two threads that wake often can share a processor until the system moves one of them, which takes
    // milliseconds: as long as a sample.
    let warm = if slow { 0 } else { repeats };
    Ok(Runner { process: index, mode, warm, repeats, slow, times: Vec::new() })
}

/// Seconds of one evaluation.
fn sample(process: &mut Process, mode: Mode, warm: usize, repeats: usize) -> Result<f64, String> {
    match process.ask(&Request::Sample { mode, warm, repeats })? {
        Reply::Seconds(seconds) => Ok(seconds / repeats as f64),
        other => Err(reason(other)),
    }
}

fn series(peer: &str, mode: Mode, mut times: Vec<f64>) -> Series {
    times.sort_by(f64::total_cmp);
    let at = |part: f64| {
        let place = part * (times.len() - 1) as f64;
        let (below, above) = (times[place.floor() as usize], times[place.ceil() as usize]);
        below + (above - below) * place.fract()
    };
    Series {
        peer: peer.into(),
        mode,
        median: at(0.5),
        quartiles: (at(0.25), at(0.75)),
        best: times[0],
        rounds: times.len(),
    }
}

/// The available memory in bytes, if the system reports it.
fn available_memory() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.split_whitespace().next()?.parse::<usize>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use zerostride_bench::Kind;

    use super::*;

    #[test]
    fn a_wrong_element_a_wrong_shape_and_nan_are_noticed() {
        let task = Task { formula: String::new(), operands: Vec::new(), shape: vec![2], dtype: Kind::F32 };
        let with = |shape: usize, elements: [f64; 2]| (vec![shape], elements.to_vec());
        let ours = with(2, [1.0, 2.0]);
        assert!(compare(&ours, &with(2, [1.000_001, 2.0]), &task).is_ok());
        assert!(compare(&ours, &with(2, [1.001, 2.0]), &task).is_err());
        assert!(compare(&ours, &with(2, [f64::NAN, 2.0]), &task).is_err());
        assert!(compare(&ours, &with(1, [1.0, 2.0]), &task).is_err());
    }

    #[test]
    fn a_series_has_its_median_and_quartiles() {
        let series = series("peer", Mode::Fresh, vec![5.0, 1.0, 3.0, 2.0, 4.0]);
        assert_eq!((series.best, series.median, series.quartiles), (1.0, 3.0, (2.0, 4.0)));
    }
}
