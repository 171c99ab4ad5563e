//! Owns how single things are put into words: lists of names, shapes, counts, bytes. It does not know any section.

use super::sheet::width;

/// Names beyond this number are counted.
const NAMED: usize = 6;
/// A label wider than this is cut in its middle.
const LABEL: usize = 20;

/// `a`, `a and b`, `a, b and c`, and for many `a, b, c, d and 12 more`.
pub(super) fn listed<S: AsRef<str>>(names: &[S]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names[..] {
        [] => "no operand".to_owned(),
        [name] => name.to_owned(),
        [ref first @ .., last] if names.len() <= NAMED => format!("{} and {last}", first.join(", ")),
        _ => format!("{} and {} more", names[..NAMED - 2].join(", "), names.len() + 2 - NAMED),
    }
}

/// A shape as Python writes it: `(5, 3)`, `(3,)`, `()`.
pub(super) fn tuple<T: ToString>(sizes: &[T]) -> String {
    let sizes: Vec<String> = sizes.iter().map(T::to_string).collect();
    match &sizes[..] {
        [size] => format!("({size},)"),
        sizes => format!("({})", sizes.join(", ")),
    }
}

/// `1 element`, `2 elements`.
pub(super) fn counted(count: u128, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// `once`, `twice`, `6 times`.
pub(super) fn times(count: u128) -> String {
    match count {
        0 => "never".to_owned(),
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        count => format!("{count} times"),
    }
}

/// Bytes in binary units, three digits: `480 B`, `1.50 KiB`, `18.6 GiB`.
pub(super) fn bytes(count: u128) -> String {
    const UNITS: [&str; 7] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB"];
    if count < 1024 {
        return format!("{count} B");
    }
    let mut value = count as f64 / 1024.0;
    let mut unit = 0;
    // What would be printed as 1024 belongs to the next unit.
    while value >= 1023.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let decimals = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    let exact = value.fract() == 0.0;
    format!("{value:.*} {}", if exact { 0 } else { decimals }, UNITS[unit])
}

/// A name as a label: cut in its middle if it is long.
pub(super) fn label(name: &str, cut: &str) -> String {
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
            assert_eq!(bytes(count), text);
        }
    }

    #[test]
    fn names_are_listed_and_many_are_counted() {
        assert_eq!(listed::<&str>(&[]), "no operand");
        assert_eq!(listed(&["a"]), "a");
        assert_eq!(listed(&["a", "b", "c"]), "a, b and c");
        assert_eq!(listed(&["a", "b", "c", "d", "e", "f", "g"]), "a, b, c, d and 3 more");
        assert_eq!(label("model.layers.11.attention.weight", "…"), "model.lay…ion.weight");
    }
}
