//! The search for cliffs: shapes, strides and dtypes at random, each measured against NumPy on the same operands in the
//! same run, on one thread because NumPy has only one. The ten worst are written as JSON, for the record to show. It knows
//! no workload that a person has chosen.
//!
//! `cliffs --python PYTHON [--cases N] [--seed N] [--formula NAME] [--out FILE]`; the record looks for
//! `bench/records/MACHINE/cliffs.json`.

use std::error::Error;
use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use serde::Serialize;
use serde_json::json;
use zerostride::{DType, Expr, Tensor};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Elements of the largest result and of the largest operand.
const LARGEST: usize = 10_000_000;

/// Cases that are drawn at most until one is of the formula asked for.
const DRAWS: usize = 10_000;

/// Elements of the smallest loop.
const SMALLEST: usize = 1000;

/// How many cases are measured again, with more care.
const SUSPECTS: usize = 40;

/// How many cases are told.
const TOLD: usize = 10;

const DTYPES: [(DType, &str); 8] = [
    (DType::F32, "float32"),
    (DType::F64, "float64"),
    (DType::I32, "int32"),
    (DType::I64, "int64"),
    (DType::U8, "uint8"),
    (DType::I16, "int16"),
    (DType::F32, "float32"),
    (DType::F64, "float64"),
];

fn main() -> Outcome<()> {
    let mut options = Options { python: "python3".into(), cases: 400, seed: 1, formula: None, out: None };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().ok_or("every option has a value")?;
        match word.as_str() {
            "--python" => options.python = value,
            "--cases" => options.cases = value.parse()?,
            "--seed" => options.seed = value.parse()?,
            "--formula" => options.formula = Some(value),
            "--out" => options.out = Some(value),
            _ => return Err(format!("unknown option {word}").into()),
        }
    }
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global()?;
    search(&options)
}

struct Options {
    python: String,
    cases: usize,
    seed: u64,
    formula: Option<String>,
    out: Option<String>,
}

fn search(options: &Options) -> Outcome<()> {
    let mut numpy = NumPy::start(&options.python)?;
    let mut random = Random(options.seed);
    let mut found: Vec<(f64, Case)> = Vec::new();
    for _ in 0..options.cases {
        let wanted = |case: &Case| options.formula.as_ref().is_none_or(|formula| formula == case.formula);
        let Some(case) = std::iter::repeat_with(|| Case::draw(&mut random)).take(DRAWS).find(wanted) else {
            return Err("there is no such formula".into());
        };
        let times = case.measure(&mut numpy, 4)?;
        found.push((times.ratio(), case));
    }
    let slower = found.iter().filter(|(ratio, _)| *ratio < 1.0).count();
    println!("{slower} of {} cases looked slower than NumPy", found.len());
    let mean = found.iter().map(|(ratio, _)| ratio.ln()).sum::<f64>() / found.len() as f64;
    println!("geometric mean: {:.2} times as fast as NumPy", mean.exp());
    found.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let mut worst = Vec::new();
    for (_, case) in found.into_iter().take(SUSPECTS) {
        let times = case.measure(&mut numpy, 20)?;
        worst.push(Finding::new(&case, &times));
    }
    worst.sort_by(|a, b| a.speed.total_cmp(&b.speed));
    worst.truncate(TOLD);
    for finding in &worst {
        println!("{}", serde_json::to_string(finding)?);
    }
    match &options.out {
        Some(path) => Ok(std::fs::write(path, serde_json::to_string_pretty(&worst)? + "\n")?),
        None => Ok(()),
    }
}

/// Numbers that follow from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 ^ self.0 >> 29).wrapping_mul(0xff51_afd7_ed55_8ccd) >> 24) as usize % limit
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

/// A view of new memory, as both sides make it.
#[derive(Clone, Debug, Serialize)]
struct Operand {
    /// Sizes in memory.
    memory: Vec<usize>,
    /// What is left of them: every so many elements, backwards if negative.
    steps: Vec<isize>,
    /// The place in memory of each dimension.
    order: Vec<usize>,
    /// To which it is then stretched.
    shape: Vec<usize>,
}

impl Operand {
    fn draw(random: &mut Random, shape: &[usize]) -> Operand {
        let ndim = shape.len();
        let mut order: Vec<usize> = (0..ndim).collect();
        if random.below(2) == 0 {
            (1..ndim).rev().for_each(|dim| order.swap(dim, random.below(dim + 1)));
        }
        let (stretches, steps) = (random.below(3) == 0, random.below(4) == 0);
        let (mut memory, mut all_steps) = (vec![0; ndim], vec![1; ndim]);
        for (dim, &place) in order.iter().enumerate() {
            let stretched = stretches && random.below(2) == 0;
            let step: isize = if steps { random.of(&[1, 1, 2, 3, -1]) } else { 1 };
            memory[place] = if stretched { 1 } else { shape[dim] * step.unsigned_abs() };
            all_steps[place] = if stretched { 1 } else { step };
        }
        if memory.iter().product::<usize>() > LARGEST {
            return Operand {
                memory: shape.to_vec(),
                steps: vec![1; ndim],
                order: (0..ndim).collect(),
                shape: shape.to_vec(),
            };
        }
        Operand { memory, steps: all_steps, order, shape: shape.to_vec() }
    }

    fn tensor(&self, dtype: DType) -> zerostride::Result<Tensor> {
        let values: Vec<u8> = (0..self.memory.iter().product::<usize>()).map(|at| (at % 7) as u8).collect();
        let mut tensor = Tensor::from_vec(values, &self.memory)?.to_dtype(dtype)?;
        for (dim, &step) in self.steps.iter().enumerate().filter(|(_, step)| **step != 1) {
            tensor = tensor.slice(dim as isize, None, None, step)?;
        }
        let order: Vec<isize> = self.order.iter().map(|&place| place as isize).collect();
        let shape: Vec<isize> = self.shape.iter().map(|&size| size as isize).collect();
        tensor.permute(&order)?.expand(&shape)
    }

    /// As `(3, 4) strides (0, 1)`.
    fn text(&self) -> String {
        let strides: Vec<isize> = (0..self.shape.len())
            .map(|dim| {
                let place = self.order[dim];
                let stretched = self.memory[place] == 1 && self.shape[dim] > 1;
                let stride = self.memory[place + 1..].iter().product::<usize>() as isize * self.steps[place];
                if stretched { 0 } else { stride }
            })
            .collect();
        format!("{strides:?}")
    }
}

/// One computation.
#[derive(Clone, Debug)]
struct Case {
    formula: &'static str,
    dim: usize,
    dtype: (DType, &'static str),
    operands: Vec<Operand>,
}

impl Case {
    /// A case of a thousand elements at least: below, calls cost more than elements, which other workloads measure.
    fn draw(random: &mut Random) -> Case {
        loop {
            let case = Case::draw_any(random);
            if case.operands[0].shape.iter().product::<usize>() >= SMALLEST {
                return case;
            }
        }
    }

    fn draw_any(random: &mut Random) -> Case {
        let ndim = 1 + random.below(5);
        let most = random.of(&[10_000, 300_000, 3_000_000, LARGEST]);
        let mut shape = vec![1; ndim];
        let mut left = most;
        for size in &mut shape {
            let share = (left as f64).powf((1 + random.below(100)) as f64 / 100.0) as usize;
            let small = random.of(&[1, 2, 3, 4, 5, 7, 8, 16, 33]).min(left);
            *size = if random.below(4) == 0 { small } else { share.max(1) };
            left = (left / *size).max(1);
        }
        (1..ndim).rev().for_each(|dim| shape.swap(dim, random.below(dim + 1)));
        let (formula, operands) = random.of(&[
            ("copy", 1),
            ("add", 2),
            ("add", 2),
            ("less", 2),
            ("sqrt", 1),
            ("normalise", 3),
            ("sum", 1),
            ("amax", 1),
        ]);
        let mut dtype = random.of(&DTYPES);
        if formula == "sqrt" && !matches!(dtype.0, DType::F32 | DType::F64) {
            dtype = DTYPES[0];
        }
        let operands = (0..operands).map(|_| Operand::draw(random, &shape)).collect();
        Case { formula, dim: random.below(ndim), dtype, operands }
    }

    /// Bytes that are read and written at least.
    fn bytes(&self) -> f64 {
        let numel = |sizes: &[usize]| sizes.iter().product::<usize>() as f64;
        let read: f64 = self.operands.iter().map(|operand| numel(&operand.memory)).sum();
        let shape = &self.operands[0].shape;
        let item = self.dtype.0.item_size() as f64;
        let written = match self.formula {
            "sum" | "amax" => numel(shape) / shape[self.dim] as f64 * item,
            "less" => numel(shape),
            _ => numel(shape) * item,
        };
        read * item + written
    }

    fn expr(&self) -> zerostride::Result<Expr> {
        let tensors: Vec<Tensor> = self
            .operands
            .iter()
            .map(|operand| operand.tensor(self.dtype.0))
            .collect::<zerostride::Result<_>>()?;
        let x = Expr::from(&tensors[0]);
        let dim = self.dim as isize;
        Ok(match self.formula {
            "copy" => x,
            "add" => x + &tensors[1],
            "less" => x.lt(&tensors[1]),
            "sqrt" => x.sqrt(),
            "normalise" => (x - &tensors[1]) * &tensors[2],
            "sum" => x.sum(dim),
            _ => x.amax(dim),
        })
    }

    fn compute(&self, expr: &Expr, tensor: &Tensor) -> zerostride::Result<Tensor> {
        if self.formula == "copy" { tensor.clone_elements() } else { expr.eval() }
    }

    fn measure(&self, numpy: &mut NumPy, rounds: usize) -> Outcome<Times> {
        let request = json!({
            "formula": self.formula, "dim": self.dim, "dtype": self.dtype.1, "operands": self.operands,
        });
        let sum = numpy.ask(&request)?;
        let expr = self.expr()?;
        let first = self.operands[0].tensor(self.dtype.0)?;
        let result = self.compute(&expr, &first)?;
        let own = result.to_dtype(DType::F64)?.sum(..)?.item::<f64>()?;
        // Roots are rounded, and added in another order.
        if (own - sum).abs() > 1e-6 * sum.abs() {
            return Err(format!("NumPy's results add up to {sum}, ours to {own}: {self:?}").into());
        }
        let ours = || -> Outcome<f64> {
            let start = Instant::now();
            black_box(self.compute(&expr, &first)?);
            Ok(start.elapsed().as_secs_f64())
        };
        let repeats = (2e-3 / ours()?.max(1e-7)).clamp(1.0, 2000.0) as usize;
        let mut times = Times { ours: f64::INFINITY, numpy: f64::INFINITY };
        for _ in 0..rounds {
            let start = Instant::now();
            for _ in 0..repeats {
                black_box(self.compute(&expr, &first)?);
            }
            times.ours = times.ours.min(start.elapsed().as_secs_f64() / repeats as f64);
            let theirs = numpy.ask(&json!({ "repeats": repeats }))? / repeats as f64;
            times.numpy = times.numpy.min(theirs);
        }
        Ok(times)
    }
}

/// The best of several rounds, in seconds.
struct Times {
    ours: f64,
    numpy: f64,
}

impl Times {
    /// How many times as fast as NumPy we are.
    fn ratio(&self) -> f64 {
        self.numpy / self.ours
    }
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
    /// How many times as fast as NumPy.
    speed: f64,
    /// Bytes of operands and result per nanosecond.
    bandwidth: f64,
}

impl Finding {
    fn new(case: &Case, times: &Times) -> Finding {
        let reduces = matches!(case.formula, "sum" | "amax");
        let rounded = |number: f64| (number * 1e3).round() / 1e3;
        Finding {
            formula: if reduces { format!("{}({})", case.formula, case.dim) } else { case.formula.into() },
            dtype: case.dtype.1,
            shape: format!("{:?}", case.operands[0].shape),
            strides: case.operands.iter().map(Operand::text).collect::<Vec<_>>().join(" "),
            microseconds: rounded(times.ours * 1e6),
            numpy: rounded(times.numpy * 1e6),
            speed: rounded(times.ratio()),
            bandwidth: rounded(case.bytes() / (times.ours * 1e9)),
        }
    }
}

/// A process that computes the same with NumPy.
struct NumPy {
    child: Child,
    requests: ChildStdin,
    replies: BufReader<ChildStdout>,
}

impl NumPy {
    fn start(python: &str) -> Outcome<NumPy> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/cliffs.py");
        let mut child =
            Command::new(python).arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let requests = child.stdin.take().ok_or("the process has an input")?;
        let replies = BufReader::new(child.stdout.take().ok_or("the process has an output")?);
        Ok(NumPy { child, requests, replies })
    }

    fn ask(&mut self, request: &serde_json::Value) -> Outcome<f64> {
        writeln!(self.requests, "{request}")?;
        let mut line = String::new();
        self.replies.read_line(&mut line)?;
        Ok(line.trim().parse()?)
    }
}

impl Drop for NumPy {
    fn drop(&mut self) {
        // A process that has ended already needs no ending.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
