//! Owns `Log`: the implicit broadcasts that an audit has met. It does not know how they are found.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt;

use zerostride_shape::Class;

use crate::error::Record;

/// The broadcasts that an [`Audit`](super::Audit) has met, each one once: of a loop, the times are counted.
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
