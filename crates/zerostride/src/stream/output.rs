//! Owns what an evaluation in pieces hands out: results, and how far it has come. It does not know where
//! results go.

use std::ops::ControlFlow;

use zerostride_ops::DType;

use crate::Result;

/// Where a result goes, in row-major order, in this machine's byte order. `io::Sink` is one, of a file.
pub trait Output: Send {
    /// Learns what will come.
    ///
    /// # Errors
    /// There is no place for it.
    fn begin(&mut self, dtype: DType, shape: &[usize]) -> Result<()>;

    /// Takes the next elements: whole rows.
    ///
    /// # Errors
    /// The elements cannot be stored.
    fn write(&mut self, elements: &[u8]) -> Result<()>;

    /// Learns that everything has come. Without this call there must be no result.
    ///
    /// # Errors
    /// The whole cannot be stored.
    fn finish(&mut self) -> Result<()>;

    /// Whether the result stays in memory and is part of what a limit allows.
    fn is_in_memory(&self) -> bool {
        false
    }
}

/// How far an evaluation in pieces has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Bytes read so far.
    pub read: u64,
    /// Bytes that will have been read at the end.
    pub to_read: u64,
    /// Bytes of all results computed so far.
    pub written: u64,
    /// Bytes of all results.
    pub to_write: u64,
    /// The pass under way, counted from 1.
    pub pass: usize,
    /// All passes.
    pub passes: usize,
}

/// A function that is told after every piece; with `Break` the evaluation ends in
/// [`Error::Interrupted`](crate::Error).
pub type Watch<'a> = &'a mut (dyn FnMut(Progress) -> ControlFlow<()> + 'a);
