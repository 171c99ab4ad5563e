//! Owns the words of instructions: each is 32 bits, of which registers and numbers have fixed places. It does
//! not know codes.

/// Elements of 64 bits instead of 32.
pub(super) const WIDE: u32 = 1 << 22;

/// The bits of elements of words, as a power of two from 8 on.
const SIZE: u32 = 3 << 22;

/// Vectors of 16 bytes instead of 8.
const FULL: u32 = 1 << 30;

/// An instruction on vectors of so many bytes, with elements of 64 bits if `is_64`.
pub(super) const fn sized(word: u32, is_64: bool, bytes: u32) -> u32 {
    let word = if is_64 { word | WIDE } else { word };
    if bytes < 16 { word & !FULL } else { word }
}

/// An instruction on vectors of so many bytes, with elements of one or two.
pub(super) const fn narrow(word: u32, element_bytes: u32, bytes: u32) -> u32 {
    sized(word & !SIZE | element_bytes.ilog2() << SIZE.trailing_zeros(), false, bytes)
}

/// The one of [`LDR`] or [`STR`] that moves a vector of so many bytes.
pub(super) const fn of_bytes(words: [u32; 4], bytes: u32) -> u32 {
    words[bytes.ilog2() as usize - 1]
}

/// An instruction with its registers: that of its value, and those of its operands.
pub(super) const fn with(word: u32, to: u8, first: u8, second: u8) -> u32 {
    word | to as u32 | (first as u32) << 5 | (second as u32) << 16
}

/// A shift of elements by a number that is less than their bits, towards the high ones.
pub(super) const fn shift_left(is_64: bool, bytes: u32, count: u32) -> u32 {
    sized(SHL, false, bytes) | (bits(is_64) + count) << 16
}

/// The same towards the low bits; by one at least.
pub(super) const fn shift_right(word: u32, is_64: bool, bytes: u32, count: u32) -> u32 {
    sized(word, false, bytes) | (2 * bits(is_64) - count) << 16
}

const fn bits(is_64: bool) -> u32 {
    if is_64 { 64 } else { 32 }
}

/// In which sizes an instruction is used: what stands for `{t}` in its text.
#[cfg(test)]
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sizes {
    /// Elements of 32 and of 64 bits.
    Both,
    /// Elements of 8, 16, 32 and 64 bits.
    All,
    /// Elements of 8, 16 and 32 bits.
    Short,
    /// Elements of 32 bits.
    Narrow,
    /// Bytes.
    Bytes,
    /// As the text says.
    Own,
    /// As the text says, and with elements twice as long.
    Twice(&'static str),
}

macro_rules! vectors {
    ($($name:ident = $word:literal, $sizes:expr, $text:literal;)*) => {
        $(#[doc = concat!("`", $text, "`")]
        pub(super) const $name: u32 = $word;)*

        #[cfg(test)]
        const VECTORS: &[(u32, Sizes, &str)] = &[$(($word, $sizes, $text)),*];
    };
}

vectors! {
    FADD = 0x4e20_d400, Sizes::Both, "fadd {d}.{t}, {n}.{t}, {m}.{t}";
    FSUB = 0x4ea0_d400, Sizes::Both, "fsub {d}.{t}, {n}.{t}, {m}.{t}";
    FMUL = 0x6e20_dc00, Sizes::Both, "fmul {d}.{t}, {n}.{t}, {m}.{t}";
    FDIV = 0x6e20_fc00, Sizes::Both, "fdiv {d}.{t}, {n}.{t}, {m}.{t}";
    FMLA = 0x4e20_cc00, Sizes::Both, "fmla {d}.{t}, {n}.{t}, {m}.{t}";
    FMLS = 0x4ea0_cc00, Sizes::Both, "fmls {d}.{t}, {n}.{t}, {m}.{t}";
    FCMEQ = 0x4e20_e400, Sizes::Both, "fcmeq {d}.{t}, {n}.{t}, {m}.{t}";
    FCMGE = 0x6e20_e400, Sizes::Both, "fcmge {d}.{t}, {n}.{t}, {m}.{t}";
    FCMGT = 0x6ea0_e400, Sizes::Both, "fcmgt {d}.{t}, {n}.{t}, {m}.{t}";
    ADD = 0x4ea0_8400, Sizes::All, "add {d}.{t}, {n}.{t}, {m}.{t}";
    SUB = 0x6ea0_8400, Sizes::All, "sub {d}.{t}, {n}.{t}, {m}.{t}";
    MUL = 0x4ea0_9c00, Sizes::Short, "mul {d}.{t}, {n}.{t}, {m}.{t}";
    SMAX = 0x4ea0_6400, Sizes::Short, "smax {d}.{t}, {n}.{t}, {m}.{t}";
    SMIN = 0x4ea0_6c00, Sizes::Short, "smin {d}.{t}, {n}.{t}, {m}.{t}";
    UMAX = 0x6ea0_6400, Sizes::Short, "umax {d}.{t}, {n}.{t}, {m}.{t}";
    UMIN = 0x6ea0_6c00, Sizes::Short, "umin {d}.{t}, {n}.{t}, {m}.{t}";
    CMEQ = 0x6ea0_8c00, Sizes::All, "cmeq {d}.{t}, {n}.{t}, {m}.{t}";
    CMGE = 0x4ea0_3c00, Sizes::All, "cmge {d}.{t}, {n}.{t}, {m}.{t}";
    CMGT = 0x4ea0_3400, Sizes::All, "cmgt {d}.{t}, {n}.{t}, {m}.{t}";
    CMHI = 0x6ea0_3400, Sizes::All, "cmhi {d}.{t}, {n}.{t}, {m}.{t}";
    USHL = 0x6ea0_4400, Sizes::All, "ushl {d}.{t}, {n}.{t}, {m}.{t}";
    SSHL = 0x4ea0_4400, Sizes::All, "sshl {d}.{t}, {n}.{t}, {m}.{t}";
    AND = 0x4e20_1c00, Sizes::Bytes, "and {d}.{t}, {n}.{t}, {m}.{t}";
    BIC = 0x4e60_1c00, Sizes::Bytes, "bic {d}.{t}, {n}.{t}, {m}.{t}";
    ORR = 0x4ea0_1c00, Sizes::Bytes, "orr {d}.{t}, {n}.{t}, {m}.{t}";
    EOR = 0x6e20_1c00, Sizes::Bytes, "eor {d}.{t}, {n}.{t}, {m}.{t}";
    BSL = 0x6e60_1c00, Sizes::Bytes, "bsl {d}.{t}, {n}.{t}, {m}.{t}";
    BIT = 0x6ea0_1c00, Sizes::Bytes, "bit {d}.{t}, {n}.{t}, {m}.{t}";
    BIF = 0x6ee0_1c00, Sizes::Bytes, "bif {d}.{t}, {n}.{t}, {m}.{t}";
    TRN1 = 0x4e80_2800, Sizes::Narrow, "trn1 {d}.{t}, {n}.{t}, {m}.{t}";
    UZP1 = 0x4ec0_1800, Sizes::Own, "uzp1 {d}.2d, {n}.2d, {m}.2d";
    UZP2 = 0x4ec0_5800, Sizes::Own, "uzp2 {d}.2d, {n}.2d, {m}.2d";
    ZIP1 = 0x4ec0_3800, Sizes::Own, "zip1 {d}.2d, {n}.2d, {m}.2d";
    ZIP2 = 0x4ec0_7800, Sizes::Own, "zip2 {d}.2d, {n}.2d, {m}.2d";
    UMAXP = 0x6ea0_a400, Sizes::Narrow, "umaxp {d}.{t}, {n}.{t}, {m}.{t}";
    UMLAL = 0x2ea0_8000, Sizes::Own, "umlal {d}.2d, {n}.2s, {m}.2s";
    FNEG = 0x6ea0_f800, Sizes::Both, "fneg {d}.{t}, {n}.{t}";
    FSQRT = 0x6ea1_f800, Sizes::Both, "fsqrt {d}.{t}, {n}.{t}";
    FRINTN = 0x4e21_8800, Sizes::Both, "frintn {d}.{t}, {n}.{t}";
    FRINTM = 0x4e21_9800, Sizes::Both, "frintm {d}.{t}, {n}.{t}";
    FRINTP = 0x4ea1_8800, Sizes::Both, "frintp {d}.{t}, {n}.{t}";
    FRINTZ = 0x4ea1_9800, Sizes::Both, "frintz {d}.{t}, {n}.{t}";
    FCVTZS = 0x4ea1_b800, Sizes::Both, "fcvtzs {d}.{t}, {n}.{t}";
    SCVTF = 0x4e21_d800, Sizes::Both, "scvtf {d}.{t}, {n}.{t}";
    UCVTF = 0x6e21_d800, Sizes::Both, "ucvtf {d}.{t}, {n}.{t}";
    NEG = 0x6ea0_b800, Sizes::All, "neg {d}.{t}, {n}.{t}";
    MVN = 0x6e20_5800, Sizes::Bytes, "mvn {d}.{t}, {n}.{t}";
    REV64 = 0x4ea0_0800, Sizes::Narrow, "rev64 {d}.{t}, {n}.{t}";
    UADDLP = 0x6ea0_2800, Sizes::Own, "uaddlp {d}.2d, {n}.4s";
    FCVTL = 0x0e21_7800, Sizes::Twice("fcvtl {d}.2d, {n}.2s"), "fcvtl {d}.4s, {n}.4h";
    FCVTN = 0x0e21_6800, Sizes::Twice("fcvtn {d}.2s, {n}.2d"), "fcvtn {d}.4h, {n}.4s";
    XTN_16 = 0x0e21_2800, Sizes::Own, "xtn {d}.8b, {n}.8h";
    XTN_32 = 0x0e61_2800, Sizes::Own, "xtn {d}.4h, {n}.4s";
    XTN_64 = 0x0ea1_2800, Sizes::Own, "xtn {d}.2s, {n}.2d";
    SQXTN_64 = 0x0ea1_4800, Sizes::Own, "sqxtn {d}.2s, {n}.2d";
    USHLL_8 = 0x2f08_a400, Sizes::Own, "ushll {d}.8h, {n}.8b, #0";
    USHLL_16 = 0x2f10_a400, Sizes::Own, "ushll {d}.4s, {n}.4h, #0";
    USHLL_32 = 0x2f20_a400, Sizes::Own, "ushll {d}.2d, {n}.2s, #0";
    SSHLL_8 = 0x0f08_a400, Sizes::Own, "sshll {d}.8h, {n}.8b, #0";
    SSHLL_32 = 0x0f20_a400, Sizes::Own, "sshll {d}.2d, {n}.2s, #0";
    TBL = 0x4e00_6000, Sizes::Own, "tbl {d}.16b, {{n}.16b, {n1}.16b, {n2}.16b, {n3}.16b}, {m}.16b";
    TBX = 0x4e00_7000, Sizes::Own, "tbx {d}.16b, {{n}.16b, {n1}.16b, {n2}.16b, {n3}.16b}, {m}.16b";
    LD1 = 0x4c40_2000, Sizes::Own, "ld1 {{d}.16b, {d1}.16b, {d2}.16b, {d3}.16b}, [{xn}]";
    LD1R_8 = 0x4d40_c000, Sizes::Own, "ld1r {{d}.16b}, [{xn}]";
    LD1R_16 = 0x4d40_c400, Sizes::Own, "ld1r {{d}.8h}, [{xn}]";
    LD1R_32 = 0x4d40_c800, Sizes::Own, "ld1r {{d}.4s}, [{xn}]";
    LD1R_64 = 0x4d40_cc00, Sizes::Own, "ld1r {{d}.2d}, [{xn}]";
    FMOV = 0x9e66_0000, Sizes::Own, "fmov {xd}, {dn}";
}

// Their first number is the elements' bits: [`shift_left`], [`shift_right`].
const SHL: u32 = 0x4f00_5400;
pub(super) const USHR: u32 = 0x6f00_0400;
pub(super) const SSHR: u32 = 0x4f00_0400;

/// Vectors between memory and registers, by their bytes as a power of two from 1 on; the distance counts
/// such vectors.
pub(super) const LDR: [u32; 4] = [0x7d40_0000, 0xbd40_0000, 0xfd40_0000, 0x3dc0_0000];
pub(super) const STR: [u32; 4] = [0x7d00_0000, 0xbd00_0000, 0xfd00_0000, 0x3d80_0000];
/// A vector of 16 bytes at a label.
pub(super) const LDR_LABEL: u32 = 0x9c00_0000;
/// Two vectors of 8 bytes; the distance counts such vectors.
pub(super) const LDP: u32 = 0x6d40_0000;
pub(super) const STP: u32 = 0x6d00_0000;

/// Elements between memory and general registers, by their bytes as a power of two.
pub(super) const LOAD: [u32; 4] = [0x3940_0000, 0x7940_0000, 0xb940_0000, 0xf940_0000];
pub(super) const STORE: [u32; 4] = [0x3900_0000, 0x7900_0000, 0xb900_0000, 0xf900_0000];
/// The same, where the address moves on to the next element.
pub(super) const LOAD_NEXT: [u32; 4] = [0x3840_1400, 0x7840_2400, 0xb840_4400, 0xf840_8400];
pub(super) const STORE_NEXT: [u32; 4] = [0x3800_1400, 0x7800_2400, 0xb800_4400, 0xf800_8400];

/// A general register and a number of 12 bits, which [`HIGH_NUMBER`] shifts by as many.
pub(super) const ADD_NUMBER: u32 = 0x9100_0000;
pub(super) const SUB_NUMBER: u32 = 0xd100_0000;
pub(super) const HIGH_NUMBER: u32 = 1 << 22;
/// A difference that only sets flags, from a number or a register.
pub(super) const CMP_NUMBER: u32 = 0xf100_001f;
pub(super) const CMP: u32 = 0xeb00_001f;
/// The second operand is shifted towards the high bits.
pub(super) const ADD_SHIFTED: u32 = 0x8b00_0000;
pub(super) const SUB_SHIFTED: u32 = 0xcb00_0000;
/// One register becomes another: it is the second operand.
pub(super) const MOV: u32 = 0xaa00_03e0;
/// A number of 16 bits.
pub(super) const MOV_NUMBER: u32 = 0xd280_0000;
/// `first · second + third`.
pub(super) const MADD: u32 = 0x9b00_0000;
/// Some of a register's bits.
const UBFM: u32 = 0xd340_0000;
/// The distance to a label.
pub(super) const ADR: u32 = 0x1000_0000;
pub(super) const RET: u32 = 0xd65f_03c0;
pub(super) const NOP: u32 = 0xd503_201f;
/// Jumps to a label: if a register is zero, if flags are as wanted.
pub(super) const CBZ: u32 = 0xb400_0000;
pub(super) const JUMP_IF: u32 = 0x5400_0000;

/// The flags that a jump wants.
#[derive(Clone, Copy, Debug)]
pub(super) enum Condition {
    NotEqual = 1,
    NotBelow = 2,
    Below = 3,
    Greater = 12,
    LessOrEqual = 13,
}

/// A number of twelve bits, or the third register, at its place.
pub(super) const fn number(value: u32) -> u32 {
    value << 10
}

/// The lowest bits of a register.
pub(super) const fn low_bits(to: u8, from: u8, count: u32) -> u32 {
    with(UBFM, to, from, 0) | number(count - 1)
}

/// A register without its lowest bits, which are some: two instructions.
pub(super) const fn without_low_bits(to: u8, from: u8, count: u32) -> [u32; 2] {
    let down = with(UBFM, to, from, 0) | count << 16 | number(63);
    let up = with(UBFM, to, to, 0) | (64 - count) << 16 | number(63 - count);
    [down, up]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words that another assembler has made of the texts: the output of
    /// `llvm-mc -triple=aarch64 -show-encoding` (LLVM 14).
    const CHECKED: &str = include_str!("words.txt");

    /// A text with registers for its places.
    fn text(pattern: &str, [d, n, m]: [u8; 3], size: &str) -> String {
        let mut text = pattern.replace("{t}", size);
        for (place, first) in [("d", d), ("n", n)] {
            for next in 1..4 {
                text = text.replace(&format!("{{{place}{next}}}"), &format!("v{}", (first + next) % 32));
            }
        }
        let own = [
            ("{d}", "v", d),
            ("{n}", "v", n),
            ("{m}", "v", m),
            ("{xd}", "x", d),
            ("{xn}", "x", n),
            ("{dn}", "d", n),
        ];
        own.into_iter()
            .fold(text, |text, (place, kind, number)| text.replace(place, &format!("{kind}{number}")))
    }

    /// Instructions on vectors in all their sizes.
    fn vectors() -> Vec<(u32, String)> {
        let mut all = Vec::new();
        for registers in [[3, 17, 30], [28, 1, 9]] {
            let [d, n, m] = registers;
            for &(word, sizes, pattern) in VECTORS {
                let m = if pattern.contains("{m}") { m } else { 0 };
                let mut put = |word: u32, pattern: &str, size: &str| {
                    all.push((with(word, d, n, m), text(pattern, registers, size)));
                };
                if matches!(sizes, Sizes::All | Sizes::Short) {
                    for (element_bytes, sizes) in [(1, ["16b", "8b"]), (2, ["8h", "4h"])] {
                        put(narrow(word, element_bytes, 16), pattern, sizes[0]);
                        put(narrow(word, element_bytes, 8), pattern, sizes[1]);
                    }
                }
                match sizes {
                    Sizes::Both | Sizes::All => {
                        put(sized(word, false, 16), pattern, "4s");
                        put(sized(word, false, 8), pattern, "2s");
                        put(sized(word, true, 16), pattern, "2d");
                    }
                    Sizes::Narrow | Sizes::Short => {
                        put(sized(word, false, 16), pattern, "4s");
                        put(sized(word, false, 8), pattern, "2s");
                    }
                    Sizes::Bytes => {
                        put(sized(word, false, 16), pattern, "16b");
                        put(sized(word, false, 8), pattern, "8b");
                    }
                    Sizes::Own => put(word, pattern, ""),
                    Sizes::Twice(wide) => {
                        put(word, pattern, "");
                        put(word | WIDE, wide, "");
                    }
                }
            }
        }
        for (is_64, bytes, size, counts) in
            [(false, 16, "4s", [1, 31]), (false, 8, "2s", [7, 16]), (true, 16, "2d", [1, 63])]
        {
            for count in counts {
                all.push((
                    with(shift_left(is_64, bytes, count), 3, 17, 0),
                    format!("shl v3.{size}, v17.{size}, #{count}"),
                ));
                for (word, name) in [(USHR, "ushr"), (SSHR, "sshr")] {
                    let word = shift_right(word, is_64, bytes, count);
                    all.push((with(word, 3, 17, 0), format!("{name} v3.{size}, v17.{size}, #{count}")));
                }
            }
        }
        all
    }

    /// Instructions on general registers and memory.
    fn others() -> Vec<(u32, String)> {
        let mut all: Vec<(u32, String)> = Vec::new();
        let mut put = |word: u32, text: &str| all.push((word, text.to_owned()));
        for (log, kind) in ["h", "s", "d", "q"].into_iter().enumerate() {
            let offset = 5 << (log + 1);
            put(with(LDR[log], 3, 17, 0) | number(5), &format!("ldr {kind}3, [x17, #{offset}]"));
            put(with(STR[log], 3, 31, 0) | number(5), &format!("str {kind}3, [sp, #{offset}]"));
        }
        put(LDR_LABEL | 9 << 5 | 3, "ldr q3, #36");
        put(with(LDP, 8, 31, 0) | number(9) | 2 << 15, "ldp d8, d9, [sp, #16]");
        put(with(STP, 14, 31, 0) | number(15) | 6 << 15, "stp d14, d15, [sp, #48]");
        for (log, (suffix, kind)) in [("b", "w"), ("h", "w"), ("", "w"), ("", "x")].into_iter().enumerate() {
            let bytes = 1 << log;
            let offset = 7 * bytes;
            put(with(LOAD[log], 4, 6, 0) | number(7), &format!("ldr{suffix} {kind}4, [x6, #{offset}]"));
            put(with(STORE[log], 4, 6, 0) | number(7), &format!("str{suffix} {kind}4, [x6, #{offset}]"));
            put(with(LOAD_NEXT[log], 4, 7, 0), &format!("ldr{suffix} {kind}4, [x7], #{bytes}"));
            put(with(STORE_NEXT[log], 4, 7, 0), &format!("str{suffix} {kind}4, [x7], #{bytes}"));
        }
        put(with(STORE[3], 31, 31, 0), "str xzr, [sp]");
        put(with(ADD_NUMBER, 2, 17, 0) | number(0x123), "add x2, x17, #291");
        put(with(ADD_NUMBER, 7, 31, 0) | number(0), "add x7, sp, #0");
        put(with(SUB_NUMBER, 31, 31, 0) | number(1) | HIGH_NUMBER, "sub sp, sp, #1, lsl #12");
        put(with(CMP_NUMBER, 31, 2, 0) | number(64), "cmp x2, #64");
        put(with(CMP, 31, 2, 3), "cmp x2, x3");
        put(with(ADD_SHIFTED, 13, 8, 2) | number(2), "add x13, x8, x2, lsl #2");
        put(with(SUB_SHIFTED, 12, 12, 3) | number(3), "sub x12, x12, x3, lsl #3");
        put(with(MOV, 2, 0, 3), "mov x2, x3");
        put(with(MOV_NUMBER, 5, 0, 0) | 8 << 5, "mov x5, #8");
        put(with(MADD, 6, 5, 2) | number(6), "madd x6, x5, x2, x6");
        put(low_bits(2, 3, 6), "ubfx x2, x3, #0, #6");
        let [down, up] = without_low_bits(3, 1, 6);
        put(down, "lsr x3, x1, #6");
        put(up, "lsl x3, x3, #6");
        put(ADR | 9 << 5 | 4, "adr x4, #36");
        put(RET, "ret");
        put(NOP, "nop");
        put(CBZ | 9 << 5 | 4, "cbz x4, #36");
        for (condition, name) in [
            (Condition::NotEqual, "ne"),
            (Condition::NotBelow, "hs"),
            (Condition::Below, "lo"),
            (Condition::Greater, "gt"),
            (Condition::LessOrEqual, "le"),
        ] {
            put(JUMP_IF | condition as u32 | 9 << 5, &format!("b.{name} #36"));
        }
        all
    }

    #[test]
    fn each_word_is_that_of_another_assembler() {
        let own: Vec<String> =
            vectors().into_iter().chain(others()).map(|(word, text)| format!("{word:08x} {text}")).collect();
        let checked: Vec<&str> = CHECKED.lines().collect();
        for (own, checked) in own.iter().zip(&checked) {
            assert_eq!(own, checked);
        }
        assert_eq!(own.len(), checked.len());
    }
}
