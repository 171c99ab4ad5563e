//! Owns the claims on the bytes of a storage: readers share, a writer is alone on its range. They make
//! in-place operations through shared handles sound under threads. It does not know what the bytes are.
//!
//! An operation asks once for all ranges of a storage and waits until none conflicts, so that parallel writes
//! to disjoint parts go on side by side. Short operations do not ask: they use a whole storage briefly if no
//! other operation does, which costs an atomic each, and wait for nothing meanwhile. The shortest only note
//! what they read (`hazard.rs`), and a writer looks for such notes.
//!
//! # Why no thread waits forever
//!
//! An operation asks for its storages in the order of their addresses, and those that wait for a storage are
//! served in the order in which they came. So a thread that waits for claims waits for one that computes, or
//! for one that waits for a storage at a higher address.
//!
//! Foreign code breaks that order: a waiter, a function that is asked whether to stop, an output, a
//! destructor that runs meanwhile, may want tensors while the operation below it on the same stack holds
//! claims. Such an operation is *nested*. A storage that its own thread holds is refused to it at once
//! ([`Error::HeldHere`]). It does not queue behind other operations, which may wait for its thread's claims.
//! It waits for other threads; but a thread that waits while it holds claims records for which threads, and
//! if these lead back to the nested operation, it is refused too ([`Error::Deadlock`]). There is no circle
//! without a nested operation.
//!
//! Short claims take no part in this: their holders neither wait nor run foreign code.
//!
//! # Memory that is only borrowed
//!
//! A storage on memory of a borrow is *closed* when the borrow ends: that waits for the operations that use
//! it, and refuses all later ones ([`Error::ScopeEnded`]), so that a handle that is left touches nothing.
//!
//! So is memory on a device, from the beginning: nothing but the device touches it, in the order of its
//! queue.
//!
//! # What a child has after a fork
//!
//! Of the claims of the parent, those of the thread that forked. Other threads are not there to release
//! theirs.

use std::cell::Cell;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use smallvec::SmallVec;

use super::hazard;
use crate::fork::{Guarded, Lock, lock, process, survivor, this_thread};
use crate::{Error, Result, interrupt};

/// A range of bytes in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) bytes: Range<usize>,
    pub(crate) write: bool,
}

/// What one operation asks of one storage.
pub(crate) type Request = SmallVec<[Claim; 2]>;

impl Claim {
    fn conflicts(&self, other: &Claim) -> bool {
        let meet = self.bytes.start < other.bytes.end && other.bytes.start < self.bytes.end;
        meet && (self.write || other.write)
    }
}

/// What messages call an operation.
pub(crate) trait Named: Send + Sync {
    fn name(&self) -> String;
}

/// An operation that asks for claims.
#[derive(Clone)]
pub(crate) struct Holder {
    thread: u64,
    /// Whether it runs in foreign code, on top of an operation that holds claims.
    nested: bool,
    name: Option<Arc<dyn Named>>,
}

thread_local! {
    /// How many storages this thread holds claims on, or waits for, but for short ones.
    static HOLDS: Cell<usize> = const { Cell::new(0) };
}

/// One of them.
struct Counted;

impl Counted {
    fn new() -> Counted {
        HOLDS.set(HOLDS.get() + 1);
        Counted
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        HOLDS.set(HOLDS.get() - 1);
    }
}

impl Holder {
    /// An operation that begins on this thread.
    pub(crate) fn here(name: Option<Arc<dyn Named>>) -> Holder {
        Holder { thread: this_thread(), nested: HOLDS.get() > 0, name }
    }

    /// The operation's name; empty if it has none.
    pub(super) fn operation(&self) -> String {
        self.name.as_ref().map_or_else(String::new, |named| named.name())
    }
}

impl std::fmt::Debug for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "thread {}", self.thread)
    }
}

/// The claims on one storage.
#[derive(Debug)]
pub(crate) struct Claims {
    /// The brief claims on the whole storage: `READER` for each reader, or `WRITER`; and `LISTED`. The bits
    /// from `PROCESS_BIT` on are the number of the process that the claims belong to.
    brief: AtomicUsize,
    /// Locked under one of `LOCKS` only, which a fork knows.
    state: Mutex<State>,
    changed: Condvar,
}

/// The lists of `State` are in use, or the storage is closed: no brief claim begins.
const LISTED: usize = 1;
const WRITER: usize = 2;
const READER: usize = 4;

/// The lowest bit of the number of the process.
const PROCESS_BIT: u32 = usize::BITS / 2;
const READERS_MASK: usize = (1 << PROCESS_BIT) - READER;

/// A storage without brief claims.
#[inline]
fn unused() -> usize {
    process() << PROCESS_BIT
}

/// Storages share locks, so that a thread that forks can take all of them.
static LOCKS: [Lock<()>; 64] = [const { Lock::new(Guarded::Claims, ()) }; 64];

#[derive(Debug, Default)]
struct State {
    /// The process that the lists belong to.
    process: usize,
    /// Claims in force.
    held: Vec<(Claim, Holder)>,
    /// Operations that wait, in the order in which they came.
    waiting: VecDeque<Waiting>,
    /// The number that the next one to wait is given.
    next: u64,
    /// Whether the bytes may no longer be touched.
    closed: bool,
}

#[derive(Debug)]
struct Waiting {
    number: u64,
    thread: u64,
    claims: Request,
}

fn conflict(some: &[Claim], others: &[Claim]) -> bool {
    some.iter().any(|one| others.iter().any(|other| one.conflicts(other)))
}

/// Threads that a thread waits for.
type Threads = SmallVec<[u64; 4]>;

/// Threads that wait while they hold claims, and those that they wait for.
static WAITS: Lock<Vec<(u64, Threads)>> = Lock::new(Guarded::Waits, Vec::new());

/// Whether the threads that a thread waits for lead back to it.
fn is_circle(waits: &[(u64, Threads)], thread: u64) -> bool {
    let of = |thread: u64| waits.iter().filter(move |(own, _)| *own == thread).flat_map(|(_, others)| others);
    let mut reached: Vec<u64> = of(thread).copied().collect();
    let mut next = 0;
    while let Some(&other) = reached.get(next) {
        let further: Threads = of(other).filter(|thread| !reached.contains(thread)).copied().collect();
        reached.extend(further);
        next += 1;
    }
    reached.contains(&thread)
}

/// Forgets what other threads than this one wait for: a child has none.
pub(super) fn forget_waits() {
    WAITS.lock().retain(|(thread, _)| *thread == survivor());
}

/// The lists of one storage. Fields are dropped in this order: a thread that forks must not find the lock
/// free and the lists still locked.
struct Locked<'a> {
    state: MutexGuard<'a, State>,
    lock: MutexGuard<'static, ()>,
}

impl Default for Claims {
    fn default() -> Claims {
        let state = State { process: process(), ..State::default() };
        Claims { brief: unused().into(), state: Mutex::new(state), changed: Condvar::new() }
    }
}

impl Claims {
    /// Those on a storage that is closed from the beginning.
    #[cfg(feature = "cuda")]
    pub(super) fn closed() -> Claims {
        let state = State { process: process(), closed: true, ..State::default() };
        Claims { brief: (unused() | LISTED).into(), state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Waits until none of the claims conflicts with another operation's, then holds them.
    ///
    /// # Errors
    /// The wait was interrupted, or would never end; or the storage is closed.
    pub(crate) fn acquire(&self, claims: &[Claim], holder: &Holder) -> Result<()> {
        let counted = Counted::new();
        let mut locked = self.lock();
        self.brief.fetch_or(LISTED, Ordering::SeqCst);
        let state = &mut *locked.state;
        let number = state.next;
        if self.obstacle(state, claims, number, holder)?.is_none() {
            state.hold(claims, holder);
        } else {
            state.next += 1;
            state.waiting.push_back(Waiting { number, thread: holder.thread, claims: claims.into() });
            drop(locked);
            Turn { claims: self, request: claims, number, holder, holds: false, circles: 0, refused: None }
                .wait()?;
        }
        std::mem::forget(counted);
        if claims.iter().any(|claim| claim.write) {
            hazard::wait(self.address());
        }
        Ok(())
    }

    /// Releases the claims of an `acquire` on the same thread.
    pub(crate) fn release(&self, claims: &[Claim]) {
        drop(Counted);
        self.let_go(claims, this_thread());
    }

    fn let_go(&self, claims: &[Claim], thread: u64) {
        let mut locked = self.lock();
        let held = &mut locked.state.held;
        for claim in claims {
            let own = |(other, holder): &(Claim, Holder)| holder.thread == thread && other == claim;
            if let Some(index) = held.iter().position(own) {
                held.swap_remove(index);
            }
        }
        self.tell(&locked.state);
    }

    /// Waits for the operations that use the storage, and refuses all others from now on.
    pub(crate) fn close(&self) {
        let mut locked = self.lock();
        self.brief.fetch_or(LISTED, Ordering::SeqCst);
        locked.state.closed = true;
        self.changed.notify_all();
        while !locked.state.held.is_empty()
            || self.brief.load(Ordering::Acquire) & (WRITER | READERS_MASK) != 0
        {
            let Locked { state, lock } = locked;
            drop(state);
            drop(self.changed.wait(lock).unwrap_or_else(PoisonError::into_inner));
            locked = self.lock();
        }
        drop(locked);
        hazard::wait(self.address());
    }

    /// Wakes waiting threads, or ends `LISTED` where the lists are empty.
    fn tell(&self, state: &State) {
        if !state.waiting.is_empty() || state.closed {
            self.changed.notify_all();
        } else if state.held.is_empty() {
            self.brief.fetch_and(!LISTED, Ordering::Release);
        }
    }

    /// Claims the whole storage for reading, briefly; `false` where that would mean to wait, or to overtake.
    #[inline]
    pub(crate) fn try_read(&self) -> bool {
        let free = |now: usize| (now & !READERS_MASK == unused()).then_some(now + READER);
        self.brief.fetch_update(Ordering::Acquire, Ordering::Relaxed, free).is_ok()
    }

    /// As `try_read`, for writing.
    #[inline]
    pub(crate) fn try_write(&self) -> bool {
        let (free, taken) = (unused(), unused() | WRITER);
        if self.brief.compare_exchange(free, taken, Ordering::SeqCst, Ordering::Relaxed).is_err() {
            return false;
        }
        let is_free = !hazard::is_noted(self.address());
        if !is_free {
            self.end_write();
        }
        is_free
    }

    /// Whether a thread that has noted its address may read the storage.
    #[inline]
    pub(super) fn is_unclaimed(&self) -> bool {
        self.brief.load(Ordering::SeqCst) & (LISTED | WRITER) == 0
    }

    /// Identifies these claims among those of all storages; not 0.
    #[inline]
    pub(super) fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Releases a claim of `try_read`.
    #[inline]
    pub(crate) fn end_read(&self) {
        self.end(READER);
    }

    /// Releases a claim of `try_write`.
    #[inline]
    pub(crate) fn end_write(&self) {
        self.end(WRITER);
    }

    #[inline]
    fn end(&self, brief: usize) {
        if self.brief.fetch_sub(brief, Ordering::Release) & LISTED != 0 {
            // A waiting thread has either seen this, or is asleep by the time the lock is free.
            drop(self.lock());
            self.changed.notify_all();
        }
    }

    /// The threads that an operation has to wait for, as far as they are known; `None` if it need not wait.
    ///
    /// # Errors
    /// One of them is its own, or the storage is closed.
    fn obstacle(
        &self,
        state: &State,
        claims: &[Claim],
        number: u64,
        holder: &Holder,
    ) -> Result<Option<Threads>> {
        if state.closed {
            return Err(Error::ScopeEnded);
        }
        let mut others = Threads::new();
        for (held, by) in &state.held {
            if claims.iter().any(|claim| claim.conflicts(held)) {
                if by.thread == holder.thread {
                    return Err(Error::HeldHere { operation: by.operation(), writes: held.write });
                }
                others.push(by.thread);
            }
        }
        // No operation overtakes an earlier one that waits for some of the same bytes, so that a succession
        // of readers cannot keep a writer waiting forever.
        let earlier = state.waiting.iter().take_while(|other| other.number < number && !holder.nested);
        others.extend(earlier.filter(|other| conflict(&other.claims, claims)).map(|other| other.thread));
        let brief = self.brief.load(Ordering::Acquire);
        let in_use =
            brief & WRITER != 0 || brief & READERS_MASK != 0 && claims.iter().any(|claim| claim.write);
        Ok((in_use || !others.is_empty()).then_some(others))
    }

    fn lock(&self) -> Locked<'_> {
        let own = LOCKS[self.address() / align_of::<Claims>().max(64) % LOCKS.len()].lock();
        let mut state = lock(&self.state);
        if state.process != process() {
            self.take_over(&mut state);
        }
        Locked { state, lock: own }
    }

    /// Forgets the claims and waits of threads of another process.
    #[cold]
    fn take_over(&self, state: &mut State) {
        state.process = process();
        state.held.retain(|(_, holder)| holder.thread == survivor());
        state.waiting.retain(|other| other.thread == survivor());
        // Until now this was not the number of this process, so no brief claim has begun in it.
        let in_use = !state.held.is_empty() || !state.waiting.is_empty() || state.closed;
        let lists = usize::from(in_use) * LISTED;
        self.brief.store(unused() | lists, Ordering::SeqCst);
    }
}

impl State {
    fn hold(&mut self, claims: &[Claim], holder: &Holder) {
        self.held.extend(claims.iter().map(|claim| (claim.clone(), holder.clone())));
    }
}

/// A place in the queue, which ends when this is dropped, so that operations behind it can go on. Claims that
/// it holds by then, unknown to the caller, are released.
struct Turn<'a> {
    claims: &'a Claims,
    request: &'a [Claim],
    number: u64,
    holder: &'a Holder,
    holds: bool,
    /// How often in succession waiting has led back to this thread. Once may be chance, as the waits of other
    /// threads are read one by one.
    circles: usize,
    refused: Option<Error>,
}

impl Turn<'_> {
    /// # Errors
    /// As [`Claims::acquire`].
    fn wait(mut self) -> Result<()> {
        loop {
            // The waiter may be foreign code: its answer only says whether to go on.
            let goes_on = interrupt::wait(&mut || self.attempt());
            if let Some(error) = self.refused.take() {
                return Err(error);
            }
            if !goes_on {
                return Err(Error::Interrupted);
            }
            if self.attempt() && self.refused.is_none() {
                // It is the caller's from now on.
                self.holds = false;
                return Ok(());
            }
        }
    }

    /// Waits for one period; returns whether the wait is over.
    fn attempt(&mut self) -> bool {
        let end = Instant::now() + interrupt::PERIOD;
        let mut locked = self.claims.lock();
        while !self.holds && self.refused.is_none() {
            match self.claims.obstacle(&locked.state, self.request, self.number, self.holder) {
                Err(error) => self.refused = Some(error),
                Ok(None) => {
                    locked.state.hold(self.request, self.holder);
                    self.holds = true;
                }
                Ok(Some(others)) => {
                    let left = end.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        self.wait_for(others);
                        return self.refused.is_some();
                    }
                    let Locked { state, lock } = locked;
                    drop(state);
                    let woken = self.claims.changed.wait_timeout(lock, left);
                    drop(woken.unwrap_or_else(PoisonError::into_inner));
                    locked = self.claims.lock();
                }
            }
        }
        true
    }

    /// Records the threads that this thread waits for, and checks whether they wait for it.
    fn wait_for(&mut self, others: Threads) {
        let thread = self.holder.thread;
        let mut waits = WAITS.lock();
        waits.retain(|(other, _)| *other != thread);
        waits.push((thread, others));
        if self.holder.nested && is_circle(&waits, thread) {
            self.circles += 1;
            self.refused = (self.circles > 1).then_some(Error::Deadlock);
        } else {
            self.circles = 0;
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        WAITS.lock().retain(|(thread, _)| *thread != self.holder.thread);
        if self.holds {
            self.claims.let_go(self.request, self.holder.thread);
        }
        let mut locked = self.claims.lock();
        locked.state.waiting.retain(|other| other.number != self.number);
        self.claims.tell(&locked.state);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{channel, sync_channel};
    use std::thread;

    use super::super::hazard::Hazards;
    use super::*;
    use crate::{Tensor, interruptible};

    fn claim(bytes: Range<usize>, write: bool) -> Claim {
        Claim { bytes, write }
    }

    fn acquire(claims: &Claims, wanted: &[Claim]) -> Result<()> {
        claims.acquire(wanted, &Holder::here(None))
    }

    /// Waits until so many operations wait.
    fn until_waiting(claims: &Claims, count: usize) {
        while claims.lock().state.waiting.len() < count {
            thread::yield_now();
        }
    }

    #[test]
    fn readers_share_and_disjoint_writers_go_on() {
        let claims = Claims::default();
        acquire(&claims, &[claim(0..8, false)]).unwrap();
        acquire(&claims, &[claim(0..8, false), claim(8..16, true)]).unwrap();
        claims.release(&[claim(0..8, false)]);
        claims.release(&[claim(0..8, false), claim(8..16, true)]);
        acquire(&claims, &[claim(4..6, true)]).unwrap();
        claims.release(&[claim(4..6, true)]);
    }

    #[test]
    fn brief_readers_share_with_each_other_only() {
        let claims = Claims::default();
        assert!(claims.try_read() && claims.try_read());
        assert!(!claims.try_write());
        claims.end_read();
        claims.end_read();
        assert!(claims.try_write());
        assert!(!claims.try_read() && !claims.try_write());
        claims.end_write();
        assert!(claims.try_read());
    }

    #[test]
    fn nothing_brief_begins_beside_claims() {
        let claims = Claims::default();
        acquire(&claims, &[claim(0..8, false)]).unwrap();
        assert!(!claims.try_read() && !claims.try_write());
        claims.release(&[claim(0..8, false)]);
        assert!(claims.try_write());
    }

    #[test]
    fn claims_wait_for_what_is_brief() {
        for write in [false, true] {
            let claims = Claims::default();
            assert!(if write { claims.try_read() } else { claims.try_write() });
            thread::scope(|scope| {
                let other = scope.spawn(|| acquire(&claims, &[claim(0..8, write)]));
                until_waiting(&claims, 1);
                assert!(!claims.try_read(), "it would overtake");
                if write {
                    claims.end_read()
                } else {
                    claims.end_write()
                }
                other.join().unwrap().unwrap();
            });
        }
    }

    #[test]
    fn who_writes_finds_what_is_noted() {
        let (claims, mut hazards) = (Claims::default(), Hazards::new());
        let noted = hazards.note([claims.address()]).unwrap();
        assert!(claims.is_unclaimed() && claims.try_read());
        claims.end_read();
        assert!(!claims.try_write());
        thread::scope(|scope| {
            let write = || {
                acquire(&claims, &[claim(0..8, true)]).unwrap();
                claims.release(&[claim(0..8, true)]);
            };
            let writer = scope.spawn(write);
            while claims.is_unclaimed() {
                thread::yield_now();
            }
            assert!(!writer.is_finished());
            drop(noted);
            writer.join().unwrap();
        });
        assert!(claims.is_unclaimed() && claims.try_write());
    }

    #[test]
    fn a_writer_waits_for_a_reader() {
        let claims = Claims::default();
        acquire(&claims, &[claim(0..8, false)]).unwrap();
        thread::scope(|scope| {
            let writer = scope.spawn(|| acquire(&claims, &[claim(0..8, true)]));
            thread::sleep(std::time::Duration::from_millis(20));
            assert!(!writer.is_finished());
            claims.release(&[claim(0..8, false)]);
            writer.join().unwrap().unwrap();
        });
    }

    #[test]
    fn who_is_interrupted_leaves_the_queue() {
        let claims = Claims::default();
        acquire(&claims, &[claim(0..8, false)]).unwrap();
        let wait = || interruptible(|| true, || acquire(&claims, &[claim(0..8, true)]));
        let interrupted = thread::scope(|scope| scope.spawn(wait).join().unwrap());
        assert!(matches!(interrupted, Err(Error::Interrupted)));
        thread::scope(|scope| {
            let read = || {
                acquire(&claims, &[claim(0..8, false)]).unwrap();
                claims.release(&[claim(0..8, false)]);
            };
            scope.spawn(read).join().expect("no thread waits any more");
        });
        claims.release(&[claim(0..8, false)]);
        assert!(claims.try_write());
    }

    #[test]
    fn a_reader_does_not_overtake_a_waiting_writer() {
        let claims = Claims::default();
        acquire(&claims, &[claim(0..8, false)]).unwrap();
        let (wrote, has_written) = channel();
        let (ends, end) = sync_channel(0);
        thread::scope(|scope| {
            let claims = &claims;
            scope.spawn(move || {
                acquire(claims, &[claim(0..8, true)]).unwrap();
                wrote.send(()).unwrap();
                end.recv().unwrap();
                claims.release(&[claim(0..8, true)]);
            });
            until_waiting(claims, 1);
            let reader = scope.spawn(|| acquire(claims, &[claim(0..8, false)]));
            let aside = scope.spawn(|| acquire(claims, &[claim(8..16, false)]));
            aside.join().unwrap().unwrap();
            until_waiting(claims, 2);
            claims.release(&[claim(0..8, false)]);
            has_written.recv().unwrap();
            assert!(!reader.is_finished());
            ends.send(()).unwrap();
            reader.join().unwrap().unwrap();
        });
    }

    #[test]
    fn what_a_thread_holds_it_is_refused_at_once() {
        struct Name;
        impl Named for Name {
            fn name(&self) -> String {
                "sin(x)".to_owned()
            }
        }
        let claims = Claims::default();
        claims.acquire(&[claim(0..8, true)], &Holder::here(Some(Arc::new(Name)))).unwrap();
        for write in [false, true] {
            let refused = acquire(&claims, &[claim(4..6, write)]).unwrap_err();
            assert!(matches!(&refused, Error::HeldHere { operation, writes: true } if operation == "sin(x)"));
        }
        acquire(&claims, &[claim(8..16, true)]).unwrap();
        claims.release(&[claim(8..16, true)]);
        claims.release(&[claim(0..8, true)]);
        assert!(claims.try_write(), "a refusal leaves nothing behind");
    }

    #[test]
    fn who_reads_in_foreign_code_does_not_queue_behind_a_writer_that_waits_for_the_same_thread() {
        let claims = Claims::default();
        acquire(&claims, &[claim(0..8, false)]).unwrap();
        thread::scope(|scope| {
            let writer = scope.spawn(|| acquire(&claims, &[claim(0..8, true)]));
            until_waiting(&claims, 1);
            acquire(&claims, &[claim(0..8, false)]).unwrap();
            claims.release(&[claim(0..8, false)]);
            claims.release(&[claim(0..8, false)]);
            writer.join().unwrap().unwrap();
        });
    }

    #[test]
    fn threads_that_would_wait_for_each_other_in_foreign_code_are_refused() {
        // Each thread holds a storage and then asks for the next thread's.
        for count in [2, 3, 5] {
            let storages: Vec<Claims> = std::iter::repeat_with(Claims::default).take(count).collect();
            let all_hold = std::sync::Barrier::new(count);
            let ask = |own: usize| {
                acquire(&storages[own], &[claim(0..8, true)]).unwrap();
                all_hold.wait();
                let next = &storages[(own + 1) % count];
                let asked = acquire(next, &[claim(0..8, true)]);
                if asked.is_ok() {
                    next.release(&[claim(0..8, true)]);
                }
                storages[own].release(&[claim(0..8, true)]);
                asked
            };
            let asked: Vec<Result<()>> = thread::scope(|scope| {
                let threads: Vec<_> = (0..count).map(|own| scope.spawn(move || ask(own))).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            assert!(asked.iter().any(|asked| matches!(asked, Err(Error::Deadlock))));
            assert!(
                asked
                    .iter()
                    .flat_map(|asked| asked.as_ref().err())
                    .all(|error| matches!(error, Error::Deadlock))
            );
            assert!(storages.iter().all(Claims::try_write), "a refusal leaves nothing behind");
        }
    }

    #[test]
    fn who_waits_in_foreign_code_for_a_thread_that_goes_on_gets_the_tensor() {
        let [own, other] = [Claims::default(), Claims::default()];
        let (holds, is_held) = channel();
        thread::scope(|scope| {
            let other = &other;
            scope.spawn(move || {
                acquire(other, &[claim(0..8, true)]).unwrap();
                holds.send(()).unwrap();
                thread::sleep(8 * interrupt::PERIOD);
                other.release(&[claim(0..8, true)]);
            });
            is_held.recv().unwrap();
            acquire(&own, &[claim(0..8, true)]).unwrap();
            acquire(other, &[claim(0..8, false)]).unwrap();
            other.release(&[claim(0..8, false)]);
            own.release(&[claim(0..8, true)]);
        });
    }

    #[test]
    fn a_circle_is_found_wherever_it_closes() {
        let waits = |edges: &[(u64, &[u64])]| -> Vec<(u64, Threads)> {
            edges.iter().map(|&(thread, others)| (thread, Threads::from_slice(others))).collect()
        };
        let all = waits(&[(1, &[2, 3]), (3, &[4]), (4, &[1]), (5, &[6]), (6, &[5])]);
        assert_eq!(
            [1, 2, 3, 4, 5, 7].map(|thread| is_circle(&all, thread)),
            [true, false, true, true, true, false]
        );
        assert!(!is_circle(&waits(&[(1, &[5]), (5, &[6]), (6, &[5])]), 1), "a circle of others");
    }

    #[test]
    fn a_question_may_ask_for_what_is_in_use_and_is_told_so() {
        thread_local! {
            static X: Tensor = Tensor::ones(&[1 << 22]).unwrap();
        }
        fn look() -> bool {
            X.with(|x| {
                let read = x.select(0, 0).unwrap().item::<f32>().unwrap_err();
                assert!(matches!(read.root(), Error::HeldHere { operation, writes: true } if operation.contains("sin")));
                assert!(read.to_string().contains("an operation of this thread"), "{read}");
                assert!(matches!(x.add_(1).unwrap_err().root(), Error::HeldHere { .. }));
                assert!(matches!(x.exp().unwrap_err().root(), Error::HeldHere { .. }));
            });
            true
        }
        let x = X.with(Tensor::alias);
        let stopped: Result<()> = interruptible(look, || {
            loop {
                x.sin_()?;
            }
        });
        assert!(matches!(stopped, Err(Error::Interrupted)));
        x.fill_(1.0).unwrap();
    }

    #[test]
    fn a_question_may_read_what_is_only_read() {
        thread_local! {
            static X: Tensor = Tensor::ones(&[1 << 22]).unwrap();
        }
        fn look() -> bool {
            X.with(|x| {
                assert_eq!(x.select(0, 0).unwrap().item::<f32>().unwrap(), 1.0);
                assert_eq!(x.sum(..).unwrap().item::<f32>().unwrap(), (1 << 22) as f32);
                assert!(matches!(x.fill_(2).unwrap_err().root(), Error::HeldHere { writes: false, .. }));
            });
            true
        }
        let x = X.with(Tensor::alias);
        let stopped: Result<()> = interruptible(look, || {
            loop {
                x.sin()?;
            }
        });
        assert!(matches!(stopped, Err(Error::Interrupted)));
        x.fill_(1.0).unwrap();
    }
}
