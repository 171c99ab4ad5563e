//! Owns how many threads `zs` computes with, if somebody says: what `--threads` and RAYON_NUM_THREADS may be, and the start of
//! so many. By default the engine starts one for each processor when it first divides work.

use std::env;
use std::num::NonZeroUsize;

use crate::failure::{Report, Result};

/// More than any machine has processors for: whoever asks for more has mistyped.
const MOST: usize = 1024;

/// So many work on one evaluation at most, as [`zerostride::num_threads`] says; others would only take memory.
const USED: usize = 65;

const VARIABLE: &str = "RAYON_NUM_THREADS";

/// Reads a number of threads.
pub(crate) fn read(text: &str) -> Result<NonZeroUsize, String> {
    let number = text.parse().ok().filter(|threads: &NonZeroUsize| threads.get() <= MOST);
    number.ok_or_else(|| format!("write a number from 1 to {MOST}"))
}

/// Starts as many threads as `--threads` says, or else the environment; without either, none yet.
pub(crate) fn start(asked: Option<NonZeroUsize>) -> Result {
    let threads = match (asked, variable()?) {
        (Some(asked), _) => asked.get(),
        (None, Some(threads)) => threads,
        (None, None) => return Ok(()),
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.min(USED));
    pool.build_global().map_err(|error| {
        Report::usage(format!("cannot start {threads} threads: {error}"))
            .help("ask for fewer, as in --threads 2")
            .into()
    })
}

/// What the environment says; what is no number, or 0, counts as nothing.
fn variable() -> Result<Option<usize>> {
    let threads = env::var(VARIABLE).ok().and_then(|text| text.trim().parse::<usize>().ok());
    match threads {
        Some(threads) if threads > MOST => {
            let report =
                Report::usage(format!("{VARIABLE}={threads}: at most {MOST} threads can be started"));
            Err(report.help(format!("set {VARIABLE} to a smaller number, or to nothing")).into())
        }
        threads => Ok(threads.filter(|threads| *threads > 0)),
    }
}
