//! Owns the conversions between f16, bf16 and `f32` without branches, which the compiler vectorises.

use half::{bf16, f16};

#[inline(always)]
pub(crate) fn widen_bf16(value: bf16) -> f32 {
    f32::from_bits(u32::from(value.to_bits()) << 16)
}

#[inline(always)]
pub(crate) fn narrow_bf16(value: f32) -> bf16 {
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    bf16::from_bits(if value.is_nan() { bits >> 16 | 0x40 } else { rounded } as u16)
}

/// The multiplication corrects the exponent, and makes subnormal numbers normal.
#[inline(always)]
pub(crate) fn widen_f16(value: f16) -> f32 {
    const UP: f32 = f32::from_bits((127 + 112) << 23);
    let (bits, infinity) = (u32::from(value.to_bits()), 0x7c00);
    let magnitude = bits & 0x7fff;
    let moved = (f32::from_bits(magnitude << 13) * UP).to_bits();
    let special = if magnitude >= infinity { 0x7f80_0000 } else { 0 };
    f32::from_bits(moved | special | (bits & 0x8000) << 16)
}

#[inline(always)]
pub(crate) fn narrow_f16(value: f32) -> f16 {
    let (sign, bits) = (value.to_bits() >> 16 & 0x8000, value.to_bits() & 0x7fff_ffff);
    // Where the result is subnormal, the addition leaves the multiple of the least f16 in the low bits.
    let subnormal = (f32::from_bits(bits) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
    let normal = bits.wrapping_sub(112 << 23).wrapping_add(0xfff + (bits >> 13 & 1)) >> 13;
    let rounded = if bits < 0x3880_0000 { subnormal } else { normal };
    let rounded = if bits >= 0x4780_0000 { 0x7c00 } else { rounded };
    let rounded = if bits > 0x7f80_0000 { 0x7e00 } else { rounded };
    f16::from_bits((rounded | sign) as u16)
}
