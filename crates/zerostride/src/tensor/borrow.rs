//! Owns who may touch which bytes of a storage when: readers share, a writer is alone on its range. It is what makes
//! in-place operations through shared handles sound under threads. It does not know what the bytes are.
//!
//! An operation asks once for all ranges of a storage and waits until none conflicts, so that parallel writes to
//! disjoint parts go on side by side. Any thread may wait: whoever holds a claim finishes without taking up other work
//! (`exec/crew.rs` says why), so that what a thread waits for is never lower on its own stack.
//!
//! Short operations do not ask: they use a whole storage for a moment if nobody else does, which costs an atomic each.
//! Meanwhile they wait at most for storages of higher addresses, as all operations do. The shortest only note what they
//! read (`hazard.rs`), and whoever writes looks for such notes.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use smallvec::SmallVec;

use super::hazard;
use crate::interrupt;

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

/// The claims on one storage.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    /// What uses the whole storage for a moment: `READER` for each that reads, or `WRITER`; and `LISTED`.
    brief: AtomicUsize,
    state: Mutex<State>,
    changed: Condvar,
}

/// The lists of `State` are in use: nothing brief begins until they are empty.
const LISTED: usize = 1;
const WRITER: usize = 2;
const READER: usize = 4;

#[derive(Debug, Default)]
struct State {
    /// Claims in force.
    held: Vec<Claim>,
    /// Operations that wait, in the order in which they came.
    waiting: VecDeque<(u64, Vec<Claim>)>,
    /// The number that the next one to wait is given.
    next: u64,
}

impl State {
    /// Whether an operation that came earlier waits for some of the same: nobody overtakes it, so that readers who
    /// relieve each other cannot keep a writer waiting forever.
    fn is_awaited(&self, claims: &[Claim], before: u64) -> bool {
        self.waiting
            .iter()
            .take_while(|(number, _)| *number < before)
            .any(|(_, other)| conflict(other, claims))
    }
}

fn conflict(some: &[Claim], others: &[Claim]) -> bool {
    some.iter().any(|one| others.iter().any(|other| one.conflicts(other)))
}

impl Claims {
    /// Waits until none of the claims conflicts with another operation's, then holds them; `false` if whoever waits was
    /// interrupted.
    #[must_use]
    pub(crate) fn acquire(&self, claims: &[Claim]) -> bool {
        let mut state = self.lock();
        self.brief.fetch_or(LISTED, Ordering::SeqCst);
        let number = state.next;
        if self.conflicts(&state, claims, number) {
            state.next += 1;
            state.waiting.push_back((number, claims.to_vec()));
            drop(state);
            let _queued = Queued { claims: self, number };
            // Whoever waits may be code of somebody else: what it says is believed only of its own wish to go on.
            let mut holds = false;
            let goes_on = interrupt::wait(&mut || {
                holds = holds || self.try_acquire(claims, number);
                holds
            });
            if !goes_on {
                if holds {
                    self.release(claims);
                }
                return false;
            }
            while !holds {
                holds = self.try_acquire(claims, number);
            }
        } else {
            state.held.extend_from_slice(claims);
            drop(state);
        }
        if claims.iter().any(|claim| claim.write) {
            hazard::wait(self.address());
        }
        true
    }

    /// Waits for some time for claims of an operation that has a number; whether it holds them now.
    fn try_acquire(&self, claims: &[Claim], number: u64) -> bool {
        let conflicts = |state: &mut State| self.conflicts(state, claims, number);
        let waited = self.changed.wait_timeout_while(self.lock(), interrupt::PERIOD, conflicts);
        let (mut state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        if !timeout.timed_out() {
            state.held.extend_from_slice(claims);
        }
        !timeout.timed_out()
    }

    /// Lets go of claims that `acquire` was given.
    pub(crate) fn release(&self, claims: &[Claim]) {
        let mut state = self.lock();
        for claim in claims {
            if let Some(index) = state.held.iter().position(|other| other == claim) {
                state.held.swap_remove(index);
            }
        }
        self.tell(&state);
    }

    /// Tells those who wait that something has changed, or that the lists are empty.
    fn tell(&self, state: &State) {
        if !state.waiting.is_empty() {
            self.changed.notify_all();
        } else if state.held.is_empty() {
            self.brief.fetch_and(!LISTED, Ordering::Release);
        }
    }

    /// Claims the whole storage for reading for a moment; `false` where that
    /// would mean to wait, or to overtake.
    #[inline]
    pub(crate) fn try_read(&self) -> bool {
        let free = |now: usize| (now & (LISTED | WRITER) == 0).then_some(now + READER);
        self.brief.fetch_update(Ordering::Acquire, Ordering::Relaxed, free).is_ok()
    }

    /// As `try_read`, for writing.
    #[inline]
    pub(crate) fn try_write(&self) -> bool {
        if self.brief.compare_exchange(0, WRITER, Ordering::SeqCst, Ordering::Relaxed).is_err() {
            return false;
        }
        let is_free = !hazard::is_noted(self.address());
        if !is_free {
            self.end_write();
        }
        is_free
    }

    /// Whether the storage may be read for a moment by a thread that has noted its address.
    #[inline]
    pub(super) fn is_unclaimed(&self) -> bool {
        self.brief.load(Ordering::SeqCst) & (LISTED | WRITER) == 0
    }

    /// What tells these claims from those of other storages, and is not 0.
    #[inline]
    pub(super) fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Lets go of what `try_read` has claimed.
    #[inline]
    pub(crate) fn end_read(&self) {
        self.end(READER);
    }

    /// Lets go of what `try_write` has claimed.
    #[inline]
    pub(crate) fn end_write(&self) {
        self.end(WRITER);
    }

    #[inline]
    fn end(&self, brief: usize) {
        if self.brief.fetch_sub(brief, Ordering::Release) & LISTED != 0 {
            // Whoever waits has either seen this, or sleeps once the lock can be had.
            drop(self.lock());
            self.changed.notify_all();
        }
    }

    /// Whether others hold what conflicts, or have waited for it since before the operation got its number.
    fn conflicts(&self, state: &State, claims: &[Claim], number: u64) -> bool {
        let brief = self.brief.load(Ordering::Acquire);
        let in_use = brief & WRITER != 0 || brief >= READER && claims.iter().any(|claim| claim.write);
        in_use || conflict(&state.held, claims) || state.is_awaited(claims, number)
    }

    /// A panic elsewhere cannot leave the lists half changed.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in the queue, which is left when this is dropped: those behind may go on.
struct Queued<'a> {
    claims: &'a Claims,
    number: u64,
}

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        let mut state = self.claims.lock();
        state.waiting.retain(|(other, _)| *other != self.number);
        self.claims.tell(&state);
    }
}

#[cfg(test)]
mod tests {
    use super::super::hazard::Hazards;
    use super::*;

    fn claim(bytes: Range<usize>, write: bool) -> Claim {
        Claim { bytes, write }
    }

    #[test]
    fn readers_share_and_disjoint_writers_go_on() {
        let claims = Claims::default();
        assert!(claims.acquire(&[claim(0..8, false)]));
        assert!(claims.acquire(&[claim(0..8, false), claim(8..16, true)]));
        claims.release(&[claim(0..8, false)]);
        claims.release(&[claim(0..8, false), claim(8..16, true)]);
        assert!(claims.acquire(&[claim(4..6, true)]));
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
        assert!(claims.acquire(&[claim(0..8, false)]));
        assert!(!claims.try_read() && !claims.try_write());
        claims.release(&[claim(0..8, false)]);
        assert!(claims.try_write());
    }

    #[test]
    fn claims_wait_for_what_is_brief() {
        for write in [false, true] {
            let claims = Claims::default();
            assert!(if write { claims.try_read() } else { claims.try_write() });
            std::thread::scope(|scope| {
                let other = scope.spawn(|| claims.acquire(&[claim(0..8, write)]));
                while claims.lock().waiting.is_empty() {
                    std::thread::yield_now();
                }
                assert!(!claims.try_read(), "it would overtake");
                if write {
                    claims.end_read()
                } else {
                    claims.end_write()
                }
                assert!(other.join().unwrap());
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
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| claims.acquire(&[claim(0..8, true)]));
            while claims.is_unclaimed() {
                std::thread::yield_now();
            }
            assert!(!writer.is_finished());
            drop(noted);
            assert!(writer.join().unwrap());
        });
        claims.release(&[claim(0..8, true)]);
        assert!(claims.is_unclaimed() && claims.try_write());
    }

    #[test]
    fn a_writer_waits_for_a_reader() {
        let claims = Claims::default();
        assert!(claims.acquire(&[claim(0..8, false)]));
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| claims.acquire(&[claim(0..8, true)]));
            std::thread::sleep(std::time::Duration::from_millis(20));
            assert!(!writer.is_finished());
            claims.release(&[claim(0..8, false)]);
            assert!(writer.join().unwrap());
        });
    }

    #[test]
    fn who_is_interrupted_leaves_the_queue() {
        let claims = Claims::default();
        assert!(claims.acquire(&[claim(0..8, false)]));
        let interrupted = interrupt::interruptible(|| true, || Ok(claims.acquire(&[claim(0..8, true)])));
        assert!(!interrupted.unwrap());
        assert!(claims.acquire(&[claim(0..8, false)]), "nobody waits any more");
        claims.release(&[claim(0..8, false)]);
        claims.release(&[claim(0..8, false)]);
        assert!(claims.try_write());
    }

    #[test]
    fn a_reader_does_not_overtake_a_waiting_writer() {
        let claims = Claims::default();
        assert!(claims.acquire(&[claim(0..8, false)]));
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| claims.acquire(&[claim(0..8, true)]));
            while claims.lock().waiting.is_empty() {
                std::thread::yield_now();
            }
            let reader = scope.spawn(|| claims.acquire(&[claim(0..8, false)]));
            assert!(claims.acquire(&[claim(8..16, false)]));
            while claims.lock().waiting.len() < 2 {
                std::thread::yield_now();
            }
            claims.release(&[claim(0..8, false)]);
            assert!(writer.join().unwrap());
            assert!(!reader.is_finished());
            claims.release(&[claim(0..8, true)]);
            assert!(reader.join().unwrap());
        });
    }
}
