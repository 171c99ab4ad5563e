//! Owns the writing of one array as a store. Elements arrive in order, and each chunk is a contiguous run of
//! them, so at most one chunk is held in memory. It does not know how the store takes its name (`files.rs`).

use std::io::{self, Write};

use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use serde_json::{Value, json};
use zerostride_ops::DType;

use super::metadata::{Keys, zero};
use super::{METADATA_FILE, METADATA_V2_FILE, NewFiles, blosc};
use crate::error::file::Problem;
use crate::io::{Compression, ZarrFormat, npy};

/// The size of an uncompressed chunk in bytes: a compromise between few files and little to read for a few
/// rows.
const CHUNK: usize = 16 << 20;

/// Written in blocks where a chunk extends beyond the array.
const ZEROS: [u8; 1 << 12] = [0; 1 << 12];

/// gzip's level: a lower one leaves more of random floats than there was.
const GZIP_LEVEL: u32 = 5;

impl Compression {
    /// The codec of elements of a size, as version 3 names it.
    fn codec(self, item: usize) -> Option<Value> {
        match self {
            Compression::None => None,
            Compression::Lz4 => Some(json!({"name": "blosc", "configuration": {
                "cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": item, "blocksize": 0
            }})),
            Compression::Gzip => Some(json!({"name": "gzip", "configuration": {"level": GZIP_LEVEL}})),
            Compression::Zstd => {
                Some(json!({"name": "zstd", "configuration": {"level": 1, "checksum": true}}))
            }
        }
    }

    /// The same as version 2 names it.
    fn compressor(self) -> Value {
        match self {
            Compression::None => Value::Null,
            Compression::Lz4 => {
                json!({"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0})
            }
            Compression::Gzip => json!({"id": "gzip", "level": GZIP_LEVEL}),
            Compression::Zstd => json!({"id": "zstd", "level": 1, "checksum": true}),
        }
    }

    fn packer(self, file: Box<dyn Write + Send>, item: usize) -> Packer {
        match self {
            Compression::None => Packer::Stream(file),
            Compression::Gzip => Packer::Gzip(GzEncoder::new(file, flate2::Compression::new(GZIP_LEVEL))),
            Compression::Lz4 | Compression::Zstd => {
                Packer::Whole { file, bytes: Vec::new(), item, is_lz4: self == Compression::Lz4 }
            }
        }
    }
}

/// A frame of Zstandard that says how many bytes it has, as some readers require.
fn zstd_frame(bytes: &[u8]) -> Vec<u8> {
    /// The frame's number and the descriptor of its header, which tells what follows.
    const DESCRIPTOR: usize = 4;
    const HAS_SIZE: u8 = 3 << 6;
    let mut frame = compress_to_vec(bytes, CompressionLevel::Fastest);
    frame[DESCRIPTOR] |= HAS_SIZE;
    // The size of the window comes before that of the content.
    frame.splice(DESCRIPTOR + 2..DESCRIPTOR + 2, (bytes.len() as u64).to_le_bytes());
    frame
}

/// The file of a chunk, with its compressor.
enum Packer {
    Stream(Box<dyn Write + Send>),
    Gzip(GzEncoder<Box<dyn Write + Send>>),
    /// A chunk that is compressed as a whole.
    Whole {
        file: Box<dyn Write + Send>,
        bytes: Vec<u8>,
        item: usize,
        is_lz4: bool,
    },
}

impl Packer {
    fn write_all(&mut self, more: &[u8]) -> io::Result<()> {
        match self {
            Packer::Stream(file) => file.write_all(more),
            Packer::Gzip(encoder) => encoder.write_all(more),
            Packer::Whole { bytes, .. } => {
                bytes.try_reserve(more.len()).map_err(|_| io::ErrorKind::OutOfMemory)?;
                bytes.extend_from_slice(more);
                Ok(())
            }
        }
    }

    fn finish(self) -> io::Result<()> {
        let mut file = match self {
            Packer::Stream(file) => file,
            Packer::Gzip(encoder) => encoder.finish()?,
            Packer::Whole { mut file, bytes, item, is_lz4 } => {
                let packed = if is_lz4 { blosc::encode(&bytes, item) } else { zstd_frame(&bytes) };
                file.write_all(&packed)?;
                file
            }
        };
        file.flush()
    }
}

/// A store that is being written.
pub(in crate::io) struct StoreWriter {
    to: Box<dyn NewFiles>,
    compression: Compression,
    /// The size of an element in bytes.
    item: usize,
    grid: ChunkGrid,
    /// The row-major number of the current chunk.
    number: usize,
    chunk: Option<(Packer, usize)>,
    /// Bytes until the end of the divided dimension, where the next chunk begins even if the current one is
    /// not full.
    line: usize,
}

impl StoreWriter {
    /// Writes the metadata, and reserves disk space if the size of the chunks is known.
    pub(in crate::io) fn start(
        mut to: Box<dyn NewFiles>,
        compression: Compression,
        format: ZarrFormat,
        dtype: DType,
        shape: &[usize],
    ) -> Result<StoreWriter, Problem> {
        let item = dtype.item_size();
        let grid = ChunkGrid::new(shape, item, format);
        let (name, metadata) = match format {
            ZarrFormat::V2 => (METADATA_V2_FILE, metadata_v2(&grid, compression, dtype, shape)?),
            ZarrFormat::V3 => (METADATA_FILE, metadata(&grid, compression, dtype, shape)),
        };
        if compression == Compression::None {
            let bytes = grid
                .counts
                .iter()
                .fold(grid.bytes as u64, |bytes, &count| bytes.saturating_mul(count as u64));
            to.reserve(bytes).map_err(Problem::writing)?;
        }
        let written = to.create(name).and_then(|mut file| {
            file.write_all(metadata.to_string().as_bytes())?;
            file.flush()
        });
        written.map_err(Problem::writing)?;
        Ok(StoreWriter { to, compression, item, line: grid.line, grid, number: 0, chunk: None })
    }

    /// Writes the next elements.
    pub(in crate::io) fn write(&mut self, mut elements: &[u8]) -> io::Result<()> {
        while !elements.is_empty() {
            let (mut packer, left) = match self.chunk.take() {
                Some(open) => open,
                None => {
                    let file = self.to.create(&self.grid.key(self.number))?;
                    (self.compression.packer(file, self.item), self.grid.bytes)
                }
            };
            let (now, later) = elements.split_at(elements.len().min(left).min(self.line));
            packer.write_all(now)?;
            elements = later;
            self.line -= now.len();
            let mut left = left - now.len();
            if left > 0 && self.line > 0 {
                self.chunk = Some((packer, left));
                break;
            }
            while left > 0 {
                let zeros = &ZEROS[..left.min(ZEROS.len())];
                packer.write_all(zeros)?;
                left -= zeros.len();
            }
            packer.finish()?;
            self.number += 1;
            if self.line == 0 {
                self.line = self.grid.line;
            }
        }
        Ok(())
    }

    /// The files, after everything has been written.
    pub(in crate::io) fn into_files(self) -> Box<dyn NewFiles> {
        self.to
    }
}

/// How an array is divided: one dimension into ranges, the dimensions after it whole, those before it into
/// single indices.
struct ChunkGrid {
    /// The shape of a chunk, and the number of chunks in each dimension.
    chunk: Vec<usize>,
    counts: Vec<usize>,
    /// Bytes of a chunk, and of the divided dimension and those after it.
    bytes: usize,
    line: usize,
    /// Whether keys begin with a `c`.
    has_prefix: bool,
}

impl ChunkGrid {
    fn new(shape: &[usize], item: usize, format: ZarrFormat) -> ChunkGrid {
        let mut chunk = vec![1; shape.len()];
        let mut room = CHUNK / item;
        let mut divided = 0;
        for dim in (0..shape.len()).rev() {
            chunk[dim] = shape[dim].clamp(1, room);
            room /= chunk[dim];
            if chunk[dim] < shape[dim] {
                divided = dim;
                break;
            }
        }
        let counts = shape.iter().zip(&chunk).map(|(size, chunk)| size.div_ceil(*chunk)).collect();
        let bytes = chunk.iter().product::<usize>() * item;
        let line = shape[divided.min(shape.len())..].iter().product::<usize>() * item;
        ChunkGrid { chunk, counts, bytes, line, has_prefix: format == ZarrFormat::V3 }
    }

    /// The key of a chunk's file. The keys have no folders: most chunks are whole rows, so each would be in a
    /// folder of its own.
    fn key(&self, number: usize) -> String {
        let mut left = number;
        let mut index: Vec<usize> = vec![];
        for count in self.counts.iter().rev() {
            index.push(left % count);
            left /= count;
        }
        index.reverse();
        Keys { has_prefix: self.has_prefix, separator: '.' }.key(&index)
    }
}

fn metadata(grid: &ChunkGrid, compression: Compression, dtype: DType, shape: &[usize]) -> Value {
    let name = dtype.torch_name();
    let endian = if cfg!(target_endian = "big") { "big" } else { "little" };
    let bytes = json!({"name": "bytes", "configuration": {"endian": endian}});
    let codecs: Vec<Value> = std::iter::once(bytes).chain(compression.codec(dtype.item_size())).collect();
    json!({
        "zarr_format": 3,
        "node_type": "array",
        "shape": shape,
        "data_type": name,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": grid.chunk}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}},
        "fill_value": zero(dtype),
        "codecs": codecs,
        "attributes": {},
    })
}

fn metadata_v2(
    grid: &ChunkGrid,
    compression: Compression,
    dtype: DType,
    shape: &[usize],
) -> Result<Value, Problem> {
    let advice = "does not exist in version 2 of Zarr; write version 3, or convert to f32 first";
    let code = npy::descr(dtype).ok_or_else(|| Problem::DType { name: dtype.name().to_owned(), advice })?;
    Ok(json!({
        "zarr_format": 2,
        "shape": shape,
        "chunks": grid.chunk,
        "dtype": code,
        "compressor": compression.compressor(),
        "fill_value": zero(dtype),
        "order": "C",
        "filters": null,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_runs_of_neighbours() {
        let million = 1 << 20;
        for (shape, chunk, counts) in [
            (&[][..], &[][..], &[][..]),
            (&[5], &[5], &[1]),
            (&[0, 3], &[1, 3], &[0, 1]),
            (&[40 * million, 4], &[million / 2, 4], &[80, 1]),
            (&[3, 5 * million, 1], &[1, 2 * million, 1], &[3, 3, 1]),
            (&[2, 3, million + 1], &[1, 1, million + 1], &[2, 3, 1]),
        ] {
            let grid = ChunkGrid::new(shape, 8, ZarrFormat::V3);
            assert_eq!((&grid.chunk[..], &grid.counts[..]), (chunk, counts));
        }
        assert_eq!(ChunkGrid::new(&[3, 5 * million, 1], 8, ZarrFormat::V3).key(4), "c.1.1.0");
        assert_eq!(ChunkGrid::new(&[3, 5 * million, 1], 8, ZarrFormat::V2).key(4), "1.1.0");
        assert_eq!(ChunkGrid::new(&[], 8, ZarrFormat::V3).key(0), "c");
    }
}
