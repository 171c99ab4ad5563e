//! Owns letters as sizes, as in `n, 1`: each stands for a prime that no size beside it has, so that a product
//! of sizes tells which letters it is made of, and is written with them again. It does not know what is
//! explained.

use zerostride_shape::Size;

/// The sizes that letters stand for. Six of them, multiplied, still are a number of elements.
const PRIMES: [Size; 12] = [997, 991, 983, 977, 971, 967, 953, 947, 941, 937, 929, 919];
const MOST: usize = 6;
/// What letters are in a program, which needs numbers.
const SAMPLES: [&str; MOST] = ["5", "7", "3", "4", "6", "8"];

/// Letters in the order in which they are written, and the primes that they may stand for.
pub(crate) struct Letters {
    names: Vec<String>,
    primes: Vec<Size>,
}

impl Letters {
    /// No letters yet, beside the numbers of these texts.
    pub(crate) fn beside<'a>(texts: impl Iterator<Item = &'a str>) -> Letters {
        let numbers = texts.flat_map(|text| text.split(|c: char| !c.is_ascii_digit()));
        let numbers: Vec<Size> = numbers.filter_map(|digits| digits.parse().ok()).collect();
        let divides =
            |prime: &Size| numbers.iter().any(|number| *number > 0 && number.is_multiple_of(*prime));
        Letters { names: Vec::new(), primes: PRIMES.into_iter().filter(|prime| !divides(prime)).collect() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The size that a name stands for; none if it is no name, or if there are too many.
    pub(crate) fn size(&mut self, name: &str) -> Option<Size> {
        if !is_name(name) {
            return None;
        }
        let known = self.names.iter().position(|known| known == name);
        let at = known.unwrap_or(self.names.len());
        let size = *self.primes.get(at).filter(|_| at < MOST)?;
        if known.is_none() {
            self.names.push(name.to_owned());
        }
        Some(size)
    }

    /// The text with letters in its numbers, and a sign between factors.
    pub(crate) fn written(&self, text: &str, times: &str) -> String {
        let (mut written, mut rest) = (String::new(), text);
        while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
            let (before, from) = rest.split_at(start);
            let end = from.find(|c: char| !c.is_ascii_digit()).unwrap_or(from.len());
            let (digits, after) = from.split_at(end);
            written += before;
            // A part of a name or of a fraction is no number of its own.
            let is_apart = !written.ends_with(|c: char| c.is_ascii_alphanumeric() || "._#".contains(c));
            match digits.parse().ok().filter(|_| is_apart) {
                Some(number) => written += &self.number(number, digits, times),
                None => written += digits,
            }
            rest = after;
        }
        written + rest
    }

    /// The same for markup, whose tags and styles stay as they are.
    pub(crate) fn written_in(&self, markup: &str) -> String {
        let (mut written, mut is_style) = (String::new(), false);
        for piece in markup.split_inclusive('>') {
            let (text, tag) = piece.split_at(piece.find('<').unwrap_or(piece.len()));
            if is_style {
                written += text;
            } else {
                written += &self.written(text, "·");
            }
            written += tag;
            is_style = tag.starts_with("<style");
        }
        written
    }

    /// The program with letters, which get sizes after its imports.
    pub(crate) fn written_program(&self, program: &str, is_rust: bool) -> String {
        let (imports, rest) = program.split_once("\n\n").unwrap_or(("", program));
        let samples = SAMPLES[..self.names.len()].join(", ");
        let given = match (is_rust, &self.names[..]) {
            (false, names) => format!("{} = {samples}", names.join(", ")),
            (true, [name]) => format!("let {name} = {samples};"),
            (true, names) => format!("let ({}) = ({samples});", names.join(", ")),
        };
        format!("{imports}\n\n{given}\n{}", self.written(rest, " * "))
    }

    fn number(&self, number: u128, digits: &str, times: &str) -> String {
        let (mut left, mut factors) = (number, Vec::new());
        for (name, &prime) in self.names.iter().zip(&self.primes) {
            while left > 0 && left.is_multiple_of(prime as u128) {
                left /= prime as u128;
                factors.push(&**name);
            }
        }
        let coefficient = left.to_string();
        match (&factors[..], left) {
            ([], _) => digits.to_owned(),
            (_, 1) => factors.join(times),
            _ => format!("{coefficient}{times}{}", factors.join(times)),
        }
    }
}

pub(crate) fn is_name(name: &str) -> bool {
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    starts && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_sizes_are_written_with_their_letters() {
        let mut letters = Letters::beside(["n, 1", "997, m"].into_iter());
        let (n, m) = (letters.size("n").unwrap(), letters.size("m").unwrap());
        assert_eq!((letters.size("n"), letters.size("7"), n), (Some(n), None, 991));
        let text = format!("({n}, 1): {} elements, 997 of f32, {}.5, a{n}", 4 * n * m, n);
        assert_eq!(letters.written(&text, "·"), format!("(n, 1): 4·n·m elements, 997 of f32, n.5, a{n}"));
        let markup = format!("<p id=\"{n}\">{n}</p><style>{n}</style>{m}");
        assert_eq!(letters.written_in(&markup), format!("<p id=\"{n}\">n</p><style>{n}</style>m"));
        for name in ["a", "b", "c", "d"] {
            assert!(letters.size(name).is_some());
        }
        assert_eq!(letters.size("e"), None);
    }
}
