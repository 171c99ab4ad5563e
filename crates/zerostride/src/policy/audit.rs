//! Owns `Audit`: every implicit broadcast of a thread while the audit runs. It does not judge (`watch.rs`).

use std::cell::RefCell;
use std::rc::Rc;

use super::log::Log;
use super::scope::{self, Registration, Watcher};

/// Records every implicit broadcast that is evaluated on this thread until it is dropped.
///
/// ```
/// use zerostride::{tensor, policy::Audit};
/// let audit = Audit::start();
/// for _ in 0..3 {
///     tensor![[1.0, 2.0]].mul(&tensor![[1.0], [2.0]])?;
/// }
/// let log = audit.log();
/// assert_eq!((log.records().len(), log.times(0)), (1, 3));
/// println!("{log}");                                  // the worst first
/// # Ok::<(), zerostride::Error>(())
/// ```
#[derive(Debug)]
pub struct Audit {
    log: Rc<RefCell<Log>>,
    _entry: Registration,
}

impl Audit {
    /// Begins to record.
    #[must_use = "an audit that is dropped records nothing"]
    pub fn start() -> Audit {
        let log = Rc::default();
        Audit { _entry: scope::add(Watcher::Audit(Rc::clone(&log))), log }
    }

    /// What has been recorded so far.
    pub fn log(&self) -> Log {
        self.log.borrow().clone()
    }
}
