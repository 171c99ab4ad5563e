//! Owns `Original`: what a file was when its headers were read, and whether it still is that. It does not
//! know what is in it.

use std::io;
use std::sync::Arc;
use std::time::SystemTime;

use super::read_at::ReadAt;
use crate::error::file::Problem;

/// Bytes at either end of a file that are compared. They hold the header of most files, and the list of an
/// archive.
const END: u64 = 4096;

/// A file as it was when it was opened: its length, when it was last written, and its first and last bytes.
/// The bytes tell two files apart that were written within one tick of the file system's clock.
#[derive(Debug)]
pub(super) struct Original {
    bytes: Arc<dyn ReadAt>,
    length: u64,
    /// `None` where the bytes do not tell: then they are taken to stay as they are.
    modified: Option<SystemTime>,
    ends: Vec<u8>,
}

impl Original {
    /// The file as it is now.
    pub(super) fn of(bytes: Arc<dyn ReadAt>) -> io::Result<Original> {
        let (length, modified) = (bytes.length()?, bytes.modified()?);
        let ends = if modified.is_some() { ends(&*bytes, length)? } else { Vec::new() };
        Ok(Original { bytes, length, modified, ends })
    }

    /// Its bytes, as they are now.
    pub(super) fn bytes(&self) -> &Arc<dyn ReadAt> {
        &self.bytes
    }

    /// Its length in bytes.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Refuses what was read before, if the file is no longer the one that was opened.
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
