//! Owns the account: how often each element of an operand is used, with which strides, and what copies would
//! have cost. It does not know how these are computed (`reading.rs`).

use super::block::{Account, Block};
use super::words::{bytes, times, tuple};
use crate::explanation::Explanation;
use crate::lang::{Lang, say};

pub(super) fn tell(explanation: &Explanation, lang: Lang, blocks: &mut Vec<Block>) {
    let readings = explanation.readings();
    if explanation.result_bytes() == Some(0) || readings.len() < 2 || !explanation.options().has_bytes {
        return;
    }
    if !readings.iter().any(|reading| reading.is_repeated()) {
        return blocks.push(Block::Alone(say!(lang, "nothing-stretched")));
    }
    let header = [
        say!(lang, "column-repeats"),
        say!(lang, "column-own"),
        say!(lang, "column-copy"),
        say!(lang, "column-strides"),
    ];
    let (mut rows, mut sentences) = (Vec::new(), Vec::new());
    for (name, reading) in explanation.names().iter().zip(readings) {
        let copy = if reading.is_repeated() { bytes(reading.copy_bytes, lang) } else { "-".to_owned() };
        let (repeats, own) = (times(reading.repeats, lang), bytes(reading.own_bytes, lang));
        let strides = tuple(&reading.strides);
        sentences.push(say!(
            lang,
            "reading",
            name = &**name,
            repeats = &*repeats,
            own = &*own,
            copy = &*copy,
            strides = &*strides
        ));
        rows.push((name.clone(), [repeats, own, copy, strides]));
    }
    let repeated = || readings.iter().filter(|reading| reading.is_repeated());
    let own = bytes(repeated().map(|reading| reading.own_bytes).sum(), lang);
    let copies = bytes(repeated().map(|reading| reading.copy_bytes).sum(), lang);
    let mut saved = say!(lang, "bytes-saved", own = own, copies = copies);
    if explanation.operands().iter().any(|operand| operand.dtype.is_none()) {
        saved = format!("{saved} {}", say!(lang, "unknown-dtypes"));
    }
    blocks.push(Block::Title(say!(lang, "nothing-copied")));
    blocks.push(Block::Account(Account { header, rows, sentences }));
    blocks.push(Block::Says(saved));
}
