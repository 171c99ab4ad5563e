//! Owns elements of two parts of 64 bits: how contiguous ones become a vector of first and one of second
//! parts, and how these become elements. It does not know registers, nor where memory is.

use std::collections::HashMap;

use iced_x86::Code as Encoding;

use super::encodings::pair;
use super::near::permute;
use super::set::Set;
use super::steps::{Act, Listing, Shape, moved};
use crate::print::steps::{Id, NONE, OPERANDS};
use crate::row::ELEMENT_BYTES_OF_PARTS;

/// What the inputs that are parts share.
#[derive(Debug, Default)]
pub(super) struct Parts {
    /// Vectors that have both parts of elements, by the input of the first parts.
    both: HashMap<u32, [Id; 2]>,
    /// The orders that bring the first or the second parts of AVX-512 side by side.
    orders: [Option<Id>; 2],
}

impl Parts {
    /// The first or the second parts of the elements of which the input `first` has the first ones.
    pub(super) fn read(&mut self, list: &mut Listing, set: Set, first: u32, is_second: bool) -> Id {
        let bytes = set.vector_bytes();
        let both = *self.both.entry(first).or_insert_with(|| {
            let mut load = |offset: u32| {
                let load = pair!(VEX_Vmovupd_xmm_xmmm128, EVEX_Vmovupd_xmm_k1z_xmmm128);
                let make = moved(load.encoding(set, bytes), bytes);
                let act = Act::Load { input: first, bytes: ELEMENT_BYTES_OF_PARTS, offset, make };
                list.push(act, [NONE; OPERANDS], false)
            };
            match set {
                Set::Avx512 => [load(0), load(bytes)],
                // Halves as they will be unpacked: elements 0 and 2, and 1 and 3.
                Set::Avx2 => {
                    let [a, b, c] = [0, 1, 2].map(|element| load(element * ELEMENT_BYTES_OF_PARTS));
                    let blend = Encoding::VEX_Vblendpd_ymm_ymm_ymmm256_imm8;
                    [[a, b], [b, c]].map(|of| two(list, blend, Some(0b1100), of, bytes))
                }
            }
        });
        match set {
            Set::Avx512 => {
                let order = *self.orders[usize::from(is_second)]
                    .get_or_insert_with(|| places(list, (0..8).map(|lane| 2 * lane + u64::from(is_second))));
                permuted(list, order, both)
            }
            Set::Avx2 => unpacked(list, both, is_second),
        }
    }
}

/// The writing of elements whose parts these are, both halves, as those of the first result.
pub(super) fn write(list: &mut Listing, set: Set, parts: [Id; 2]) -> [(Act, Id); 2] {
    let bytes = set.vector_bytes();
    let halves = match set {
        Set::Avx512 => [0, 1].map(|half| {
            let order = places(list, (0..8).map(|lane| (8 * half + lane) / 2 + lane % 2 * 8));
            permuted(list, order, parts)
        }),
        Set::Avx2 => {
            // Elements 0 and 2, and 1 and 3.
            let apart = [false, true].map(|is_second| unpacked(list, parts, is_second));
            let join = Encoding::VEX_Vperm2f128_ymm_ymm_ymmm256_imm8;
            [0x20, 0x31].map(|quarters| two(list, join, Some(quarters), apart, bytes))
        }
    };
    [0, 1].map(|half| {
        let store = pair!(VEX_Vmovupd_xmmm128_xmm, EVEX_Vmovupd_xmmm128_k1z_xmm);
        let make = moved(store.encoding(set, bytes), bytes);
        let offset = half as u32 * bytes;
        (Act::Store { result: 0, bytes: ELEMENT_BYTES_OF_PARTS, offset, make }, halves[half])
    })
}

fn two(list: &mut Listing, encoding: Encoding, immediate: Option<u8>, of: [Id; 2], bytes: u32) -> Id {
    list.make(encoding, Shape::Binary { commutes: false }, immediate, &of, (bytes, bytes))
}

/// Of each half of two vectors of AVX2 the first or the second elements.
fn unpacked(list: &mut Listing, of: [Id; 2], is_second: bool) -> Id {
    let encoding = if is_second {
        Encoding::VEX_Vunpckhpd_ymm_ymm_ymmm256
    } else {
        Encoding::VEX_Vunpcklpd_ymm_ymm_ymmm256
    };
    two(list, encoding, None, of, 32)
}

/// Places in two vectors of AVX-512, those in the second being behind those in the first.
fn places(list: &mut Listing, places: impl Iterator<Item = u64>) -> Id {
    list.whole(&places.flat_map(u64::to_le_bytes).collect::<Vec<u8>>())
}

/// The elements at these places.
fn permuted(list: &mut Listing, places: Id, [a, b]: [Id; 2]) -> Id {
    list.make(permute(false, 8, 64), Shape::Overwriting, None, &[a, places, b], (64, 64))
}
