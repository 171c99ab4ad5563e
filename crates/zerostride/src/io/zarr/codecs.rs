//! Owns the way from a chunk's bytes in a file to its elements. Codecs that keep the number of bytes are
//! those of `zarrs`; unpacking is done here, into as many bytes as there can be and no more. It does not know
//! where the bytes lie.

use std::borrow::Cow;
use std::io::Read;

use zarrs::array::BytesRepresentation;
use zarrs::array::ChunkRepresentation;
use zarrs::array::codec::{
    ArrayToBytesCodecTraits, BytesToBytesCodecTraits, Codec, CodecChain, CodecOptions, Crc32cCodec,
};
use zarrs::config::global_config;
use zarrs::metadata::v3::MetadataV3;

/// Bytes of a checksum.
const CHECKSUM: usize = 4;

/// The codecs of chunks of one shape.
#[derive(Debug)]
pub(super) struct Chain {
    array: CodecChain,
    /// In the order of encoding.
    packing: Vec<Packing>,
    chunk: ChunkRepresentation,
    bytes: usize,
}

/// What was done to the bytes of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Packing {
    Checksum,
    Gzip,
    Zstd,
}

impl Packing {
    /// The most bytes that so many become. Packers differ in what they make of noise; this is more than any
    /// does.
    fn most(self, bytes: usize) -> usize {
        match self {
            Packing::Checksum => bytes.saturating_add(CHECKSUM),
            Packing::Gzip | Packing::Zstd => bytes.saturating_add(bytes / 4).saturating_add(1 << 10),
        }
    }

    /// The most bytes that so many can have been, as far as the format tells: a chunk may claim any number of
    /// elements.
    fn unpacked(self, bytes: usize) -> usize {
        match self {
            Packing::Checksum => bytes,
            // Deflate's longest repetition, 258 bytes, takes two bits.
            Packing::Gzip => bytes.saturating_mul(1032),
            // A block has 128 KiB at most, and takes four bytes at least.
            Packing::Zstd => (bytes / 4).saturating_mul(128 << 10),
        }
    }

    fn undo(self, packed: Vec<u8>, most: usize) -> Result<Vec<u8>, String> {
        let space = most.min(self.unpacked(packed.len()));
        match self {
            Packing::Checksum => {
                let size = BytesRepresentation::BoundedSize(most as u64);
                let checked = Crc32cCodec::new().decode(Cow::Owned(packed), &size, &options());
                checked.map(Cow::into_owned).map_err(|error| error.to_string())
            }
            Packing::Gzip => {
                let mut bytes = room(space)?;
                let mut unpacker = flate2::read::GzDecoder::new(&packed[..]);
                // What does not fit into the room is more than there can be.
                let mut filled = 0;
                while filled < space {
                    match unpacker.read(&mut bytes[filled..]).map_err(|error| error.to_string())? {
                        0 => break,
                        read => filled += read,
                    }
                }
                if filled == space && unpacker.read(&mut [0]).map_err(|error| error.to_string())? > 0 {
                    return Err(format!("it unpacks to more than the {most} bytes of its elements"));
                }
                bytes.truncate(filled);
                Ok(bytes)
            }
            Packing::Zstd => {
                let mut bytes = room(space)?;
                let filled = zstd::bulk::decompress_to_buffer(&packed, &mut bytes[..]);
                let filled = filled.map_err(|error| {
                    format!("it does not unpack to at most the {most} bytes of its elements: {error}")
                })?;
                bytes.truncate(filled);
                Ok(bytes)
            }
        }
    }
}

impl Chain {
    /// The codecs that a store names for chunks of a shape that have so many `bytes`.
    pub(super) fn new(
        codecs: &[MetadataV3],
        chunk: ChunkRepresentation,
        bytes: usize,
    ) -> Result<Chain, String> {
        let (mut before, mut array, mut packing) = (Vec::new(), None, Vec::new());
        for codec in codecs {
            match codec.name() {
                "crc32c" => packing.push(Packing::Checksum),
                "gzip" => packing.push(Packing::Gzip),
                "zstd" => packing.push(Packing::Zstd),
                "bytes" | "transpose" => {
                    let known = Codec::from_metadata(codec, global_config().codec_aliases_v3());
                    match known.map_err(|error| error.to_string())? {
                        Codec::ArrayToArray(codec) => before.push(codec),
                        Codec::ArrayToBytes(codec) => array = Some(codec),
                        Codec::BytesToBytes(_) => {}
                    }
                }
                other => {
                    return Err(format!(
                        "the codec `{other}` is not read; bytes, transpose, gzip, zstd, crc32c and sharding_indexed are"
                    ));
                }
            }
        }
        let array = array.ok_or("the codec `bytes` is missing")?;
        let chain = Chain { array: CodecChain::new(before, array, Vec::new()), packing, chunk, bytes };
        // Whether dimensions are permuted rightly shows before anything is read.
        chain.array.encoded_representation(&chain.chunk).map_err(|error| error.to_string())?;
        Ok(chain)
    }

    /// The most bytes that a chunk takes in a file.
    pub(super) fn most(&self) -> usize {
        self.packing.iter().fold(self.bytes, |bytes, packing| packing.most(bytes))
    }

    /// Whether every chunk takes as many.
    pub(super) fn is_exact(&self) -> bool {
        self.packing.iter().all(|packing| *packing == Packing::Checksum)
    }

    /// Bytes of memory that decoding takes at once.
    pub(super) fn scratch(&self) -> usize {
        self.most().saturating_add(self.bytes.saturating_mul(2))
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
        let elements = self.array.decode(Cow::Owned(bytes), &self.chunk, &options());
        let elements = elements.and_then(|elements| elements.into_fixed());
        elements.map(Cow::into_owned).map_err(|error| error.to_string())
    }
}

/// One thread: the caller has threads of its own.
fn options() -> CodecOptions {
    CodecOptions::builder().concurrent_target(1).build()
}

/// Zeros to be overwritten, if there is memory for them.
pub(super) fn room(bytes: usize) -> Result<Vec<u8>, String> {
    let mut room = Vec::new();
    room.try_reserve_exact(bytes).map_err(|_| format!("there is no memory for its {bytes} bytes"))?;
    room.resize(bytes, 0);
    Ok(room)
}
