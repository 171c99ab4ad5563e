//! Owns what is known of the terminal: how wide it is, and whether to style. It does not know what is written.

use std::io::StdoutLock;

use anstream::{AutoStream, ColorChoice};
use zerostride_explain::Page;

/// Columns where there is no terminal to ask.
const DEFAULT_WIDTH: usize = 80;
/// Wider lines are hard to read.
const MAX_WIDTH: usize = 100;

/// Decides about styles for the whole process.
pub(crate) fn set_color(choice: clap::ColorChoice) {
    let choice = match choice {
        clap::ColorChoice::Auto => ColorChoice::Auto,
        clap::ColorChoice::Always => ColorChoice::Always,
        clap::ColorChoice::Never => ColorChoice::Never,
    };
    choice.write_global();
}

/// Standard output; styles are taken out of what is written where nobody wants them.
pub(crate) fn stdout() -> AutoStream<StdoutLock<'static>> {
    anstream::stdout().lock()
}

/// The columns of the terminal.
pub(crate) fn width() -> usize {
    terminal_size::terminal_size().map_or(DEFAULT_WIDTH, |(width, _)| usize::from(width.0).min(MAX_WIDTH))
}

/// The page to lay explanations out for. Styles are always asked for: the streams take them out.
pub(crate) fn page() -> Page {
    Page { width: width(), unicode: true, colour: true }
}
