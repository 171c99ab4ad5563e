//! The driver of the benchmark: peers in turn on every workload, then the record. `cargo xtask bench` builds
//! what it needs and starts it. This file owns the command line and the order of steps; it does not know how
//! a workload is measured (`measure.rs`).

#![forbid(unsafe_code)]

mod machine;
mod measure;
mod memory;
mod plot;
mod process;
mod record;
mod report;
mod since;
mod svg;
mod targets;
mod time;
mod workload;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use machine::Machine;
use measure::Effort;
use process::{Launch, Process};
use record::{Measurement, Record};
use workload::{Cell, Group};

/// The options of the command line.
struct Options {
    /// Short names of peers, such as `numpy`.
    peers: Vec<String>,
    threads: Vec<usize>,
    quick: bool,
    filter: Option<String>,
    /// The folder with the programs of Rust peers; zerostride's is beside the driver.
    programs: PathBuf,
    python: Option<PathBuf>,
    /// The repository's `bench` folder.
    bench: PathBuf,
    /// The folder for JSON, outside the repository's files.
    json: PathBuf,
    /// A record to render again, in place of a run.
    render: Option<PathBuf>,
    /// An earlier record to compare the run with, or the rendered record.
    since: Option<Record>,
    /// Whether to search for cliffs, in place of a run.
    cliffs: bool,
}

fn main() -> ExitCode {
    let outcome = options().and_then(|options| match &options.render {
        Some(path) => record::read(path)
            .and_then(|record| show(&options, &record, path).and_then(|_| compare(&options, &record))),
        None if options.cliffs => search(&options),
        None => run(&options),
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("bench: {message}");
            ExitCode::FAILURE
        }
    }
}

/// `cargo xtask bench` passes every option, so there is no help.
fn options() -> Result<Options, String> {
    let mut options = Options {
        peers: Vec::new(),
        threads: Vec::new(),
        quick: false,
        filter: None,
        programs: PathBuf::new(),
        python: None,
        bench: PathBuf::new(),
        json: PathBuf::new(),
        render: None,
        since: None,
        cliffs: false,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} takes a value"));
        match word.as_str() {
            "--quick" => options.quick = true,
            "--cliffs" => options.cliffs = true,
            "--peers" => options.peers = value()?.split(',').map(str::to_owned).collect(),
            "--threads" => {
                let counts = value()?;
                let parsed: Result<_, _> = counts.split(',').map(str::parse).collect();
                options.threads = parsed.map_err(|_| format!("numbers of threads, not {counts:?}"))?;
            }
            "--programs" => options.programs = value()?.into(),
            "--python" => options.python = Some(value()?.into()),
            "--bench" => options.bench = value()?.into(),
            "--json" => options.json = value()?.into(),
            "--render" => options.render = Some(value()?.into()),
            "--since" => options.since = Some(record::read(value()?.as_ref())?),
            _ if word.starts_with('-') => return Err(format!("unknown option {word}")),
            _ => options.filter = Some(word),
        }
    }
    Ok(options)
}

fn run(options: &Options) -> Result<(), String> {
    let machine = Machine::this();
    let launches = launches(options);
    let cells: Vec<Cell> = workload::cells().into_iter().filter(|cell| wanted(cell, options)).collect();
    if cells.is_empty() {
        return Err("no workload has that in its name".into());
    }
    let effort = if options.quick {
        Effort { rounds: 5, sample: Duration::from_millis(4), cell: Duration::from_millis(600) }
    } else {
        Effort { rounds: 9, sample: Duration::from_millis(8), cell: Duration::from_millis(1500) }
    };
    let start = Instant::now();
    let mut record = Record {
        date: today(),
        duration: 0.0,
        quick: options.quick,
        peers: Vec::new(),
        missing: Vec::new(),
        measurements: Vec::new(),
        memory: Vec::new(),
        cliffs: None,
        machine,
    };
    let most = options.threads.iter().copied().max().unwrap_or(1);
    for &threads in &options.threads {
        let mut processes = start_all(&launches, threads, &mut record);
        for cell in &cells {
            // Other dtypes only have to show that each has a fast path, and operands of 10^8 elements mostly
            // cost the time to make them: one number of threads is enough.
            if threads != most && (cell.group == Group::Dtype || cell.size == "1e8") {
                continue;
            }
            let measurement = measure::measure(cell, &mut processes, threads, effort);
            println!("{}", line(&measurement));
            record.measurements.push(measurement);
        }
    }
    if !options.quick {
        record.memory = memory::measure(&cells, &launches, most);
    }
    record.duration = start.elapsed().as_secs_f64();
    let folder = folder(&options.json, &record.machine)?;
    record.cliffs = record::read_cliffs(&folder.join(CLIFFS))?;
    let part = if options.filter.is_some() || options.quick { PART } else { "" };
    let path = folder.join(format!("{}{part}.json", record.date));
    record::write(&record, &path)?;
    let report = show(options, &record, &path)?;
    println!("\n{:.0} s; the record: {}, from {}", record.duration, report.display(), path.display());
    compare(options, &record)
}

/// Prints what has changed since the earlier record, if there is one.
fn compare(options: &Options, now: &Record) -> Result<(), String> {
    if let Some(then) = &options.since {
        println!("\n{}", since::compared(then, now)?);
    }
    Ok(())
}

/// The ending of a record's name for some workloads or few rounds only.
const PART: &str = "-part";

/// Writes the report of a record and returns its path. A full run replaces the machine's report in the
/// repository; a partial run has a folder beside its JSON.
fn show(options: &Options, record: &Record, json: &Path) -> Result<PathBuf, String> {
    let stem = json.with_extension("");
    if stem.to_string_lossy().ends_with(PART) {
        return report::write(record, &stem);
    }
    report::write(record, &folder(&options.bench.join("records"), &record.machine)?)
}

/// The file with the results of the last search for cliffs, beside the machine's records.
const CLIFFS: &str = "cliffs.json";

/// Searches for cliffs and adds them to the newest record of this machine. A search of one formula's cases is
/// only printed.
fn search(options: &Options) -> Result<(), String> {
    let python = options.python.as_ref().ok_or("the search compares with NumPy: it takes --python")?;
    let mut search = Command::new(beside("cliffs"));
    search.arg("--python").arg(python);
    if let Some(formula) = &options.filter {
        return started(search.args(["--formula", formula]));
    }
    let folder = folder(&options.json, &Machine::this())?;
    let found = folder.join(CLIFFS);
    started(search.arg("--out").arg(&found))?;
    let Some(path) = record::newest(&folder)? else {
        println!("\nthe next record of this machine will show {}", found.display());
        return Ok(());
    };
    let record = Record { cliffs: record::read_cliffs(&found)?, ..record::read(&path)? };
    record::write(&record, &path)?;
    println!("\nthe record: {}", show(options, &record, &path)?.display());
    Ok(())
}

/// Runs a program and waits for it; its output is shown.
fn started(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{name}: {status}")),
        Err(error) => Err(format!("{name}: {error}")),
    }
}

/// A machine's folder inside another one, created if necessary.
fn folder(parent: &Path, machine: &Machine) -> Result<PathBuf, String> {
    let folder = parent.join(&machine.name);
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder)
}

/// The path of a program beside this one.
fn beside(name: &str) -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    own.with_file_name(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

/// Whether a workload is part of this run.
fn wanted(cell: &Cell, options: &Options) -> bool {
    let named = options.filter.as_ref().is_none_or(|filter| {
        filter.split(',').any(|part| cell.workload.contains(part) || cell.group.name() == part)
    });
    let quick = matches!(cell.group, Group::Main | Group::Chain) && cell.size != "L3";
    named && (!options.quick || options.filter.is_some() || quick)
}

/// The short names of peers, their names, and whether they are Python's.
const PEERS: [(&str, &str, bool); 8] = [
    ("numpy", "NumPy", true),
    ("numexpr", "numexpr", true),
    ("jax", "JAX", true),
    ("torch", "torch", true),
    ("compile", "torch.compile", true),
    ("ndarray", "ndarray", false),
    ("candle", "candle", false),
    ("burn", "burn", false),
];

/// zerostride and the limit come first: results are compared with zerostride's.
fn launches(options: &Options) -> Vec<Launch> {
    let program =
        |folder: &Path, name: &str| folder.join(format!("peer-{name}{}", std::env::consts::EXE_SUFFIX));
    let own = [record::OURS, record::STREAM];
    let mut launches: Vec<Launch> =
        own.iter().map(|name| Launch::program(name, beside(&format!("peer-{name}")))).collect();
    let script = options.bench.join("peers/python.py");
    for (short, name, is_python) in PEERS {
        if !options.peers.iter().any(|peer| peer == short) {
            continue;
        }
        match (&options.python, is_python) {
            (Some(python), true) => launches.push(Launch::python(name, python, &script)),
            (_, false) => launches.push(Launch::program(name, program(&options.programs, short))),
            (None, true) => {}
        }
    }
    launches
}

/// Starts every peer; the record names those that cannot be started.
fn start_all(launches: &[Launch], threads: usize, record: &mut Record) -> Vec<Process> {
    record.peers.clear();
    record.missing.clear();
    let mut processes = Vec::new();
    for launch in launches {
        match Process::start(launch, threads) {
            Ok(process) => {
                record.peers.push((process.name.clone(), process.version.clone()));
                processes.push(process);
            }
            Err(reason) => {
                println!("{} cannot take part: {reason}", launch.name);
                record.missing.push((launch.name.clone(), reason));
            }
        }
    }
    processes
}

/// One line of the table that a run prints.
fn line(measurement: &Measurement) -> String {
    let what = format!(
        "{:<28} {:>4} {:>4} {} thread{}",
        measurement.title,
        measurement.size,
        measurement.dtype,
        measurement.threads,
        if measurement.threads == 1 { " " } else { "s" },
    );
    let Some(ours) = measurement.ours() else {
        let reason = measurement.absent.get(record::OURS).map_or("nothing was measured", String::as_str);
        return format!("{what}  {reason}");
    };
    let fastest = measurement.fastest(measurement.mode()).map_or_else(String::new, |peer| {
        let ratio = peer.median / ours.median;
        format!("  {:>9} {:<13} {ratio:>6.2}x", time::time(peer.median), peer.peer)
    });
    let limit = measurement
        .limit()
        .map_or_else(String::new, |limit| format!("  {:>4.0}% of the limit", 100.0 * limit / ours.median));
    let wrong: Vec<&str> = measurement
        .absent
        .iter()
        .filter(|(_, why)| why.starts_with("a wrong"))
        .map(|(peer, _)| peer.as_str())
        .collect();
    let wrong = if wrong.is_empty() { String::new() } else { format!("  WRONG: {}", wrong.join(", ")) };
    format!("{what}  {:>9}{fastest}{limit}{wrong}", time::time(ours.median))
}

/// The day, in UTC.
fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    // Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms": civil_from_days, for days
    // after 1970.
    let z = seconds / 86_400 + 719_468;
    let (era, day_of_era) = (z / 146_097, z % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02}")
}
