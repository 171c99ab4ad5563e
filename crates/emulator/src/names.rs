//! Owns what each instruction of the printed subset computes of registers, as NVIDIA's "Parallel Thread
//! Execution ISA" states it, with the NaN that GPUs return. It does not know memory and jumps.

use half::f16;

/// An instruction on registers: the kinds of its result and operands, and its function of their bits. A kind
/// is the letter of registers: predicates, 16, 32 and 64 bits, floats; `w` is either of 32 bits, `q` of 64.
pub(crate) struct Pure {
    pub name: &'static str,
    pub kinds: &'static str,
    pub run: fn(u64, u64, u64) -> u64,
}

fn single(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn of_single(x: f32) -> u64 {
    if x.is_nan() { 0x7fff_ffff } else { x.to_bits().into() }
}

fn double(bits: u64) -> f64 {
    f64::from_bits(bits)
}

fn of_double(x: f64) -> u64 {
    if x.is_nan() { 0xfff8_0000_0000_0000 } else { x.to_bits() }
}

fn of_word(x: i32) -> u64 {
    u64::from(x as u32)
}

fn chosen(yes: u64, no: u64, mask: u64) -> u64 {
    if mask != 0 { yes } else { no }
}

/// The word of 64 bits that NaN becomes.
const NONE: u64 = 1 << 63;

macro_rules! table {
    ($($name:literal $kinds:literal |$a:ident, $b:ident, $c:ident| $run:expr;)+) => {
        &[$(Pure { name: $name, kinds: $kinds, run: |$a, $b, $c| $run }),+]
    };
}

/// All instructions on registers.
#[rustfmt::skip]
pub(crate) const PURE: &[Pure] = table! {
    "mov.pred" "pp" |a, _b, _c| a;
    "mov.b16" "hh" |a, _b, _c| a;
    "mov.b32" "ww" |a, _b, _c| a;
    "mov.b64" "qq" |a, _b, _c| a;
    "mov.f32" "ff" |a, _b, _c| a;
    "mov.f64" "dd" |a, _b, _c| a;
    "and.pred" "ppp" |a, b, _c| a & b;
    "or.pred" "ppp" |a, b, _c| a | b;
    "xor.pred" "ppp" |a, b, _c| a ^ b;
    "not.pred" "pp" |a, _b, _c| a ^ 1;
    "and.b32" "rrr" |a, b, _c| a & b;
    "or.b32" "rrr" |a, b, _c| a | b;
    "xor.b32" "rrr" |a, b, _c| a ^ b;
    "and.b64" "lll" |a, b, _c| a & b;
    "or.b64" "lll" |a, b, _c| a | b;
    "xor.b64" "lll" |a, b, _c| a ^ b;
    "shl.b32" "rrr" |a, b, _c| if b < 32 { a << b } else { 0 };
    "shl.b64" "llr" |a, b, _c| if b < 64 { a << b } else { 0 };
    "shr.u32" "rrr" |a, b, _c| if b < 32 { a >> b } else { 0 };
    "shr.u64" "llr" |a, b, _c| if b < 64 { a >> b } else { 0 };
    "shr.s32" "rrr" |a, b, _c| of_word(a as i32 >> b.min(31));
    "shr.s64" "llr" |a, b, _c| (a as i64 >> b.min(63)) as u64;
    "add.u32" "rrr" |a, b, _c| a.wrapping_add(b);
    "sub.u32" "rrr" |a, b, _c| a.wrapping_sub(b);
    "mul.lo.u32" "rrr" |a, b, _c| a.wrapping_mul(b);
    "mul.hi.u32" "rrr" |a, b, _c| a.wrapping_mul(b) >> 32;
    "mad.lo.u32" "rrrr" |a, b, c| a.wrapping_mul(b).wrapping_add(c);
    "min.u32" "rrr" |a, b, _c| a.min(b);
    "add.u64" "lll" |a, b, _c| a.wrapping_add(b);
    "sub.u64" "lll" |a, b, _c| a.wrapping_sub(b);
    "mul.lo.u64" "lll" |a, b, _c| a.wrapping_mul(b);
    "mad.lo.s64" "llll" |a, b, c| a.wrapping_mul(b).wrapping_add(c);
    "setp.eq.u32" "prr" |a, b, _c| u64::from(a == b);
    "setp.ne.u32" "prr" |a, b, _c| u64::from(a != b);
    "setp.lt.u32" "prr" |a, b, _c| u64::from(a < b);
    "setp.le.u32" "prr" |a, b, _c| u64::from(a <= b);
    "setp.ge.u32" "prr" |a, b, _c| u64::from(a >= b);
    "setp.lt.s32" "prr" |a, b, _c| u64::from((a as i32) < b as i32);
    "setp.le.s32" "prr" |a, b, _c| u64::from(a as i32 <= b as i32);
    "setp.eq.u64" "pll" |a, b, _c| u64::from(a == b);
    "setp.lt.u64" "pll" |a, b, _c| u64::from(a < b);
    "setp.lt.s64" "pll" |a, b, _c| u64::from((a as i64) < b as i64);
    "setp.le.s64" "pll" |a, b, _c| u64::from(a as i64 <= b as i64);
    "setp.eq.f32" "pff" |a, b, _c| u64::from(single(a) == single(b));
    "setp.lt.f32" "pff" |a, b, _c| u64::from(single(a) < single(b));
    "setp.le.f32" "pff" |a, b, _c| u64::from(single(a) <= single(b));
    "setp.gt.f32" "pff" |a, b, _c| u64::from(single(a) > single(b));
    "setp.eq.f64" "pdd" |a, b, _c| u64::from(double(a) == double(b));
    "setp.lt.f64" "pdd" |a, b, _c| u64::from(double(a) < double(b));
    "setp.le.f64" "pdd" |a, b, _c| u64::from(double(a) <= double(b));
    "setp.gt.f64" "pdd" |a, b, _c| u64::from(double(a) > double(b));
    "selp.b32" "rrrp" |a, b, c| chosen(a, b, c);
    "selp.b64" "lllp" |a, b, c| chosen(a, b, c);
    "selp.f32" "fffp" |a, b, c| chosen(a, b, c);
    "selp.f64" "dddp" |a, b, c| chosen(a, b, c);
    "neg.f32" "ff" |a, _b, _c| of_single(-single(a));
    "neg.f64" "dd" |a, _b, _c| of_double(-double(a));
    "add.rn.f32" "fff" |a, b, _c| of_single(single(a) + single(b));
    "sub.rn.f32" "fff" |a, b, _c| of_single(single(a) - single(b));
    "mul.rn.f32" "fff" |a, b, _c| of_single(single(a) * single(b));
    "div.rn.f32" "fff" |a, b, _c| of_single(single(a) / single(b));
    "fma.rn.f32" "ffff" |a, b, c| of_single(single(a).mul_add(single(b), single(c)));
    "sqrt.rn.f32" "ff" |a, _b, _c| of_single(single(a).sqrt());
    "add.rn.f64" "ddd" |a, b, _c| of_double(double(a) + double(b));
    "sub.rn.f64" "ddd" |a, b, _c| of_double(double(a) - double(b));
    "mul.rn.f64" "ddd" |a, b, _c| of_double(double(a) * double(b));
    "div.rn.f64" "ddd" |a, b, _c| of_double(double(a) / double(b));
    "fma.rn.f64" "dddd" |a, b, c| of_double(double(a).mul_add(double(b), double(c)));
    "sqrt.rn.f64" "dd" |a, _b, _c| of_double(double(a).sqrt());
    "cvt.rni.f32.f32" "ff" |a, _b, _c| of_single(single(a).round_ties_even());
    "cvt.rmi.f32.f32" "ff" |a, _b, _c| of_single(single(a).floor());
    "cvt.rpi.f32.f32" "ff" |a, _b, _c| of_single(single(a).ceil());
    "cvt.rzi.f32.f32" "ff" |a, _b, _c| of_single(single(a).trunc());
    "cvt.rni.f64.f64" "dd" |a, _b, _c| of_double(double(a).round_ties_even());
    "cvt.rmi.f64.f64" "dd" |a, _b, _c| of_double(double(a).floor());
    "cvt.rpi.f64.f64" "dd" |a, _b, _c| of_double(double(a).ceil());
    "cvt.rzi.f64.f64" "dd" |a, _b, _c| of_double(double(a).trunc());
    "cvt.f32.f16" "fh" |a, _b, _c| of_single(f16::from_bits(a as u16).to_f32());
    "cvt.rn.f16.f32" "hf" |a, _b, _c| if single(a).is_nan() { 0x7fff } else { f16::from_f32(single(a)).to_bits().into() };
    "cvt.f64.f32" "df" |a, _b, _c| of_double(single(a).into());
    "cvt.rn.f32.f64" "fd" |a, _b, _c| of_single(double(a) as f32);
    "cvt.rzi.s32.f32" "rf" |a, _b, _c| of_word(single(a) as i32);
    "cvt.rzi.s64.f32" "lf" |a, _b, _c| if single(a).is_nan() { NONE } else { single(a) as i64 as u64 };
    "cvt.rzi.s32.f64" "rd" |a, _b, _c| if double(a).is_nan() { 1 << 31 } else { of_word(double(a) as i32) };
    "cvt.rzi.s64.f64" "ld" |a, _b, _c| if double(a).is_nan() { NONE } else { double(a) as i64 as u64 };
    "cvt.rn.f32.s32" "fr" |a, _b, _c| of_single(a as i32 as f32);
    "cvt.rn.f32.u32" "fr" |a, _b, _c| of_single(a as u32 as f32);
    "cvt.rn.f32.s64" "fl" |a, _b, _c| of_single(a as i64 as f32);
    "cvt.rn.f32.u64" "fl" |a, _b, _c| of_single(a as f32);
    "cvt.rn.f64.s32" "dr" |a, _b, _c| of_double((a as i32).into());
    "cvt.rn.f64.u32" "dr" |a, _b, _c| of_double((a as u32).into());
    "cvt.rn.f64.s64" "dl" |a, _b, _c| of_double(a as i64 as f64);
    "cvt.rn.f64.u64" "dl" |a, _b, _c| of_double(a as f64);
    "cvt.s64.s32" "lr" |a, _b, _c| a as i32 as i64 as u64;
    "cvt.u64.u32" "lr" |a, _b, _c| a;
    "cvt.u32.u64" "rl" |a, _b, _c| a;
    "cvt.u16.u32" "hr" |a, _b, _c| a;
    "cvt.u32.u16" "rh" |a, _b, _c| a;
};
