//! Owns reading at offsets: what a source needs of a file, and a section of it as a reader. It does not know
//! formats.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::time::SystemTime;

/// Bytes that can be read at any offset, by several threads at once: a file, or bytes in memory.
pub trait ReadAt: Send + Sync + fmt::Debug {
    /// Reads bytes from `offset` on until `out` is full.
    ///
    /// # Errors
    /// `UnexpectedEof` if there are fewer bytes; any other error of the reading.
    fn read_exact_at(&self, out: &mut [u8], offset: u64) -> io::Result<()>;

    /// The number of bytes.
    ///
    /// # Errors
    /// The length cannot be determined.
    fn length(&self) -> io::Result<u64>;

    /// When the bytes were last modified, by which a [`Source`](super::Source) detects that they have changed
    /// since it was opened. `None` if that is unknown: then they are assumed not to change.
    ///
    /// # Errors
    /// The time cannot be determined.
    fn modified(&self) -> io::Result<Option<SystemTime>> {
        Ok(None)
    }
}

impl ReadAt for File {
    #[cfg(unix)]
    fn read_exact_at(&self, out: &mut [u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(self, out, offset)
    }

    #[cfg(windows)]
    fn read_exact_at(&self, mut out: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !out.is_empty() {
            let read = std::os::windows::fs::FileExt::seek_read(self, out, offset)?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            (out, offset) = (&mut out[read..], offset + read as u64);
        }
        Ok(())
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn modified(&self) -> io::Result<Option<SystemTime>> {
        // Some systems have no modification times.
        Ok(self.metadata()?.modified().ok())
    }
}

impl ReadAt for Vec<u8> {
    fn read_exact_at(&self, out: &mut [u8], offset: u64) -> io::Result<()> {
        let from = usize::try_from(offset).ok().and_then(|from| self.get(from..)?.get(..out.len()));
        out.copy_from_slice(from.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }
}

/// A range of the bytes as a reader.
#[derive(Debug)]
pub(super) struct Section {
    bytes: Arc<dyn ReadAt>,
    at: u64,
    end: u64,
}

impl Section {
    pub(super) fn new(bytes: Arc<dyn ReadAt>, start: u64, end: u64) -> Section {
        Section { bytes, at: start, end }
    }
}

impl Read for Section {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count =
            usize::try_from(self.end.saturating_sub(self.at)).map_or(out.len(), |left| left.min(out.len()));
        self.bytes.read_exact_at(&mut out[..count], self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for Section {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        let to = match position {
            SeekFrom::Start(to) => Some(to),
            SeekFrom::End(by) => self.end.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = to.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}
