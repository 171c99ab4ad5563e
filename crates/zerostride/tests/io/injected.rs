//! Calls that fail on purpose, from a certain one on.

use std::io::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use zerostride::io::ReadAt;

/// Lets a number of calls through, then fails.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    left: AtomicUsize,
    failed: AtomicUsize,
}

impl Calls {
    /// From now on so many calls go through, and no failure has been seen.
    pub(crate) fn let_through(&self, left: usize) {
        self.left.store(left, Ordering::SeqCst);
        self.failed.store(0, Ordering::SeqCst);
    }

    /// One call.
    pub(crate) fn count(&self) -> Result<()> {
        let left = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        left.map(drop).map_err(|_| {
            self.failed.fetch_add(1, Ordering::SeqCst);
            Error::other("injected")
        })
    }

    /// Whether a call has failed.
    pub(crate) fn have_failed(&self) -> bool {
        self.failed.load(Ordering::SeqCst) > 0
    }
}

/// Bytes in memory whose reads are counted.
#[derive(Debug)]
pub(crate) struct FailingReads(pub(crate) Vec<u8>, pub(crate) Arc<Calls>);

impl ReadAt for FailingReads {
    fn read_exact_at(&self, out: &mut [u8], offset: u64) -> Result<()> {
        self.1.count()?;
        self.0.read_exact_at(out, offset)
    }

    fn length(&self) -> Result<u64> {
        self.1.count()?;
        self.0.length()
    }
}
