//! Owns `Original`: the state of a file when its headers were read, and the check that it is unchanged. It
//! does not know what the file holds.

use std::io;
use std::sync::Arc;
use std::time::SystemTime;

use super::read_at::ReadAt;
use crate::error::file::Problem;

/// Bytes at either end of a file that are compared. They contain most files' headers and an archive's
/// directory.
const END: u64 = 4096;

/// The state of a file when it was opened: its length, its time of modification, and its first and last
/// bytes. The bytes tell apart two versions that were written within one tick of the file system's clock.
#[derive(Debug)]
pub(super) struct Original {
    bytes: Arc<dyn ReadAt>,
    length: u64,
    /// `None` if there is no time of modification: then the bytes are assumed not to change.
    modified: Option<SystemTime>,
    ends: Vec<u8>,
}

impl Original {
    /// Records the state of a file.
    pub(super) fn of(bytes: Arc<dyn ReadAt>) -> io::Result<Original> {
        let (length, modified) = (bytes.length()?, bytes.modified()?);
        let ends = if modified.is_some() { ends(&*bytes, length)? } else { Vec::new() };
        Ok(Original { bytes, length, modified, ends })
    }

    /// Reads from the file.
    pub(super) fn bytes(&self) -> &Arc<dyn ReadAt> {
        &self.bytes
    }

    /// The file's length in bytes, when it was opened.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Fails if the file has changed since it was opened.
    pub(super) fn check(&self) -> Result<(), Problem> {
        if self.modified.is_none() {
            return Ok(());
        }
        let length = self.bytes.length().map_err(Problem::reading)?;
        if length < self.length {
            return Err(Problem::Shrank);
        }
        let is_same = length == self.length
            && self.bytes.modified().map_err(Problem::reading)? == self.modified
            && ends(&*self.bytes, length).map_err(Problem::reading)? == self.ends;
        if is_same { Ok(()) } else { Err(Problem::Replaced) }
    }
}

fn ends(bytes: &dyn ReadAt, length: u64) -> io::Result<Vec<u8>> {
    let first = length.min(END);
    let last = (length - first).min(END);
    let mut ends = vec![0; (first + last) as usize];
    let (start, end) = ends.split_at_mut(first as usize);
    bytes.read_exact_at(start, 0)?;
    bytes.read_exact_at(end, length - last)?;
    Ok(ends)
}
