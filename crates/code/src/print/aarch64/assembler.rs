//! Owns words: instructions one after the other, the distances to labels, and what stands behind the code. It
//! does not know what is computed.

use super::words::{self, Condition};

/// Bytes of a part of the instruction cache that is fetched at once.
const FETCH_BYTES: usize = 32;

/// The most words between an instruction and a label.
const MOST_WORDS: i64 = 1 << 18;

/// A place in the code.
#[derive(Clone, Copy, Debug)]
pub(super) struct Label(usize);

/// Where an instruction leads.
#[derive(Clone, Copy, Debug)]
enum Target {
    Label(Label),
    /// So many bytes, a multiple of four, into what stands behind the code.
    Pool(u32),
}

pub(super) struct Assembler {
    words: Vec<u32>,
    labels: Vec<usize>,
    uses: Vec<(usize, Target)>,
}

impl Assembler {
    pub(super) fn new() -> Assembler {
        Assembler { words: Vec::with_capacity(1024), labels: Vec::new(), uses: Vec::new() }
    }

    pub(super) fn label(&mut self) -> Label {
        self.labels.push(usize::MAX);
        Label(self.labels.len() - 1)
    }

    /// The label is here.
    pub(super) fn bind(&mut self, label: Label) {
        self.labels[label.0] = self.words.len();
    }

    /// A label that is here.
    pub(super) fn here(&mut self) -> Label {
        let label = self.label();
        self.bind(label);
        label
    }

    pub(super) fn put(&mut self, word: u32) {
        self.words.push(word);
    }

    /// An instruction with its registers.
    pub(super) fn put_with(&mut self, word: u32, to: u8, first: u8, second: u8) {
        self.put(words::with(word, to, first, second));
    }

    /// `to = from + number`, or the difference.
    pub(super) fn add(&mut self, to: u8, from: u8, number: i64) {
        let word = if number < 0 { words::SUB_NUMBER } else { words::ADD_NUMBER };
        let number = u32::try_from(number.unsigned_abs()).expect("a number of 24 bits");
        let (high, low) = (number >> 12, number & 0xfff);
        let mut from = from;
        if high != 0 {
            assert!(high < 1 << 12, "a number of 24 bits");
            self.put(words::with(word, to, from, 0) | words::HIGH_NUMBER | words::number(high));
            from = to;
        }
        if low != 0 || from != to {
            self.put(words::with(word, to, from, 0) | words::number(low));
        }
    }

    /// A jump to a label where flags are as wanted.
    pub(super) fn jump_if(&mut self, condition: Condition, label: Label) {
        self.lead(words::JUMP_IF | condition as u32, Target::Label(label));
    }

    /// A jump to a label where a register is zero.
    pub(super) fn jump_if_zero(&mut self, register: u8, label: Label) {
        self.lead(words::CBZ | u32::from(register), Target::Label(label));
    }

    /// A whole vector from what stands behind the code.
    pub(super) fn load_pool(&mut self, to: u8, offset: u32) {
        self.lead(words::LDR_LABEL | u32::from(to), Target::Pool(offset));
    }

    /// The address of what stands behind the code.
    pub(super) fn pool_address(&mut self, to: u8, offset: u32) {
        self.lead(words::ADR | u32::from(to), Target::Pool(offset));
    }

    fn lead(&mut self, word: u32, target: Target) {
        self.uses.push((self.words.len(), target));
        self.put(word);
    }

    /// The next instruction begins what is fetched at once.
    pub(super) fn align(&mut self) {
        while !(self.words.len() * 4).is_multiple_of(FETCH_BYTES) {
            self.put(words::NOP);
        }
    }

    /// The code and what stands behind it, at a multiple of 16 bytes; `None` if an instruction is too far
    /// from where it leads.
    pub(super) fn finish(mut self, pool: &[u8]) -> Option<Vec<u8>> {
        let length = self.words.len() * 4;
        let origin = if pool.is_empty() { length } else { length.next_multiple_of(16) };
        for &(place, target) in &self.uses {
            let to = match target {
                Target::Label(label) => self.labels[label.0],
                Target::Pool(offset) => (origin + offset as usize) / 4,
            };
            let distance = to as i64 - place as i64;
            if !(-MOST_WORDS..MOST_WORDS).contains(&distance) {
                return None;
            }
            // Addresses count bytes, but the lowest two bits of a distance stand elsewhere, and are zero.
            self.words[place] |= (distance as u32 & 0x7_ffff) << 5;
        }
        let mut bytes: Vec<u8> = self.words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.resize(origin, 0);
        bytes.extend_from_slice(pool);
        Some(bytes)
    }
}
