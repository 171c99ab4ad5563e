//! Owns the text form of amounts of memory, such as `512 MiB`: parsing options and printing messages. It does
//! not know what is measured.

use crate::words::say;

/// Names of units and their bytes, the larger ones first.
const UNITS: [(&str, f64); 4] = [
    ("TiB", 1024.0 * 1024.0 * 1024.0 * 1024.0),
    ("GiB", 1024.0 * 1024.0 * 1024.0),
    ("MiB", 1024.0 * 1024.0),
    ("KiB", 1024.0),
];

/// An amount in the largest unit that leaves a number of at least 1: `1.5 GiB`.
pub(crate) fn show(bytes: u64) -> String {
    match UNITS.iter().find(|(_, unit)| bytes as f64 >= *unit) {
        Some((name, unit)) => format!("{:.1} {name}", bytes as f64 / unit),
        None => whole(bytes),
    }
}

/// As in `17 bytes`.
fn whole(bytes: u64) -> String {
    say!("bytes", count = zerostride_explain::count(bytes.into()), shown = bytes.to_string())
}

/// Two different amounts, with so many digits that their texts differ.
pub(crate) fn show_apart(amounts: [u64; 2]) -> [String; 2] {
    let shown = amounts.map(show);
    if shown[0] == shown[1] { amounts.map(whole) } else { shown }
}

/// Reads `512`, `512MiB`, `1.5 GiB`, `2GB`, `2G`; the units of two letters are powers of 1000.
pub(crate) fn read(text: &str) -> Result<u64, String> {
    let advice = || say!("amount-is-written");
    let text = text.trim();
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let number: f64 = text[..split].parse().map_err(|_| advice())?;
    let unit = match text[split..].trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        "tb" => 1e12,
        "k" | "kib" => UNITS[3].1,
        "m" | "mib" => UNITS[2].1,
        "g" | "gib" => UNITS[1].1,
        "t" | "tib" => UNITS[0].1,
        _ => return Err(advice()),
    };
    // A float out of range becomes the largest integer, which is no limit.
    Ok((number * unit) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_with_and_without_units() {
        for (text, bytes) in [
            ("0", 0),
            ("512", 512),
            ("1KiB", 1024),
            ("1.5 GiB", 3 << 29),
            ("2GB", 2_000_000_000),
            ("3m", 3 << 20),
        ] {
            assert_eq!(read(text), Ok(bytes), "{text}");
        }
        for text in ["", "9e", "GiB", "-1", "1.2.3", "1 XB", "one"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn amounts_are_shown_in_the_largest_unit() {
        assert_eq!(show_apart([1 << 20, 1 << 30]), ["1.0 MiB", "1.0 GiB"]);
        assert_eq!(show_apart([1 << 20, (1 << 20) + 1]), ["1048576 bytes", "1048577 bytes"]);
        for (bytes, text) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (1023, "1023 bytes"),
            (1024, "1.0 KiB"),
            (3 << 29, "1.5 GiB"),
            (5 << 40, "5.0 TiB"),
        ] {
            assert_eq!(show(bytes), text);
        }
    }
}
