//! Owns what SVG and HTML have in common: text that may come from anybody, made harmless between tags and in attributes.
//! It does not know what is written.

use std::fmt;

use crate::story::words::harmless;

/// Text that is written with everything escaped that means something in markup; characters that are no text, and those
/// that XML forbids, are replaced.
pub(crate) struct Escaped<T>(pub(crate) T);

impl<T: AsRef<str>> fmt::Display for Escaped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.as_ref();
        let mut written = 0;
        for (at, character) in text.char_indices() {
            let instead = match character {
                '&' => "&amp;",
                '<' => "&lt;",
                '>' => "&gt;",
                '"' => "&quot;",
                '\'' => "&#39;",
                '\u{fffe}' | '\u{ffff}' => "\u{fffd}",
                other if harmless(other) != other => "\u{fffd}",
                _ => continue,
            };
            f.write_str(&text[written..at])?;
            f.write_str(instead)?;
            written = at + character.len_utf8();
        }
        f.write_str(&text[written..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_means_something_is_left() {
        let hostile = "</title><script>'\"&\u{1b}\u{202e}\u{ffff}";
        assert_eq!(
            Escaped(hostile).to_string(),
            "&lt;/title&gt;&lt;script&gt;&#39;&quot;&amp;\u{fffd}\u{fffd}\u{fffd}"
        );
    }
}
