//! Owns the messages between the driver and a peer: JSON, one value per line. It does not know who sends
//! them.

use serde::{Deserialize, Serialize};

use crate::Kind;

/// A request of the driver.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase")]
pub enum Request {
    /// Asks for name and version.
    Hello,
    /// Makes the operands of a workload, and compiles what has to be compiled.
    Prepare {
        /// The workload.
        task: Task,
    },
    /// Computes once, and writes every `stride`-th element of the result to a file, as f64 in native byte
    /// order.
    Check {
        /// The file.
        path: String,
        /// Distance in elements.
        stride: usize,
    },
    /// Computes `warm` times, then `repeats` times, and measures the latter.
    Sample {
        /// Where the result is written.
        mode: Mode,
        /// Untimed evaluations, which bring operands back into caches that another peer has used.
        warm: usize,
        /// Evaluations that are timed together.
        repeats: usize,
    },
    /// Computes once, and measures the peak of memory above what was resident before.
    Memory,
    /// Drops the workload.
    Drop,
}

/// The reply of a peer.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reply {
    /// Its name and version.
    Hello {
        /// As its users write it.
        name: String,
        /// As the library reports it.
        version: String,
    },
    /// The workload is ready, in these modes.
    Ready(Vec<Mode>),
    /// The library has no such operation, or not for that dtype.
    Absent(String),
    /// The result's shape.
    Shape(Vec<usize>),
    /// Time of all timed evaluations together.
    Seconds(f64),
    /// The highest resident memory during the evaluation, less what was resident before.
    Bytes(u64),
    /// Done.
    Done,
    /// Something went wrong.
    Error(String),
}

/// Where a result goes: the two cases are never compared with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Every evaluation returns a new result, which is dropped before the next one.
    Fresh,
    /// Every evaluation writes to the same memory.
    Reuse,
}

/// One workload at one size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// The name under which every peer knows how to compute it.
    pub formula: String,
    /// What it is computed from.
    pub operands: Vec<Operand>,
    /// Shape of the result.
    pub shape: Vec<usize>,
    /// Dtype of the result.
    pub dtype: Kind,
}

/// An operand, from which its elements follow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Operand {
    /// Its name in the formula.
    pub name: String,
    /// Sizes.
    pub shape: Vec<usize>,
    /// Dtype.
    pub dtype: Kind,
    /// Elements lie at or above.
    pub low: f64,
    /// Elements lie below.
    pub high: f64,
}

impl Operand {
    /// How many elements it has.
    pub fn numel(&self) -> usize {
        self.shape.iter().product()
    }

    /// How many bytes they take.
    pub fn bytes(&self) -> usize {
        self.numel() * self.dtype.bytes()
    }
}

impl Task {
    /// Bytes that have to be read and written at least: every operand once, the result once.
    pub fn traffic(&self) -> usize {
        self.operands.iter().map(Operand::bytes).sum::<usize>() + self.result_bytes()
    }

    /// Elements of the result.
    pub fn numel(&self) -> usize {
        self.shape.iter().product()
    }

    /// Bytes of the result.
    pub fn result_bytes(&self) -> usize {
        self.numel() * self.dtype.bytes()
    }
}
