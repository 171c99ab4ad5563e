//! Owns frames of Blosc, version 1: a header, a table of blocks, and blocks whose bytes are shuffled and
//! compressed. It does not know what the bytes mean.
//!
//! Source: `README_CHUNK_FORMAT.rst`, `blosc.c`, `shuffle.c` and `blosclz.c` of c-blosc 1.21.

use super::unpack::{room, unlz4, unzlib, unzstd};

/// The header: versions, flags, the size of an element, and the sizes of the elements, of a block, and of the
/// frame.
const HEADER: usize = 16;

/// Flags in the header's third byte; its highest three bits tell the compressor.
const SHUFFLED: u8 = 1;
const COPIED: u8 = 2;
const BITS_SHUFFLED: u8 = 4;
const NOT_SPLIT: u8 = 16;

/// Frames from before the flag `NOT_SPLIT` split blocks of elements up to this size, into parts of at least
/// this many bytes.
const MAX_SPLITS: usize = 16;
const MIN_PART: usize = 128;

/// The size of the blocks that are written: they fit into a core's cache.
const FRAME_BLOCK_BYTES: usize = 256 << 10;

/// The compressors by their number in a header.
const COMPRESSORS: [&str; 5] = ["blosclz", "lz4", "snappy", "zlib", "zstd"];
const LZ4: u8 = 1;

/// The number of little-endian bytes at a position.
fn number(frame: &[u8], at: usize) -> Result<usize, String> {
    let bytes = frame.get(at..).and_then(<[u8]>::first_chunk).copied();
    bytes.map(|bytes| u32::from_le_bytes(bytes) as usize).ok_or_else(|| "its Blosc frame is cut short".into())
}

/// The bytes of a frame, which must be at most `most`.
pub(super) fn decode(frame: &[u8], most: usize) -> Result<Vec<u8>, String> {
    let (length, block, size) = (number(frame, 4)?, number(frame, 8)?, number(frame, 12)?);
    let (version, flags, item) = (frame[0], frame[2], usize::from(frame[3]));
    if !(1..=2).contains(&version) {
        return Err(format!("Blosc frames of version {version} are not read; version 2 is"));
    }
    if length > most {
        return Err(format!("its Blosc frame claims {length} bytes, and its elements take at most {most}"));
    }
    if size != frame.len() {
        return Err(format!("its Blosc frame claims to take {size} bytes, and takes {}", frame.len()));
    }
    if flags & COPIED != 0 {
        let bytes = &frame[HEADER..];
        return match bytes.len() == length {
            true => Ok(bytes.to_vec()),
            false => Err(format!("its Blosc frame has {} bytes, and claims {length}", bytes.len())),
        };
    }
    if length > 0 && (block == 0 || block > length || item == 0) {
        return Err(format!("its Blosc frame claims blocks of {block} bytes of elements of {item}"));
    }
    let blocks = if length == 0 { 0 } else { length.div_ceil(block) };
    if (frame.len() - HEADER) / 4 < blocks {
        return Err("its Blosc frame is cut short".into());
    }
    let mut bytes = Vec::new();
    for index in 0..blocks {
        let wanted = block.min(length - index * block);
        let is_split =
            flags & NOT_SPLIT == 0 && item <= MAX_SPLITS && block / item >= MIN_PART && wanted == block;
        let parts = if is_split { item } else { 1 };
        let mut at = number(frame, HEADER + 4 * index)?;
        let mut content = Vec::new();
        for _ in 0..parts {
            let packed = number(frame, at)?;
            let end = (at + 4).checked_add(packed).filter(|&end| end <= frame.len());
            let end = end.ok_or("a block of its Blosc frame lies past its end")?;
            append(&mut content, &unpack(flags >> 5, &frame[at + 4..end], wanted / parts)?)?;
            at = end;
        }
        if content.len() != wanted {
            return Err(format!(
                "a block of its Blosc frame has {} bytes, and {wanted} are right",
                content.len()
            ));
        }
        let content = match flags & (SHUFFLED | BITS_SHUFFLED) {
            0 => content,
            BITS_SHUFFLED => unshuffle_bits(&content, item)?,
            _ => unshuffle(&content, item)?,
        };
        append(&mut bytes, &content)?;
    }
    Ok(bytes)
}

fn append(bytes: &mut Vec<u8>, more: &[u8]) -> Result<(), String> {
    bytes.try_reserve(more.len()).map_err(|_| "there is no memory for it".to_owned())?;
    bytes.extend_from_slice(more);
    Ok(())
}

/// Decompresses a part of a block to exactly `wanted` bytes; one that did not get smaller is stored as it is.
fn unpack(compressor: u8, packed: &[u8], wanted: usize) -> Result<Vec<u8>, String> {
    if packed.len() == wanted {
        return Ok(packed.to_vec());
    }
    let bytes = match compressor {
        0 => unblosclz(packed, wanted)?,
        LZ4 => unlz4(packed, wanted)?,
        3 => unzlib(packed, wanted)?,
        4 => unzstd(packed, wanted)?,
        other => {
            let name =
                COMPRESSORS.get(usize::from(other)).copied().map_or_else(|| other.to_string(), str::to_owned);
            return Err(format!("Blosc's compressor `{name}` is not read; blosclz, lz4, zlib and zstd are"));
        }
    };
    match bytes.len() == wanted {
        true => Ok(bytes),
        false => Err(format!("a block of its Blosc frame has {} bytes, and {wanted} are right", bytes.len())),
    }
}

/// Decompresses BloscLZ: literals, and matches with the bytes before them.
fn unblosclz(packed: &[u8], most: usize) -> Result<Vec<u8>, String> {
    let damaged = || "a block of its Blosc frame is damaged".to_owned();
    let mut bytes = Vec::new();
    // A byte of the input makes at most 255 bytes of a match.
    bytes.try_reserve(most.min(packed.len().saturating_mul(256))).map_err(|_| damaged())?;
    let mut input = packed.iter();
    // Nothing can be repeated at the beginning.
    let mut control = *input.next().ok_or_else(damaged)? & 31;
    loop {
        let count = usize::from(control) + 1;
        if control < 32 {
            let literals = input.as_slice().get(..count).ok_or_else(damaged)?;
            if bytes.len() + count > most {
                return Err(damaged());
            }
            bytes.extend_from_slice(literals);
            input = input.as_slice()[count..].iter();
        } else {
            let mut next = || input.next().map(|&byte| usize::from(byte)).ok_or_else(damaged);
            let mut length = usize::from(control >> 5) + 2;
            if length == 9 {
                loop {
                    let more = next()?;
                    length += more;
                    if more < 255 {
                        break;
                    }
                }
            }
            let (high, low) = (usize::from(control & 31) << 8, next()?);
            let distance = match (high, low) {
                (0x1f00, 255) => (next()? << 8) + next()? + 8191,
                _ => high + low,
            } + 1;
            let start = bytes.len().checked_sub(distance).ok_or_else(damaged)?;
            if bytes.len() + length > most {
                return Err(damaged());
            }
            // A match may overlap what it makes.
            for at in start..start + length {
                bytes.push(bytes[at]);
            }
        }
        match input.next() {
            Some(&next) => control = next,
            None => return Ok(bytes),
        }
    }
}

/// Undoes [`shuffle`].
pub(super) fn unshuffle(shuffled: &[u8], item: usize) -> Result<Vec<u8>, String> {
    let (mut bytes, count) = (room(shuffled.len())?, shuffled.len() / item);
    for (place, plane) in shuffled.chunks_exact(count.max(1)).take(item).enumerate() {
        for (element, &byte) in bytes.chunks_exact_mut(item).zip(plane) {
            element[place] = byte;
        }
    }
    // What is no whole element stays at the end.
    bytes[count * item..].copy_from_slice(&shuffled[count * item..]);
    Ok(bytes)
}

/// The first bytes of all elements, then the second ones, and so on, into `shuffled`.
fn shuffle(bytes: &[u8], item: usize, shuffled: &mut [u8]) {
    for (place, plane) in shuffled.chunks_exact_mut((bytes.len() / item).max(1)).enumerate() {
        for (byte, element) in plane.iter_mut().zip(bytes.chunks_exact(item)) {
            *byte = element[place];
        }
    }
}

/// Undoes the shuffling of bits: the lowest bits of the elements' first bytes, then the bits above these, and
/// so on. A block whose elements are no multiple of eight is not shuffled.
fn unshuffle_bits(shuffled: &[u8], item: usize) -> Result<Vec<u8>, String> {
    let count = shuffled.len() / item;
    if !count.is_multiple_of(8) {
        return Ok(shuffled.to_vec());
    }
    let mut bytes = room(shuffled.len())?;
    for (plane, bits) in shuffled.chunks_exact((count / 8).max(1)).take(8 * item).enumerate() {
        let (place, bit) = (plane / 8, plane % 8);
        for (eight, &bits) in bytes.chunks_exact_mut(8 * item).zip(bits) {
            for (lane, element) in eight.chunks_exact_mut(item).enumerate() {
                element[place] |= (bits >> lane & 1) << bit;
            }
        }
    }
    bytes[count * item..].copy_from_slice(&shuffled[count * item..]);
    Ok(bytes)
}

/// A frame with LZ4 and shuffled bytes, of fewer than 2^31 bytes.
pub(super) fn encode(bytes: &[u8], item: usize) -> Vec<u8> {
    let block = FRAME_BLOCK_BYTES.min(bytes.len());
    let header = |flags: u8, size: usize| {
        let mut header = vec![2, 1, flags, item as u8];
        header.extend([bytes.len(), block, size].iter().flat_map(|&number| (number as u32).to_le_bytes()));
        header
    };
    let blocks = bytes.len().div_ceil(block.max(1));
    let mut frame = header(SHUFFLED | NOT_SPLIT | LZ4 << 5, 0);
    frame.resize(HEADER + 4 * blocks, 0);
    let mut shuffled = vec![0; block];
    for (index, content) in bytes.chunks(block.max(1)).enumerate() {
        let shuffled = &mut shuffled[..content.len()];
        shuffle(content, item, shuffled);
        let start = frame.len() as u32;
        frame[HEADER + 4 * index..][..4].copy_from_slice(&start.to_le_bytes());
        let packed = lz4_flex::block::compress(shuffled);
        let packed = if packed.len() < shuffled.len() { &packed } else { &*shuffled };
        frame.extend((packed.len() as u32).to_le_bytes());
        frame.extend_from_slice(packed);
    }
    if frame.len() >= bytes.len() + HEADER {
        frame = header(COPIED, bytes.len() + HEADER);
        frame.extend_from_slice(bytes);
        return frame;
    }
    let size = frame.len() as u32;
    frame[12..HEADER].copy_from_slice(&size.to_le_bytes());
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_decodes_to_the_same_bytes() {
        for (length, item) in
            [(8, 1), (24, 8), (4 * 7, 4), (FRAME_BLOCK_BYTES + 16, 16), (3 * FRAME_BLOCK_BYTES, 4)]
        {
            let smooth: Vec<u8> = (0..length).map(|n| (n / 64) as u8).collect();
            let noise: Vec<u8> =
                (0..length as u64).map(|n| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect();
            for bytes in [smooth, noise] {
                let frame = encode(&bytes, item);
                assert!(frame.len() <= bytes.len() + HEADER);
                assert!(decode(&frame, length).unwrap() == bytes);
                assert!(decode(&frame, length - 1).is_err());
            }
        }
    }

    #[test]
    fn a_match_repeats_what_it_makes() {
        // One literal, and five bytes from one byte before.
        assert_eq!(unblosclz(&[0, 7, 3 << 5, 0], 6).unwrap(), [7; 6]);
        assert!(unblosclz(&[0, 7, 3 << 5, 0], 5).is_err());
        assert!(unblosclz(&[0, 7, 3 << 5, 1], 6).is_err());
        assert!(unblosclz(&[0, 7, 7 << 5, 255], 6).is_err());
        assert!(unblosclz(&[], 0).is_err());
    }
}
