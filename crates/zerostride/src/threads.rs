//! Owns how many threads work on one evaluation. It does not know what they do, nor how they find each other (`exec/crew.rs`).

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The most that help the calling thread: as many as a word has bits.
pub(crate) const SEATS: usize = u64::BITS as usize;

/// The most threads that work on one evaluation.
static MOST_THREADS: AtomicUsize = AtomicUsize::new(usize::MAX);

/// How many threads work on one evaluation: as many as the processor runs, unless [`set_num_threads`] says otherwise; 65
/// at most.
pub fn num_threads() -> usize {
    rayon::current_num_threads().min(MOST_THREADS.load(Ordering::Relaxed)).min(SEATS + 1)
}

/// Sets how many threads work on one evaluation; at least one does.
///
/// The pool of threads does not grow once it runs, which the first evaluation that divides its work starts: more threads
/// than the processor runs must be asked for before.
///
/// ```standalone_crate
/// zerostride::set_num_threads(1);
/// assert_eq!(zerostride::num_threads(), 1);
/// ```
pub fn set_num_threads(threads: usize) {
    let started = threads.max(thread::available_parallelism().map_or(1, Into::into));
    // An error says that the pool runs already.
    let _ = rayon::ThreadPoolBuilder::new().num_threads(started).build_global();
    MOST_THREADS.store(threads.max(1), Ordering::Relaxed);
}
