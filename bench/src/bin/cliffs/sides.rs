//! Owns the processes that a case is compared with: NumPy, and the loop that only moves bytes. It does not
//! know how cases are drawn.

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use zerostride_bench::{Kind, Mode, Operand, Reply, Request, Task};

use crate::case::Case;

pub(crate) type Outcome<T> = Result<T, Box<dyn Error>>;

/// A process that answers each line with a line.
struct Side {
    child: Child,
    requests: ChildStdin,
    replies: BufReader<ChildStdout>,
}

impl Side {
    fn start(command: &mut Command) -> Outcome<Side> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let requests = child.stdin.take().ok_or("the process has an input")?;
        let replies = BufReader::new(child.stdout.take().ok_or("the process has an output")?);
        Ok(Side { child, requests, replies })
    }

    fn ask<R: serde::de::DeserializeOwned>(&mut self, request: &impl serde::Serialize) -> Outcome<R> {
        writeln!(self.requests, "{}", serde_json::to_string(request)?)?;
        let mut line = String::new();
        self.replies.read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    }
}

impl Drop for Side {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The same computation with NumPy.
pub(crate) struct NumPy(Side);

impl NumPy {
    pub(crate) fn start(python: &str) -> Outcome<NumPy> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/cliffs.py");
        Side::start(Command::new(python).arg(script)).map(NumPy)
    }

    /// Makes the operands; returns the sum of all elements of the result.
    pub(crate) fn prepare(&mut self, case: &Case) -> Outcome<f64> {
        let Case { formula, dim, dtype, operands } = case;
        self.0.ask(&json!({ "formula": formula, "dim": dim, "dtype": dtype.1, "operands": operands }))
    }

    /// The seconds of so many computations.
    pub(crate) fn time(&mut self, repeats: usize) -> Outcome<f64> {
        self.0
            .ask::<Value>(&json!({ "repeats": repeats }))
            .map(|seconds| seconds.as_f64().unwrap_or(f64::NAN))
    }
}

/// The loop that moves as many bytes as a case does, and computes nothing.
pub(crate) struct Limit(Side);

impl Limit {
    /// The program is beside this one.
    pub(crate) fn start(threads: usize) -> Outcome<Limit> {
        let program = std::env::current_exe()?.with_file_name("peer-stream");
        Side::start(Command::new(program).env("RAYON_NUM_THREADS", threads.to_string())).map(Limit)
    }

    pub(crate) fn prepare(&mut self, case: &Case) -> Outcome<()> {
        let (read, written) = case.traffic();
        let operand = Operand { name: "x".into(), shape: vec![read], dtype: Kind::U8, low: 0.0, high: 1.0 };
        let task =
            Task { formula: "move".into(), operands: vec![operand], shape: vec![written], dtype: Kind::U8 };
        self.0.ask::<Reply>(&Request::Prepare { task }).map(|_| ())
    }

    /// The seconds of so many passes, with the faster kind of stores: non-temporal ones are slower in caches.
    pub(crate) fn time(&mut self, repeats: usize) -> Outcome<f64> {
        let mut best = f64::INFINITY;
        for mode in [Mode::Fresh, Mode::Reuse] {
            match self.0.ask(&Request::Sample { mode, warm: 1, repeats })? {
                Reply::Seconds(seconds) => best = best.min(seconds),
                other => return Err(format!("unexpected reply: {other:?}").into()),
            }
        }
        Ok(best)
    }
}
