//! Owns the text of single things: lists of names, shapes, counts, bytes. It does not know any section.

use std::fmt::{Display, Write as _};

use crate::lang::{Lang, count, say};

/// If there are more names, the rest are counted.
const NAMED: usize = 6;
/// A longer label is cut in its middle.
const LABEL: usize = 20;

/// `a`, `a and b`, `a, b and c`, and for many `a, b, c, d and 12 more`.
pub(crate) fn listed<S: AsRef<str>>(names: &[S], lang: Lang) -> String {
    let joined = |names: &[S]| names.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(", ");
    match names {
        [] => say!(lang, "list-none"),
        [name] => name.as_ref().to_owned(),
        [first @ .., last] if names.len() <= NAMED => {
            say!(lang, "list-last", first = joined(first), last = last.as_ref())
        }
        _ => {
            let more = (names.len() + 2 - NAMED).to_string();
            say!(lang, "list-more", first = joined(&names[..NAMED - 2]), count = more)
        }
    }
}

/// A shape as Python writes it: `(5, 3)`, `(3,)`, `()`.
pub(crate) fn tuple<T: Display>(sizes: &[T]) -> String {
    let mut text = "(".to_owned();
    for (i, size) in sizes.iter().enumerate() {
        let comma = if i > 0 { ", " } else { "" };
        write!(text, "{comma}{size}").expect("a String takes all text");
    }
    text + if sizes.len() == 1 { ",)" } else { ")" }
}

/// `1 element`, `2 elements`.
pub(crate) fn elements(numel: u128, lang: Lang) -> String {
    say!(lang, "elements", count = count(numel))
}

/// `once`, `twice`, `6 times`.
pub(crate) fn times(repeats: u128, lang: Lang) -> String {
    say!(lang, "times", count = count(repeats))
}

/// Bytes in binary units, three digits: `480 B`, `1.50 KiB`, `18.6 GiB`.
pub(crate) fn bytes(count: u128, lang: Lang) -> String {
    const UNITS: [&str; 7] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB"];
    if count < 1024 {
        return format!("{count} B");
    }
    let mut value = count as f64 / 1024.0;
    let mut unit = 0;
    // A number that would be printed as 1024 takes the next unit.
    while value >= 1023.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let decimals = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    let exact = value.fract() == 0.0;
    let value = format!("{value:.*}", if exact { 0 } else { decimals });
    format!("{} {}", value.replace('.', &say!(lang, "decimal-sign")), UNITS[unit])
}

/// Replaces characters of names that are not text: control characters, which a terminal would obey, and those
/// that change the direction of writing, which would mislead the reader.
pub(crate) fn harmless(character: char) -> char {
    let turns =
        matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if character.is_control() || turns { '\u{fffd}' } else { character }
}

/// A name as a label, cut in its middle if it is long.
pub(crate) fn label(name: &str, cut: &str) -> String {
    let width = |text: &str| text.chars().count();
    if width(name) <= LABEL {
        return name.to_owned();
    }
    let kept = LABEL - width(cut);
    let (left, right) = (kept / 2, kept - kept / 2);
    let head: String = name.chars().take(left).collect();
    let tail: String = name.chars().skip(width(name) - right).collect();
    format!("{head}{cut}{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_three_digits_and_the_right_unit() {
        let table: [(u128, &str); 8] = [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1 KiB"),
            (1536, "1.50 KiB"),
            (20 * 1024 - 1, "20.0 KiB"),
            ((1 << 20) - 1, "1.00 MiB"),
            (1 << 30, "1 GiB"),
            (u128::from(u64::MAX) * 16, "256 EiB"),
        ];
        for (count, text) in table {
            assert_eq!(bytes(count, Lang::En), text);
        }
        assert_eq!(bytes(1536, Lang::It), "1,50 KiB");
    }

    #[test]
    fn names_are_listed_and_many_are_counted() {
        assert_eq!(listed::<&str>(&[], Lang::En), "no operand");
        assert_eq!(listed(&["a"], Lang::En), "a");
        assert_eq!(listed(&["a", "b", "c"], Lang::En), "a, b and c");
        assert_eq!(listed(&["a", "b", "c", "d", "e", "f", "g"], Lang::En), "a, b, c, d and 3 more");
        assert_eq!(label("model.layers.11.attention.weight", "…"), "model.lay…ion.weight");
    }
}
