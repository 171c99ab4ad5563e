//! Owns the policies and audits in force: those of a thread, and the policy of the process. It does not know
//! how broadcasts are found (`watch.rs`).

use std::cell::RefCell;
use std::marker::PhantomData;
use std::rc::Rc;

use super::log::Log;
use super::rules::Policy;
use crate::caller;
use crate::fork::{Guarded, Lock};

static PROCESS_POLICY: Lock<Policy> = Lock::new(Guarded::Policy, Policy::new());

thread_local! {
    static THREAD: RefCell<Thread> = const { RefCell::new(Thread::new()) };
}

/// The policies and audits in force on one thread, oldest first.
struct Thread {
    watchers: Vec<(u64, Watcher)>,
    next: u64,
}

impl Thread {
    const fn new() -> Thread {
        Thread { watchers: Vec::new(), next: 0 }
    }
}

pub(super) enum Watcher {
    Policy(Policy),
    Audit(Rc<RefCell<Log>>),
}

/// Whether any policy or audit is in force on any thread; while none is, callers need not be named.
#[inline]
pub fn is_on() -> bool {
    caller::is_asked()
}

/// A watcher's registration on its thread, which ends when this is dropped. Entries may be dropped in any
/// order.
#[derive(Debug)]
pub(super) struct Registration {
    /// `None` on a thread that was ending: what its destructors do is not watched.
    id: Option<u64>,
    /// Bound to its thread.
    _thread: PhantomData<*const ()>,
}

pub(super) fn add(watcher: Watcher) -> Registration {
    let added = THREAD.try_with(|thread| {
        let mut thread = thread.borrow_mut();
        thread.next += 1;
        let id = thread.next;
        thread.watchers.push((id, watcher));
        id
    });
    let id = added.ok();
    caller::ask(usize::from(id.is_some()));
    Registration { id, _thread: PhantomData }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // A thread that is ending has dropped its watchers already.
        let removed = THREAD.try_with(|thread| {
            let watchers = &mut thread.borrow_mut().watchers;
            watchers.iter().position(|(id, _)| Some(*id) == self.id).map(|place| watchers.remove(place))
        });
        drop(removed);
        caller::unask(usize::from(self.id.is_some()));
    }
}

/// A policy in force on the thread that entered it; it ends when this is dropped.
#[derive(Debug)]
#[must_use = "a scope that is dropped is over"]
pub struct Scope {
    _entry: Registration,
}

impl Policy {
    /// Puts the policy in force on this thread until the scope is dropped.
    pub fn enter(self) -> Scope {
        Scope { _entry: add(Watcher::Policy(self)) }
    }

    /// Puts the policy in force in the whole process, instead of the one that was; [`Policy::new`] ends it.
    pub fn install(self) {
        let mut process = PROCESS_POLICY.lock();
        let speaks = |policy: Policy| usize::from(policy != Policy::new());
        caller::ask(speaks(self));
        caller::unask(speaks(*process));
        *process = self;
    }
}

/// The state of this thread: empty while the thread ends and runs its destructors.
fn here<T>(look: impl Fn(&Thread) -> T) -> T {
    THREAD.try_with(|thread| look(&thread.borrow())).unwrap_or_else(|_| look(&Thread::new()))
}

/// The policy in force here: for each class the innermost scope that has an action decides.
pub(super) fn policy() -> Policy {
    let scoped = here(|thread| {
        let policies = thread.watchers.iter().filter_map(|(_, watcher)| match watcher {
            Watcher::Policy(policy) => Some(*policy),
            _ => None,
        });
        policies.fold(Policy::new(), |outer, inner| inner.or(outer))
    });
    scoped.or(*PROCESS_POLICY.lock())
}

/// The logs of all audits that run here.
pub(super) fn logs() -> Vec<Rc<RefCell<Log>>> {
    here(|thread| {
        let audits = thread.watchers.iter().filter_map(|(_, watcher)| match watcher {
            Watcher::Audit(log) => Some(Rc::clone(log)),
            _ => None,
        });
        audits.collect()
    })
}
