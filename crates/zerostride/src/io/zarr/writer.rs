//! Owns the writing of one array as a store. Elements arrive in order, and each chunk is a contiguous run of
//! them, so no chunk is held in memory. It does not know how the store takes its name (`files.rs`).

use std::io::{self, Write};

use flate2::write::GzEncoder;
use serde_json::{Value, json};
use zerostride_ops::{Category, DType};

use super::layout::NAMES;
use super::{METADATA, NewFiles};
use crate::error::file::Problem;
use crate::io::Compression;

/// The size of an uncompressed chunk in bytes: a compromise between few files and little to read for a few
/// rows.
const CHUNK: usize = 16 << 20;

/// Written in blocks where a chunk extends beyond the array.
const ZEROS: [u8; 1 << 12] = [0; 1 << 12];

/// Compression levels: fast rather than small.
const GZIP_LEVEL: u32 = 5;
const ZSTD_LEVEL: i32 = 1;

impl Compression {
    fn codec(self) -> Option<Value> {
        match self {
            Compression::None => None,
            Compression::Gzip => Some(json!({"name": "gzip", "configuration": {"level": GZIP_LEVEL}})),
            Compression::Zstd => {
                Some(json!({"name": "zstd", "configuration": {"level": ZSTD_LEVEL, "checksum": false}}))
            }
        }
    }

    fn packer(self, file: Box<dyn Write + Send>, bytes: usize) -> io::Result<Packer> {
        Ok(match self {
            Compression::None => Packer::None(file),
            Compression::Gzip => Packer::Gzip(GzEncoder::new(file, flate2::Compression::new(GZIP_LEVEL))),
            Compression::Zstd => {
                let mut encoder = zstd::Encoder::new(file, ZSTD_LEVEL)?;
                // Some readers require the decompressed size in the frame's header.
                encoder.set_pledged_src_size(Some(bytes as u64))?;
                encoder.include_contentsize(true)?;
                Packer::Zstd(encoder)
            }
        })
    }
}

/// The file of a chunk, with its compressor.
enum Packer {
    None(Box<dyn Write + Send>),
    Gzip(GzEncoder<Box<dyn Write + Send>>),
    Zstd(zstd::Encoder<'static, Box<dyn Write + Send>>),
}

impl Packer {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Packer::None(file) => file.write_all(bytes),
            Packer::Gzip(encoder) => encoder.write_all(bytes),
            Packer::Zstd(encoder) => encoder.write_all(bytes),
        }
    }

    fn finish(self) -> io::Result<()> {
        let mut file = match self {
            Packer::None(file) => file,
            Packer::Gzip(encoder) => encoder.finish()?,
            Packer::Zstd(encoder) => encoder.finish()?,
        };
        file.flush()
    }
}

/// A store that is being written.
pub(in crate::io) struct Writer {
    to: Box<dyn NewFiles>,
    compression: Compression,
    grid: Grid,
    /// The row-major number of the current chunk.
    number: usize,
    chunk: Option<(Packer, usize)>,
    /// Bytes until the end of the divided dimension, where the next chunk begins even if the current one is
    /// not full.
    line: usize,
}

impl Writer {
    /// Writes `zarr.json`, and reserves disk space if the size of the chunks is known.
    pub(in crate::io) fn start(
        mut to: Box<dyn NewFiles>,
        compression: Compression,
        dtype: DType,
        shape: &[usize],
    ) -> Result<Writer, Problem> {
        let grid = Grid::new(shape, dtype.item_size());
        if compression == Compression::None {
            let bytes = grid
                .counts
                .iter()
                .fold(grid.bytes as u64, |bytes, &count| bytes.saturating_mul(count as u64));
            to.reserve(bytes).map_err(Problem::writing)?;
        }
        let metadata = metadata(&grid, compression, dtype, shape).to_string();
        let written = to.create(METADATA).and_then(|mut file| {
            file.write_all(metadata.as_bytes())?;
            file.flush()
        });
        written.map_err(Problem::writing)?;
        Ok(Writer { to, compression, line: grid.line, grid, number: 0, chunk: None })
    }

    /// Writes the next elements.
    pub(in crate::io) fn write(&mut self, mut elements: &[u8]) -> io::Result<()> {
        while !elements.is_empty() {
            let (mut packer, left) = match self.chunk.take() {
                Some(open) => open,
                None => {
                    let file = self.to.create(&self.grid.key(self.number))?;
                    (self.compression.packer(file, self.grid.bytes)?, self.grid.bytes)
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
struct Grid {
    /// The shape of a chunk, and the number of chunks in each dimension.
    chunk: Vec<usize>,
    counts: Vec<usize>,
    /// Bytes of a chunk, and of the divided dimension and those after it.
    bytes: usize,
    line: usize,
}

impl Grid {
    fn new(shape: &[usize], item: usize) -> Grid {
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
        Grid { chunk, counts, bytes, line }
    }

    /// The key of a chunk's file. The keys have no folders: most chunks are whole rows, so each would be in a
    /// folder of its own.
    fn key(&self, number: usize) -> String {
        let mut left = number;
        let mut index: Vec<String> = vec![];
        for count in self.counts.iter().rev() {
            index.push((left % count).to_string());
            left /= count;
        }
        index.push("c".into());
        index.reverse();
        index.join(".")
    }
}

fn metadata(grid: &Grid, compression: Compression, dtype: DType, shape: &[usize]) -> Value {
    let name = NAMES.iter().find(|(_, known)| *known == dtype).map(|(name, _)| *name);
    let fill = match dtype.category() {
        Category::Bool => json!(false),
        Category::Complex => json!([0.0, 0.0]),
        Category::Float => json!(0.0),
        _ => json!(0),
    };
    let endian = if cfg!(target_endian = "big") { "big" } else { "little" };
    let bytes = json!({"name": "bytes", "configuration": {"endian": endian}});
    let codecs: Vec<Value> = std::iter::once(bytes).chain(compression.codec()).collect();
    json!({
        "zarr_format": 3,
        "node_type": "array",
        "shape": shape,
        "data_type": name,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": grid.chunk}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}},
        "fill_value": fill,
        "codecs": codecs,
        "attributes": {},
    })
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
            let grid = Grid::new(shape, 8);
            assert_eq!((&grid.chunk[..], &grid.counts[..]), (chunk, counts));
        }
        assert_eq!(Grid::new(&[3, 5 * million, 1], 8).key(4), "c.1.1.0");
        assert_eq!(Grid::new(&[], 8).key(0), "c");
    }
}
