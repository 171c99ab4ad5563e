//! Owns how many threads `zs` computes with, if `--threads` says: what it may be, and the start of so many.
//! Otherwise the engine starts as many as RAYON_NUM_THREADS says, or one for each processor, when it first
//! divides work.

use std::num::NonZeroUsize;

use crate::failure::{Report, Result};

/// More than any machine has processors: a larger number is a mistake in typing.
const MOST: usize = 1024;

/// So many work on one evaluation at most, as [`zerostride::num_threads`] says; others would only take
/// memory.
const USED: usize = 65;

/// Reads a number of threads.
pub(crate) fn read(text: &str) -> Result<NonZeroUsize, String> {
    let number = text.parse().ok().filter(|threads: &NonZeroUsize| threads.get() <= MOST);
    number.ok_or_else(|| format!("write a number from 1 to {MOST}"))
}

/// Starts as many threads as `--threads` says; else the engine starts as many as the environment says when it
/// first needs them.
pub(crate) fn start(asked: Option<NonZeroUsize>) -> Result {
    zerostride::check_environment().map_err(|error| {
        Report::usage(error.to_string()).help("set the variable to something else, or to nothing")
    })?;
    let Some(threads) = asked else { return Ok(()) };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.get().min(USED));
    pool.build_global().map_err(|error| {
        Report::usage(format!("cannot start {threads} threads: {error}"))
            .help("ask for fewer, as in --threads 2")
            .into()
    })
}
