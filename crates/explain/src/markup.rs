//! Owns what SVG and HTML have in common: the escaping of untrusted text between tags and in attributes. It
//! does not know what is written.

use std::convert::Infallible;
use std::fmt;

use crate::story::words::harmless;

/// Text whose markup characters are escaped when it is written. Control characters, and those that XML
/// forbids, are replaced.
pub(crate) struct Escaped<T>(pub(crate) T);

impl<T: AsRef<str>> fmt::Display for Escaped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        escape(self.0.as_ref(), |part| f.write_str(part))
    }
}

/// Appends a text to another one, escaped as [`Escaped`] is.
pub(crate) fn push_escaped(text: &str, to: &mut String) {
    let Ok(()) = escape(text, |part| {
        to.push_str(part);
        Ok::<_, Infallible>(())
    });
}

/// Writes a text, escaped, in parts.
fn escape<E>(text: &str, mut write: impl FnMut(&str) -> Result<(), E>) -> Result<(), E> {
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
        write(&text[written..at])?;
        write(instead)?;
        written = at + character.len_utf8();
    }
    write(&text[written..])
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
