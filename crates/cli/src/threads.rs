//! Owns `--threads`: its limits, and the start of so many threads. Without it the engine starts its threads
//! when it first divides work: as many as RAYON_NUM_THREADS says, or one for each processor. It does not know
//! what they compute.

use std::num::NonZeroUsize;

use crate::failure::{Report, Result};
use crate::words::say;

/// More than any machine has processors: a larger number is a typing error.
const MOST: usize = 1024;

/// The most threads that work on one evaluation, see [`zerostride::num_threads`]; more would only take
/// memory.
const USED: usize = 65;

/// Reads a number of threads.
pub(crate) fn read(text: &str) -> Result<NonZeroUsize, String> {
    let number = text.parse().ok().filter(|threads: &NonZeroUsize| threads.get() <= MOST);
    number.ok_or_else(|| say!("number-of-threads", most = MOST))
}

/// Starts as many threads as `--threads` says, if it is given.
pub(crate) fn start(asked: Option<NonZeroUsize>) -> Result {
    zerostride::check_environment()
        .map_err(|error| Report::usage(error.to_string()).help(say!("set-the-variable")))?;
    let Some(threads) = asked else { return Ok(()) };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.get().min(USED));
    pool.build_global().map_err(|error| {
        let count = threads.get();
        Report::usage(say!("cannot-start-threads", count = count, error = error.to_string()))
            .help(say!("ask-for-fewer"))
            .into()
    })
}
