//! Owns the state that a fork leaves to the child: its locks are free, and each object knows the process it
//! belongs to. A child has only the thread that forked. It does not know what the locks guard, nor what
//! happens to claims (`memory/borrow.rs`).
//!
//! A lock that another thread of the parent holds at that moment would never be free in the child, and its
//! data might be half changed. So the thread that forks takes all locks of the process first, as POSIX
//! proposes (`pthread_atfork`), and both processes release them afterwards. All locks are held briefly, and
//! no foreign code runs meanwhile. Every static of the crate that threads share is therefore a [`Lock`],
//! which is known here from the moment it is first taken, or a [`OnceBox`], which no thread ever waits for:
//! two that want its value at the same time may both make one.
//!
//! Claims and the pool of threads are held for longer and carry the number of their process: in the child
//! only those of the thread that forked count.

#![cfg_attr(not(unix), expect(dead_code, reason = "a fork takes locks by what they guard"))]

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use once_cell::race::OnceBox;

/// How many forks lie between the first process and this one. It changes while there is only one thread.
static FORKS: AtomicUsize = AtomicUsize::new(0);

/// The thread that forked, in a child.
static SURVIVOR: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static THREAD: Cell<u64> = const { Cell::new(0) };
    /// The locks that a thread holds while it forks.
    static HELD: RefCell<Vec<Box<dyn Any>>> = const { RefCell::new(Vec::new()) };
}

/// The number of this process, which is another one in a child.
#[inline]
pub(crate) fn process() -> usize {
    FORKS.load(Ordering::Relaxed)
}

/// A number that no other thread of this process, or of those before it, has had; not 0.
pub(crate) fn this_thread() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    match THREAD.get() {
        0 => {
            THREAD.set(NEXT.fetch_add(1, Ordering::Relaxed));
            THREAD.get()
        }
        known => known,
    }
}

/// The only thread that this process has taken over from the one before it; 0 in the first process.
pub(crate) fn survivor() -> u64 {
    SURVIVOR.load(Ordering::Relaxed)
}

/// Locks a mutex, poisoned or not: a panic leaves nothing half changed.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a lock guards. A thread that needs several takes them in this order, as a fork does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Guarded {
    /// The claims on storages.
    Claims,
    /// Which threads wait for each other.
    Waits,
    /// The start of the pool of threads.
    Threads,
    /// The queue of devices and the kernels that are kept for them.
    #[cfg(feature = "cuda")]
    Devices,
    /// The plans and the codes that are kept, and the first code that is printed.
    Plans,
    Stepped,
    FirstCode,
    Codes,
    /// The warnings given so far, the hook for warnings, and the policy of the process.
    Warned,
    Hook,
    Policy,
    /// The counters of threads, and the blocks of memory that any of them may take.
    Counters,
    Blocks,
    /// The files that are not yet renamed.
    #[cfg(feature = "io")]
    Unfinished,
}

/// A mutex in a static, which a fork takes before it happens.
#[derive(Debug)]
pub(crate) struct Lock<T: 'static> {
    guarded: Guarded,
    is_known: AtomicBool,
    mutex: Mutex<T>,
}

/// A lock that a fork can take, of any content.
trait HoldableLock: Sync {
    fn guarded(&self) -> Guarded;
    fn hold(&'static self) -> Box<dyn Any>;
}

impl<T: Send> HoldableLock for Lock<T> {
    fn guarded(&self) -> Guarded {
        self.guarded
    }

    fn hold(&'static self) -> Box<dyn Any> {
        Box::new(lock(&self.mutex))
    }
}

/// All locks that have been taken. This one is taken last, also by threads that hold another.
static KNOWN: Mutex<Vec<&'static dyn HoldableLock>> = Mutex::new(Vec::new());

impl<T: Send> Lock<T> {
    pub(crate) const fn new(guarded: Guarded, value: T) -> Lock<T> {
        Lock { guarded, is_known: AtomicBool::new(false), mutex: Mutex::new(value) }
    }

    /// Locks the value, poisoned or not: a panic leaves nothing half changed.
    #[inline]
    pub(crate) fn lock(&'static self) -> MutexGuard<'static, T> {
        if !self.is_known.load(Ordering::Relaxed) {
            self.become_known();
        }
        lock(&self.mutex)
    }

    #[cold]
    fn become_known(&'static self) {
        let mut known = lock(&KNOWN);
        if !self.is_known.swap(true, Ordering::Relaxed) {
            known.push(self);
        }
    }
}

/// The first function that a child runs.
static IN_CHILD: OnceBox<fn()> = OnceBox::new();

/// Registers the fork handlers; a child begins with `in_child`, which forgets the threads of its parent.
pub(crate) fn watch(in_child: fn()) {
    // No `Once`: a fork while another thread is in it would leave it begun for ever.
    static IS_WATCHED: AtomicBool = AtomicBool::new(false);
    if IS_WATCHED.load(Ordering::Relaxed) || IS_WATCHED.swap(true, Ordering::Relaxed) {
        return;
    }
    let _ = IN_CHILD.set(Box::new(in_child));
    #[cfg(unix)]
    // SAFETY: the three functions may be called at any fork for as long as the process lives, and none of
    // them unwinds: they lock, which ignores poison, and store. Where there is no memory for the list, forks
    // go on as without it.
    unsafe {
        libc::pthread_atfork(Some(before), Some(after), Some(begin_child));
    }
}

#[cfg(unix)]
extern "C" fn before() {
    let held = hold_all();
    // A thread that is ending has no thread-local storage for them.
    let _ = HELD.try_with(|own| own.replace(held));
}

/// All locks, and at last those that keep others from becoming known.
#[cfg(unix)]
fn hold_all() -> Vec<Box<dyn Any>> {
    loop {
        let mut known = lock(&KNOWN).clone();
        known.sort_by_key(|lock| lock.guarded());
        let mut held: Vec<Box<dyn Any>> = known.iter().map(|lock| lock.hold()).collect();
        let all = lock(&KNOWN);
        // A thread that held one of them may have registered another one meanwhile.
        if all.len() == known.len() {
            held.push(Box::new(all));
            return held;
        }
    }
}

#[cfg(unix)]
extern "C" fn after() {
    let _ = HELD.try_with(RefCell::take);
}

#[cfg(unix)]
extern "C" fn begin_child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
    SURVIVOR.store(this_thread(), Ordering::Relaxed);
    after();
    if let Some(in_child) = IN_CHILD.get() {
        in_child();
    }
}

#[cfg(all(test, unix, not(miri)))]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::{Error, Expr, Tensor, interruptible, num_threads};

    /// Whether a child does its work within half a minute.
    fn succeeds_in_child(work: impl FnOnce() -> bool) -> bool {
        // SAFETY: the child ends here, whatever comes, and runs nothing that the parent would have run next.
        let child = unsafe { libc::fork() };
        assert!(child >= 0);
        if child == 0 {
            // SAFETY: the first ends a child that hangs, the second one that is done, without destructors of
            // the parent's.
            unsafe { libc::alarm(30) };
            let succeeded = catch_unwind(AssertUnwindSafe(work)).unwrap_or(false);
            // SAFETY: this ends the process and touches none of its memory.
            unsafe { libc::_exit(i32::from(!succeeded)) }
        }
        succeeds(child)
    }

    /// Waits for a child; whether it says that it succeeded.
    fn succeeds(child: i32) -> bool {
        let mut status = 0;
        // SAFETY: the status is a place for a number, and the child is this process's.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        status == 0
    }

    #[test]
    fn a_child_has_all_tensors_whatever_other_threads_of_its_parent_were_at() {
        let large = Tensor::ones(&[1 << 18]).unwrap();
        let small = Tensor::ones(&[100]).unwrap();
        let stop = AtomicBool::new(false);
        let until_stopped = |work: &(dyn Fn(usize) + Sync)| {
            (0..).take_while(|_| !stop.load(Ordering::Relaxed)).for_each(work);
        };
        let write = |x: &Tensor| x.add_(1).unwrap();
        // Plans that are new, memory from all places of the pool.
        let vary = |round: usize| {
            let (x, y) = (Tensor::ones(&[1 + round % 50, 40_000]).unwrap(), Tensor::ones(&[40_000]).unwrap());
            drop((Expr::from(&x).exp() * &y + round as f64).eval().unwrap());
        };
        std::thread::scope(|scope| {
            scope.spawn(|| until_stopped(&|_| write(&large)));
            scope.spawn(|| until_stopped(&|_| drop(large.exp().unwrap())));
            scope.spawn(|| until_stopped(&|_| write(&small)));
            scope.spawn(|| until_stopped(&|_| drop(small.add(&small).unwrap())));
            scope.spawn(|| until_stopped(&vary));
            let in_child = || {
                for x in [&large, &small] {
                    write(x);
                    x.fill_(1.0).unwrap();
                    assert_eq!(x.sum(..).unwrap().item::<f32>().unwrap(), x.numel() as f32);
                }
                vary(7);
                crate::pool::trim();
                // A child forks too, and has threads of its own.
                let again = || large.add_(1).is_ok() && num_threads() == 1;
                std::thread::scope(|scope| scope.spawn(|| (0..20).for_each(|_| write(&large))).join())
                    .unwrap();
                succeeds_in_child(again)
            };
            let succeeded = (0..20).filter(|_| succeeds_in_child(in_child)).count();
            stop.store(true, Ordering::Relaxed);
            assert_eq!(succeeded, 20);
        });
    }

    #[test]
    fn an_evaluation_that_forks_ends_in_the_child_and_goes_on_in_the_parent() {
        thread_local! {
            static CHILD: Cell<i32> = const { Cell::new(-1) };
        }
        fn fork() -> bool {
            // SAFETY: the child ends below.
            CHILD.set(unsafe { libc::fork() });
            CHILD.get() != 0
        }
        let x = Tensor::ones(&[1 << 22]).unwrap();
        let result: crate::Result<()> = interruptible(fork, || {
            loop {
                x.sin_()?;
            }
        });
        if CHILD.get() == 0 {
            let ended = matches!(result, Err(Error::Forked)) && x.fill_(1.0).is_ok();
            // SAFETY: as above.
            unsafe { libc::_exit(i32::from(!ended)) };
        }
        assert!(matches!(result, Err(Error::Interrupted)));
        assert!(succeeds(CHILD.get()));
    }

    #[test]
    fn a_child_computes_with_memory_that_its_parent_has_left_to_the_pool() {
        let x = crate::tensor![[1.0, 2.0], [3.0, 4.0]];
        // Its memory is what the result below gets before it is copied to its own operand.
        drop(x.add(1).unwrap());
        let succeeds = succeeds_in_child(|| {
            (Expr::from(&x.t().unwrap()) * 2).eval_into(&x).unwrap();
            x.to_vec::<f32>().unwrap() == [2.0, 6.0, 4.0, 8.0]
        });
        assert!(succeeds);
    }
}
