//! Owns the instruction sets that rows may be printed in. It does not know their instructions.

use crate::lower::Has;

/// Instructions that may be printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Set {
    /// AVX-512 F, DQ, BW and VL: registers of 64 bytes.
    Avx512,
    /// AVX2, FMA and F16C: registers of 32 bytes.
    Avx2,
}

impl Set {
    /// Bytes of a register.
    pub(super) const fn vector_bytes(self) -> u32 {
        match self {
            Set::Avx512 => 64,
            Set::Avx2 => 32,
        }
    }

    /// What the code has no need to be lowered to.
    pub(super) fn has(self) -> Has {
        let is_avx512 = self == Set::Avx512;
        Has { scaling: is_avx512, words: is_avx512, long_to_single: is_avx512, inverse_roots: is_avx512 }
    }
}
