//! The search for cliffs: random shapes, strides and dtypes, each measured against NumPy on the same operands
//! and against a loop that only moves the bytes, in the same run. The worst cases are written as JSON, for
//! the record to show. It does not know the benchmark's workloads. NumPy uses one thread, and so does
//! zerostride by default.
//!
//! `cliffs --python PYTHON [--cases N] [--seed N] [--formula NAME] [--threads N] [--told N] [--out FILE]`;
//! `cargo xtask bench --cliffs` runs it and shows what it finds in the machine's record.

mod case;
mod sides;

use std::hint::black_box;
use std::time::Instant;

use serde::Serialize;
use zerostride::DType;

use case::{Case, Random};
use sides::{Limit, NumPy, Outcome};

/// How many cases are measured again, more carefully, for each worst case that is reported.
const SUSPECTS: usize = 4;

struct Options {
    python: String,
    cases: usize,
    seed: u64,
    formula: Option<String>,
    threads: usize,
    /// The number of worst cases to report.
    told: usize,
    out: Option<String>,
}

fn main() -> Outcome<()> {
    let mut options = Options {
        python: "python3".into(),
        cases: 1000,
        seed: 1,
        formula: None,
        threads: 1,
        told: 10,
        out: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().ok_or("every option has a value")?;
        match word.as_str() {
            "--python" => options.python = value,
            "--cases" => options.cases = value.parse()?,
            "--seed" => options.seed = value.parse()?,
            "--formula" if Case::knows(&value) => options.formula = Some(value),
            "--formula" => return Err(format!("there is no formula {value}").into()),
            "--threads" => options.threads = value.parse()?,
            "--told" => options.told = value.parse()?,
            "--out" => options.out = Some(value),
            _ => return Err(format!("unknown option {word}").into()),
        }
    }
    rayon::ThreadPoolBuilder::new().num_threads(options.threads).build_global()?;
    let record = search(&options)?;
    for (title, worst) in [("NumPy", &record.worst_to_numpy), ("NT-STREAM", &record.worst_to_nt_stream)] {
        println!("worst to {title}:");
        for finding in worst {
            println!("{}", serde_json::to_string(finding)?);
        }
    }
    println!("{} of {} cases slower than NumPy", record.slower_than_numpy, record.cases);
    println!("geometric mean: {} times as fast as NumPy", record.geometric_mean_to_numpy);
    match &options.out {
        Some(path) => Ok(std::fs::write(path, serde_json::to_string_pretty(&record)? + "\n")?),
        None => Ok(()),
    }
}

fn search(options: &Options) -> Outcome<Found> {
    let (mut numpy, mut limit) = (NumPy::start(&options.python)?, Limit::start(options.threads)?);
    let mut random = Random(options.seed);
    let mut all: Vec<(Case, Times)> = Vec::new();
    for _ in 0..options.cases {
        let case = Case::draw(&mut random, options.formula.as_deref());
        let times = measure(&case, &mut numpy, &mut limit, 4)?;
        all.push((case, times));
    }
    let mut again: Vec<bool> = vec![false; all.len()];
    for ratio in [Times::to_numpy, Times::to_limit] {
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.sort_by(|&a, &b| ratio(&all[a].1).total_cmp(&ratio(&all[b].1)));
        order.into_iter().take(SUSPECTS * options.told).for_each(|at| again[at] = true);
    }
    for ((case, times), _) in all.iter_mut().zip(&again).filter(|(_, again)| **again) {
        *times = measure(case, &mut numpy, &mut limit, 20)?;
    }
    let worst = |ratio: fn(&Times) -> f64| {
        let mut order: Vec<&(Case, Times)> = all.iter().collect();
        order.sort_by(|a, b| ratio(&a.1).total_cmp(&ratio(&b.1)));
        order.into_iter().take(options.told).map(|(case, times)| Finding::new(case, times)).collect()
    };
    let logarithms: f64 = all.iter().map(|(_, times)| times.to_numpy().ln()).sum();
    Ok(Found {
        seed: options.seed,
        threads: options.threads,
        cases: all.len(),
        slower_than_numpy: all.iter().filter(|(_, times)| times.to_numpy() < 1.0).count(),
        geometric_mean_to_numpy: rounded((logarithms / all.len() as f64).exp()),
        worst_to_numpy: worst(Times::to_numpy),
        worst_to_nt_stream: worst(Times::to_limit),
    })
}

/// The best of several rounds, in seconds.
struct Times {
    ours: f64,
    numpy: f64,
    limit: f64,
}

impl Times {
    /// NumPy's time as a multiple of zerostride's.
    fn to_numpy(&self) -> f64 {
        self.numpy / self.ours
    }

    /// The limit's time as a fraction of zerostride's.
    fn to_limit(&self) -> f64 {
        self.limit / self.ours
    }
}

fn measure(case: &Case, numpy: &mut NumPy, limit: &mut Limit, rounds: usize) -> Outcome<Times> {
    let sum = numpy.prepare(case)?;
    limit.prepare(case)?;
    let compute = case.ready()?;
    let own = compute()?.to_dtype(DType::F64)?.sum(..)?.item::<f64>()?;
    // Roots are rounded, and added in another order.
    if (own - sum).abs() > 1e-6 * sum.abs() {
        return Err(format!("NumPy's results add up to {sum}, ours to {own}: {case:?}").into());
    }
    let ours = |repeats: usize| -> Outcome<f64> {
        let start = Instant::now();
        for _ in 0..repeats {
            black_box(compute()?);
        }
        Ok(start.elapsed().as_secs_f64() / repeats as f64)
    };
    let repeats = (2e-3 / ours(1)?.max(1e-7)).clamp(1.0, 2000.0) as usize;
    let mut times = Times { ours: f64::INFINITY, numpy: f64::INFINITY, limit: f64::INFINITY };
    for _ in 0..rounds {
        times.ours = times.ours.min(ours(repeats)?);
        times.numpy = times.numpy.min(numpy.time(repeats)? / repeats as f64);
        times.limit = times.limit.min(limit.time(repeats)? / repeats as f64);
    }
    Ok(times)
}

/// The record.
#[derive(Serialize)]
struct Found {
    seed: u64,
    threads: usize,
    cases: usize,
    slower_than_numpy: usize,
    geometric_mean_to_numpy: f64,
    worst_to_numpy: Vec<Finding>,
    worst_to_nt_stream: Vec<Finding>,
}

/// A line of the record.
#[derive(Serialize)]
struct Finding {
    formula: String,
    dtype: &'static str,
    shape: String,
    strides: String,
    microseconds: f64,
    numpy: f64,
    nt_stream: f64,
    /// NumPy's time as a multiple of zerostride's.
    to_numpy: f64,
    /// The fraction of the memory's bandwidth.
    to_nt_stream: f64,
}

impl Finding {
    fn new(case: &Case, times: &Times) -> Finding {
        let dim = if case.reduces() { format!("({})", case.dim) } else { String::new() };
        let strides: Vec<String> =
            case.operands.iter().map(|operand| format!("{:?}", operand.strides())).collect();
        Finding {
            formula: format!("{}{dim}", case.formula),
            dtype: case.dtype.1,
            shape: format!("{:?}", case.shape()),
            strides: strides.join(" "),
            microseconds: rounded(times.ours * 1e6),
            numpy: rounded(times.numpy * 1e6),
            nt_stream: rounded(times.limit * 1e6),
            to_numpy: rounded(times.to_numpy()),
            to_nt_stream: rounded(times.to_limit()),
        }
    }
}

fn rounded(number: f64) -> f64 {
    (number * 1e3).round() / 1e3
}
