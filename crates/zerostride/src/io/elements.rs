//! Owns the conversion of elements between their form in a file and in memory: byte order, Fortran order,
//! bools. It does not know where in a file they are nor how headers describe them.

use std::io::{self, Read, Write};

use zerostride_ops::{Category, DType};

use crate::interrupt;

/// The form of elements in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Encoding {
    pub(super) dtype: DType,
    /// Whether numbers have the other byte order than this machine.
    pub(super) swapped: bool,
}

/// Bytes that are read between two checks for an interrupt, a whole number of elements.
const UNASKED_BYTES: usize = 1 << 24;

/// The size of the buffer for data that cannot be read straight to their destination.
const CHUNK_BYTES: usize = 64 * 1024;

impl Encoding {
    /// The size of the unit that byte order applies to: of complex numbers, each part.
    fn unit(self) -> usize {
        self.dtype.to_real().item_size()
    }

    /// Whether the most significant byte comes first; `false` for numbers of one byte.
    pub(super) fn is_big_endian(self) -> bool {
        self.unit() > 1 && self.swapped != cfg!(target_endian = "big")
    }

    /// Converts elements in place from their form in the file to this machine's.
    pub(super) fn decode(self, elements: &mut [u8]) {
        if self.dtype.category() == Category::Bool {
            elements.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
        }
        if self.swapped {
            swap_units(self.unit(), elements);
        }
    }

    /// Reads as many elements as `out` has room for and converts them; their order is the file's.
    pub(super) fn read(self, reader: &mut dyn Read, out: &mut [u8]) -> io::Result<()> {
        for part in out.chunks_mut(UNASKED_BYTES) {
            interrupt::check();
            reader.read_exact(part)?;
            self.decode(part);
        }
        Ok(())
    }

    /// Reads all elements of an array of `shape`, which `reader` gives in Fortran order (the first dimension
    /// changes fastest), into `out` in row-major order.
    pub(super) fn read_fortran(
        self,
        reader: &mut dyn Read,
        shape: &[usize],
        out: &mut [u8],
    ) -> io::Result<()> {
        if out.is_empty() {
            return Ok(());
        }
        let item = self.dtype.item_size();
        let mut destination = ElementWalk::new(shape, 0..shape.len(), item);
        let mut chunk = vec![0; CHUNK_BYTES.min(out.len())];
        let mut left = out.len();
        while left > 0 {
            let chunk = &mut chunk[..CHUNK_BYTES.min(left)];
            self.read(reader, chunk)?;
            for element in chunk.chunks_exact(item) {
                let to = destination.next_offset();
                out[to..to + item].copy_from_slice(element);
            }
            left -= chunk.len();
        }
        Ok(())
    }

    /// Converts elements to their form in the file and writes them.
    pub(super) fn write(self, elements: &[u8], writer: &mut dyn Write) -> io::Result<()> {
        if !self.swapped {
            return writer.write_all(elements);
        }
        let mut copy = vec![0; CHUNK_BYTES.min(elements.len())];
        for chunk in elements.chunks(CHUNK_BYTES) {
            let copy = &mut copy[..chunk.len()];
            copy.copy_from_slice(chunk);
            swap_units(self.unit(), copy);
            writer.write_all(copy)?;
        }
        Ok(())
    }
}

fn swap_units(size: usize, elements: &mut [u8]) {
    match size {
        // A constant size lets the compiler use byte shuffles.
        2 => elements.as_chunks_mut::<2>().0.iter_mut().for_each(|unit| unit.reverse()),
        4 => elements.as_chunks_mut::<4>().0.iter_mut().for_each(|unit| unit.reverse()),
        8 => elements.as_chunks_mut::<8>().0.iter_mut().for_each(|unit| unit.reverse()),
        _ => debug_assert_eq!(size, 1),
    }
}

/// Yields the byte offsets of elements in a row-major array, in another order of its dimensions.
pub(super) struct ElementWalk {
    /// Size and stride of each dimension, the fastest first.
    dims: Vec<(usize, usize)>,
    index: Vec<usize>,
    offset: usize,
}

impl ElementWalk {
    /// `fastest` has the dimensions, the fastest first. `shape` has at least one element, so that no stride
    /// exceeds the byte count.
    pub(super) fn new(shape: &[usize], fastest: impl Iterator<Item = usize>, item: usize) -> ElementWalk {
        let stride = |dim: usize| shape[dim + 1..].iter().product::<usize>() * item;
        let dims: Vec<_> = fastest.map(|dim| (shape[dim], stride(dim))).collect();
        ElementWalk { index: vec![0; dims.len()], dims, offset: 0 }
    }

    /// The offset of the next element.
    pub(super) fn next_offset(&mut self) -> usize {
        let offset = self.offset;
        for (index, &(size, stride)) in self.index.iter_mut().zip(&self.dims) {
            *index += 1;
            self.offset += stride;
            if *index < size {
                break;
            }
            *index = 0;
            self.offset -= stride * size;
        }
        offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_back(encoding: Encoding, shape: &[usize], bytes: &[u8]) -> Vec<u8> {
        let mut out = vec![0; bytes.len()];
        encoding.read_fortran(&mut &bytes[..], shape, &mut out).unwrap();
        out
    }

    #[test]
    fn fortran_order_becomes_row_major() {
        let bytes = Encoding { dtype: DType::U8, swapped: false };
        assert_eq!(read_back(bytes, &[2, 3], &[0, 3, 1, 4, 2, 5]), [0, 1, 2, 3, 4, 5]);
        assert_eq!(read_back(bytes, &[2, 1, 2], &[0, 2, 1, 3]), [0, 1, 2, 3]);
        assert_eq!(read_back(bytes, &[], &[7]), [7]);
        assert_eq!(read_back(bytes, &[0, 5], &[]), [0u8; 0]);
    }

    #[test]
    fn fortran_order_survives_the_border_between_chunks() {
        let (rows, columns) = (3, CHUNK_BYTES / 8);
        let encoding = Encoding { dtype: DType::U64, swapped: true };
        let file: Vec<u8> = (0..columns)
            .flat_map(|j| {
                (0..rows).flat_map(move |i| ((i * columns + j) as u64).to_ne_bytes().into_iter().rev())
            })
            .collect();
        let expected: Vec<u8> = (0..rows * columns).flat_map(|n| (n as u64).to_ne_bytes()).collect();
        assert!(read_back(encoding, &[rows, columns], &file) == expected);
    }

    #[test]
    fn a_complex_number_is_swapped_part_by_part() {
        let encoding = Encoding { dtype: DType::C64, swapped: true };
        let mut out = [0; 8];
        encoding.read(&mut &[1, 2, 3, 4, 5, 6, 7, 8][..], &mut out).unwrap();
        assert_eq!(out, [4, 3, 2, 1, 8, 7, 6, 5]);
    }

    #[test]
    fn any_nonzero_byte_is_true() {
        let mut out = [0; 4];
        Encoding { dtype: DType::Bool, swapped: false }.read(&mut &[0, 1, 2, 255][..], &mut out).unwrap();
        assert_eq!(out, [0, 1, 1, 1]);
    }

    #[test]
    fn what_is_written_swapped_reads_back() {
        let elements: Vec<u8> = (0..CHUNK_BYTES + 12).map(|n| n as u8).collect();
        let encoding = Encoding { dtype: DType::F32, swapped: true };
        let mut file = Vec::new();
        encoding.write(&elements, &mut file).unwrap();
        assert_eq!(file[..4], [3, 2, 1, 0]);
        let mut out = vec![0; elements.len()];
        encoding.read(&mut &file[..], &mut out).unwrap();
        assert!(out == elements);
    }
}
