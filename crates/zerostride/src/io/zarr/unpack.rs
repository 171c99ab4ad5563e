//! Owns decompression to at most so many bytes, with memory for what there is. It does not know what the
//! bytes are.

use std::io::Read;

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};

/// The window that a frame of Zstandard may have whatever the size of its chunk; that of the highest common
/// level.
const ZSTD_WINDOW: u64 = 8 << 20;

/// What a decompressor says of bytes that it cannot unpack.
fn damaged(format: &str, error: &dyn std::fmt::Display) -> String {
    format!("it does not unpack as {format}: {error}")
}

pub(super) fn too_long(most: usize) -> String {
    format!("it unpacks to more than the {most} bytes of its elements")
}

/// Reads all that a decompressor has, with memory for what there is, not for what may be.
pub(super) fn unpack(
    format: &str,
    mut from: impl Read,
    packed: usize,
    most: usize,
) -> Result<Vec<u8>, String> {
    let failed = |error: std::io::Error| damaged(format, &error);
    let mut bytes = room(most.min(packed.saturating_mul(4)))?;
    let mut filled = 0;
    loop {
        if filled == bytes.len() {
            if filled == most {
                let more = from.read(&mut [0]).map_err(failed)? > 0;
                return if more { Err(too_long(most)) } else { Ok(bytes) };
            }
            let wider = most.min(2 * filled + 64);
            bytes.try_reserve_exact(wider - filled).map_err(|_| no_memory(wider))?;
            bytes.resize(wider, 0);
        }
        match from.read(&mut bytes[filled..]).map_err(failed)? {
            0 => break,
            read => filled += read,
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// Decompresses zlib's format to at most `most` bytes.
pub(super) fn unzlib(packed: &[u8], most: usize) -> Result<Vec<u8>, String> {
    unpack("zlib", flate2::read::ZlibDecoder::new(packed), packed.len(), most)
}

/// Decompresses frames of Zstandard to at most `most` bytes.
pub(super) fn unzstd(packed: &[u8], most: usize) -> Result<Vec<u8>, String> {
    let (mut from, mut bytes) = (packed, Vec::new());
    while !from.is_empty() {
        // One that is used again would allocate the window that a frame claims.
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(ZSTD_WINDOW.max(most as u64));
        let stream = match StreamingDecoder::new_with_decoder(&mut from, &mut decoder) {
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length, ..
            })) => {
                from = from.get(length as usize..).ok_or("a frame of Zstandard is cut short")?;
                continue;
            }
            stream => stream.map_err(|error| damaged("Zstandard", &error))?,
        };
        let part = unpack("Zstandard", stream, packed.len(), most - bytes.len())?;
        if decoder.get_checksum_from_data().is_some_and(|sum| Some(sum) != decoder.get_calculated_checksum())
        {
            return Err("the checksum of a frame of Zstandard is another one than that of its bytes".into());
        }
        bytes.try_reserve_exact(part.len()).map_err(|_| no_memory(part.len()))?;
        bytes.extend(part);
    }
    Ok(bytes)
}

/// Decompresses a block of LZ4 to at most `most` bytes.
pub(super) fn unlz4(packed: &[u8], most: usize) -> Result<Vec<u8>, String> {
    // A byte of the input makes at most 255 bytes.
    let mut bytes = room(most.min(packed.len().saturating_mul(255)))?;
    let filled =
        lz4_flex::block::decompress_into(packed, &mut bytes).map_err(|error| damaged("LZ4", &error))?;
    bytes.truncate(filled);
    Ok(bytes)
}

fn no_memory(bytes: usize) -> String {
    format!("there is no memory for its {bytes} bytes")
}

/// A zeroed buffer; an error if there is no memory for it.
pub(super) fn room(bytes: usize) -> Result<Vec<u8>, String> {
    let mut room = Vec::new();
    room.try_reserve_exact(bytes).map_err(|_| no_memory(bytes))?;
    room.resize(bytes, 0);
    Ok(room)
}
