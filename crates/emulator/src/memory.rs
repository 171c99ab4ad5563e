//! Owns the memory of a device: pieces, each at an address of its own with nothing beside it. It does not
//! know what is in it.

use crate::POISON;

/// The upper half of the addresses of the first piece. No number that is an argument has it, but by chance,
/// and no processor has memory there: a host that takes an address for one of its own faults.
const FIRST: u64 = 0x5a5a_0000;

/// How many pieces a device has at most.
const PIECES_OF_DEVICE: u64 = 1 << 20;

/// Memory in pieces.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    first: u64,
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq)]
struct Piece {
    start: u64,
    bytes: Vec<u8>,
    is_free: bool,
}

impl Memory {
    /// That of a device with a number, none of whose addresses another device has.
    pub fn of_device(number: usize) -> Memory {
        Memory { first: number as u64 * PIECES_OF_DEVICE, pieces: Vec::new() }
    }

    /// The address of a new piece of so many bytes, which is as much behind an aligned one as is asked for.
    pub fn add(&mut self, bytes: usize, behind: u64) -> u64 {
        assert!((self.pieces.len() as u64) < PIECES_OF_DEVICE && bytes <= u32::MAX as usize);
        let start = ((FIRST + self.first + self.pieces.len() as u64) << 32) + behind;
        let bytes = POISON.to_le_bytes().into_iter().cycle().take(bytes).collect();
        self.pieces.push(Piece { start, bytes, is_free: false });
        start
    }

    /// Frees the piece that begins at an address, which no other one ever has; returns how many bytes it had.
    pub fn remove(&mut self, start: u64) -> Option<usize> {
        let piece = self.piece(start).filter(|piece| piece.start == start)?;
        piece.is_free = true;
        Some(std::mem::take(&mut piece.bytes).len())
    }

    /// The bytes at an address, if all of them are in one piece.
    pub fn get(&mut self, address: u64, count: usize) -> Option<&mut [u8]> {
        let piece = self.piece(address)?;
        let from = address.checked_sub(piece.start)? as usize;
        piece.bytes.get_mut(from..from.checked_add(count)?)
    }

    fn piece(&mut self, address: u64) -> Option<&mut Piece> {
        let nth = (address >> 32).checked_sub(FIRST + self.first)?;
        self.pieces.get_mut(usize::try_from(nth).ok()?).filter(|piece| !piece.is_free)
    }

    fn bytes(&mut self, address: u64, count: u64) -> &mut [u8] {
        self.get(address, count as usize).unwrap_or_else(|| panic!("nothing is at {address:#x}"))
    }

    /// An element of so many bytes, up to 8.
    ///
    /// # Panics
    /// If it is outside of all pieces.
    pub fn read(&mut self, address: u64, count: u64) -> u64 {
        let mut bits = [0; 8];
        bits[..count as usize].copy_from_slice(self.bytes(address, count));
        u64::from_le_bytes(bits)
    }

    /// Writes an element of so many bytes, up to 8.
    ///
    /// # Panics
    /// If it is outside of all pieces.
    pub fn write(&mut self, address: u64, count: u64, bits: u64) {
        self.bytes(address, count).copy_from_slice(&bits.to_le_bytes()[..count as usize]);
    }

    /// The address and the bytes of each piece.
    pub fn pieces(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.pieces.iter().map(|piece| (piece.start, &piece.bytes[..]))
    }
}
