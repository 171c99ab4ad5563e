//! Owns names in arguments, as in `NAME=VALUE`. It does not know what is named.

/// Splits `NAME=REST` if the text before the first `=` is a name. The third part is the position of the rest.
pub(crate) fn split_name(text: &str) -> Option<(&str, &str, usize)> {
    let (name, rest) = text.split_once('=')?;
    is_name(name).then_some((name, rest, name.len() + 1))
}

/// Whether a text is a name: ASCII letters, digits and `_`, not starting with a digit.
pub(crate) fn is_name(text: &str) -> bool {
    let starts = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    starts && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
