//! Owns the division of work among threads: the calling thread does it, and threads of the pool that are free help. It
//! does not know what the work is.
//!
//! # Why nothing here can wait forever
//!
//! An evaluation holds claims on tensors while its parts run, and other threads wait for those claims, threads of the pool
//! among them. So whoever holds claims must finish whatever all others do:
//!
//! 1. The caller takes parts until none is left. It never needs a helper: one that has not begun by then finds the work
//!    closed and goes.
//! 2. The caller then waits for the helpers that are inside. Each of them runs one part, and a part waits for nothing but
//!    helpers of a division that it makes itself, of which the same holds.
//! 3. While it waits, the caller sleeps. It takes up no other work of the pool, as it would inside `rayon::join`: such work
//!    is the user's, may wait for anything, and would keep an evaluation that lies below it on the stack from finishing.
//!    (Two threads did wait for each other like that: one in a task that waited for a claim, the other in an evaluation
//!    that had the claim and, on top of it, a task that waited for the first one's.)
//!
//! Waiting for a claim is therefore waiting for threads that run, or that wait for claims on storages of higher addresses
//! (`Memory::claim`), the last of which is held by threads that run. It makes no difference which thread waits.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::interrupt;

/// Calls for help that no thread of the pool has heard yet. A pool that is busy for long leaves them in its queue, where
/// they must not pile up.
static UNHEARD: AtomicUsize = AtomicUsize::new(0);

/// Unheard calls beyond which none is made.
const MOST_UNHEARD: usize = 1024;

/// How often the caller looks whether its helpers are done before it sleeps.
const LOOKS: usize = 64;

/// The most threads that work on one evaluation.
static MOST_THREADS: AtomicUsize = AtomicUsize::new(usize::MAX);

/// How many threads work on one evaluation: as many as the processor runs, unless [`set_num_threads`] says otherwise.
pub fn num_threads() -> usize {
    rayon::current_num_threads().min(MOST_THREADS.load(Ordering::Relaxed))
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

/// Runs `part` on every item of `parts`, on this thread and on free ones of the pool; each begins with a state of its own.
///
/// # Errors
/// The error of the first part that has one; parts behind it may not have run.
pub(crate) fn for_each<P: Send, S, E: Send>(
    parts: impl ExactSizeIterator<Item = P> + Send,
    state: impl Fn() -> S + Sync,
    part: impl Fn(&mut S, P) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let count = parts.len();
    // Asking how many threads there are starts the pool.
    let threads = if count < 2 { 1 } else { count.min(num_threads()) };
    let queue = Mutex::new(Queue { parts: parts.enumerate(), failed: None, stopped: false });
    let lock = || queue.lock().unwrap_or_else(PoisonError::into_inner);
    together(threads, &|| {
        let mut own = None;
        loop {
            if interrupt::is_asked_for() {
                // Helpers leave after the parts that they are at.
                lock().stopped = true;
                interrupt::stop();
            }
            let next = lock().next();
            let Some((index, item)) = next else { break };
            if let Err(error) = part(own.get_or_insert_with(&state), item) {
                lock().fail(index, error);
            }
        }
    });
    match queue.into_inner().unwrap_or_else(PoisonError::into_inner).failed {
        Some((_, error)) => Err(error),
        None => Ok(()),
    }
}

/// The parts that nobody has taken.
struct Queue<I, E> {
    parts: I,
    failed: Option<(usize, E)>,
    /// Nobody wants the rest.
    stopped: bool,
}

impl<P, I: Iterator<Item = (usize, P)>, E> Queue<I, E> {
    fn next(&mut self) -> Option<(usize, P)> {
        if self.failed.is_none() && !self.stopped { self.parts.next() } else { None }
    }

    /// Parts are taken in order and always finished, so that the first error is the same however many threads there are.
    fn fail(&mut self, index: usize, error: E) {
        if self.failed.as_ref().is_none_or(|(first, _)| index < *first) {
            self.failed = Some((index, error));
        }
    }
}

/// Runs `work` on this thread and, at the same time, on up to `threads - 1` of the pool. It is to return once nothing is
/// left to do.
fn together(threads: usize, work: &(dyn Fn() + Sync)) {
    if threads < 2 {
        return work();
    }
    let work = std::ptr::from_ref(work);
    // SAFETY: only the lifetime of what `work` borrows is forgotten. `Crew::enter` gives the pointer out only while the
    // crew is open, and `Closing` closes it and waits until nobody is inside before this function returns or unwinds,
    // while the borrow lasts.
    let work =
        Work(unsafe { std::mem::transmute::<*const (dyn Fn() + Sync), *const (dyn Fn() + Sync)>(work) });
    let crew = Arc::new(Crew {
        state: Mutex::new(State { work: Some(work), inside: 0, panic: None }),
        left: Condvar::new(),
    });
    recruit(&crew, threads - 1);
    {
        let _closing = Closing(&crew);
        // SAFETY: the borrow that the pointer comes from lasts to the end of this function.
        unsafe { (*work.0)() };
    }
    let panic = crew.lock().panic.take();
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
}

/// Calls for `helpers` threads of the pool. The first to come calls for the others, so that the caller wakes only one.
fn recruit(crew: &Arc<Crew>, helpers: usize) {
    if helpers == 0 || !crew.is_open() || UNHEARD.load(Ordering::Relaxed) >= MOST_UNHEARD {
        return;
    }
    UNHEARD.fetch_add(1, Ordering::Relaxed);
    let crew = Arc::clone(crew);
    rayon::spawn(move || {
        UNHEARD.fetch_sub(1, Ordering::Relaxed);
        let others = helpers - 1;
        recruit(&crew, others / 2);
        recruit(&crew, others - others / 2);
        crew.help();
    });
}

#[derive(Clone, Copy)]
struct Work(*const (dyn Fn() + Sync));

// SAFETY: what the pointer leads to is `Sync`; whether it is still there is `Crew`'s to say.
unsafe impl Send for Work {}

/// One call of `together` and those who help.
struct Crew {
    state: Mutex<State>,
    /// The last helper has left.
    left: Condvar,
}

struct State {
    /// `None` once the crew is closed.
    work: Option<Work>,
    /// Helpers that are running the work.
    inside: usize,
    /// What the first of them panicked with.
    panic: Option<Box<dyn Any + Send>>,
}

impl Crew {
    fn is_open(&self) -> bool {
        self.lock().work.is_some()
    }

    /// Runs the work, unless the crew is closed.
    fn help(&self) {
        let Some(work) = self.enter() else { return };
        // SAFETY: `enter` has counted this thread in, and `Closing` keeps the work alive until it is counted out.
        let outcome = catch_unwind(AssertUnwindSafe(|| unsafe { (*work.0)() }));
        let mut state = self.lock();
        if let Err(panic) = outcome {
            state.panic.get_or_insert(panic);
        }
        state.inside -= 1;
        if state.inside == 0 {
            self.left.notify_all();
        }
    }

    fn enter(&self) -> Option<Work> {
        let mut state = self.lock();
        state.inside += usize::from(state.work.is_some());
        state.work
    }

    /// Nothing panics while the state is locked.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes the crew when dropped, also by a panic, and waits until the helpers have left.
struct Closing<'a>(&'a Crew);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.lock().work = None;
        // A part takes some microseconds: often less than falling asleep.
        for _ in 0..LOOKS {
            if self.0.lock().inside == 0 {
                return;
            }
            thread::yield_now();
        }
        let state = self.0.lock();
        drop(self.0.left.wait_while(state, |state| state.inside > 0).unwrap_or_else(PoisonError::into_inner));
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn on_threads(threads: usize, test: impl FnOnce() + Send) {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(test);
    }

    #[test]
    fn every_part_runs_once() {
        for threads in [1, 2, 3, 16] {
            on_threads(threads, || {
                for count in [0, 1, 2, 1000] {
                    let mut done = vec![0; count];
                    let states = AtomicUsize::new(0);
                    let state = || states.fetch_add(1, Ordering::Relaxed);
                    let Ok(()) = for_each(done.iter_mut(), state, |_, done| {
                        *done += 1;
                        Ok::<_, Infallible>(())
                    });
                    assert_eq!(done, vec![1; count]);
                    assert!(states.into_inner() <= threads);
                }
            });
        }
    }

    #[test]
    fn the_first_error_counts_whatever_the_threads() {
        for threads in [1, 2, 16] {
            on_threads(threads, || {
                for _ in 0..100 {
                    let fails = |(): &mut (), index| if index < 7 { Ok(()) } else { Err(index) };
                    assert_eq!(for_each(0..100, || (), fails), Err(7));
                }
            });
        }
    }

    #[test]
    fn a_panic_of_any_part_comes_out_once_all_have_left() {
        for threads in [1, 2, 16] {
            on_threads(threads, || {
                for broken in [0, 1, 50, 99] {
                    let running = AtomicUsize::new(0);
                    let part = |(): &mut (), index| {
                        running.fetch_add(1, Ordering::SeqCst);
                        thread::yield_now();
                        running.fetch_sub(1, Ordering::SeqCst);
                        assert_ne!(index, broken, "on purpose");
                        Ok::<_, Infallible>(())
                    };
                    assert!(catch_unwind(AssertUnwindSafe(|| for_each(0..100, || (), part))).is_err());
                    assert_eq!(running.into_inner(), 0);
                }
            });
        }
    }

    #[test]
    fn divisions_nest() {
        on_threads(3, || {
            let count = AtomicUsize::new(0);
            let inner = |(): &mut (), _| {
                count.fetch_add(1, Ordering::Relaxed);
                Ok::<_, Infallible>(())
            };
            let Ok(()) = for_each(0..50, || (), |(), _| for_each(0..50, || (), inner));
            assert_eq!(count.into_inner(), 2500);
        });
    }

    #[test]
    fn work_is_done_while_no_thread_of_the_pool_is_free() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let (free, blocked) = std::sync::mpsc::channel::<()>();
        pool.spawn(move || _ = blocked.recv());
        pool.install(|| {
            // More than the queue may take.
            for _ in 0..2 * MOST_UNHEARD {
                let Ok(()) = for_each(0..2, || (), |(), _| Ok::<_, Infallible>(()));
            }
        });
        assert!(UNHEARD.load(Ordering::Relaxed) <= MOST_UNHEARD + 64);
        drop(free);
    }
}
