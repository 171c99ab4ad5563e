//! Owns the division of work among threads: the calling thread does it, and threads of the pool that are free
//! help (`helpers.rs`), or a team of another library (`team.rs`). It does not know what the work is.
//!
//! # Why nothing here can wait forever
//!
//! An evaluation holds claims on tensors while its parts run, and other threads wait for those claims,
//! threads of the pool among them. So an operation that holds claims must finish, whatever all other threads
//! do:
//!
//! 1. The caller takes parts until none is left. It never needs a helper: it takes back the requests that no
//!    helper has taken up by then, with one atomic for each.
//! 2. The caller then waits for the helpers that are inside. Each of them runs parts, and a part waits for
//!    nothing but helpers of a division that it makes itself, of which the same holds.
//! 3. While it waits, the caller takes up no other work of the pool, as it would inside `rayon::join`: such
//!    work is the user's, may wait for anything, and would keep an evaluation below it on the stack
//!    from finishing. (Two threads did wait for each other like that: one in a task that waited for a claim,
//!    the other in an evaluation that had the claim and, on top of it, a task that waited for the first
//!    one's.)
//! 4. A helper that waits to be asked does take up such work. It holds no claim then, and nor does anything
//!    below it on the stack: it was started as a task of the pool, which an evaluation that has claims never
//!    takes up (3).
//! 5. Between two parts the caller may run foreign code: it asks whether to go on (`interrupt.rs`). A helper
//!    never does. What foreign code asks of tensors never waits for the evaluation below it, nor in a circle
//!    (`memory/borrow.rs`).
//!
//! Waiting for a claim is therefore waiting for threads that run, or that wait for claims on storages of
//! higher addresses (`Access::wait`), the last of which is held by threads that run. It makes no difference
//! which thread waits. Foreign code that waits by other means for another thread, which waits for a tensor of
//! the evaluation below, is beyond this: a handler must not join such a thread.
//!
//! A process that forks leaves its helpers behind. A child does all parts itself; an evaluation that was in
//! the middle of a division when it ran code that forked ends in the child with an error.

use std::cell::{Cell, UnsafeCell};
use std::mem;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use smallvec::SmallVec;

use super::crew::{Crew, CrewWork};
use super::helpers::Helpers;
use super::team;
use crate::fork::lock;
use crate::interrupt::{self, Follower};
use crate::num_threads;

/// How much work there is to divide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorkSize {
    /// Done before a sleeping thread would come: it is for helpers that are awake.
    Short,
    /// Worth waking sleeping threads.
    Long,
}

/// Runs `part` on every item of `parts`, on this thread and on free ones of the pool; each begins with a
/// state of its own. The same threads get about the same parts, by their order, whenever the same helpers are
/// awake.
///
/// # Errors
/// The error of the first part that has one; parts behind it may not have run.
pub(crate) fn for_each<P: Send, S, E: Send>(
    parts: impl ExactSizeIterator<Item = P>,
    state: impl Fn() -> S + Sync,
    part: impl Fn(&mut S, P) -> Result<(), E> + Sync,
) -> Result<(), E> {
    for_each_of(WorkSize::Long, parts, state, part)
}

/// As [`for_each`], of work that need not be long.
///
/// # Errors
/// The error of the first part that has one; parts behind it may not have run.
pub(crate) fn for_each_of<P: Send, S, E: Send>(
    effort: WorkSize,
    parts: impl ExactSizeIterator<Item = P>,
    state: impl Fn() -> S + Sync,
    part: impl Fn(&mut S, P) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let count = parts.len();
    // Asking how many threads there are starts the pool.
    let threads = if count < 2 { 1 } else { count.min(num_threads()) };
    if threads < 2 {
        let mut own = None;
        for item in parts {
            if interrupt::is_asked_for() {
                interrupt::stop();
            }
            part(own.get_or_insert_with(&state), item)?;
        }
        return Ok(());
    }
    let (parts, signal) = (Parts::new(parts, threads), interrupt::signal());
    together(threads, effort, signal.as_deref(), &|number, ask| {
        let _follower = (number > 0).then(|| Follower::new(signal.clone()));
        let _end = CallOff { end: &parts.end, signal: signal.as_deref() };
        let mut own = None;
        loop {
            interrupt::check();
            ask();
            let Some((index, item)) = parts.take(number) else { break };
            if let Err(error) = part(own.get_or_insert_with(&state), item) {
                parts.fail(index, error);
            }
        }
    });
    // The caller may have been stopped while it waited for helpers.
    if signal.is_some_and(|signal| signal.load(Ordering::Relaxed)) {
        interrupt::stop();
    }
    match parts.failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some((_, error)) => Err(error),
        None => Ok(()),
    }
}

/// Calls the work off where it ends by unwinding: no further part is taken, and long ones are left early.
struct CallOff<'a> {
    end: &'a AtomicUsize,
    signal: Option<&'a AtomicBool>,
}

impl Drop for CallOff<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.end.store(0, Ordering::Relaxed);
            if let Some(signal) = self.signal {
                signal.store(true, Ordering::Relaxed);
            }
        }
    }
}

/// The parts, and which thread takes which: every thread begins with a share of its own and goes on with
/// parts that other threads have left.
struct Parts<P, E> {
    items: SmallVec<[UnsafeCell<Option<P>>; 16]>,
    shares: SmallVec<[Share; 8]>,
    /// The first part that is no longer needed: the one after an error, or 0 where the work is called off.
    end: AtomicUsize,
    failed: Mutex<Option<(usize, E)>>,
}

/// Neighbouring parts, on a cache line that one thread has to itself until other threads help with them.
#[repr(align(64))]
struct Share {
    next: AtomicUsize,
    end: usize,
}

// SAFETY: an item is touched by the one thread that has got its index from a share, and then belongs to it.
unsafe impl<P: Send, E: Send> Sync for Parts<P, E> {}

impl<P, E> Parts<P, E> {
    fn new(parts: impl ExactSizeIterator<Item = P>, threads: usize) -> Parts<P, E> {
        let items: SmallVec<[_; 16]> = parts.map(|item| UnsafeCell::new(Some(item))).collect();
        let border = |share: usize| share * items.len() / threads;
        let share = |share: usize| Share { next: border(share).into(), end: border(share + 1) };
        let shares = (0..threads).map(share).collect();
        Parts { items, shares, end: AtomicUsize::new(usize::MAX), failed: Mutex::new(None) }
    }

    /// A part for a thread, with its index.
    fn take(&self, number: usize) -> Option<(usize, P)> {
        let (before, own) = self.shares.split_at(number);
        for share in own.iter().chain(before) {
            while share.next.load(Ordering::Relaxed) < share.end {
                let index = share.next.fetch_add(1, Ordering::Relaxed);
                if index < share.end && index < self.end.load(Ordering::Relaxed) {
                    // SAFETY: shares are disjoint, and `next` gives each index once, so that no other thread
                    // touches the item. It was there before the helpers were asked.
                    let item = unsafe { (*self.items[index].get()).take() };
                    return item.map(|item| (index, item));
                }
            }
        }
        None
    }

    /// Parts before one that fails are taken all the same, so that the first error is the same however many
    /// threads there are.
    fn fail(&self, index: usize, error: E) {
        self.end.fetch_min(index, Ordering::Relaxed);
        let mut failed = lock(&self.failed);
        if failed.as_ref().is_none_or(|(first, _)| index < *first) {
            *failed = Some((index, error));
        }
    }
}

/// Runs `work` on this thread and, at the same time, on up to `threads - 1` of the pool, which are told by
/// the signal if it is to end while this thread waits for them.
fn together(threads: usize, effort: WorkSize, signal: Option<&AtomicBool>, work: &CrewWork<'_>) {
    if let Some(team) = team::of_this_thread() {
        return team::together(team, threads, work);
    }
    // SAFETY: only the lifetime of what `work` borrows is forgotten. Helpers use it until `Asking` has waited
    // for the last of them, before this function returns or unwinds.
    let lasting = unsafe { mem::transmute::<*const CrewWork<'_>, *const CrewWork<'static>>(work) };
    let crew = Crew::new(lasting, threads - 1);
    {
        let asking = Asking { crew: &crew, signal, pool: Helpers::of_this_thread(), asked: Cell::new(0) };
        asking.pool.keep_processor();
        asking.ask();
        asking.call(effort);
        work(0, &|| asking.ask());
    }
    if let Some(panic) = crew.into_panic() {
        resume_unwind(panic);
    }
}

/// The caller's side of a crew. When dropped, also by a panic, it takes back the requests that no thread has
/// taken up, and waits for the threads that have.
struct Asking<'a> {
    crew: &'a Crew,
    signal: Option<&'a AtomicBool>,
    pool: Arc<Helpers>,
    /// The seats that the crew is in, or has been.
    asked: Cell<u64>,
}

impl Asking<'_> {
    fn missing(&self) -> usize {
        self.crew.helpers() - self.asked.get().count_ones() as usize
    }

    /// Asks waiting threads, if more may help.
    fn ask(&self) {
        if self.missing() > 0 {
            let asked = self.asked.get();
            // SAFETY: the crew outlives this value, whose end takes the work back and waits for the threads
            // that have taken it up.
            self.asked.set(asked | unsafe { self.pool.ask(self.crew, self.missing(), asked) });
        }
    }

    /// Calls sleeping threads, if more may help.
    fn call(&self, effort: WorkSize) {
        if self.missing() > 0 && (effort == WorkSize::Long || self.pool.is_time_to_call()) {
            // SAFETY: as in `ask`.
            let called = unsafe { self.pool.call(self.crew, self.crew.helpers(), self.asked.get()) };
            self.asked.set(self.asked.get() | called);
        }
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.crew.wait(self.pool.take_back(self.crew, self.asked.get()), self.signal);
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Barrier;
    use std::time::Duration;

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
    fn a_question_that_panics_comes_out_once_all_have_left() {
        static IS_ALONE: AtomicBool = AtomicBool::new(false);
        let asks = || {
            assert!(!IS_ALONE.load(Ordering::SeqCst), "on purpose");
            false
        };
        on_threads(2, || {
            let (caller, running) = (thread::current().id(), AtomicUsize::new(0));
            let both = Barrier::new(2);
            let part = |(): &mut (), _| {
                running.fetch_add(1, Ordering::SeqCst);
                both.wait();
                if thread::current().id() != caller {
                    thread::sleep(Duration::from_millis(100));
                    IS_ALONE.store(true, Ordering::SeqCst);
                    thread::sleep(Duration::from_millis(200));
                }
                running.fetch_sub(1, Ordering::SeqCst);
                Ok::<_, Infallible>(())
            };
            let work = || {
                interrupt::interruptible(asks, || {
                    let Ok(()) = for_each(0..2, || (), part);
                    Ok(())
                })
            };
            assert!(catch_unwind(AssertUnwindSafe(work)).is_err());
            assert_eq!(running.into_inner(), 0);
        });
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
}
