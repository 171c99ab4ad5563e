//! Owns `Audit` and its `Log`: every implicit broadcast of a thread while the audit runs. It does not judge
//! (`watch.rs`).

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;

use zerostride_shape::Class;

use super::Record;
use super::scope::{self, Entry, Watcher};

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
    _entry: Entry,
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

/// The broadcasts that an [`Audit`] has met, each one once: of a loop, the times are counted.
///
/// `Display` is a report, the worst first: mutual stretches, then by bytes.
#[derive(Clone, Debug, Default)]
pub struct Log {
    records: Vec<Record>,
    times: Vec<u64>,
    places: HashMap<Record, usize>,
}

impl Log {
    /// The broadcasts, in the order in which they were met first.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// How often a broadcast was met.
    ///
    /// # Panics
    /// If there is no such record.
    pub fn times(&self, record: usize) -> u64 {
        self.times[record]
    }

    pub(super) fn add(&mut self, record: &Record) {
        let place = *self.places.entry(record.clone()).or_insert_with(|| {
            self.records.push(record.clone());
            self.times.push(0);
            self.times.len() - 1
        });
        self.times[place] += 1;
    }
}

impl fmt::Display for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total: u64 = self.times.iter().sum();
        write!(f, "implicit broadcasts: {total}, of {} kinds", self.records.len())?;
        let mut worst: Vec<(&Record, u64)> = self.records.iter().zip(self.times.iter().copied()).collect();
        worst.sort_by_key(|(record, _)| {
            (Reverse(record.classes.contains(Class::MutualStretch)), Reverse(record.bytes))
        });
        for (record, times) in worst {
            let memory = if record.stored { "" } else { " that never exist" };
            write!(f, "\n{}: {record}, {} bytes{memory}", record.caller, record.bytes)?;
            let times = if times == 1 { "once".to_owned() } else { format!("{times} times") };
            write!(f, " (x{}), {times}: {}", record.factor(), record.classes)?;
        }
        Ok(())
    }
}
