//! Owns how many threads work on one evaluation. It does not know what they do, nor how they find each other (`exec/crew.rs`).

use std::any::Any;
use std::error::Error;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::fork::{self, OnceLock, lock};

/// The most that help the calling thread: as many as a word has bits.
pub(crate) const SEATS: usize = u64::BITS as usize;

/// The most threads that work on one evaluation.
static MOST_THREADS: AtomicUsize = AtomicUsize::new(usize::MAX);

/// How many threads work on one evaluation: as many as the processor runs, unless [`set_num_threads`] says otherwise; 65
/// at most.
pub fn num_threads() -> usize {
    // On a thread of a pool, that is the one that is meant: but a child has none of the parent's threads except one.
    let has_pool = match rayon::current_thread_index() {
        Some(_) => fork::process() == 0 || fork::this_thread() != fork::survivor(),
        None => has_pool(0),
    };
    if !has_pool {
        return 1;
    }
    rayon::current_num_threads().min(MOST_THREADS.load(Ordering::Relaxed)).min(SEATS + 1)
}

/// Whether there is a pool of threads, which is started with so many, or as many as the processor runs for 0, if nobody has
/// started it yet. Where the system starts no threads there is none, nor in a child of the process that has started it: whoever
/// evaluates works alone.
fn has_pool(threads: usize) -> bool {
    static POOL: OnceLock<Option<usize>> = OnceLock::new();
    let process = POOL.get().unwrap_or_else(|| {
        let _starting = lock(&STARTING);
        POOL.get_or_init(|| {
            let started = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
            // An error without a source says that the pool runs already.
            started.err().is_none_or(|error| error.source().is_none()).then(fork::process)
        })
    });
    *process == Some(fork::process())
}

/// Held while the pool starts.
static STARTING: Mutex<()> = Mutex::new(());

/// Keeps the pool from starting, for a thread that forks.
pub(crate) fn hold() -> impl Any {
    lock(&STARTING)
}

/// Sets how many threads work on one evaluation; at least one does.
///
/// The pool of threads does not grow once it runs, which the first evaluation that divides its work starts: more threads
/// than the processor runs must be asked for before. More than 65 are never started for this.
///
/// ```standalone_crate
/// zerostride::set_num_threads(1_000_000);
/// assert!(zerostride::num_threads() <= 65);
/// zerostride::set_num_threads(1);
/// assert_eq!(zerostride::num_threads(), 1);
/// ```
pub fn set_num_threads(threads: usize) {
    has_pool(threads.min(SEATS + 1).max(thread::available_parallelism().map_or(1, Into::into)));
    MOST_THREADS.store(threads.max(1), Ordering::Relaxed);
}
