//! Owns the decoding of a chunk's bytes to its elements: the chain of codecs that a store names. Nothing
//! takes more memory than the chunk may have. It does not know where the bytes are stored.

use zerostride_ops::{Category, DType};

use super::blosc;
use super::delta::Delta;
use super::metadata::Extension;
use super::unpack::{room, too_long, unlz4, unpack, unzlib, unzstd};
use crate::io::elements::{ElementWalk, Encoding};
use crate::io::entry::EntryDtype;
use crate::io::npy;

/// The size of a checksum in bytes.
const CHECKSUM: usize = 4;

/// The codecs of chunks of one shape.
#[derive(Debug)]
pub(super) struct Chain {
    chunk: Vec<usize>,
    /// The dimensions in the order in which elements are stored, the slowest first; `None` if they are
    /// row-major.
    order: Option<Vec<usize>>,
    encoding: Encoding,
    /// The codecs on bytes, in the order of encoding.
    packing: Vec<Packing>,
    bytes: usize,
}

/// A codec on the bytes of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Packing {
    Checksum {
        is_first: bool,
    },
    Delta(Delta),
    /// The first bytes of all elements of a size, then the second ones, and so on.
    Shuffle(usize),
    Compressed(Compressor),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compressor {
    Blosc,
    Bz2,
    Gzip,
    Lz4,
    Zlib,
    Zstd,
}

impl Packing {
    /// The codec of a name, if it is one on bytes. Version 2 has numcodecs' names; in version 3 these have a
    /// prefix.
    fn named(codec: &Extension) -> Result<Option<Packing>, String> {
        Ok(Some(match codec.name.strip_prefix("numcodecs.").unwrap_or(&codec.name) {
            "crc32c" => {
                let place: Option<String> = codec.optional("location")?;
                match place.as_deref().unwrap_or("end") {
                    "end" => Packing::Checksum { is_first: false },
                    "start" => Packing::Checksum { is_first: true },
                    other => return Err(format!("a checksum is at the `start` or `end`, not at `{other}`")),
                }
            }
            "shuffle" => match codec.optional("elementsize")?.unwrap_or(4) {
                0 => return Err("`elementsize` of `shuffle` is 0".into()),
                size => Packing::Shuffle(size),
            },
            "blosc" => Packing::Compressed(Compressor::Blosc),
            "bz2" => Packing::Compressed(Compressor::Bz2),
            "gzip" => Packing::Compressed(Compressor::Gzip),
            "lz4" => Packing::Compressed(Compressor::Lz4),
            "zlib" => Packing::Compressed(Compressor::Zlib),
            "zstd" => Packing::Compressed(Compressor::Zstd),
            _ => return Ok(None),
        }))
    }

    /// The most bytes that `bytes` bytes may be encoded as. Compressors expand random data by less than this.
    fn most(self, bytes: usize) -> usize {
        match self {
            Packing::Checksum { .. } => bytes.saturating_add(CHECKSUM),
            Packing::Shuffle(_) => bytes,
            Packing::Delta(delta) => delta.encoded_bytes(bytes),
            Packing::Compressed(_) => bytes.saturating_add(bytes / 4).saturating_add(1 << 10),
        }
    }

    /// Decodes to at most `most` bytes.
    fn undo(self, packed: Vec<u8>, most: usize) -> Result<Vec<u8>, String> {
        match self {
            Packing::Checksum { is_first } => unchecked(packed, is_first),
            Packing::Delta(delta) => delta.decode(packed),
            Packing::Shuffle(size) => blosc::unshuffle(&packed, size),
            Packing::Compressed(compressor) => match compressor {
                Compressor::Blosc => blosc::decode(&packed, most),
                Compressor::Bz2 => {
                    unpack("bzip2", bzip2::read::MultiBzDecoder::new(&packed[..]), packed.len(), most)
                }
                // Writers may append members, as `gzip` itself does: together they are one stream.
                Compressor::Gzip => {
                    unpack("gzip", flate2::read::MultiGzDecoder::new(&packed[..]), packed.len(), most)
                }
                Compressor::Lz4 => {
                    let (size, block) = packed.split_first_chunk().ok_or("it is cut short")?;
                    let size = u32::from_le_bytes(*size) as usize;
                    if size > most {
                        return Err(too_long(most));
                    }
                    unlz4(block, size)
                }
                Compressor::Zlib => unzlib(&packed, most),
                Compressor::Zstd => unzstd(&packed, most),
            },
        }
    }
}

/// Compares a checksum, and removes it.
fn unchecked(mut packed: Vec<u8>, is_first: bool) -> Result<Vec<u8>, String> {
    let length = packed.len().checked_sub(CHECKSUM).ok_or("it is shorter than its checksum")?;
    if is_first {
        packed.rotate_left(CHECKSUM);
    }
    let found = packed.split_off(length);
    match crc32c::crc32c(&packed).to_le_bytes()[..] == found[..] {
        true => Ok(packed),
        false => Err("its checksum is another one than that of its bytes".into()),
    }
}

impl Chain {
    /// The codecs that a store names, for chunks of a shape whose elements take `bytes` bytes.
    pub(super) fn new(
        codecs: &[Extension],
        dtype: DType,
        chunk: &[usize],
        bytes: usize,
    ) -> Result<Chain, String> {
        let (mut order, mut swapped, mut packing) = (None, None, Vec::new());
        let mut deltas = Vec::new();
        for codec in codecs {
            match (codec.name.strip_prefix("numcodecs.").unwrap_or(&codec.name), swapped) {
                ("transpose", None) if deltas.is_empty() => {
                    order = Some(transposed(codec, order, chunk.len())?);
                }
                ("bytes", None) => {
                    let endian: Option<String> = codec.optional("endian")?;
                    let is_other = match endian.as_deref() {
                        Some("little") => cfg!(target_endian = "big"),
                        Some("big") => cfg!(target_endian = "little"),
                        None if dtype.to_real().item_size() == 1 => false,
                        _ => return Err("`endian` of `bytes` is neither `little` nor `big`".into()),
                    };
                    swapped = Some(is_other);
                    let in_order = |delta: &Delta| Packing::Delta(delta.stored_as(is_other));
                    packing.extend(deltas.iter().map(in_order));
                }
                // It rounds numbers when they are written.
                ("bitround", _) => {}
                ("delta", _) if order.is_none() || swapped.is_some() => {
                    let delta = delta(codec)?;
                    match swapped {
                        Some(_) => packing.push(Packing::Delta(delta)),
                        None => deltas.push(delta),
                    }
                }
                _ => match (Packing::named(codec)?, swapped) {
                    (Some(codec), Some(_)) => packing.push(codec),
                    (Some(_), None) => return Err("the codec `bytes` is missing".into()),
                    (None, _) => return Err(unread(&codec.name)),
                },
            }
        }
        let swapped = swapped.ok_or("the codec `bytes` is missing")?;
        // The differences of version 3 are decoded to numbers in this machine's order.
        let swapped = swapped && deltas.is_empty();
        let mut size = bytes;
        for codec in &packing {
            if let Packing::Delta(delta) = codec
                && !size.is_multiple_of(delta.item_size())
            {
                return Err(format!("`delta` is of elements that do not divide {size} bytes"));
            }
            size = codec.most(size);
        }
        Ok(Chain { chunk: chunk.to_vec(), order, encoding: Encoding { dtype, swapped }, packing, bytes })
    }

    /// The most bytes that a chunk takes in a file.
    pub(super) fn most(&self) -> usize {
        self.packing.iter().fold(self.bytes, |bytes, packing| packing.most(bytes))
    }

    /// Whether all chunks take the same number of bytes.
    pub(super) fn is_exact(&self) -> bool {
        !self.packing.iter().any(|packing| matches!(packing, Packing::Compressed(_)))
    }

    /// The peak memory of decoding, in bytes. A frame of Zstandard that unpacks to too much may take a window
    /// more before that is noticed.
    pub(super) fn scratch(&self) -> usize {
        // The decoder of Zstandard keeps what it has decoded, in a buffer whose size is a power of two.
        let is_zstd = self.packing.contains(&Packing::Compressed(Compressor::Zstd));
        self.most().saturating_add(self.bytes.saturating_mul(if is_zstd { 4 } else { 2 }))
    }

    /// The elements of a chunk, in row-major order, in this machine's byte order.
    pub(super) fn decode(&self, packed: Vec<u8>) -> Result<Vec<u8>, String> {
        let mut sizes = vec![self.bytes];
        for packing in &self.packing {
            sizes.push(packing.most(sizes[sizes.len() - 1]));
        }
        let mut bytes = packed;
        for (packing, most) in self.packing.iter().zip(&sizes).rev() {
            bytes = packing.undo(bytes, *most)?;
        }
        if bytes.len() != self.bytes {
            return Err(format!("it holds {} bytes, and its elements take {}", bytes.len(), self.bytes));
        }
        self.encoding.decode(&mut bytes);
        let Some(order) = &self.order else { return Ok(bytes) };
        let item = self.encoding.dtype.item_size();
        let mut elements = room(bytes.len())?;
        let mut walk = ElementWalk::new(&self.chunk, order.iter().rev().copied(), item);
        for element in bytes.chunks_exact(item) {
            elements[walk.next_offset()..][..item].copy_from_slice(element);
        }
        Ok(elements)
    }
}

/// The order of dimensions after a `transpose` of those that are in `order` already.
fn transposed(codec: &Extension, order: Option<Vec<usize>>, ndim: usize) -> Result<Vec<usize>, String> {
    let found: Vec<usize> = codec.field("order")?;
    let mut sorted = found.clone();
    sorted.sort_unstable();
    if !sorted.into_iter().eq(0..ndim) {
        return Err(format!("`order` of `transpose` is no order of {ndim} dimensions"));
    }
    Ok(match order {
        Some(order) => found.into_iter().map(|dim| order[dim]).collect(),
        None => found,
    })
}

/// The codec `delta`, whose dtypes are NumPy's.
fn delta(codec: &Extension) -> Result<Delta, String> {
    let known = |text: &str| match npy::kind_of(text) {
        EntryDtype::Known(encoding)
            if matches!(encoding.dtype.category(), Category::Int | Category::Float)
                && encoding.dtype != DType::BF16 =>
        {
            Ok(encoding)
        }
        _ => Err(format!("`delta` of dtype `{text}` is not read")),
    };
    let dtype: String = codec.field("dtype")?;
    let stored: Option<String> = codec.optional("astype")?;
    Ok(Delta { dtype: known(&dtype)?, stored: known(stored.as_deref().unwrap_or(&dtype))? })
}

fn unread(name: &str) -> String {
    format!(
        "the codec `{name}` is not read; blosc, gzip, zlib, zstd, lz4, bz2, delta, shuffle, bitround, crc32c, bytes, \
         transpose and sharding_indexed are"
    )
}
