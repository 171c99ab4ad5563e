//! Owns the reading of rows from an archive's member, stored or deflated: in order, with the checksum
//! compared at the end. It does not know an archive's structures (`npz.rs`) nor arrays.

use std::io::{self, BufReader, Read};
use std::sync::{Arc, Mutex};

use super::read_at::{ReadAt, Section};
use crate::fork::lock;

/// The position of a member, and how it is compressed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub(super) start: u64,
    pub(super) packed: u64,
    pub(super) unpacked: u64,
    pub(super) deflated: bool,
    pub(super) checksum: u32,
}

/// A member that is read from front to back. To read an earlier offset, a stored member is read without its
/// checksum being compared, and a deflated one again from its start.
#[derive(Debug)]
pub(super) struct Packed {
    bytes: Arc<dyn ReadAt>,
    member: Member,
    stream: Mutex<Option<Stream>>,
}

struct Stream {
    reader: Box<dyn Read + Send>,
    at: u64,
    hasher: crc32fast::Hasher,
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stream").field("at", &self.at).finish_non_exhaustive()
    }
}

impl Packed {
    pub(super) fn new(bytes: Arc<dyn ReadAt>, member: Member) -> Packed {
        Packed { bytes, member, stream: Mutex::new(None) }
    }

    /// Reads decompressed bytes from `offset` on into `out`.
    ///
    /// # Errors
    /// Of the kind `InvalidData` if the member is damaged.
    pub(super) fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        // The lock is not held while decompressing: a fork meanwhile would leave it locked in the child.
        let known = lock(&self.stream).take();
        let in_order = |stream: &Stream| stream.at <= offset;
        if !self.member.deflated && known.as_ref().is_some_and(|stream| !in_order(stream)) {
            *lock(&self.stream) = known;
            return self.bytes.read_exact_at(out, self.member.start + offset);
        }
        let mut stream = known.filter(in_order).unwrap_or_else(|| self.open());
        let mut skipped = [0; 4096];
        while stream.at < offset {
            let count = skipped.len().min((offset - stream.at) as usize);
            stream.read(&mut skipped[..count])?;
        }
        stream.read(out)?;
        if stream.at == self.member.unpacked {
            let damaged = |what| Err(io::Error::new(io::ErrorKind::InvalidData, what));
            if stream.reader.read(&mut [0])? > 0 {
                return damaged("a member is longer than it declares");
            }
            if stream.hasher.finalize() != self.member.checksum {
                return damaged("a member does not match its checksum");
            }
            return Ok(());
        }
        *lock(&self.stream) = Some(stream);
        Ok(())
    }

    fn open(&self) -> Stream {
        let Member { start, packed, deflated, .. } = self.member;
        let section = Section::new(Arc::clone(&self.bytes), start, start + packed);
        let reader: Box<dyn Read + Send> = if deflated {
            Box::new(flate2::read::DeflateDecoder::new(BufReader::with_capacity(1 << 16, section)))
        } else {
            Box::new(section)
        };
        Stream { reader, at: 0, hasher: crc32fast::Hasher::new() }
    }
}

impl Stream {
    fn read(&mut self, out: &mut [u8]) -> io::Result<()> {
        self.reader.read_exact(out)?;
        self.hasher.update(out);
        self.at += out.len() as u64;
        Ok(())
    }
}
