//! Owns a crew: the work of a caller, how a helper does its part of it, and how the caller waits for the last
//! helper. It does not know which threads help (`helpers.rs`), nor what the work is.

use std::any::Any;
use std::hint;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Thread};

use crate::fork::{self, lock};
use crate::interrupt;

/// How often the caller checks whether its helpers are done before it sleeps: first after a pause instruction
/// each, then after a yield to other threads each. A part takes some microseconds, often less than falling
/// asleep.
const CREW_LOOKS: [usize; 2] = [256, 64];

/// The work of all threads: it gets the number of the thread, 0 for the caller, and a function by which the
/// caller asks other threads to help. It returns once nothing is left to do.
pub(super) type CrewWork<'a> = dyn Fn(usize, &dyn Fn()) + Sync + 'a;

/// A piece of work and the threads that do it, on the stack of the caller.
pub(super) struct Crew {
    work: *const CrewWork<'static>,
    /// The most that may help.
    helpers: usize,
    /// Helpers that have left, and [`ASLEEP`].
    left: AtomicUsize,
    /// The process that has the helpers.
    process: usize,
    caller: Thread,
    /// What the first of them panicked with, or the caller while it waited.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

/// The caller sleeps until the last helper wakes it.
const ASLEEP: usize = 1 << (usize::BITS - 1);

impl Crew {
    /// The calling thread, and so many helpers at the most.
    pub(super) fn new(work: *const CrewWork<'static>, helpers: usize) -> Crew {
        Crew {
            work,
            helpers,
            left: AtomicUsize::new(0),
            process: fork::process(),
            caller: thread::current(),
            panic: Mutex::new(None),
        }
    }

    /// The most that may help.
    pub(super) fn helpers(&self) -> usize {
        self.helpers
    }

    /// What the first helper panicked with, or the caller while it waited.
    pub(super) fn into_panic(self) -> Option<Box<dyn Any + Send>> {
        self.panic.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the work on the helper in a seat.
    ///
    /// # Safety
    /// The crew is there until this function has counted the helper as one that has left.
    pub(super) unsafe fn help(crew: *const Crew, seat: usize) {
        // SAFETY: as the caller says.
        let Crew { work, helpers, left, caller, panic, .. } = unsafe { &*crew };
        // SAFETY: the work lasts as long as the crew.
        let run = || unsafe { (**work)(1 + seat % helpers, &|| ()) };
        // Below on this thread's stack there may be an evaluation that can be stopped: that does not concern
        // the caller's work.
        let work = AssertUnwindSafe(|| interrupt::put_off(run));
        if let Err(reason) = catch_unwind(work) {
            lock(panic).get_or_insert(reason);
        }
        let caller = caller.clone();
        // The crew may be gone from here on.
        if left.fetch_add(1, Ordering::AcqRel) & ASLEEP != 0 {
            caller.unpark();
        }
    }

    /// Waits until that many helpers have left; a child waits for none, as it does not have its parent's
    /// threads.
    pub(super) fn wait(&self, helpers: usize, signal: Option<&AtomicBool>) {
        if self.process != fork::process() {
            return;
        }
        let [pauses, turns] = CREW_LOOKS;
        for look in 0..pauses + turns {
            if self.left.load(Ordering::Acquire) == helpers {
                return;
            }
            if look < pauses { hint::spin_loop() } else { thread::yield_now() }
        }
        if self.left.fetch_or(ASLEEP, Ordering::AcqRel) != helpers {
            while self.left.load(Ordering::Acquire) != helpers | ASLEEP {
                let Some(signal) = signal.filter(|signal| !signal.load(Ordering::Relaxed)) else {
                    thread::park();
                    continue;
                };
                thread::park_timeout(interrupt::PERIOD);
                // The program's own function is asked, which may panic. Helpers still use what unwinding
                // would drop, so the panic goes on once they have left.
                let is_to_end = catch_unwind(interrupt::is_asked_for).unwrap_or_else(|reason| {
                    lock(&self.panic).get_or_insert(reason);
                    true
                });
                signal.fetch_or(is_to_end, Ordering::Relaxed);
            }
        }
    }
}
