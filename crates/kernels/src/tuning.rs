//! Owns every choice that depends on the family of the processor: one row for each family that has been
//! measured, which `ZEROSTRIDE_PROCESSOR` can force. No row changes a result. It does not know what is
//! computed.
//!
//! Only `isa.rs` tells families apart; all other code asks a row here. The engine's
//! `fused/instruction_sets.rs` runs every row on every machine.

use once_cell::race::OnceRef;

use crate::isa::{is_amd, is_zen5};

/// What is fastest on the processors of one family.
#[derive(Debug, PartialEq)]
pub struct Tuning {
    /// What `ZEROSTRIDE_PROCESSOR` calls the row.
    pub name: &'static str,
    /// f32 is divided by one number by multiplication with its reciprocal and a correction.
    pub divide_f32_by_reciprocal: bool,
    /// So is f64 in registers of less than 64 bytes; in those of AVX-512 it always is.
    pub divide_f64_by_reciprocal: bool,
    /// Quarters of the last-level cache that an operation touches before its results get non-temporal stores,
    /// if the results alone would take one. Results beyond twice the last level get them on every processor.
    pub stream_last_level_quarters: usize,
    /// The prefetch distance of contiguous operands that are not in cache; 0 for no prefetch.
    pub prefetch_bytes: usize,
    /// The same where at most a third of the bytes are written, from half the last level on.
    pub prefetch_reads_bytes: usize,
    /// Halves of the last-level cache up to which `memcpy` copies contiguous elements faster than code.
    pub memcpy_last_level_halves: usize,
    /// `memcpy` copies rows faster than code.
    pub memcpy_rows: bool,
}

/// Processors that have not been measured, and Intel's (measured on Cascade Lake).
const GENERIC: Tuning = Tuning {
    name: "generic",
    divide_f32_by_reciprocal: true,
    divide_f64_by_reciprocal: true,
    stream_last_level_quarters: 8,
    prefetch_bytes: 0,
    prefetch_reads_bytes: 0,
    memcpy_last_level_halves: 1,
    memcpy_rows: false,
};

/// AMD's from Zen to Zen 4. They divide f32 as fast as they multiply it twice, and f64 twice as fast as its
/// quotient takes with AVX2.
const ZEN: Tuning = Tuning {
    name: "zen",
    divide_f32_by_reciprocal: false,
    divide_f64_by_reciprocal: false,
    stream_last_level_quarters: 5,
    prefetch_bytes: 1 << 10,
    prefetch_reads_bytes: 0,
    memcpy_last_level_halves: 4,
    memcpy_rows: true,
};

/// AMD's from Zen 5 on: their hardware prefetchers leave memory bandwidth unused.
const ZEN5: Tuning = Tuning { name: "zen5", prefetch_reads_bytes: 8 << 10, ..ZEN };

impl Tuning {
    /// All rows.
    pub const ALL: [&'static Tuning; 3] = [&GENERIC, &ZEN, &ZEN5];

    /// The row in use: the one that `ZEROSTRIDE_PROCESSOR` names, else that of this processor's family.
    ///
    /// # Panics
    /// At its first use, if the variable names no row: falling back in silence would make a measurement
    /// worthless.
    ///
    /// ```
    /// use zerostride_kernels::Tuning;
    /// assert!(Tuning::ALL.contains(&Tuning::active()));
    /// ```
    pub fn active() -> &'static Tuning {
        static ACTIVE: OnceRef<'static, Tuning> = OnceRef::new();
        ACTIVE.get_or_init(|| match std::env::var_os("ZEROSTRIDE_PROCESSOR") {
            None if is_zen5() => &ZEN5,
            None if is_amd() => &ZEN,
            None => &GENERIC,
            Some(name) => Tuning::ALL.into_iter().find(|row| *row.name == *name).unwrap_or_else(|| {
                let known = Tuning::ALL.map(|row| row.name).join(", ");
                panic!(
                    "ZEROSTRIDE_PROCESSOR={}: no row of that name; there are {known}",
                    name.to_string_lossy()
                )
            }),
        })
    }
}
