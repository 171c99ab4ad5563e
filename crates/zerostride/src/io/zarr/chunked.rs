//! Owns the reading of an array's elements from chunks. It does not know how they are encoded (`codecs.rs`)
//! nor which rows are read when (`stream`).

use std::ops::Range;
use std::sync::Arc;

use zerostride_ops::DType;
use zerostride_shape::Shape;

use super::boxes::{IndexBox, cells, offset, runs};
use super::codecs::Chain;
use super::layout::{Layout, ShardIndex};
use super::metadata::Keys;
use super::node::{StoreArray, text};
use super::unpack::room;
use super::{Files, damaged};
use crate::Result;
use crate::error::file::{FileError, Problem, name_of};
use crate::expr::{Input, leading};
use crate::io::elements::Encoding;
use crate::io::entry::Entry;
use crate::io::read_at::ReadAt;

/// Bytes of an entry in a shard's index: the offset and the length of a chunk.
const PLACE: usize = 16;

/// An array in chunks, each in a file of its own or in a shard.
#[derive(Debug)]
pub(in crate::io) struct Chunked {
    file: String,
    name: Option<String>,
    files: Arc<dyn Files>,
    prefix: String,
    keys: Keys,
    metadata: String,
    checksum: u32,
    encoding: Encoding,
    shape: Shape,
    layout: Layout,
}

impl Chunked {
    pub(in crate::io) fn new(
        file: &str,
        files: Arc<dyn Files>,
        entry: &Entry,
        node: &StoreArray,
    ) -> Result<Chunked, Problem> {
        let encoding = entry.encoding()?;
        let layout = Layout::new(&node.key, &node.metadata, encoding.dtype)?;
        Ok(Chunked {
            file: file.to_owned(),
            name: entry.name().map(str::to_owned),
            files,
            prefix: node.prefix.clone(),
            keys: node.metadata.keys,
            metadata: node.key.clone(),
            checksum: node.checksum,
            encoding,
            shape: entry.shape.clone(),
            layout,
        })
    }

    /// Reads a box of elements into `out`.
    pub(in crate::io) fn fill(&self, region: &[Range<usize>], out: &mut [u8]) -> Result<(), Problem> {
        self.fill_from_files(region, out)?;
        self.check_unchanged()?;
        self.encoding.decode(out);
        Ok(())
    }

    /// The box of all elements.
    pub(in crate::io) fn whole(&self) -> IndexBox {
        self.shape.iter().map(|&size| 0..size).collect()
    }

    fn fill_from_files(&self, region: &[Range<usize>], out: &mut [u8]) -> Result<(), Problem> {
        for (index, part) in cells(region, &self.layout.file) {
            let key = format!("{}{}", self.prefix, self.keys.key(&index));
            let Some(file) = self.files.open(&key).map_err(Problem::reading)? else {
                // A chunk that is not stored has the fill value.
                self.fill_same(&part, region, out);
                continue;
            };
            let failed = |reason: String| damaged(&*key, reason);
            match &self.layout.shard {
                None => {
                    let length = file.length().map_err(Problem::reading)?;
                    let elements = self.decode(&*file, 0, length).map_err(|error| error.named(failed))?;
                    self.copy(&elements, &index, &part, region, out);
                }
                Some(shard) => {
                    let places = places(shard, &*file).map_err(|error| error.named(failed))?;
                    let all: IndexBox = index
                        .iter()
                        .zip(&self.layout.file)
                        .map(|(number, size)| number * size..(number + 1) * size)
                        .collect();
                    let grid: IndexBox = all
                        .iter()
                        .zip(&self.layout.chunk)
                        .map(|(range, size)| range.start / size..range.end / size)
                        .collect();
                    for (inner, part) in cells(&part, &self.layout.chunk) {
                        let place = &places[offset(&inner, &grid) * PLACE..][..PLACE];
                        let (start, length) = place.split_at(PLACE / 2);
                        let number = |bytes: &[u8]| bytes.try_into().map_or(u64::MAX, u64::from_ne_bytes);
                        match (number(start), number(length)) {
                            (u64::MAX, u64::MAX) => self.fill_same(&part, region, out),
                            (start, length) => {
                                let elements = self
                                    .decode(&*file, start, length)
                                    .map_err(|error| error.named(failed))?;
                                self.copy(&elements, &inner, &part, region, out);
                            }
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Decodes the chunk at a position of a file.
    fn decode(&self, file: &dyn ReadAt, start: u64, length: u64) -> Result<Vec<u8>, Failure> {
        decode(&self.layout.chain, file, start, length)
    }

    /// Copies the part of a chunk that is in both the chunk and the region.
    fn copy(
        &self,
        elements: &[u8],
        index: &[usize],
        part: &[Range<usize>],
        region: &[Range<usize>],
        out: &mut [u8],
    ) {
        let item = self.encoding.dtype.item_size();
        let own =
            index.iter().zip(&self.layout.chunk).map(|(number, size)| number * size..(number + 1) * size);
        let own: IndexBox = own.collect();
        for (from, to, length) in runs(part, &own, region) {
            out[to * item..][..length * item].copy_from_slice(&elements[from * item..][..length * item]);
        }
    }

    /// Fills a part with the fill value.
    fn fill_same(&self, part: &[Range<usize>], region: &[Range<usize>], out: &mut [u8]) {
        let item = self.encoding.dtype.item_size();
        for (_, to, length) in runs(part, region, region) {
            for element in out[to * item..][..length * item].chunks_exact_mut(item) {
                element.copy_from_slice(&self.layout.fill);
            }
        }
    }

    /// Fails if the store's metadata have changed: the chunks of a store that was replaced or removed would
    /// be read as values or as the fill value.
    fn check_unchanged(&self) -> Result<(), Problem> {
        match text(&*self.files, &self.metadata)? {
            Some(text) if crc32fast::hash(&text) == self.checksum => Ok(()),
            _ => Err(Problem::Replaced),
        }
    }
}

impl Input for Chunked {
    fn name(&self) -> String {
        name_of(&self.file, self.name.as_deref())
    }

    fn dtype(&self) -> DType {
        self.encoding.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn read(&self, rows: Range<usize>, out: &mut [u8]) -> Result<()> {
        let mut region = self.whole();
        if let Some(dim) = leading(&self.shape) {
            region[dim] = rows;
        }
        let filled = self.fill(&region, out);
        Ok(filled.map_err(|problem| FileError::new(&self.file, self.name.as_deref(), problem))?)
    }

    fn chunk(&self) -> usize {
        leading(&self.shape).map_or(1, |dim| self.layout.chunk[dim])
    }

    fn scratch(&self) -> u64 {
        self.layout.scratch()
    }
}

/// Why a chunk cannot be read: the system's error, or wrong content.
enum Failure {
    System(Problem),
    File(String),
}

impl Failure {
    fn named(self, name: impl FnOnce(String) -> Problem) -> Problem {
        match self {
            Failure::System(problem) => problem,
            Failure::File(reason) => name(reason),
        }
    }
}

/// Reads and decodes a section of a file, after checking its length.
fn decode(chain: &Chain, file: &dyn ReadAt, start: u64, length: u64) -> Result<Vec<u8>, Failure> {
    let found = file.length().map_err(|error| Failure::System(Problem::reading(error)))?;
    if start.checked_add(length).is_none_or(|end| end > found) {
        let reason = format!("{length} bytes from byte {start} on lie past its end at byte {found}");
        return Err(Failure::File(reason));
    }
    let most = chain.most() as u64;
    if length > most || chain.is_exact() && length < most {
        let amount = if chain.is_exact() { "exactly" } else { "at most" };
        return Err(Failure::File(format!("a chunk has {length} bytes, and {amount} {most} are right")));
    }
    let mut packed = room(length as usize).map_err(Failure::File)?;
    file.read_exact_at(&mut packed, start).map_err(|error| Failure::System(Problem::reading(error)))?;
    chain.decode(packed).map_err(Failure::File)
}

/// The index of a shard.
fn places(shard: &ShardIndex, file: &dyn ReadAt) -> Result<Vec<u8>, Failure> {
    let length = shard.chain.most() as u64;
    let found = file.length().map_err(|error| Failure::System(Problem::reading(error)))?;
    let start = if shard.is_first { Some(0) } else { found.checked_sub(length) };
    let start = start.ok_or_else(|| {
        Failure::File(format!("its index of {length} bytes does not fit into its {found} bytes"))
    })?;
    decode(&shard.chain, file, start, length)
}
