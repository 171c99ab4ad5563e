//! Owns `cargo xtask bench`: builds the driver and the peers, creates the environment of the Python peers,
//! starts the driver. It does not know what is measured (`bench/`).

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::available_parallelism;

use crate::{Outcome, python, root, run};

pub(crate) const HELP: &str = "\
cargo xtask bench [OPTION]... [FILTER]
cargo xtask bench functions [OPTION]... [NAME,...]
cargo xtask bench arrange [OPTION]... [NAME]

Measures zerostride side by side with its peers: in one run, in turn, with the same threads and the same rules for
results. Prints a line for each workload, and writes a table and two pictures to bench/records/MACHINE, over those that
are there, and all figures to target/bench/records/MACHINE/DATE.json. A run with a filter and a quick run write everything
under target, as DATE-part.

  FILTER          only workloads whose name contains it, or those of a group: main, chain, scaling, dtype;
                  several with commas: add,softmax
  --peers WHICH   all (the default), rust, python, none, or a list such as numpy,jax; the peers are
                  numpy numexpr jax torch compile ndarray candle burn
  --threads LIST  numbers of threads, such as 1,2; by default 1 and as many as there are processors
  --quick         about 3 minutes instead of 20: fewer rounds and sizes, no memory, all processors
  --since JSON    an earlier record of this machine: prints zerostride's times then divided by those now, slowest first.
                  To measure two commits, run each in a clone of its own, in turns
  --render JSON   write the report and the pictures of a record again; with --since, compare two records
  --cliffs        search for cliffs instead, which takes some minutes: 1000 random shapes, strides and dtypes, each beside
                  NumPy, on one thread. What is found goes to target/bench/records/MACHINE/cliffs.json and into the newest
                  record there. With a FILTER, only cases of a formula (copy, add, less, sqrt, normalise, sum, amax, dot):
                  these are printed, no more

`bench functions` times mathematical functions beside PyTorch's instead, in ns an element on one thread, and prints a
table; `bench functions --help`. `bench arrange` does so with functions that move, pick or order elements, beside
PyTorch's and NumPy's; `bench arrange --help`.

The first run builds the Rust peers (several minutes) and installs the Python ones (5 GB), both under target/bench.
Close other programs: whatever runs beside it is measured with it. The figures that count are ratios within one run.
";

/// The Python peers and the packages that they need. PyTorch has the version whose rules zerostride follows.
const PYTHON: [(&str, &str); 5] = [
    ("numpy", "numpy==2.4.6"),
    ("numexpr", "numexpr==2.14.2"),
    ("jax", "jax==0.10.2"),
    ("torch", "torch==2.15.0"),
    ("compile", "torch==2.15.0"),
];

const RUST: [&str; 3] = ["ndarray", "candle", "burn"];

/// Builds, installs and runs.
pub(crate) fn bench(words: &[&str]) -> Outcome {
    if words.iter().any(|word| matches!(*word, "--help" | "-h")) {
        print!("{HELP}");
        return Ok(());
    }
    let options = Options::read(words)?;
    let target = target();
    run(Command::new(env!("CARGO")).args(["build", "--release", "--package", "zerostride-bench"]))?;
    let mut driver = Command::new(target.join("release").join(program("zerostride-bench")));
    driver.arg("--bench").arg(root().join("bench")).arg("--json").arg(target.join("bench/records"));
    if let Some(record) = options.since {
        driver.args(["--since", record]);
    }
    if let Some(record) = options.render {
        return run(driver.args(["--render", record]));
    }
    if options.cliffs {
        driver.arg("--cliffs").arg("--python").arg(environment(&[], &target)?);
        return run(driver.args(options.filter));
    }
    let of = |known: &[&str]| -> Vec<&str> {
        options.peers.iter().copied().filter(|peer| known.contains(peer)).collect()
    };
    let rust = of(&RUST);
    if !rust.is_empty() {
        build(&rust, &target)?;
        driver.arg("--programs").arg(target.join("bench/release"));
    }
    let python = of(&PYTHON.map(|(peer, _)| peer));
    if !python.is_empty() {
        driver.arg("--python").arg(environment(&python, &target)?);
        // A cache, so that later runs of torch.compile need not compile again.
        driver.env("TORCHINDUCTOR_CACHE_DIR", target.join("bench/inductor"));
    }
    driver.args(["--peers", &options.peers.join(","), "--threads", &options.threads]);
    if options.quick {
        driver.arg("--quick");
    }
    run(driver.args(options.filter))
}

/// Installs the package, NumPy and PyTorch, and runs a script that compares them, `functions` or `arrange`.
pub(crate) fn compare(script: &str, words: &[&str]) -> Outcome {
    let target = target();
    let python = environment(&["numpy", "torch"], &target)?;
    python::install_release(&python)?;
    let mut benchmark = Command::new(python);
    benchmark.arg(format!("bench/{script}.py")).args(words);
    run(benchmark.env("TORCHINDUCTOR_CACHE_DIR", target.join("bench/inductor")))
}

struct Options<'a> {
    peers: Vec<&'a str>,
    threads: String,
    quick: bool,
    render: Option<&'a str>,
    since: Option<&'a str>,
    cliffs: bool,
    filter: Option<&'a str>,
}

impl<'a> Options<'a> {
    fn read(words: &[&'a str]) -> Result<Options<'a>, String> {
        let cores = available_parallelism().map_or(1, usize::from);
        let (mut peers, mut threads) = ("all", None);
        let mut options = Options {
            peers: Vec::new(),
            threads: String::new(),
            quick: false,
            render: None,
            since: None,
            cliffs: false,
            filter: None,
        };
        let mut words = words.iter().copied();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} takes a value\n\n{HELP}"));
            match word {
                "--quick" => options.quick = true,
                "--cliffs" => options.cliffs = true,
                "--peers" => peers = value()?,
                "--threads" => threads = Some(value()?.to_owned()),
                "--render" => options.render = Some(value()?),
                "--since" => options.since = Some(value()?),
                _ if word.starts_with('-') => return Err(format!("unknown option {word}\n\n{HELP}")),
                _ => options.filter = Some(word),
            }
        }
        let all = if options.quick || cores == 1 { cores.to_string() } else { format!("1,{cores}") };
        options.threads = threads.unwrap_or(all);
        let python = PYTHON.map(|(peer, _)| peer);
        options.peers = match peers {
            "all" => python.into_iter().chain(RUST).collect(),
            "rust" => RUST.into(),
            "python" => python.into(),
            "none" => Vec::new(),
            list => list.split(',').collect(),
        };
        if options.cliffs && (options.since.is_some() || options.render.is_some()) {
            return Err(format!("--cliffs is a search, and has nothing to compare or to render\n\n{HELP}"));
        }
        match options.peers.iter().find(|peer| !python.contains(peer) && !RUST.contains(peer)) {
            Some(unknown) => Err(format!("no peer is called {unknown}\n\n{HELP}")),
            None => Ok(options),
        }
    }
}

/// Builds Rust peers as a user who cares about speed would: for this processor.
fn build(peers: &[&str], target: &Path) -> Outcome {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args([
        "build",
        "--release",
        "--locked",
        "--manifest-path",
        "bench/peers/Cargo.toml",
        "--target-dir",
    ]);
    cargo.arg(target.join("bench")).env("RUSTFLAGS", "-C target-cpu=native");
    run(cargo.args(["--bins", "--features", &peers.join(",")]))
}

/// Creates the environment of the Python peers. A package that cannot be installed is reported as missing in
/// the record.
fn environment(peers: &[&str], target: &Path) -> Result<PathBuf, String> {
    let python = python::environment("python3", &target.join("bench/venv"))?;
    // NumPy makes the operands of every peer.
    let mut packages = vec![PYTHON[0].1];
    packages.extend(PYTHON.iter().filter(|(peer, _)| peers.contains(peer)).map(|(_, package)| *package));
    packages.dedup();
    for package in packages {
        if let Err(reason) = python::pip(&python, &["install", package]) {
            eprintln!("{package} will be missing: {reason}");
        }
    }
    Ok(python)
}

/// Cargo's target folder, which contains this program.
fn target() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    program.ancestors().nth(2).map_or_else(|| root().join("target"), Path::to_owned)
}

fn program(name: &str) -> String {
    format!("{name}{}", std::env::consts::EXE_SUFFIX)
}
