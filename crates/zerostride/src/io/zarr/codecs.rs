//! Owns the decoding of a chunk's bytes to its elements. Codecs that keep the number of bytes are those of
//! `zarrs`; decompression is done here, so that it never takes more memory than the chunk may have. It does
//! not know where the bytes are stored.

use std::borrow::Cow;
use std::io::Read;

use zarrs::array::BytesRepresentation;
use zarrs::array::ChunkRepresentation;
use zarrs::array::codec::{
    ArrayToBytesCodecTraits, BytesToBytesCodecTraits, Codec, CodecChain, CodecOptions, Crc32cCodec,
};
use zarrs::config::global_config;
use zarrs::metadata::v3::MetadataV3;

/// The size of a checksum in bytes.
const CHECKSUM: usize = 4;

/// The codecs of chunks of one shape.
#[derive(Debug)]
pub(super) struct Chain {
    array: CodecChain,
    /// The codecs on bytes, in the order of encoding.
    packing: Vec<Packing>,
    chunk: ChunkRepresentation,
    bytes: usize,
}

/// A codec on the bytes of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Packing {
    Checksum,
    Gzip,
    Zstd,
}

impl Packing {
    /// The most bytes that `bytes` bytes may be encoded as. Compressors expand random data by less than this.
    fn most(self, bytes: usize) -> usize {
        match self {
            Packing::Checksum => bytes.saturating_add(CHECKSUM),
            Packing::Gzip | Packing::Zstd => bytes.saturating_add(bytes / 4).saturating_add(1 << 10),
        }
    }

    /// The most bytes that `bytes` bytes can decode to by the format's compression ratio, however many
    /// elements a chunk declares.
    fn unpacked(self, bytes: usize) -> usize {
        match self {
            Packing::Checksum => bytes,
            // Deflate's longest match, 258 bytes, takes two bits: a ratio of 1032.
            Packing::Gzip => bytes.saturating_mul(1032),
            // A block decompresses to at most 128 KiB and takes at least four bytes.
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
                // Writers may append members, as `gzip` itself does: together they are one stream.
                let mut unpacker = flate2::read::MultiGzDecoder::new(&packed[..]);
                // More bytes than fit are an error.
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
    /// The codecs that a store names, for chunks of a shape whose elements take `bytes` bytes.
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
        // Fails for a wrong permutation of dimensions before anything is read.
        chain.array.encoded_representation(&chain.chunk).map_err(|error| error.to_string())?;
        Ok(chain)
    }

    /// The most bytes that a chunk takes in a file.
    pub(super) fn most(&self) -> usize {
        self.packing.iter().fold(self.bytes, |bytes, packing| packing.most(bytes))
    }

    /// Whether all chunks take the same number of bytes.
    pub(super) fn is_exact(&self) -> bool {
        self.packing.iter().all(|packing| *packing == Packing::Checksum)
    }

    /// The peak memory of decoding, in bytes.
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

/// A single thread, since callers run in parallel already.
fn options() -> CodecOptions {
    CodecOptions::builder().concurrent_target(1).build()
}

/// A zeroed buffer; an error if there is no memory for it.
pub(super) fn room(bytes: usize) -> Result<Vec<u8>, String> {
    let mut room = Vec::new();
    room.try_reserve_exact(bytes).map_err(|_| format!("there is no memory for its {bytes} bytes"))?;
    room.resize(bytes, 0);
    Ok(room)
}
