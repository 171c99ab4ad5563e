//! Owns the interruption of evaluations: which function decides whether to go on, while threads compute and
//! while they wait, and how an evaluation ends that is stopped. It does not know the reasons to stop one.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use once_cell::race::OnceBox;

use crate::{Error, Result, fork};

/// Time between two calls of `stop`: short for a person, long compared with the call.
pub(crate) const PERIOD: Duration = Duration::from_millis(20);

/// The pause after a call of `stop`, as a multiple of the call's own time, where that is longer than
/// [`PERIOD`].
const PAUSE_FACTOR: u32 = 10;

#[derive(Clone, Copy)]
struct Watch {
    stop: fn() -> bool,
    next: Instant,
}

thread_local! {
    static WATCH: Cell<Option<Watch>> = const { Cell::new(None) };
    /// Of a thread that helps another one: the signal that the work has been called off.
    static FOLLOWED: RefCell<Option<Signal>> = const { RefCell::new(None) };
}

/// Tells the threads that share the work of an evaluation that it has been stopped.
pub(crate) type Signal = Arc<AtomicBool>;

/// The panic payload of an evaluation that is stopped.
struct Stopped(Error);

/// Evaluates while `stop`, which is asked every few milliseconds on this thread, does not return true.
///
/// What an in-place operation has written by then stays written. `stop` may evaluate too, but for tensors
/// that the evaluation writes, or reads and `stop` would write: these are [`Error::HeldHere`].
///
/// # Errors
/// [`Error::Interrupted`] if it was stopped, [`Error::Forked`] in a child of a process that `stop` forked;
/// else as `work`.
///
/// ```
/// use zerostride::{Error, Tensor, interruptible};
/// let x = Tensor::ones(&[3])?;
/// assert!(interruptible(|| false, || x.exp()).is_ok());
/// # Ok::<(), zerostride::Error>(())
/// ```
pub fn interruptible<T>(stop: fn() -> bool, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let _outer = Watched::by(Some(Watch { stop, next: Instant::now() + PERIOD }));
    // An early end leaves nothing half changed: claims and memory are released while the evaluation unwinds,
    // and helpers leave first.
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result,
        Err(panic) => match panic.downcast::<Stopped>() {
            Ok(stopped) => Err(stopped.0),
            Err(panic) => resume_unwind(panic),
        },
    }
}

/// Sets the function that a thread calls until this is dropped, also by a panic; then the one before is
/// called again.
struct Watched(Option<Watch>);

impl Watched {
    fn by(watch: Option<Watch>) -> Watched {
        Watched(WATCH.replace(watch))
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        WATCH.set(self.0);
    }
}

/// Whether the evaluation that runs on this thread is to be stopped.
///
/// This may run foreign code: the calling function must hold no lock and no brief claim.
#[inline]
pub(crate) fn is_asked_for() -> bool {
    WATCH.get().is_some_and(ask) || followed().is_some_and(|signal| signal.load(Ordering::Relaxed))
}

fn followed() -> Option<Signal> {
    // A thread that is ending helps no other.
    FOLLOWED.try_with(|followed| followed.borrow().clone()).unwrap_or(None)
}

/// The signal for threads that share the work of this one; `None` where it cannot be stopped.
pub(crate) fn signal() -> Option<Signal> {
    followed().or_else(|| WATCH.get().is_some().then(Signal::default))
}

/// Follows another thread's signal until this is dropped.
pub(crate) struct Follower(Option<Signal>);

impl Follower {
    pub(crate) fn new(signal: Option<Signal>) -> Follower {
        Follower(FOLLOWED.try_with(|followed| followed.replace(signal)).unwrap_or(None))
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let _ = FOLLOWED.try_with(|followed| followed.replace(self.0.take()));
    }
}

/// Elements that a loop may visit between two calls of [`check`].
pub(crate) const STRIDE: usize = 1 << 16;

/// Ends the evaluation that runs on this thread if it is to be stopped: for loops that may be long.
#[inline]
pub(crate) fn check() {
    if is_asked_for() {
        stop();
    }
}

/// Counts the elements that a loop has visited, and checks each time that these are another [`STRIDE`]: for
/// loops over rows, which may be long or short. A check takes as long as some tens of elements.
#[derive(Default)]
pub(crate) struct Visits(usize);

impl Visits {
    #[inline(always)]
    pub(crate) fn add(&mut self, elements: usize) {
        self.0 += elements;
        if self.0 >= STRIDE {
            self.0 = 0;
            check();
        }
    }
}

#[cold]
fn ask(watch: Watch) -> bool {
    let (asked, process) = (Instant::now(), fork::process());
    if asked < watch.next {
        return false;
    }
    // An evaluation inside `stop` is not interrupted in turn.
    let stops = put_off(watch.stop);
    if !stops && process != fork::process() {
        resume_unwind(Box::new(Stopped(Error::Forked)));
    }
    let answered = Instant::now();
    let pause = PERIOD.max((answered - asked) * PAUSE_FACTOR);
    WATCH.set(Some(Watch { next: answered + pause, ..watch }));
    stops
}

/// Runs short work without interruption: for code that must release soon what other threads wait for.
pub(crate) fn put_off<T>(work: impl FnOnce() -> T) -> T {
    let _outer = Watched::by(None);
    work()
}

/// How a thread waits until other threads are done with a tensor: the waiter calls the function it is given,
/// which waits for some milliseconds, until that returns true; or returns false itself, which ends the
/// operation with [`Error::Interrupted`]. It may panic, and evaluate; the operation that waits may hold other
/// tensors meanwhile, as [`Error::HeldHere`] says.
pub type Waiter = fn(&mut (dyn FnMut() -> bool + Send)) -> bool;

static WAITER: OnceBox<Waiter> = OnceBox::new();

/// Says how all threads of the process wait for tensors, unless that has been said before: for languages with
/// a lock that a thread must not hold meanwhile, or with signals to look for.
///
/// ```standalone_crate
/// // What threads do by default, outside of `interruptible`.
/// zerostride::set_waiter(|wait| {
///     while !wait() {}
///     true
/// });
/// ```
pub fn set_waiter(waiter: Waiter) {
    // The first one stays.
    let _ = WAITER.set(Box::new(waiter));
}

/// Waits until `attempt` returns true; `false` if the thread was interrupted.
pub(crate) fn wait(attempt: &mut (dyn FnMut() -> bool + Send)) -> bool {
    if let Some(waiter) = WAITER.get() {
        return waiter(attempt);
    }
    while !attempt() {
        if is_asked_for() {
            return false;
        }
    }
    true
}

/// Ends the evaluation that runs on this thread. Unlike a panic, this is no bug: no panic hook is called.
pub(crate) fn stop() -> ! {
    resume_unwind(Box::new(Stopped(Error::Interrupted)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tensor;

    #[test]
    fn an_evaluation_is_stopped_and_lets_go_of_its_operands() {
        let x = Tensor::ones(&[1 << 22]).unwrap();
        let long = || {
            loop {
                x.sin_()?;
            }
        };
        let stopped: Result<()> = interruptible(|| true, long);
        assert!(matches!(stopped, Err(Error::Interrupted)));
        x.fill_(1.0).unwrap();
        assert_eq!(x.sum(..).unwrap().item::<f32>().unwrap(), (1 << 22) as f32);
    }

    #[test]
    fn an_answer_may_be_computed() {
        fn computed() -> bool {
            let x = Tensor::ones(&[1 << 20]).unwrap();
            (0..8).all(|_| x.sin_().is_ok()) && x.sum(..).unwrap().item::<f32>().unwrap() > 0.0
        }
        let x = Tensor::ones(&[1 << 22]).unwrap();
        let stopped: Result<()> = interruptible(computed, || {
            loop {
                x.sin_()?;
            }
        });
        assert!(matches!(stopped, Err(Error::Interrupted)));
    }

    #[test]
    fn nobody_is_asked_outside() {
        assert!(interruptible(|| false, || Tensor::ones(&[2])).is_ok());
        assert!(WATCH.get().is_none());
    }
}
