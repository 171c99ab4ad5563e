//! Owns who may touch which bytes of a storage when: readers share, a writer is alone on its range. It is what makes
//! in-place operations through shared handles sound under threads. It does not know what the bytes are.
//!
//! An operation asks once for all ranges of a storage and waits until none conflicts, so that parallel writes to
//! disjoint parts go on side by side. A thread inside a parallel section must not wait: the operation it would wait
//! for may be lower on its own stack, because a thread that waits for its part of a section takes up other work.

use std::cell::Cell;
use std::ops::Range;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::{Error, Result};

/// A range of bytes in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) bytes: Range<usize>,
    pub(crate) write: bool,
}

impl Claim {
    fn conflicts(&self, other: &Claim) -> bool {
        let meet = self.bytes.start < other.bytes.end && other.bytes.start < self.bytes.end;
        meet && (self.write || other.write)
    }
}

/// The claims on one storage that are in force.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    held: Mutex<Vec<Claim>>,
    released: Condvar,
}

impl Claims {
    /// Waits until none of the claims conflicts with another operation's, then holds them.
    ///
    /// # Errors
    /// [`Error::Busy`] instead of waiting inside a parallel section.
    pub(crate) fn acquire(&self, claims: &[Claim]) -> Result<()> {
        let mut held = self.lock();
        while held.iter().any(|other| claims.iter().any(|claim| claim.conflicts(other))) {
            if in_section() {
                return Err(Error::Busy);
            }
            held = self.released.wait(held).unwrap_or_else(PoisonError::into_inner);
        }
        held.extend_from_slice(claims);
        Ok(())
    }

    /// Lets go of claims that `acquire` was given.
    pub(crate) fn release(&self, claims: &[Claim]) {
        let mut held = self.lock();
        for claim in claims {
            if let Some(index) = held.iter().position(|other| other == claim) {
                held.swap_remove(index);
            }
        }
        drop(held);
        self.released.notify_all();
    }

    /// Whether nothing is claimed.
    pub(crate) fn is_free(&self) -> bool {
        self.lock().is_empty()
    }

    /// A panic elsewhere cannot leave the list half changed.
    fn lock(&self) -> MutexGuard<'_, Vec<Claim>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

thread_local! {
    static SECTIONS: Cell<usize> = const { Cell::new(0) };
}

fn in_section() -> bool {
    SECTIONS.get() > 0
}

/// Marks the thread as being inside a parallel section while it lives.
pub(crate) struct Section(());

impl Section {
    pub(crate) fn enter() -> Section {
        SECTIONS.set(SECTIONS.get() + 1);
        Section(())
    }
}

impl Drop for Section {
    fn drop(&mut self) {
        SECTIONS.set(SECTIONS.get() - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(bytes: Range<usize>, write: bool) -> Claim {
        Claim { bytes, write }
    }

    #[test]
    fn readers_share_and_disjoint_writers_go_on() {
        let claims = Claims::default();
        claims.acquire(&[claim(0..8, false)]).unwrap();
        claims.acquire(&[claim(0..8, false), claim(8..16, true)]).unwrap();
        let _section = Section::enter();
        assert!(matches!(claims.acquire(&[claim(4..6, true)]), Err(Error::Busy)));
        claims.release(&[claim(0..8, false)]);
        claims.release(&[claim(0..8, false), claim(8..16, true)]);
        claims.acquire(&[claim(4..6, true)]).unwrap();
    }

    #[test]
    fn a_writer_waits_for_a_reader() {
        let claims = Claims::default();
        claims.acquire(&[claim(0..8, false)]).unwrap();
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| claims.acquire(&[claim(0..8, true)]));
            std::thread::sleep(std::time::Duration::from_millis(20));
            assert!(!writer.is_finished());
            claims.release(&[claim(0..8, false)]);
            writer.join().unwrap().unwrap();
        });
    }
}
