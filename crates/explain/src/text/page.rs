//! Owns the page that a text is laid out for. It does not know what is written.

use crate::lang::Lang;

/// What a text is laid out for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// The columns of a line; below 40 the layout is that for 40. Every character counts as one column.
    pub width: usize,
    /// Whether arrows and rules may be characters outside ASCII. Names are printed as they are.
    pub unicode: bool,
    /// Whether to write ANSI styles.
    pub colour: bool,
    /// The language; an error's message is PyTorch's in all of them.
    pub lang: Lang,
}

impl Default for Page {
    /// 80 columns, Unicode, no colour, English.
    fn default() -> Page {
        Page { width: 80, unicode: true, colour: false, lang: Lang::En }
    }
}
