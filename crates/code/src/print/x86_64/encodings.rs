//! Owns the names of instructions: the encodings of operations for both sets and all lengths of registers.
//! It does not know codes.

use iced_x86::Code as Encoding;

use super::set::Set;
use crate::code::{Binary, Compare, Type};

/// Bytes of a register, in the order of the encodings of an instruction.
const SIZES: [u32; 3] = [16, 32, 64];

/// The encoding of an instruction for a length, from that for 16 bytes: they follow each other.
pub(super) fn at_length(encoding: Encoding, bytes: u32) -> Encoding {
    let length = SIZES.iter().position(|&size| size == bytes).expect("a register of 16, 32 or 64 bytes");
    Encoding::try_from(encoding as usize + length).expect("an encoding for each length")
}

/// An instruction's encodings for registers of 16 bytes in AVX2 and AVX-512. Both are named where the
/// lengths begin; what AVX2 lacks is lowered before.
#[derive(Clone, Copy)]
pub(super) struct Pair(pub Encoding, pub Encoding);

macro_rules! pair {
    ($vex:ident, $evex:ident) => {
        $crate::print::x86_64::encodings::Pair(iced_x86::Code::$vex, iced_x86::Code::$evex)
    };
    (-, $evex:ident) => {
        $crate::print::x86_64::encodings::Pair(iced_x86::Code::INVALID, iced_x86::Code::$evex)
    };
}
pub(super) use pair;

impl Pair {
    pub(super) fn encoding(self, set: Set, bytes: u32) -> Encoding {
        at_length(if set == Set::Avx2 { self.0 } else { self.1 }, bytes)
    }
}

/// Which operand of `a · b + c` is overwritten, and where the others stand: `to = second · to + third`,
/// `to = to · third + second`, `to = second · third + to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    F213,
    F132,
    F231,
}

/// The encoding of `± a · b ± c`.
pub(super) fn mul_add(form: Form, is_64: bool, signs: Signs, set: Set, bytes: u32) -> Encoding {
    let pair = match (form, signs.product, signs.summand) {
        (Form::F213, false, false) => by_width(
            is_64,
            pair!(VEX_Vfmadd213ps_xmm_xmm_xmmm128, EVEX_Vfmadd213ps_xmm_k1z_xmm_xmmm128b32),
            pair!(VEX_Vfmadd213pd_xmm_xmm_xmmm128, EVEX_Vfmadd213pd_xmm_k1z_xmm_xmmm128b64),
        ),
        (Form::F213, true, false) => by_width(
            is_64,
            pair!(VEX_Vfnmadd213ps_xmm_xmm_xmmm128, EVEX_Vfnmadd213ps_xmm_k1z_xmm_xmmm128b32),
            pair!(VEX_Vfnmadd213pd_xmm_xmm_xmmm128, EVEX_Vfnmadd213pd_xmm_k1z_xmm_xmmm128b64),
        ),
        (Form::F213, false, true) => by_width(
            is_64,
            pair!(VEX_Vfmsub213ps_xmm_xmm_xmmm128, EVEX_Vfmsub213ps_xmm_k1z_xmm_xmmm128b32),
            pair!(VEX_Vfmsub213pd_xmm_xmm_xmmm128, EVEX_Vfmsub213pd_xmm_k1z_xmm_xmmm128b64),
        ),
        (Form::F213, true, true) => by_width(
            is_64,
            pair!(VEX_Vfnmsub213ps_xmm_xmm_xmmm128, EVEX_Vfnmsub213ps_xmm_k1z_xmm_xmmm128b32),
            pair!(VEX_Vfnmsub213pd_xmm_xmm_xmmm128, EVEX_Vfnmsub213pd_xmm_k1z_xmm_xmmm128b64),
        ),
        (Form::F132, false, false) => by_width(
            is_64,
            pair!(VEX_Vfmadd132ps_xmm_xmm_xmmm128, EVEX_Vfmadd132ps_xmm_k1z_xmm_xmmm128b32),
            pair!(VEX_Vfmadd132pd_xmm_xmm_xmmm128, EVEX_Vfmadd132pd_xmm_k1z_xmm_xmmm128b64),
        ),
        (Form::F132, true, false) => by_width(
            is_64,
            pair!(VEX_Vfnmadd132ps_xmm_xmm_xmmm128, EVEX_Vfnmadd132ps_xmm_k1z_xmm_xmmm128b32),
            pair!(VEX_Vfnmadd132pd_xmm_xmm_xmmm128, EVEX_Vfnmadd132pd_xmm_k1z_xmm_xmmm128b64),
        ),
        (Form::F132, false, true) => by_width(
            is_64,
            pair!(VEX_Vfmsub132ps_xmm_xmm_xmmm128, EVEX_Vfmsub132ps_xmm_k1z_xmm_xmmm128b32),
            pair!(VEX_Vfmsub132pd_xmm_xmm_xmmm128, EVEX_Vfmsub132pd_xmm_k1z_xmm_xmmm128b64),
        ),
        (Form::F132, true, true) => by_width(
            is_64,
            pair!(VEX_Vfnmsub132ps_xmm_xmm_xmmm128, EVEX_Vfnmsub132ps_xmm_k1z_xmm_xmmm128b32),
            pair!(VEX_Vfnmsub132pd_xmm_xmm_xmmm128, EVEX_Vfnmsub132pd_xmm_k1z_xmm_xmmm128b64),
        ),
        (Form::F231, false, false) => by_width(
            is_64,
            pair!(VEX_Vfmadd231ps_xmm_xmm_xmmm128, EVEX_Vfmadd231ps_xmm_k1z_xmm_xmmm128b32),
            pair!(VEX_Vfmadd231pd_xmm_xmm_xmmm128, EVEX_Vfmadd231pd_xmm_k1z_xmm_xmmm128b64),
        ),
        (Form::F231, true, false) => by_width(
            is_64,
            pair!(VEX_Vfnmadd231ps_xmm_xmm_xmmm128, EVEX_Vfnmadd231ps_xmm_k1z_xmm_xmmm128b32),
            pair!(VEX_Vfnmadd231pd_xmm_xmm_xmmm128, EVEX_Vfnmadd231pd_xmm_k1z_xmm_xmmm128b64),
        ),
        (Form::F231, false, true) => by_width(
            is_64,
            pair!(VEX_Vfmsub231ps_xmm_xmm_xmmm128, EVEX_Vfmsub231ps_xmm_k1z_xmm_xmmm128b32),
            pair!(VEX_Vfmsub231pd_xmm_xmm_xmmm128, EVEX_Vfmsub231pd_xmm_k1z_xmm_xmmm128b64),
        ),
        (Form::F231, true, true) => by_width(
            is_64,
            pair!(VEX_Vfnmsub231ps_xmm_xmm_xmmm128, EVEX_Vfnmsub231ps_xmm_k1z_xmm_xmmm128b32),
            pair!(VEX_Vfnmsub231pd_xmm_xmm_xmmm128, EVEX_Vfnmsub231pd_xmm_k1z_xmm_xmmm128b64),
        ),
    };
    pair.encoding(set, bytes)
}

/// One of two, for elements of 32 and of 64 bits.
pub(super) fn by_width(is_64: bool, narrow: Pair, wide: Pair) -> Pair {
    if is_64 { wide } else { narrow }
}

/// The encodings of an operation on two values, and whether these may change places.
pub(super) fn binary_pair(binary: Binary, ty: Type) -> (Pair, bool) {
    let (is_float, is_64) = (ty.is_float(), ty.bits() == 64);
    match binary {
        Binary::Add if is_float => (
            by_width(
                is_64,
                pair!(VEX_Vaddps_xmm_xmm_xmmm128, EVEX_Vaddps_xmm_k1z_xmm_xmmm128b32),
                pair!(VEX_Vaddpd_xmm_xmm_xmmm128, EVEX_Vaddpd_xmm_k1z_xmm_xmmm128b64),
            ),
            true,
        ),
        Binary::Sub if is_float => (
            by_width(
                is_64,
                pair!(VEX_Vsubps_xmm_xmm_xmmm128, EVEX_Vsubps_xmm_k1z_xmm_xmmm128b32),
                pair!(VEX_Vsubpd_xmm_xmm_xmmm128, EVEX_Vsubpd_xmm_k1z_xmm_xmmm128b64),
            ),
            false,
        ),
        Binary::Mul if is_float => (
            by_width(
                is_64,
                pair!(VEX_Vmulps_xmm_xmm_xmmm128, EVEX_Vmulps_xmm_k1z_xmm_xmmm128b32),
                pair!(VEX_Vmulpd_xmm_xmm_xmmm128, EVEX_Vmulpd_xmm_k1z_xmm_xmmm128b64),
            ),
            true,
        ),
        Binary::Div => (
            by_width(
                is_64,
                pair!(VEX_Vdivps_xmm_xmm_xmmm128, EVEX_Vdivps_xmm_k1z_xmm_xmmm128b32),
                pair!(VEX_Vdivpd_xmm_xmm_xmmm128, EVEX_Vdivpd_xmm_k1z_xmm_xmmm128b64),
            ),
            false,
        ),
        // The second operand is the answer where one is NaN or both are zero, as in the interpreter.
        Binary::Min => (
            by_width(
                is_64,
                pair!(VEX_Vminps_xmm_xmm_xmmm128, EVEX_Vminps_xmm_k1z_xmm_xmmm128b32),
                pair!(VEX_Vminpd_xmm_xmm_xmmm128, EVEX_Vminpd_xmm_k1z_xmm_xmmm128b64),
            ),
            false,
        ),
        Binary::Max => (
            by_width(
                is_64,
                pair!(VEX_Vmaxps_xmm_xmm_xmmm128, EVEX_Vmaxps_xmm_k1z_xmm_xmmm128b32),
                pair!(VEX_Vmaxpd_xmm_xmm_xmmm128, EVEX_Vmaxpd_xmm_k1z_xmm_xmmm128b64),
            ),
            false,
        ),
        Binary::Ldexp | Binary::Scale => (
            by_width(
                is_64,
                pair!(-, EVEX_Vscalefps_xmm_k1z_xmm_xmmm128b32),
                pair!(-, EVEX_Vscalefpd_xmm_k1z_xmm_xmmm128b64),
            ),
            false,
        ),
        Binary::Add => (
            by_width(
                is_64,
                pair!(VEX_Vpaddd_xmm_xmm_xmmm128, EVEX_Vpaddd_xmm_k1z_xmm_xmmm128b32),
                pair!(VEX_Vpaddq_xmm_xmm_xmmm128, EVEX_Vpaddq_xmm_k1z_xmm_xmmm128b64),
            ),
            true,
        ),
        Binary::Sub => (
            by_width(
                is_64,
                pair!(VEX_Vpsubd_xmm_xmm_xmmm128, EVEX_Vpsubd_xmm_k1z_xmm_xmmm128b32),
                pair!(VEX_Vpsubq_xmm_xmm_xmmm128, EVEX_Vpsubq_xmm_k1z_xmm_xmmm128b64),
            ),
            false,
        ),
        Binary::Mul => (
            by_width(
                is_64,
                pair!(VEX_Vpmulld_xmm_xmm_xmmm128, EVEX_Vpmulld_xmm_k1z_xmm_xmmm128b32),
                pair!(-, EVEX_Vpmullq_xmm_k1z_xmm_xmmm128b64),
            ),
            true,
        ),
        Binary::And => (
            by_width(
                is_64,
                pair!(VEX_Vpand_xmm_xmm_xmmm128, EVEX_Vpandd_xmm_k1z_xmm_xmmm128b32),
                pair!(VEX_Vpand_xmm_xmm_xmmm128, EVEX_Vpandq_xmm_k1z_xmm_xmmm128b64),
            ),
            true,
        ),
        Binary::Or => (
            by_width(
                is_64,
                pair!(VEX_Vpor_xmm_xmm_xmmm128, EVEX_Vpord_xmm_k1z_xmm_xmmm128b32),
                pair!(VEX_Vpor_xmm_xmm_xmmm128, EVEX_Vporq_xmm_k1z_xmm_xmmm128b64),
            ),
            true,
        ),
        Binary::Xor => (
            by_width(
                is_64,
                pair!(VEX_Vpxor_xmm_xmm_xmmm128, EVEX_Vpxord_xmm_k1z_xmm_xmmm128b32),
                pair!(VEX_Vpxor_xmm_xmm_xmmm128, EVEX_Vpxorq_xmm_k1z_xmm_xmmm128b64),
            ),
            true,
        ),
        Binary::ShiftLeft => (
            by_width(
                is_64,
                pair!(VEX_Vpsllvd_xmm_xmm_xmmm128, EVEX_Vpsllvd_xmm_k1z_xmm_xmmm128b32),
                pair!(VEX_Vpsllvq_xmm_xmm_xmmm128, EVEX_Vpsllvq_xmm_k1z_xmm_xmmm128b64),
            ),
            false,
        ),
        Binary::ShiftRight => (
            by_width(
                is_64,
                pair!(VEX_Vpsrlvd_xmm_xmm_xmmm128, EVEX_Vpsrlvd_xmm_k1z_xmm_xmmm128b32),
                pair!(VEX_Vpsrlvq_xmm_xmm_xmmm128, EVEX_Vpsrlvq_xmm_k1z_xmm_xmmm128b64),
            ),
            false,
        ),
        Binary::ShiftRightSigned => (
            by_width(
                is_64,
                pair!(VEX_Vpsravd_xmm_xmm_xmmm128, EVEX_Vpsravd_xmm_k1z_xmm_xmmm128b32),
                pair!(-, EVEX_Vpsravq_xmm_k1z_xmm_xmmm128b64),
            ),
            false,
        ),
    }
}

/// Which parts of `a · b + c` are negated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Signs {
    pub product: bool,
    pub summand: bool,
}

/// The immediate of a comparison: of floats, neither being NaN and without exceptions.
pub(super) fn predicate(compare: Compare, is_float: bool) -> u8 {
    match compare {
        Compare::Eq => 0,
        Compare::Lt if is_float => 0x11,
        Compare::Le if is_float => 0x12,
        Compare::Lt | Compare::Below => 1,
        Compare::Le => 2,
    }
}
