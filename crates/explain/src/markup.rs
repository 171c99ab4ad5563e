//! Owns what SVG and HTML have in common: text that may come from anybody, made harmless between tags and in attributes.
//! It does not know what is written.

use std::fmt::{self, Display, Write as _};

use crate::story::words::harmless;

/// Text that is written with everything escaped that means something in markup; characters that are no text, and those
/// that XML forbids, are replaced.
pub(crate) struct Escaped<T>(pub(crate) T);

impl<T: Display> Display for Escaped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.to_string().chars() {
            match harmless(character) {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                '\u{fffe}' | '\u{ffff}' => f.write_char('\u{fffd}')?,
                other => f.write_char(other)?,
            }
        }
        Ok(())
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
