//! Owns the writing of an archive, member by member, and of one that is abandoned. It does not know what
//! members hold (`npz.rs`).

use std::io::{self, Seek, SeekFrom, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use zip::CompressionMethod;
use zip::result::ZipError;
use zip::write::{SimpleFileOptions, ZipWriter};

use crate::error::file::Problem;

/// An archive that is being written. If it is dropped unfinished, nothing more is written. The `zip` crate's
/// writer would finish the archive when it is dropped, and print to standard error if that failed.
pub(super) struct NewArchive<W: Write + Seek> {
    /// The first field, so that it is dropped first.
    stop: Stop,
    zip: ZipWriter<Stoppable<W>>,
}

impl<W: Write + Seek> NewArchive<W> {
    pub(super) fn new(to: W) -> NewArchive<W> {
        let stopped = Arc::new(AtomicBool::new(false));
        let to = Stoppable { to, at: 0, end: 0, stopped: Arc::clone(&stopped) };
        NewArchive { stop: Stop(stopped), zip: ZipWriter::new(to) }
    }

    /// Starts an uncompressed member of `bytes` bytes, header included, for an array.
    pub(super) fn start(&mut self, name: &str, bytes: u64) -> Result<(), Problem> {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .large_file(bytes >= u64::from(u32::MAX));
        self.zip.start_file(format!("{name}.npy"), options).map_err(problem)
    }

    /// Finishes the archive and returns the destination.
    pub(super) fn finish(self) -> Result<W, Problem> {
        let NewArchive { stop, zip } = self;
        let finished = zip.finish().map_err(problem);
        drop(stop);
        Ok(finished?.to)
    }
}

impl<W: Write + Seek> Write for NewArchive<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.zip.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.zip.flush()
    }
}

/// The problem that a ZIP error is reported as.
fn problem(error: ZipError) -> Problem {
    match error {
        ZipError::Io(error) => Problem::writing(error),
        other => Problem::Archive { reason: other.to_string() },
    }
}

/// Stops the writer when it is dropped.
struct Stop(Arc<AtomicBool>);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A writer that discards everything after its first failure, or once it is stopped, and reports success. Its
/// position stays at the end of what was written.
struct Stoppable<W> {
    to: W,
    at: u64,
    end: u64,
    stopped: Arc<AtomicBool>,
}

impl<W> Stoppable<W> {
    /// Applies `act` to the writer unless it has stopped, and stops if it fails.
    fn unless_stopped<T>(&mut self, act: impl FnOnce(&mut W) -> io::Result<T>) -> Option<io::Result<T>> {
        if self.stopped.load(Ordering::Relaxed) {
            return None;
        }
        let done = act(&mut self.to);
        // The caller retries an interrupted call.
        if done.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::Interrupted) {
            self.stopped.store(true, Ordering::Relaxed);
        }
        Some(done)
    }
}

impl<W: Write> Write for Stoppable<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.unless_stopped(|to| to.write(bytes)) {
            Some(written) => {
                let written = written?;
                self.at += written as u64;
                self.end = self.end.max(self.at);
                Ok(written)
            }
            None => {
                self.end += bytes.len() as u64;
                Ok(bytes.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.unless_stopped(W::flush).unwrap_or(Ok(()))
    }
}

impl<W: Seek> Seek for Stoppable<W> {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        match self.unless_stopped(|to| to.seek(position)) {
            Some(at) => {
                self.at = at?;
                Ok(self.at)
            }
            None => Ok(self.end),
        }
    }
}
